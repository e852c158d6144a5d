"""Rows hidden the way the table's own program hides them, and shown again as they were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from echoless.core.errors import StoreError
from echoless.core.model import Json
from echoless.core.sqlite import Cell
from echoless.stores.column_values import BYTES
from echoless.stores.expiration import SHOWN
from echoless.stores.sql import cells as forms
from echoless.stores.sql.cells import CellKind, Column
from echoless.stores.sql.table import Place, Row


def shown_fact(id_: str) -> str:
    """Returns the name of the fact that stores the former hiding value of a row."""
    return f"shown before: {id_}"


@dataclass(frozen=True, slots=True)
class Hiding:
    """How the table's own program stops seeing a row; reads and sets what hides one.

    Attributes:
        place: What is set.
        column: The column it is in.
        typed: Whether the database checks types.
        value: What it is set to; empty if it names the survivor.
        survivor: Column that names a survivor there.
    """

    place: Place
    column: Column
    typed: bool
    value: str = ""
    survivor: str = ""

    def _value(self, row: Row) -> Json | bytes:
        """Returns the present value of the hiding column or key."""
        cell = row.cells[self.place.column]
        return self.place.inside(forms.parsed(cell)) if self.place.path else cell

    def is_hidden(self, row: Row) -> bool:
        """Returns whether the program of the table does not show a row."""
        value = self._value(row)
        if value is None or value is False:
            return False
        if self.place.path:  # a date until which a memory holds
            try:
                return date.fromisoformat(str(value)) < datetime.now(UTC).date()
            except ValueError:
                return False
        return str(value).strip().lower() not in SHOWN

    def before(self, row: Row) -> Json:
        """Returns the hiding column's value of a row that is about to be hidden, or None."""
        value = self._value(row)
        return {BYTES: ""} if isinstance(value, bytes) else value

    def hidden(self, row: Row, survivor: Row | None) -> dict[str, Cell]:
        """Returns the cells that hide a row."""
        if self.survivor:
            assert survivor is not None
            return {self.column.name: survivor.cells[self.survivor]}
        return {self.column.name: self._with(row, self.value or self._sign())}

    def shown(self, row: Row, before: Json) -> dict[str, Cell]:
        """Returns the cells that show a row again.

        Args:
            row: The hidden row.
            before: What `before` returned; None for nothing.
        """
        return {self.column.name: self._with(row, before)}

    def _sign(self) -> str | int:
        """Returns the value that hides a row in a column of the user's choice."""
        if self.column.kind is CellKind.BOOLEAN:
            return "true" if self.typed else 1
        if self.column.kind is CellKind.NUMBER:
            return "1" if self.typed else 1
        if self.column.kind in {CellKind.TIME, CellKind.TEXT}:
            return datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        raise StoreError(
            f"The column {self.column.name!r} ({self.column.type}) cannot hide a row. Name a "
            "column of truth values, numbers, texts or times as hide=COLUMN."
        )

    def _with(self, row: Row, value: Json) -> Cell:
        """Returns the cell with a value at the place."""
        place = self.place
        cell = row.cells[place.column]
        if not place.path:
            assert value is None or isinstance(value, str | int | float)
            return value
        return forms.dumped(place.with_value(forms.parsed(cell), value), cell)

    def as_in(self, old: Row, new: Row) -> Row:
        """Returns a row that is hidden as another one is, for a place inside JSON."""
        now, wanted = self._value(old), self._value(new)
        if now == wanted:
            return new
        assert not isinstance(now, bytes)
        return replace(new, cells={**new.cells, self.column.name: self._with(new, now)})
