"""Cache files in the user's cache folder: SQLite files whose content can be made again.

Several processes may share a file, and a killed run resumes after its last batch. A problem with
the file costs time and a sentence in the report, nothing else: a damaged file is made anew in the
same run, a foreign file in its place is renamed, and a file that others own, or that cannot be
written, is not used.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar
from zlib import crc32

from echoless.core.batches import batched
from echoless.core.own_folders import (
    CACHE,
    InTheWay,
    NotPrivate,
    cache_folder,
    insist_on_own,
    insist_on_own_file,
    make_own,
    set_aside,
    without,
)
from echoless.core.run_notes import Tally

_APPLICATION: Final = 0x65636873
"""`PRAGMA application_id` of a cache file: the letters echs. Only such a file is ever deleted."""

_BUSY_MILLISECONDS: Final = 10_000

_FAILURES: Final = (sqlite3.Error, OSError, ValueError, TypeError, OverflowError, MemoryError)
"""What reading a damaged file may fail with: SQLite takes a damaged length for a large one, and
quotes a damaged schema, which is no text."""

_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""Codes of SQLite that tell nothing about what the file holds (https://sqlite.org/rescode.html)."""

QUOTING: Final = "answers.sqlite3"
"""The cache that quotes words of memories: answers of audits."""

_MARKS: Final = (
    "SELECT v.user_version, a.application_id, (SELECT COUNT(*) FROM sqlite_master)"
    " FROM pragma_user_version v, pragma_application_id a"
)
"""Version, application and number of tables of a file, all of one moment: another process may be
making the tables just now."""

_CHECK: Final = 4

_AT_ONCE: Final = 500
"""Keys in one query; SQLite took 999 variables at most before 3.32. More at a time, a table of keys
or a JSON list of them to join with took as long: 6 microseconds a vector."""

Answer = TypeVar("Answer")


class _Damaged(Exception):
    """Error for a file that is no cache of this kind."""


def text_print(text: str) -> bytes:
    """Returns 32 bytes that name a text."""
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()[:32]


def pair_key(a: bytes, b: bytes, *others: str) -> bytes:
    """Returns 16 bytes that name a pair of texts, from their prints and other names."""
    rest = "\0".join(others).encode("utf-8", "surrogatepass")
    return blake2b(a + b + rest, digest_size=16).digest()


def _checked(key: bytes, data: bytes) -> bytes:
    """Returns data with a checksum that detects damage and entries under another key."""
    return crc32(data, crc32(key)).to_bytes(_CHECK, "little") + data


def _unchecked(key: bytes, data: object) -> bytes | None:
    """Returns the data that `_checked` was given; None if damaged or of another key."""
    if not isinstance(data, bytes):
        return None
    body = data[_CHECK:]
    return body if crc32(body, crc32(key)).to_bytes(_CHECK, "little") == data[:_CHECK] else None


