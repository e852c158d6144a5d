"""An exact all-pairs cosine join of sparse TF-IDF rows, tile by tile, without a sparse library.

A prefix filter (rare terms first) is the textbook method, and pays at high thresholds. A detector
that serves recall works near cosine 0.25, where a prefix has to keep 1 - 0.25^2 = 94 % of the
squared length and rules out next to nothing. So every pair is scored, and each of the two kinds of
terms by the cheaper method:

* frequent terms (in at least `DENSE_SHARE` of the rows, at most `DENSE_TERMS`) in one dense float32
  product: common n-grams cost a fixed number of columns, however common they are;
* all others through their short postings.

The sum is the cosine up to float32 rounding; it only screens. Pairs that pass are scored again in
float64, term by term in a fixed order. Where only some partners are wanted, a row that has enough
is screened for closer ones only. Memory: a few tiles of `TILE` x `TILE`, whatever the number of
rows; the rows themselves are linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Gate
from echoless.blocking.similarities import DECIMALS, DENSE, SEEN_ENOUGH
from echoless.blocking.text_join.shingling import chunks, in_order, loops_loaded, ranges
from echoless.blocking.text_join.tfidf_rows import TermRows
from echoless.blocking.top_k import Pairs, closest_before, together
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.blocking.text_join import lexical_kernels as kernels
else:
    kernels = lazy_module("echoless.blocking.text_join.lexical_kernels")

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


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile of rows, laid out for the product with another tile.

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


@dataclass(frozen=True, slots=True)
class Likeness:
    """An exact join of rows with themselves.

    Attributes:
        rows: Rows of unit length.
        gate: Which cosines pass, rounded to six decimals.
        most: Partners wanted for each row among those before it, see `closest_before`; None: all.
    """

    rows: TermRows
    gate: Gate
    most: int | None = None

    def pairs(self) -> Iterator[Pairs]:
        """Yields blocks of pairs; each pair once."""
        rows = self.rows
        held = np.bincount(rows.terms, minlength=len(rows.idf))
        often = np.flatnonzero(held >= max(2.0, rows.rows * DENSE_SHARE))
        often = often[np.argsort(-held[often], kind="stable")][:DENSE_TERMS]
        columns = np.full(len(rows.idf), -1, dtype=np.int64)
        columns[often] = np.arange(len(often))
        tiles = [_tile(rows, first, columns) for first in range(0, rows.rows, TILE)]
        if self.most is None:
            both = ((left, right) for at, right in enumerate(tiles) for left in tiles[: at + 1])
            yield from in_order(lambda two: self._near(*two, self._cutoff)[0], both)
        else:
            yield from in_order(lambda at: self._closest(tiles, at), range(len(tiles)))

    @property
    def _cutoff(self) -> float:
        """Returns the screened cosine below which no pair can pass."""
        return max(self.gate.threshold * (1.0 - SCREEN_LOSS) - 10.0**-DECIMALS, 1e-7)

    def _closest(self, tiles: list[_Tile], at: int) -> Pairs:
        """Returns the wanted partners of the rows of one tile."""
        right, most = tiles[at], self.most or 0
        floor = np.full(len(right.dense), self._cutoff)
        crowd = np.zeros(len(floor), dtype=np.int64)
        cut = np.zeros(len(floor), dtype=np.bool_)
        closest = together([])
        for left in tiles[: at + 1]:
            new, passed_over = self._near(left, right, floor)
            pairs = together([closest, new])
            counts = np.bincount(pairs.other - right.first, minlength=len(floor))
            cut |= passed_over | (counts > most)
            closest = closest_before(pairs, most)
            near = new.other[new.similarity >= DENSE] - right.first
            crowd += np.bincount(near, minlength=len(floor))
            least = np.full(len(floor), 2.0)
            np.minimum.at(least, closest.other - right.first, closest.similarity)
            closer = np.maximum(floor, least * (1.0 - SCREEN_LOSS) - 10.0**-DECIMALS)
            closer = np.where(crowd >= SEEN_ENOUGH, np.inf, closer)
            floor = np.where(counts >= most, closer, floor)
        return replace(closest, cut=int(np.count_nonzero(cut)))

    def _near(
        self, left: _Tile, right: _Tile, floor: float | Floats
    ) -> tuple[Pairs, NDArray[np.bool_]]:
        """Returns the pairs of two tiles that pass, and which rows had pairs below their floor."""
        product = _product(left, right, loops=loops_loaded())
        if left.first == right.first:
            product = np.triu(product, 1)
        near = product >= floor
        one, other = np.nonzero(near)
        passed_over = np.asarray(((product >= self._cutoff) & ~near).any(axis=0))
        one, other = one + left.first, other + right.first
        pairs = Pairs(one, other, cosines_of_pairs(self.rows, one, other))
        return pairs.where(self.gate.passing(pairs.similarity)), passed_over


def _tile(rows: TermRows, first: int, columns: Ints) -> _Tile:
    """Returns the tile that begins at a row.

    Args:
        rows: All rows.
        first: Number of the tile's first row.
        columns: Column of each frequent term in the dense part, -1 for all other terms.
    """
    last = min(first + TILE, rows.rows)
    entries = slice(int(rows.starts[first]), int(rows.starts[last]))
    terms = rows.terms[entries]
    own: Ints = np.repeat(np.arange(last - first), np.diff(rows.starts[first : last + 1]))
    weights = rows.counts[entries] * rows.idf[terms] / rows.lengths[first:last][own]
    column = columns[terms]
    often = column >= 0
    dense = np.zeros((last - first, int(columns.max(initial=-1)) + 1), dtype=np.float32)
    dense[own[often], column[often]] = weights[often]
    own, terms, weights = own[~often], terms[~often], weights[~often]
    order = np.argsort(terms, kind="stable")
    rare, begins = np.unique(terms[order].astype(np.int64), return_index=True)
    starts = np.append(begins, len(terms)).astype(np.int64)
    return _Tile(first, dense, rare, starts, own[order], weights[order])


def _product(left: _Tile, right: _Tile, *, loops: bool) -> Floats:
    """Returns the cosines of all pairs of two tiles up to float32 rounding.

    Args:
        left: One tile.
        right: The other tile.
        loops: Whether compiled loops are used.

    Returns:
        Shape (rows of left, rows of right).
    """
    dense = left.dense @ right.dense.T
    if loops:
        sums = dense.astype(np.float64)
        one, other = ((t.rare, t.starts, t.posts, t.weights) for t in (left, right))
        kernels.add_rare(one, other, sums)
        return sums
    # for every rare term, each posting on the left with each on the right, in bounded chunks
    _, at, place = np.intersect1d(left.rare, right.rare, assume_unique=True, return_indices=True)
    counts = left.starts[at + 1] - left.starts[at]
    entries = ranges(left.starts[at], counts)
    begins = np.repeat(right.starts[place], counts)
    partners = np.repeat(right.starts[place + 1] - right.starts[place], counts)
    flat = np.zeros(dense.size)
    for chunk in chunks(partners, CHUNK):
        mine = np.repeat(entries[chunk], partners[chunk])
        theirs = ranges(begins[chunk], partners[chunk])
        cells = left.posts[mine] * dense.shape[1] + right.posts[theirs]
        products = left.weights[mine] * right.weights[theirs]
        flat += np.bincount(cells, weights=products, minlength=len(flat))
    return flat.reshape(dense.shape) + dense


def cosines_of_pairs(rows: TermRows, one: Ints, other: Ints) -> Floats:
    """Returns exact cosines in float64, summed in the order of the second row's terms."""
    cosines = np.empty(len(one))
    if loops_loaded():
        kernels.cosines(kernels.Grams(*rows.columns), one, other, cosines)
        return cosines
    spread = np.zeros(len(rows.idf))
    bounds = np.flatnonzero(np.r_[True, np.diff(one) != 0, True][: len(one) + 1])
    for begin, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
        cosines[begin:end] = cosines_of(rows, int(one[begin]), other[begin:end], spread)
    return cosines


def cosines_of(rows: TermRows, row: int, others: Ints, spread: Floats) -> Floats:
    """Returns exact cosines of one row with others, rounded.

    Args:
        rows: All rows.
        row: Number of the one row.
        others: Numbers of the others, int64.
        spread: Shape (terms,), zero; it is used meanwhile and zero again afterwards.
    """
    own = slice(int(rows.starts[row]), int(rows.starts[row + 1]))
    spread[rows.terms[own]] = rows.counts[own] * np.square(rows.idf[rows.terms[own]])
    sizes = rows.starts[others + 1] - rows.starts[others]
    entries = ranges(rows.starts[others], sizes)
    products = spread[rows.terms[entries]] * rows.counts[entries]
    sums = np.bincount(np.repeat(np.arange(len(others)), sizes), products, len(others))
    spread[rows.terms[own]] = 0.0
    cosines: Floats = np.round(sums / (rows.lengths[row] * rows.lengths[others]), DECIMALS)
    return np.minimum(cosines, 1.0, out=cosines)
