"""Kinds of store behind the schemes `sql` and `postgresql`: they open, make and recognise tables.

How a table hides what is marked is chosen here: by a column, by moving rows out of it where
`hide=move` asks for that, or in the ledger alone (`hidden_rows.py`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from echoless.core.errors import EcholessError, StoreNotFound, UsageError
from echoless.core.sqlite import is_sqlite, looking
from echoless.stores.base import StoreKind
from echoless.stores.field_map import FieldMap
from echoless.stores.sql.creation import create_table
from echoless.stores.sql.database import Backend
from echoless.stores.sql.hidden_rows import HidingTable, MovingTable, check_hiding
from echoless.stores.sql.layout import layout_of
from echoless.stores.sql.location import Location
from echoless.stores.sql.opening import completed, only_table
from echoless.stores.sql.postgres_backend import PostgresBackend
from echoless.stores.sql.presets import preset_of
from echoless.stores.sql.sqlite_backend import SqliteBackend
from echoless.stores.sql.store import Opened, TableStore


class SqlStore(StoreKind):
    """Tables of SQLite files and of servers."""

    summary: ClassVar[str] = "a table of SQLite, a known program's or any with a map (extra: sql)"
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
            name = given.table or only_table(backend, given)
            table = backend.table(name)
            if table is None:
                raise StoreNotFound(
                    f"There is no table {name!r} in {replace(given, table='').place}. It has: "
                    f"{', '.join(backend.tables()) or 'none'}."
                )
            opened = Opened.of(replace(given, table=table.full_name), backend, table)
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
        create_table(given)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether it is an SQLite file with a table of a known program."""
        if not path.is_file() or not is_sqlite(path):
            return False
        try:
            with looking(path) as connection:
                names = connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                    " AND sql NOT LIKE 'create virtual%'"
                )
                for (name,) in names.fetchall():
                    columns = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
                    if preset_of([column for (column,) in columns.fetchall()]) is not None:
                        return True
        except EcholessError:
            return False
        return False


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


def _store(opened: Opened) -> TableStore:
    """Returns the store of a table, of the kind that hides as this table can."""
    layout = layout_of(opened.table, completed(opened.location, opened.sidecar, opened.table))
    check_hiding(opened, layout)
    if not opened.table.key or opened.table.view:
        return TableStore(opened, layout)
    if layout.hiding is not None:
        return HidingTable(opened, layout)
    return TableStore(opened, layout) if layout.gone else MovingTable(opened, layout)
