"""What is looked at of a pair before it is compared in full, and how it is laid out for that.

* `BitSieve` with a bound: bits that rule out only what cannot reach the threshold.
* `BitSieve` by odds: sign bits that rule out what reaches it with a probability that was named.
* `PrefixSieve`: a few coordinates along which the rows differ most, and the length of the rest. For
  centred rows `a·b <= a_k·b_k + |a_r||b_r|` (Cauchy, Schwarz) and `|a-b|² = |a|² + |b|² - 2a·b`. So
  where the product of the short rows `(a_k, |a_r|, -|a|²/2, 1)` and `(b_k, |b_r|, 1, -|b|²/2)` is
  below `-h²/2`, the two lie further apart than `h`, and cannot reach the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.join import Join
from echoless.vectors.signing import Bound, Floats, Frame, Words, blocks, distance
from echoless.vectors.threads import in_order

Cells: TypeAlias = NDArray[Any]
"""Words of bits, or float32."""


@dataclass(frozen=True, slots=True)
class Laid:
    """All rows as a sieve looks at them.

    Attributes:
        tiles: Shape (tiles, cells * `LANES`): rows before, a tile of them cell by cell.
        queries: Shape (rows + `QUERIES`, ...): the row they are compared with; zero beyond the
            rows.
        strong: Shape (rows, 2 * words): bits of a second test; no columns where there is none.
        limits: Of the first test and the second.
        over: Whether words of bits are laid over each other two by two.
    """

    tiles: Cells
    queries: Cells
    strong: Words
    limits: Cells
    over: bool = False


@dataclass(frozen=True, slots=True)
class BitSieve:
    """Looks at signs of coordinates.

    Attributes:
        frame: Where they are taken.
        bound: For a search without any risk; None goes by odds.
        most: By odds: more bits than these rule a pair out.
    """

    frame: Frame
    bound: Bound | None
    most: int = 0

    def laid(self, join: Join) -> Laid:
        """All rows as bits, in blocks on several threads."""
        from echoless.vectors.bit_kernels import sign  # noqa: PLC0415 - compiles
        from echoless.vectors.register_kernels import LANES, QUERIES  # noqa: PLC0415

        count, bound = len(join.rows), self.bound
        words = -(-len(self.frame.planes) // 64)
        words += words % 2 if bound else 0  # laid over each other two by two
        queries = np.zeros((count + QUERIES, 2 * words), dtype=np.uint64)
        strong = np.zeros((count, 0 if bound is None else 2 * words), dtype=np.uint64)
        tiles = np.zeros((-(-count // LANES), words, LANES), dtype=np.uint64)
        weak, far = (0.0, 0.0) if bound is None else (bound.weak, bound.strong)

        def fill(some: slice) -> None:
            at = self.frame.coordinates(join.unit(some.start, some.stop - some.start))
            sign(at, np.float32(weak), np.float32(far), queries[some], strong[some])
            lay(queries[some, :words], tiles, some.start)

        for _ in in_order(partial(fill, some) for some in blocks(count)):
            pass
        two = (self.most, 0) if bound is None else (bound.most_weak, bound.most_strong)
        limits = np.array(two, dtype=np.uint64)
        return Laid(flat(tiles), queries, strong, limits, over=bound is not None)


@dataclass(frozen=True, slots=True)
class PrefixSieve:
    """Looks at a few coordinates and the length of the rest; misses nothing.

    Attributes:
        frame: Orthonormal planes along which the rows differ most.
    """

    frame: Frame

    def laid(self, join: Join) -> Laid:
        """All rows by their short rows, in blocks on several threads."""
        from echoless.vectors.register_kernels import LANES, QUERIES  # noqa: PLC0415 - brings in numba

        count, terms = len(join.rows), len(self.frame.planes) + 3
        queries = np.zeros((count + QUERIES, terms), dtype=np.float32)
        tiles = np.zeros((-(-count // LANES), terms, LANES), dtype=np.float32)

        def fill(some: slice) -> None:
            short = self.short(join.unit(some.start, some.stop - some.start))
            queries[some] = short
            lay(np.concatenate([short[:, :-2], short[:, :-3:-1]], axis=1), tiles, some.start)

        for _ in in_order(partial(fill, some) for some in blocks(count)):
            pass
        limits = np.array([self.floor(join.threshold), 0.0], dtype=np.float32)
        none = np.zeros((count, 0), dtype=np.uint64)
        return Laid(flat(tiles), queries, none, limits)

    def short(self, units: Floats) -> Floats:
        """Shape (rows, planes + 3), float32: coordinates, length of the rest, -|a|²/2, 1."""
        at = self.frame.coordinates(units)
        moved = units - self.frame.centre
        whole = np.einsum("ij,ij->i", moved, moved, dtype=np.float64)
        kept = np.einsum("ij,ij->i", at, at, dtype=np.float64)
        # never shorter than it is, whatever rounding did to the coordinates
        rest = np.sqrt(np.maximum(0.0, whole - kept) + 4.0 * self.frame.slack())
        made: Floats = np.concatenate(
            [at, np.column_stack([rest, -whole / 2.0, np.ones(len(at))]).astype(np.float32)], axis=1
        )
        return made

    def floor(self, threshold: float) -> float:
        """Products of short rows below this belong to pairs below the threshold.

        Rounding of coordinates moves a product of rows no longer than 2 by less than four times
        `slack`; that of the product itself by less than one.
        """
        return -(distance(threshold) ** 2) / 2.0 - 5.0 * self.frame.slack()


Sieve: TypeAlias = BitSieve | PrefixSieve


def lay(cells: Cells, tiles: Cells, start: int) -> None:
    """Put the cells of consecutive rows, from a whole tile on, side by side."""
    rows, size = cells.shape
    lanes = tiles.shape[2]
    full = np.zeros((-(-rows // lanes) * lanes, size), dtype=tiles.dtype)
    full[:rows] = cells
    first = start // lanes
    tiles[first : first + len(full) // lanes] = full.reshape(-1, lanes, size).transpose(0, 2, 1)


def flat(tiles: Cells) -> Cells:
    """Each tile as one row of cells."""
    return tiles.reshape(len(tiles), -1)
