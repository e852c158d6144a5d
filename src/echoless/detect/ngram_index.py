"""Exact all-pairs cosine of sparse TF-IDF rows, tile by tile, without a sparse-matrix library.

A prefix filter (rare terms first) is the textbook way, and pays at high thresholds. A detector that
serves recall works near cosine 0.25, where a prefix has to keep 1 - 0.25^2 = 94 % of the squared
length and rules out next to nothing. So every pair is scored, and the two kinds of terms each in
the way that is cheap for them:

* frequent terms (in at least `DENSE_SHARE` of the rows, at most `DENSE_TERMS`) in one dense float32
  product: common n-grams cost a fixed number of columns, however common they are;
* all others through their short postings.

The sum is the cosine up to float32 rounding; it only screens. What passes is scored again in
float64, term by term in a fixed order. Memory: a few tiles of `TILE` x `TILE`, whatever the number
of rows; the rows themselves are linear in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

TILE: Final = 1024
DENSE_TERMS: Final = 384
DENSE_SHARE: Final = 1 / 16
CHUNK: Final = 1 << 21
"""Postings expanded at a time."""

SCREEN_LOSS: Final = 1e-4
"""Relative error allowed for in the screen. All products are positive, so a float32 sum of
`DENSE_TERMS` of them is off by at most 384 * 2^-23 = 4.6e-5 of itself."""

DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class TermRows:
    """Sparse rows of unit length, one for each text.

    Attributes:
        starts: Shape (rows + 1,), int64: where each row begins in the two arrays below.
        terms: Shape (entries,), int64: term numbers, ascending within a row.
        weights: Shape (entries,), float64, positive; each row has Euclidean length 1.
        terms_in_all: Number of different terms.
    """

    starts: Ints
    terms: Ints
    weights: Floats
    terms_in_all: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1


def tf_idf(bags: Iterable[Sequence[str]], copies: Sequence[int]) -> TermRows:
    """TF-IDF rows.

    `weight = tf * (ln((1 + n) / (1 + df)) + 1)`, rows divided by their Euclidean length: raw counts
    and smooth idf, as scikit-learn documents for `TfidfTransformer(smooth_idf=True)`.

    Args:
        bags: Terms of each text with repeats, none empty. Read once, one at a time.
        copies: How many memories each text stands for; n and df count memories.
    """
    numbers: dict[str, int] = {}
    lengths: list[int] = []
    terms: list[int] = []
    counts: list[int] = []
    for bag in bags:
        counted = Counter(bag)
        lengths.append(len(counted))
        terms.extend(numbers.setdefault(term, len(numbers)) for term in counted)
        counts.extend(counted.values())
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    flat = np.array(terms, dtype=np.int64)
    owners = np.repeat(np.arange(len(copies)), lengths)
    order = np.lexsort((flat, owners))
    flat = flat[order]
    times = np.array(copies, dtype=np.float64)
    df = np.bincount(flat, weights=times[owners], minlength=len(numbers))
    idf = np.log((1.0 + times.sum()) / (1.0 + df)) + 1.0
    weights = np.array(counts, dtype=np.float64)[order] * idf[flat]
    if len(copies):
        weights /= np.sqrt(np.add.reduceat(weights**2, starts[:-1]))[owners]
    return TermRows(starts, flat, weights, len(numbers))


@dataclass(frozen=True, slots=True)
class _Tile:
    """Some rows, laid out for the product with another tile.

    Attributes:
        first: Number of its first row.
        dense: Shape (rows, frequent terms), float32.
        rare: Shape (r,), int64: the rare terms it holds, ascending.
        starts: Shape (r + 1,), int64: where the postings of each begin in the arrays below.
        posts: Rows of the postings, counted from the tile's first, int64.
        weights: Their weights, float64.
    """

    first: int
    dense: Singles
    rare: Ints
    starts: Ints
    posts: Ints
    weights: Floats


def similar_pairs(rows: TermRows, threshold: float) -> Iterator[tuple[int, int, float]]:
    """All pairs of rows whose cosine, rounded to six decimals, is at least `threshold`.

    Args:
        rows: Rows of unit length.
        threshold: 0 to 1, inclusive.

    Yields:
        `(row, other, cosine)` with row < other, each pair once.
    """
    exact = _Scorer(rows)
    cutoff = max(threshold * (1.0 - SCREEN_LOSS) - 10.0**-DECIMALS, 1e-7)
    tiles = _tiles(rows)
    for number, left in enumerate(tiles):
        for right in tiles[number:]:
            near = np.argwhere(_product(left, right) >= cutoff)
            near += (left.first, right.first)
            yield from exact.pairs(near[near[:, 0] < near[:, 1]], threshold)


def _tiles(rows: TermRows) -> list[_Tile]:
    columns = _dense_columns(rows)
    return [_tile(rows, first, columns) for first in range(0, rows.rows, TILE)]


def _dense_columns(rows: TermRows) -> Ints:
    """Column of each frequent term in the dense part, -1 for all others."""
    held = np.bincount(rows.terms, minlength=rows.terms_in_all)
    often = np.flatnonzero(held >= max(2.0, rows.rows * DENSE_SHARE))
    often = often[np.argsort(-held[often], kind="stable")][:DENSE_TERMS]
    columns = np.full(rows.terms_in_all, -1, dtype=np.int64)
    columns[often] = np.arange(len(often))
    return columns


def _tile(rows: TermRows, first: int, columns: Ints) -> _Tile:
    last = min(first + TILE, rows.rows)
    entries = slice(int(rows.starts[first]), int(rows.starts[last]))
    terms, weights = rows.terms[entries], rows.weights[entries]
    own = np.repeat(np.arange(last - first), np.diff(rows.starts[first : last + 1]))
    column = columns[terms]
    often = column >= 0
    dense = np.zeros((last - first, int(columns.max(initial=-1)) + 1), dtype=np.float32)
    dense[own[often], column[often]] = weights[often]
    own, terms, weights = own[~often], terms[~often], weights[~often]
    order = np.argsort(terms, kind="stable")
    rare, begins = np.unique(terms[order], return_index=True)
    starts = np.append(begins, len(terms)).astype(np.int64)
    return _Tile(first, dense, rare, starts, own[order], weights[order])


def _product(left: _Tile, right: _Tile) -> Floats:
    """Cosines of all pairs of two tiles up to float32 rounding, shape (rows, other rows)."""
    shape = len(left.dense), len(right.dense)
    sums = np.zeros(shape[0] * shape[1])
    for posts, others, products in _rare_products(left, right):
        sums += np.bincount(posts * shape[1] + others, weights=products, minlength=len(sums))
    return sums.reshape(shape) + left.dense @ right.dense.T


def _rare_products(left: _Tile, right: _Tile) -> Iterator[tuple[Ints, Ints, Floats]]:
    """For every rare term, each posting on the left with each on the right, in bounded chunks."""
    _, mine, theirs = np.intersect1d(left.rare, right.rare, assume_unique=True, return_indices=True)
    counts = left.starts[mine + 1] - left.starts[mine]
    entries = ranges(left.starts[mine], counts)
    begins = np.repeat(right.starts[theirs], counts)
    partners = np.repeat(right.starts[theirs + 1] - right.starts[theirs], counts)
    for chunk in chunks(partners, CHUNK):
        one = np.repeat(entries[chunk], partners[chunk])
        other = ranges(begins[chunk], partners[chunk])
        yield left.posts[one], right.posts[other], left.weights[one] * right.weights[other]


def ranges(starts: Ints, counts: Ints) -> Ints:
    """`start, start + 1, …` for each start, `count` numbers each, one after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Ints = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return numbers


