"""Merges two memories into one memory, or records that the two differ."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

from echoless.core.destination import command_line
from echoless.core.errors import PlanRefused, UsageError
from echoless.core.groups import Group, Membership
from echoless.core.model import Duplicate, Evidence, Judged, Memory
from echoless.core.profiles import ActionKind, Profile
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.execution import rollback as undoing
from echoless.execution.executor import apply
from echoless.execution.plan import Plan, PlanBasis, make_plan
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.models.llm import Embed
from echoless.stores.base import Store
from echoless.workflows.consolidation.fact_check import lost_facts
from echoless.workflows.consolidation.rewrite import NewVectors, new_text
from echoless.workflows.retrieval.neighbours import memory_of

__all__ = ["CALLER", "Embed", "MergeOptions", "Merged", "keep_both", "merge_memories", "plan_merge"]

CALLER: Final = "the caller"
CHOSEN: Final = "chosen by the caller"


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge of two memories.

    Attributes:
        run: For `undo`.
        memory: The survivor after the merge.
        removed: Id of the other, which is hidden or, if that was asked for, removed.
        notes: Facts that only the removed memory had, one sentence each.
    """

    run: str
    memory: Memory
    removed: str
    notes: tuple[str, ...] = ()


class MergeOptions(TypedDict, total=False):
    """How two memories are merged.

    Attributes:
        embed: Function for the vector of a new text, if the survivor has a stored vector.
        encoder: `name:argument`, in place of `embed`; see `rewrite.NewVectors`.
        action: `mark`, `merge` or `delete`; `merge` by default.
        by: Who decided, for the history.
        settings: Complete settings; those of the store's profile by default.
    """

    embed: Embed | None
    encoder: str | None
    action: ActionKind
    by: str
    settings: Settings | None


def merge_memories(
    store: Store,
    keep: str,
    remove: str,
    content: str | None = None,
    **options: Unpack[MergeOptions],
) -> Merged:
    """Makes one memory of two; `undo` takes all of it back.

    The one that is kept takes over what the other knows: tags and links united, counts summed,
    importance at its maximum. The other is hidden behind it; with `delete` it is removed, and links
    to it are moved; with `mark` no record changes.

    Args:
        store: The store of both.
        keep: Id of the survivor.
        remove: Id of the memory to remove.
        content: A text for the one that stays; its own by default. It has to keep the numbers,
            names, paths, dates, negations and decisions of both, and of what stands hidden behind
            it.
        options: See `MergeOptions`.

    Raises:
        InputError: A memory is not there.
        UsageError: The two may not be merged, the text loses a fact, or no encoder fits.
        EncoderError: The text could not be embedded; nothing was written.
        PlanRefused: A record changed meanwhile, or did not read back; nothing was lost.
        StoreError: Locked, read-only or full.
    """
    plan = plan_merge(store, keep, remove, content, **options)
    run = apply(store, plan)
    if run.refused:
        raise PlanRefused(f"Nothing was merged: {run.refused[0].reason}.")
    return Merged(run.id, store.get([keep])[keep], remove, notes_on(plan))


def plan_merge(
    store: Store,
    keep: str,
    remove: str,
    content: str | None = None,
    *,
    embed: Embed | None = None,
    encoder: str | None = None,
    action: ActionKind = "merge",
    by: str = CALLER,
    settings: Settings | None = None,
) -> Plan:
    """Returns the plan of `merge_memories`, with the same arguments and errors."""
    stays, goes = _two(store, keep, remove)
    chosen = settings or resolve(Choices(), proposed=store.profile)
    marks = store.ledger.marks_about([keep, remove])
    for id_ in (keep, remove):
        if mark := marks.get(id_):
            undo = command_line("undo", store.url, mark.run or "RUN")
            raise UsageError(
                f"{id_} stands hidden behind {mark.survivor} already. Merge that one, or undo the "
                f"run that hid it first: `{undo}`."
            )
    prior = {mark.survivor for mark in marks.values()} | store.ledger.sticky()
    check_pair(store, stays, goes, prior, chosen.profile)
    rewrites = {}
    if content is not None:
        vectors = NewVectors(embed, encoder)
        rewrites[keep] = new_text(store, stays, [goes], content, vectors=vectors, by=by)
    text = stays.content if content is None else content
    return make_plan(
        [Group(keep, (asked_for(stays, goes, text),))],
        {keep: stays, remove: goes}.__getitem__,
        PlanBasis(
            store=store.identity,
            url=store.url,
            profile=chosen.profile.name,
            settings=chosen.digest,
            rules=store,
            retained=store.retained([(remove, keep)]),
        ),
        action=action,
        reasons={keep: CHOSEN if by == CALLER else f"chosen by {by}"},
        rewrites=rewrites,
    )


