"""New tables, and ids and defaults of new rows, as the database itself would give them."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreError
from echoless.core.model import Memory
from echoless.core.optional import lazy_module, require_module
from echoless.core.sqlite import open_for_writing, table_exists
from echoless.stores.files import make_file
from echoless.stores.sql.cells import CellKind
from echoless.stores.sql.database import EXTRA, Backend
from echoless.stores.sql.layout import ARROW, Place
from echoless.stores.sql.location import Location
from echoless.stores.sql.postgres_backend import PostgresBackend
from echoless.stores.sql.record import id_of, key_of
from echoless.stores.sql.table import Row, SqlTable

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

_COUNTS: Final = "nextval("
"""Part of a default that counts on when it is read."""

_IDS: Final = uuid.UUID("0a0d5c5e-7a54-4d0a-9c52-3f6a2a3b1c77")
"""Root of the ids made for memories whose id has another form."""


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


def with_defaults(row: Row, table: SqlTable, backend: Backend) -> Row:
    """Returns a new row with the values the database would give it, for the cells it lacks.

    So what is written is known before: a record is read back and compared.
    """
    cells = dict(row.cells)
    with backend.reading() as connection:
        for column in table.columns.values():
            expression = column.default
            if expression is None or cells[column.name] is not None or _COUNTS in expression:
                continue
            form = f"CAST(({expression}) AS text)" if table.typed else f"({expression})"
            cells[column.name] = connection.exec_driver_sql(f"SELECT {form}").scalar()
    return Row(cells, row.place)


def new_id(memory: Memory, table: SqlTable, backend: Backend, above: int = 0) -> str:
    """Returns the id a new memory gets in a table.

    Args:
        memory: The new one.
        table: The table.
        backend: Its database.
        above: A number that is taken, and all below it, where ids are numbers.

    Raises:
        StoreError: The primary key is one no id can be made for.
    """
    if len(table.key) == 2 and "key" in table.key:  # LangGraph: namespace and key
        key = key_of(memory.id, 2)
        if key is not None and key[0] == memory.namespace:
            return memory.id
        return str(id_of([memory.namespace, memory.id]))
    if len(table.key) != 1:
        raise StoreError(
            f"New rows cannot be added to {table.full_name}: its primary key has "
            f"{len(table.key)} columns. Nothing was changed."
        )
    column = table.columns[table.key[0]]
    if column.type == "uuid":
        try:
            return str(uuid.UUID(memory.id))
        except ValueError:
            return str(uuid.uuid5(_IDS, memory.id))
    if column.kind is CellKind.NUMBER:
        with backend.reading() as connection:
            highest = connection.execute(table.highest(column.name)).scalar()
        return str(max(int(highest or 0), above) + 1)
    return memory.id
