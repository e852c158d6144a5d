"""Classes of equal rows, which a join compares as one row and expands afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import Hits, Join, blocks, cosines
from echoless.models.encoders.memory_mapped import mapped


@dataclass(frozen=True, slots=True)
class Copies:
    """Classes of equal rows.

    Attributes:
        first: Shape (classes,), int64, ascending: the first row of each class.
        of: Shape (rows,), int64: the class of each row.
        members: Shape (rows,), int64: rows class by class, ascending within each.
        starts: Shape (classes + 1,), int64: where each class begins in `members`.
    """

    first: NDArray[np.int64]
    of: NDArray[np.int64]
    members: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Returns the number of rows of each class; shape (classes,), int64."""
        return np.diff(self.starts)


def copies_of(rows: NDArray[np.float32]) -> Copies | None:
    """Returns the classes of byte-identical rows; None where all differ."""
    hashes = _hashes(rows)
    _, first, of = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return None
    later = np.setdiff1d(np.arange(len(rows)), first)
    step = 1 << 14
    for start in range(0, len(later), step):
        some = later[start : start + step]
        if not np.array_equal(rows[some], rows[first[of[some]]]):
            # two different rows share a hash: each row as one value of bytes instead
            whole = np.ascontiguousarray(rows)
            row_type = np.dtype((np.void, whole.itemsize * whole.shape[1]))
            as_bytes = whole.view(row_type).ravel()
            _, first, of = np.unique(as_bytes, return_index=True, return_inverse=True)
            break
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    classes = rank[of]
    starts = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=len(first)))])
    return Copies(first[order], classes, np.argsort(classes, kind="stable"), starts)


def each_once(rows: NDArray[np.float32], copies: Copies) -> NDArray[np.float32]:
    """Returns the first row of each class; rows mapped from the disk give rows on the disk.

    Returns:
        Shape (classes, dimensions), float32.

    Raises:
        StoreFull: There is no room for them on the disk.
    """
    if not isinstance(rows, np.memmap):
        return rows[copies.first]
    first_rows = mapped((len(copies.first), rows.shape[1]))
    for some in blocks(len(first_rows)):
        first_rows[some] = rows[copies.first[some]]
    return first_rows


def _hashes(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Returns a hash of each row; equal rows have equal hashes."""
    return np.array([hash(row.tobytes()) for row in rows], dtype=np.int64).view(np.uint64)


def unfolded(copies: Copies, hits: Hits, *, star: bool) -> Hits:
    """Returns hits among the first rows of classes as hits among all rows.

    Args:
        copies: Classes of rows.
        hits: Pairs of classes, numbered as in `copies.first`.
        star: Only the pairs with the first row of a class, which is what a star needs; else all.
    """
    one, other, cosine = hits
    members, starts, sizes = copies.members, copies.starts, copies.sizes
    if not star:
        many = sizes[one] * sizes[other]
        place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        width = np.repeat(sizes[other], many)
        left = members[np.repeat(starts[one], many) + place // width]
        right = members[np.repeat(starts[other], many) + place % width]
        return np.minimum(left, right), np.maximum(left, right), np.repeat(cosine, many)
    lefts, rights, repeated = [], [], []
    for first, rest in ((one, other), (other, one)):
        many = sizes[rest]
        place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        left = np.repeat(members[starts[first]], many)
        right = members[np.repeat(starts[rest], many) + place]
        ahead = left < right
        lefts.append(left[ahead])
        rights.append(right[ahead])
        repeated.append(np.repeat(cosine, many)[ahead])
    return np.concatenate(lefts), np.concatenate(rights), np.concatenate(repeated)


def within(join: Join, copies: Copies, *, star: bool) -> Hits:
    """Returns the pairs of equal rows whose cosine passes.

    Args:
        join: Rows and threshold; a pair counts only if the cosine of its rows passes.
        copies: Classes of the rows.
        star: Only the pairs with the first row of a class; else all.
    """
    pairs_i, pairs_j = [], []
    for group in np.flatnonzero(copies.sizes > 1).tolist():
        rows = copies.members[copies.starts[group] : copies.starts[group + 1]]
        if star:
            pairs_i.append(np.full(len(rows) - 1, rows[0]))
            pairs_j.append(rows[1:])
        else:
            a, b = np.triu_indices(len(rows), k=1)
            pairs_i.append(rows[a])
            pairs_j.append(rows[b])
    i, j = np.concatenate(pairs_i), np.concatenate(pairs_j)
    of_first = cosines(join.rows, join.norms, copies.first, copies.first)
    cosine = of_first[copies.of[i]]
    passing = join.passes(cosine)
    return i[passing], j[passing], cosine[passing]
