"""Connection with the extension sqlite-vec, so that it can write vectors.

Reading needs none. Many interpreters are built with an `sqlite3` that cannot load extensions; then
`apsw` carries an SQLite that can. It is kept up to date with SQLite itself and has wheels for every
system, which cannot be said of the other candidate, `pysqlite3-binary`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from echoless.core.errors import MissingExtra
from echoless.core.optional import lazy_module
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS, Database, translated

if TYPE_CHECKING:
    import apsw
    import sqlite_vec
else:  # optional
    apsw, sqlite_vec = lazy_module("apsw"), lazy_module("sqlite_vec")

EXTRA: Final = "llm-memory"
CANNOT: Final = "merging needs a SQLite connection that can load sqlite-vec"


class CannotLoad(MissingExtra):
    """Error: no connection of this interpreter can load sqlite-vec, so nothing can be written."""

    def __init__(self) -> None:
        super().__init__(f"{CANNOT}; llm-memory", EXTRA)


def can_write() -> bool:
    """Returns whether such a connection could be made; nothing is opened."""
    return find_spec("sqlite_vec") is not None and _opener() is not None


def _opener() -> Callable[[Path, bool], Database] | None:
    """Returns the function that opens with the library that is here, or None."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return _standard
    return _apsw if find_spec("apsw") is not None else None


def open_with_vectors(path: Path, *, create: bool = False) -> Database:
    """Opens a file for writing, with foreign keys on and sqlite-vec loaded.

    The journal mode stays as its owner set it.

    Raises:
        CannotLoad: Nothing here can load it.
        StoreError: The file cannot be opened.
    """
    opener = _opener()
    if opener is None or find_spec("sqlite_vec") is None:
        raise CannotLoad
    return opener(path, create)


def _standard(path: Path, create: bool) -> Database:
    """Opens with the `sqlite3` of the interpreter."""
    uri = f"file:{quote(str(path.absolute()))}?mode={'rwc' if create else 'rw'}"
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS)
        db.enable_load_extension(True)
        sqlite_vec.load(db)
        db.enable_load_extension(False)
        db.execute("PRAGMA foreign_keys=ON")
    except sqlite3.Error as problem:
        raise translated(problem, path) from problem
    return Database(path, db, writable=True)


def _apsw(path: Path, create: bool) -> Database:
    """Opens with apsw."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        # It has those methods of `sqlite3.Connection` that are used here: execute, executemany,
        # fetchone, fetchall, in_transaction, close.
        db: Any = apsw.Connection(str(path), flags=flags)
        db.set_busy_timeout(int(BUSY_TIMEOUT_SECONDS * 1000))
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.execute("PRAGMA foreign_keys=ON")
    except apsw.Error as problem:
        raise translated(problem, path) from problem
    return Database(path, db, writable=True, errors=(apsw.Error,))
