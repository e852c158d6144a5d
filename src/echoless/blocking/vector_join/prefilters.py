"""A filter that compares short forms of two rows before the rows are compared in full.

`PrefixSieve` takes a few coordinates in whole numbers. It rules out only pairs that cannot reach
the threshold: two unit rows of cosine t lie `h = sqrt(2 - 2t)` apart, and in some of the
coordinates of an orthonormal frame at most so far. Counted in steps, where each coordinate is
rounded to a whole step, they lie at most `(h + 2e) / step` apart, where `e` is the longest distance
by which rounding moved a row. Products of whole numbers are exact, so there is no other error.

It computes one sum over the terms of two rows and compares it with a limit of one of the rows:
squared distances because `|a-b|² = |a|² + |b|² - 2a·b`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import Join
from echoless.blocking.vector_join.projections import Frame, blocks, distance
from echoless.core.optional import lazy_module
from echoless.core.threads import in_order

if TYPE_CHECKING:
    from echoless.blocking.vector_join import register_kernels
else:
    register_kernels = lazy_module("echoless.blocking.vector_join.register_kernels")

Cells: TypeAlias = NDArray[Any]
"""int32 of four bytes each, or float32."""

Whole: TypeAlias = NDArray[np.int8]

STEPS: Final = 127
"""Steps from zero to the coordinate furthest out."""


@dataclass(frozen=True, slots=True)
class Laid:
    """All rows in the memory layout of a sieve.

    Attributes:
        tiles: Shape (tiles, cells * `LANES`): rows before, a tile of them cell by cell; a sum
            begins with the first cell.
        queries: Shape (rows + `QUERIES`, cells): the row they are compared with; the first cell is
            its limit. Zero beyond the rows.
    """

    tiles: Cells
    queries: Cells


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

    Cells are bytes where the processor multiplies those, else float32, in which whole numbers of
    this size are exact too: the same pairs pass.

    Args:
        steps: Of at most 384 planes, a multiple of 4.

    Returns:
        Cells of int32, or of float32.
    """
    whole, squares = steps.whole, steps.squares
    # `a·b - |b|²/2 >= (|a|² - most) / 2`, both sides rounded so that nothing is lost
    begin, limit = -((squares + 1) // 2), -((steps.most + 1 - squares) // 2)
    if not register_kernels.DOTS:
        terms = whole.astype(np.float32)
        return side_by_side(terms, terms, begin, limit)
    begin -= 128 * whole.sum(axis=1, dtype=np.int32)  # bytes of queries have no sign: 128 is added
    above = whole.view(np.uint8) ^ np.uint8(128)  # adds 128, without a wider copy of all rows
    return side_by_side(whole.view(np.int32), above.view(np.int32), begin, limit)


def _in_blocks(work: Callable[[slice], float | None], count: int) -> float:
    """Runs work on all rows, in blocks on several threads, and returns its largest result."""
    results = in_order(partial(work, some) for some in blocks(count))
    return max((result or 0.0 for result in results), default=0.0)


def side_by_side(terms: Cells, queries: Cells, begin: Cells, limit: Cells) -> Laid:
    """Returns rows as tiles and as queries.

    Args:
        terms: Shape (rows, terms): of the rows before.
        queries: The same of the row they are compared with.
        begin: Value that sums begin with, shape (rows,) or (1,).
        limit: Value that sums are compared with, the same shape.
    """
    count, size = terms.shape
    full = np.zeros(
        (-(-count // register_kernels.LANES) * register_kernels.LANES, 1 + size), dtype=terms.dtype
    )
    full[:count, 0], full[:count, 1:] = begin, terms
    by_lane = full.reshape(-1, register_kernels.LANES, 1 + size).transpose(0, 2, 1)
    tiles = np.ascontiguousarray(by_lane).reshape(len(by_lane), -1)
    del full, by_lane
    asked = np.zeros((count + register_kernels.QUERIES, 1 + size), dtype=terms.dtype)
    asked[:count, 0], asked[:count, 1:] = limit, queries
    return Laid(tiles, asked)
