"""Hidden memories that were moved out of their store, kept whole in its ledger.

A store whose own program reads every record can hide a memory from it in one way only: the record
leaves. It goes into the table `hidden` of the ledger before it leaves the store, and out of the
table after it is back, so that at every moment it lies in one of the two, and the store counts
where it lies in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import Any, ClassVar, Final

from echoless.core.destination import command_line
from echoless.core.document import names
from echoless.core.errors import EcholessError, StoreError, StoreReadOnly
from echoless.core.json_codec import memory_from_json, memory_to_json
from echoless.core.model import Memory, canonical
from echoless.stores.base import ALL, Capabilities, OwnerView, Scope, Store
from echoless.stores.expiration import promised
from echoless.stores.field_map import Hiding
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.ledger_rows import damaged, object_of, text_of, unreadable
from echoless.stores.ledger_schema import LedgerDatabase
from echoless.stores.sidecar import BesideSidecar

_FACT: Final = "hide"
COLUMNS: Final = "id, place, after, body"
"""Columns of the table, besides the number of the row."""


@dataclass(frozen=True, slots=True)
class HiddenRecord:
    """A memory that was moved out of its store.

    Attributes:
        memory: The memory before it was moved, with its `native`.
        place: Where it belongs, for a store with an order of its own; 0 elsewhere.
        after: Key of its former predecessor, for a store that restores places by neighbours; else
            empty.
    """

    memory: Memory
    place: int = 0
    after: str = ""

    @property
    def row(self) -> tuple[str, int, str, str]:
        """Returns the record as a row of the table, see `COLUMNS`."""
        body = canonical(memory_to_json(self.memory, with_native=True))
        return self.memory.id, self.place, self.after, body


class HiddenRecords:
    """Table of the moved memories of one store."""

    def __init__(self, ledger: Ledger) -> None:
        """Wraps the ledger that holds the table.

        Args:
            ledger: In a sidecar.
        """
        self._database: LedgerDatabase = ledger.database
        self._table = self._database.table("hidden")

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Reads rows.

        Raises:
            LedgerDamaged: They cannot be read.
        """
        try:
            return self._database.rows(statement)
        except self._database.errors as problem:
            raise unreadable(problem, self._database, "hidden") from problem

    def state(self) -> str:
        """Returns a text that changes with every change of the table; empty while it is empty."""
        rows = self._rows(f"SELECT count(*), max(seq) FROM {self._table}")
        count, last = rows[0] if rows else (0, None)
        return f"{count}/{last}" if count else ""

    def read(self) -> dict[str, HiddenRecord]:
        """Returns all moved memories by id, in the order of their places.

        Raises:
            LedgerDamaged: A row cannot be read; the message names it.
        """
        rows = self._rows(f"SELECT {COLUMNS} FROM {self._table} ORDER BY place, seq")
        return {str(row[0]): self._record(*row) for row in rows}

    def _record(self, id_: object, place: object, after: object, body: object) -> HiddenRecord:
        """Reads one row."""
        where, what = self._database.place, f"the moved memory {id_!r}"
        if not isinstance(place, int):
            raise damaged(where, what, "stands at no place")
        try:
            memory = promised(memory_from_json(object_of(body, where, what)))
        except EcholessError as problem:
            raise damaged(where, what, f"is no memory ({problem})") from problem
        if memory.id != id_:
            raise damaged(where, what, f"shows another memory, {memory.id!r}")
        return HiddenRecord(memory, place, text_of(after, where, what))

    def save(self, records: Iterable[HiddenRecord]) -> None:
        """Writes rows, in place of older ones of the same memories, and commits them.

        A row that takes the place of another gets a new number, so that `state` changes.
        """
        rows = [each.row for each in records]
        with self._database.transaction(), self._database.speaking():
            self._delete(id_ for id_, *_ in rows)
            statement = f"INSERT INTO {self._table} ({COLUMNS}) VALUES (?, ?, ?, ?)"
            self._database.change_many(statement, rows)

    def drop(self, ids: Iterable[str]) -> None:
        """Removes the rows of some memories; unknown ids are ignored."""
        gone = list(ids)
        if not gone:
            return
        with self._database.transaction(), self._database.speaking():
            self._delete(gone)

    def _delete(self, ids: Iterable[str]) -> None:
        statement = f"DELETE FROM {self._table} WHERE id = ?"
        self._database.change_many(statement, [(id_,) for id_ in ids])

    def insist_on_commit(self) -> None:
        """Refuses to go on where a row that is saved now would be committed later than the store.

        Raises:
            StoreError: A transaction of the ledger is open.
        """
        if self._database.in_transaction:
            where = self._database.place or "memory"
            raise StoreError(
                f"Memories cannot be moved while a transaction of the ledger in {where} is open: "
                "it would be committed later than the store. Call hide and unhide outside of it."
            )