def notes_on(plan: Plan) -> tuple[str, ...]:
    """Returns the facts that only removed memories have, as far as a check sees them.

    Args:
        plan: From `plan_merge` or a review; a plan file has no such notes.
    """
    return tuple(
        f"{member.id}: {member.note}."
        for action in plan.actions
        for member in action.members
        if member.note
    )


# ------------------------------------------------------------------ what may be merged


def _two(store: Store, a: str, b: str) -> tuple[Memory, Memory]:
    """Returns two memories.

    Raises:
        InputError: The store has no such memory.
        UsageError: Both are one.
    """
    if a == b:
        raise UsageError(f"{a!r} is named twice; a pair is two memories.")
    return memory_of(store, a), memory_of(store, b)


def check_pair(
    store: Store, keep: Memory, remove: Memory, prior: AbstractSet[str], profile: Profile
) -> None:
    """Checks that one memory may be merged into another.

    Raises:
        UsageError: The pair may not be merged; the message says why.
    """
    scopes = zip(profile.scopes, profile.scope_of(keep), profile.scope_of(remove), strict=True)
    for name, one, other in scopes:
        if one != other:
            raise UsageError(
                f"{keep.id} has {name} {one!r} and {remove.id} {other!r}; memories of two scopes "
                "are never merged."
            )
    if remove.pinned:
        instead = "" if keep.pinned else f" Keep it, and remove {keep.id}."
        raise UsageError(f"{remove.id} is pinned and is not merged away.{instead}")
    if why := store.protected(remove):
        raise UsageError(f"{remove.id} is protected and is not merged away: {why}.")
    if lack := keep.promise.lack(remove.promise):
        raise UsageError(f"{keep.id} {lack}, so it cannot stand for {remove.id}. Keep {remove.id}.")
    if remove.id in prior:
        named = command_line("show", store.url, remove.id)
        raise UsageError(
            f"{remove.id} is the survivor of an earlier run and is not merged away. Keep it and "
            f"remove {keep.id}, or undo that run first (`{named}` names it)."
        )


# ------------------------------------------------------------------ the verdict of a person


def asked_for(keep: Memory, gone: Memory, text: str) -> Membership:
    """Returns the membership of a memory that a person or a caller puts behind another one.

    Args:
        keep: The survivor.
        gone: The memory that goes behind the survivor.
        text: Text of the survivor after the merge.
    """
    lost = lost_facts([gone.content], text)
    note = f"not in the text that stays: {lost.line()}" if lost else ""
    evidence = Evidence("asked-for", "by hand", _similarity(keep, gone), note=note)
    a, b = sorted((keep.id, gone.id))
    return Membership(gone.id, Judged(a, b, Duplicate(evidence)))


def _similarity(one: Memory, other: Memory) -> float:
    """Returns the cosine of stored vectors, or shared wording without vectors of one model."""
    from echoless.blocking.detectors import lexical
    from echoless.blocking.vector_join.self_join import measured

    cosines = [
        value
        for matrix in MemoryVectoriser().matrices([one, other], Tally())
        for value in measured(matrix, [(0, 1)])
        if value is not None
    ]
    return max(0.0, *cosines) if cosines else lexical.pair_similarity(one.content, other.content)


# ------------------------------------------------------------------ pairs that stay apart


def keep_both(store: Store, a: str, b: str, *, by: str = "library") -> None:
    """Records that two memories differ: the pair is not offered again while their texts stay.

    Written to the lineage only; no memory changes.

    Args:
        store: Of the memories.
        a: Id of a memory.
        b: Id of the second memory.
        by: As for `rollback.keep_both`.

    Raises:
        InputError: A memory is not there.
        UsageError: Both are one.
        StoreError: Locked, read-only or full.
    """
    _two(store, a, b)
    undoing.keep_both(store, [(a, b)], by=by)
