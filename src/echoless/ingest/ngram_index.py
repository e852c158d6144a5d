"""Index of memories by character n-grams, weighed as by the detector `lexical`, for one query.

The detector compares all with all; here one text asks. Postings of its rarest n-grams, as many as
`POSTINGS` allows, name the memories worth a look, and those are scored exactly, as the detector
would: cosine of TF-IDF rows, by the statistics of what is in the index. So a memory may be missed,
but no similarity is an estimate.

The index is a row of segments that never change. What comes in lies in a small open one; full
segments of like size are joined, so each memory is copied some log(n) times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.tfidf_join import DECIMALS
from echoless.core.text import padded_for_ngrams

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

POSTINGS: Final = 10_000
"""Postings read for a query, rarest n-grams first."""

LOOKED_AT: Final = 16
"""Memories scored exactly: twice as many as are judged."""

OPEN: Final = 16
"""Memories of the open segment, which is made anew for each that comes in."""

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


@dataclass(frozen=True, slots=True)
class Segment:
    """Immutable part of the index: some memories, by rows and by n-grams.

    Attributes:
        owners: Shape (rows,), int64: the memory of each row, by its place in the index.
        starts: Shape (rows + 1,), int64: where each row begins in the two arrays below.
        terms: Shape (entries,), int64: n-grams, ascending within a row.
        counts: Shape (entries,), int32: how often each occurs in its row.
        names: Shape (different n-grams,), int64, ascending.
        begins: Shape (different n-grams + 1,), int64: where the postings of each begin.
        posts: Shape (entries,), int32: rows of the postings.
    """

    owners: Ints
    starts: Ints
    terms: Ints
    counts: NDArray[np.int32]
    names: Ints
    begins: Ints
    posts: NDArray[np.int32]

    ARRAYS = ("owners", "starts", "terms", "counts", "names", "begins", "posts")

    @property
    def size(self) -> int:
        """Returns the number of memories."""
        return len(self.owners)

    def place(self, terms: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Returns where n-grams stand in `names`, and whether they do."""
        at = np.searchsorted(self.names, terms)
        inside = np.minimum(at, max(0, len(self.names) - 1))
        known = self.names[inside] == terms if len(self.names) else np.zeros(len(terms), np.bool_)
        return inside, known

    def frequencies(self, terms: Ints) -> Ints:
        """Returns in how many memories each n-gram occurs."""
        at, known = self.place(terms)
        if not len(self.names):
            return np.zeros(len(terms), dtype=np.int64)
        counts: Ints = np.where(known, self.begins[at + 1] - self.begins[at], 0)
        return counts


def _segment(owners: Ints, starts: Ints, terms: Ints, counts: NDArray[np.int32]) -> Segment:
    rows = np.repeat(np.arange(len(owners), dtype=np.int32), np.diff(starts))
    order = np.argsort(terms, kind="stable")
    ordered = terms[order]
    first = np.flatnonzero(np.r_[True, np.diff(ordered) != 0]) if len(ordered) else order[:0]
    begins = np.append(first, len(ordered)).astype(np.int64)
    return Segment(owners, starts, terms, counts, ordered[first], begins, rows[order])


Row = tuple[int, Ints, Ints]
"""Place of a memory, its n-grams in ascending order, and how often each occurs."""


def row_of(place: int, text: str) -> Row:
    """Returns a memory as a row."""
    names, times = np.unique(packed(text), return_counts=True)
    return place, names, times


def build(rows: Iterable[Row]) -> Segment:
    """Returns a segment of rows."""
    rows = list(rows)
    lengths = [len(names) for _, names, _ in rows]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    empty = [np.empty(0, np.int64)]
    terms = np.concatenate([names for _, names, _ in rows] or empty)
    counts = np.concatenate([times for _, _, times in rows] or empty)
    owners = np.array([place for place, _, _ in rows], dtype=np.int64)
    return _segment(owners, starts, terms, counts.astype(np.int32))


def join(one: Segment, other: Segment) -> Segment:
    """Returns two segments as one."""
    starts = np.concatenate([one.starts, other.starts[1:] + one.starts[-1]])
    return _segment(
        np.concatenate([one.owners, other.owners]),
        starts,
        np.concatenate([one.terms, other.terms]),
        np.concatenate([one.counts, other.counts]),
    )


