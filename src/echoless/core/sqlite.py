"""SQLite connections: reading without changes to the file, transactions, and clear errors.

Used by the embedded store and by the sidecar ledger of stores that are not databases.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

from echoless.core import database_copies as copies
from echoless.core.database_copies import Copy
from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    LedgerDamaged,
    StoreError,
    StoreFull,
    StoreUnfinished,
)
from echoless.core.failures import (
    SQLITE_FAILURES,
    has_room,
    is_damage,
    is_unfinished,
    is_unwritable,
    kind_of,
    misplaced,
    of_sqlite,
    said,
)
from echoless.core.timestamps import now

BUSY_TIMEOUT_SECONDS: Final = 5.0
_SHAREABLE: Final = sqlite3.threadsafety == 3
"""Whether the library guards a connection by itself, so that threads which take turns may share it;
the usual build does."""

FAILURES: Final = SQLITE_FAILURES

_MAGIC: Final = b"SQLite format 3\x00"
_READS_SCHEMA: Final = "SELECT count(*) FROM sqlite_master"

Cell: TypeAlias = "str | int | float | bytes | None"


def steps_in(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the statements of a text by the `-- step NAME` they stand under, in order."""
    steps = (each.partition("\n") for each in text.split("-- step ")[1:])
    return {name: tuple(statements.strip().split("\n\n")) for name, _, statements in steps}


class Migrations:
    """An ordered list of named schema changes; each is applied once."""

    def __init__(self, component: str, steps: Mapping[str, Sequence[str]]) -> None:
        """Keeps the changes.

        Args:
            component: Whose they are: the first part of their names in a file.
            steps: Statements of each change by its name, in order.
        """
        self.component = component
        self._steps = {f"{component}/{name}": each for name, each in steps.items()}

    def pending(self, db: sqlite3.Connection) -> list[str]:
        """Returns the names of migrations not yet applied, in order.

        Raises:
            StoreError: The file was written by a newer echoless.
            LedgerDamaged: A name is no text.
        """
        done: set[str] = set()
        if table_exists(db, "migrations"):
            for (name,) in db.execute("SELECT name FROM migrations"):
                if not isinstance(name, str):
                    raise LedgerDamaged(
                        f"The table `migrations` is damaged: {name!r:.40} is no name of a schema "
                        "step. Copy the file before anything else; nothing was changed."
                    )
                done.add(name)
        mine = {name for name in done if name.startswith(f"{self.component}/")}
        unknown = sorted(mine - set(self._steps))
        if unknown:
            raise StoreError(
                f"This file was written by a newer echoless (schema step {unknown[0]!r} is unknown "
                "here). Upgrade echoless to open it."
            )
        return [name for name in self._steps if name not in done]

    def check(self, database: Database) -> None:
        """Closes a database that a newer echoless wrote, and raises the error that says so.

        Raises:
            StoreError: As `pending`.
        """
        try:
            with database.speaking():
                self.pending(database.connection)
        except EcholessError:
            database.close()
            raise

    def apply(self, database: Database) -> None:
        """Runs the pending migrations in one transaction: a stopped writer leaves none or all.

        Raises:
            StoreError: As `pending`, or the file cannot be read or written.
        """
        db = database.connection
        with database.speaking():
            pending = self.pending(db)
        if not pending:
            return
        with database.transaction():
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations"
                " (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
            )
            for name in pending:
                for statement in self._steps[name]:
                    db.execute(statement)
                db.execute("INSERT INTO migrations VALUES (?, ?)", (name, now()))


