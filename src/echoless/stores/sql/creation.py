"""An empty table with a column for every field of a memory, where there is none yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module, require_module
from echoless.core.sqlite import open_for_writing, table_exists
from echoless.stores.files import make_file
from echoless.stores.sql.database import EXTRA
from echoless.stores.sql.layout import ARROW, Place
from echoless.stores.sql.location import Location
from echoless.stores.sql.postgres_backend import PostgresBackend

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.dialects import sqlite
else:
    sa, sqlite = lazy_module("sqlalchemy"), lazy_module("sqlalchemy.dialects.sqlite")

_TEXTS: Final = (
    "type",
    "tags",
    "created_at",
    "updated_at",
    "last_accessed",
    "provenance",
    "links",
    "metadata",
)
_REAL: Final = "importance"
_WHOLE: Final = "access_count"
_TRUTH: Final = "pinned"


def create_table(location: Location) -> None:
    """Makes the table of a location if it is missing; a map gives other names to its columns.

    Raises:
        StoreError: The database does not allow it.
    """
    require_module("sqlalchemy", "The store 'sql'", EXTRA)
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