class WordingIndex:
    """Index of memories by character n-grams."""

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        """Begins with segments that were kept, or with none."""
        self._segments = list(segments)
        self._rows: list[Row] = []
        self._open: list[Segment] = []
        self._stale = False

    @property
    def segments(self) -> list[Segment]:
        """Returns all segments, the open part closed."""
        self._close()
        return self._segments

    def add(self, texts: Iterable[tuple[int, str]]) -> None:
        """Adds memories: place in the index, and text."""
        for place, text in texts:
            self._rows.append(row_of(place, text))
            if len(self._rows) >= MANY:
                self._close()
        self._stale = True

    def _close(self) -> None:
        """Makes a segment of the open rows, and joins segments of like size."""
        if self._rows:
            self._segments.append(build(self._rows))
        self._rows, self._open = [], []
        while len(self._segments) > 1 and self._segments[-2].size < 4 * self._segments[-1].size:
            last = self._segments.pop()
            self._segments[-1] = join(self._segments[-1], last)

    def nearest(
        self, text: str, allowed: NDArray[np.bool_], *, many: int = LOOKED_AT
    ) -> list[tuple[int, float]]:
        """Returns memories of like wording.

        Args:
            text: The query.
            allowed: Shape (places,): which memories may be named.
            many: At most so many.

        Returns:
            Place and cosine (0 to 1, six decimals), closest first, ties by place.
        """
        _, names, times = row_of(-1, text)
        if self._stale:
            if len(self._rows) >= OPEN:
                self._close()
            self._open = [build(self._rows)] if self._rows else []
            self._stale = False
        pool = [*self._segments, *self._open]
        if not len(names) or not pool:
            return []
        everything = sum(segment.size for segment in pool)
        frequencies = _frequencies(pool, names)
        weights = times * _idf(frequencies, everything)
        # the rarest n-grams whose postings fit the budget; at least the eight rarest
        rarest = np.argsort(frequencies, kind="stable")
        spent = np.cumsum(frequencies[rarest])
        chosen = rarest[: max(8, int(np.searchsorted(spent, POSTINGS, side="right")))]
        proposed: list[tuple[float, int, int]] = []
        for number, segment in enumerate(pool):
            proposed += _proposed(segment, number, names[chosen], weights[chosen], allowed, many)
        proposed.sort(key=lambda each: (-each[0], each[1], each[2]))
        rows = [(pool[number], row) for _, number, row in proposed[:many]]
        if not rows:
            return []
        query = (names, weights / np.sqrt((weights**2).sum()))
        return _scored(pool, rows, query, everything)


def _frequencies(pool: Sequence[Segment], names: Ints) -> Ints:
    """Returns in how many memories of all segments each n-gram occurs."""
    return sum((s.frequencies(names) for s in pool), np.zeros(len(names), np.int64))


def _idf(frequencies: Ints, everything: int) -> Floats:
    """Returns weights by the formula of `blocking/text_join/tfidf_rows.py`."""
    weights: Floats = np.log((1.0 + everything) / (1.0 + frequencies)) + 1.0
    return weights


def _proposed(
    segment: Segment,
    number: int,
    names: Ints,
    weights: Floats,
    allowed: NDArray[np.bool_],
    many: int,
) -> list[tuple[float, int, int]]:
    """Returns rough score, segment and row of the rows that share most of the n-grams."""
    at, known = segment.place(names)
    at, weights = at[known], weights[known]
    if not len(at):
        return []
    starts, counts = segment.begins[at], segment.begins[at + 1] - segment.begins[at]
    rows = np.concatenate(
        [segment.posts[s : s + c] for s, c in zip(starts.tolist(), counts.tolist(), strict=True)]
    )
    shared = np.bincount(rows, np.repeat(weights**2, counts), minlength=segment.size)
    hit = np.flatnonzero(shared)
    hit = hit[allowed[segment.owners[hit]]]
    scores: Floats = shared[hit] / np.sqrt(segment.starts[hit + 1] - segment.starts[hit])
    if len(hit) > many:
        best = np.argpartition(-scores, many)[:many]
        hit, scores = hit[best], scores[best]
    pairs = zip(scores.tolist(), hit.tolist(), strict=True)
    return [(score, number, row) for score, row in pairs]


def _scored(
    pool: Sequence[Segment],
    rows: Sequence[tuple[Segment, int]],
    query: tuple[Ints, Floats],
    everything: int,
) -> list[tuple[int, float]]:
    """Returns place and exact cosine of some rows, closest first."""
    spans = [(s, slice(int(s.starts[r]), int(s.starts[r + 1]))) for s, r in rows]
    lengths = np.array([span.stop - span.start for _, span in spans])
    terms = np.concatenate([segment.terms[span] for segment, span in spans])
    counts = np.concatenate([segment.counts[span] for segment, span in spans])
    names, where = np.unique(terms, return_inverse=True)
    weights = counts * _idf(_frequencies(pool, names), everything)[where]
    ends = np.cumsum(lengths) - lengths
    norms = np.sqrt(np.add.reduceat(weights**2, ends))
    asked, worth = query
    at = np.minimum(np.searchsorted(asked, terms), len(asked) - 1)
    shared = np.where(asked[at] == terms, worth[at], 0.0) * weights
    cosines = np.minimum(np.round(np.add.reduceat(shared, ends) / norms, DECIMALS), 1.0)
    owners = [int(segment.owners[row]) for segment, row in rows]
    pairs = zip(owners, cosines.tolist(), strict=True)
    return sorted(pairs, key=lambda hit: (-hit[1], hit[0]))


def arrays_of(segments: Sequence[Segment]) -> Mapping[str, NDArray[np.generic]]:
    """Returns the arrays of segments by name, for `segments_from`."""
    return {
        f"words-{number}-{name}": getattr(segment, name)
        for number, segment in enumerate(segments)
        for name in Segment.ARRAYS
    }


def segments_from(arrays: Mapping[str, NDArray[np.generic]], many: int) -> list[Segment]:
    """Returns segments from what `arrays_of` gave."""
    return [
        Segment(*(arrays[f"words-{number}-{name}"] for name in Segment.ARRAYS))  # type: ignore[arg-type]
        for number in range(many)
    ]
