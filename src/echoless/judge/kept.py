"""Verdicts once given are kept: one SQLite file in the user's cache folder, never beside a store.

It behaves as the vector cache does (`vectors/cache.py`): several processes may share it, a killed
run goes on where its last batch ended, and a damaged, locked or unwritable file costs time and a
sentence in the report, nothing else. It holds no text: entries are named by digests and sealed
(`packing.py`). What was not asked for longest leaves first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from echoless.core.own_folders import cache_folder
from echoless.tally import Tally
from echoless.vectors.cache_file import AgingFile

FILE_NAME: Final = "verdicts.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave: some three million verdicts."""

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


class VerdictCache(AgingFile):
    """Verdicts by key of the pair, in one file."""

    schema = (_SCHEMA, _INDEX)
    name = "verdict cache"
    instead = "pairs were judged anew"
    table = "verdicts"
    things = "verdicts"
    most = MOST_BYTES

    def get(self, keys: Sequence[bytes], tally: Tally) -> Mapping[bytes, Kept]:
        """What is known of these keys.

        Args:
            keys: Of pairs.
            tally: Takes a sentence if the cache cannot be used.
        """
        rows = self._get("cosine, sealed", keys, tally)
        return {
            key: Kept(cosine, data if isinstance(data, bytes) else b"")
            for key, _, cosine, data in rows
        }

    def put(self, verdicts: Mapping[bytes, Kept], tally: Tally) -> None:
        """Keep verdicts in place of what is there. One transaction, kept when it returns.

        Args:
            verdicts: By key.
            tally: Takes a sentence if the cache cannot be used, and if it is full.
        """
        self._put("cosine, sealed", [(key, *kept) for key, kept in verdicts.items()], tally)
