"""Texts as rows of numbered terms: character n-grams for the cosine, words to find partners by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.shingling import (
    BATCH,
    Runs,
    distinct,
    gram_runs,
    in_order,
    ranges,
    starts_of,
    word_pair_runs,
    word_runs,
)
from echoless.core.batches import batched

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Counts = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_AT_ONCE = 1 << 20
"""Terms numbered anew at a time."""

Counted = tuple[Runs, NDArray[np.int32]]
"""Runs without repeats, and how often each number occurs."""


@dataclass(frozen=True, slots=True)
class TermRows:
    """TF-IDF rows, one for each text; five bytes an entry where no term occurs 256 times.

    `weight = tf * idf / length` with `idf = ln((1 + n) / (1 + df)) + 1`: raw counts and smooth idf,
    as scikit-learn documents for `TfidfTransformer(smooth_idf=True)`, and Euclidean length 1.

    Attributes:
        starts: Shape (rows + 1,), int64: where each row begins in the two arrays below.
        terms: Shape (entries,), int32: term numbers, each once in a row. Their order within a row
            follows from the terms alone, so sums over a row are the same whatever rows there are.
        counts: Shape (entries,), unsigned: how often each occurs.
        idf: Shape (terms in all,), float64.
        lengths: Shape (rows,), float64: Euclidean length before the division.
    """

    starts: Ints
    terms: Numbers
    counts: Counts
    idf: Floats
    lengths: Floats

    @property
    def rows(self) -> int:
        """Returns the number of rows."""
        return len(self.starts) - 1

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Returns which rows have terms; shape (rows,)."""
        return np.diff(self.starts) > 0

    @property
    def owners(self) -> Ints:
        """Returns the row of each entry; shape (entries,), int64."""
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    @property
    def weights(self) -> Floats:
        """Returns the weight of each entry; shape (entries,), float64."""
        weights: Floats = self.counts * self.idf[self.terms] / self.lengths[self.owners]
        return weights

    def chosen(self, rows: Ints) -> TermRows:
        """Returns the rows of the given numbers, in that order, with unchanged weights."""
        if len(rows) == self.rows and (np.diff(rows) == 1).all():
            return self
        sizes = np.diff(self.starts)[rows]
        places = ranges(self.starts[rows], sizes)
        terms, counts = self.terms[places], self.counts[places]
        return TermRows(starts_of(sizes), terms, counts, self.idf, self.lengths[rows])


@dataclass(frozen=True, slots=True)
class Clues:
    """Words and pairs of words of each text, by which similar texts are found.

    Attributes:
        starts: Shape (rows + 1,), int64: where each row begins in `terms`.
        terms: Shape (entries,), int32: numbers, the rarest ones lowest, ascending within a row.
        held: Shape (terms in all,), int64: how many rows hold each.
    """

    starts: Ints
    terms: Numbers
    held: Ints

    def chosen(self, rows: Ints) -> Clues:
        """Returns the rows of the given numbers, in that order; the others must hold no clue."""
        if len(rows) == len(self.starts) - 1:
            return self
        sizes = np.diff(self.starts)[rows]
        return Clues(starts_of(sizes), self.terms[ranges(self.starts[rows], sizes)], self.held)


def gram_rows(texts: Iterable[str], n: int) -> TermRows:
    """Returns rows of character n-grams (`echoless.core.text.char_ngrams`)."""
    grams = _Collector()
    for runs, counts in in_order(
        lambda batch: distinct(gram_runs(batch, n)), batched(texts, BATCH)
    ):
        grams.add(runs, counts)
    return grams.rows()


def rows_and_clues(texts: Iterable[str], n: int) -> tuple[TermRows, Clues]:
    """Returns rows of character n-grams, and clues: words and runs of two words.

    Words are those of `echoless.core.text.words`. A text without a word has its n-grams for clues.
    """
    rows, clues = _Collector(), _Collector()
    for counted_grams, (words, _) in grams_and_clues(texts, n):
        rows.add(*counted_grams)
        clues.add(words)
    made = clues.clues()  # first: so the numbering of words is gone when the rows are made
    return rows.rows(), made


def grams_and_clues(texts: Iterable[str], n: int) -> Iterator[tuple[Counted, Counted]]:
    """Yields n-grams and clues of `rows_and_clues`, a batch of texts at a time.

    Yields:
        Runs of the n-grams, one for each text, and how often each occurs; the same of the clues.
    """

    def read(batch: Sequence[str]) -> tuple[Counted, Counted]:
        grams, words = gram_runs(batch, n), word_runs(batch)
        pairs = word_pair_runs(words)
        wordless = np.diff(words.starts) == 0
        lengths = [np.diff(words.starts), np.diff(pairs.starts), np.diff(grams.starts) * wordless]
        instead = grams.values[np.repeat(wordless, np.diff(grams.starts))]
        owners = np.concatenate([np.repeat(np.arange(len(batch)), each) for each in lengths])
        order = np.argsort(owners, kind="stable")
        values = np.concatenate([words.values, pairs.values, instead])[order]
        clues = Runs(starts_of(sum(lengths, np.zeros(len(batch), np.int64))), values)
        return distinct(grams), distinct(clues)

    return in_order(read, batched(texts, BATCH))


