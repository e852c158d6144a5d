"""What follows from looking at a pair: one memory of both, or the word that they differ."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from echoless import undoing
from echoless.actions import Rewrite
from echoless.applying import Run, apply
from echoless.errors import EncoderError, InputError, PlanRefused, UsageError
from echoless.groups import Group, Membership
from echoless.judge.guards import negations, numbers
from echoless.model import Duplicate, Evidence, Judged, Memory, Vector
from echoless.planning import Plan, make_plan
from echoless.settings import Choices, resolve
from echoless.stores.base import Protects, Store
from echoless.tally import Tally
from echoless.text import is_blank
from echoless.vectors.vectorise import MemoryVectoriser

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Vectors of texts, by the model of the collection."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Two memories that are one now.

    Attributes:
        run: For `undo`.
        memory: The one that was kept, as it reads now.
        removed: Id of the other.
    """

    run: str
    memory: Memory
    removed: str


def merge_memories(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = "the caller",
) -> Merged:
    """Make one memory of two: the kept one takes over what the other knows; the other is removed.

    Tags are united and sorted, counts summed, importance at its maximum, links of and to the
    removed memory moved. The replacement is written and read back before anything is removed, and
    `undo` takes all of it back.

    Args:
        store: The store of both.
        keep_id: Stays.
        remove_id: Goes.
        merged_content: A text for the one that stays; its own by default.
        embed: Gives the vector of that text; needed with `merged_content`.
        by: Who wrote it, for the history.

    Raises:
        InputError: A memory is not there.
        UsageError: The two may not be merged, or the new text loses a number or a negation.
        EncoderError: The text could not be embedded; nothing was written.
        PlanRefused: A record changed meanwhile, or did not read back; nothing was lost.
    """
    made = plan_merge(store, keep_id, remove_id, merged_content, embed=embed, by=by)
    done: Run = apply(store, made)
    if done.refused:
        raise PlanRefused(f"Nothing was merged: {done.refused[0].reason}.")
    return Merged(done.id, store.get([keep_id])[keep_id], remove_id)


def plan_merge(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = "the caller",
) -> Plan:
    """The plan `merge_memories` carries out; arguments and errors as there. Writes nothing."""
    keep, remove = _both(store, keep_id, remove_id)
    if keep.namespace != remove.namespace:
        raise UsageError(
            f"{keep_id} is {keep.namespace!r} and {remove_id} is {remove.namespace!r}; memories of "
            "two namespaces are never merged."
        )
    for memory in (keep, remove):
        _refuse_special(store, memory)
    evidence = Evidence("asked-for", "by hand", _similarity(keep, remove))
    a, b = sorted((keep_id, remove_id))
    group = Group(keep_id, (Membership(remove_id, Judged(a, b, Duplicate(evidence))),))
    rewrites = None
    if merged_content is not None:
        rewrites = {keep_id: _rewrite(keep, remove, merged_content, embed, by)}
    return make_plan(
        [group],
        {keep_id: keep, remove_id: remove}.__getitem__,
        action="delete",
        reasons={keep_id: "chosen by the caller"},
        store=store.identity,
        url=store.url,
        profile="ego",
        settings=resolve(Choices(profile="ego")).digest,
        rewrites=rewrites,
    )


def _both(store: Store, one: str, other: str) -> tuple[Memory, Memory]:
    if one == other:
        raise UsageError(f"{one!r} is named twice; a pair is two memories.")
    found = store.get([one, other])
    for id_ in (one, other):
        if id_ not in found:
            raise InputError(f"There is no memory {id_!r} in {store.url}.")
    return found[one], found[other]


def _refuse_special(store: Store, memory: Memory) -> None:
    if memory.pinned:
        raise UsageError(f"{memory.id} is pinned and is not merged.")
    if isinstance(store, Protects) and (why := store.protected(memory)):
        raise UsageError(f"{memory.id} is protected and is not merged: {why}.")


def _similarity(one: Memory, other: Memory) -> float:
    from echoless.detect.semantic import similarities  # noqa: PLC0415 - numpy loads with it

    found = [
        value
        for matrix in MemoryVectoriser().matrices([one, other], Tally())
        for value in similarities(matrix, [(0, 1)])
        if value is not None
    ]
    return max(found, default=0.0)


# ------------------------------------------------------------------ a new text


def _rewrite(keep: Memory, remove: Memory, text: str, embed: Embed | None, by: str) -> Rewrite:
    if is_blank(text):
        raise UsageError("content must not be empty")
    _refuse_loss(text, keep, remove)
    if embed is None:
        raise UsageError(
            "A new text needs a vector of its own; hand in what embeds it, by the model of the "
            "collection."
        )
    return Rewrite(text, (_vector(keep, text, embed),), by)


def _refuse_loss(text: str, *sources: Memory) -> None:
    """Law 12: a merged text keeps the numbers and negations of its sources."""
    for what, read in (("number", numbers), ("negation", negations)):
        said = set(read(text))
        for memory in sources:
            lost = [each for each in read(memory.content) if each not in said]
            if lost and not (what == "negation" and said):
                raise UsageError(
                    f"The new text loses the {what} {lost[0]!r} of {memory.id}; nothing was "
                    "merged. Keep what both memories say, or keep both."
                )


def _vector(keep: Memory, text: str, embed: Embed) -> Vector:
    if len(keep.vectors) != 1:
        raise UsageError(f"{keep.id} has no vector to take the model's name and length from.")
    (old,) = keep.vectors
    try:
        (row,) = embed([text])
        data = struct.pack(f"<{len(row)}f", *row)
    except Exception as problem:  # the callable is foreign code
        raise EncoderError(f"embedding failed: {problem}. Nothing was written.") from problem
    if len(data) != len(old.data):
        raise EncoderError(
            f"embedding failed: the new vector has {len(row)} components, the collection's have "
            f"{old.dimensions}. Embed with the model of the collection; nothing was written."
        )
    return Vector(old.model, data)


# ------------------------------------------------------------------ the word that they differ


def keep_both(store: Store, a_id: str, b_id: str) -> None:
    """Remember that two memories differ: the pair is not offered again while neither text changes.

    Raises:
        InputError: A memory is not there.
        UsageError: Both are one.
    """
    _both(store, a_id, b_id)
    undoing.keep_both(store, [(a_id, b_id)])
