"""The detector `sequence`: the `difflib` ratio, computed only where an upper bound allows it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from echoless.blocking.detector import (
    Bulk,
    DetectorOptions,
    Gate,
    Proposed,
    gate_for,
    places_with_text,
    proposed,
    refuse_unknown,
)
from echoless.blocking.top_k import Partners
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.threads import workers

NAME: Final = "sequence"
DEFAULT_THRESHOLD: Final = 0.75

SLACK: Final = 1e-9
"""Float64 rounding of the screen: a pair whose bound is this little below the threshold is still
computed."""

CUTOFF_SLACK: Final = 1e-4
"""The cutoff given to rapidfuzz lies this far below the threshold. Its scores are exact, but 3.14
rounds the cutoff to float32: of pairs exactly at it, or 1e-8 above it, many come back as 0
(measured; none from 5e-8 on)."""

BLOCK_ROWS: Final = 256
BLOCK_COLUMNS: Final = 1024
BLOCK_CELLS: Final = 1 << 20
"""Cells of one screening block: 8 MiB of float64."""

THREADED_FROM: Final = 1_000
"""Texts from which on the screen uses all cores there are."""


def ratio(a: str, b: str) -> float:
    """Returns the larger of both directions of `SequenceMatcher(autojunk=False).ratio()`.

    `SequenceMatcher` is not symmetric: `dbcba` and `bcdba` give 0.6 one way and 0.8 the other.

    Returns:
        0 to 1; 1.0 for equal texts.
    """
    return 1.0 if a == b else max(_one_way(a, b), _one_way(b, a))


def _one_way(a: str, b: str) -> float:
    """Returns the ratio of `SequenceMatcher` in one direction."""
    return float(SequenceMatcher(None, a, b, autojunk=False).ratio())


def _ratio_below(a: str, b: str, bound: float) -> float:
    """Returns `ratio`, given an upper bound of it.

    Ratios of one pair are whole multiples of 2 / (len(a) + len(b)); a direction less than one step
    below the bound has reached it, and the other need not be computed.
    """
    first = _one_way(a, b)
    if (bound - first) * (len(a) + len(b)) < 1.0:
        return first
    return max(first, _one_way(b, a))


class SequenceDetector(Bulk):
    """A detector of memories whose raw contents have a high `difflib` ratio (see `ratio`).

    Contents are compared as they are: case and white space count. The default threshold 0.75 is
    the usual one of programs built on `difflib`; inclusive unless the options say otherwise.

    Screen: matching blocks form a common subsequence, so the Indel similarity (twice the longest
    common subsequence over both lengths) is an upper bound of either direction, and
    `2 * min / (len(a) + len(b))` an upper bound of that. Only pairs a bound cannot rule out are
    computed.
    """

    name = NAME

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options)
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._pulse = options.pulse

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs as arrays, see `echoless.blocking.detector.BulkDetector`.

        Where only some partners are wanted, they are the closest, ratios of `DENSE` and more
        counting as equal, then the better survivors: so no ratio need be computed of a pair that
        could not be among them.
        """
        places = [*places_with_text(memories, tally)]
        if most is None:
            places.sort(key=lambda place: len(memories[place].content))
        texts = [memories[place].content for place in places]
        partners = Partners(most)
        if most is None:
            pairs = bounded_pairs(texts, self._gate, self._pulse)
        else:
            pairs = bounded_before(texts, places, partners, self._gate, self._pulse)
        for row, column, bound in pairs:
            one, other = sorted((places[row], places[column]))
            if partners.wants(one, other, bound):
                self._pulse()
                similarity = _ratio_below(texts[row], texts[column], bound)
                if self._gate.passes(similarity):
                    partners.add(one, other, similarity)
        yield from proposed([partners.pairs()], np.arange(len(memories)), NAME, tally, most)


def bounded_pairs(
    texts: Sequence[str], gate: Gate, pulse: Callable[[], None] = lambda: None
) -> Iterator[tuple[int, int, float]]:
    """Yields pairs of texts whose ratio may pass the gate.

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
        end = len(texts)
        if gate.threshold > 0.0:  # the longest text that `2 * min / (len(a) + len(b))` admits
            reach = int(lengths[stop - 1] * (2.0 - gate.threshold) / gate.threshold) + 1
            end = bisect_right(lengths, reach)
        width = max(1, BLOCK_CELLS // (stop - start))
        for left in range(start, end, width):
            pulse()
            partners = texts[left : min(left + width, end)]
            bounds = _bounds(texts[start:stop], partners, cutoff, threads)
            rows, columns = np.nonzero(bounds >= cutoff)
            ahead = start + rows < left + columns
            for row, column in zip(rows[ahead].tolist(), columns[ahead].tolist(), strict=True):
                yield start + row, left + column, float(bounds[row, column])


def bounded_before(
    texts: Sequence[str],
    places: Sequence[int],
    partners: Partners,
    gate: Gate,
    pulse: Callable[[], None],
) -> Iterator[tuple[int, int, float]]:
    """Yields the pairs of `bounded_pairs` for each text with those before it, first to last.

    A text that has enough partners, all of which reach `DENSE`, is not compared further.
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
            for row, row_bounds in zip(wanting, bounds, strict=True):
                for column in np.flatnonzero(row_bounds >= cutoff).tolist():
                    if left + column >= row or partners.full(places[row], more=True):
                        break
                    yield row, left + column, float(row_bounds[column])
            right = left + len(columns)
            wanting = [r for r in wanting if not partners.full(places[r], more=right < r)]
            if not wanting:
                break


def _bounds(
    rows: Sequence[str], columns: Sequence[str], cutoff: float, threads: int
) -> NDArray[np.float64]:
    """Returns Indel similarities, 0 for those below the cutoff, shape (rows, columns)."""
    similarities: NDArray[np.float64] = cdist(
        rows,
        columns,
        scorer=Indel.normalized_similarity,
        score_cutoff=max(0.0, cutoff - CUTOFF_SLACK),
        dtype=np.float64,
        workers=threads,
    )
    return similarities
