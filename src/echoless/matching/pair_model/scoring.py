"""Scores pairs of texts: each once, the same in either order, remembered between runs."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Final, NamedTuple

from echoless.core.cache import CacheFile, pair_key, text_print
from echoless.core.model import Side
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.matching.pair_model.network import NOT_ASKED, PairNetwork, runtime

_FORM: Final = struct.Struct("<4f")
_AT_ONCE: Final = 64
"""Pairs scored before their scores are kept: what an interrupted run need not ask again."""

_OTHER: Final[dict[Side, Side]] = {"a": "b", "b": "a"}
_STEP: Final = 1024
"""Logits are rounded to whole parts of this: floats of another processor differ far below it."""


def probability(logit: float) -> float:
    """Returns the logistic function of a logit, 0 to 1; it is cut off at 60, so none overflows."""
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


class Scores(NamedTuple):
    """What the model says of two texts, as logits: 0 is even odds, above is yes.

    Attributes:
        a_holds_b: Whether a says all that b says.
        b_holds_a: Whether b says all that a says.
        conflict: Whether both cannot be true of one thing at one time.
        replaces: Whether the newer text makes the older one out of date; `NOT_ASKED` where it is
            not known which is newer, or the conflict is too low, or one may hold the other.
    """

    a_holds_b: float
    b_holds_a: float
    conflict: float
    replaces: float = NOT_ASKED

    @property
    def turned(self) -> Scores:
        """Returns the same with the sides exchanged."""
        return Scores(self.b_holds_a, self.a_holds_b, self.conflict, self.replaces)

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """Returns the first three as probabilities, 0 to 1."""
        ab, ba, conflict = map(probability, self[:3])
        return ab, ba, conflict


class AskedPair(NamedTuple):
    """A pair of texts, the one that sorts first in front, and which is newer if that is known."""

    a: str
    b: str
    newer: Side | None


class ScoreCache(CacheFile):
    """Scores by key of the pair, in one file of the user's cache folder. It holds no text."""

    name = "cache of pair scores"
    instead = "pairs were scored anew"
    table = "scores"
    most = 128 * 2**20


def open_scores() -> ScoreCache:
    """Returns the user's cache of scores. Touches nothing yet."""
    return ScoreCache(cache_folder() / "pair_scores.sqlite3")


class PairScorer:
    """Asks a network about pairs of texts, in one order of the two whichever way they come."""

    def __init__(
        self, open_network: Callable[[], PairNetwork], cache: ScoreCache | None = None
    ) -> None:
        """Takes how the network is opened and, if scores are to be remembered, where they lie.

        The network is opened when the first pair asks for it: a text that is known to the letter
        need not wait for its weights.
        """
        self._open = open_network
        self._cache = cache

    @cached_property
    def _network(self) -> PairNetwork:
        return self._open()

    @cached_property
    def basis(self) -> str:
        """Names all that the scores hang on but the texts and their order; part of every key."""
        return f"{self._network.manifest.digest} {runtime()}"

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        tally: Tally,
        *,
        newer: Sequence[Side | None] = (),
        threads: int = 1,
        keep: bool = True,
    ) -> list[Scores | None]:
        """Returns the scores of each pair; None where it is too long, or a score is no number.

        The result of a pair hangs on its two texts, their order in time and the model only: not on
        the other pairs, their order, the number of threads or the cache.

        Args:
            pairs: Of texts.
            tally: Takes what is wrong with the cache.
            newer: Which text of each pair is newer; by default it is not known of any.
            threads: Pairs scored at the same time.
            keep: Whether the scores are remembered, where there is a cache.

        Raises:
            DamagedPackage: The weights are not as they were shipped.
        """
        if not pairs:
            return []
        ordered = [
            AskedPair(a, b, side) if a <= b else AskedPair(b, a, side and _OTHER[side])
            for (a, b), side in zip(pairs, newer or [None] * len(pairs), strict=True)
        ]
        wanted = list(dict.fromkeys(ordered))
        prints = {text: text_print(text) for pair in wanted for text in (pair.a, pair.b)}
        keys = {
            pair: pair_key(prints[pair.a], prints[pair.b], f"{self.basis} {pair.newer}")
            for pair in wanted
        }
        known = {} if self._cache is None else self._cache.get([*keys.values()], tally)
        scored: dict[AskedPair, Scores | None] = {
            pair: Scores(*_FORM.unpack(known[key])) for pair, key in keys.items() if key in known
        }
        left = [pair for pair in wanted if pair not in scored]
        with ThreadPoolExecutor(max(1, threads)) as pool:
            for start in range(0, len(left), _AT_ONCE):
                some = left[start : start + _AT_ONCE]
                made = dict(zip(some, pool.map(self._scored, some), strict=True))
                scored |= made
                if keep and self._cache is not None:
                    entries = {keys[p]: _FORM.pack(*s) for p, s in made.items() if s is not None}
                    self._cache.put(entries, tally)
        return [
            scores.turned if scores is not None and a > b else scores
            for (a, b), scores in zip(pairs, (scored[pair] for pair in ordered), strict=True)
        ]

    def _scored(self, pair: AskedPair) -> Scores | None:
        a, b = self._network.tokens(pair.a), self._network.tokens(pair.b)
        if a is None or b is None or not self._network.fits(a, b):
            return None
        logits = self._network.logits(a, b, pair.newer)
        if not all(map(math.isfinite, logits)):
            return None
        return Scores(*(round(logit * _STEP) / _STEP for logit in logits))
