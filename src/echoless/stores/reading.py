"""Reads a store for a run: its memories, and what earlier runs and people decided about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Final

from echoless.core.groups import PINNED, PRIOR_SURVIVOR
from echoless.core.model import Memory
from echoless.core.run_notes import Progress, Tally
from echoless.core.timestamps import instant
from echoless.stores.base import Scope, Store, in_contexts
from echoless.stores.ledger import Mark, kept_apart, outdated
from echoless.stores.ledger_rows import UPDATE
from echoless.stores.scope import by_owners


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories of a store are read.

    Attributes:
        scopes: What the store is asked for, one scope after the other.
        only: Ids of the memories that take part; all of the scopes by default.
        part: Whether most memories of the store may not take part: then only the marks and kept
            pairs that name those read are read of the ledger.
    """

    scopes: Sequence[Scope]
    only: Collection[str] | None = None
    part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContents:
    """The memories that take part in a run, and what is known of them.

    Attributes:
        memories: By id, ids ascending; marked ones included.
        in_context: The same as the judge reads them; the same object where no store has contexts.
        marked: Survivor by hidden memory, from earlier runs whose verdict still holds.
        prior: Survivors of earlier runs.
        apart: Pairs of ids (smaller first) that a person keeps apart, their texts unchanged.
        protected: Why memories stay visible whatever they say, by id.
    """

    memories: Mapping[str, Memory]
    in_context: Mapping[str, Memory]
    marked: Mapping[str, str]
    prior: AbstractSet[str]
    apart: AbstractSet[tuple[str, str]]
    protected: Mapping[str, str]


def read(
    store: Store,
    selection: Selection,
    tally: Tally,
    tell: Progress,
    aside: Callable[[Iterable[Memory]], Iterable[Memory]],
) -> StoreContents:
    """Reads the memories of a run.

    Args:
        store: Any open store.
        selection: Which of them.
        tally: Takes the remarks of the store, and counts outdated marks.
        tell: Told how many were read.
        aside: Takes large vectors to the disk (`Spill.aside`).

    Raises:
        InputError: The store holds records that cannot be read.
    """
    by_id: dict[str, Memory] = {}
    tell("reading", 0, 0)
    for memory in aside(chain.from_iterable(store.scan(scope) for scope in selection.scopes)):
        if selection.only is not None and memory.id not in selection.only:
            continue
        by_id[memory.id] = memory
        if len(by_id) % 1000 == 0:
            tell("reading", len(by_id), 0)
    tell("reading", len(by_id), len(by_id))
    owned, notes = by_owners(by_id)
    memories = {id_: owned[id_] for id_ in sorted(owned)}
    marks = standing_marks(store, memories, tally, part=selection.part)
    prior = {mark.survivor for mark in marks.values()} | store.ledger.sticky()
    contents = StoreContents(
        memories=memories,
        in_context=in_contexts(store, memories),
        marked={id_: mark.survivor for id_, mark in marks.items() if id_ in memories},
        prior=prior,
        protected=_protected(store, memories, prior),
        apart=kept_apart(store.ledger, memories, part=selection.part),
    )
    tally.note(*store.remarks(), *notes)
    return contents


def visible_memories(store: Store, tally: Tally) -> Iterator[Memory]:
    """Yields the memories of a store that earlier runs did not hide."""
    memories = {memory.id: memory for memory in store.scan()}
    marks = standing_marks(store, memories, Tally())
    for remark in store.remarks():
        tally.note(f"{store.url}: {remark}")
    yield from (memories[id_] for id_ in sorted(memories.keys() - marks.keys()))


def standing_marks(
    store: Store, memories: Mapping[str, Memory], tally: Tally, *, part: bool = False
) -> dict[str, Mark]:
    """Returns the marks whose verdict still holds; counts the outdated ones.

    Args:
        store: Any open store.
        memories: By id.
        tally: Counts the outdated marks.
        part: Whether they are few of the store: then only the marks that name them are read.
    """
    marks = store.ledger.marks_about(memories.keys()) if part else store.ledger.marks()
    own = [mark for mark in marks.values() if mark.duplicate in memories]
    absent = {mark.survivor for mark in own} - memories.keys()
    elsewhere = store.get(absent) if absent else {}  # a look costs a read of the file
    known = {i: memories[i] for m in own for i in (m.duplicate, m.survivor) if i in memories}
    known |= elsewhere
    stale = {mark.duplicate for mark in outdated(own, known)}
    stale |= {mark.duplicate for mark in own if mark.survivor not in known}
    if stale:
        tally.skip("mark outdated, looked at again", *stale)
    return {id_: mark for id_, mark in marks.items() if id_ not in stale}