def chunks(costs: Ints, limit: int) -> Iterator[slice]:
    """Cut positions into runs whose costs sum up to about `limit`, at least one position each."""
    ends = np.cumsum(costs)
    start, spent = 0, 0
    while start < len(costs):
        stop = max(start + 1, int(np.searchsorted(ends, spent + limit, side="right")))
        yield slice(start, stop)
        start, spent = stop, int(ends[stop - 1])


class _Scorer:
    """Exact cosines in float64, summed in the order of the second row's terms."""

    def __init__(self, rows: TermRows) -> None:
        self._rows = rows
        self._spread = np.zeros(rows.terms_in_all)

    def pairs(self, near: Ints, threshold: float) -> Iterator[tuple[int, int, float]]:
        """Score pairs, shape (pairs, 2) ordered by the first column, and keep the similar ones."""
        found, begins = np.unique(near[:, 0], return_index=True)
        for row, others in zip(found.tolist(), np.split(near[:, 1], begins[1:]), strict=False):
            cosines = self._cosines(row, others)
            for other, cosine in zip(others.tolist(), cosines.tolist(), strict=True):
                if cosine >= threshold:
                    yield row, other, cosine

    def _cosines(self, row: int, others: Ints) -> Floats:
        starts, terms, weights = self._rows.starts, self._rows.terms, self._rows.weights
        own = slice(int(starts[row]), int(starts[row + 1]))
        self._spread[terms[own]] = weights[own]
        counts = starts[others + 1] - starts[others]
        entries = ranges(starts[others], counts)
        products = self._spread[terms[entries]] * weights[entries]
        sums = np.add.reduceat(products, np.cumsum(counts) - counts)
        self._spread[terms[own]] = 0.0
        return np.minimum(np.round(sums, DECIMALS), 1.0)