class HidesOnRequest(BesideSidecar):
    """Common part of the stores that hide from their own program where that is asked for.

    Attributes:
        owner_reads: Who reads the store, as the subject of a sentence in the plural.
        way: How this kind of store hides from its own program.
    """

    capabilities = Capabilities(hides=True)
    owner_reads: str = "other programs that read it"
    way: ClassVar[Hiding] = "move"
    _location: Any
    _asked: Hiding = ""
    _cached: tuple[str, dict[str, HiddenRecord]] = "", {}

    @property
    def hiding(self) -> Hiding:
        """Returns how memories are hidden now: as asked for, else as the store was told before."""
        if self._asked:
            return self._asked
        return self.way if self.ledger.fact(_FACT) == self.way else "mark"

    @property
    def bound(self) -> str:
        """Returns why no record may leave the store, as a clause; empty where it may.

        The program keeps something beside the records that would no longer fit them.
        """
        return ""

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns why duplicates may not be removed: all of them, where the store is bound."""
        if self.bound:
            return {duplicate: self.bound for duplicate, _ in pairs}
        return super().retained(pairs)

    def insist_on_unbound(self) -> None:
        """Refuses to move a record of a store whose program would no longer read the rest.

        Raises:
            StoreReadOnly: The store is bound.
        """
        if self.bound:
            raise StoreReadOnly(
                f"No record of {self.url} can be moved: {self.bound}. Leave out hide=move: then "
                "copies are hidden from echoless alone. Nothing was changed."
            )

    @property
    def owner_view(self) -> OwnerView:
        """Returns what the program that owns the store sees of hidden memories."""
        if self.bound:
            return OwnerView(f"{self.owner_reads} go on seeing them, as {self.bound}")
        if self.hiding == "mark":
            return self._seen_view(f"{self.owner_reads} go on seeing them")
        lost = f" {self.unrestored}" if self.unrestored else ""
        if self.way == "expire":
            return OwnerView(
                "Hidden memories stay in the store with a past date of expiration: "
                f"{self.owner_reads} leave them out. `echoless undo` sets the date back.{lost}"
            )
        return OwnerView(
            f"Hidden memories lie in {self._sidecar.name} and no longer in the store: "
            f"{self.owner_reads} do not see them. `echoless undo` puts them back.{lost}"
        )

    def _seen_view(self, sentence: str) -> OwnerView:
        """Returns the view of an owner's program that sees all, with the way to change it."""
        return OwnerView(sentence, self._moving_url())

    def _moving_url(self) -> str:
        """Returns the URL of this store under which its own program sees no hidden memories."""
        scheme = self.url.partition(":")[0]
        return f"{scheme}:///{replace(self._location, hide=self.way)}"

    def _remember_hiding(self) -> bool:
        """Notes in the ledger how the store is told to hide, and returns whether it moves."""
        if self._asked == self.way:
            self.insist_on_unbound()
        if self._asked and (self.ledger.fact(_FACT) or "mark") != self._asked:
            with self.ledger.transaction():
                self.ledger.set_fact(_FACT, self._asked)
        return self.hiding == self.way

    def _aside(self) -> dict[str, HiddenRecord]:
        """Returns what was moved out of the store, by id; read again where it changed."""
        table = HiddenRecords(self.ledger)
        state = table.state()
        if not state:
            return {}
        if self._cached[0] != state:
            self._cached = state, table.read()
        return self._cached[1]

    def _with_hidden(self, state: str) -> str:
        """Returns a state of the store that changes with the moved memories too."""
        moved = HiddenRecords(self.ledger).state()
        return f"{state}+{moved}" if moved else state


