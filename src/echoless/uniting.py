"""What follows from looking at a pair: one memory of both, or the word that they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from echoless import undoing
from echoless.actions import Rewrite
from echoless.applying import apply
from echoless.errors import InputError, PlanRefused, UsageError
from echoless.facts_kept import lost_facts
from echoless.groups import Group, Membership
from echoless.ledger import Mark
from echoless.llm import Embed
from echoless.model import Duplicate, Evidence, Judged, Memory
from echoless.planning import Plan, make_plan
from echoless.profiles import ActionKind, Profile
from echoless.rewriting import NewVectors, rewrite_of
from echoless.settings import Choices, Settings, resolve
from echoless.stores.base import Protects, Retains, Store, Unites
from echoless.tally import Tally

__all__ = ["CALLER", "Embed", "Merged", "keep_both", "merge_memories", "plan_merge", "plan_merges"]

CALLER: Final = "the caller"
CHOSEN: Final = "chosen by the caller"


@dataclass(frozen=True, slots=True)
class Merged:
    """Two memories that are one now.

    Attributes:
        run: For `undo`.
        memory: The one that was kept, as it reads now.
        removed: Id of the other, which is hidden or, if that was asked for, removed.
        notes: What its reader should know, a sentence each: what only the other one said.
    """

    run: str
    memory: Memory
    removed: str
    notes: tuple[str, ...] = ()


def merge_memories(
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
) -> Merged:
    """Make one memory of two. `undo` takes all of it back.

    The one that is kept takes over what the other knows: tags and links united, counts summed,
    importance at its maximum. The other is hidden behind it; with `delete` it is removed, and links
    to it are moved; with `mark` no record changes.

    Args:
        store: The store of both.
        keep: Id of the one that stays.
        remove: Id of the one that goes.
        content: A text for the one that stays; its own by default. It has to keep the numbers,
            names, paths, dates, negations and decisions of both, and of what stands hidden behind
            it.
        embed: Gives the vector of that text, where the one that stays has a stored one.
        encoder: `name:argument`, in place of `embed`; see `rewriting.NewVectors`.
        action: `mark`, `merge` or `delete`.
        by: Who decided, for the history.
        settings: Complete settings; those of the store's profile by default.

    Raises:
        InputError: A memory is not there.
        UsageError: The two may not be merged, the text loses a fact, or no encoder fits.
        EncoderError: The text could not be embedded; nothing was written.
        PlanRefused: A record changed meanwhile, or did not read back; nothing was lost.
        StoreError: Locked, read-only or full.
    """
    made = plan_merge(
        store,
        keep,
        remove,
        content,
        embed=embed,
        encoder=encoder,
        action=action,
        by=by,
        settings=settings,
    )
    done = apply(store, made)
    if done.refused:
        raise PlanRefused(f"Nothing was merged: {done.refused[0].reason}.")
    return Merged(done.id, store.get([keep])[keep], remove, notes_on(made))


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
    """The plan `merge_memories` carries out; arguments and errors as there. Writes nothing."""
    return plan_merges(
        store,
        [(keep, remove)],
        {} if content is None else {keep: content},
        embed=embed,
        encoder=encoder,
        action=action,
        by=by,
        settings=settings,
    )


def plan_merges(
    store: Store,
    pairs: Sequence[tuple[str, str]],
    texts: Mapping[str, str] | None = None,
    *,
    embed: Embed | None = None,
    encoder: str | None = None,
    action: ActionKind = "merge",
    by: str = CALLER,
    settings: Settings | None = None,
) -> Plan:
    """One plan for several pairs. Writes nothing; what is not told here is as for `merge_memories`.

    Args:
        store: The store of all.
        pairs: The one that stays and the one that goes. One may stay in several pairs; none goes
            twice, or goes and stays.
        texts: New texts by the id of the one that stays.
        embed: As above.
        encoder: As above.
        action: As above.
        by: As above.
        settings: As above.

    Raises:
        InputError: A memory is not there.
        UsageError: As above, or the pairs contradict each other.
        EncoderError: As above.
    """
    chosen = settings or resolve(Choices(), proposed=store.profile)
    behind = _behind(pairs)
    marks = store.ledger.marks()
    memories = _read(store, behind, marks)
    prior = {mark.survivor for mark in marks.values()} | store.ledger.sticky()
    for keep, gone in behind.items():
        for remove in gone:
            _check_pair(store, memories[keep], memories[remove], prior, chosen.profile)
    vectors = NewVectors(embed, encoder)
    rewrites = {}
    for keep, text in (texts or {}).items():
        _check_rewritten(store, memories[keep])
        already = store.get(id_ for id_, mark in marks.items() if mark.survivor == keep)
        sources = [*(memories[id_] for id_ in (keep, *behind[keep])), *already.values()]
        rewrites[keep] = rewrite_of(memories[keep], sources, text, vectors=vectors, by=by)
    merges = [(keep, remove) for keep, gone in behind.items() for remove in gone]
    return make_plan(
        [_group(memories, keep, gone, rewrites.get(keep)) for keep, gone in behind.items()],
        memories.__getitem__,
        action=action,
        reasons=dict.fromkeys(behind, CHOSEN if by == CALLER else f"chosen by {by}"),
        store=store.identity,
        url=store.url,
        profile=chosen.profile.name,
        settings=chosen.digest,
        rewrites=rewrites,
        rules=store if isinstance(store, Unites) else None,
        retained=store.retained([(r, k) for k, r in merges]) if isinstance(store, Retains) else {},
    )


def notes_on(plan: Plan) -> tuple[str, ...]:
    """What only those that go say, as far as it can be checked, a sentence each."""
    return tuple(
        f"{member.id}: {member.evidence.partition('; ')[2]}."
        for action in plan.actions
        for member in action.members
        if "; " in member.evidence
    )


# ------------------------------------------------------------------ what may be merged


def _behind(pairs: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """What goes, by what it goes behind."""
    gone: dict[str, str] = {}
    for keep, remove in pairs:
        if keep == remove:
            raise UsageError(f"{keep!r} is named twice; a pair is two memories.")
        if gone.setdefault(remove, keep) != keep:
            raise UsageError(f"{remove} cannot go into {gone[remove]} and into {keep}. Choose one.")
    both = sorted(gone.keys() & set(gone.values()))
    if both:
        raise UsageError(f"{both[0]} cannot both stay and go. Merge one pair after the other.")
    keeps = sorted(set(gone.values()))
    return {keep: tuple(sorted(r for r in gone if gone[r] == keep)) for keep in keeps}


def _read(
    store: Store, behind: Mapping[str, Sequence[str]], marks: Mapping[str, Mark]
) -> dict[str, Memory]:
    wanted = [id_ for keep, gone in behind.items() for id_ in (keep, *gone)]
    found = store.get(wanted)
    for id_ in wanted:
        if id_ not in found:
            raise InputError(f"There is no memory {id_!r} in {store.url}.")
    for id_ in wanted:
        if id_ in marks:
            raise UsageError(
                f"{id_} stands hidden behind {marks[id_].survivor} already. Merge that one, or "
                "undo the run that hid it first (`echoless history` lists runs)."
            )
    return dict(found)


def _check_pair(
    store: Store, keep: Memory, remove: Memory, prior: AbstractSet[str], profile: Profile
) -> None:
    scopes = zip(profile.partition, profile.scope_of(keep), profile.scope_of(remove), strict=True)
    for name, one, other in scopes:
        if one != other:
            raise UsageError(
                f"{keep.id} has {name} {one!r} and {remove.id} {other!r}; memories of two scopes "
                "are never merged."
            )
    if remove.pinned:
        raise UsageError(f"{remove.id} is pinned and is not merged away.{_other_way(keep)}")
    if isinstance(store, Protects) and (why := store.protected(remove)):
        raise UsageError(f"{remove.id} is protected and is not merged away: {why}.")
    if remove.id in prior:
        raise UsageError(
            f"{remove.id} is the survivor of an earlier run and is not merged away. Keep it and "
            f"remove {keep.id}, or undo that run first (`echoless show` names it)."
        )


def _other_way(keep: Memory) -> str:
    return "" if keep.pinned else f" Keep it, and remove {keep.id}."


def _check_rewritten(store: Store, keep: Memory) -> None:
    if keep.pinned:
        raise UsageError(f"{keep.id} is pinned: its text is not changed. Leave out the content.")
    if isinstance(store, Protects) and (why := store.protected(keep)):
        raise UsageError(f"{keep.id} is protected and its text is not changed: {why}.")


# ------------------------------------------------------------------ the group


def _group(
    memories: Mapping[str, Memory], keep: str, gone: Sequence[str], rewrite: Rewrite | None
) -> Group:
    stays = memories[keep].content if rewrite is None else rewrite.content
    members = []
    for id_ in gone:
        lost = lost_facts([memories[id_].content], stays)
        note = f"not in the text that stays: {lost.line()}" if lost else ""
        similarity = _similarity(memories[keep], memories[id_])
        verdict = Duplicate(Evidence("asked-for", "by hand", similarity, note=note))
        a, b = sorted((keep, id_))
        members.append(Membership(id_, Judged(a, b, verdict)))
    return Group(keep, tuple(members))


def _similarity(one: Memory, other: Memory) -> float:
    """Cosine of stored vectors, or shared wording where there are none of one model."""
    from echoless.detect.lexical import pair_similarity  # noqa: PLC0415 - numpy loads with it
    from echoless.detect.semantic import similarities  # noqa: PLC0415
    from echoless.vectors.vectorise import MemoryVectoriser  # noqa: PLC0415

    found = [
        value
        for matrix in MemoryVectoriser().matrices([one, other], Tally())
        for value in similarities(matrix, [(0, 1)])
        if value is not None
    ]
    return max(0.0, *found) if found else pair_similarity(one.content, other.content)


# ------------------------------------------------------------------ the word that they differ


def keep_both(store: Store, a: str, b: str) -> None:
    """Remember that two memories differ: the pair is not offered again while neither text changes.

    Written to the lineage only; no memory changes.

    Raises:
        InputError: A memory is not there.
        UsageError: Both are one.
        StoreError: Locked, read-only or full.
    """
    if a == b:
        raise UsageError(f"{a!r} is named twice; a pair is two memories.")
    found = store.get([a, b])
    for id_ in (a, b):
        if id_ not in found:
            raise InputError(f"There is no memory {id_!r} in {store.url}.")
    undoing.keep_both(store, [(a, b)])
