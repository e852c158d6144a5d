"""Keeps the verdicts of the rules: one SQLite file in the user's cache folder, no store's.

It behaves as the vector cache does (`models/encoders/vector_cache.py`): several processes may share
it, a killed run goes on where its last batch ended, and a damaged, locked or unwritable file costs
time and a sentence in the report, nothing else. Entries are named by digests of the texts and quote
words of them: others cannot read the file, and `purge` deletes it. What was not asked for longest
leaves first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from echoless.core.cache import QUOTING, EntryFile, pair_key, text_print
from echoless.core.model import Pair, Verdict
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.core.timestamps import instant
from echoless.matching.base import Repeatable
from echoless.matching.batch.serialisation import packed, unpacked_all

FILE_NAME: Final = QUOTING[0]

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave: some three million verdicts."""


def open_verdicts(enabled: bool = True) -> VerdictCache | None:
    """Returns the user's cache of verdicts, or None if it is switched off. Touches nothing yet."""
    return VerdictCache(cache_folder() / FILE_NAME) if enabled else None


class VerdictCache(EntryFile):
    """Verdicts by key of the pair, in one file."""

    name = "verdict cache"
    instead = "pairs were judged anew"
    table = "verdicts"
    things = "verdicts"
    most = MOST_BYTES


class CachedVerdicts:
    """Verdicts of one judge, read from the cache and written to it.

    Attributes:
        used: Whether any verdict was looked up.
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
        keys = list(self._keys(pairs))
        known = self._cache.get(keys, self._tally)
        places = [at for at, key in enumerate(keys) if key in known]
        read = unpacked_all([known[keys[at]] for at in places], (pairs[at] for at in places))
        verdicts: list[Verdict | None] = [None] * len(pairs)
        for at, verdict in zip(places, read, strict=True):
            verdicts[at] = verdict
        self._cache.damaged(read.count(None), self._tally)
        self.remembered += sum(verdict is not None for verdict in verdicts)
        return verdicts

    def keep(self, pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> None:
        """Keeps what was judged; on the disk when it returns.

        Args:
            pairs: As judged.
            verdicts: On each.
        """
        self._cache.put(
            dict(zip(self._keys(pairs), map(packed, verdicts), strict=True)), self._tally
        )

    def _keys(self, pairs: Sequence[Pair]) -> Iterator[bytes]:
        """Yields the key of each pair."""
        prints: dict[str, bytes] = {}
        for pair in pairs:
            for text in (pair.a.content, pair.b.content):
                if text not in prints:
                    prints[text] = text_print(text)
            a, b = prints[pair.a.content], prints[pair.b.content]
            times = (str(instant(memory.created_at)) for memory in (pair.a, pair.b))
            yield pair_key(a, b, self._basis, *times)
