"""The similarity self-join: all pairs of rows whose cosine reaches a threshold, exactly.

numpy, blocked, in bounded memory. 32-bit products only screen; whatever they let through is
computed again in 64 bits, and that is what is compared and reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import compiled
from echoless.vectors.partners import before_enough, kept_partners
from echoless.vectors.work import Work

Hits: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Three arrays of one length: i, j (i < j), and the cosine rounded to `DECIMALS`."""

DECIMALS: Final = 6
"""Cosines are rounded before they are compared or shown, so that what is shown explains what was
decided."""

BUDGET: Final = 64 << 20
"""Bytes the join may use over its input and one 8-byte norm a row."""

_CELL: Final = 4 + 1 + 24
"""Bytes for a cell of a tile: product, mask, and three indexes should every cell be a hit."""

KERNELS: Final = "echoless.vectors.bit_kernels"
"""Module of the compiled loops, which takes a while to load."""

_UNIT_ROUNDOFF: Final = 2.0**-24
"""Of float32."""


def pairs_above(
    rows: NDArray[np.float32], threshold: float, *, inclusive: bool = True, budget: int = BUDGET
) -> Iterator[Hits]:
    """All pairs i < j with cosine at or above a threshold, each once.

    The cosine is `a·b / (|a||b|)` in float64 from the rows as given, rounded to six decimals before
    it is compared. Nothing is missed: the screen's slack covers the worst rounding error of a
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
    yield from _tiles(Join(rows, _norms(rows, side), threshold, inclusive, budget), Work())


def _tiles(join: Join, work: Work) -> Iterator[Hits]:
    rows, floor = join.rows, join.floor
    side = _side(join.budget, rows.shape[1])
    for top in range(0, len(rows), side):
        upper = join.unit(top, side)
        work.pulse()
        for left in range(top, len(rows), side):
            product = upper @ (upper if left == top else join.unit(left, side)).T
            yield from join.confirmed(*_ahead(product >= floor, top, left))


def product_pairs(join: Join, most: int | None, work: Work) -> Iterator[Hits]:
    """As `pairs_above`; with `most`, of each row only the partners `kept_partners` keeps.

    Then hits come by rising j, then i.
    """
    count = len(join.rows)
    work.compared += count * (count - 1) // 2
    if most is None:
        yield from _tiles(join, work)
        return
    side = _side(join.budget, join.rows.shape[1])
    for top in range(0, count, side):
        work.pulse()
        hits, crowded = _partners(join, top, side, most)
        work.crowded += crowded
        if len(hits[0]):
            yield hits


def _partners(join: Join, top: int, side: int, most: int) -> tuple[Hits, int]:
    """Partners of some rows among those before them, and how many rows have more."""
    lower = join.unit(top, side)
    seen = np.zeros(len(lower), dtype=np.int64)
    kept: list[Hits] = []
    crowded: set[int] = set()
    for left in range(0, top + 1, side):
        product = (lower if left == top else join.unit(left, side)) @ lower.T
        found = in_order_of_rows([*join.confirmed(*_ahead(product >= join.floor, left, top))])
        found = _where(found, before_enough(found[1] - top, found[2], seen))
        merged = in_order_of_rows([*kept, found])
        keep = kept_partners(*merged, most)
        crowded.update(np.unique(merged[1][~keep]).tolist())
        kept = [_where(merged, keep)]
    return kept[0], len(crowded)


def some_of(hits: Hits, most: int | None) -> tuple[Hits, int]:
    """Of all partners of some rows those wanted, and how many rows have more.

    Args:
        hits: By rising j, then i.
        most: Partners before it a row needs (`kept_partners`); None for all.

    Returns:
        The hits wanted, in the same order, and a number of rows.
    """
    if most is None:
        return hits, 0
    hits = _where(hits, before_enough(hits[1], hits[2]))
    keep = kept_partners(*hits, most)
    return _where(hits, keep), len(np.unique(hits[1][~keep]))


def _where(hits: Hits, chosen: NDArray[np.bool_]) -> Hits:
    return hits[0][chosen], hits[1][chosen], hits[2][chosen]


def _ahead(
    mask: NDArray[np.bool_], top: int, left: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the True cells of a tile, of those on the diagonal the upper half."""
    flat = np.flatnonzero(mask)  # for few cells several times as fast as `np.nonzero` of two axes
    i, j = flat // mask.shape[1] + top, flat % mask.shape[1] + left
    return (i[i < j], j[i < j]) if top == left else (i, j)


def in_order_of_rows(parts: Sequence[Hits]) -> Hits:
    """Hits by rising j, then i."""
    if not parts:
        none = np.empty(0, dtype=np.int64)
        return none, none, np.empty(0)
    i, j, cosine = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((i, j))
    return i[order], j[order], cosine[order]


