"""Rows of other tables that belong to a row by a foreign key.

Where the database removes them together with the row (`ON DELETE CASCADE`), they are part of its
record: an undo puts them back. Where it does not, the row stays as long as they are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from echoless.core.model import Json
from echoless.stores.sql import cells as forms
from echoless.stores.sql.cells import Cell, CellKind
from echoless.stores.sql.table import Row, SqlTable

if TYPE_CHECKING:
    import sqlalchemy as sa


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key that leads to the table of the memories.

    Attributes:
        table: The table it is in.
        columns: Its columns.
        to: Columns of the memories' table, in the same order.
        cascades: Whether a row goes with the one it refers to, and nothing else goes with it.
    """

    table: SqlTable
    columns: tuple[str, ...]
    to: tuple[str, ...]
    cascades: bool

    @property
    def name(self) -> str:
        """Returns a name for the record of a memory."""
        return f"{self.table.full_name}({', '.join(self.columns)})"

    @property
    def holds_vectors(self) -> bool:
        """Returns whether the table looks like one of vectors."""
        kinds = {column.kind for column in self.table.columns.values()}
        return CellKind.VECTOR in kinds or "embedding" in self.table.columns

    def rows(self, connection: sa.Connection, row: Row) -> Iterator[Row]:
        """Yields the rows of this table that refer to a row."""
        values = [row.cells.get(name) for name in self.to]
        if all(value is not None for value in values):
            statement = self.table.select_where(dict(zip(self.columns, values, strict=True)))
            yield from self.table.rows(connection.execute(statement))


def dependents(
    references: Sequence[Reference], connection: sa.Connection, row: Row
) -> dict[str, Json]:
    """Returns the dependent rows that the database deletes with a row, as JSON."""
    dependent_rows: dict[str, Json] = {}
    for each in references:
        if not each.cascades:
            continue
        rows: list[Json] = [
            {
                "cells": {n: forms.to_json(c) for n, c in one.cells.items() if c is not None},
                "place": one.place,
            }
            for one in each.rows(connection, row)
        ]
        if rows:
            dependent_rows[each.name] = rows
    return dependent_rows


def put_back(references: Sequence[Reference], connection: sa.Connection, saved: Json) -> None:
    """Adds the dependent rows again."""
    if not isinstance(saved, Mapping):
        return
    for each in references:
        given: Any = saved.get(each.name, ())
        for one in given:
            cells: dict[str, Cell] = {
                name: forms.from_json(one["cells"].get(name))
                for name, column in each.table.columns.items()
                if not column.generated
            }
            known = {name: cells[name] for name in each.table.key or each.columns}
            if one["place"] is not None:
                existing = connection.execute(each.table.place_is_taken(one["place"])).first()
            else:
                existing = connection.execute(each.table.select_where(known)).first()
            if existing is None:  # else it came back with another row that it refers to
                connection.execute(each.table.insert(cells, one["place"]))
