"""Sequence: the classic `difflib` ratio, made fast by a bound that cannot lose a pair."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from echoless.compiled import workers
from echoless.detect.base import Card, DetectorOptions, Proposed
from echoless.detect.classes import by_id
from echoless.detect.gate import Gate, flag_setting, gate_for, refuse_unknown
from echoless.detect.partners import Pairs, Partners, proposed
from echoless.model import Candidate, Memory, candidate
from echoless.tally import Tally
from echoless.text import is_blank

try:
    from cydifflib import SequenceMatcher

    COMPILED = True
except ImportError:  # no wheel for this platform
    from difflib import SequenceMatcher

    COMPILED = False

__all__ = ["SequenceDetector", "ratio"]

NAME: Final = "sequence"
DEFAULT_THRESHOLD: Final = 0.75

SLACK: Final = 1e-9
"""Float64 rounding of the screen: a bound this little below the threshold is still computed."""

CUTOFF_SLACK: Final = 1e-4
"""What rapidfuzz is told to cut off lies this far below the threshold. Its scores are exact, but
3.14 rounds the cutoff to float32: of pairs exactly at it, or 1e-8 above it, many come back as 0
(measured; none from 5e-8 on)."""

BLOCK_ROWS: Final = 256
BLOCK_COLUMNS: Final = 1024
BLOCK_CELLS: Final = 1 << 20
"""Cells of one screening block: 8 MiB of float64."""

THREADED_FROM: Final = 1_000
"""Texts from which on the screen uses all cores there are."""


def ratio(a: str, b: str) -> float:
    """The larger of the two directions of `SequenceMatcher(autojunk=False).ratio()`.

    `SequenceMatcher` is not symmetric: `dbcba` and `bcdba` give 0.6 one way and 0.8 the other.

    Returns:
        0 to 1; 1.0 for equal texts.
    """
    return 1.0 if a == b else max(_one_way(a, b), _one_way(b, a))


def _one_way(a: str, b: str) -> float:
    return float(SequenceMatcher(None, a, b, autojunk=False).ratio())


def _ratio_below(a: str, b: str, bound: float) -> float:
    """`ratio`, given an upper bound of it.

    Ratios of one pair are whole multiples of 2 / (len(a) + len(b)); a direction less than one step
    below the bound has reached it, and the other need not be computed.
    """
    first = _one_way(a, b)
    if (bound - first) * (len(a) + len(b)) < 1.0:
        return first
    return max(first, _one_way(b, a))


class SequenceDetector:
    """Proposes memories whose raw contents have a high `difflib` ratio (see `ratio`).

    Contents are compared as they are: case and white space count. The default threshold 0.75 is
    the usual one of programs built on `difflib`; inclusive unless the options say otherwise.

    Screen: matching blocks form a common subsequence, so the Indel similarity (twice the longest
    common subsequence over both lengths) is an upper bound of either direction, and
    `2 * min / (len(a) + len(b))` an upper bound of that. Only pairs a bound cannot rule out are
    computed. The setting `screen: false` computes all pairs; the answers are the same.
    """

    name = NAME
    steady = True
    card = Card(
        finds="small edits: typos, punctuation, an added or a changed word",
        misses="other word order, paraphrases, short texts inside long ones",
        cost="n^2 / 2 bit-parallel comparisons of texts of similar length, in blocks of 8 MiB",
        threshold=DEFAULT_THRESHOLD,
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options, "screen")
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._pulse = options.pulse
        self._screen = flag_setting(NAME, options, "screen", default=True)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs whose ratio passes the threshold; empty texts are no candidates."""
        told = []
        for memory in by_id(memories):
            if is_blank(memory.content):
                tally.skip("empty", memory.id)
            else:
                told.append(memory)
        _tell(tally, told)
        yield from self._screened(told) if self._screen else self._plain(told)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Propose pairs as arrays, see `echoless.detect.base.BulkDetector`.

        Where only some partners are wanted, they are the closest, ratios of `DENSE` and more
        counting as equal, then the better survivors: so no ratio need be computed of a pair that
        could not be among them.
        """
        told = []
        for place, memory in enumerate(memories):
            if is_blank(memory.content):
                tally.skip("empty", memory.id)
            else:
                told.append((place, memory.content))
        _tell(tally, told)
        found = self._kept(told, most)
        yield from proposed([found], np.arange(len(memories)), NAME, tally, most)

    def _kept(self, told: Sequence[tuple[int, str]], most: int | None) -> Pairs:
        """Pairs of positions."""
        kept = Partners(most)
        if most is None:
            told = sorted(told, key=lambda each: (len(each[1]), each[0]))
        places = [place for place, _ in told]
        texts = [text for _, text in told]
        for row, column, bound in self._bounded(texts, places, kept):
            one, other = sorted((places[row], places[column]))
            if kept.wants(one, other, bound):
                self._pulse()
                similarity = _ratio_below(texts[row], texts[column], bound)
                if self._gate.passes(similarity):
                    kept.add(one, other, similarity)
        return kept.pairs()

    def _bounded(
        self, texts: Sequence[str], places: Sequence[int], kept: Partners
    ) -> Iterator[tuple[int, int, float]]:
        if not self._screen:
            every = combinations(range(len(texts)), 2)
            return ((row, column, 1.0) for row, column in every)
        if kept.most is None:
            return bounded_pairs(texts, self._gate, self._pulse)
        return bounded_before(texts, places, kept, self._gate, self._pulse)

    def _plain(self, told: Sequence[Memory]) -> Iterator[Candidate]:
        for one, other in combinations(told, 2):
            self._pulse()
            similarity = ratio(one.content, other.content)
            if self._gate.passes(similarity):
                yield candidate(one.id, other.id, NAME, similarity)

    def _screened(self, told: Sequence[Memory]) -> Iterator[Candidate]:
        told = sorted(told, key=lambda memory: (len(memory.content), memory.id))
        texts = [memory.content for memory in told]
        for row, column, bound in bounded_pairs(texts, self._gate, self._pulse):
            self._pulse()
            similarity = _ratio_below(texts[row], texts[column], bound)
            if self._gate.passes(similarity):
                yield candidate(told[row].id, told[column].id, NAME, similarity)


def _tell(tally: Tally, told: Sequence[object]) -> None:
    if not COMPILED and len(told) > 1:
        tally.note("sequence: cydifflib is not installed, difflib is used (slower, same result)")


def bounded_pairs(
    texts: Sequence[str], gate: Gate, pulse: Callable[[], None] = lambda: None
) -> Iterator[tuple[int, int, float]]:
    """Pairs of texts whose ratio may pass the gate.

    Args:
        texts: Ordered by length.
        gate: The threshold; strictness is left to the exact comparison.
        pulse: Called before each block.

    Yields:
        Positions (row < column) and the Indel similarity, an upper bound of the ratio.
    """
    lengths = [len(text) for text in texts]
    threads = workers() if len(texts) >= THREADED_FROM else 1
    cutoff = max(0.0, gate.threshold - SLACK)
    for start in range(0, len(texts), BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, len(texts))
        reach = _longest_partner(lengths[stop - 1], gate.threshold)
        end = len(texts) if reach is None else bisect_right(lengths, reach)
        width = max(1, BLOCK_CELLS // (stop - start))
        for left in range(start, end, width):
            right = min(left + width, end)
            pulse()
            yield from _block(texts, (start, stop), (left, right), cutoff, threads)


def bounded_before(
    texts: Sequence[str],
    places: Sequence[int],
    kept: Partners,
    gate: Gate,
    pulse: Callable[[], None],
) -> Iterator[tuple[int, int, float]]:
    """As `bounded_pairs`, for each text with those before it, from the first one on.

    A text that has all the partners it wants, as close as can be told, is not compared further.
    """
    threads = workers() if len(texts) >= THREADED_FROM else 1
    cutoff = max(0.0, gate.threshold - SLACK)
    for start in range(0, len(texts), BLOCK_ROWS):
        wanting = list(range(start, min(start + BLOCK_ROWS, len(texts))))
        end = wanting[-1] + 1
        for left in range(0, end, BLOCK_COLUMNS):
            pulse()
            columns = texts[left : min(left + BLOCK_COLUMNS, end)]
            bounds = _bounds([texts[row] for row in wanting], columns, cutoff, threads)
            for row, found in zip(wanting, bounds, strict=True):
                for column in np.flatnonzero(found >= cutoff).tolist():
                    if left + column >= row or kept.full(places[row], more=True):
                        break
                    yield row, left + column, float(found[column])
            right = left + len(columns)
            wanting = [r for r in wanting if not kept.full(places[r], more=right < r)]
            if not wanting:
                break


def _longest_partner(length: int, threshold: float) -> int | None:
    """Longest text that `2 * length / (length + longer) >= threshold` admits; None: any."""
    if threshold <= 0.0:
        return None
    return int(length * (2.0 - threshold) / threshold) + 1


def _block(
    texts: Sequence[str],
    rows: tuple[int, int],
    columns: tuple[int, int],
    cutoff: float,
    threads: int,
) -> Iterator[tuple[int, int, float]]:
    bounds = _bounds(texts[slice(*rows)], texts[slice(*columns)], cutoff, threads)
    for row, column in zip(*(hits.tolist() for hits in np.nonzero(bounds >= cutoff)), strict=True):
        if rows[0] + row < columns[0] + column:
            yield rows[0] + row, columns[0] + column, float(bounds[row, column])


def _bounds(
    rows: Sequence[str], columns: Sequence[str], cutoff: float, threads: int
) -> NDArray[np.float64]:
    """Indel similarities, 0 for those below the cutoff, shape (rows, columns)."""
    found: NDArray[np.float64] = cdist(
        rows,
        columns,
        scorer=Indel.normalized_similarity,
        score_cutoff=max(0.0, cutoff - CUTOFF_SLACK),
        dtype=np.float64,
        workers=threads,
    )
    return found
