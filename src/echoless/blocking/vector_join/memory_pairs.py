"""Pairs of memories from pairs of vectors, as arrays, for the semantic detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Proposed
from echoless.blocking.known_pairs import KnownPairs
from echoless.blocking.vector_join.exact_join import Hits, Join, KnownHits, cosines, row_norms
from echoless.models.encoders.base import Matrix


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


def known_rows(matrix: Matrix, known: KnownPairs, join: Join) -> KnownHits:
    """Returns the known hits of a join as pairs of rows; each memory owns one row at most."""
    row_of = np.full(len(known.asked), -1, dtype=np.int64)
    row_of[matrix.owners] = np.arange(len(matrix.owners))
    above = join.passes(known.similarity)  # a closest memory may be closest no longer
    hits = row_of[known.one[above]], row_of[known.other[above]], known.similarity[above]
    known.used = True
    return KnownHits(hits, np.flatnonzero(known.asked[matrix.owners]))


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
    """Returns the similarity of each given pair, see `semantic.similarities`."""
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
