"""Equal rows are one row: found by a hash, compared byte for byte, and put back afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import compiled
from echoless.vectors.join import Hits, Join, cosines
from echoless.vectors.signing import blocks
from echoless.vectors.spilling import mapped
from echoless.vectors.threads import in_order

_COMPILED_FROM: Final = 20_000
"""Rows from which loading the kernels costs less than it saves."""


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
        """Shape (classes,), int64: rows of each class."""
        return np.diff(self.starts)


def copies_of(rows: NDArray[np.float32]) -> Copies | None:
    """Classes of byte-identical rows; None where all differ."""
    hashes = _hashes(rows)
    _, first, of = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return None
    later = np.setdiff1d(np.arange(len(rows)), first)
    step = 1 << 14
    for start in range(0, len(later), step):
        some = later[start : start + step]
        if not np.array_equal(rows[some], rows[first[of[some]]]):
            _, first, of = np.unique(_as_bytes(rows), return_index=True, return_inverse=True)
            break
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    classes = rank[of]
    starts = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=len(first)))])
    return Copies(first[order], classes, np.argsort(classes, kind="stable"), starts)


def each_once(rows: NDArray[np.float32], copies: Copies) -> NDArray[np.float32]:
    """The first row of each class; rows that are mapped from the disk stay there.

    Returns:
        Shape (classes, dimensions), float32.

    Raises:
        StoreFull: There is no room for them on the disk.
    """
    if not isinstance(rows, np.memmap):
        return rows[copies.first]
    made = mapped((len(copies.first), rows.shape[1]))
    for some in blocks(len(made)):
        made[some] = rows[copies.first[some]]
    return made


def _hashes(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    if not compiled() or len(rows) < _COMPILED_FROM:
        return np.array([hash(row.tobytes()) for row in rows], dtype=np.int64).view(np.uint64)
    from echoless.vectors.bit_kernels import row_hashes  # noqa: PLC0415 - compiles

    words = np.ascontiguousarray(rows).view(np.uint32)
    told = np.empty(len(rows), dtype=np.uint64)
    tasks = (partial(row_hashes, words[some], told[some]) for some in blocks(len(rows)))
    for _ in in_order(tasks):
        pass
    return told


def _as_bytes(rows: NDArray[np.float32]) -> NDArray[np.void]:
    """Each row as one value."""
    whole = np.ascontiguousarray(rows)
    return whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()


def unfolded(copies: Copies, hits: Hits, *, star: bool) -> Hits:
    """Hits among the first rows of classes, as hits among all rows.

    Args:
        copies: Classes of rows.
        hits: Pairs of classes, numbered as in `copies.first`.
        star: Only the pairs with the first row of a class, which is what a star needs; else all.
    """
    parts = _crossed(copies, hits, star=star)
    i = np.minimum(parts[0], parts[1])
    j = np.maximum(parts[0], parts[1])
    return i, j, parts[2]


def within(join: Join, copies: Copies, *, star: bool) -> Hits:
    """Pairs of equal rows.

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
    kept = join.passes(cosine)
    return i[kept], j[kept], cosine[kept]


def _crossed(copies: Copies, hits: Hits, *, star: bool) -> Hits:
    one, other, cosine = hits
    members, starts, sizes = copies.members, copies.starts, copies.sizes
    if not star:
        many = sizes[one] * sizes[other]
        place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        width = np.repeat(sizes[other], many)
        left = members[np.repeat(starts[one], many) + place // width]
        right = members[np.repeat(starts[other], many) + place % width]
        return left, right, np.repeat(cosine, many)
    lefts, rights, told = [], [], []
    for here, there in ((one, other), (other, one)):
        many = sizes[there]
        place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        left = np.repeat(members[starts[here]], many)
        right = members[np.repeat(starts[there], many) + place]
        kept = left < right
        lefts.append(left[kept])
        rights.append(right[kept])
        told.append(np.repeat(cosine, many)[kept])
    return np.concatenate(lefts), np.concatenate(rights), np.concatenate(told)
