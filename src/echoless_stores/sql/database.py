"""What a store of a table needs of the database the table is in.

Two databases have it: an SQLite file (`sqlite_backend.py`) and a server (`postgres_backend.py`).
Rows of other tables belong to a row by a foreign key. Where the database removes them together with
the row (`ON DELETE CASCADE`), they are part of its record: an undo puts them back. Where it does
not, the row stays as long as they are there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from echoless.core.model import Json
from echoless.core.sqlite import Cell, Database
from echoless.stores.column_values import cell_from_json, cell_to_json
from echoless_stores.sql.cells import CellKind
from echoless_stores.sql.table import Row, SqlTable


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

    def keys(self, connection: sa.Connection) -> set[tuple[Cell, ...]]:
        """Returns what the rows of this table refer to."""
        cells = [self.table.cell(name) for name in self.columns]
        rows = connection.execute(sa.select(*cells).select_from(self.table.clause).distinct())
        return {tuple(row) for row in rows}

    def has_rows(self, connection: sa.Connection) -> bool:
        """Returns whether the table has any rows."""
        statement = sa.select(sa.literal(1)).select_from(self.table.clause).limit(1)
        return connection.execute(statement).first() is not None

    def rows(self, connection: sa.Connection, row: Row) -> Iterator[Row]:
        """Yields the rows of this table that refer to a row."""
        values = [row.cells.get(name) for name in self.to]
        if all(value is not None for value in values):
            statement = self.table.select_where(dict(zip(self.columns, values, strict=True)))
            yield from self.table.rows(connection.execute(statement))


def dependents(
    references: Sequence[Reference], connection: sa.Connection, row: Row
) -> dict[str, Json]:
    """Returns the rows that go with one, by the foreign key, as JSON."""
    rows_by_name: dict[str, Json] = {}
    for each in references:
        if not each.cascades:
            continue
        rows: list[Json] = [
            {
                "cells": {n: cell_to_json(c) for n, c in one.cells.items() if c is not None},
                "place": one.place,
            }
            for one in each.rows(connection, row)
        ]
        if rows:
            rows_by_name[each.name] = rows
    return rows_by_name


def put_back(references: Sequence[Reference], connection: sa.Connection, saved: Json) -> None:
    """Adds the dependent rows again."""
    if not isinstance(saved, Mapping):
        return
    for each in references:
        given: Any = saved.get(each.name, ())
        for one in given:
            cells: dict[str, Cell] = {
                name: cell_from_json(one["cells"].get(name))
                for name, column in each.table.columns.items()
                if not column.generated
            }
            known = {name: cells[name] for name in each.table.key or cells}
            if one["place"] is not None:
                statement = each.table.place_is_taken(one["place"])
            else:
                statement = each.table.select_where(known)
            present = connection.execute(statement).all()
            if len(present) < given.count(one):  # else it came back with another row it refers to
                connection.execute(each.table.insert(cells, one["place"]))


Event = Literal["insert", "update", "delete"]


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A trigger or rule that a write of a row sets off.

    Attributes:
        cause: Name of the trigger or rule, such as `trigger 't'`.
        event: The write that sets it off.
        table: What it writes; empty where the database does not say.
        adds: Whether it only adds rows there.
    """

    cause: str
    event: Event
    table: str = ""
    adds: bool = False


class Backend(ABC):
    """What the store needs of a database."""

    @abstractmethod
    def tables(self) -> Sequence[str]:
        """Returns the names of all tables and views a URL can name."""

    @abstractmethod
    def table(self, name: str) -> SqlTable | None:
        """Returns a table by its name, or None."""

    @abstractmethod
    def references(self, table: SqlTable) -> Sequence[Reference]:
        """Returns the foreign keys that lead to a table."""

    @abstractmethod
    def effects(self, table: SqlTable) -> Sequence[SideEffect]:
        """Returns which triggers and rules a write of a row sets off; nothing is written."""

    def bound(self, _table: SqlTable, _known: str, /) -> str:
        """Returns why no row may leave a table, as a clause; empty where one may.

        Args:
            _table: The table.
            _known: Name of the table of vectors that goes along; empty for none.
        """
        return ""

    @abstractmethod
    def changed_rows(self, table: SqlTable, /) -> Mapping[str, tuple[int, int]]:
        """Returns how many rows were added, and changed or removed, where the database counts.

        By table, in the open transaction and perhaps before it; partitions count for the table.
        """

    @abstractmethod
    def committed(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection that reads the state before the open transaction."""

    @abstractmethod
    def silenced(self, table: SqlTable) -> AbstractContextManager[None]:
        """Keeps triggers from changing rows of a table inside the block.

        Raises:
            StoreReadOnly: The user may not switch them off.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection to read with: that of the transaction, inside of one."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[None]:
        """Keeps other writers of echoless away from a table inside the block."""

    @abstractmethod
    def transaction(self, *, savepoint: bool = False) -> AbstractContextManager[sa.Connection]:
        """Runs a block in one transaction; an inner call joins the outer one.

        Args:
            savepoint: Where an inner block fails on a server, what it did is taken back, and the
                outer one can go on; without it the server refuses all further statements.
        """

    @abstractmethod
    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside the block into errors of echoless."""

    @abstractmethod
    def close(self) -> None:
        """Closes all connections."""

    @property
    def databases(self) -> Sequence[Database]:
        """Returns the open SQLite file; nothing for a server."""
        return ()

    def lock_name(self, table: SqlTable, place: str) -> str:  # noqa: ARG002 - a file has one path
        """Returns the name of the writer's lock of a table, the same on every machine.

        Args:
            table: The table.
            place: The database and the table, as messages name them.
        """
        return place

    def reuses_numbers(self, table: SqlTable) -> bool:  # noqa: ARG002 - a sequence counts on
        """Returns whether a new row may get the number of a row that was removed."""
        return False
