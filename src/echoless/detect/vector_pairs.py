"""Pairs of memories from pairs of vectors, as arrays; the array side of `semantic.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from echoless.detect.base import Proposed
from echoless.vectors.base import Matrix
from echoless.vectors.join import Hits, cosines, row_norms


def owned(matrix: Matrix, hits: Iterator[Hits]) -> Iterator[Proposed]:
    """Pairs of memories, from pairs of the rows they own; each once."""
    counts = np.bincount(matrix.owners, minlength=1)
    if int(counts.max(initial=0)) > 1:
        yield from _by_parts(matrix, counts, hits)
        return
    for i, j, cosine in hits:
        yield _proposed(matrix.owners[i], matrix.owners[j], cosine)


def _proposed(
    one: NDArray[np.int64], other: NDArray[np.int64], cosine: NDArray[np.float64]
) -> Proposed:
    return Proposed(one, other, np.maximum(cosine, 0.0))


def highest(found: Iterator[Iterator[Proposed]]) -> Iterator[Proposed]:
    """Each pair once, as the model sees it that sees it closest."""
    blocks = [block for pairs in found for block in pairs]
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


def _by_parts(
    matrix: Matrix, counts: NDArray[np.int64], hits: Iterator[Hits]
) -> Iterator[Proposed]:
    """Pairs of memories of which some have several rows."""
    norms, spans = row_norms(matrix.rows), _counts(matrix.owners)
    together: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for i, j, cosine in hits:
        one, other = matrix.owners[i], matrix.owners[j]
        plain = (counts[one] == 1) & (counts[other] == 1)
        if plain.any():
            yield _proposed(one[plain], other[plain], cosine[plain])
        parted = ~plain & (one != other)
        pairs = zip(one[parted].tolist(), other[parted].tolist(), strict=True)
        rows = zip(i[parted].tolist(), j[parted].tolist(), strict=True)
        for pair, (left, right) in zip(pairs, rows, strict=True):
            covered = together.setdefault(pair, (set(), set()))
            covered[0].add(left)
            covered[1].add(right)
    told = [
        (one, other, _symmetric(_table(matrix, norms, spans[one], spans[other])))
        for (one, other), covered in sorted(together.items())
        if len(covered[0]) == counts[one] or len(covered[1]) == counts[other]
    ]
    if told:
        first, second, similarity = zip(*told, strict=True)
        yield Proposed(np.array(first), np.array(second), np.array(similarity))


def measured(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> list[float | None]:
    """See `semantic.similarities`."""
    counts, norms = _counts(matrix.owners), row_norms(matrix.rows)
    return [
        _symmetric(_table(matrix, norms, counts[one], counts[other]))
        if one in counts and other in counts
        else None
        for one, other in pairs
    ]


def _counts(owners: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """First row and number of rows by owner; owners are sorted."""
    who, first, rows = np.unique(owners, return_index=True, return_counts=True)
    spans = zip(first.tolist(), rows.tolist(), strict=True)
    return dict(zip(who.tolist(), spans, strict=True))


def _table(
    matrix: Matrix, norms: NDArray[np.float64], one: tuple[int, int], other: tuple[int, int]
) -> NDArray[np.float64]:
    """Cosines of all parts of one memory (rows) with all parts of another (columns)."""
    i, j = np.indices((one[1], other[1]), dtype=np.int64)
    flat = cosines(matrix.rows, norms, i.ravel() + one[0], j.ravel() + other[0])
    return flat.reshape(one[1], other[1])


def _symmetric(table: NDArray[np.float64]) -> float:
    """Worst part's best match, lower of both directions, 0 to 1."""
    there, back = table.max(axis=1).min(), table.max(axis=0).min()
    return max(0.0, float(min(there, back)))
