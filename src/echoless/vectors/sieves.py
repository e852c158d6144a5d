"""What is looked at of a pair before it is compared in full, and how it is laid out for that.

* `PrefixSieve`: a few coordinates in whole numbers. Rules out only what cannot reach the threshold:
  two unit rows of cosine t lie `h = sqrt(2 - 2t)` apart, and in some of the coordinates of an
  orthonormal frame at most so far. Counted in steps, with no coordinate moved by more than rounding
  to one moves it, they lie at most `(h + 2e) / step` apart, where `e` is the longest way a row was
  moved. Products of whole numbers are exact, so nothing else has to be allowed for.
* `BitSieve`: sign bits. Rules out what reaches the threshold with a probability that was named.

Both come down to one sum over the terms of two rows, held against a limit of one of them: squared
distances because `|a-b|² = |a|² + |b|² - 2a·b`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.join import Join
from echoless.vectors.signing import Frame, blocks, distance
from echoless.vectors.threads import in_order

Cells: TypeAlias = NDArray[Any]
"""uint64 words of bits, int32 of four bytes each, or float32."""

Whole: TypeAlias = NDArray[np.int8]

STEPS: Final = 127
"""Steps from zero to the coordinate furthest out."""


@dataclass(frozen=True, slots=True)
class Laid:
    """All rows as a sieve looks at them.

    Attributes:
        tiles: Shape (tiles, cells * `LANES`): rows before, a tile of them cell by cell; the first
            cell is what a sum begins with.
        queries: Shape (rows + `QUERIES`, cells): the row they are compared with; the first cell is
            its limit. Zero beyond the rows.
    """

    tiles: Cells
    queries: Cells


@dataclass(frozen=True, slots=True)
class BitSieve:
    """Looks at signs of coordinates.

    Attributes:
        frame: Where they are taken; a multiple of 64 planes.
        most: More bits than these rule a pair out.
    """

    frame: Frame
    most: int

    def laid(self, join: Join) -> Laid:
        """All rows as bits, in blocks on several threads."""
        from echoless.vectors.bit_kernels import sign  # noqa: PLC0415 - compiles

        words = np.empty((len(join.rows), len(self.frame.planes) // 64), dtype=np.uint64)

        def fill(some: slice) -> None:
            sign(self.frame.coordinates(join.unit(some.start, some.stop - some.start)), words[some])

        _all(fill, len(words))
        return side_by_side(words, words, np.zeros(1), np.full(1, self.most))


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
        """Squared lengths, shape (rows,)."""
        made: NDArray[np.int32] = np.einsum("ij,ij->i", self.whole, self.whole, dtype=np.int32)
        return made


@dataclass(frozen=True, slots=True)
class PrefixSieve:
    """Looks at a few coordinates; misses nothing.

    Attributes:
        frame: Orthonormal planes, a multiple of 4.
    """

    frame: Frame

    def laid(self, join: Join) -> Laid:
        """All rows by their coordinates in whole numbers."""
        return laid_out(self.steps(join))

    def steps(self, join: Join) -> Steps:
        """Coordinates of all rows in steps of one size."""
        count = len(join.rows)
        at = np.empty((count, len(self.frame.planes)), dtype=np.float32)
        whole = np.empty(at.shape, dtype=np.int8)

        def fill(some: slice) -> float:
            at[some] = self.frame.coordinates(join.unit(some.start, some.stop - some.start))
            return float(np.abs(at[some]).max())

        step = max(_all(fill, count), 1e-30) / STEPS

        def round_off(some: slice) -> float:
            whole[some] = np.rint(at[some] / np.float32(step))
            moved = at[some] - whole[some] * np.float32(step)
            return float(np.einsum("ij,ij->i", moved, moved).max())

        error = _all(round_off, count) ** 0.5
        apart = (distance(join.threshold) + self.frame.slack() + 2.0 * error) * (1.0 + 1e-4)
        furthest = 4 * STEPS**2 * at.shape[1]  # no two rows lie further apart
        return Steps(whole, min(floor((apart / step) ** 2) + 1, furthest))


def laid_out(steps: Steps) -> Laid:
    """Rows of which those pass that lie at most so far apart, and some that lie a step further.

    As bytes where the processor multiplies those, else as float32, in which whole numbers of this
    size are exact too: the same pairs pass.

    Args:
        steps: Of at most 384 planes, a multiple of 4.

    Returns:
        Cells of int32, or of float32.
    """
    from echoless.vectors import register_kernels  # noqa: PLC0415 - brings in numba

    whole, squares = steps.whole, steps.squares
    # `a·b - |b|²/2 >= (|a|² - most) / 2`, both sides rounded so that nothing is lost
    begin, limit = -((squares + 1) // 2), -((steps.most + 1 - squares) // 2)
    if not register_kernels.DOTS:
        terms = whole.astype(np.float32)
        return side_by_side(terms, terms, begin, limit)
    begin -= 128 * whole.sum(axis=1, dtype=np.int32)  # bytes of queries have no sign: 128 is added
    above = (whole.astype(np.int16) + 128).astype(np.uint8)
    return side_by_side(whole.view(np.int32), above.view(np.int32), begin, limit)


Sieve: TypeAlias = BitSieve | PrefixSieve


def _all(work: Callable[[slice], Any], count: int) -> float:
    """Work on all rows, in blocks on several threads; the largest it tells."""
    return max((told or 0.0 for told in in_order(_each(work, count))), default=0.0)


def _each(work: Callable[[slice], Any], count: int) -> Iterator[Callable[[], Any]]:
    return (partial(work, some) for some in blocks(count))


def side_by_side(terms: Cells, queries: Cells, begin: Cells, limit: Cells) -> Laid:
    """Rows as tiles and as queries.

    Args:
        terms: Shape (rows, terms): of the rows before.
        queries: The same of the row they are compared with.
        begin: What sums begin with, shape (rows,) or (1,).
        limit: What they are held against, the same.
    """
    from echoless.vectors.register_kernels import LANES, QUERIES  # noqa: PLC0415 - brings in numba

    count, size = terms.shape
    full = np.zeros((-(-count // LANES) * LANES, 1 + size), dtype=terms.dtype)
    full[:count, 0], full[:count, 1:] = begin, terms
    asked = np.zeros((count + QUERIES, 1 + size), dtype=terms.dtype)
    asked[:count, 0], asked[:count, 1:] = limit, queries
    tiles = full.reshape(-1, LANES, 1 + size).transpose(0, 2, 1)
    return Laid(np.ascontiguousarray(tiles).reshape(len(tiles), -1), asked)