class MovesHidden(HidesOnRequest):
    """Store that can move hidden memories out of the records its own program reads.

    A store has the methods `own_…`, which know its records alone. The public ones here add what was
    moved: it is read, counted, changed and removed as if it were in the store.
    """

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the memories in the store alone, as `scan`."""
        raise NotImplementedError

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns memories in the store alone, as `get`."""
        raise NotImplementedError

    def own_count(self, scope: Scope) -> int:
        """Returns the number of memories in the store alone, as `count`; by default reads all."""
        return sum(1 for _ in self.own_scan(scope))

    def own_namespaces(self) -> Mapping[str, int]:
        """Returns the namespaces in the store alone, as `namespaces`; by default reads all."""
        return dict(sorted(Counter(memory.namespace for memory in self.own_scan(ALL)).items()))

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Writes memories into the store, as `put`."""
        raise NotImplementedError

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes memories from the store, as `remove`."""
        raise NotImplementedError

    def order(self, memory: Memory) -> tuple[int | float | str | bytes, ...]:
        """Returns the key by which `own_scan` sorts."""
        raise NotImplementedError

    def as_scanned(self, memory: Memory) -> Memory:
        """Returns a memory of `own_get` in the form of `own_scan`, which may read less."""
        return memory

    def conceal(self, memories: Sequence[Memory]) -> None:
        """Takes records out of the sight of the owner; by default out of the store."""
        self.own_remove([memory.id for memory in memories])

    def movable(self, memories: Mapping[str, Memory]) -> Mapping[str, Memory]:
        """Returns those of some memories that can leave the store; the others are only marked."""
        return memories

    def revealed(self, memories: Sequence[Memory]) -> None:
        """Puts records back into the sight of the owner."""
        self.own_put(memories)

    def _moved(self, names: Collection[str] | None = None) -> dict[str, Memory]:
        """Returns the moved memories that are not in the store as well, by id.

        Args:
            names: Only those of these namespaces; all by default.
        """
        aside = self._aside()
        if names is not None:
            aside = {i: each for i, each in aside.items() if each.memory.namespace in names}
        present = self.own_get(aside) if aside else {}
        return {id_: each.memory for id_, each in aside.items() if id_ not in present}

    # ------------------------------------------------------------------ reading

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the store's own order."""
        moved = self._moved(scope.names)
        if not moved:
            yield from self.own_scan(scope)
            return
        own = self.own_scan(Scope(among=scope.names))
        hidden = sorted(map(self.as_scanned, moved.values()), key=self.order)
        yield from scope.narrow(merge(own, hidden, key=self.order))

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id."""
        wanted = set(ids)
        present = self.own_get(wanted)
        aside = self._aside()
        absent = [i for i in sorted(wanted & aside.keys()) if i not in present]
        return {**present, **{i: aside[i].memory for i in absent}} if absent else present

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        moved = self._moved(scope.names)
        if not moved:
            return self.own_count(scope)
        if scope.is_whole:
            return self.own_count(scope) + len(moved)
        return sum(1 for _ in self.scan(scope))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        numbers = dict(self.own_namespaces())
        for memory in self._moved().values():
            numbers[memory.namespace] = numbers.get(memory.namespace, 0) + 1
        return dict(sorted(numbers.items()))

    def moved_linking(self, ids: Collection[str]) -> set[str]:
        """Returns the moved memories with a link to one of these."""
        return {
            id_
            for id_, each in self._aside().items()
            if any(link.target in ids for link in each.memory.links)
        }

    def returned(self) -> Sequence[str]:
        """Returns the moved memories that are in the store again."""
        aside = self._aside()
        return sorted(self.own_get(aside)) if aside else []

    def remarks(self) -> tuple[str, ...]:
        """Returns what else a scan found, and moved memories that are in the store again."""
        return (*super().remarks(), *back_again(self.returned()))

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds memories; one that was moved stays out of the store."""
        moved = self._moved()
        away = [m for m in memories if m.id in moved]
        if away:
            self._must_write()
            HiddenRecords(self.ledger).save(
                HiddenRecord(m if m.native else replace(m, native=moved[m.id].native)) for m in away
            )
        stay = [m for m in memories if m.id not in moved]
        if stay or not away:
            self.own_put(stay)

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories, moved ones too."""
        wanted = set(ids)
        aside = wanted & self._aside().keys()
        self.own_remove(wanted)
        if aside:
            HiddenRecords(self.ledger).drop(aside)

    def hide(self, marks: Sequence[Mark]) -> None:
        """Moves memories out of the store, where it was told to; else the ledger alone hides.

        Raises:
            StoreError: A transaction of the ledger is open, or the store is open for reading.
        """
        self._must_write()
        if not self._remember_hiding():
            return
        present = self.movable(self.own_get({mark.duplicate for mark in marks}))
        if not present:
            return
        table = HiddenRecords(self.ledger)
        if not self.capabilities.holds_ledger:
            table.insist_on_commit()
        leaving = [present[id_] for id_ in sorted(present)]
        table.save(HiddenRecord(memory) for memory in leaving)
        with self.transaction():
            self.conceal(leaving)

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts moved memories back into the store.

        Raises:
            StoreError: As `hide`.
        """
        wanted = set(ids)
        aside = self._aside()
        known = [aside[id_].memory for id_ in sorted(wanted & aside.keys())]
        if not known:
            return
        self._must_write()
        present = self.own_get([memory.id for memory in known])
        table = HiddenRecords(self.ledger)
        if not self.capabilities.holds_ledger:
            table.insist_on_commit()
        with self.transaction():
            self.revealed([memory for memory in known if memory.id not in present])
        table.drop(memory.id for memory in known)


