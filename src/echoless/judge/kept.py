"""Verdicts once given are kept: one SQLite file in the user's cache folder, never beside a store.

It behaves as the vector cache does (`vectors/cache.py`): several processes may share it, a killed
run goes on where its last batch ended, and a damaged, locked or unwritable file costs time and a
sentence in the report, nothing else. It holds no text: entries are named by digests and sealed
(`packing.py`). What was not asked for longest leaves first.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from echoless.tally import Tally
from echoless.vectors.cache_file import CacheFile, cache_folder

FILE_NAME: Final = "verdicts.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave: some three million verdicts."""

_AT_ONCE: Final = 500
"""Keys in one query; SQLite took 999 variables at most before 3.32."""

_STALE: Final = 7
"""Days after which an entry that is read is written down as used: most reads write nothing."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS verdicts (
    key BLOB NOT NULL,
    cosine REAL,
    used INTEGER NOT NULL,
    sealed BLOB NOT NULL
)
"""
# A table of its own order with an index: rows of one run lie together, and so do their reads.
_INDEX: Final = "CREATE UNIQUE INDEX IF NOT EXISTS verdicts_by_key ON verdicts (key)"


class Kept(NamedTuple):
    """A verdict that is kept.

    Attributes:
        cosine: Of the texts as a detector measured it, if the verdict depends on it; else None.
        sealed: The verdict, see `packing.py`.
    """

    cosine: float | None
    sealed: bytes


def open_verdicts(enabled: bool = True) -> VerdictCache | None:
    """The user's cache of verdicts, or None if it is switched off. Touches nothing yet."""
    return VerdictCache(cache_folder() / FILE_NAME) if enabled else None


class VerdictCache(CacheFile):
    """Verdicts by key of the pair, in one file."""

    schema = (_SCHEMA, _INDEX)
    name = "verdict cache"
    instead = "pairs were judged anew"

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Remember where; the file and its folder are made by the first `put`.

        Args:
            path: Of the file.
            most_bytes: Size from which entries leave.
        """
        super().__init__(path)
        self._most = most_bytes

    def get(self, keys: Sequence[bytes], tally: Tally) -> Mapping[bytes, Kept]:
        """What is known of these keys.

        Args:
            keys: Of pairs.
            tally: Takes a sentence if the cache cannot be used.
        """
        if self._resting or not keys:
            return {}
        try:
            if not self._path.exists():
                return {}
            with self._open() as connection:
                rows = list(_select(connection, keys))
                _touch(connection, [key for key, _, used, _ in rows if used < _today() - _STALE])
        except (sqlite3.Error, OSError) as problem:
            self._rest(problem, tally)
            return {}
        return {key: Kept(cosine, data) for key, cosine, _, data in rows if isinstance(data, bytes)}

    def put(self, verdicts: Mapping[bytes, Kept], tally: Tally) -> None:
        """Keep verdicts in place of what is there. One transaction, kept when it returns.

        Args:
            verdicts: By key.
            tally: Takes a sentence if the cache cannot be used, and if it is full.
        """
        if self._resting or not verdicts:
            return
        today = _today()
        entries = [(key, kept.cosine, today, kept.sealed) for key, kept in verdicts.items()]
        try:
            with self._open() as connection, connection:
                if _size(connection) >= self._most and not self._make_room(connection, tally):
                    return
                connection.executemany(
                    "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)", entries
                )
        except (sqlite3.Error, OSError) as problem:
            self._rest(problem, tally)

    def _make_room(self, connection: sqlite3.Connection, tally: Tally) -> bool:
        """Let entries go, those used longest ago first; none of today."""
        query = "SELECT used, COUNT(*) FROM verdicts GROUP BY used ORDER BY used"
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
                f"The verdict cache {self._path} is full; further verdicts were not kept. "
                f"Delete the file to start it anew."
            )
            return False
        connection.execute("DELETE FROM verdicts WHERE used <= ?", (last,))
        tally.note(f"{gone:,} verdicts not asked for longest left the cache {self._path}.")
        return True

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with super()._open() as connection:
            # A loss of power may cost the last verdicts, which is time and nothing else.
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection


def _today() -> int:
    return int(time.time() // 86_400)


def _size(connection: sqlite3.Connection) -> int:
    """Bytes in use: pages that are free will be written again."""
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _select(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> Iterator[tuple[bytes, float | None, int, object]]:
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        query = (
            "SELECT key, cosine, CAST(used AS INTEGER), sealed FROM verdicts "
            f"WHERE key IN ({marks})"
        )
        yield from connection.execute(query, some)


def _touch(connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    if keys:
        with connection:
            connection.executemany(
                "UPDATE verdicts SET used = ? WHERE key = ?", [(_today(), key) for key in keys]
            )
