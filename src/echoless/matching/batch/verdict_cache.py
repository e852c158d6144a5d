"""Keeps the verdicts of the rules: one SQLite file in the user's cache folder, no store's.

It behaves as the vector cache does (`models/encoders/vector_cache.py`): several processes may share
it, a killed run goes on where its last batch ended, and a damaged, locked or unwritable file costs
time and a sentence in the report, nothing else. It holds no text: entries are named by digests and
sealed (`core/content_encryption.py`). What was not asked for longest leaves first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from echoless.core.cache import AgingFile
from echoless.core.content_encryption import opened, pair_key, sealed, text_print
from echoless.core.model import Pair, Verdict
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.core.timestamps import instant
from echoless.matching.base import Repeatable
from echoless.matching.batch.serialisation import unpacked

FILE_NAME: Final = "verdicts.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave: some three million verdicts."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS verdicts (
    key BLOB NOT NULL,
    used INTEGER NOT NULL,
    sealed BLOB NOT NULL
)
"""
# A table of its own order with an index: rows of one run lie together, and so do their reads.
_INDEX: Final = "CREATE UNIQUE INDEX IF NOT EXISTS verdicts_by_key ON verdicts (key)"


def open_verdicts(enabled: bool = True) -> VerdictCache | None:
    """Returns the user's cache of verdicts, or None if it is switched off. Touches nothing yet."""
    return VerdictCache(cache_folder() / FILE_NAME) if enabled else None


class VerdictCache(AgingFile):
    """Sealed verdicts by key of the pair, in one file."""

    version = 3  # up to 2 entries were sealed with another cipher
    schema = (_SCHEMA, _INDEX)
    name = "verdict cache"
    instead = "pairs were judged anew"
    table = "verdicts"
    things = "verdicts"
    most = MOST_BYTES

    def get(self, keys: Sequence[bytes], tally: Tally) -> Mapping[bytes, bytes]:
        """Returns what is known of these keys.

        Args:
            keys: Of pairs.
            tally: Takes a sentence if the cache cannot be used.
        """
        rows = self._get("sealed", keys, tally)
        return {key: data if isinstance(data, bytes) else b"" for key, _, data in rows}

    def put(self, verdicts: Mapping[bytes, bytes], tally: Tally) -> None:
        """Keeps sealed verdicts in place of what is there; one transaction, kept when it returns.

        Args:
            verdicts: By key.
            tally: Takes a sentence if the cache cannot be used, and if it is full.
        """
        self._put("sealed", list(verdicts.items()), tally)


class CachedVerdicts:
    """What one judge said before, and says now.

    Attributes:
        used: Whether it was asked for any.
        remembered: Verdicts taken over so far.
    """

    def __init__(self, judge: Repeatable, cache: VerdictCache, tally: Tally) -> None:
        """Puts the pieces together; nothing is read yet.

        Args:
            judge: Whose verdicts they are.
            cache: Where they lie.
            tally: Told if the cache cannot be used.
        """
        self._basis = judge.basis
        self._cache = cache
        self._tally = tally
        self.used = False
        self.remembered = 0

    def recall(self, pairs: Sequence[Pair]) -> list[Verdict | None]:
        """Returns verdicts given before, with what was measured now; None where there is none."""
        self.used = True
        named = list(self._named(pairs))
        known = self._cache.get([key for key, _, _ in named], self._tally)
        found: list[Verdict | None] = []
        damaged = 0
        for pair, (key, a, b) in zip(pairs, named, strict=True):
            verdict = None
            if key in known:
                data = opened(known[key], key, a, b)
                verdict = None if data is None else unpacked(data, *pair.best)
                damaged += verdict is None
            found.append(verdict)
        self._cache.damaged(damaged, self._tally)
        self.remembered += sum(verdict is not None for verdict in found)
        return found

    def keep(self, pairs: Sequence[Pair], data: Sequence[bytes]) -> None:
        """Keeps what was judged; on the disk when it returns.

        Args:
            pairs: As judged.
            data: The verdict on each, as `packed` makes it.
        """
        named = zip(self._named(pairs), data, strict=True)
        self._cache.put({key: sealed(told, key, a, b) for (key, a, b), told in named}, self._tally)

    def _named(self, pairs: Sequence[Pair]) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yields the key of each pair, and the prints of its texts."""
        prints: dict[str, bytes] = {}
        for pair in pairs:
            for text in (pair.a.content, pair.b.content):
                if text not in prints:
                    prints[text] = text_print(text)
            a, b = prints[pair.a.content], prints[pair.b.content]
            times = (str(instant(memory.created_at)) for memory in (pair.a, pair.b))
            yield pair_key(a, b, self._basis, *times), a, b
