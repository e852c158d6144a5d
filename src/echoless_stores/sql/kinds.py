"""Kinds of store behind the schemes `sql` and `postgresql`: they open, make and recognise tables.

How a table hides what is marked is chosen here: by a column, by moving rows out of it where
`hide=move` asks for that, or in the ledger alone (`hidden_rows.py`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from echoless.core.errors import LedgerDamaged, StoreNotFound, UsageError
from echoless.core.sqlite import open_for_writing, table_exists
from echoless.stores.base import StoreKind
from echoless.stores.column_values import (
    ARROW,
    LOOKED_AT,
    columns_by_table,
    foreign,
    is_database_with,
)
from echoless.stores.field_map import FieldMap
from echoless.stores.files import make_file
from echoless_stores.sql.database import Backend
from echoless_stores.sql.hidden_rows import HidingTable, MovingTable, check_hiding
from echoless_stores.sql.layout import FIELDS, layout_of, preset_of
from echoless_stores.sql.location import Location
from echoless_stores.sql.postgres_backend import PostgresBackend
from echoless_stores.sql.postgres_ledger import place_of
from echoless_stores.sql.sqlite_backend import SqliteBackend
from echoless_stores.sql.store import Opened, TableStore
from echoless_stores.sql.table import Cells, Place

_REAL: Final = "importance"
_WHOLE: Final = "access_count"
_TRUTH: Final = "pinned"
_TEXTS: Final = [n for n in (*FIELDS, "metadata") if n not in {_REAL, _WHOLE, _TRUTH}]


class SqlStore(StoreKind):
    """Tables of SQLite files and of servers."""

    summary: ClassVar[str] = "a table of SQLite, a known program's or any with a map"
    takes_map = True

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns the location with a map, completed from the map it has."""
        return cls._parsed(location).mapped(field_map).whole_url.removeprefix("sql:///")

    @classmethod
    def _parsed(cls, location: str) -> Location:
        return Location.parse(location)

    @classmethod
    def open(cls, location: str) -> TableStore:
        """Opens a table; without a name, the one a preset recognises or the only one there is."""
        given = cls._parsed(location)
        backend: Backend = (
            SqliteBackend(given.path) if given.path is not None else PostgresBackend(given)
        )
        opened: Opened | None = None
        try:
            name = given.table or _only_table(backend, given)
            table = backend.table(name)
            if table is None:
                raise StoreNotFound(
                    f"There is no table {name!r} in {replace(given, table='').place}. It has: "
                    f"{', '.join(backend.tables()) or 'none'}."
                )
            whole = replace(given, table=table.full_name)
            opened = Opened(whole, backend, table, place_of(whole, backend, table))
            return _store(opened)
        except BaseException:
            if opened is not None:
                opened.sidecar.close()
            backend.close()
            raise

    @classmethod
    def create(cls, location: str) -> TableStore:
        """Opens a table, or makes an empty one with a column for every field of a memory."""
        given = cls._parsed(location)
        if not given.table:
            raise UsageError(f"Name the table to make: {given.url}#TABLE.")
        _create_table(given)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether it is an SQLite file with a table of a known program."""
        return is_database_with(path, lambda db: any(map(preset_of, columns_by_table(db).values())))


class PostgresStore(SqlStore):
    """The same under the scheme `postgresql`."""

    summary: ClassVar[str] = "a table of PostgreSQL, likewise: USER@HOST/DB#TABLE (extra: postgres)"

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns the location with a map, completed from the map it has."""
        return cls._parsed(location).mapped(field_map).whole_url.partition("://")[2]

    @classmethod
    def _parsed(cls, location: str) -> Location:
        return Location.parse(location if "://" in location else f"postgresql://{location}")

    @classmethod
    def recognises(cls, path: Path) -> bool:  # noqa: ARG003
        """Returns False: a server is no file."""
        return False


def _only_table(backend: Backend, location: Location) -> str:
    """Returns the name of the table that is meant where none is named.

    Raises:
        UsageError: No table or several tables could be meant.
    """
    names = backend.tables()
    known = [n for n in names if (t := backend.table(n)) is not None and preset_of(t.columns)]
    if len(known) == 1:
        return known[0]
    if not known and len(names) == 1:
        return names[0]
    which = f"Tables of known programs: {', '.join(known)}. " if known else ""
    ways = [f"Name it: {location.url}#TABLE."]
    if isinstance(backend, SqliteBackend) and not known:
        ways = foreign(backend.path, backend.database.connection)
    raise UsageError(
        f"Which table of {location.place} holds the memories? {which}It has: "
        f"{', '.join(names) or 'none'}. {ways[0]}",
        *ways[1:],
    )


def _create_table(location: Location) -> None:
    """Makes the table of a location if it is missing; a map gives other names to its columns.

    Raises:
        StoreError: The database does not allow it.
    """
    schema, _, name = location.table.rpartition(".")
    statement = sa.schema.CreateTable(_table(location, schema, name))
    if location.path is not None:
        _in_file(location.path, location.table, statement)
        return
    backend = PostgresBackend(location)
    try:
        if backend.table(location.table) is None:
            with backend.writing(location.place), backend.transaction() as connection:
                connection.execute(statement)
    finally:
        backend.close()


def _in_file(path: Path, name: str, statement: sa.schema.CreateTable) -> None:
    """Makes a table in an SQLite file, which may be empty or missing."""
    if not path.exists():
        make_file(path)
    database = open_for_writing(path, create=True, wal=False)
    try:
        with database.transaction():
            if not table_exists(database.connection, name):
                database.connection.execute(str(statement.compile(dialect=sqlite.dialect())))
    finally:
        database.close()


def _table(location: Location, schema: str, name: str) -> sa.Table:
    """Returns the table to make."""

    def named(field: str) -> str:
        text = location.map.column(field)
        return Place.parse(text).column if text and ARROW not in text else field

    columns = [
        sa.Column("id", sa.Text, primary_key=True, nullable=False),
        sa.Column(named("content"), sa.Text, nullable=False),
        sa.Column(named("namespace"), sa.Text),
        *(sa.Column(named(field), sa.Text) for field in _TEXTS),
        sa.Column(named(_REAL), sa.Double),
        sa.Column(named(_WHOLE), sa.BigInteger),
        sa.Column(named(_TRUTH), sa.Boolean),
    ]
    return sa.Table(name, sa.MetaData(), *columns, schema=schema or None)


def _first_rows(opened: Opened) -> list[Cells]:
    """Returns the first rows of a table."""
    with opened.backend.reading() as connection:
        rows = opened.table.rows(connection.execute(opened.table.select().limit(LOOKED_AT)))
        return [row.cells for row in rows]


def _store(opened: Opened) -> TableStore:
    """Returns the store of a table, of the kind that hides as this table can."""
    location = replace(opened.location, hide=opened.location.hiding_column(opened.table.columns))
    with suppress(LedgerDamaged):  # the table can be read, and `check` tells of the ledger
        location = opened.location.completed(opened.sidecar.ledger, opened.table.columns)
    layout = layout_of(opened.table, location, partial(_first_rows, opened))
    check_hiding(opened, layout)
    if not opened.table.key or opened.table.view:
        return TableStore(opened, layout)
    if layout.hiding is not None:
        return HidingTable(opened, layout, layout.hiding)
    return TableStore(opened, layout) if layout.deletion else MovingTable(opened, layout)
