"""Verdicts of earlier runs, for a judge that would give them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from echoless.judge.base import Repeatable
from echoless.judge.kept import Kept, VerdictCache
from echoless.judge.packing import unpacked
from echoless.model import Pair, Verdict
from echoless.sealing import opened, pair_key, sealed, text_print
from echoless.tally import Tally
from echoless.times import instant


class KeptVerdicts:
    """What one judge said before, and says now.

    Attributes:
        used: Whether it was asked for any.
        remembered: Verdicts taken over so far.
    """

    def __init__(self, judge: Repeatable, cache: VerdictCache, tally: Tally) -> None:
        """Put the pieces together; nothing is read yet.

        Args:
            judge: Whose verdicts they are.
            cache: Where they lie.
            tally: Told if the cache cannot be used.
        """
        self._basis = judge.basis
        self._cache = cache
        self._tally = tally
        self._damaged = 0
        self.used = False
        self.remembered = 0

    def recall(self, pairs: Sequence[Pair]) -> list[Verdict | None]:
        """Verdicts given before, with what was measured now; None where there is none."""
        self.used = True
        named = list(self._named(pairs))
        known = self._cache.get([key for key, _, _ in named], self._tally)
        found = [
            self._read(pair, known[key], key, a, b) if key in known else None
            for pair, (key, a, b) in zip(pairs, named, strict=True)
        ]
        self._cache.damaged(self._damaged, self._tally)
        self._damaged = 0
        self.remembered += sum(verdict is not None for verdict in found)
        return found

    def keep(
        self,
        pairs: Sequence[Pair],
        data: Sequence[bytes],
        consulted: Sequence[float | None],
    ) -> None:
        """Keep what was judged; on the disk when it returns.

        Args:
            pairs: As judged.
            data: The verdict on each, as `packed` makes it.
            consulted: Of each, see `Repeatable`.
        """
        entries = {
            key: Kept(cosine, sealed(told, _nonce(key, cosine), a, b))
            for (key, a, b), told, cosine in zip(self._named(pairs), data, consulted, strict=True)
        }
        self._cache.put(entries, self._tally)

    def _read(self, pair: Pair, kept: Kept, key: bytes, a: bytes, b: bytes) -> Verdict | None:
        if kept.cosine is not None and kept.cosine != pair.signals.get("semantic", 0.0):
            return None
        data = opened(kept.sealed, _nonce(key, kept.cosine), a, b)
        verdict = None if data is None else unpacked(data, *pair.best)
        self._damaged += verdict is None
        return verdict

    def _named(self, pairs: Sequence[Pair]) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Key of each pair, and the prints of its texts."""
        prints: dict[str, bytes] = {}
        for pair in pairs:
            for text in (pair.a.content, pair.b.content):
                if text not in prints:
                    prints[text] = text_print(text)
            a, b = prints[pair.a.content], prints[pair.b.content]
            times = (str(instant(memory.created_at)) for memory in (pair.a, pair.b))
            yield pair_key(a, b, self._basis, *times), a, b


def _nonce(key: bytes, cosine: float | None) -> bytes:
    """What is sealed once: the verdict of a pair at the cosine it was judged at."""
    return key if cosine is None else key + repr(cosine).encode()
