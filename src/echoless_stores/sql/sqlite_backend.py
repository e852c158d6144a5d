"""An SQLite file a table may be in, read and written through SQLAlchemy."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from echoless.core.errors import StoreError, StoreNotFound
from echoless.core.groups import grouped
from echoless.core.sqlite import Database, open_for_reading, open_for_writing, translated
from echoless.stores.column_values import lenient, quoted
from echoless_stores.sql.cells import CellKind, Column
from echoless_stores.sql.database import Backend, Event, Reference, SideEffect
from echoless_stores.sql.table import SqlTable

_WRITES: Final = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
"""Actions of the compiler that write rows."""


_CONTENT: Final = re.compile(r"content\s*=\s*['\"]?(\w+)")
"""The table whose rows a full-text table indexes."""


class SqliteBackend(Backend):
    """An SQLite file. Reading changes no byte of it: see `core/sqlite.py`."""

    def __init__(self, path: Path) -> None:
        """Opens a file for reading.

        Raises:
            StoreNotFound: The path is no file.
            ForeignStore: It is no SQLite database.
        """
        if not path.is_file():
            raise StoreNotFound(f"There is no file {path}. Check the path.")
        self.path = path
        self.database = lenient(open_for_reading(path))
        self._connection: sa.Connection | None = None
        self._raw: sqlite3.Connection | None = None
        self._reader = self.database

    @property
    def _speaks(self) -> sa.Connection:
        """Returns SQLAlchemy's connection over the one that is open now."""
        raw = self.database.connection
        if self._connection is None or self._raw is not raw:
            self._raw, self._connection = raw, _spoken(raw)
        return self._connection

    @property
    def databases(self) -> tuple[Database]:
        """Returns the open file."""
        return (self.database,)

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

    def table(self, name: str) -> SqlTable | None:
        """Returns a table with the columns that SQLite describes."""
        rows = self._schema(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND sql NOT LIKE 'create virtual%' AND name = ? COLLATE NOCASE",
            name,
        )
        if not rows:
            return None
        name, kind = rows[0]
        columns = {}
        keys: dict[int, str] = {}
        for column, type_, required, default, number, hidden in self._schema(
            'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)', name
        ):
            if hidden == 1:
                continue
            generated = hidden in {2, 3}
            columns[column] = Column(
                column,
                _sqlite_kind(str(type_)),
                str(type_),
                generated=generated,
                required=bool(required) and default is None and not generated,
                default=None if default is None or generated else str(default),
            )
            if number:
                keys[number] = column
        key = tuple(column for _, column in sorted(keys.items()))
        numbered = len(key) == 1 and columns[key[0]].type.upper() == "INTEGER"
        taken = any(column.casefold() == "rowid" for column in columns)
        place = kind == "table" and not numbered and not taken and self._has_numbers(name)
        return SqlTable(name, "", columns, key, place=place, view=kind != "table")

    def references(self, table: SqlTable) -> list[Reference]:
        """Returns the foreign keys of the file that lead to a table."""
        listed = (
            'SELECT id, seq, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?)'
            " ORDER BY id, seq"
        )
        rows_of = ((name, row) for name in self.tables() for row in self._schema(listed, name))
        keys = grouped(((name, row[0]), row) for name, row in rows_of)
        targets = {str(rows[0][2]).casefold() for rows in keys.values()}
        made = []
        for (name, _), rows in keys.items():
            if str(rows[0][2]).casefold() != table.name.casefold():
                continue
            source = self.table(name)
            if source is None:
                continue
            to = [row[4] for row in rows]
            if None in to:  # the primary key is meant
                to = list(table.key)
            if len(to) != len(rows):
                continue  # no key of this form: SQLite refuses every write that would use it
            cascades = rows[0][5] == "CASCADE" and name.casefold() not in targets
            columns = _as_declared((row[3] for row in rows), source)
            made.append(Reference(source, columns, _as_declared(to, table), cascades))
        return made

    def effects(self, table: SqlTable) -> list[SideEffect]:
        """Returns the triggers that a write sets off, with the tables that the triggers write.

        Full-text tables that triggers fill are left out: they follow the rows.
        """
        name, known = quoted(table.name), {each.casefold(): each for each in self.tables()}
        cells = [n for n, c in table.columns.items() if n not in table.key and not c.generated]
        statements: dict[Event, str] = {
            "insert": f"INSERT INTO {name} DEFAULT VALUES",
            "delete": f"DELETE FROM {name}",
        }
        if cells:
            given = ", ".join(f"{quoted(each)} = NULL" for each in cells)
            statements["update"] = f"UPDATE {name} SET {given}"
        effects: dict[SideEffect, None] = {}

        def seeing(event: Event) -> Callable[..., int]:
            def seen(action: int, target: str | None, *others: str | None) -> int:
                name = known.get((target or "").casefold())
                if others[-1] is not None and action in _WRITES and name is not None:
                    adds = action == sqlite3.SQLITE_INSERT
                    effects[SideEffect(f"trigger {others[-1]!r}", event, name, adds)] = None
                return sqlite3.SQLITE_OK

            return seen

        connection = self.database.connection
        for event, statement in statements.items():
            connection.set_authorizer(seeing(event))
            try:
                with suppress(*self.database.errors):  # the write itself will say it
                    connection.execute(f"EXPLAIN {statement}").fetchall()
            finally:
                connection.set_authorizer(None)
        return list(effects)

    def bound(self, table: SqlTable, known: str, /) -> str:
        """Returns what the program keeps by itself beside the rows of a table."""
        name = table.name.casefold()
        schema = self._schema("SELECT type, name, lower(tbl_name), lower(sql) FROM sqlite_master")
        filled = " ".join(sql for kind, _, of, sql in schema if kind == "trigger" and of == name)
        for kind, own, of, sql in schema:
            if "libsql_vector_idx" in (sql or "") and of == name:
                return f"its index {own} needs libSQL"
            if kind != "table" or "create virtual table" not in (sql or ""):
                continue
            content = _CONTENT.search(sql)
            if content and content[1] == name and own.casefold() not in filled:
                return f"its full-text index {own} is kept by the program itself"
            of_vectors = "using vec0" in sql and name in own.casefold()
            if of_vectors and own != known and own.casefold() not in filled:
                return f"its vectors in {own} are kept by the program itself"
        return ""

    def changed_rows(self, _table: SqlTable, /) -> dict[str, tuple[int, int]]:
        """Returns nothing: SQLite counts rows of all tables together."""
        return {}

    @contextmanager
    def committed(self) -> Iterator[sa.Connection]:
        """Yields the read-only connection, which sees no uncommitted change."""
        with self.speaking():
            yield _spoken(self._reader.connection)

    @contextmanager
    def silenced(self, table: SqlTable) -> Iterator[None]:
        """Has SQLite compile triggers without their changes of a table, for this connection alone.

        https://sqlite.org/c3ref/set_authorizer.html: a column whose update is ignored stays.
        """

        def ignoring(action: int, target: str | None, _: object, __: object, by: str | None) -> int:
            own = by is not None and (target or "").casefold() == table.name.casefold()
            return sqlite3.SQLITE_IGNORE if own and action in _WRITES else sqlite3.SQLITE_OK

        connection = self.database.connection
        connection.set_authorizer(ignoring)
        try:
            yield
        finally:
            connection.set_authorizer(None)

    def reuses_numbers(self, table: SqlTable) -> bool:
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
        with self.database.speaking():
            try:
                self.database.connection.execute(f"SELECT rowid FROM {quoted(name)} LIMIT 0")
            except self.database.errors as problem:
                if "no such column" not in str(problem):
                    raise  # a disk that fails once must not make rows without their places
                return False
        return True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yields the connection."""
        with self.speaking():
            yield self._speaks

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:  # noqa: ARG002 - a file is locked as a whole
        """Opens the file for writing inside the block, without a change of its journal mode."""
        self.database.heal()
        reader = self.database
        writer = lenient(open_for_writing(self.path, wal=False))
        # else a long write locks out the reader of what is committed, before it ends
        writer.connection.execute("PRAGMA cache_spill=OFF")
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
        self._reader.close()


def _spoken(raw: sqlite3.Connection) -> sa.Connection:
    """Returns SQLAlchemy's connection over one of SQLite; it begins and ends no transaction."""
    engine = sa.create_engine(
        "sqlite://", creator=lambda: raw, poolclass=sa.pool.StaticPool, pool_reset_on_return=None
    )
    return engine.connect()


def _as_declared(names: Iterable[str], table: SqlTable) -> tuple[str, ...]:
    """Returns columns as their table names them; a foreign key may write them in another case."""
    known = {name.casefold(): name for name in table.columns}
    return tuple(known.get(name.casefold(), name) for name in names)


def _sqlite_kind(type_: str) -> CellKind:
    """Returns the kind of a declared type (https://sqlite.org/datatype3.html, 3.1)."""
    word = type_.upper()
    if "JSON" in word:
        return CellKind.JSON
    if "BOOL" in word:
        return CellKind.BOOLEAN
    if any(part in word for part in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")):
        return CellKind.TEXT
    if any(part in word for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return CellKind.NUMBER
    return CellKind.BYTES if "BLOB" in word else CellKind.OTHER
