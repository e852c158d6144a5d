"""A file in the user's cache folder: a convenience, and it behaves like one.

Several processes may share it, a killed run resumes where its last batch ended, and a damaged,
locked or unwritable file costs time and a sentence in the report, nothing else.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from echoless.tally import Tally

FOLDER: Final = "ECHOLESS_CACHE_DIR"

_VERSION: Final = 1
_BUSY_MILLISECONDS: Final = 10_000

_STALE: Final = 7
"""Days after which an entry that is read is written down as used: most reads write nothing."""

FAILURES: Final = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What a cache may fail with; the last where a damaged schema is no text, and SQLite quotes it."""

AT_ONCE: Final = 500
"""Keys in one query; SQLite took 999 variables at most before 3.32. More at a time, a table of keys
or a JSON list of them to join with took as long: 6 microseconds a vector."""


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
            f"Delete the file, or set {FOLDER} to another folder.",
            passing=True,
        )


class AgingFile(CacheFile):
    """A cache file with an end to its growth: what was not asked for longest leaves first.

    Attributes:
        table: Its table, with the columns `key` and `used`: the day of its last use.
        things: What is kept in it, for a report.
        most: Bytes from which entries leave.
    """

    table: ClassVar[str]
    things: ClassVar[str]
    most: ClassVar[int]

    def __init__(self, path: Path, *, most_bytes: int | None = None) -> None:
        """Remember where; the file and its folder are made when something is first kept.

        Args:
            path: Of the file.
            most_bytes: Size from which entries leave; `most` by default.
        """
        super().__init__(path)
        self._most = self.most if most_bytes is None else most_bytes

    def _get(self, columns: str, keys: Sequence[bytes], tally: Tally) -> list[Any]:
        """Rows of key, day of use and some columns, of the keys that are there."""
        if self._resting or not keys:
            return []
        try:
            if not self._path.exists():
                return []
            with self._open() as connection:
                rows = list(self._select(connection, columns, keys))
                self._touch(connection, [row[0] for row in rows if row[1] < _today() - _STALE])
        except FAILURES as problem:
            self._rest(problem, tally)
            return []
        return rows

    def _put(self, columns: str, entries: Sequence[tuple[object, ...]], tally: Tally) -> None:
        """Keep rows of key and some columns. One transaction, kept when it returns."""
        if self._resting or not entries:
            return
        marks = ", ".join("?" * (len(entries[0]) + 1))
        query = f"INSERT OR REPLACE INTO {self.table} (used, key, {columns}) VALUES ({marks})"
        today = _today()
        try:
            with self._open() as connection, connection:
                if _size(connection) >= self._most and not self._make_room(connection, tally):
                    return
                connection.executemany(query, ((today, *entry) for entry in entries))
        except FAILURES as problem:
            self._rest(problem, tally)

    def _select(
        self, connection: sqlite3.Connection, columns: str, keys: Sequence[bytes]
    ) -> Iterator[Any]:
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from connection.execute(
                f"SELECT key, CAST(used AS INTEGER), {columns} FROM {self.table}"
                f" WHERE key IN ({marks})",
                some,
            )

    def _touch(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        if keys:
            with connection:
                connection.executemany(
                    f"UPDATE {self.table} SET used = ? WHERE key = ?",
                    [(_today(), key) for key in keys],
                )

    def _make_room(self, connection: sqlite3.Connection, tally: Tally) -> bool:
        """Let entries go, those used longest ago first; none of today."""
        query = f"SELECT used, COUNT(*) FROM {self.table} GROUP BY used ORDER BY used"
        days = connection.execute(query).fetchall()
        share = _size(connection) / max(1, sum(count for _, count in days))
        gone, last = 0, None
        for used, count in days:
            if used >= _today() or (_size(connection) - gone * share) < 0.75 * self._most:
                break
            gone, last = gone + count, used
        if last is None:
            self._resting = True
            tally.note(
                f"The {self.name} {self._path} is full; further {self.things} were not kept. "
                f"Delete the file to start it anew.",
                passing=True,
            )
            return False
        connection.execute(f"DELETE FROM {self.table} WHERE used <= ?", (last,))
        tally.note(
            f"{gone:,} {self.things} not asked for longest left the cache {self._path}.",
            passing=True,
        )
        return True

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with super()._open() as connection:
            # A loss of power may cost what was kept last, which is time and nothing else.
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection


class BytesFile(AgingFile):
    """A cache file of bytes by name.

    Attributes:
        column: Where in its table they lie.
    """

    column: ClassVar[str]

    def get(self, names: Sequence[bytes], tally: Tally) -> dict[bytes, bytes]:
        """What is known of these names.

        Args:
            names: Any number.
            tally: Takes a sentence if the cache cannot be used.
        """
        rows = self._get(self.column, names, tally)
        return {name: data for name, _, data in rows if isinstance(data, bytes)}

    def put(self, entries: Mapping[bytes, bytes], tally: Tally) -> None:
        """Keep bytes in place of what is there. One transaction, kept when it returns.

        Args:
            entries: By name.
            tally: Takes a sentence if the cache cannot be used, and if it is full.
        """
        self._put(self.column, list(entries.items()), tally)


def _today() -> int:
    return int(time.time() // 86_400)


def _size(connection: sqlite3.Connection) -> int:
    """Bytes in use: pages that are free will be written again."""
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
