"""SQLite connections that read without a trace, write in one transaction, and fail with a sentence.

Used by the embedded store and by the sidecar ledger of stores that are not databases.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from echoless.errors import (
    EcholessError,
    ForeignStore,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from echoless.times import now

BUSY_TIMEOUT_SECONDS: Final = 5.0
_SHAREABLE: Final = sqlite3.threadsafety == 3
"""Whether the library guards a connection by itself, so that threads which take turns may share it;
the usual build does."""

FAILURES: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite fails with; the second where its message quotes a damaged schema that is no text."""

_MAGIC: Final = b"SQLite format 3\x00"

Migration = Callable[[sqlite3.Connection], None]


class Migrations:
    """An ordered list of named schema changes; each is applied once, with its record, atomically.

    Example:
        ```
        migrations = Migrations("store")

        @migrations.add("0001_memories")
        def memories(db: sqlite3.Connection) -> None: ...
        ```
    """

    def __init__(self, component: str) -> None:
        self.component = component
        self._steps: dict[str, Migration] = {}

    def add(self, name: str) -> Callable[[Migration], Migration]:
        """Decorate a function as the next migration."""

        def register(step: Migration) -> Migration:
            self._steps[f"{self.component}/{name}"] = step
            return step

        return register

    def pending(self, db: sqlite3.Connection) -> list[str]:
        """Names not yet applied, in order.

        Raises:
            StoreError: The file was written by a newer echoless.
        """
        done: set[str] = set()
        if table_exists(db, "migrations"):
            done = {name for (name,) in db.execute("SELECT name FROM migrations")}
        mine = {name for name in done if name.startswith(f"{self.component}/")}
        unknown = sorted(mine - set(self._steps))
        if unknown:
            raise StoreError(
                f"This file was written by a newer echoless (schema step {unknown[0]!r} is unknown "
                "here). Upgrade echoless to open it."
            )
        return [name for name in self._steps if name not in done]

    def check(self, database: Database) -> None:
        """Close a database that was written by a newer echoless, and say so.

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
        """Apply what is pending; each step and its record in one transaction."""
        db = database.connection
        for name in self.pending(db):
            with database.transaction():
                db.execute(
                    "CREATE TABLE IF NOT EXISTS migrations"
                    " (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
                )
                self._steps[name](db)
                db.execute("INSERT INTO migrations VALUES (?, ?)", (name, now()))


class Database:
    """One SQLite connection with re-entrant transactions and errors that speak.

    Attributes:
        path: The file, or None for a database in memory.
        connection: In autocommit mode; use `transaction` to write.
        writable: Whether it was opened for writing.
        errors: What the connection raises; another SQLite library has errors of its own.
    """

    def __init__(
        self,
        path: Path | None,
        connection: sqlite3.Connection,
        *,
        writable: bool,
        errors: tuple[type[Exception], ...] = FAILURES,
    ) -> None:
        self.path = path
        self.connection = connection
        self.writable = writable
        self.errors = errors
        self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in one immediate transaction; an inner call joins the outer one.

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
    def reading(self) -> Iterator[None]:
        """See one state of the file as long as the block lasts, whoever writes to it meanwhile."""
        if self.connection.in_transaction:
            yield
            return
        with self.speaking():
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("COMMIT")

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except self.errors as problem:
            raise translated(problem, self.path) from problem

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self.connection.close()


def table_exists(db: sqlite3.Connection, name: str) -> bool:
    """Whether a table or virtual table of that name is there."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (name,))
    return found.fetchone() is not None


def is_sqlite(path: Path) -> bool:
    """Whether the file begins like an SQLite database.

    SQLite itself looks: a process that opens a database past it and closes it again loses the locks
    its own connections hold there (POSIX), and another process then writes in between.
    """
    try:
        if path.stat().st_size < len(_MAGIC):
            return False
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except (OSError, *FAILURES) as problem:
        return "malformed" in _said(problem)
    return True


