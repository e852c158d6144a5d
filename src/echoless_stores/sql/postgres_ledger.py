"""Lineage of a table in a schema of its own PostgreSQL database, or in a file beside it.

Records and lineage share one connection, and so one transaction. The first write makes the schema,
never a reader. `ledger=PATH` in the URL keeps the lineage in a file.

Texts are compared byte by byte (collation "C"), as SQLite compares them. Events are numbered
without gaps, as SQLite numbers them: a sequence would lose a number with each transaction that is
taken back. Writers take turns, so that no number is given twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from echoless.core.batches import batched
from echoless.core.errors import EcholessError, StoreError, StoreReadOnly
from echoless.core.sqlite import Cell, Database, in_memory, steps_in
from echoless.core.timestamps import now
from echoless.stores import ledger_schema as lineage
from echoless.stores.ledger import Ledger
from echoless.stores.ledger_schema import Dialect
from echoless.stores.sidecar import LedgerPlace, Sidecar
from echoless_stores.sql.database import Backend
from echoless_stores.sql.location import Location
from echoless_stores.sql.postgres_backend import CatalogueTable, PostgresBackend, sqlstate
from echoless_stores.sql.table import SqlTable

TRIGGERS: Final = ("events_no_update", "events_no_delete", "events_no_truncate")
"""Triggers that keep the events append-only."""

_TEXT: Final = 'text COLLATE "C" NOT NULL'

_DIALECT: Final = Dialect(
    text=_TEXT,
    key=f"{_TEXT} PRIMARY KEY",
    whole="bigint",
    real="double precision",
    event="bigint PRIMARY KEY",
    number="bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    end="",
    guards=steps_in(Path(__file__).with_suffix(".sql").read_text("utf-8"))[lineage.FIRST],
)


def pending(connection: sa.Connection, schema: str) -> list[str]:
    """Returns the names of migrations a schema lacks, in order.

    Raises:
        StoreError: A newer echoless wrote it.
    """
    table = f"{schema}.migrations"
    done: set[str] = set()
    if connection.exec_driver_sql("SELECT to_regclass(%s)", (table,)).scalar():
        done.update(
            str(name) for (name,) in connection.exec_driver_sql(f"SELECT name FROM {table}")
        )
    steps = [f"ledger/{name}" for name in lineage.STEPS]
    unknown = sorted(done.difference(steps))
    if unknown:
        raise StoreError(
            f"The ledger in the schema {schema} was written by a newer echoless (schema step "
            f"{unknown[0]!r} is unknown here). Upgrade echoless to open it."
        )
    return [name for name in steps if name not in done]


def migrate(connection: sa.Connection, schema: str) -> None:
    """Makes the tables a schema lacks; each step together with its record.

    Args:
        connection: In a transaction.
        schema: Of the ledger; it exists.

    Raises:
        StoreError: As `pending`.
    """
    for name in pending(connection, schema):
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {schema}.migrations"
            f" (name {_TEXT} PRIMARY KEY, applied_at {_TEXT})"
        )
        for statement in replace(_DIALECT, at=f"{schema}.").statements(name.partition("/")[2]):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(
            f"INSERT INTO {schema}.migrations (name, applied_at) VALUES (%s, %s)", (name, now())
        )


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
        for batch in batched(map(tuple, rows), _AT_ONCE):
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

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """Lets events change inside the block; within a transaction."""
        guarded = f"ALTER TABLE {self.table('events')} {{}} TRIGGER USER"
        self.change(guarded.format("DISABLE"))
        yield
        self.change(guarded.format("ENABLE"))

    def scrub(self) -> None:
        """Does nothing: the server keeps earlier states of rows until it vacuums."""

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


_PREFIX: Final = "echoless_"
_LONGEST: Final = 63
"""Bytes of the longest name: https://www.postgresql.org/docs/current/limits.html"""

_DIGITS: Final = 12
_UNSAFE: Final = re.compile(r"[^0-9a-z_]+")


def schema_of(relation: CatalogueTable) -> str:
    """Returns the name of the schema of a table's ledger: `echoless_TABLE`.

    A digest is added where the name of the table had to be changed, or is not in `public`, so that
    no two tables share a ledger.
    """
    full = relation.name if relation.schema == "public" else f"{relation.schema}.{relation.name}"
    safe = _UNSAFE.sub("_", full.lower())
    if safe == full and len(_PREFIX + safe) <= _LONGEST:
        return _PREFIX + safe
    digest = hashlib.sha256(full.encode()).hexdigest()[:_DIGITS]
    return f"{_PREFIX}{safe[: _LONGEST - len(_PREFIX) - _DIGITS - 1]}_{digest}"


