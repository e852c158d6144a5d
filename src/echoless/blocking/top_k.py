"""Selection of the partners of a memory where it has more than are wanted.

A store in which ten thousand memories say one thing has fifty million close pairs. To form one
group, each memory needs its pair with the survivor; to find its own duplicate among ten thousand
similar memories it needs its closest. So of the partners before it, rows being in the order of
survival, a memory keeps some of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.pair_scores import DENSE, SEEN_ENOUGH

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_ROWS: Final = np.zeros(0, dtype=np.int64)
NO_SIMILARITIES: Final = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows as arrays of one length.

    Attributes:
        one: int64, the partner, which is the row before.
        other: int64, the row whose partners are wanted; `one < other`.
        similarity: float64, 0 to 1.
        cut: For how many rows partners were left out.
    """

    one: Ints
    other: Ints
    similarity: Floats
    cut: int = 0

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats]:
        """Returns the three columns."""
        return self.one, self.other, self.similarity

    def where(self, chosen: NDArray[np.bool_] | Ints | slice, cut: int = 0) -> Pairs:
        """Returns some of the pairs, with a new count of cut rows."""
        return Pairs(self.one[chosen], self.other[chosen], self.similarity[chosen], cut)


def together(parts: Sequence[Pairs]) -> Pairs:
    """Returns several blocks of pairs as one, in the order given."""
    return Pairs(
        np.concatenate([NO_ROWS, *(part.one for part in parts)]),
        np.concatenate([NO_ROWS, *(part.other for part in parts)]),
        np.concatenate([NO_SIMILARITIES, *(part.similarity for part in parts)]),
        sum(part.cut for part in parts),
    )


_STEADY: Final = 5
"""Decimals of a 32-bit product that hang on no order of summation."""


def nearest_of_each(unit: NDArray[np.float32]) -> Ints:
    """Returns for each row the other row of the highest product, the first of equals; int64.

    It multiplies all rows at once: for some thousand rows.

    Args:
        unit: Shape (rows, dimensions), float32; two rows at least.
    """
    # rounded, so that the order of a sum does not choose between equals
    product = np.round(unit @ unit.T, _STEADY)
    np.fill_diagonal(product, -np.inf)
    nearest: Ints = product.argmax(axis=1)
    return nearest


def kept_partners(pairs: Pairs, most: int) -> NDArray[np.bool_]:
    """Returns flags of the pairs to keep, at most `most` earlier partners for each row.

    Half of them, rounded up, are the first rows of similarity `DENSE` or more; the others the
    closest of the rest, ties to the first row. Rows with fewer partners keep all.

    Args:
        pairs: In any order.
        most: At least 1.

    Returns:
        Shape (pairs,), True for pairs to keep.
    """
    one, other, similarity = pairs.arrays
    keep = np.ones(len(one), dtype=np.bool_)
    crowded = np.bincount(other, minlength=1)[other] > most
    if not crowded.any():
        return keep
    inside = np.flatnonzero(crowded)
    sparse = similarity[inside] < DENSE
    first = _first(one[inside], other[inside], sparse.astype(np.float64), (most + 1) // 2)
    first &= ~sparse
    taken = np.bincount(other[inside][first], minlength=int(other.max()) + 1)
    rest = inside[~first]
    close = _first(one[rest], other[rest], -similarity[rest], most - taken[other[rest]])
    keep[rest[~close]] = False
    return keep


def before_enough(
    other: NDArray[np.int64],
    similarity: NDArray[np.float64],
    seen: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Returns which pairs come before their row has seen `SEEN_ENOUGH` partners from `DENSE` on.

    All join methods end there, so that the pairs found do not depend on the method.

    Args:
        other: Shape (pairs,), int64, ascending: the row whose partner it is; the partners of one
            row in their order.
        similarity: Shape (pairs,), float64.
        seen: Shape (rows,), int64: such partners each row saw before; those of these pairs are
            added.
    """
    near = (similarity >= DENSE).astype(np.int64)
    first = np.searchsorted(other, other)  # where the pairs of each row begin
    total = np.cumsum(near)
    before = total - near - (total - near)[first] if len(near) else near
    before += seen[other]
    np.add.at(seen, other, near)
    return before < SEEN_ENOUGH


def _first(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    rank: NDArray[np.float64],
    most: int | NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Returns which pairs are the `most` of lowest rank of each `other`, ties by `one`."""
    order = np.lexsort((one, rank, other))
    grouped = other[order]
    begins = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]]))
    counts = np.diff(np.append(begins, len(grouped)))
    place = np.arange(len(grouped)) - np.repeat(begins, counts)
    limit = most if isinstance(most, int) else most[order]
    chosen = np.zeros(len(one), dtype=np.bool_)
    chosen[order[place < limit]] = True
    return chosen


def closest_before(pairs: Pairs, most: int | None) -> Pairs:
    """Returns for each row the wanted partners among the rows before it.

    Args:
        pairs: All pairs of some rows; no other block holds pairs of these rows.
        most: Partners for each `other`, see `kept_partners`. None: all.

    Returns:
        Pairs ordered by `other`, then `one`.
    """
    if most is None:
        return pairs.where(np.lexsort((pairs.one, pairs.other)))
    keep = kept_partners(pairs, most)
    wanted = pairs.where(keep, len(np.unique(pairs.other[~keep])))
    return wanted.where(np.lexsort((wanted.one, wanted.other)), wanted.cut)


class Partners:
    """A collector of pairs in any order that keeps the wanted partners of each row.

    These are the closest, similarities of `DENSE` and more counting as equally close, then the
    first rows: a row that has enough partners from a crowd skips the rest of the crowd.
    """

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._heaps: dict[int, list[tuple[float, int, float]]] = {}
        self._cut: set[int] = set()

    def wants(self, one: int, other: int, bound: float) -> bool:
        """Returns whether a pair of at most this similarity could be a wanted one."""
        heap = self._heaps.get(other)
        if self.most is None or heap is None or len(heap) < self.most:
            return True
        self._cut.add(other)
        return (min(bound, DENSE), -one) > heap[0][:2]

    def full(self, other: int, *, more: bool) -> bool:
        """Returns whether a row has enough partners and all of them reach `DENSE`.

        Args:
            other: The row.
            more: Whether more candidates are left; a full row then counts as cut.
        """
        heap = self._heaps.get(other)
        if heap is None or len(heap) != self.most or heap[0][0] < DENSE:
            return False
        if more:
            self._cut.add(other)
        return True

    def add(self, one: int, other: int, similarity: float) -> None:
        """Adds a pair that passes the threshold, if it is wanted."""
        heap = self._heaps.setdefault(other, [])
        entry = (min(similarity, DENSE), -one, similarity)
        if self.most is None or len(heap) < self.most:
            heappush(heap, entry)
        else:
            heappushpop(heap, entry)

    def pairs(self) -> Pairs:
        """Returns the wanted pairs."""
        rows = [(-one, other, s) for other, heap in self._heaps.items() for _, one, s in heap]
        one, other, similarity = zip(*rows, strict=True) if rows else ((), (), ())
        pairs = Pairs(np.array(one, np.int64), np.array(other, np.int64), np.array(similarity))
        return replace(closest_before(pairs, None), cut=len(self._cut))
