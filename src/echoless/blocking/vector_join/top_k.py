"""Selection of the pairs of a crowd: the closest, and those with the best survivors.

A store in which ten thousand memories say one thing has fifty million close pairs. To form one
group, each memory needs its pair with the survivor; to find its own duplicate among ten thousand
similar memories it needs its closest. So of the partners before it, rows being in the order of
survival, a memory keeps some of both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.dense_limits import DENSE, SEEN_ENOUGH


def kept_partners(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    similarity: NDArray[np.float64],
    most: int,
) -> NDArray[np.bool_]:
    """Returns which pairs to keep so that each row has at most `most` partners before it.

    Half of them, rounded up, are the first rows of similarity `DENSE` or more; the others the
    closest of the rest, ties to the first row. Rows with fewer partners keep all.

    Args:
        one: Shape (pairs,), int64: the partner, which is the row before.
        other: Shape (pairs,), int64: the row whose partner it is.
        similarity: Shape (pairs,), float64.
        most: At least 1.

    Returns:
        Shape (pairs,), True for pairs to keep.
    """
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
    seen: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Returns which pairs come before their row has seen `SEEN_ENOUGH` partners from `DENSE` on.

    All join methods end there, so that the pairs found do not depend on the method.

    Args:
        other: Shape (pairs,), int64, ascending: the row whose partner it is; the partners of one
            row in their order.
        similarity: Shape (pairs,), float64.
        seen: Shape (rows,), int64: such partners each row saw before; those of these pairs are
            added. None: no row saw any.
    """
    near = (similarity >= DENSE).astype(np.int64)
    first = np.searchsorted(other, other)  # where the pairs of each row begin
    total = np.cumsum(near)
    before = total - near - (total - near)[first] if len(near) else near
    if seen is None:
        return before < SEEN_ENOUGH
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
