"""Texts as rows of numbered terms: character n-grams for the cosine, words as clues to partners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from echoless.detect.shingling import (
    Runs,
    batches,
    distinct,
    gram_runs,
    in_order,
    pays,
    ranges,
    word_runs,
    word_shingle_runs,
)

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Counts = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TermRows:
    """TF-IDF rows, one for each text, five bytes an entry where no term comes 256 times.

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
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def owners(self) -> Ints:
        """Shape (entries,), int64: the row of each entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    @property
    def weights(self) -> Floats:
        """Shape (entries,), float64."""
        made: Floats = self.counts * self.idf[self.terms] / self.lengths[self.owners]
        return made

    def chosen(self, kept: Ints) -> TermRows:
        """Some of the rows, in the order asked for, with the weights they have here."""
        if len(kept) == self.rows and (np.diff(kept) == 1).all():
            return self
        sizes = np.diff(self.starts)[kept]
        places = ranges(self.starts[kept], sizes)
        terms, counts = self.terms[places], self.counts[places]
        return TermRows(_starts(sizes), terms, counts, self.idf, self.lengths[kept])

    def first_equal(self) -> Ints:
        """Shape (rows,), int64: for each row the first one that has the same terms as often."""
        found: dict[bytes, int] = {}
        first = np.empty(self.rows, dtype=np.int64)
        bounds = self.starts.tolist()
        for row in range(self.rows):
            own = slice(bounds[row], bounds[row + 1])
            key = self.terms[own].tobytes() + b"|" + self.counts[own].tobytes()
            first[row] = found.setdefault(key, row)
        return first


@dataclass(frozen=True, slots=True)
class Clues:
    """Words and pairs of words of each text: what leads to texts that may be alike.

    Attributes:
        starts: Shape (rows + 1,), int64: where each row begins in `terms`.
        terms: Shape (entries,), int32: numbers, the rarest ones lowest, ascending within a row.
        held: Shape (terms in all,), int64: how many rows hold each.
    """

    starts: Ints
    terms: Numbers
    held: Ints

    def chosen(self, kept: Ints) -> Clues:
        """Some of the rows, in the order asked for; none of the others may hold a clue."""
        if len(kept) == len(self.starts) - 1:
            return self
        sizes = np.diff(self.starts)[kept]
        return Clues(_starts(sizes), self.terms[ranges(self.starts[kept], sizes)], self.held)


def gram_rows(texts: Iterable[str], n: int) -> TermRows:
    """Rows of character n-grams: `echoless.text.char_ngrams`."""
    read = in_order(lambda batch: distinct(gram_runs(batch, n)), batches(texts))
    made = _Collector()
    for runs, counts in read:
        made.add(runs, counts)
    return made.rows()


def rows_and_clues(texts: Iterable[str], n: int) -> tuple[TermRows, Clues]:
    """Rows of character n-grams, and clues: `echoless.text.words` and runs of two of them.

    A text without a word has its n-grams for clues.
    """
    grams, clues = _Collector(), _Collector()
    for (runs, counts), (told, times) in in_order(lambda b: _read(b, n), batches(texts)):
        grams.add(runs, counts)
        clues.add(told, times)
    return grams.rows(), clues.clues()


Told = tuple[Runs, NDArray[np.int32]]


def _read(texts: Sequence[str], n: int) -> tuple[Told, Told]:
    grams, words = gram_runs(texts, n), word_runs(texts)
    pairs = word_shingle_runs(texts, 2, words)
    wordless = np.diff(words.starts) == 0
    lengths = [np.diff(words.starts), np.diff(pairs.starts), np.diff(grams.starts) * wordless]
    rare = grams.values[np.repeat(wordless, np.diff(grams.starts))]
    owners = np.concatenate([np.repeat(np.arange(len(texts)), each) for each in lengths])
    order = np.argsort(owners, kind="stable")
    values = np.concatenate([words.values, pairs.values, rare])[order]
    clues = Runs(_starts(sum(lengths, np.zeros(len(texts), np.int64))), values)
    return distinct(grams), distinct(clues)


class _Numbering:
    """Numbers for values, in the order they first come."""

    def __init__(self) -> None:
        self.known = 0
        self._slots = np.zeros(1 << 16, dtype=np.uint64)
        self._numbers = np.zeros(1 << 16, dtype=np.int32)
        self._names: dict[int, int] = {}
        self._loops: bool | None = None

    def numbers(self, values: Words, texts: int) -> Numbers:
        """The number of each value, of so many texts."""
        if self._loops is None:
            self._loops = pays(texts)
        if not self._loops:
            different, where = np.unique(values, return_inverse=True)
            names = self._names
            told = [names.setdefault(value, len(names)) for value in different.tolist()]
            self.known = len(names)
            return np.array(told, dtype=np.int32)[where]
        from echoless.detect import shingling_kernels as kernels  # noqa: PLC0415 - needs numba

        if 2 * (self.known + len(values)) > len(self._slots):
            self._grow(2 * (self.known + len(values)))
        made = np.empty(len(values), dtype=np.int32)
        self.known = kernels.number(values, self._slots, self._numbers, self.known, made)
        return made

    def _grow(self, least: int) -> None:
        from echoless.detect import shingling_kernels as kernels  # noqa: PLC0415 - needs numba

        values = self.values()
        size = 1 << (2 * least - 1).bit_length()
        self._slots = np.zeros(size, dtype=np.uint64)
        self._numbers = np.zeros(size, dtype=np.int32)
        made = np.empty(len(values), dtype=np.int32)
        kernels.number(values, self._slots, self._numbers, 0, made)

    def values(self) -> Words:
        """All values, by their number."""
        if self._names:
            return np.array(list(self._names), dtype=np.uint64)
        used = self._slots != 0
        made = np.empty(self.known, dtype=np.uint64)
        made[self._numbers[used]] = self._slots[used]
        return made


@dataclass(slots=True)
class _Collector:
    """Rows batch by batch; terms are numbered as they come."""

    terms: list[Numbers] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    sizes: list[Ints] = field(default_factory=lambda: [np.zeros(0, np.int64)])
    names: _Numbering = field(default_factory=_Numbering)

    def add(self, runs: Runs, counts: NDArray[np.int32]) -> None:
        """Take the rows of a batch."""
        self.terms.append(self.names.numbers(runs.values, len(runs.starts) - 1))
        self.counts.append(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))
        self.sizes.append(np.diff(runs.starts))

    def _flat(self) -> tuple[Ints, Numbers]:
        terms = np.concatenate([np.zeros(0, np.int32), *self.terms])
        self.terms.clear()
        return _starts(np.concatenate(self.sizes)), terms

    def rows(self) -> TermRows:
        """All rows, weighed by the statistics of those that are not empty."""
        starts, terms = self._flat()
        counts = np.concatenate([np.zeros(0, np.uint8), *self.counts])
        held = np.bincount(terms, minlength=self.names.known)
        filled = np.count_nonzero(np.diff(starts))
        idf = np.log((1.0 + filled) / (1.0 + held)) + 1.0
        return TermRows(starts, terms, counts, idf, lengths_of(starts, terms, counts, idf))

    def clues(self) -> Clues:
        """All rows, terms numbered by how rare they are; equally rare ones by their value."""
        starts, terms = self._flat()
        held = np.bincount(terms, minlength=self.names.known)
        order = np.lexsort((self.names.values(), held))
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        terms = rank[terms]
        if pays(len(starts)):
            from echoless.detect import lexical_kernels as kernels  # noqa: PLC0415 - needs numba

            kernels.arrange(starts, terms)
        else:
            owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            terms = terms[np.lexsort((terms, owners))]
        return Clues(starts, terms, held[order])


def lengths_of(starts: Ints, terms: Numbers, counts: Counts | None, idf: Floats) -> Floats:
    """Euclidean length of each row, summed in its order; every term once where counts are None."""
    lengths = np.zeros(len(starts) - 1)
    for first in range(0, len(lengths), 1 << 16):
        last = min(first + (1 << 16), len(lengths))
        own = slice(int(starts[first]), int(starts[last]))
        weights = idf[terms[own]] if counts is None else counts[own] * idf[terms[own]]
        owners = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        lengths[first:last] = np.sqrt(np.bincount(owners, weights**2, minlength=last - first))
    return lengths


def _starts(lengths: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
