"""An exact similarity self-join: all pairs of rows whose cosine reaches a threshold.

It uses numpy in blocks and bounded memory. 32-bit products only screen; each pair that passes is
computed again in 64 bits, and that value is compared and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import no_pulse
from echoless.blocking.pair_scores import DECIMALS
from echoless.blocking.top_k import (
    Pairs,
    before_enough,
    closest_before,
    kept_partners,
    nearest_of_each,
    together,
)

Hits: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Three arrays of one length: i, j (i < j), and the cosine rounded to `DECIMALS`."""

BUDGET: Final = 64 << 20
"""Bytes the join may use over its input and one 8-byte norm a row."""

_CELL: Final = 4 + 1 + 24
"""Bytes for a cell of a tile: product, mask, and three indexes should every cell be a hit."""

_BLOCK: Final = 4096
"""Rows compared at a time with those that are asked for, or whose lengths are computed."""

_UNIT_ROUNDOFF: Final = 2.0**-24
"""Of float32."""


@dataclass(slots=True)
class JoinWork:
    """What is told of one join, and by it.

    Attributes:
        crowded: Rows with more partners than were asked for.
        pulse: Called between blocks of work; an exception it raises ends the join.
    """

    crowded: int = 0
    pulse: Callable[[], None] = field(default=no_pulse, compare=False, repr=False)


def pairs_above(
    rows: NDArray[np.float32], threshold: float, *, inclusive: bool = True, budget: int = BUDGET
) -> Iterator[Hits]:
    """Yields all pairs i < j with cosine at or above a threshold, each once.

    The cosine is `a·b / (|a||b|)` in float64 from the rows as given, rounded to six decimals before
    it is compared. No pair is missed: the screen's slack covers the worst rounding error of a
    32-bit product (the bound `n·u / (1 - n·u)` of Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 3.1, which holds for any order of summation).

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; any length.
        threshold: -1 to 1.
        inclusive: False asks for cosines above the threshold.
        budget: Bytes of working memory, roughly; at least 1 MiB is used.

    Yields:
        Hits in a fixed order (by tile, then i, then j); arrays are never empty.

    Raises:
        ValueError: A row is zero or not finite.
    """
    budget = max(budget, 1 << 20)
    side = _side(budget, rows.shape[1])
    yield from _tiles(Join(rows, row_norms(rows, side), threshold, inclusive, budget), JoinWork())


def _tiles(join: Join, work: JoinWork) -> Iterator[Hits]:
    """Yields all hits of a join, tile by tile."""
    rows, floor = join.rows, join.floor
    side = _side(join.budget, rows.shape[1])
    for top in range(0, len(rows), side):
        upper = join.unit(top, side)
        work.pulse()
        for left in range(top, len(rows), side):
            product = upper @ (upper if left == top else join.unit(left, side)).T
            yield from join.confirmed(*_ahead(product >= floor, top, left))


def product_pairs(join: Join, most: int | None, work: JoinWork) -> Iterator[Hits]:
    """Yields the hits of `pairs_above`; with `most` only the wanted partners of each row.

    With `most`, the partners are those of `kept_partners`, and hits come by rising j, then i.

    Args:
        join: Rows and threshold.
        most: Partners before it a row needs; None for all.
        work: Takes the counts.
    """
    count = len(join.rows)
    if most is None:
        yield from _tiles(join, work)
        return
    side = _side(join.budget, join.rows.shape[1])
    for top in range(0, count, side):
        work.pulse()
        lower = join.unit(top, side)
        seen = np.zeros(len(lower), dtype=np.int64)
        wanted = together([])
        crowded: set[int] = set()
        for left in range(0, top + 1, side):
            product = (lower if left == top else join.unit(left, side)) @ lower.T
            hits = join.confirmed(*_ahead(product >= join.floor, left, top))
            new = closest_before(together([Pairs(*each) for each in hits]), None)
            new = new.where(before_enough(new.other - top, new.similarity, seen))
            merged = closest_before(together([wanted, new]), None)
            keep = kept_partners(merged, most)
            crowded.update(np.unique(merged.other[~keep]).tolist())
            wanted = merged.where(keep)
        work.crowded += len(crowded)
        if len(wanted.one):
            yield wanted.arrays


def closest_below(join: Join, least: float) -> Hits:
    """Returns for each row its closest other row, where that pair is no hit; each pair once.

    It multiplies all rows at once: for some thousand rows.

    Args:
        join: Rows and threshold.
        least: Cosine from which a pair is wanted, inclusive.
    """
    unit = join.unit(0, len(join.rows))
    rows, other = np.arange(len(unit)), nearest_of_each(unit)
    pairs = np.unique(np.minimum(rows, other) * len(unit) + np.maximum(rows, other))
    i, j = pairs // len(unit), pairs % len(unit)
    cosine = cosines(join.rows, join.norms, i, j)
    return Pairs(i, j, cosine).where((cosine >= least) & ~join.passes(cosine)).arrays


