"""Ledger in a schema of PostgreSQL, over the connection that writes the records.

Records and lineage so share one transaction. See `stores/ledger_database.py` for what it offers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from echoless.core.errors import EcholessError, StoreError, StoreReadOnly
from echoless.core.optional import lazy_module
from echoless.core.sqlite import Cell
from echoless.stores.sql.postgres_backend import PostgresBackend, sqlstate

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy import exc
else:
    sa, exc = lazy_module("sqlalchemy"), lazy_module("sqlalchemy.exc")

_AT_ONCE: Final = 1000
"""Rows that are sent or fetched at once."""

_DAMAGE: Final = frozenset({"XX001", "XX002", "58P01", "42P01", "42703"})
"""Codes of errors that say data is damaged: a page, an index, a file, a table or a column."""

_FORBIDDEN: Final = "42501"


class PostgresLedger:
    """Tables of one ledger.

    Attributes:
        schema: Schema of the tables.
        writable: Whether the writer's lock is held.
    """

    def __init__(self, backend: PostgresBackend, schema: str) -> None:
        """Wraps a schema; its tables are made by `postgres_schema.migrate`."""
        self._backend = backend
        self.schema = schema
        self.writable = False
        self._present: set[str] = set()

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Returns what SQLAlchemy makes of the errors of the driver."""
        return (exc.DBAPIError,)

    @property
    def place(self) -> str:
        """Returns schema and table, for messages."""
        return f"the schema {self.schema} of {self._backend.place}"

    @property
    def in_transaction(self) -> bool:
        """Returns whether a transaction is open."""
        return self._backend.in_transaction

    def table(self, name: str) -> str:
        """Returns a table with its schema."""
        return f"{self.schema}.{name}"

    def has_table(self, name: str) -> bool:
        """Returns whether there is a table of that name; a table never goes."""
        if name not in self._present:
            if self.rows("SELECT to_regclass(?)", (self.table(name),)) == [(None,)]:
                return False
            self._present.add(name)
        return True

    # ------------------------------------------------------------------ statements

    def rows(self, statement: str, values: Sequence[Cell] = ()) -> list[tuple[object, ...]]:
        """Returns the rows of a query."""
        with self._backend.connected() as connection:
            result = connection.exec_driver_sql(_placed(statement), tuple(values) or None)
            return [tuple(row) for row in result]

    def stream(self, statement: str) -> Iterator[tuple[object, ...]]:
        """Yields the rows of a query; the server keeps those that were not asked for yet."""
        options = {"yield_per": _AT_ONCE}
        with self._backend.connected() as connection:
            result = connection.exec_driver_sql(statement, None, execution_options=options)
            yield from map(tuple, result)

    def change(self, statement: str, values: Sequence[Cell] = ()) -> int:
        """Runs a statement that changes rows, and returns how many it changed."""
        with self._changing() as connection:
            return connection.exec_driver_sql(_placed(statement), tuple(values) or None).rowcount

    def change_many(self, statement: str, rows: Iterable[Sequence[Cell]]) -> None:
        """Runs a statement once for each of many rows."""
        values = map(tuple, rows)
        while batch := list(islice(values, _AT_ONCE)):
            with self._changing() as connection:
                connection.exec_driver_sql(_placed(statement), batch)

    def append(self, statement: str, values: Sequence[Cell]) -> int:
        """Adds a row to a numbered table and returns its number."""
        with self._changing() as connection:
            text = _placed(f"{statement} RETURNING seq")
            return int(connection.exec_driver_sql(text, tuple(values)).scalar_one())

    def last_number(self, table: str) -> int | None:
        """Returns the highest number of a numbered table."""
        number: Any = self.rows(f"SELECT max(seq) FROM {self.table(table)}")[0][0]
        return None if number is None else int(number)

    @contextmanager
    def _changing(self) -> Iterator[sa.Connection]:
        """Yields the connection of the transaction, or one for this statement alone.

        Raises:
            StoreError: The store is open for reading.
        """
        if not self.writable:
            raise StoreError(
                f"The ledger in {self.place} is open for reading; write inside store.writing()."
            )
        if self._backend.in_transaction:
            with self._backend.connected() as connection:
                yield connection
            return
        with self._backend.transaction() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs a block in the transaction of the records, which is begun if none is open."""
        with self._backend.transaction():
            yield

    def reading(self) -> AbstractContextManager[None]:
        """Runs a block that sees one state of records and lineage."""
        return nullcontext() if self._backend.in_transaction else self._backend.one_state()

    # ------------------------------------------------------------------ errors

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Turns errors of the driver inside the block into errors of echoless."""
        try:
            yield
        except exc.DBAPIError as problem:
            raise self.translated(problem) from None

    def is_damage(self, problem: Exception) -> bool:
        """Returns whether an error says that data or tables of the ledger are damaged."""
        return isinstance(problem, exc.DBAPIError) and sqlstate(problem) in _DAMAGE

    def is_forbidden(self, problem: Exception) -> bool:
        """Returns whether an error says that the user lacks a right."""
        return isinstance(problem, exc.DBAPIError) and sqlstate(problem) == _FORBIDDEN

    def said(self, problem: Exception) -> str:
        """Returns the first line of the server's message."""
        return self._backend.said(problem)

    def translated(self, problem: Exception) -> EcholessError:
        """Returns the error of echoless for one of the server."""
        assert isinstance(problem, exc.DBAPIError)
        if self.is_forbidden(problem):
            return forbidden(self.place, self.schema, self.said(problem))
        return self._backend.translated(problem)


def forbidden(place: str, schema: str, why: str) -> StoreReadOnly:
    """Returns the error for a user who may not use the tables of a ledger."""
    return StoreReadOnly(
        f"The ledger in {place} may not be used by this user ({why}). Its owner can allow it: "
        f"GRANT USAGE ON SCHEMA {schema} TO them; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
        f"TABLES IN SCHEMA {schema} TO them. To read, USAGE and SELECT are enough. Nothing was "
        "changed."
    )


def _placed(statement: str) -> str:
    """Returns a statement with the placeholders of psycopg."""
    return statement.replace("?", "%s")