def place_of(location: Location, backend: Backend, table: SqlTable) -> LedgerPlace:
    """Returns where the lineage of a table lies.

    Raises:
        StoreError: It cannot be read, or a newer echoless wrote it.
    """
    base = location.sidecar_base
    if not isinstance(backend, PostgresBackend):
        return Sidecar(base)
    own = DatabaseLedger(backend, backend.relation(table))
    if not location.ledger:
        return own
    other = f"This table has a ledger in {own.place} too, which ledger={location.ledger} hides."
    return FileLedger(base, other if own.exists else "")


class FileLedger(Sidecar):
    """File with the lineage of a table on a server."""

    def __init__(self, base: Path, remark: str) -> None:
        """Opens the file.

        Args:
            base: Its path without the suffix.
            remark: Sentence about the file for reports; may be empty.
        """
        super().__init__(base)
        self._remark = remark

    def remarks(self) -> tuple[str, ...]:
        """Returns where else lineage of the table lies, or could lie."""
        return (self._remark,) if self._remark else ()


class DatabaseLedger(LedgerPlace):
    """Lineage of one table in a schema of its database."""

    def __init__(self, backend: PostgresBackend, relation: CatalogueTable) -> None:
        """Looks for the ledger of a table.

        Raises:
            StoreError: A newer echoless wrote it.
        """
        self._backend = backend
        self._relation = relation
        self._database = PostgresLedger(backend, schema_of(relation))
        self._empty: Database | None = None
        self._made = False
        self._derived = ""
        if self.exists:
            with backend.reading() as connection:
                pending(connection, self._schema)

    @property
    def _schema(self) -> str:
        return self._database.schema

    @property
    def place(self) -> str:
        """Returns schema and table, for messages."""
        return self._database.place

    @property
    def name(self) -> str:
        """Returns the schema."""
        return f"the schema {self._schema}"

    @property
    def exists(self) -> bool:
        """Returns whether a ledger is in the database; asked again until there is one.

        Raises:
            StoreReadOnly: There is, and the user may not look at it.
        """
        if not self._made:
            for usable, made in self._backend.asked("ledger", schema=self._schema):
                if made and not usable:
                    raise forbidden(self.place, self._schema, "no right to use the schema")
                self._made = bool(made)
        return self._made

    @property
    def ledger(self) -> Ledger:
        """Returns the present ledger; an empty one before the first write."""
        if self.exists:
            return Ledger(self._database)
        if self._empty is None:
            self._empty = in_memory()
            lineage.migrations.apply(self._empty)
        return Ledger(self._empty)

    @property
    def identity(self) -> str:
        """Returns the identity of the store, written when the ledger is made.

        Until then it is derived from the table, so that it is the same on every machine.
        """
        known = self.ledger.fact("store")
        if known:
            return known
        if not self._derived:
            text = f"{self._backend.identity()}/{self._relation.number}"
            self._derived = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self._derived

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lets the ledger be written, and makes it in one transaction if it is missing.

        Raises:
            StoreReadOnly: The user may make no schema.
        """
        identity = self.identity
        self._database.writable = True
        try:
            self._make(identity)
            yield
        finally:
            self._database.writable = False

    def _make(self, identity: str) -> None:
        """Brings the schema up to date."""
        with self._backend.reading() as connection:
            if self.exists and not pending(connection, self._schema):
                return
        made = False
        try:
            with self._backend.transaction() as connection, self._database.speaking():
                self._make_schema()
                migrate(connection, self._schema)
                made, self._made = self._made, True
                if self.ledger.fact("store") is None:
                    self.ledger.set_fact("store", identity)
        except BaseException:
            self._made = made
            raise

    def _make_schema(self) -> None:
        """Makes the schema, where nobody made it for the user."""
        if self._database.rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self._schema,)):
            return
        try:
            self._database.change(f"CREATE SCHEMA {self._schema}")
        except self._database.errors as problem:
            if not self._database.is_forbidden(problem):
                raise
            raise StoreReadOnly(
                f"The ledger of {self._backend.place} belongs into a schema of its own, which this "
                f"user may not make ({self._database.said(problem)}). Let the owner of the "
                f"database run CREATE SCHEMA {self._schema} AUTHORIZATION with the user's name, or "
                "GRANT CREATE ON DATABASE; or keep the ledger in a file: ledger=PATH in the URL. "
                "Nothing was changed."
            ) from None

    # ------------------------------------------------------------------ looking after it

    def faults(self) -> list[str]:
        """Returns what is wrong with the schema, one sentence each."""
        if not self.exists:
            return []
        rows = self._backend.asked("guards", events=self._database.table("events"))
        missing = sorted(set(TRIGGERS) - {str(name) for (name,) in rows})
        return [
            f"{self.place}: the trigger {name} is missing or switched off, so that the events of "
            "the ledger are not protected against changes."
            for name in missing
        ]

    def close(self) -> None:
        """Closes what is open beside the connection of the store."""
        if self._empty is not None:
            self._empty.close()