class Database:
    """One SQLite connection with nested transactions and translated errors.

    Attributes:
        path: The file, or None for a database in memory.
        writable: Whether it was opened for writing.
        errors: What the connection raises; another SQLite library has errors of its own.
        copy: What is read in place of the file, where the file itself cannot be.
        unfinished: Whether a write to the file was stopped in the middle and stands there as it was
            left; in the copy it was taken back.
    """

    def __init__(
        self,
        path: Path | None,
        connection: sqlite3.Connection,
        *,
        writable: bool,
        errors: tuple[type[Exception], ...] = FAILURES,
        copy: Copy | None = None,
        unfinished: bool = False,
    ) -> None:
        self.path = path
        self.writable = writable
        self.errors = errors
        self.copy = copy
        self.unfinished = unfinished
        self._connection = connection
        self._depth = 0
        self._left: list[sqlite3.Connection] = []

    @property
    def connection(self) -> sqlite3.Connection:
        """Returns the connection, in autocommit mode; use `transaction` to write."""
        if self.copy is not None and self.copy.outdated:
            self._read_again()
        return self._connection

    def _read_again(self) -> None:
        """Opens the file anew, because it changed since it was copied."""
        assert self.path is not None
        fresh = open_for_reading(self.path)
        self._left.append(self._connection)  # a cursor may still be at work on it
        fresh.connection.text_factory = self._connection.text_factory
        self._connection, self.unfinished = fresh.connection, fresh.unfinished
        self.copy = fresh.copy

    def heal(self) -> None:
        """Rolls back an interrupted write in the file itself; does nothing where there is none.

        Raises:
            StoreError: The file is locked, or may not be written.
        """
        if self.copy is None or self.path is None:
            return
        if self.unfinished:
            take_back(self.path)
        self._read_again()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs a block in one immediate transaction; an inner call joins the outer one.

        Any exception rolls everything back, Ctrl-C included.
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        with self.speaking():
            self.connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Runs a block of an open transaction whose changes go, and only they, if it fails."""
        with self.speaking():
            self.connection.execute("SAVEPOINT part")
            try:
                yield
            except BaseException:
                if self.connection.in_transaction:  # a full disk ends the whole transaction
                    self.connection.execute("ROLLBACK TO part")
                    self.connection.execute("RELEASE part")
                raise
            self.connection.execute("RELEASE part")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Runs a block that sees one state of the file, whoever writes to it meanwhile."""
        if self.connection.in_transaction:
            yield
            return
        with self.speaking():
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self._end_reading()

    def _end_reading(self) -> None:
        if self.connection.in_transaction:  # an error may have ended it already
            self.connection.execute("COMMIT")

    # ------------------------------------------------------------------ statements of the ledger

    @property
    def place(self) -> Path | None:
        """Returns the file, for messages; None for a database in memory."""
        return self.path

    @property
    def in_transaction(self) -> bool:
        """Returns whether a transaction is open."""
        return self.connection.in_transaction

    def table(self, name: str) -> str:
        """Returns the name of a table for statements."""
        return name

    def rows(self, statement: str, values: Sequence[Cell] = ()) -> list[tuple[object, ...]]:
        """Returns the rows of a query; raises SQLite's own errors."""
        return self.connection.execute(statement, values).fetchall()

    def stream(self, statement: str) -> Iterator[tuple[object, ...]]:
        """Yields the rows of a query one by one; raises SQLite's own errors."""
        # `yield from` would close the cursor, which fails where the connection was closed before
        for row in self.connection.execute(statement):  # noqa: UP028
            yield row

    def change(self, statement: str, values: Sequence[Cell] = ()) -> int:
        """Runs a statement that changes rows, and returns how many; raises SQLite's own errors."""
        return self.connection.execute(statement, values).rowcount

    def change_many(self, statement: str, rows: Iterable[Sequence[Cell]]) -> None:
        """Runs a statement once for each of many rows; raises SQLite's own errors."""
        self.connection.executemany(statement, rows)

    def append(self, statement: str, values: Sequence[Cell]) -> int:
        """Adds a row to a numbered table and returns its number; raises SQLite's own errors.

        `RETURNING` would need SQLite 3.35.
        """
        return self.connection.execute(statement, values).lastrowid or 0

    def last_number(self, table: str) -> int | None:
        """Returns the highest number ever given to a row of a table; raises SQLite's own errors."""
        for query, values in (
            ("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)),
            (f"SELECT max(seq) FROM {table}", ()),
        ):
            for (number,) in self.rows(query, values):
                if isinstance(number, int):
                    return number
        return None

    def is_damage(self, problem: Exception) -> bool:
        """Returns whether an error says that the file is damaged."""
        return is_damage(problem)

    def said(self, problem: Exception) -> str:
        """Returns the message of an error."""
        return said(problem)

    def translated(self, problem: Exception) -> EcholessError:
        """Returns the error of echoless for one of SQLite."""
        return translated(problem, self.path)

    def speaking(self) -> AbstractContextManager[None]:
        """Runs a block and turns errors of SQLite into errors of echoless."""
        return _Speaking(self)

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """Lets events of a ledger change inside the block; within a transaction."""
        named = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?"
        ((guard,),) = self.rows(named, ("events_no_update",))
        self.change("DROP TRIGGER events_no_update")
        yield
        self.change(str(guard))

    def scrub(self) -> None:
        """Empties the log, which holds earlier states of rows; outside of transactions."""
        with self.speaking():
            self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def merge_full_text(self) -> None:
        """Merges full-text indexes, which hold words of removed rows until then; for writing."""
        fts = "SELECT name FROM sqlite_master WHERE lower(sql) LIKE 'create virtual%using fts5%'"
        with self.speaking():
            for (name,) in self.rows(fts):
                self.rows(f"""INSERT INTO "{name}"("{name}") VALUES ('optimize')""")

    def faults(self) -> list[str]:
        """Returns what SQLite's own check finds wrong with the file, up to five sentences."""
        with self.speaking():
            rows = self.connection.execute("PRAGMA integrity_check(5)").fetchall()
        return [f"{self.path}: {text}." for (text,) in rows if text != "ok"]

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        for connection in (*self._left, self._connection):
            connection.close()
        if self.copy is not None:
            self.copy.discard()
            self.copy = None


class _Speaking:
    """Block of `Database.speaking`. A generator takes three times as long; a write has twenty."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, self._database.errors):
            raise translated(problem, self._database.path) from problem


def table_exists(db: sqlite3.Connection, name: str) -> bool:
    """Returns whether a table or virtual table of that name exists."""
    rows = db.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (name,))
    return rows.fetchone() is not None


def application_id(path: Path) -> int | None:
    """Returns the number by which a program knows its SQLite files; None where there is none.

    https://sqlite.org/pragma.html#pragma_application_id; the file is read as by `is_sqlite`.
    """
    with suppress(OSError, *FAILURES):
        if path.stat().st_size >= len(_MAGIC):
            uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                return int(connection.execute("PRAGMA application_id").fetchone()[0])
    return None


def is_sqlite(path: Path) -> bool:
    """Returns whether the file begins like an SQLite database.

    SQLite itself reads the file: a process that opens and closes a database without SQLite loses
    the locks of its own connections to it (POSIX), and another process may then write in between.
    """
    try:
        if path.stat().st_size < len(_MAGIC):
            return False
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except (OSError, *FAILURES) as problem:
        return "malformed" in said(problem)
    return True


def in_memory() -> Database:
    """Returns a private database in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=not _SHAREABLE)
    connection.execute("PRAGMA foreign_keys=ON")
    return Database(None, connection, writable=True)