def _protected(
    store: Store, memories: Mapping[str, Memory], prior: AbstractSet[str]
) -> dict[str, str]:
    """Returns why memories stay visible whatever they say, by id."""
    reasons = dict.fromkeys(prior & memories.keys(), PRIOR_SURVIVOR)
    reasons.update((id_, PINNED) for id_, memory in memories.items() if memory.pinned)
    for id_, memory in memories.items():
        if why := store.protected(memory):
            reasons.setdefault(id_, why)
    return reasons


# ------------------------------------------------------------------ values that were replaced


OLDER: Final = 3
"""Older values that are told of a memory, at most: a version may have been replaced fifty times."""


@dataclass(frozen=True, slots=True)
class OlderValue:
    """A memory whose value another one replaced.

    Attributes:
        memory: The older memory.
        until: When the newer value was written, as its record has it; None where it has no time.
    """

    memory: Memory
    until: str | None


@dataclass(frozen=True, slots=True)
class ValuesInForce:
    """Which memory says the value in force for each of some memories.

    Attributes:
        memories: By id: those asked about and all that the ledger connects with them.
        marked: Survivor by hidden memory, of marks that hold.
        newer: By older memory those that replaced its value, each with the time it did.
    """

    memories: Mapping[str, Memory]
    marked: Mapping[str, str]
    newer: Mapping[str, Mapping[str, str | None]]

    def newest(self, id_: str) -> str:
        """Returns the memory that stands for another one: its newest value, or its survivor."""
        reached: set[str] = set()
        last: set[str] = set()
        waiting = {id_}
        while waiting:  # a value that holds again may lead round to the first memory with it
            each = waiting.pop()
            reached.add(each)
            ahead = self.newer.get(each, {}).keys() or {self.marked.get(each, each)} - {each}
            waiting |= ahead - reached
            last |= set() if ahead else {each}
        return max(last or reached, key=lambda i: (self._replaced_at(i), i))

    def older(self, id_: str) -> tuple[OlderValue, ...]:
        """Returns the values that a memory replaced, latest first, `OLDER` at most."""
        until: dict[str, str | None] = {}
        waiting = [id_]
        while waiting:
            at = waiting.pop()
            for older, newer in self.newer.items():
                if at in newer and older not in until and older != id_:
                    until[older] = min(newer.values(), key=lambda time: instant(time) or 0)
                    waiting.append(older)
        values = [OlderValue(self.memories[older], end) for older, end in sorted(until.items())]
        values.sort(key=lambda each: instant(each.memory.created_at) or 0, reverse=True)
        values.sort(key=lambda each: instant(each.until) or 0, reverse=True)
        return tuple(values[:OLDER])

    def _replaced_at(self, id_: str) -> int:
        """Returns when a memory last replaced the value of another one; 0 if that is not known."""
        times = (times[id_] for times in self.newer.values() if id_ in times)
        return max((instant(time) or 0 for time in times), default=0)


def values_in_force(store: Store, ids: Iterable[str]) -> ValuesInForce:
    """Reads what the ledger knows of some memories: what hides them, and what replaced their value.

    A pair that a person keeps both of replaces nothing, nor does one of which a text was rewritten.

    Args:
        store: Any open store.
        ids: Of memories; what is connected with them is read as well.
    """
    ledger, seen, asked = store.ledger, set[str](), set(ids)
    marks: dict[str, Mark] = {}
    updates: set[Mark] = set()
    replaced: set[Mark] = set()
    while asked:
        seen |= asked
        marks |= ledger.marks_about(asked)
        updates |= ledger.updates_about(asked | marks.keys())
        replaced = {*updates, *(mark for mark in marks.values() if mark.verdict == UPDATE)}
        asked = {id_ for each in replaced for id_ in (each.duplicate, each.survivor)}
        asked = (asked | {mark.survivor for mark in marks.values()}) - seen
    memories = store.get(seen)
    apart = kept_apart(ledger, memories, part=True) if updates else set()
    stale = {*outdated((*marks.values(), *updates), memories)}
    stale |= {each for each in updates if tuple(sorted((each.duplicate, each.survivor))) in apart}
    stale |= {each for each in (*marks.values(), *updates) if each.survivor not in memories}
    marked = {id_: mark.survivor for id_, mark in marks.items() if mark not in stale}
    copies = {i: survivor for i, survivor in marked.items() if marks[i].verdict != UPDATE}
    newer: dict[str, dict[str, str | None]] = {}
    for each in replaced - stale:
        older, at = (copies.get(i, i) for i in (each.duplicate, each.survivor))
        if older != at and older in memories:
            newer.setdefault(older, {})[at] = memories[each.survivor].created_at
    return ValuesInForce(memories, marked, newer)
