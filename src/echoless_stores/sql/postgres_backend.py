"""A PostgreSQL server a table may be in, read and written through psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from echoless.core.errors import (
    EcholessError,
    StoreError,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    UsageError,
)
from echoless.core.optional import require_module
from echoless_stores.sql.cells import CellKind, Column
from echoless_stores.sql.database import Backend, Event, Reference, SideEffect
from echoless_stores.sql.location import Location, driver_url, guarded, what_to_check
from echoless_stores.sql.table import SqlTable

EXTRA: Final = "postgres"
_LOCK: Final = "SELECT pg_advisory_lock(hashtextextended(:name, 0))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended(:name, 0))"
_SETTINGS: Final = (
    "-c datestyle=ISO,YMD -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=1"
    " -c bytea_output=hex -c lock_timeout=5s"
)
"""Settings for the text form of types, so that a text always means the same."""

_ISOLATION: Final = "REPEATABLE READ"
_EVENTS: Final[tuple[Event, ...]] = ("insert", "update", "delete")
_TIMED_OUT: Final = "55P03"
_CHANGED: Final = "40001"
_ENDED: Final = ("08", "57P", "25P03", "25P04")
"""Codes, or their beginnings, of a session that has ended."""


@dataclass(frozen=True, slots=True)
class CatalogueTable:
    """Table of a server, described by its catalogue.

    Attributes:
        schema: Schema that holds the table.
        name: Without the schema.
        number: Its `oid`.
    """

    schema: str
    name: str
    number: int


class PostgresBackend(Backend):
    """A PostgreSQL server through psycopg."""

    def __init__(self, location: Location) -> None:
        """Connects to a server.

        Raises:
            MissingExtra: psycopg is not installed.
            StoreNotFound: There is no such server or database, or it does not let the user in.
        """
        require_module("psycopg", "A PostgreSQL database", EXTRA)
        self._location = location
        try:
            url = sa.make_url(driver_url(location))
        except (exc.ArgumentError, ValueError):
            raise UsageError(
                f"{location.place} is no address of a database. Write postgresql://USER@HOST/DB."
            ) from None
        options = {"options": _SETTINGS, "connect_timeout": 10, "client_encoding": "utf8"}
        options |= guarded(location)
        self._engine = sa.create_engine(
            url, connect_args=options, hide_parameters=True, pool_pre_ping=True
        )
        self._open: sa.Connection | None = None
        self._committing = False
        try:
            with self._engine.connect() as connection:
                self._version = connection.dialect.server_version_info
        except exc.SQLAlchemyError as problem:
            if isinstance(problem, exc.DBAPIError) and sqlstate(problem):  # it had let the user in
                raise self.translated(problem) from None
            raise StoreNotFound(
                f"{location.place} cannot be opened ({self.said(problem)}). "
                + what_to_check(problem)
            ) from None

    def said(self, problem: Exception) -> str:
        """Returns the first line of the driver's message, without the password."""
        origin = getattr(problem, "orig", None) or problem
        text = str(origin).strip().splitlines()[0] if str(origin).strip() else type(origin).__name__
        secret = self._location.secret
        return text.replace(secret, "***") if secret else text

    def tables(self) -> list[str]:
        """Returns the tables and views of the search path, and those of other schemas by schema."""
        rows = self.asked("tables")
        return [str(name) if visible else f"{schema}.{name}" for schema, name, visible in rows]

    def asked(self, *queries: str, **values: object) -> list[Any]:
        """Returns the rows of a query of the catalogue, made of the parts with these names."""
        statement = sa.text("".join(_QUERIES[name] for name in queries))
        with self.reading() as connection:
            return list(connection.execute(statement, values).all())

    def table(self, name: str) -> SqlTable | None:
        """Returns the description of a table in the catalogue."""
        schema, _, bare = name.rpartition(".")
        rows = self.asked("relation", name=name, schema=schema, bare=bare)
        if not rows:
            return None
        oid, schema, bare, kind, visible = rows[0]
        columns = {}
        for column, type_, category, generated, identity, required, default in self.asked(
            "columns", oid=oid
        ):
            columns[column] = Column(
                column,
                _postgres_kind(str(type_), str(category)),
                str(type_),
                generated=bool(generated),
                identity=identity == "a",
                required=bool(required),
                default=None if default is None or generated else str(default),
            )
        key = tuple(str(each) for (each,) in self.asked("key", oid=oid))
        return SqlTable(
            str(bare),
            "" if visible else str(schema),
            columns,
            key,
            view=kind not in {"r", "p"},
            typed=True,
        )

    def references(self, table: SqlTable) -> list[Reference]:
        """Returns the foreign keys of the database that lead to a table."""
        made = []
        rows = self.asked("references", name=table.name, schema=table.schema)
        for name, columns, to, cascades in rows:
            source = self.table(name)
            if source is not None:
                made.append(Reference(source, tuple(columns), tuple(to), bool(cascades)))
        return made

    def effects(self, table: SqlTable) -> list[SideEffect]:
        """Returns the triggers and rules of a table, its parts, and what a removal cascades to."""
        rows = self.asked("tree", "effects", oid=self.relation(table).number)
        return [
            SideEffect(f"{kind} {str(name)!r}", event)
            for kind, name, *events in rows
            for event, on in zip(_EVENTS, events, strict=False)
            if on
        ]

    def changed_rows(self, table: SqlTable, /) -> dict[str, tuple[int, int]]:
        """Returns how many rows were added, and changed or removed, as the server counts.

        https://www.postgresql.org/docs/current/monitoring-stats.html, pg_stat_xact_user_tables
        """
        number, own = self.relation(table).number, table.full_name
        rows = self.asked("tree", "changed_rows", oid=number, own=own)
        return {str(name): (int(new), int(old)) for name, new, old in rows}

    @contextmanager
    def committed(self) -> Iterator[sa.Connection]:
        """Yields a connection with the snapshot of this transaction's beginning.

        https://www.postgresql.org/docs/current/functions-admin.html, pg_export_snapshot
        """
        assert self._open is not None
        snapshot = self._open.exec_driver_sql("SELECT pg_export_snapshot()").scalar()
        with self._engine.connect() as other:
            other.execution_options(isolation_level=_ISOLATION)
            other.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            yield other

    @contextmanager
    def silenced(self, table: SqlTable) -> Iterator[None]:
        """Switches triggers off inside the block, in the transaction that is open."""
        assert self._open is not None
        rows = self.asked("tree", "effects", oid=self.relation(table).number)
        triggers = [row[6:] for row in rows if row[5]]
        for owned, relation, name, _ in triggers:
            if not owned:
                raise StoreReadOnly(
                    f"The trigger {name} changes cells of {relation} when echoless writes there. "
                    f"To set them back, the trigger has to be off meanwhile, which the owner of "
                    f"{relation} alone may do. Nothing was changed. Connect as the owner, or let "
                    "the owner switch the trigger off."
                )
        if triggers:  # what waits for the commit would keep the table from being altered
            self._open.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
        for _, relation, name, _ in triggers:
            self._open.exec_driver_sql(f"ALTER TABLE ONLY {relation} DISABLE TRIGGER {name}")
        yield
        for _, relation, name, state in triggers:
            on = "ENABLE ALWAYS" if state == "A" else "ENABLE"
            self._open.exec_driver_sql(f"ALTER TABLE ONLY {relation} {on} TRIGGER {name}")

    def relation(self, table: SqlTable) -> CatalogueTable:
        """Returns which relation of the database a table is, whatever the search path.

        Raises:
            StoreNotFound: It was dropped meanwhile.
        """
        rows = self.asked("home", name=table.name, schema=table.schema)
        if not rows:
            raise StoreNotFound(f"There is no table {table.full_name!r} in {self.place} any more.")
        schema, name, number = rows[0]
        return CatalogueTable(str(schema), str(name), int(number))

    def lock_name(self, table: SqlTable, place: str) -> str:  # noqa: ARG002 - named in many ways
        """Returns the name of the writer's lock of a table: its real schema and name."""
        relation = self.relation(table)
        return f"{relation.schema}.{relation.name}"

    def identity(self) -> str:
        """Returns an identifier of this database; of the server too, if the role may read it.

        https://www.postgresql.org/docs/current/functions-info.html, pg_control_system
        """
        number = self.asked("database")
        try:
            system = self.asked("system")
        except StoreError:  # some hosted servers keep it to themselves
            system = []
        return "/".join(str(each) for (each,) in (*system, *number))

    @property
    def place(self) -> str:
        """Returns where the database is, for messages."""
        return self._location.place

    @property
    def in_transaction(self) -> bool:
        """Returns whether a transaction is open."""
        return self._open is not None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yields the connection of the transaction, or a read-only one with one snapshot."""
        with self.speaking(), self.connected() as connection:
            yield connection

    @contextmanager
    def connected(self) -> Iterator[sa.Connection]:
        """Yields the connection of `reading`, with the driver's own errors."""
        if self._open is not None:
            yield self._open
            return
        with self._engine.connect() as connection:
            yield connection.execution_options(isolation_level=_ISOLATION, postgresql_readonly=True)

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Runs a block in which all reads have one snapshot."""
        with self.reading() as connection:
            before, self._open = self._open, connection
            try:
                yield
            finally:
                self._open = before

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Holds an advisory lock of the server: writers on other machines wait too.

        https://www.postgresql.org/docs/current/explicit-locking.html, 13.3.5
        """
        values = {"name": f"echoless {name}"}
        with ExitStack() as stack, self.speaking():
            connection = stack.enter_context(self._engine.connect())
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if connection.exec_driver_sql("SHOW default_transaction_read_only").scalar() == "on":
                raise StoreReadOnly(
                    f"{self._location.place} may only be read by this user: "
                    "default_transaction_read_only is on. Nothing was changed. Connect as a user "
                    "who may write."
                )
            try:
                connection.execute(sa.text(_LOCK), values)
            except exc.DBAPIError as problem:
                if sqlstate(problem) != _TIMED_OUT:
                    raise
                raise StoreLocked(
                    f"Another echoless writes to {self._location.place}. Wait for it to end and "
                    "try again; nothing was changed."
                ) from None
            try:
                yield
            finally:
                if not connection.invalidated:
                    stack.callback(self._unlock, connection, values)

    def _unlock(self, connection: sa.Connection, values: dict[str, str]) -> None:
        """Gives the lock back; a server that went away has given it back itself."""
        try:
            connection.execute(sa.text(_UNLOCK), values)
        except exc.DBAPIError:
            connection.invalidate()

    @contextmanager
    def transaction(self, *, savepoint: bool = False) -> Iterator[sa.Connection]:
        """Runs a block in one transaction with one snapshot of the writes of other programs.

        So the number of rows before and after can be compared while other programs add some.
        """
        if self._open is not None:
            with self.speaking(), self._open.begin_nested() if savepoint else nullcontext():
                yield self._open
            return
        with self.speaking(), self._engine.connect() as connection:
            connection.execution_options(isolation_level=_ISOLATION)
            with connection.begin():
                self._open = connection
                try:
                    yield connection
                    self._insist_on_success(connection)
                    self._committing = True
                finally:
                    self._open = None
            self._committing = False

    def _insist_on_success(self, connection: sa.Connection) -> None:
        """Refuses to commit what the server would take back without a word.

        Raises:
            StoreError: A statement failed and somebody passed over its error.
        """
        raw = connection.connection.dbapi_connection
        if raw is not None and raw.info.transaction_status.name == "INERROR":
            raise StoreError(
                f"A statement in {self.place} failed, so the server takes back the whole "
                "transaction. Nothing was changed."
            )

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Turns errors of the driver into errors of echoless."""
        try:
            yield
        except EcholessError:
            raise
        except exc.DBAPIError as problem:
            raise self.translated(problem) from None
        except exc.SQLAlchemyError as problem:
            raise StoreError(f"{self._location.place}: {self.said(problem)}.") from None

    def translated(self, problem: exc.DBAPIError) -> StoreError:
        """Returns the error of echoless for one of the server."""
        where, text, state = self.place, self.said(problem), sqlstate(problem)
        if not state and isinstance(problem, exc.DataError):  # of the driver: it was never sent
            return StoreError(f"{where} cannot take a value ({text}). Nothing was changed.")
        if problem.connection_invalidated or state.startswith(_ENDED) or not state:
            committing, self._committing = self._committing, False
            became = (
                "A run was being committed: `echoless history STORE` shows whether it is there."
                if committing
                else "Nothing was changed, as the server takes back what was not committed."
            )
            return StoreError(
                f"The connection to {where} was lost ({text}). {became} `echoless check STORE` "
                "ends what a ledger in a file knows of it; then try again."
            )
        if state == "57014":
            return StoreError(
                f"{where} stopped a statement ({text}). Nothing was changed. Raise the limit that "
                "this user has, such as statement_timeout, or try again when less is going on."
            )
        if state == _CHANGED:
            return StoreLocked(
                f"Another program changed rows of {where} that were being written ({text}). "
                "Nothing was changed; plan again."
            )
        if state in {_TIMED_OUT, "40P01"}:
            return StoreLocked(
                f"Another program holds rows of {where} ({text}). Try again; nothing was changed."
            )
        if state in {"42501", "25006"}:
            return StoreReadOnly(f"{where} may not be written ({text}). Nothing was changed.")
        return StoreError(f"{where} refused a statement ({text}). Nothing was changed.")

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()


def sqlstate(problem: exc.DBAPIError) -> str:
    """Returns the code of an error of the server; empty where it comes from the driver.

    https://www.postgresql.org/docs/current/errcodes-appendix.html
    """
    return str(getattr(problem.orig, "sqlstate", "") or "")


def _postgres_kind(type_: str, category: str) -> CellKind:
    """Returns the kind of a type.

    Args:
        type_: Result of `format_type`.
        category: Of `pg_type.typcategory`.
    """
    if type_ in {"json", "jsonb"}:
        return CellKind.JSON
    if re.match(r"(.*\.)?(vector|halfvec)\b(?!.*\[)", type_):
        return CellKind.VECTOR
    if type_ == "uuid" or category in {"S", "E"}:
        return CellKind.TEXT
    if category == "D" and not type_.startswith("time "):
        return CellKind.TIME
    known = {"N": CellKind.NUMBER, "B": CellKind.BOOLEAN, "A": CellKind.ARRAY}
    return known.get(category, CellKind.OTHER)


_CATALOGUE: Final = Path(__file__).with_name("postgres_catalogue.sql").read_text("utf-8")
_QUERIES: Final = dict(part.split("\n", 1) for part in _CATALOGUE.split("-- ")[2:])
"""Queries of the catalogue by name; `tree` begins two of them."""