def back_again(ids: Sequence[str]) -> tuple[str, ...]:
    """Returns the remark on hidden memories that are in the store again; none without ids."""
    if not ids:
        return ()
    remark = (
        f"Hidden memories that another program wrote into the store again: {len(ids)} "
        f"({names(map(repr, ids))}). It sees them. They stay hidden in echoless; undo their run "
        "and hide them once more."
    )
    return (remark,)


def seen_elsewhere(store: Store, counts: Mapping[str, int], run: str = "") -> str | None:
    """Returns what the owner's program sees of hidden memories, or None if all is as expected.

    Args:
        store: Where they are.
        counts: Of a plan or a run; memories that are merged stay in the store too.
        run: The run that hid them; empty for a plan.
    """
    view = store.owner_view
    if not counts["mark"] + counts["merge"] or not view.sentence:
        return None
    if not view.sees_hidden:
        return view.sentence
    if run:
        back = command_line("undo", store.url, run, "--no-keep-both")
        return f"They are hidden from echoless alone: {view.sentence}. {_next(view, back)}"
    return f"Marks hide memories from echoless alone: {view.sentence}. {_first(view, store.url)}"


def _first(view: OwnerView, url: str) -> str:
    """Returns what to do before anything is hidden."""
    back = command_line("undo", view.hiding_url or url, "last")
    if not view.hiding_url:
        return f"{view.way} `{back}` takes that back too."
    hide = command_line("dedup", view.hiding_url, "--apply")
    return f"`{hide}` moves them out of its sight; `{back}` brings them back."


def _next(view: OwnerView, back: str) -> str:
    """Returns what to do once memories are hidden."""
    if not view.hiding_url:
        return f"To change that: `{back}`. Then once more: {view.way}"
    hide = command_line("dedup", view.hiding_url, "--apply")
    return f"To move them out of its sight: `{back}`, and then `{hide}`."
