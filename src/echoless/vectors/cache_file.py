"""A file in the user's cache folder: a convenience, and it behaves like one.

Several processes may share it, a killed run resumes where its last batch ended, and a damaged,
locked or unwritable file costs time and a sentence in the report, nothing else.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final

from echoless.tally import Tally

FOLDER: Final = "ECHOLESS_CACHE_DIR"

_VERSION: Final = 1
_BUSY_MILLISECONDS: Final = 10_000


def cache_folder() -> Path:
    """`ECHOLESS_CACHE_DIR` if set, else the user's cache folder for echoless."""
    chosen = os.environ.get(FOLDER, "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir  # noqa: PLC0415 - only where no folder is named

    return Path(user_cache_dir("echoless", appauthor=False))


class CacheFile:
    """One SQLite file of things that can be made again.

    A connection lives for one call, so threads and forked workers may share the object. After the
    first failure the cache rests for as long as the object lives.

    Attributes:
        schema: Statements that make its tables.
        name: What it is called in a report.
        instead: What was done without it.
    """

    schema: ClassVar[tuple[str, ...]]
    name: ClassVar[str]
    instead: ClassVar[str]

    def __init__(self, path: Path) -> None:
        """Remember where; the file and its folder are made when something is first kept."""
        self._path = path
        self._resting = False

    @property
    def path(self) -> Path:
        """Where the file is or will be."""
        return self._path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # what is kept tells something of the texts it is about
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            self._prepare(connection)
            yield connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == _VERSION:
            return
        if version != 0:
            raise sqlite3.DatabaseError(f"it was written by another version ({version})")
        with suppress(sqlite3.OperationalError):  # another process may be doing just that
            connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in self.schema:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")

    def _rest(self, problem: Exception, tally: Tally) -> None:
        self._resting = True
        tally.note(
            f"The {self.name} {self._path} was not used ({problem}); {self.instead}. "
            f"Delete the file, or set {FOLDER} to another folder."
        )
