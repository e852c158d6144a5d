"""Ids and defaults of new rows, as the database itself would give them."""

from __future__ import annotations

import uuid
from typing import Final

from echoless.core.errors import StoreError
from echoless.core.model import Memory
from echoless.stores.sql.cells import Kind
from echoless.stores.sql.database import Backend
from echoless.stores.sql.record import id_of, key_of
from echoless.stores.sql.table import Row, Table

_COUNTS: Final = "nextval("
"""Part of a default that counts on when it is read."""

_IDS: Final = uuid.UUID("0a0d5c5e-7a54-4d0a-9c52-3f6a2a3b1c77")
"""Root of the ids made for memories whose id has another form."""


def with_defaults(row: Row, table: Table, backend: Backend) -> Row:
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


def new_id(memory: Memory, table: Table, backend: Backend, above: int = 0) -> str:
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
    if column.kind is Kind.NUMBER:
        with backend.reading() as connection:
            highest = connection.execute(table.highest(column.name)).scalar()
        return str(max(int(highest or 0), above) + 1)
    return memory.id