def open_for_reading(path: Path) -> Database:
    """Opens a database without changing a byte or leaving a file beside it.

    An interrupted write is rolled back in a private copy; on a full disk, or where nothing may be
    written, the file is read as it is. See `_ways`.
    """
    if not is_sqlite(path):
        raise ForeignStore(f"{path} is not an SQLite database.")
    _refuse_misplaced(path)
    problem: Exception | None = None
    for way in _ways(path):
        try:
            return _read(path, way)
        except FAILURES as failure:
            problem = failure
            if is_unfinished(failure):
                return _from_copy(path, unfinished=True)
            if not is_unwritable(failure):
                break
    assert problem is not None
    if is_unwritable(problem) and copies.log(path).exists():
        return _from_copy(path, unfinished=False)
    raise translated(problem, path) from problem


def _refuse_misplaced(path: Path) -> None:
    """Refuses a database beside which a link or a pipe has the name of its log or journal.

    SQLite would write to where the link leads, or wait for the pipe.

    Raises:
        ForeignStore: The message names it.
    """
    real = Path(os.path.realpath(path))
    for each in (real, copies.log(real), copies.index(real), copies.journal(real)):
        if kind_of(each) not in {"file", ""}:
            raise misplaced(each, "file")


def _ways(path: Path) -> list[str]:
    """Returns queries of a URI to open a file with, the best one first.

    A read-only connection to a WAL database leaves `-wal` and `-shm` files behind, an ordinary one
    with `query_only` removes them when it closes. But an ordinary connection would also check-point
    a log that another process left, and roll back an interrupted write; if there is a log or a
    journal, read-only is the right mode.

    Where the index of a log cannot be made, a log that is there is read without
    (https://sqlite.org/wal.html#read_only_databases); where there is none, no one here writes the
    file, so it is as good as immutable.
    """
    if copies.log(path).exists():
        given = ["mode=ro"] if copies.index(path).exists() or has_room(path.parent) else []
        return [*given, "mode=ro&readonly_shm=1"]
    if copies.journal(path).exists():
        return ["mode=ro"]
    return ["mode=rw", "immutable=1"] if has_room(path.parent) else ["immutable=1"]