def in_memory() -> Database:
    """A private database in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=not _SHAREABLE)
    connection.execute("PRAGMA foreign_keys=ON")
    return Database(None, connection, writable=True)


def open_for_reading(path: Path) -> Database:
    """Open without leaving a trace: no byte of the file changes and no file stays beside it.

    A read-only SQLite connection to a WAL database leaves `-wal` and `-shm` files behind, an
    ordinary one with `query_only` removes them when it closes. But an ordinary connection would
    also check-point a WAL that another process left; if there is one, read-only is the right mode.
    """
    if not is_sqlite(path):
        raise ForeignStore(f"{path} is not an SQLite database.")
    wal = path.with_name(path.name + "-wal")
    mode = "ro" if wal.exists() else "rw"
    database = _connect(path, f"mode={mode}", writable=False)
    try:
        database.connection.execute("PRAGMA query_only=ON")
        database.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as problem:
        database.close()
        if "readonly" not in str(problem) and "unable to open" not in str(problem):
            raise translated(problem, path) from problem
        # Neither the file nor its folder may be written: then no one else here writes it either.
        return _connect(path, "immutable=1", writable=False)
    except FAILURES as problem:
        database.close()
        raise translated(problem, path) from problem
    return database


def open_for_writing(path: Path, *, create: bool = False, wal: bool = True) -> Database:
    """Open in WAL mode with foreign keys; commits are synchronised to disk.

    Args:
        path: The file.
        create: Create it if missing.
        wal: False leaves the journal mode of another program's file as it is.
    """
    database = _connect(path, "mode=rwc" if create else "mode=rw", writable=True)
    try:
        with database.speaking():
            if wal:
                database.connection.execute("PRAGMA journal_mode=WAL")
            database.connection.execute("PRAGMA synchronous=FULL")
    except EcholessError:
        database.close()
        raise
    return database


def _connect(path: Path, query: str, *, writable: bool) -> Database:
    uri = f"file:{quote(str(path.absolute()))}?{query}"
    try:
        connection = sqlite3.connect(
            uri,
            uri=True,
            isolation_level=None,
            timeout=BUSY_TIMEOUT_SECONDS,
            check_same_thread=not _SHAREABLE,
        )
    except FAILURES as problem:
        raise translated(problem, path) from problem
    try:
        connection.execute("PRAGMA foreign_keys=ON")
    except FAILURES as problem:
        connection.close()
        raise translated(problem, path) from problem
    return Database(path, connection, writable=writable)


def _said(problem: Exception) -> str:
    """The message of SQLite; where it quotes a damaged schema it may be no text."""
    if isinstance(problem, UnicodeDecodeError):
        return problem.object.decode("utf-8", "backslashreplace")
    return str(problem)


def translated(problem: Exception, path: Path | None) -> EcholessError:
    """The error of ours that says what an SQLite error means and what to do."""
    text = _said(problem)
    where = str(path) if path else "the database in memory"
    if "locked" in text or "busy" in text:
        return StoreLocked(
            f"{where} is locked by another process. Close the program that writes to it, or wait, "
            "and try again; nothing was changed."
        )
    if "readonly" in text or "read-only" in text or "query_only" in text:
        return StoreReadOnly(
            f"{where} may not be written. Check the permissions of the file and its folder; "
            "nothing was changed."
        )
    if "disk is full" in text or "disk I/O" in text:
        return StoreFull(
            f"No space is left for {where} ({text}). Free some space and try again; "
            "nothing was changed."
        )
    if "not a database" in text or "malformed" in text or "file is encrypted" in text:
        return ForeignStore(
            f"{where} is not a readable SQLite database ({text}). Restore it from a backup."
        )
    if "unable to open" in text:
        return StoreReadOnly(
            f"{where} cannot be opened ({text}). Check that its folder exists and may be written."
        )
    return StoreError(f"{where}: {text}. Nothing was changed.")