class Numbering:
    """A numbering of values in the order they first occur."""

    def __init__(self) -> None:
        self._names: dict[int, int] = {}

    @property
    def known(self) -> int:
        """Returns how many different values there are."""
        return len(self._names)

    def numbers(self, values: Words) -> Numbers:
        """Returns the number of each value."""
        different, where = np.unique(values, return_inverse=True)
        names = self._names
        numbers = [names.setdefault(value, len(names)) for value in different.tolist()]
        return np.array(numbers, dtype=np.int32)[where]

    def values(self) -> Words:
        """Returns all values, by their number."""
        return np.array(list(self._names), dtype=np.uint64)


class _Column:
    """Growable array of numbers, filled in batches.

    A list of arrays would take twice the memory while it is joined, and arrays that live between
    freed ones keep the memory of those from being returned.
    """

    def __init__(self, kind: type[np.integer]) -> None:
        """Starts without any.

        Args:
            kind: Of the numbers; a batch that needs a wider one widens it.
        """
        self._kind: np.dtype[np.integer] = np.dtype(kind)
        self._data = bytearray()

    def add(self, numbers: NDArray[np.integer]) -> None:
        """Adds a batch."""
        kind = np.promote_types(self._kind, numbers.dtype)
        if kind != self._kind:
            self._data, self._kind = bytearray(self.all().astype(kind).data), kind
        self._data += numbers.astype(kind, copy=False).view(np.uint8).data

    def all(self) -> NDArray[Any]:
        """Returns all of them, without a copy."""
        return np.frombuffer(self._data, self._kind)


class _Collector:
    """A collector of rows, batch by batch; terms are numbered as they occur."""

    def __init__(self) -> None:
        self._terms, self._sizes = _Column(np.int32), _Column(np.int64)
        self._counts = _Column(np.uint8)
        self._names = Numbering()

    def add(self, runs: Runs, counts: NDArray[np.int32] | None = None) -> None:
        """Adds the rows of a batch; `counts` only where somebody asks how often terms occur."""
        self._terms.add(self._names.numbers(runs.values))
        self._sizes.add(np.diff(runs.starts))
        if counts is not None:
            self._counts.add(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))

    def rows(self) -> TermRows:
        """Returns all rows, weighed by the statistics of those that are not empty."""
        starts, terms, counts = starts_of(self._sizes.all()), self._terms.all(), self._counts.all()
        held = held_by(terms, self._names.known)
        filled = np.count_nonzero(np.diff(starts))
        idf = smooth_idf(int(filled), held)
        return TermRows(starts, terms, counts, idf, lengths_of(starts, terms, counts, idf))

    def clues(self) -> Clues:
        """Returns all rows, terms numbered by how rare they are; equally rare ones by value.

        The numbers of before are forgotten: they take more room than the rows.
        """
        starts, terms = starts_of(self._sizes.all()), self._terms.all()
        values, self._names = self._names.values(), Numbering()
        held = held_by(terms, len(values))
        order = np.lexsort((values, held))
        del values
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        for begin in range(0, len(terms), _AT_ONCE):
            some = terms[begin : begin + _AT_ONCE]
            some[:] = rank[some]
        owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        terms = terms[np.lexsort((terms, owners))]
        return Clues(starts, terms, held[order])


def held_by(terms: Numbers, known: int) -> Ints:
    """Returns how many rows hold each term; shape (known,), int64.

    Args:
        terms: Each once in a row.
        known: Different terms.
    """
    held = np.zeros(known, dtype=np.int64)
    step = max(_AT_ONCE, known)  # numpy counts int64 only, and makes a copy of what is not
    for begin in range(0, len(terms), step):
        held += np.bincount(terms[begin : begin + step], minlength=known)
    return held


def smooth_idf(rows: int, held: Ints) -> Floats:
    """Returns the weight of each term, see `TermRows`; shape as `held`, float64.

    Args:
        rows: How many there are, without empty ones.
        held: How many of them hold each term.
    """
    idf: Floats = np.log((1.0 + rows) / (1.0 + held)) + 1.0
    return idf


def lengths_of(starts: Ints, terms: Numbers, counts: Counts | None, idf: Floats) -> Floats:
    """Returns the Euclidean length of each row, summed in its order.

    Args:
        starts: Where each row begins.
        terms: Of all rows.
        counts: How often each occurs; None: once.
        idf: Weight of each term.
    """
    lengths = np.zeros(len(starts) - 1)
    for first in range(0, len(lengths), 1 << 16):
        last = min(first + (1 << 16), len(lengths))
        own = slice(int(starts[first]), int(starts[last]))
        weights = idf[terms[own]] if counts is None else counts[own] * idf[terms[own]]
        owners = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        lengths[first:last] = np.sqrt(np.bincount(owners, weights**2, minlength=last - first))
    return lengths