def pairs_within(
    rows: NDArray[np.float32],
    groups: Iterable[NDArray[np.int64]],
    threshold: float,
    *,
    inclusive: bool = True,
    budget: int = BUDGET,
) -> Iterator[Hits]:
    """As `pairs_above`, for the pairs that stand together in at least one group, each once.

    Args:
        rows: As there.
        groups: Row numbers, ascending in each group. Groups may share rows.
        threshold: -1 to 1.
        inclusive: False asks for cosines above the threshold.
        budget: Bytes of working memory, beside a copy of the rows and 8 bytes for each pair the
            screen lets through, once a group it stands in.

    Yields:
        Hits in a fixed order (by i, then j); arrays are never empty.

    Raises:
        ValueError: A row is zero or not finite.
    """
    budget = max(budget, 1 << 20)
    side = _side(budget, rows.shape[1])
    join = Join(rows, _norms(rows, side), threshold, inclusive, budget)
    floor = join.floor
    unit = join.all_units(side)
    found = [pairs for group in groups for pairs in _screened(unit, group, side, floor)]
    if found:
        together = np.unique(np.concatenate(found))
        yield from join.confirmed(together // len(rows), together % len(rows))


def _screened(
    unit: NDArray[np.float32], group: NDArray[np.int64], side: int, floor: np.float32
) -> Iterator[NDArray[np.int64]]:
    """Pairs of a group that pass the 32-bit screen, as `i * rows + j`."""
    for top in range(0, len(group), side):
        rows = group[top : top + side]
        upper = unit[rows]
        for left in range(top, len(group), side):
            columns = group[left : left + side]
            mask = upper @ (upper if left == top else unit[columns]).T >= floor
            i, j = _ahead(mask, top, left)
            if len(i):
                yield group[i] * len(unit) + group[j]


def cosines(
    rows: NDArray[np.float32],
    norms: NDArray[np.float64],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Cosines of the pairs (i, j), in float64, rounded to six decimals; no `-0.0`."""
    exact = _inner_products(rows, i, j)
    exact /= norms[i] * norms[j]
    np.clip(exact, -1.0, 1.0, out=exact)
    np.round(exact, DECIMALS, out=exact)
    exact += 0.0
    return exact


def _inner_products(
    rows: NDArray[np.float32], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """By the compiled loop where it is loaded: without copies of rows, in an eighth of the time."""
    if KERNELS in sys.modules and compiled() and len(i):
        from echoless.vectors.bit_kernels import inner_products  # noqa: PLC0415 - loaded already

        made = np.empty(len(i), dtype=np.float64)
        inner_products(rows, i, j, made)
        return made
    left, right = rows[i].astype(np.float64), rows[j].astype(np.float64)
    told: NDArray[np.float64] = np.einsum("ij,ij->i", left, right)
    return told


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Cosine of two vectors, in float64, rounded to six decimals; no `-0.0`.

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


def row_norms(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Lengths of the rows, shape (n,), float64.

    Raises:
        ValueError: A row is zero or not finite.
    """
    return _norms(rows, 4096)


def _norms(rows: NDArray[np.float32], block: int) -> NDArray[np.float64]:
    norms = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), block):
        wide = rows[start : start + block].astype(np.float64)
        norms[start : start + block] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise ValueError("a row is zero or not finite; such vectors are not comparable")
    return norms


def _side(budget: int, dimensions: int) -> int:
    """Rows of a square tile: cells, two blocks of unit rows and one 64-bit copy fit the budget."""
    linear = 16 * dimensions
    return max(1, (isqrt(linear * linear + 4 * _CELL * budget) - linear) // (2 * _CELL))


@dataclass(frozen=True, slots=True)
class Join:
    """Rows, and what makes two of them a hit.

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
        """A product of unit rows in 32 bits below this is no hit."""
        return _screen(self.threshold, self.rows.shape[1])

    @property
    def inverse(self) -> NDArray[np.float32]:
        """One over the lengths, shape (n,)."""
        inverse: NDArray[np.float32] = (1.0 / self.norms).astype(np.float32)
        return inverse

    def passes(self, cosine: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which cosines are hits."""
        return cosine >= self.threshold if self.inclusive else cosine > self.threshold

    def unit(self, start: int, side: int) -> NDArray[np.float32]:
        """Some rows at unit length."""
        inverse = (1.0 / self.norms[start : start + side, None]).astype(np.float32)
        block: NDArray[np.float32] = self.rows[start : start + side] * inverse
        return block

    def all_units(self, side: int) -> NDArray[np.float32]:
        """All rows at unit length."""
        made = np.empty_like(self.rows)
        for start in range(0, len(made), side):
            made[start : start + side] = self.unit(start, side)
        return made

    def confirmed(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Iterator[Hits]:
        """Those of the screened pairs that hold in 64 bits."""
        step = max(1, self.budget // (24 * max(1, self.rows.shape[1])))
        for start in range(0, len(i), step):
            some_i, some_j = i[start : start + step], j[start : start + step]
            cosine = cosines(self.rows, self.norms, some_i, some_j)
            kept = self.passes(cosine)
            if kept.any():
                yield some_i[kept], some_j[kept], cosine[kept]


def _screen(threshold: float, dimensions: int) -> np.float32:
    """A 32-bit product below this has a cosine that rounds to less than the threshold.

    Half a unit of the last decimal for the rounding; `dimensions * u` for the product, 8 more for
    the rounding of both factors and their lengths to float32, of this limit, and the rest; 1 % for
    the denominator.
    """
    slack = 1.01 * (dimensions + 8) * _UNIT_ROUNDOFF
    return np.float32(threshold - 0.51 * 10.0**-DECIMALS - slack)
