"""Texts as rows of numbered terms: character n-grams for the cosine, words to find partners by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.shingling import (
    Runs,
    batches,
    distinct,
    forms_of,
    gram_runs,
    in_order,
    pays,
    ranges,
    starts_of,
    word_runs,
    word_shingle_runs,
)
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.blocking.text_join import lexical_kernels, shingling_kernels
else:
    lexical_kernels = lazy_module("echoless.blocking.text_join.lexical_kernels")
    shingling_kernels = lazy_module("echoless.blocking.text_join.shingling_kernels")

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Counts = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

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
    def columns(self) -> tuple[Ints, Numbers, Counts, Floats, Floats]:
        """Returns all arrays, in the order of `lexical_kernels.Grams`."""
        return self.starts, self.terms, self.counts, self.idf, self.lengths

    @property
    def owners(self) -> Ints:
        """Returns the row of each entry; shape (entries,), int64."""
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    @property
    def weights(self) -> Floats:
        """Returns the weight of each entry; shape (entries,), float64."""
        weights: Floats = self.counts * self.idf[self.terms] / self.lengths[self.owners]
        return weights

    def chosen(self, kept: Ints) -> TermRows:
        """Returns the rows of the given numbers, in that order, with unchanged weights."""
        if len(kept) == self.rows and (np.diff(kept) == 1).all():
            return self
        sizes = np.diff(self.starts)[kept]
        places = ranges(self.starts[kept], sizes)
        terms, counts = self.terms[places], self.counts[places]
        return TermRows(starts_of(sizes), terms, counts, self.idf, self.lengths[kept])

    def first_equal(self) -> Ints:
        """Returns for each row the first one with equal terms and counts; shape (rows,), int64."""
        known: dict[bytes, int] = {}
        first = np.empty(self.rows, dtype=np.int64)
        bounds = self.starts.tolist()
        for row in range(self.rows):
            own = slice(bounds[row], bounds[row + 1])
            key = self.terms[own].tobytes() + b"|" + self.counts[own].tobytes()
            first[row] = known.setdefault(key, row)
        return first


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

    def chosen(self, kept: Ints) -> Clues:
        """Returns the rows of the given numbers, in that order; the others must hold no clue."""
        if len(kept) == len(self.starts) - 1:
            return self
        sizes = np.diff(self.starts)[kept]
        return Clues(starts_of(sizes), self.terms[ranges(self.starts[kept], sizes)], self.held)


def gram_rows(texts: Iterable[str], n: int) -> TermRows:
    """Returns rows of character n-grams (`echoless.core.text.char_ngrams`)."""
    grams = _Collector()
    for runs, counts in in_order(lambda batch: distinct(gram_runs(batch, n)), batches(texts)):
        grams.add(runs, counts)
    return grams.rows()


def rows_and_clues(texts: Iterable[str], n: int) -> tuple[TermRows, Clues]:
    """Returns rows of character n-grams, and clues: words and runs of two words.

    Words are those of `echoless.core.text.words`. A text without a word has its n-grams for clues.
    """
    rows, clues = _Collector(), _Collector()
    for counted_grams, counted_clues in grams_and_clues(texts, n):
        rows.add(*counted_grams)
        clues.add(*counted_clues)
    return rows.rows(), clues.clues()


def grams_and_clues(texts: Iterable[str], n: int) -> Iterator[tuple[Counted, Counted]]:
    """Yields n-grams and clues of `rows_and_clues`, a batch of texts at a time.

    Yields:
        Runs of the n-grams, one for each text, and how often each occurs; the same of the clues.
    """

    def read(batch: Sequence[str]) -> tuple[Counted, Counted]:
        forms = forms_of(batch)
        grams, words = gram_runs(batch, n, forms), word_runs(batch, forms)
        pairs = word_shingle_runs(batch, 2, words)
        wordless = np.diff(words.starts) == 0
        lengths = [np.diff(words.starts), np.diff(pairs.starts), np.diff(grams.starts) * wordless]
        instead = grams.values[np.repeat(wordless, np.diff(grams.starts))]
        owners = np.concatenate([np.repeat(np.arange(len(batch)), each) for each in lengths])
        order = np.argsort(owners, kind="stable")
        values = np.concatenate([words.values, pairs.values, instead])[order]
        clues = Runs(starts_of(sum(lengths, np.zeros(len(batch), np.int64))), values)
        return distinct(grams), distinct(clues)

    return in_order(read, batches(texts))


class Numbering:
    """A numbering of values in the order they first occur."""

    def __init__(self) -> None:
        self.known = 0
        self._slots = np.zeros(1 << 16, dtype=np.uint64)
        self._numbers = np.zeros(1 << 16, dtype=np.int32)
        self._names: dict[int, int] = {}
        self._loops: bool | None = None

    def numbers(self, values: Words, texts: int) -> Numbers:
        """Returns the number of each value; `texts` tells how many texts they are from."""
        if self._loops is None:
            self._loops = pays(texts)
        if not self._loops:
            different, where = np.unique(values, return_inverse=True)
            names = self._names
            numbers = [names.setdefault(value, len(names)) for value in different.tolist()]
            self.known = len(names)
            return np.array(numbers, dtype=np.int32)[where]

        least = 2 * (self.known + len(values))
        if least > len(self._slots):
            known = self.values()
            size = 1 << (2 * least - 1).bit_length()
            self._slots = np.zeros(size, dtype=np.uint64)
            self._numbers = np.zeros(size, dtype=np.int32)
            shingling_kernels.number(
                known, self._slots, self._numbers, 0, np.empty(len(known), np.int32)
            )
        made = np.empty(len(values), dtype=np.int32)
        self.known = shingling_kernels.number(values, self._slots, self._numbers, self.known, made)
        return made

    def values(self) -> Words:
        """Returns all values, by their number."""
        if self._names:
            return np.array(list(self._names), dtype=np.uint64)
        used = self._slots != 0
        values = np.empty(self.known, dtype=np.uint64)
        values[self._numbers[used]] = self._slots[used]
        return values


@dataclass(slots=True)
class _Collector:
    """A collector of rows, batch by batch; terms are numbered as they occur."""

    terms: list[Numbers] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    sizes: list[Ints] = field(default_factory=lambda: [np.zeros(0, np.int64)])
    names: Numbering = field(default_factory=Numbering)

    def add(self, runs: Runs, counts: NDArray[np.int32]) -> None:
        """Adds the rows of a batch."""
        self.terms.append(self.names.numbers(runs.values, len(runs.starts) - 1))
        self.counts.append(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))
        self.sizes.append(np.diff(runs.starts))

    def _flat(self) -> tuple[Ints, Numbers]:
        """Returns where each row begins, and the terms of all rows, which it then forgets."""
        terms = np.concatenate([np.zeros(0, np.int32), *self.terms])
        self.terms.clear()
        return starts_of(np.concatenate(self.sizes)), terms

    def rows(self) -> TermRows:
        """Returns all rows, weighed by the statistics of those that are not empty."""
        starts, terms = self._flat()
        counts = np.concatenate([np.zeros(0, np.uint8), *self.counts])
        held = np.bincount(terms, minlength=self.names.known)
        filled = np.count_nonzero(np.diff(starts))
        idf = smooth_idf(int(filled), held)
        return TermRows(starts, terms, counts, idf, lengths_of(starts, terms, counts, idf))

    def clues(self) -> Clues:
        """Returns all rows, terms numbered by how rare they are; equally rare ones by value."""
        starts, terms = self._flat()
        held = np.bincount(terms, minlength=self.names.known)
        order = np.lexsort((self.names.values(), held))
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        terms = rank[terms]
        if pays(len(starts)):
            lexical_kernels.arrange(starts, terms)
        else:
            owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            terms = terms[np.lexsort((terms, owners))]
        return Clues(starts, terms, held[order])


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
    if pays(len(lengths)):
        if counts is None:
            lexical_kernels.add_squares(starts, terms, idf, lengths)
        else:
            lexical_kernels.add_counted_squares(starts, terms, counts, idf, lengths)
        return np.sqrt(lengths, out=lengths)
    for first in range(0, len(lengths), 1 << 16):
        last = min(first + (1 << 16), len(lengths))
        own = slice(int(starts[first]), int(starts[last]))
        weights = idf[terms[own]] if counts is None else counts[own] * idf[terms[own]]
        owners = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        lengths[first:last] = np.sqrt(np.bincount(owners, weights**2, minlength=last - first))
    return lengths
