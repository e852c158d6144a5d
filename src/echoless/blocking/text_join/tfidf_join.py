"""An exact all-pairs cosine join of sparse TF-IDF rows, tile by tile, without a sparse library.

A prefix filter (rare terms first) is the textbook method, and pays at high thresholds. A detector
that serves recall works near cosine 0.25, where a prefix has to keep 1 - 0.25^2 = 94 % of the
squared length and rules out next to nothing. So an upper bound of every pair's cosine is computed,
by dense float32 products: the heaviest terms have a column each, the many rare ones share columns,
packed so that all carry about as much. In a column lies the length of the part of a row that falls
to it; by Cauchy and Schwarz the product of two lengths is no less than what the parts share.

The bound only screens. Pairs that pass are scored in float64, term by term in a fixed order. Where
only some partners are wanted, a row that has enough is screened for closer ones only. Memory: up to
`WIDEST` float32 columns a row, and two tiles of `TILE` x `TILE` a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Gate
from echoless.blocking.pair_scores import DECIMALS, DENSE, SEEN_ENOUGH
from echoless.blocking.text_join.shingling import chunks, in_order, ranges, starts_of
from echoless.blocking.text_join.tfidf_rows import Clues, TermRows, held_by, lengths_of, smooth_idf
from echoless.blocking.top_k import Pairs, closest_before, together

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

TILE: Final = 1024

STEP: Final = 128
WIDEST: Final = 4096
"""Columns of the bound: a multiple of `STEP`."""

EXCESS: Final = 0.3
"""Part of the threshold by which the bound of two unrelated rows may exceed their cosine, in the
mean."""

USUAL: Final = 0.2
"""Part of the threshold that the mean cosine of two rows may reach without a narrower bound. That
of sentences does not. Of 3,000 texts of 10 sentences, where it is .4, 1 pair in 50 passes a bound
by 4,096 columns, and every fourth one by 2,048."""

CHUNK: Final = 1 << 18
"""Postings scored at a time."""

SPREAD: Final = 1 << 20
"""Weights of terms laid out at a time, for the rows whose pairs are scored."""

SCREEN_LOSS: Final = 1e-3
"""Relative error allowed for in the screen. All products are positive, so a float32 sum of
`WIDEST` of them is off by at most 4096 * 2^-23 = 4.9e-4 of itself."""


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
        weights, terms = self.rows.weights, self.rows.terms
        weights[held_by(terms, len(self.rows.idf))[terms] < 2] = 0.0  # shared with no row
        columns = columns_for(self.rows, weights, self.gate.threshold)
        firsts = range(0, self.rows.rows, TILE)
        tiles = [_tile(self.rows, weights, columns, first) for first in firsts]
        del weights
        if self.most is None:
            both = ((left, right) for right in range(len(tiles)) for left in range(right + 1))
            yield from in_order(lambda two: self._near(tiles, *two, self._cutoff), both)
        else:
            yield from in_order(lambda at: self._closest(tiles, at), range(len(tiles)))

    @property
    def _cutoff(self) -> float:
        """Returns the screened cosine below which no pair can pass."""
        return max(self.gate.threshold * (1.0 - SCREEN_LOSS) - 10.0**-DECIMALS, 1e-7)

    def _closest(self, tiles: list[Singles], at: int) -> Pairs:
        """Returns the wanted partners of the rows of one tile."""
        first, size, most = at * TILE, len(tiles[at]), self.most or 0
        floor = np.full(size, self._cutoff)
        crowd = np.zeros(size, dtype=np.int64)
        cut = np.zeros(size, dtype=np.bool_)
        closest = together([])
        for left in range(at + 1):
            new = self._near(tiles, left, at, floor)
            pairs = together([closest, new])
            cut |= np.bincount(pairs.other - first, minlength=size) > most
            closest = closest_before(pairs, most)
            near = new.other[new.similarity >= DENSE] - first
            crowd += np.bincount(near, minlength=size)
            least = np.full(size, 2.0)
            np.minimum.at(least, closest.other - first, closest.similarity)
            closer = np.maximum(floor, least * (1.0 - SCREEN_LOSS) - 10.0**-DECIMALS)
            closer = np.where(crowd >= SEEN_ENOUGH, np.inf, closer)
            floor = np.where(cut, closer, floor)
        return replace(closest, cut=int(np.count_nonzero(cut)))

    def _near(self, tiles: list[Singles], left: int, right: int, floor: float | Floats) -> Pairs:
        """Returns the pairs of two tiles whose bound reaches a floor and whose cosine passes."""
        bounds = tiles[left] @ tiles[right].T
        near = bounds >= np.asarray(floor, dtype=np.float32)
        if left == right:
            near = np.triu(near, 1)
        one, other = np.divmod(np.flatnonzero(near), near.shape[1])
        one, other = one + left * TILE, other + right * TILE
        pairs = Pairs(one, other, cosines_of_pairs(self.rows, one, other))
        return pairs.where(self.gate.passing(pairs.similarity))


def columns_for(rows: TermRows, weights: Floats, threshold: float) -> tuple[Ints, int]:
    """Returns the column of each term, and how many columns there are.

    Terms that carry more than an equal share of the rest have a column for themselves. The others
    are dealt out from the heaviest to the lightest, back and forth.

    Args:
        rows: The rows.
        weights: Of their entries.
        threshold: Of the cosine. The means over all pairs, of the cosine and of what the bound has
            beyond it, are those of terms that occur independently.
    """
    mass = np.bincount(rows.terms, weights, minlength=len(rows.idf)) / max(1, rows.rows)
    order = np.argsort(-mass)
    mass = mass[order]
    mass = mass[: np.count_nonzero(mass)]
    rest = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    squares = np.append(np.cumsum(np.square(mass[::-1]))[::-1], 0.0)
    widths = np.arange(STEP, WIDEST + 1, STEP)
    # the columns from which on a term has one for itself grow with its place
    alone = np.searchsorted(np.arange(len(mass)) + rest[:-1] / mass, widths)
    alone = np.minimum(alone, widths - 1)
    beyond = np.square(rest[alone]) / (widths - alone) - squares[alone]
    allowed = threshold * EXCESS
    allowed -= max(0.0, float(squares[0]) - USUAL * threshold)
    best = int(np.argmax(beyond <= allowed)) if beyond[-1] <= allowed else -1
    width, own = int(widths[best]), int(alone[best])
    turn, place = np.divmod(np.arange(len(order) - own), width - own)
    dealt = own + np.where(turn % 2, width - own - 1 - place, place)
    columns = np.empty(len(order), dtype=np.int64)
    columns[order] = np.concatenate([np.arange(own), dealt])
    return columns, width


def _tile(rows: TermRows, weights: Floats, columns: tuple[Ints, int], first: int) -> Singles:
    """Returns the lengths of the parts of the rows of a tile; shape (rows, columns), float32."""
    column, width = columns
    last = min(first + TILE, rows.rows)
    own = slice(int(rows.starts[first]), int(rows.starts[last]))
    owners = np.repeat(np.arange(last - first), np.diff(rows.starts[first : last + 1]))
    cells = owners * width + column[rows.terms[own]]
    squares = np.bincount(cells, np.square(weights[own]), minlength=(last - first) * width)
    return np.sqrt(squares).astype(np.float32).reshape(last - first, width)


def cosines_of_pairs(rows: TermRows, one: Ints, other: Ints) -> Floats:
    """Returns exact cosines in float64, summed in the order of the second row's terms.

    Args:
        rows: All rows.
        one: Numbers of rows, all pairs of a row one after the other.
        other: Numbers of their partners.
    """
    cosines = np.empty(len(one))
    known = len(rows.idf)
    begins = np.flatnonzero(np.diff(one, prepend=-1))
    ends = np.append(begins[1:], len(one))
    at_once = max(1, min(SPREAD // max(1, known), len(begins)))
    spread = np.zeros(at_once * known)
    lengths = np.diff(rows.starts)
    for turn in range(0, len(begins), at_once):
        own = one[begins[turn : turn + at_once]]
        places = known * np.arange(len(own))
        entries = ranges(rows.starts[own], lengths[own])
        terms = rows.terms[entries]
        cells = terms + np.repeat(places, lengths[own])
        spread[cells] = rows.counts[entries] * np.square(rows.idf[terms])
        span = slice(int(begins[turn]), int(ends[turn : turn + at_once][-1]))
        row = np.repeat(places, (ends - begins)[turn : turn + at_once])
        partners = other[span]
        for some in chunks(lengths[partners], CHUNK):
            sizes = lengths[partners[some]]
            entries = ranges(rows.starts[partners[some]], sizes)
            products = spread[rows.terms[entries] + np.repeat(row[some], sizes)]
            products *= rows.counts[entries]
            pairs = np.repeat(np.arange(len(sizes)), sizes)
            cosines[span][some] = np.bincount(pairs, products, len(sizes))
        spread[cells] = 0.0
    cosines /= rows.lengths[one] * rows.lengths[other]
    return np.minimum(np.round(cosines, DECIMALS, out=cosines), 1.0, out=cosines)


Numbers = NDArray[np.int32]
Shares = NDArray[np.uint16]

POSTINGS: Final = 4_096
"""Postings read for a text, rarest words first; also the longest list kept for a word."""

LOOKED_AT: Final = 64
"""Texts scored exactly for each, or twice as many as are wanted if that is more."""

ROWS_AT_ONCE: Final = 4_096
SCALE: Final = 256
"""Shares are whole multiples of 1 / SCALE, so that their sums do not depend on their order."""


@dataclass(frozen=True, slots=True)
class Postings:
    """An inverted index: the rows that hold each clue.

    Attributes:
        begins: Shape (clues + 1,), int64: where the rows of each begin in the arrays below.
        posts: int32: rows, ascending for each clue, the first `POSTINGS` of them.
        shares: uint16: squared idf of the clue over the length of the row, times `SCALE`.
    """

    begins: Ints
    posts: Numbers
    shares: Shares


@dataclass(slots=True)
class WordingJoin:
    """An approximate join of texts with themselves.

    Attributes:
        rows: Their n-grams, better survivors first.
        clues: Their words.
        gate: Which similarities pass.
        most: Partners wanted for each text among those before it, see `closest_before`.
        verified: Pairs scored so far.
    """

    rows: TermRows
    clues: Clues
    gate: Gate
    most: int
    verified: int = field(default=0, init=False)

    def pairs(self) -> Iterator[Pairs]:
        """Yields blocks of pairs, ordered by `other`; each pair once."""
        count, clues = self.rows.rows, self.clues
        idf = smooth_idf(count, clues.held)
        lengths = lengths_of(clues.starts, clues.terms, None, idf)
        worth = np.square(idf, out=idf)
        worth *= SCALE
        sizes = np.minimum(clues.held, POSTINGS)
        order = np.argsort(clues.terms, kind="stable")
        order = order[ranges(starts_of(clues.held)[:-1], sizes)]
        posts = np.repeat(np.arange(count, dtype=np.int32), np.diff(clues.starts))[order]
        shares = np.rint(worth[clues.terms[order]] / lengths[posts]).astype(np.uint16)
        index = Postings(starts_of(sizes), posts, shares)
        scored = max(LOOKED_AT, 2 * self.most)  # texts that are compared exactly with each
        for begin in range(0, count, ROWS_AT_ONCE):
            rows = np.arange(begin, min(begin + ROWS_AT_ONCE, count))
            near, row = partners_by_clues(clues, index, (worth, lengths), rows, scored)
            self.verified += len(near)
            pairs = Pairs(near, row, cosines_of_pairs(self.rows, row, near))
            yield closest_before(pairs.where(self.gate.passing(pairs.similarity)), self.most)


def most_in_common(
    clues: Clues, index: Postings, weights: tuple[Floats, Floats], row: int, looked_at: int
) -> Ints:
    """Returns the rows before `row` that share most of its rarest clues.

    Half of them, rounded up, are the first rows that share nearly all; see `kept_partners`.

    Args:
        clues: Of all rows.
        index: Rows of each clue.
        weights: Squared idf of each clue, scaled, and lengths of the rows.
        row: The row that wants partners.
        looked_at: Partners, at most.
    """
    worth, lengths = weights
    starts, left, own = clues.starts, POSTINGS, 0.0
    spans = []
    for term in clues.terms[starts[row] : starts[row + 1]].tolist():
        if not left:
            break
        own += float(np.rint(worth[term] / lengths[row]))
        begin = int(index.begins[term])
        posts = index.posts[begin : min(int(index.begins[term + 1]), begin + left)]
        size = int(np.searchsorted(posts, row))
        spans.append((begin, size))
        left -= size
    places = np.concatenate([np.zeros(0, np.int64), *(b + np.arange(s) for b, s in spans)])
    partners, where = np.unique(index.posts[places], return_inverse=True)
    sums = np.bincount(where, index.shares[places], minlength=len(partners))
    first = np.flatnonzero(sums >= max(1, int(own * DENSE)))[: (looked_at + 1) // 2]
    rest = np.setdiff1d(np.flatnonzero(sums), first)
    close = rest[np.lexsort((partners[rest], -sums[rest]))[: looked_at - len(first)]]
    chosen: Ints = partners[np.concatenate([first, close])].astype(np.int64)
    return chosen


def partners_by_clues(
    clues: Clues, index: Postings, weights: tuple[Floats, Floats], rows: Ints, looked_at: int
) -> tuple[Ints, Ints]:
    """Returns the partners of some rows, as `WordingJoin` selects them before scoring.

    Args:
        clues: Of all rows.
        index: Rows of each clue, at least for the clues of `rows`.
        weights: As for `most_in_common`.
        rows: Rows that need partners.
        looked_at: Partners of a row, at most.

    Returns:
        Partners, and the row of each, in the order of `rows`; int64.
    """
    chosen = [most_in_common(clues, index, weights, row, looked_at) for row in rows.tolist()]
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *chosen]), np.repeat(rows, [len(each) for each in chosen])
