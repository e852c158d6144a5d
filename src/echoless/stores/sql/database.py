"""Databases a table may be in: an SQLite file, or a PostgreSQL server through psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from echoless.core.errors import (
    EcholessError,
    StoreError,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    UsageError,
)
from echoless.core.optional import lazy_module, require_module
from echoless.core.sqlite import Database, open_for_reading, open_for_writing, translated
from echoless.stores.sql.cells import Column, Kind
from echoless.stores.sql.location import Location, driver_url
from echoless.stores.sql.references import Reference
from echoless.stores.sql.table import Table

if TYPE_CHECKING:
    import sqlite3

    import sqlalchemy as sa
    from sqlalchemy import exc
else:
    sa, exc = lazy_module("sqlalchemy"), lazy_module("sqlalchemy.exc")

EXTRA: Final = "sql"
POSTGRES_EXTRA: Final = "postgres"
_LOCK: Final = "SELECT pg_advisory_lock(hashtextextended(:name, 0))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended(:name, 0))"
_SETTINGS: Final = (
    "-c datestyle=ISO,YMD -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=1"
    " -c bytea_output=hex -c lock_timeout=5s"
)
"""Settings that change how a type is written as text, so that a text means the same each time."""


_ISOLATION: Final = "REPEATABLE READ"
_TIMED_OUT: Final = "55P03"
_CHANGED: Final = "40001"


@dataclass(frozen=True, slots=True)
class Relation:
    """Table of a server as its catalogue knows it.

    Attributes:
        schema: In which it really is.
        name: Without the schema.
        number: Its `oid`.
    """

    schema: str
    name: str
    number: int


class Backend(Protocol):
    """What the store needs of a database."""

    def tables(self) -> Sequence[str]:
        """Returns the names of all tables and views a URL can name."""
        ...

    def table(self, name: str) -> Table | None:
        """Returns a table by its name, or None."""
        ...

    def references(self, table: Table) -> Sequence[Reference]:
        """Returns the foreign keys that lead to a table."""
        ...

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection to read with: that of the transaction, inside of one."""
        ...

    def moment(self, connection: sa.Connection) -> object:
        """Returns a value that changes with each write of anyone; None where that is unknown."""
        ...

    def writing(self, name: str) -> AbstractContextManager[None]:
        """Keeps other writers of echoless away from a table inside the block."""
        ...

    def transaction(self, *, savepoint: bool = False) -> AbstractContextManager[sa.Connection]:
        """Runs a block in one transaction; an inner call joins the outer one.

        Args:
            savepoint: Where an inner block fails on a server, what it did is taken back, and the
                outer one can go on; without it the server refuses all further statements.
        """
        ...

    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside the block into errors of echoless."""
        ...

    def close(self) -> None:
        """Closes all connections."""
        ...


# ------------------------------------------------------------------ SQLite


class SqliteBackend:
    """An SQLite file. Reading changes no byte of it: see `core/sqlite.py`."""

    def __init__(self, path: Path) -> None:
        """Opens a file for reading.

        Raises:
            StoreNotFound: There is no such file.
            ForeignStore: It is no SQLite database.
        """
        require_module("sqlalchemy", "The store 'sql'", EXTRA)
        if not path.is_file():
            raise StoreNotFound(f"There is no file {path}. Check the path.")
        self.path = path
        self.database = _lenient(open_for_reading(path))
        self._connection: sa.Connection | None = None
        self._raw: sqlite3.Connection | None = None
        self._own: tuple[Database, ...] = (self.database,)

    @property
    def _speaks(self) -> sa.Connection:
        """Returns SQLAlchemy's connection over the one that is open now."""
        raw = self.database.connection
        if self._connection is None or self._raw is not raw:
            self._raw = raw
            engine = sa.create_engine(
                "sqlite://",
                creator=lambda: raw,
                poolclass=sa.pool.StaticPool,
                pool_reset_on_return=None,
            )
            # never begun or ended by SQLAlchemy: transactions are those of `Database`
            self._connection = engine.connect()
        return self._connection

    def tables(self) -> list[str]:
        """Returns the tables and views, without virtual ones and those SQLite makes for itself."""
        rows = self._schema(
            "SELECT name, sql LIKE 'create virtual%' FROM sqlite_master"
            " WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY name"
        )
        shadows = tuple(f"{name}_" for name, virtual in rows if virtual)
        return [
            str(name)
            for name, virtual in rows
            if not virtual and not (shadows and str(name).startswith(shadows))
        ]

    def _schema(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        with self.database.speaking():
            return self.database.connection.execute(statement, values).fetchall()

    def table(self, name: str) -> Table | None:
        """Returns a table as SQLite describes it."""
        found = self._schema(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND sql NOT LIKE 'create virtual%' AND name = ? COLLATE NOCASE",
            name,
        )
        if not found:
            return None
        name, kind = found[0]
        columns = {}
        keys: dict[int, str] = {}
        for column, type_, required, default, number, hidden in self._schema(
            'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)', name
        ):
            if hidden == 1:
                continue
            generated = hidden in {2, 3}
            needs = bool(required) and default is None and not generated
            of = _sqlite_kind(str(type_))
            columns[column] = Column(
                column,
                of,
                str(type_),
                generated=generated,
                required=needs,
                default=None if default is None or generated else str(default),
            )
            if number:
                keys[number] = column
        key = tuple(column for _, column in sorted(keys.items()))
        numbered = len(key) == 1 and columns[key[0]].type.upper() == "INTEGER"
        taken = any(column.casefold() == "rowid" for column in columns)
        place = kind == "table" and not numbered and not taken and self._has_numbers(name)
        return Table(name, "", columns, key, place=place, view=kind != "table")

    def references(self, table: Table) -> list[Reference]:
        """Returns the foreign keys of the file that lead to a table."""
        found: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        for name in self.tables():
            for row in self._schema(
                'SELECT id, seq, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?)'
                " ORDER BY id, seq",
                name,
            ):
                found.setdefault((name, row[0]), []).append(row)
        targets = {str(rows[0][2]).casefold() for rows in found.values()}
        made = []
        for (name, _), rows in found.items():
            if str(rows[0][2]).casefold() != table.name.casefold():
                continue
            source = self.table(name)
            if source is None:
                continue
            to = tuple(str(to or key) for (*_, to, _), key in zip(rows, table.key, strict=False))
            cascades = rows[0][5] == "CASCADE" and name.casefold() not in targets
            made.append(Reference(source, tuple(str(row[3]) for row in rows), to, cascades))
        return made

    def reuses_numbers(self, table: Table) -> bool:
        """Returns whether a new row may get the number of a row that was removed."""
        key = [table.columns[name].type.upper() for name in table.key]
        if key != ["INTEGER"] or table.place:
            return False
        counted = self._schema("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'")
        return not counted or not self._schema(
            "SELECT 1 FROM sqlite_sequence WHERE name = ?", table.name
        )

    def _has_numbers(self, name: str) -> bool:
        """Returns whether the rows of a table have a `rowid`."""
        quoted = name.replace('"', '""')
        try:
            self.database.connection.execute(f'SELECT rowid FROM "{quoted}" LIMIT 0')
        except self.database.errors:
            return False
        return True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yields the connection."""
        with self.speaking():
            yield self._speaks

    def moment(self, connection: sa.Connection) -> object:  # noqa: ARG002 - one is open at a time
        """Returns a value that changes with each commit of others and each own change.

        https://sqlite.org/pragma.html#pragma_data_version: two connections count for themselves.
        """
        raw = self.database.connection
        (version,) = raw.execute("PRAGMA data_version").fetchone()
        return id(raw), int(version), raw.total_changes

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:  # noqa: ARG002 - a file is locked as a whole
        """Opens the file for writing inside the block; its journal stays as its owner set it."""
        self.database.heal()
        reader = self.database
        writer = _lenient(open_for_writing(self.path, wal=False))
        self.database = writer
        try:
            yield
        finally:
            self.database = reader
            writer.close()

    @contextmanager
    def transaction(
        self,
        *,
        savepoint: bool = False,  # noqa: ARG002 - a failed statement ends no transaction here
    ) -> Iterator[sa.Connection]:
        """Runs a block in one immediate transaction."""
        with self.speaking():
            connection = self._speaks  # made first: SQLAlchemy rolls back on its first connection
            with self.database.transaction():
                yield connection

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Turns errors of SQLite into errors of echoless."""
        try:
            yield
        except exc.DBAPIError as problem:
            if isinstance(problem.orig, Exception):
                raise translated(problem.orig, self.path) from problem
            raise StoreError(f"{self.path}: {problem}. Nothing was changed.") from problem

    def close(self) -> None:
        """Closes the file."""
        self._connection = None
        self.database.close()
        for each in self._own:
            each.close()


def _lenient(database: Database) -> Database:
    """Makes a connection return texts that are no UTF-8 as they are."""
    database.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return database


def _sqlite_kind(type_: str) -> Kind:
    """Returns the kind of a declared type (https://sqlite.org/datatype3.html, 3.1)."""
    word = type_.upper()
    if "JSON" in word:
        return Kind.JSON
    if "BOOL" in word:
        return Kind.BOOLEAN
    if any(part in word for part in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")):
        return Kind.TEXT
    if any(part in word for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return Kind.NUMBER
    return Kind.BYTES if "BLOB" in word else Kind.OTHER


# ------------------------------------------------------------------ PostgreSQL


class PostgresBackend:
    """A PostgreSQL server through psycopg."""

    def __init__(self, location: Location) -> None:
        """Connects to a server.

        Raises:
            MissingExtra: SQLAlchemy or psycopg is not installed.
            StoreNotFound: There is no such server or database, or it does not let the user in.
        """
        require_module("sqlalchemy", "A PostgreSQL database", POSTGRES_EXTRA)
        require_module("psycopg", "A PostgreSQL database", POSTGRES_EXTRA)
        self._location = location
        try:
            url = sa.make_url(driver_url(location))
        except (exc.ArgumentError, ValueError):
            raise UsageError(
                f"{location.place} is no address of a database. Write postgresql://USER@HOST/DB."
            ) from None
        options = {"options": _SETTINGS, "connect_timeout": 10, "client_encoding": "utf8"}
        self._engine = sa.create_engine(
            url, connect_args=options, hide_parameters=True, pool_pre_ping=True
        )
        self._open: sa.Connection | None = None
        try:
            with self._engine.connect() as connection:
                self._version = connection.dialect.server_version_info
        except exc.SQLAlchemyError as problem:
            raise StoreNotFound(
                f"{location.place} cannot be opened ({self.said(problem)}). Check host, port, "
                "database and user, and give a password in PGPASSWORD or ~/.pgpass."
            ) from None

    def said(self, problem: Exception) -> str:
        """Returns the first line of the driver's message, without the password."""
        origin = getattr(problem, "orig", None) or problem
        text = str(origin).strip().splitlines()[0] if str(origin).strip() else type(origin).__name__
        secret = self._location.secret
        return text.replace(secret, "***") if secret else text

    def tables(self) -> list[str]:
        """Returns the tables and views of the search path, and those of other schemas by schema."""
        rows = self._rows(_TABLES, {})
        return [str(name) if visible else f"{schema}.{name}" for schema, name, visible in rows]

    def _rows(self, statement: str, values: dict[str, object]) -> list[Any]:
        with self.reading() as connection:
            return list(connection.execute(sa.text(statement), values).all())

    def table(self, name: str) -> Table | None:
        """Returns a table as the catalogue describes it."""
        schema, _, bare = name.rpartition(".")
        found = self._rows(_RELATION, {"name": name, "schema": schema, "bare": bare})
        if not found:
            return None
        oid, schema, bare, kind, visible = found[0]
        columns = {}
        for column, type_, category, generated, identity, required, default in self._rows(
            _COLUMNS, {"oid": oid}
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
        key = tuple(str(each) for (each,) in self._rows(_KEY, {"oid": oid}))
        return Table(
            str(bare),
            "" if visible else str(schema),
            columns,
            key,
            view=kind not in {"r", "p"},
            typed=True,
        )

    def references(self, table: Table) -> list[Reference]:
        """Returns the foreign keys of the database that lead to a table."""
        made = []
        values: dict[str, object] = {"name": table.name, "schema": table.schema}
        for name, columns, to, cascades in self._rows(_REFERENCES, values):
            source = self.table(name)
            if source is not None:
                made.append(Reference(source, tuple(columns), tuple(to), bool(cascades)))
        return made

    def relation(self, table: Table) -> Relation:
        """Returns which relation of the database a table is, whatever the search path.

        Raises:
            StoreNotFound: It was dropped meanwhile.
        """
        rows = self._rows(_HOME, {"name": table.name, "schema": table.schema})
        if not rows:
            raise StoreNotFound(f"There is no table {table.full_name!r} in {self.place} any more.")
        schema, name, number = rows[0]
        return Relation(str(schema), str(name), int(number))

    def identity(self) -> str:
        """Returns a text that tells this database from those of other servers, as far as it may.

        https://www.postgresql.org/docs/current/functions-info.html, pg_control_system
        """
        number = self._rows("SELECT oid FROM pg_database WHERE datname = current_database()", {})
        try:
            system = self._rows("SELECT system_identifier FROM pg_control_system()", {})
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
        """Yields the connection of the transaction, or one that may only read, of one moment."""
        with self.speaking(), self.connected() as connection:
            yield connection

    @contextmanager
    def connected(self) -> Iterator[sa.Connection]:
        """Yields what `reading` does; the errors of the driver stay as they are."""
        if self._open is not None:
            yield self._open
            return
        with self._engine.connect() as connection:
            yield connection.execution_options(isolation_level=_ISOLATION, postgresql_readonly=True)

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Runs a block in which everything that is read is of one moment."""
        with self.reading() as connection:
            before, self._open = self._open, connection
            try:
                yield
            finally:
                self._open = before

    def moment(self, connection: sa.Connection) -> object:
        """Returns the transactions that have ended, as the server numbers them.

        https://www.postgresql.org/docs/current/functions-info.html, 9.27.9: a snapshot that is the
        same sees the same rows. The own transaction is in none, so that nothing is known inside it.
        """
        if self._open is not None:
            return None
        name = (
            "pg_current_snapshot" if (self._version or (0,)) >= (13,) else "txid_current_snapshot"
        )
        return str(
            connection.execute(sa.select(sa.cast(getattr(sa.func, name)(), sa.Text))).scalar()
        )

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Holds an advisory lock of the server: writers on other machines wait too.

        https://www.postgresql.org/docs/current/explicit-locking.html, 13.3.5
        """
        values = {"name": f"echoless {name}"}
        with ExitStack() as stack, self.speaking():
            connection = stack.enter_context(self._engine.connect())
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
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
        """Runs a block in one transaction that sees one state of what others write.

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
                finally:
                    self._open = None

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
        if problem.connection_invalidated or state.startswith(("08", "57P")) or not state:
            return StoreError(
                f"The connection to {where} was lost ({text}). The open transaction is taken back "
                "by the server; `echoless check STORE` finishes or takes back the run."
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


def _postgres_kind(type_: str, category: str) -> Kind:
    """Returns the kind of a type.

    Args:
        type_: As `format_type` writes it.
        category: Of `pg_type.typcategory`.
    """
    if type_ in {"json", "jsonb"}:
        return Kind.JSON
    if re.match(r"(.*\.)?(vector|halfvec)\b(?!.*\[)", type_):
        return Kind.VECTOR
    if type_ == "bytea":
        return Kind.OTHER
    known = {"S": Kind.TEXT, "E": Kind.TEXT, "N": Kind.NUMBER, "B": Kind.BOOLEAN, "A": Kind.ARRAY}
    if type_ == "uuid":
        return Kind.TEXT
    if category == "D" and not type_.startswith("time "):
        return Kind.TIME
    return known.get(category, Kind.OTHER)


_TABLES: Final = """
SELECT n.nspname, c.relname, pg_table_is_visible(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('information_schema')
  AND n.nspname NOT LIKE 'pg\\_%' AND has_table_privilege(c.oid, 'SELECT')
  AND NOT (n.nspname LIKE 'echoless\\_%' AND EXISTS (
    SELECT 1 FROM pg_class m WHERE m.relnamespace = n.oid AND m.relname = 'open_runs'))
ORDER BY 2, 1
"""

_RELATION: Final = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND ((c.relname = :name AND pg_table_is_visible(c.oid))
       OR (c.relname = :bare AND n.nspname = :schema))
ORDER BY 5 DESC
"""

_HOME: Final = """
SELECT n.nspname, c.relname, c.oid
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = :name
  AND CASE WHEN :schema = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = :schema END
"""

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory::text,
  a.attgenerated::text <> '', a.attidentity::text,
  a.attnotnull AND NOT a.atthasdef AND a.attidentity::text = '',
  pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

_KEY: Final = """
SELECT a.attname
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = :oid AND i.indisprimary
ORDER BY k.place
"""

_REFERENCES: Final = """
SELECT CASE WHEN pg_table_is_visible(s.oid) THEN s.relname::text
            ELSE n.nspname || '.' || s.relname END,
  (SELECT array_agg(a.attname::text ORDER BY k.place)
   FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(a.attname::text ORDER BY k.place)
   FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum),
  c.confdeltype = 'c'
    AND NOT EXISTS (SELECT 1 FROM pg_constraint o
                    WHERE o.contype = 'f' AND o.confrelid = c.conrelid)
FROM pg_constraint c
JOIN pg_class s ON s.oid = c.conrelid JOIN pg_namespace n ON n.oid = s.relnamespace
JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace m ON m.oid = t.relnamespace
WHERE c.contype = 'f' AND t.relname = :name
  AND CASE WHEN :schema = '' THEN pg_table_is_visible(t.oid) ELSE m.nspname = :schema END
  AND c.conparentid = 0
ORDER BY 1
"""
