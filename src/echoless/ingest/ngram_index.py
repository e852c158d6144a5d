"""Index of memories by character n-grams, weighed as by the detector `lexical`, for one query.

The detector compares all with all; here one text asks. Postings of its rarest n-grams, as many as
`POSTINGS` allows, name the memories worth a look, and those are scored exactly, as the detector
would: cosine of TF-IDF rows, by the statistics of what is in the index. So a memory may be missed,
but no similarity is an estimate.

Every n-gram has a number, so that how often it occurs is one look into an array. The index is a
row of segments that never change; what comes in lies in lists by n-gram until it is enough for a
segment. Segments of like size are joined, so each memory is copied some log(n) times. Which
memories are named hangs on what is in the index only, not on how it lies in segments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.similarities import DECIMALS
from echoless.core.checked_arrays import Part, whole
from echoless.core.text import padded_for_ngrams
from echoless.ingest.rows import Allowed, Rows, counted, distinct

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)

POSTINGS: Final = 10_000
"""Postings read for a query, rarest n-grams first."""

LOOKED_AT: Final = 16
"""Memories scored exactly: twice as many as are judged."""

OPEN: Final = 128
"""Memories from which what came in becomes a segment."""

_FOLDS: Final = 16
"""Parts that scores are laid in one above the other, to see how high the highest are."""

MANY: Final = 16_384
"""Rows made into a segment at once, where many come in."""

_CHARACTER: Final = 21
"""Bits of a code point; three fit into an int64."""


def packed(text: str) -> Ints:
    """Returns the character n-grams of a text (`text.char_ngrams`) as numbers, in order.

    Repeats stay. Equal n-grams have equal numbers, and different ones different numbers: up to
    three code points of 21 bits in each.
    """
    padded, n = padded_for_ngrams(text)
    points = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    points = points.astype(np.int64)
    numbers = points[: max(1, len(points) - n + 1)].copy() if len(points) else points
    for step in range(1, min(n, len(points))):
        numbers = (numbers << _CHARACTER) | points[step : step + len(numbers)]
    return numbers


class Vocabulary:
    """Numbers of n-grams, given in the order in which they come in, with their frequencies."""

    def __init__(self, names: Ints | None = None, frequencies: Ints | None = None) -> None:
        """Begins with n-grams by their numbers, and in how many memories each occurs."""
        none = np.empty(0, dtype=np.int64)
        known = none if names is None else names
        self.names = Rows(known)
        self.frequencies = Rows(none if frequencies is None else frequencies.copy())
        self._order = np.argsort(known, kind="stable")
        self._sorted = known[self._order]
        self._later: dict[int, int] = {}

    def numbers(self, names: Ints) -> Ints:
        """Returns the numbers of n-grams; -1 for those that are not known."""
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, names), len(self._sorted) - 1)
            numbers = np.where(self._sorted[at] == names, self._order[at], -1)
        else:
            numbers = np.full(len(names), -1, dtype=np.int64)
        if self._later:
            missing = np.flatnonzero(numbers < 0)
            if len(missing):
                get = self._later.get
                numbers[missing] = [get(name, -1) for name in names[missing].tolist()]
        return numbers

    def take(self, names: Ints) -> Numbers:
        """Returns the numbers of n-grams, counts each, and gives numbers to those that are new.

        Args:
            names: Those of one memory or several, each once for each memory.
        """
        numbers = self.numbers(names)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            fresh = distinct(names[missing])
            first = len(self.names)
            self.names.append(fresh)
            self.frequencies.append(np.zeros(len(fresh), dtype=np.int64))
            if len(self._later) + len(fresh) > MANY:  # a dictionary of all would be slow to ask
                self._order = np.argsort(self.names.all, kind="stable")
                self._sorted, self._later = self.names.all[self._order], {}
            else:
                self._later.update(zip(fresh.tolist(), range(first, len(self.names)), strict=True))
            numbers[missing] = self.numbers(names[missing])
        np.add.at(self.frequencies.all, numbers, 1)
        return numbers.astype(np.int32)


class Segment:
    """Part of the index that never changes: some memories, by rows and by n-grams.

    Attributes:
        owners: Shape (rows,), int32, ascending: the memory of each row, by its place in the index.
        starts: Shape (rows + 1,), int64: where each row begins in the two arrays below.
        terms: Shape (entries,), int32: numbers of n-grams, each once within a row.
        counts: Shape (entries,), int32: how often each occurs in its row.
        names: Shape (different n-grams,), int32, ascending: their numbers.
        begins: Shape (different n-grams + 1,), int64: where the postings of each begin.
        posts: Shape (entries,), int32: rows of the postings.
    """

    ARRAYS = ("owners", "starts", "terms", "counts", "names", "begins", "posts")
    LARGE: Final = frozenset({"terms", "counts", "posts"})
    """Arrays of which a query reads a small part."""

    def __init__(
        self,
        owners: Numbers,
        starts: Ints,
        terms: Part[np.int32],
        counts: Part[np.int32],
        names: Numbers,
        begins: Ints,
        posts: Part[np.int32],
    ) -> None:
        """Takes the arrays."""
        self.owners, self.starts, self.terms, self.counts = owners, starts, terms, counts
        self.names, self.begins, self.posts = names, begins, posts

    @property
    def size(self) -> int:
        """Returns the number of memories."""
        return len(self.owners)

    def check(self) -> None:
        """Reads all large arrays, so that no query has to check its part.

        Raises:
            DamagedIndex: An array changed since it was written.
        """
        self.terms, self.counts = whole(self.terms), whole(self.counts)
        self.posts = whole(self.posts)

    def postings(self, terms: Ints) -> tuple[Numbers, Ints]:
        """Returns the rows with some n-grams, n-gram by n-gram, and how many rows have each.

        Args:
            terms: Numbers of n-grams, at least one.
        """
        at = np.minimum(self.names.searchsorted(terms), len(self.names) - 1)
        begins = self.begins[at]
        ends = np.where(self.names[at] == terms, self.begins[at + 1], begins)
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return np.concatenate([self.posts[begin:end] for begin, end in spans]), ends - begins

    def row(self, row: int) -> tuple[Numbers, Numbers]:
        """Returns the n-grams of a row, and how often each occurs."""
        span = slice(int(self.starts[row]), int(self.starts[row + 1]))
        return self.terms[span], self.counts[span]


def _leading(scores: Floats, many: int) -> Ints:
    """Returns which scores are high: those of the highest `many`, their ties, and few others.

    The highest of each column of `_FOLDS` scores are as many different scores as there are columns,
    so the highest `many` of all are no lower than the highest `many` of these.
    """
    width = len(scores) // _FOLDS
    if width < many:
        return np.arange(len(scores))
    highest = scores[: _FOLDS * width].reshape(_FOLDS, width).max(axis=0)
    limit = np.partition(highest, width - many)[width - many]
    return np.flatnonzero(scores >= limit)


def _segment(owners: Numbers, starts: Ints, terms: Numbers, counts: Numbers) -> Segment:
    rows = np.repeat(np.arange(len(owners), dtype=np.int32), np.diff(starts))
    order = np.argsort(terms, kind="stable")
    ordered = terms[order]
    first = np.flatnonzero(np.r_[True, np.diff(ordered) != 0]) if len(ordered) else order[:0]
    begins = np.append(first, len(ordered)).astype(np.int64)
    return Segment(owners, starts, terms, counts, ordered[first], begins, rows[order])


def _joined(arrays: Sequence[NDArray[Scalar]], kind: type[Scalar]) -> NDArray[Scalar]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=kind)


Row = tuple[int, Ints, Ints]
"""Place of a memory, its n-grams in ascending order, and how often each occurs."""


def row_of(place: int, text: str) -> Row:
    """Returns a memory as a row."""
    return place, *_counted_ngrams(text)


@lru_cache(maxsize=1)
def _counted_ngrams(text: str) -> tuple[Ints, Ints]:
    """Returns the different n-grams of a text, and how often each occurs; kept for the last text.

    A text that was asked about is taken in next.
    """
    return counted(packed(text))


Numbered = tuple[int, Numbers, Numbers]
"""The same with the numbers of the n-grams instead of the n-grams."""


def segment_of(rows: Sequence[Numbered]) -> Segment:
    """Returns a segment of at least one row."""
    lengths = [len(terms) for _, terms, _ in rows]
    return _segment(
        np.array([place for place, _, _ in rows], dtype=np.int32),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate([terms for _, terms, _ in rows]),
        np.concatenate([counts for _, _, counts in rows]),
    )


def join(one: Segment, other: Segment) -> Segment:
    """Joins two segments."""
    starts = np.concatenate([one.starts, other.starts[1:] + one.starts[-1]])
    return _segment(
        np.concatenate([one.owners, other.owners]),
        starts,
        np.concatenate([whole(one.terms), whole(other.terms)]),
        np.concatenate([whole(one.counts), whole(other.counts)]),
    )


class _Recent:
    """Memories that came in lately: rows, and lists of rows by n-gram."""

    def __init__(self) -> None:
        self.rows: list[Numbered] = []
        self._posts: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, row: Numbered) -> None:
        """Adds a row."""
        number = len(self.rows)
        self.rows.append(row)
        for term in row[1].tolist():
            self._posts[term].append(number)

    def postings(self, terms: Ints) -> tuple[Ints, Ints]:
        """Returns what `Segment.postings` returns."""
        lists = [self._posts.get(term, ()) for term in terms.tolist()]
        rows = np.fromiter(chain.from_iterable(lists), dtype=np.int64)
        return rows, np.array([len(each) for each in lists])

    def row(self, row: int) -> tuple[Numbers, Numbers]:
        """Returns the n-grams of a row, and how often each occurs."""
        return self.rows[row][1:]


class WordingIndex:
    """Index of memories by character n-grams."""

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        segments: Sequence[Segment] = (),
        size: int | None = None,
    ) -> None:
        """Begins with n-grams and segments that were kept, or with none.

        Args:
            vocabulary: N-grams with their frequencies.
            segments: In the order of their places.
            size: Memories in them that were not taken out; all by default.
        """
        self.vocabulary = vocabulary or Vocabulary()
        self._segments = list(segments)
        self._recent = _Recent()
        # of all rows, in the order of the segments; recent rows follow, and keep their numbers
        self._owners = Rows(_joined([each.owners for each in segments], np.int32))
        lengths = _joined([np.diff(each.starts) for each in segments], np.int64)
        self._lengths = Rows(lengths.astype(np.int32))
        self._last = np.empty(0, dtype=np.int32)
        self._firsts = self._numbered()
        self._size = sum(segment.size for segment in segments) if size is None else size

    @property
    def size(self) -> int:
        """Returns the number of memories that count."""
        return self._size

    @property
    def segments(self) -> list[Segment]:
        """Returns all segments, what came in lately among them."""
        self._close()
        return self._segments

    def add(self, texts: Iterable[tuple[int, str]]) -> None:
        """Adds memories: place in the index, above those already added, and text."""
        rows: list[Row] = []
        for place, text in texts:
            rows.append(row_of(place, text))
            if len(rows) >= MANY:
                self._take(rows)
                rows = []
        self._take(rows)

    def check(self) -> None:
        """Reads all stored segments; raises `DamagedIndex` if one changed since it was written."""
        for segment in self._segments:
            segment.check()

    def remove(self, place: int) -> None:
        """Takes a memory out of the statistics; whoever asks does not allow its place any more."""
        row = int(self._owners.all.searchsorted(place))
        if row < len(self._owners) and self._owners.all[row] == place:
            terms, _ = self._row(row)
            self.vocabulary.frequencies.all[terms] -= 1
            self._size -= 1

    def _take(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        terms = self.vocabulary.take(np.concatenate([names for _, names, _ in rows]))
        lengths = [len(names) for _, names, _ in rows]
        self._size += len(rows)
        self._owners.append(np.array([place for place, _, _ in rows], dtype=np.int32))
        self._lengths.append(np.array(lengths, dtype=np.int32))
        numbered = [
            (place, terms[end - len(names) : end], times.astype(np.int32))
            for (place, names, times), end in zip(rows, accumulate(lengths), strict=True)
        ]
        if len(numbered) >= OPEN:
            self._close(numbered)
            return
        for row in numbered:
            self._recent.add(row)
        if len(self._recent.rows) >= OPEN:
            self._close()

    def _close(self, more: Sequence[Numbered] = ()) -> None:
        """Makes a segment of the recent rows and of more, and joins segments of like size."""
        rows = [*self._recent.rows, *more]
        if rows:
            self._segments.append(segment_of(rows))
        self._recent = _Recent()
        while len(self._segments) > 1 and self._segments[-2].size < 4 * self._segments[-1].size:
            last = self._segments.pop()
            self._segments[-1] = join(self._segments[-1], last)
        self._firsts = self._numbered()

    def _numbered(self) -> list[int]:
        """Returns the number of the first row of each segment, and of the first recent row."""
        return list(accumulate((each.size for each in self._segments), initial=0))

    def nearest(
        self, text: str, allowed: Allowed, *, many: int = LOOKED_AT
    ) -> list[tuple[int, float]]:
        """Returns memories of like wording.

        Args:
            text: The query.
            allowed: Which memories may be named, by place.
            many: At most so many.

        Returns:
            Place and cosine (0 to 1, six decimals), closest first, ties by place.
        """
        _, names, times = row_of(-1, text)
        if not len(names) or self._size <= 0:
            return []
        terms = self.vocabulary.numbers(names)
        known = terms >= 0
        frequencies = np.where(known, self.vocabulary.frequencies.all[terms], 0)
        weights = times * self._idf(frequencies)
        # the rarest n-grams whose postings fit the budget; at least the eight rarest
        rarest = np.argsort(frequencies, kind="stable")
        spent = np.cumsum(frequencies[rarest])
        chosen = rarest[: max(8, int(np.searchsorted(spent, POSTINGS, side="right")))]
        chosen = chosen[known[chosen]]
        rows, scores = self._shared(terms[chosen], weights[chosen] ** 2)
        best = self._highest(scores, rows, allowed, many)
        if not len(best):
            return []
        worth = np.zeros(len(self.vocabulary.names))
        worth[terms[known]] = weights[known] / np.sqrt((weights**2).sum())
        return self._scored(best.tolist(), worth)

    def _row(self, row: int) -> tuple[Numbers, Numbers]:
        """Returns the n-grams of a row, and how often each occurs."""
        number = bisect_right(self._firsts, row) - 1
        part = self._segments[number] if number < len(self._segments) else self._recent
        return part.row(row - self._firsts[number])

    def _shared(self, terms: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """Returns the rows that share n-grams, each once, with a rough score.

        Args:
            terms: Numbers of n-grams.
            weights: Of each, squared.
        """
        if not len(terms):
            return terms, weights
        parts: list[Segment | _Recent] = [*self._segments, self._recent]
        asked = [part.postings(terms) for part in parts]
        numbered = zip(asked, self._firsts, strict=True)
        rows = np.concatenate([np.add(own, first, dtype=np.intp) for (own, _), first in numbered])
        each = np.concatenate([np.repeat(weights, counts) for _, counts in asked])
        # Sums by row without an array of all rows: a row counts at its last posting. To count in
        # one of 98,304 rows and look through it for what is not 0 takes three times as long.
        if len(self._last) < len(self._owners):
            self._last = np.empty(2 * len(self._owners), dtype=np.int32)
        numbers = np.arange(len(rows), dtype=np.int32)
        self._last[rows] = numbers
        last = self._last.take(rows)
        shared = np.bincount(last, each, minlength=len(rows))
        own = np.flatnonzero(last == numbers)
        met = rows.take(own)
        return met, shared.take(own) / np.sqrt(self._lengths.all.take(met))

    def _highest(self, scores: Floats, rows: Ints, allowed: Allowed, many: int) -> Ints:
        """Returns the allowed rows with the highest scores, at most so many, ties by place."""
        some = _leading(scores, many)
        places = self._owners.all[rows[some]]
        may = allowed[places]
        if np.count_nonzero(may) < many and len(some) < len(scores):
            some = np.arange(len(scores))
            places = self._owners.all[rows]
            may = allowed[places]
        scores, rows, places = scores[some[may]], rows[some[may]], places[may]
        if len(scores) > 4 * many:
            enough = _leading(scores, many)
            scores, rows, places = scores[enough], rows[enough], places[enough]
        return rows[np.lexsort((places, -scores))[:many]]

    def _idf(self, frequencies: NDArray[np.integer]) -> Floats:
        """Returns weights by the formula of `blocking/text_join/tfidf_rows.py`."""
        weights: Floats = np.log((1.0 + self._size) / (1.0 + frequencies)) + 1.0
        return weights

    def _scored(self, numbers: Sequence[int], worth: Floats) -> list[tuple[int, float]]:
        """Returns place and exact cosine of some rows, closest first.

        Args:
            numbers: Of the rows.
            worth: Shape (n-grams,): weights of the query, of length 1.
        """
        rows = [self._row(number) for number in numbers]
        terms = np.concatenate([own for own, _ in rows])
        counts = np.concatenate([times for _, times in rows])
        lengths = np.array([len(own) for own, _ in rows])
        weights = counts * self._idf(self.vocabulary.frequencies.all[terms])
        ends = np.cumsum(lengths) - lengths
        norms = np.sqrt(np.add.reduceat(weights**2, ends))
        shared = np.add.reduceat(worth[terms] * weights, ends)
        cosines = np.minimum(np.round(shared / norms, DECIMALS), 1.0)
        pairs = zip(self._owners.all[numbers].tolist(), cosines.tolist(), strict=True)
        return sorted(pairs, key=lambda hit: (-hit[1], hit[0]))


def arrays_of(wording: WordingIndex) -> Mapping[str, NDArray[np.generic]]:
    """Returns the arrays of an index by name, for `wording_from`."""
    vocabulary = wording.vocabulary
    return {
        "ngrams": vocabulary.names.all,
        "frequencies": vocabulary.frequencies.all,
        "counted": np.array([wording.size]),
        **{
            f"words-{number}-{name}": whole(getattr(segment, name))
            for number, segment in enumerate(wording.segments)
            for name in Segment.ARRAYS
        },
    }


def wording_from(arrays: Mapping[str, Part[np.generic]], many: int) -> WordingIndex:
    """Returns an index from what `arrays_of` gave, with so many segments."""
    segments = [
        Segment(*(arrays[f"words-{number}-{name}"] for name in Segment.ARRAYS))  # type: ignore[arg-type]
        for number in range(many)
    ]
    vocabulary = Vocabulary(whole(arrays["ngrams"]), whole(arrays["frequencies"]))  # type: ignore[arg-type]
    return WordingIndex(vocabulary, segments, int(whole(arrays["counted"])[0]))
