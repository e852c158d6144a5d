"""The similarity self-join: pairs of rows whose cosine reaches a threshold, each exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Proposed
from echoless.blocking.vector_join.exact_join import (
    Hits,
    Join,
    JoinWork,
    blocks,
    cosines,
    product_pairs,
    row_norms,
)
from echoless.models.encoders.base import Matrix
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
    hashes = np.array([hash(row.tobytes()) for row in rows], dtype=np.int64).view(np.uint64)
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


def unfolded(copies: Copies, hits: Hits) -> Hits:
    """Returns hits among the first rows of classes as hits among all rows.

    They are only the pairs with the first row of a class, which is what a star needs.

    Args:
        copies: Classes of rows.
        hits: Pairs of classes, numbered as in `copies.first`.
    """
    one, other, cosine = hits
    members, starts, sizes = copies.members, copies.starts, copies.sizes
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


def within(join: Join, copies: Copies) -> Hits:
    """Returns the pairs of equal rows with the first one whose cosine passes.

    Args:
        join: Rows and threshold; a pair counts only if the cosine of its rows passes.
        copies: Classes of the rows.
    """
    pairs_i, pairs_j = [], []
    for group in np.flatnonzero(copies.sizes > 1).tolist():
        rows = copies.members[copies.starts[group] : copies.starts[group + 1]]
        pairs_i.append(np.full(len(rows) - 1, rows[0]))
        pairs_j.append(rows[1:])
    i, j = np.concatenate(pairs_i), np.concatenate(pairs_j)
    of_first = cosines(join.rows, join.norms, copies.first, copies.first)
    cosine = of_first[copies.of[i]]
    passing = join.passes(cosine)
    return i[passing], j[passing], cosine[passing]


FOLD_FROM: Final = 8
"""From this many equal rows on, the rows are compared as one row."""


def similar_pairs(
    rows: NDArray[np.float32],
    threshold: float,
    *,
    inclusive: bool = True,
    most: int | None = None,
    work: JoinWork | None = None,
) -> Iterator[Hits]:
    """Yields pairs i < j with cosine at or above a threshold, each once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; of any length whose square float32
            holds (`models/encoders/vector_matrix.py` brings others to length 1); may be
            memory-mapped.
        threshold: -1 to 1.
        inclusive: False asks for cosines above the threshold.
        most: Partners before it (with a lower number) that a row needs, see `kept_partners`; where
            rows are equal, their pairs with the first of them. None for every pair.
        work: Takes the counts.

    Yields:
        Hits in a fixed order; arrays are never empty. Cosines are those of
        `exact_join.pairs_above`.

    Raises:
        ValueError: A row is zero or not finite.
    """
    work = JoinWork() if work is None else work
    join = Join(rows, row_norms(rows), threshold, inclusive)
    if len(rows) < 2:
        return
    copies = copies_of(rows) if len(rows) >= FOLD_FROM and most is not None else None
    if copies is None or int(copies.sizes.max()) < FOLD_FROM:
        yield from product_pairs(join, most, work)
        return
    yield from _filled(within(join, copies))
    once = Join(each_once(rows, copies), join.norms[copies.first], threshold, inclusive)
    for hits in product_pairs(once, most, work):
        yield from _filled(unfolded(copies, hits))


def _filled(hits: Hits) -> Iterator[Hits]:
    """Yields hits if there are any."""
    if len(hits[0]):
        yield hits


# ------------------------------------------------------------------ pairs of memories


def owned(matrix: Matrix, hits: Iterator[Hits]) -> Iterator[Proposed]:
    """Yields pairs of memories, from pairs of the rows they own; each once.

    A pair of memories with several rows counts if each part of one of them has a partner.
    """
    counts = np.bincount(matrix.owners, minlength=1)
    if int(counts.max(initial=0)) <= 1:
        for i, j, cosine in hits:
            yield Proposed(matrix.owners[i], matrix.owners[j], np.maximum(cosine, 0.0))
        return
    norms, spans = row_norms(matrix.rows), _spans(matrix.owners)
    covered: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for i, j, cosine in hits:
        one, other = matrix.owners[i], matrix.owners[j]
        plain = (counts[one] == 1) & (counts[other] == 1)
        if plain.any():
            yield Proposed(one[plain], other[plain], np.maximum(cosine[plain], 0.0))
        parted = ~plain & (one != other)
        pairs = zip(one[parted].tolist(), other[parted].tolist(), strict=True)
        rows = zip(i[parted].tolist(), j[parted].tolist(), strict=True)
        for pair, (left, right) in zip(pairs, rows, strict=True):
            parts = covered.setdefault(pair, (set(), set()))
            parts[0].add(left)
            parts[1].add(right)
    similar = [
        (one, other, _symmetric(_table(matrix, norms, spans[one], spans[other])))
        for (one, other), parts in sorted(covered.items())
        if len(parts[0]) == counts[one] or len(parts[1]) == counts[other]
    ]
    if similar:
        first, second, similarity = zip(*similar, strict=True)
        yield Proposed(np.array(first), np.array(second), np.array(similarity))


def highest(by_model: Iterator[Iterator[Proposed]]) -> Iterator[Proposed]:
    """Yields each pair once, with the highest similarity that any model gave it."""
    blocks = [block for pairs in by_model for block in pairs]
    if not blocks:
        return
    one = np.concatenate([block.one for block in blocks])
    other = np.concatenate([block.other for block in blocks])
    similarity = np.concatenate([block.similarity for block in blocks])
    order = np.lexsort((-similarity, other, one))
    one, other, similarity = one[order], other[order], similarity[order]
    first = np.ones(len(one), dtype=np.bool_)
    first[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    yield Proposed(one[first], other[first], similarity[first])


def measured(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> list[float | None]:
    """Returns the similarity of each given pair, whatever it is, as `semantic` would report it.

    Args:
        matrix: Vectors of some memories.
        pairs: Positions of memories, as in `matrix.owners`.

    Returns:
        0 to 1, rounded to six decimals; None where one of the two has no vector in the matrix.
    """
    spans, norms = _spans(matrix.owners), row_norms(matrix.rows)
    return [
        _symmetric(_table(matrix, norms, spans[one], spans[other]))
        if one in spans and other in spans
        else None
        for one, other in pairs
    ]


def _spans(owners: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Returns first row and number of rows by owner; owners are sorted."""
    who, first, rows = np.unique(owners, return_index=True, return_counts=True)
    spans = zip(first.tolist(), rows.tolist(), strict=True)
    return dict(zip(who.tolist(), spans, strict=True))


def _table(
    matrix: Matrix, norms: NDArray[np.float64], one: tuple[int, int], other: tuple[int, int]
) -> NDArray[np.float64]:
    """Returns cosines of all parts of one memory (rows) with all parts of another (columns)."""
    i, j = np.indices((one[1], other[1]), dtype=np.int64)
    flat = cosines(matrix.rows, norms, i.ravel() + one[0], j.ravel() + other[0])
    return flat.reshape(one[1], other[1])


def _symmetric(table: NDArray[np.float64]) -> float:
    """Returns the worst part's best match, the lower of both directions, 0 to 1."""
    forward, backward = table.max(axis=1).min(), table.max(axis=0).min()
    return max(0.0, float(min(forward, backward)))
