"""Rows hidden the way the table's own program hides them, and shown again as they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

from echoless.core.errors import StoreError
from echoless.core.model import Json
from echoless.stores.expiration import SHOWN
from echoless.stores.sql import cells as forms
from echoless.stores.sql.cells import Cell, CellKind
from echoless.stores.sql.layout import Hiding, Layout
from echoless.stores.sql.table import Row


def shown_fact(id_: str) -> str:
    """Returns the name of the fact that stores the former hiding value of a row."""
    return f"shown before: {id_}"


class Hider:
    """Reads and sets what hides a row."""

    def __init__(self, layout: Layout) -> None:
        """Takes the layout of a table in which rows can be hidden."""
        hiding = layout.hiding
        assert hiding is not None
        self._hiding: Hiding = hiding
        self._column = layout.table.columns[hiding.place.column]
        self._typed = layout.table.typed

    @property
    def names(self) -> bool:
        """Returns whether a hidden row names the survivor."""
        return bool(self._hiding.survivor)

    def _value(self, row: Row) -> Json | bytes:
        """Returns the present value of the hiding column or key."""
        place = self._hiding.place
        cell = row.cells[place.column]
        if not place.path:
            return cell
        value = forms.parsed(cell)
        for key in place.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def is_hidden(self, row: Row) -> bool:
        """Returns whether the program of the table does not show a row."""
        value = self._value(row)
        if value is None or value is False:
            return False
        if self._hiding.place.path:  # a date until which a memory holds
            try:
                return date.fromisoformat(str(value)) < datetime.now(UTC).date()
            except ValueError:
                return False
        return str(value).strip().lower() not in SHOWN

    def before(self, row: Row) -> Json:
        """Returns the hiding column's value of a row that is about to be hidden, or None."""
        value = self._value(row)
        return {forms.BYTES: ""} if isinstance(value, bytes) else value

    def hidden(self, row: Row, survivor: Row | None) -> dict[str, Cell]:
        """Returns the cells that hide a row."""
        value = self._hiding.value
        if self._hiding.survivor:
            assert survivor is not None
            return {self._column.name: survivor.cells[self._hiding.survivor]}
        return {self._column.name: self._with(row, value or self._sign())}

    def shown(self, row: Row, before: Json) -> dict[str, Cell]:
        """Returns the cells that show a row again.

        Args:
            row: The hidden row.
            before: What `before` returned; None for nothing.
        """
        return {self._column.name: self._with(row, before)}

    def _sign(self) -> str | int:
        """Returns the value that hides a row in a column of the user's choice."""
        if self._column.kind is CellKind.BOOLEAN:
            return "true" if self._typed else 1
        if self._column.kind is CellKind.NUMBER:
            return "1" if self._typed else 1
        if self._column.kind in {CellKind.TIME, CellKind.TEXT}:
            return datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        raise StoreError(
            f"The column {self._column.name!r} ({self._column.type}) cannot hide a row. Name a "
            "column of truth values, numbers, texts or times as hide=COLUMN."
        )

    def _with(self, row: Row, value: Json) -> Cell:
        """Returns the cell with a value at the place."""
        place = self._hiding.place
        cell = row.cells[place.column]
        if not place.path:
            assert value is None or isinstance(value, str | int | float)
            return value
        whole = forms.parsed(cell)
        changed = _set(whole if isinstance(whole, Mapping) else {}, place.path, value)
        return forms.dumped(changed, cell)

    def as_in(self, old: Row, new: Row) -> Row:
        """Returns a row that is hidden as another one is, for a place inside JSON."""
        now, wanted = self._value(old), self._value(new)
        if now == wanted:
            return new
        assert not isinstance(now, bytes)
        return replace(new, cells={**new.cells, self._column.name: self._with(new, now)})


def _set(whole: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    """Returns an object with another value at a path; None removes the key."""
    key, *rest = path
    result = dict(whole)
    inner = result.get(key)
    if rest:
        result[key] = _set(inner if isinstance(inner, Mapping) else {}, tuple(rest), value)
    elif value is None:
        result.pop(key, None)
    else:
        result[key] = value
    return result