def _ahead(
    mask: NDArray[np.bool_], top: int, left: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns rows and columns of a tile's True cells, for a tile on the diagonal only i < j."""
    flat = np.flatnonzero(mask)  # for few cells several times as fast as `np.nonzero` of two axes
    i, j = flat // mask.shape[1] + top, flat % mask.shape[1] + left
    return (i[i < j], j[i < j]) if top == left else (i, j)


def pairs_within(join: Join, groups: Iterable[NDArray[np.int64]]) -> Iterator[Hits]:
    """Yields the hits of `pairs_above` whose rows share at least one group, each once.

    Args:
        join: Its budget does not count a copy of the rows, nor 8 bytes for each pair that passes
            the screen, once for each group that holds it.
        groups: Row numbers, ascending in each group. Groups may share rows.

    Yields:
        Hits in a fixed order (by i, then j); arrays are never empty.
    """
    side = _side(join.budget, join.rows.shape[1])
    floor, unit = join.floor, join.all_units(side)
    screened = [np.zeros(0, dtype=np.int64)]  # pairs as `i * rows + j`
    for group in groups:
        for top in range(0, len(group), side):
            upper = unit[group[top : top + side]]
            for left in range(top, len(group), side):
                lower = upper if left == top else unit[group[left : left + side]]
                i, j = _ahead(upper @ lower.T >= floor, top, left)
                screened.append(group[i] * len(unit) + group[j])
    pairs = np.unique(np.concatenate(screened))
    yield from join.confirmed(pairs // len(unit), pairs % len(unit))


def cosines(
    rows: NDArray[np.float32],
    norms: NDArray[np.float64],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Returns the cosines of the pairs (i, j), in float64, rounded to six decimals; no `-0.0`."""
    left, right = rows[i].astype(np.float64), rows[j].astype(np.float64)
    exact: NDArray[np.float64] = np.einsum("ij,ij->i", left, right)
    exact /= norms[i] * norms[j]
    np.clip(exact, -1.0, 1.0, out=exact)
    np.round(exact, DECIMALS, out=exact)
    exact += 0.0
    return exact


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Returns the cosine of two vectors, in float64, rounded to six decimals; no `-0.0`.

    Returns:
        -1 to 1; None where they cannot be compared: another length, zero, or not finite.
    """
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    if not a.any() or not b.any():
        return None
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # so that no square is too large or too small
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return round(min(1.0, max(-1.0, float(a @ b) / length)), DECIMALS) + 0.0


def row_norms(rows: NDArray[np.float32], block: int = _BLOCK) -> NDArray[np.float64]:
    """Returns the lengths of the rows, shape (n,), float64.

    Raises:
        ValueError: A row is zero or not finite.
    """
    norms = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), block):
        wide = rows[start : start + block].astype(np.float64)
        norms[start : start + block] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise ValueError("a row is zero or not finite; such vectors are not comparable")
    return norms


def _side(budget: int, dimensions: int) -> int:
    """Returns the rows of a square tile, so that all its arrays fit the budget.

    These are the cells, two blocks of unit rows and one 64-bit copy.
    """
    linear = 16 * dimensions
    return max(1, (isqrt(linear * linear + 4 * _CELL * budget) - linear) // (2 * _CELL))


@dataclass(frozen=True, slots=True)
class Join:
    """Rows to join, and the threshold that makes a pair of them a hit.

    Attributes:
        rows: Shape (n, dimensions), float32, finite, none zero; any length.
        norms: Their lengths, shape (n,), float64.
        threshold: Cosine, -1 to 1.
        inclusive: Whether the threshold itself counts.
        budget: Bytes of working memory, roughly.
    """

    rows: NDArray[np.float32]
    norms: NDArray[np.float64]
    threshold: float
    inclusive: bool = True
    budget: int = BUDGET

    @property
    def floor(self) -> np.float32:
        """Returns the 32-bit product of unit rows below which no pair is a hit.

        Below it the cosine rounds to less than the threshold. Half a unit of the last decimal for
        the rounding; `dimensions * u` for the product, 8 more for the rounding of both factors and
        their lengths to float32, of this limit, and the rest; 1 % for the denominator.
        """
        slack = 1.01 * (self.rows.shape[1] + 8) * _UNIT_ROUNDOFF
        return np.float32(self.threshold - 0.51 * 10.0**-DECIMALS - slack)

    def passes(self, cosine: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Returns which cosines are hits."""
        return cosine >= self.threshold if self.inclusive else cosine > self.threshold

    def unit(self, start: int, side: int) -> NDArray[np.float32]:
        """Returns `side` rows from `start` on, at unit length."""
        inverse = (1.0 / self.norms[start : start + side, None]).astype(np.float32)
        block: NDArray[np.float32] = self.rows[start : start + side] * inverse
        return block

    def all_units(self, side: int) -> NDArray[np.float32]:
        """Returns all rows at unit length, computed for `side` rows at a time."""
        units = np.empty_like(self.rows)
        for start in range(0, len(units), side):
            units[start : start + side] = self.unit(start, side)
        return units

    def confirmed(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Iterator[Hits]:
        """Yields the screened pairs that also pass in 64 bits."""
        step = max(1, self.budget // (24 * max(1, self.rows.shape[1])))
        for start in range(0, len(i), step):
            some_i, some_j = i[start : start + step], j[start : start + step]
            cosine = cosines(self.rows, self.norms, some_i, some_j)
            passing = self.passes(cosine)
            if passing.any():
                yield some_i[passing], some_j[passing], cosine[passing]


def blocks(count: int, size: int = _BLOCK) -> Iterator[slice]:
    """Yields slices that cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