def _read(path: Path, query: str) -> Database:
    """Opens a database in one way; raises SQLite's own errors."""
    database = Database(path, _connected(path, query), writable=False)
    try:
        _only_reads(database.connection)
    except FAILURES:
        database.close()
        raise
    return database


def _only_reads(connection: sqlite3.Connection) -> None:
    """Reads the schema, and forbids writes and functions with side effects in it.

    A writer trusts the schema: triggers fill full-text tables, which older SQLite (3.40) counts
    among the things with effects (https://sqlite.org/pragma.html#pragma_trusted_schema). It counts
    `json_valid` and `json_extract` too, which checks and indexes use.
    """
    connection.execute("PRAGMA query_only=ON")
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA writable_schema=RESET")  # a schema that was read is not checked
    try:
        connection.execute(_READS_SCHEMA).fetchone()
    except sqlite3.DatabaseError as problem:
        if "unsafe use of json" not in str(problem):
            raise
        connection.execute("PRAGMA trusted_schema=ON")
        connection.execute(_READS_SCHEMA).fetchone()


def _from_copy(path: Path, *, unfinished: bool) -> Database:
    """Opens a copy, in which SQLite rolls back an interrupted write."""
    try:
        copy = copies.copied(path)
    except StoreFull as problem:
        if unfinished:
            raise StoreUnfinished(path) from problem
        raise
    try:
        connection = _connected(copy.path, "mode=rw")
        connection.execute(_READS_SCHEMA).fetchone()
        _only_reads(connection)
    except FAILURES as problem:
        copy.discard()
        raise translated(problem, path) from problem
    return Database(path, connection, writable=False, copy=copy, unfinished=unfinished)


def is_unfinished_at(path: Path) -> bool:
    """Returns whether a write to a file was interrupted, without change or copy.

    Raises:
        StoreError: The file cannot be opened.
    """
    if not copies.journal(path).exists():
        return False
    try:
        _read(path, "mode=ro").close()
    except FAILURES as problem:
        return is_unfinished(problem)
    return False


def take_back(path: Path) -> None:
    """Rolls back an interrupted write, as SQLite does for whoever opens the file.

    Raises:
        StoreError: The file is locked, or may not be written.
    """
    try:
        with closing(_connected(path, "mode=rw")) as connection:
            connection.execute(_READS_SCHEMA).fetchone()
    except FAILURES as problem:
        raise translated(problem, path) from problem


@contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection to read the tables of a file, to find out its kind.

    A file with an interrupted write is read as it is: every kind of store reads it once, and a copy
    each time would be expensive.

    Raises:
        EcholessError: It cannot be read.
    """
    if is_unfinished_at(path):
        with suppress(*FAILURES), closing(_read(path, "immutable=1")) as database:
            yield database.connection
            return
    with closing(open_for_reading(path)) as database, database.speaking():
        yield database.connection


def open_for_writing(path: Path, *, create: bool = False, wal: bool = True) -> Database:
    """Opens a database in WAL mode with foreign keys; commits are synchronised to disk.

    Args:
        path: The file.
        create: Create it if missing.
        wal: False leaves the journal mode of another program's file as it is.
    """
    _refuse_misplaced(path)
    try:
        connection = _connected(path, "mode=rwc" if create else "mode=rw")
    except FAILURES as problem:
        raise translated(problem, path) from problem
    database = Database(path, connection, writable=True)
    try:
        with database.speaking():
            if wal:
                database.connection.execute("PRAGMA journal_mode=WAL")
            database.connection.execute("PRAGMA synchronous=FULL")
            # removed rows are overwritten: what is purged or forgotten may not lie in free pages
            database.connection.execute("PRAGMA secure_delete=ON")
    except EcholessError:
        database.close()
        raise
    return database


def _connected(path: Path, query: str) -> sqlite3.Connection:
    """Returns a connection; raises SQLite's own errors."""
    uri = f"file:{quote(str(path.absolute()))}?{query}"
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        timeout=BUSY_TIMEOUT_SECONDS,
        check_same_thread=not _SHAREABLE,
    )
    try:
        connection.execute("PRAGMA foreign_keys=ON")
    except FAILURES:
        connection.close()
        raise
    return connection


translated: Final = of_sqlite
