"""Tables whose own program stops seeing a marked memory: by a column, or as its row leaves.

A row that leaves lies in the ledger (`stores/hidden_records.py`) with every cell, its number, and
the rows of other tables that go with it. Some rows cannot leave: those that rows of other tables
refer to, and the one whose number the database would give to the next new row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property

from echoless.core.document import names
from echoless.core.errors import StoreError, StoreLocked, UsageError
from echoless.core.model import Memory
from echoless.core.sqlite import Cell
from echoless.stores.base import Capabilities, OwnerView
from echoless.stores.hidden_records import HiddenRecords, MovesHidden
from echoless.stores.ledger import Mark
from echoless_stores.sql.cells import CellKind
from echoless_stores.sql.database import put_back
from echoless_stores.sql.layout import Layout
from echoless_stores.sql.row_writing import new_id
from echoless_stores.sql.store import DEPENDENTS, Opened, TableStore
from echoless_stores.sql.table import Hiding, Row, shown_fact


def check_hiding(opened: Opened, layout: Layout) -> None:
    """Refuses to hide in one way where rows are hidden in another one already.

    Raises:
        UsageError: `hide=move` or `hide=mark` is asked for a table that hides by a column, or a
            column is named while memories lie in the ledger.
    """
    place = opened.location.place
    asked = opened.location.hiding_way(opened.table.columns)
    if asked and layout.deletion and layout.hiding is None:
        raise UsageError(
            f"{place} keeps deleted rows, marked in {layout.gone!r}, so hide={asked} cannot move "
            f"any out. Let a newer {layout.preset.program} open it once, which adds a column that "
            "hides."
        )
    if layout.hiding is None or opened.table.view or not opened.table.key:
        return
    if asked:
        raise UsageError(
            f"Programs that read {place} are told by {str(layout.hiding.place)!r} already what is "
            f"hidden, so hide={asked} has no use there. Leave it out."
        )
    if opened.sidecar.is_sound and HiddenRecords(opened.sidecar.ledger).state():
        raise UsageError(
            f"Hidden memories of {place} lie in its ledger, as hide=move put them there; they "
            f"cannot be hidden by {str(layout.hiding.place)!r} as well. Leave that out, or undo "
            "the runs that hid them first."
        )


class HidingTable(TableStore):
    """Table with a column that tells its own program which rows are hidden."""

    capabilities = Capabilities(transactions=True, hides=True)

    def __init__(self, opened: Opened, layout: Layout, hiding: Hiding) -> None:
        """Wraps a table with a column that hides its rows."""
        super().__init__(opened, layout)
        self._hiding = hiding

    @property
    def owner_view(self) -> OwnerView:
        """Returns nothing to say: the program sees no hidden rows."""
        return OwnerView()

    def hide(self, marks: Sequence[Mark]) -> None:
        """Sets the hiding column of rows; a row that is already hidden stays unchanged."""
        with self.transaction():
            rows = self._fetch({i for mark in marks for i in (mark.duplicate, mark.survivor)})
            cells: dict[str, Mapping[str, Cell]] = {}
            for mark in marks:
                row, survivor = rows.get(mark.duplicate), rows.get(mark.survivor)
                unnamed = survivor is None and self._hiding.survivor
                if row is None or unnamed or self._hiding.is_hidden(row):
                    continue
                before, fact = self._hiding.before(row), shown_fact(mark.duplicate)
                if before is not None or self.ledger.fact(fact) is not None:
                    self.ledger.set_fact(fact, json.dumps(before))
                cells[mark.duplicate] = self._hiding.hidden(row, survivor)
            self._set(rows, cells)

    def unhide(self, ids: Iterable[str]) -> None:
        """Restores the former values of the hiding column."""
        with self.transaction():
            rows = self._fetch(ids)
            cells = {
                id_: self._hiding.shown(row, self._shown_before(id_))
                for id_, row in sorted(rows.items())
                if self._hiding.is_hidden(row)
            }
            self._set(rows, cells)

    def _set(self, rows: Mapping[str, Row], cells: Mapping[str, Mapping[str, Cell]]) -> None:
        """Writes cells of some rows, by id."""
        with self._backend.transaction() as connection:
            self._effects.set_cells(connection, rows, cells)
        self._reread(rows)


class MovingTable(MovesHidden, TableStore):
    """Table out of which hidden rows are moved, where that is asked for."""

    capabilities = Capabilities(transactions=True, hides=True)

    def __init__(self, opened: Opened, layout: Layout) -> None:
        """Wraps a table without a column that hides its rows."""
        super().__init__(opened, layout)
        self._asked = opened.location.hiding_way(opened.table.columns)
        self.owner_reads = f"other programs that read {replace(opened.location, hide='').url}"
        self._staying: set[str] = set()

    # ------------------------------------------------------------------ reading

    # the rows of the table alone
    own_scan = TableStore.scan
    own_get = TableStore.get
    own_count = TableStore.count
    own_namespaces = TableStore.namespaces

    @cached_property
    def bound(self) -> str:
        """Returns what the program keeps by itself beside the rows."""
        return self._backend.bound(self._table, self.layout.preset.vectors or "")

    def order(self, memory: Memory) -> tuple[int | float | str | bytes, ...]:
        """Returns the number of the row, or its key, as the database sorts by it."""
        row = self._codec.saved(memory)
        if row is None:
            return ()
        if self._table.place:
            return (row.place or 0,)
        parts: list[int | float | str | bytes] = []
        for name in self._table.key:
            typed = self._table.typed and self._table.columns[name].kind is CellKind.NUMBER
            parts += _sorted_as(row.cells[name], number=typed)
        return tuple(parts)

    def as_scanned(self, memory: Memory) -> Memory:
        """Returns a memory without the rows of other tables, which a scan does not read."""
        native = {key: each for key, each in memory.native.items() if key != DEPENDENTS}
        return replace(memory, native=native)

    def notes(self) -> tuple[str, ...]:
        """Returns whose vectors are out of date, and which hidden rows could not leave."""
        if not self._staying:
            return super().notes()
        note = (
            f"Hidden rows that stay in {self._location.place}, where its program sees them: "
            f"{len(self._staying)} ({names(map(repr, sorted(self._staying)))}). Rows of other "
            "tables refer to them, or the next new row would get their number."
        )
        return (*super().notes(), note)

    def _moving_url(self) -> str:
        url: str = replace(self._location, hide="move").url
        return url

    # ------------------------------------------------------------------ writing

    def _new_id(self, memory: Memory) -> str:
        """Returns an id that no moved row has either."""
        numbers = [int(id_) for id_ in self._aside() if id_.isdecimal()]
        return new_id(memory, self._table, self._backend, max(numbers, default=0))

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds rows, with the rows of other tables that went with them."""
        TableStore.put(self, memories)

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes rows from the table."""
        TableStore.remove(self, ids)

    def revealed(self, memories: Sequence[Memory]) -> None:
        """Puts rows back into the table.

        Raises:
            StoreError: One does not fit any more; the message names it and what the database says.
        """
        for memory in memories:
            try:
                self.own_put([self.as_scanned(memory)])
            except StoreLocked:
                raise
            except StoreError as problem:
                raise StoreError(
                    f"The hidden row {memory.id!r} cannot go back: {problem} Change what stands "
                    "in its way, and try again; it stays in the ledger until then."
                ) from problem
        with self._backend.transaction() as connection:
            for memory in memories:  # last, as they may refer to several of these
                put_back(self._references, connection, memory.native.get(DEPENDENTS))

    def hide(self, marks: Sequence[Mark]) -> None:
        """Moves rows out of the table where that is asked for, in one transaction."""
        with self.transaction() if self.hiding == self.way else nullcontext():
            super().hide(marks)

    def movable(self, memories: Mapping[str, Memory]) -> Mapping[str, Memory]:
        """Returns the rows that can leave, locked, and read again under the lock."""
        if not memories:
            return memories
        self._planned(memories.keys())
        held = set(self.retained([(id_, "") for id_ in memories])) | self._last(memories)
        self._staying |= held
        return self.own_get(memories.keys() - held)

    def _last(self, ids: Collection[str]) -> set[str]:
        """Returns the row whose number SQLite would give to the next new row, if it is here.

        https://sqlite.org/autoinc.html: the largest number plus one, unless a table keeps count.
        """
        if not self._backend.reuses_numbers(self._table):
            return set()
        with self._backend.reading() as connection:
            highest = connection.execute(self._table.highest(self._table.key[0])).scalar()
        return {str(highest)} & set(ids)

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts moved rows back into the table.

        Raises:
            StoreError: The database gave the number of one to another row.
        """
        wanted = set(ids)
        aside = {id_: each.memory for id_, each in self._aside().items() if id_ in wanted}
        kinds = [self._table.columns[name].kind for name in self._table.key]
        if aside and kinds == [CellKind.NUMBER]:
            for id_, other in sorted(self.own_get(aside).items()):
                if other.content != aside[id_].content:
                    raise StoreError(
                        f"The hidden row {id_!r} cannot go back to {self._location.place}: another "
                        "row has its number now. Give that one another number, or remove it, and "
                        "try again; nothing was changed."
                    )
        super().unhide(wanted)


def _sorted_as(cell: Cell, *, number: bool) -> tuple[int | float | str | bytes, ...]:
    """Returns a cell in the order of SQLite: numbers, texts, bytes; a number may come as text."""
    if number and isinstance(cell, str):
        try:
            return 1, int(cell) if cell.lstrip("-").isdecimal() else float(cell)
        except ValueError:
            return 2, cell.encode()
    if isinstance(cell, str):
        return 2, cell.encode("utf-8", "surrogateescape")
    if isinstance(cell, bytes):
        return 3, cell
    return (0, 0) if cell is None else (1, cell)
