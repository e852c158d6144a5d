"""An exact join that compares a few coordinates of two rows before the rows themselves.

`PrefixSieve` takes coordinates in whole numbers. It rules out only pairs that cannot reach
the threshold: two unit rows of cosine t lie `h = sqrt(2 - 2t)` apart, and in some of the
coordinates of an orthonormal frame at most so far. Counted in steps, where each coordinate is
rounded to a whole step, they lie at most `(h + 2e) / step` apart, where `e` is the longest distance
by which rounding moved a row. Products of whole numbers are exact, so there is no other error.

It computes one sum over the terms of two rows and compares it with a limit of one of the rows:
squared distances because `|a-b|² = |a|² + |b|² - 2a·b`.

`scan_pairs` does the join, a tile of rows at a time. It needs the compiled kernels
(`bit_kernels.py`). Pairs that pass the filter are compared in full, so every pair is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.similarities import DENSE, SEEN_ENOUGH
from echoless.blocking.vector_join.exact_join import Hits, Join, JoinWork, in_order_of_rows, some_of
from echoless.blocking.vector_join.projections import Floats, Frame, blocks, distance
from echoless.core.optional import lazy_module
from echoless.core.threads import in_order

if TYPE_CHECKING:
    from echoless.blocking.vector_join import bit_kernels
else:
    bit_kernels = lazy_module("echoless.blocking.vector_join.bit_kernels")

Whole: TypeAlias = NDArray[np.int8]

STEPS: Final = 127
"""Steps from zero to the coordinate furthest out."""

ROWS_AT_ONCE: Final = 2048
"""Number of rows that one task compares with all earlier rows."""

NEVER: Final = 2.0
"""A value above any cosine."""

ROOM: Final = 1 << 16
"""Number of hits that a task collects before it checks them in 64 bits."""


@dataclass(frozen=True, slots=True)
class Laid:
    """All rows in the memory layout of the compiled loops; whole numbers in float32.

    Attributes:
        tiles: Shape (tiles, 1 + terms, `LANES`): rows before, a tile of them term by term; a sum
            begins with the first cell.
        queries: Shape (rows + `QUERIES`, 1 + terms): the row they are compared with; the first cell
            is its limit. Zero beyond the rows.
    """

    tiles: Floats
    queries: Floats


@dataclass(frozen=True, slots=True)
class Steps:
    """Coordinates of rows in whole numbers.

    Attributes:
        whole: Shape (rows, planes), int8.
        most: Squared distance in steps beyond which two rows cannot reach the threshold.
    """

    whole: Whole
    most: int

    @property
    def squares(self) -> NDArray[np.int32]:
        """Returns squared lengths, shape (rows,)."""
        squares: NDArray[np.int32] = np.einsum("ij,ij->i", self.whole, self.whole, dtype=np.int32)
        return squares


@dataclass(frozen=True, slots=True)
class PrefixSieve:
    """A filter by a few coordinates that misses no pair.

    Attributes:
        frame: Orthonormal planes, a multiple of 4.
    """

    frame: Frame

    def laid(self, join: Join) -> Laid:
        """Returns all rows by their coordinates in whole numbers."""
        return laid_out(self.steps(join))

    def steps(self, join: Join) -> Steps:
        """Returns the coordinates of all rows in steps of one size."""
        count = len(join.rows)
        at = np.empty((count, len(self.frame.planes)), dtype=np.float32)
        whole = np.empty(at.shape, dtype=np.int8)

        def fill(some: slice) -> float:
            at[some] = self.frame.coordinates(join.unit(some.start, some.stop - some.start))
            return float(np.abs(at[some]).max())

        step = max(_in_blocks(fill, count), 1e-30) / STEPS

        def round_off(some: slice) -> float:
            whole[some] = np.rint(at[some] / np.float32(step))
            moved = at[some] - whole[some] * np.float32(step)
            return float(np.einsum("ij,ij->i", moved, moved).max())

        error = _in_blocks(round_off, count) ** 0.5
        apart = (distance(join.threshold) + self.frame.slack() + 2.0 * error) * (1.0 + 1e-4)
        furthest = 4 * STEPS**2 * at.shape[1]  # no two rows lie further apart
        return Steps(whole, min(floor((apart / step) ** 2) + 1, furthest))


def laid_out(steps: Steps) -> Laid:
    """Returns rows in a layout in which all pairs within the distance pass, and a few beyond it.

    Sums of whole numbers of this size are exact in float32.

    Args:
        steps: Of at most 384 planes, a multiple of 4.
    """
    whole, squares = steps.whole, steps.squares
    count, planes = whole.shape
    lanes = bit_kernels.LANES
    # `a·b - |b|²/2 >= (|a|² - most) / 2`, both sides rounded so that nothing is lost
    full = np.zeros((-(-count // lanes) * lanes, 1 + planes), dtype=np.float32)
    full[:count, 0], full[:count, 1:] = -((squares + 1) // 2), whole
    tiles = np.ascontiguousarray(full.reshape(-1, lanes, 1 + planes).transpose(0, 2, 1))
    del full
    queries = np.zeros((count + bit_kernels.QUERIES, 1 + planes), dtype=np.float32)
    queries[:count, 0], queries[:count, 1:] = -((steps.most + 1 - squares) // 2), whole
    return Laid(tiles, queries)


def _in_blocks(work: Callable[[slice], float | None], count: int) -> float:
    """Runs work on all rows, in blocks on several threads, and returns its largest result."""
    results = in_order(partial(work, some) for some in blocks(count))
    return max((result or 0.0 for result in results), default=0.0)


def scan_pairs(join: Join, laid: Laid, most: int | None, work: JoinWork) -> Iterator[Hits]:
    """Yields hits i < j of the join, by rising j, then i; arrays are never empty.

    Args:
        join: Rows and threshold.
        laid: Short forms that are compared before the rows themselves.
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes the counts.
    """
    count = len(join.rows)
    run = _Run(join, laid, most, join.inverse, np.zeros(count, dtype=np.int32))
    work.compared += count * (count - 1) // 2
    starts = range(0, count, ROWS_AT_ONCE)
    tasks = (partial(run.block, s, min(s + ROWS_AT_ONCE, count)) for s in starts)
    for part, hits in in_order(tasks):
        work.pulse()
        work.verified += part.verified
        work.crowded += part.crowded
        if len(hits[0]):
            yield hits


@dataclass(frozen=True, slots=True)
class _Run:
    """A scan of all rows, with the state that its tasks share."""

    join: Join
    laid: Laid
    most: int | None
    inverse: Floats
    seen: NDArray[np.int32]

    def block(self, first: int, last: int) -> tuple[JoinWork, Hits]:
        """Returns the counts and the hits of rows `first` to `last` with all rows before them."""
        counts = np.zeros(1, dtype=np.int64)
        rows = bit_kernels.ComparedRows(
            self.join.rows,
            self.inverse,
            crowd_terms(self.join, self.most),
            0 if self.most is None else SEEN_ENOUGH,
            self.seen,
            counts,
        )
        span = np.array([first, last])
        pairs = np.empty((2, ROOM), dtype=np.int64)
        parts: list[Hits] = []
        position = (0, first)
        while position[0] >= 0:
            size, *after = bit_kernels.scan(
                self.laid.tiles, self.laid.queries, rows, span, np.array(position), pairs
            )
            position = (after[0], after[1])
            parts += self.join.confirmed(*pairs[:, :size].copy())
        hits, crowded = some_of(in_order_of_rows(parts), self.most)
        return JoinWork(verified=int(counts[0]), crowded=crowded), hits


def crowd_terms(join: Join, most: int | None) -> Floats:
    """Returns the least cosine of a hit, and that from which a partner surely belongs to a crowd.

    Both allow for the rounding of 32 bits: a row is passed over only where `before_enough` would do
    so too.

    Returns:
        Shape (2,), float32: both inclusive; the second is `NEVER` where all partners are wanted.
    """
    certain = max(DENSE, join.threshold) + (join.threshold - float(join.floor))
    return np.array([join.floor, NEVER if most is None else certain], dtype=np.float32)