class CacheFile:
    """An SQLite file of bytes by key, of limited size: a full one is begun anew.

    Each entry has a checksum. A connection lives for one call, so threads and forked workers may
    share the object. After a failure that a new file does not mend, it no longer uses the cache.

    Attributes:
        version: Number of its format; a file of an earlier one is begun anew.
        table: Name of its table.
        most: Bytes from which it is full.
        name: What it is called in a report.
        instead: What was done without it.
        path: Of the file, which may not exist yet.
    """

    version: ClassVar[int] = 6
    table: ClassVar[str]
    most: ClassVar[int]
    name: ClassVar[str]
    instead: ClassVar[str]

    def __init__(self, path: Path) -> None:
        """Keeps the path; file and folder are made when something is first written."""
        self.path = path
        self._resting = False

    def get(self, keys: Sequence[bytes], tally: Tally) -> dict[bytes, bytes]:
        """Returns the entries that are known; damaged ones are counted and the file begun anew.

        Args:
            keys: Any number.
            tally: Takes a sentence if the cache cannot be used.
        """

        def read(connection: sqlite3.Connection) -> list[Any]:
            rows: list[Any] = []
            for some in batched(keys, _AT_ONCE):
                query = f"SELECT key, data FROM {self.table} WHERE key IN "
                rows += connection.execute(f"{query} ({','.join('?' * len(some))})", some)
            return rows

        rows = self._use(read, tally, make=False) or [] if keys else []
        whole = ((key, _unchecked(key, data)) for key, data in rows)
        entries = {key: data for key, data in whole if data is not None}
        self._damaged(len(rows) - len(entries), tally)
        return entries

    def put(self, entries: Mapping[bytes, bytes], tally: Tally) -> None:
        """Writes entries in one transaction; an entry replaces an earlier one of the same key.

        Args:
            entries: By key.
            tally: Takes a sentence if the cache cannot be used, and if it was full.
        """
        if not entries:
            return
        query = f"INSERT OR REPLACE INTO {self.table} (key, data) VALUES (?, ?)"

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                if _size(connection) >= self.most:
                    connection.execute(f"DELETE FROM {self.table}")
                    said = f"The {self.name} {self.path} was full and was begun anew."
                    tally.note(said, passing=True)
                rows = ((key, _checked(key, data)) for key, data in entries.items())
                connection.executemany(query, rows)

        self._use(write, tally, make=True)

    def _damaged(self, count: int, tally: Tally) -> None:
        """Starts a new file if entries of the old one are damaged.

        SQLite compares no checksums, so other damage in such a file would stay unknown.
        """
        if count:
            problem = _Damaged(f"{count:,} entries are damaged")
            if not self._renew(problem, tally):
                self._rest(problem, tally)

    def _use(
        self,
        work: Callable[[sqlite3.Connection], Answer],
        tally: Tally,
        *,
        make: bool,
    ) -> Answer | None:
        """Runs work on the file, and once more on a new file if the old one is damaged.

        Args:
            work: Takes a connection; called again if the file had to be made anew.
            tally: Takes a sentence if the cache cannot be used as it was.
            make: Whether a file that is not there is made.

        Returns:
            What `work` returned; None if there is no file, or none that can be used.
        """
        for mending in (True, False):
            if self._resting:
                break
            try:
                if not self._is_usable(make=make):
                    return None
                with self._open() as connection:
                    return work(connection)
            except (_Damaged, InTheWay, *_FAILURES) as problem:
                if not (mending and _is_damage(problem) and self._renew(problem, tally)):
                    self._rest(problem, tally)
        return None

    def _is_usable(self, *, make: bool) -> bool:
        """Returns whether there is a file of this user's own; makes it where `make` says so."""
        try:
            if make:
                make_own(self.path.parent)
            else:
                insist_on_own(self.path.parent)
        except FileNotFoundError:
            return False
        exists = insist_on_own_file(self.path)
        for suffix in ("-wal", "-shm", "-journal"):
            insist_on_own_file(Path(f"{self.path}{suffix}"))
        if make and not exists:
            # what is kept tells something of the texts it is about
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        return exists or make

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            if not self._is_prepared(connection):
                self._create_tables(connection)
            # A loss of power may cost what was kept last, which is time and nothing else.
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        with suppress(sqlite3.OperationalError):  # another process may be doing just that
            connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if self._is_prepared(connection):  # another process was faster
                return
            columns = "key BLOB PRIMARY KEY, data BLOB NOT NULL"
            connection.execute(f"CREATE TABLE IF NOT EXISTS {self.table} ({columns})")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {self.version}")

    def _is_prepared(self, connection: sqlite3.Connection) -> bool:
        """Returns whether the file has the tables of the cache; False for an empty file.

        Raises:
            _Damaged: It is another program's, or of another edition.
        """
        version, application, tables = connection.execute(_MARKS).fetchone()
        if application == _APPLICATION:
            if version != self.version:
                raise _Damaged(f"it is of version {version}")
            return True
        if version or application or tables:
            raise _Damaged("it is another program's database")
        return False

    def _renew(self, problem: Exception, tally: Tally) -> bool:
        """Removes or renames a file that is no cache, and returns whether that was possible."""
        aside = []
        try:
            # The log goes first: in a new file SQLite would take it for that file's own.
            for suffix in ("-wal", "-shm", "-journal", ""):
                path = Path(f"{self.path}{suffix}")
                if not os.path.lexists(path):
                    continue
                if self._is_ours() and not path.is_dir():
                    path.unlink()
                else:
                    aside.append(set_aside(path))
        except OSError:
            return False
        moved = f" What lay there is now {aside[-1]}." if aside else ""
        tally.note(
            f"The {self.name} {self.path} could not be read ({problem}) and was begun anew; "
            f"{self.instead}.{moved}",
            passing=True,
        )
        return True

    def _is_ours(self) -> bool:
        """Returns whether the header of the file says that echoless wrote it as a cache.

        Offset: https://sqlite.org/fileformat2.html#the_database_header.
        """
        with suppress(OSError), self.path.open("rb") as file:
            head = file.read(72)
            ours = head[68:] == _APPLICATION.to_bytes(4, "big")
            return head.startswith(b"SQLite format 3\0") and ours
        return False

    def remove(self) -> None:
        """Deletes the cache file and its log, if echoless wrote the file."""
        with suppress(FileNotFoundError, NotPrivate, InTheWay):
            insist_on_own(self.path.parent)
            for suffix in ("-wal", "-shm", "-journal", "") if self._is_ours() else ():
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _rest(self, problem: Exception, tally: Tally) -> None:
        self._resting = True
        if isinstance(problem, NotPrivate):
            tally.note(without(problem), passing=True)
            return
        tally.note(
            f"The {self.name} {self.path} was not used ({problem}); {self.instead}. "
            f"Delete the file, or set {CACHE} to another folder.",
            passing=True,
        )


def _is_damage(problem: Exception) -> bool:
    """Returns whether the content of the file is the cause, so that a new file helps."""
    if isinstance(problem, sqlite3.Error):
        code = getattr(problem, "sqlite_errorcode", None)
        short = code == sqlite3.SQLITE_IOERR_SHORT_READ
        return short or (code is not None and code & 0xFF not in _PASSING)
    return isinstance(problem, InTheWay) or not isinstance(problem, OSError)


def remove_quoting_cache() -> None:
    """Deletes the cache that quotes words of memories: nothing of a purged one may stay there."""
    CacheFile(cache_folder() / QUOTING).remove()


def remove_caches() -> None:
    """Deletes all caches of this user: they hold vectors, digests and words of memories."""
    folder = cache_folder()
    for path in folder.glob("*.sqlite3"):
        CacheFile(path).remove()
    with suppress(FileNotFoundError, NotPrivate):
        insist_on_own(folder)
        for path in (folder / "door").glob("*.index"):
            path.unlink(missing_ok=True)


def _size(connection: sqlite3.Connection) -> int:
    """Returns the bytes in use, without free pages, which are written again."""
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
