"""Index of memories by character n-grams, weighed as by the detector `lexical`, for one query.

The detector compares all with all; here one text asks. Postings of its rarest n-grams, as many as
`POSTINGS` allows, name the memories worth a look, and those are scored exactly, as the detector
would: cosine of TF-IDF rows, by the statistics of what is in the index. So a memory may be missed,
but no similarity is an estimate.

Every n-gram has a number, so that how often it occurs is one look into an array. Postings of most
memories lie in one array; those of later memories in lists by n-gram, until there are so many that
the array is made anew. Which memories are named hangs on what is in the index only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.pair_scores import DECIMALS
from echoless.core.text import padded_for_ngrams
from echoless.ingest.vector_index import Rows, counted

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]

POSTINGS: Final = 10_000
"""Postings read for a query, rarest n-grams first."""

LOOKED_AT: Final = 16
"""Memories scored exactly: twice as many as are judged."""

LATER: Final = 4_096
"""Later memories from which the array of postings is made anew, besides as many as lie in it: each
memory is then sorted some two times."""

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


@lru_cache(maxsize=1)
def _counted_ngrams(text: str) -> tuple[Ints, Ints]:
    """Returns the different n-grams of a text, and how often each occurs; kept for the last text.

    A text that was asked about is taken in next.
    """
    return counted(packed(text))


class WordingIndex:
    """Index of memories by character n-grams; a memory is named by its place, from 0.

    Attributes:
        size: Number of memories that count.
        numbers: Number of each n-gram, in the order in which they came in.
        frequencies: By number, in how many memories each n-gram occurs.
    """

    ARRAYS = ("ngrams", "frequencies", "starts", "terms", "counts", "begins", "posts")

    def __init__(self, arrays: Mapping[str, NDArray[Any]] | None = None, size: int = 0) -> None:
        """Begins with what `arrays` gave, or empty.

        Args:
            arrays: Of memories in the order of their places.
            size: Those of them that were not taken out.
        """
        none, zero = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        given = arrays or {**dict.fromkeys(self.ARRAYS, none), "starts": zero, "begins": zero}
        self.size = size
        ngrams = given["ngrams"].tolist()
        self.numbers = defaultdict(count(len(ngrams)).__next__, zip(ngrams, count()))
        self.frequencies: Rows[np.int64] = Rows(given["frequencies"].copy())
        # where the row of each place begins in `terms` and `counts`, and postings of each n-gram
        self._starts, self._begins = given["starts"], given["begins"]
        self._terms, self._counts, self._posts = given["terms"], given["counts"], given["posts"]
        self._lengths = Rows(np.diff(self._starts))
        self._later: list[tuple[Numbers, Ints]] = []
        self._listed = 0
        self._lists: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, texts: Iterable[str | None]) -> None:
        """Adds memories at the next places; None for one that is not compared."""
        for text in texts:
            names, times = counted(packed("")) if text is None else _counted_ngrams(text)
            terms = np.array([*map(self.numbers.__getitem__, names.tolist())], dtype=np.int32)
            fresh = len(self.numbers) - len(self.frequencies)
            self.frequencies.append(np.zeros(fresh, dtype=np.int64))
            self.frequencies.all[terms] += 1
            self.size += text is not None
            self._lengths.append(np.array([len(terms)]))
            self._later.append((terms, times))
            if len(self._later) > LATER + len(self._starts):
                self._sort()

    def remove(self, place: int) -> None:
        """Takes a memory out of the statistics; whoever asks does not allow its place any more."""
        self.frequencies.all[self._row(place)[0]] -= 1
        self.size -= 1

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Returns what an index may begin with."""
        self._sort()
        own = (
            np.array([*self.numbers], dtype=np.int64),
            self.frequencies.all,
            self._starts,
            self._terms,
            self._counts,
            self._begins,
            self._posts,
        )
        return dict(zip(self.ARRAYS, own, strict=True))

    def nearest(
        self, text: str, allowed: NDArray[np.bool_], *, many: int = LOOKED_AT
    ) -> list[tuple[int, float]]:
        """Returns memories of like wording.

        Args:
            text: The query.
            allowed: Which memories may be named, by place.
            many: At most so many.

        Returns:
            Place and cosine (0 to 1, six decimals), closest first, ties by place.
        """
        names, times = _counted_ngrams(text)
        terms = np.array([self.numbers.get(name, -1) for name in names.tolist()], dtype=np.int64)
        known = terms >= 0
        if not known.any():
            return []
        frequencies = np.zeros(len(terms), dtype=np.int64)
        frequencies[known] = self.frequencies.all[terms[known]]
        weights = times * self._idf(frequencies)
        # the rarest n-grams whose postings fit the budget; at least the eight rarest
        rarest = np.argsort(frequencies, kind="stable")
        spent = np.cumsum(frequencies[rarest])
        chosen = rarest[: max(8, int(np.searchsorted(spent, POSTINGS, side="right")))]
        chosen = chosen[known[chosen]]
        best = self._highest(terms[chosen], weights[chosen] ** 2, allowed, many)
        if not len(best):
            return []
        worth = np.zeros(len(self.numbers))
        worth[terms[known]] = weights[known] / np.sqrt((weights**2).sum())
        return self._scored(best.tolist(), worth)

    def _sort(self) -> None:
        """Makes the array of postings anew, of all memories."""
        self._terms = np.concatenate([self._terms, *(terms for terms, _ in self._later)])
        counts = np.concatenate([self._counts, *(times for _, times in self._later)])
        self._terms = self._terms.astype(np.int32)
        self._counts = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
        self._starts = np.append(0, np.cumsum(self._lengths.all))
        places = np.repeat(np.arange(len(self._lengths)), self._lengths.all)
        # a quarter of the time that a stable order of the n-grams takes
        self._posts = np.sort(self._terms.astype(np.int64) << 32 | places).astype(np.int32)
        occurring = np.bincount(self._terms, minlength=len(self.numbers))
        self._begins = np.append(0, np.cumsum(occurring))
        self._later, self._listed, self._lists = [], 0, defaultdict(list)

    def _row(self, place: int) -> tuple[Numbers, NDArray[np.integer]]:
        """Returns the n-grams of a memory, and how often each occurs."""
        stored = len(self._starts) - 1
        if place >= stored:
            return self._later[place - stored]
        span = slice(int(self._starts[place]), int(self._starts[place + 1]))
        return self._terms[span], self._counts[span]

    def _highest(self, terms: Ints, weights: Floats, allowed: NDArray[np.bool_], many: int) -> Ints:
        """Returns the places with the highest rough score, at most so many, ties by place.

        Args:
            terms: Numbers of n-grams.
            weights: Of each, squared.
            allowed: As in `nearest`.
            many: At most so many.
        """
        for place, (own, _) in enumerate(
            self._later[self._listed :], len(self._starts) - 1 + self._listed
        ):
            for term in own.tolist():
                self._lists[term].append(place)
        self._listed = len(self._later)
        last = len(self._begins) - 1
        begins, ends = (self._begins[np.minimum(terms + step, last)].tolist() for step in (0, 1))
        parts = [self._posts[begin:end] for begin, end in zip(begins, ends, strict=True)]
        lists = [self._lists.get(term, ()) for term in terms.tolist()]
        later = np.fromiter(chain.from_iterable(lists), dtype=np.int32)
        places = np.concatenate([later[:0], *parts, later])
        each = np.repeat(np.tile(weights, 2), [len(part) for part in (*parts, *lists)])
        scores = np.bincount(places, each, minlength=len(self._lengths))
        met = np.flatnonzero(scores)
        met = met[allowed[met]]
        scores = scores[met] / np.sqrt(self._lengths.all[met])
        if len(met) > many:
            high = scores >= np.partition(scores, -many)[-many]
            met, scores = met[high], scores[high]
        return met[np.lexsort((met, -scores))[:many]]

    def _idf(self, frequencies: Ints) -> Floats:
        """Returns weights by the formula of `blocking/text_join/tfidf_rows.py`."""
        weights: Floats = np.log((1.0 + self.size) / (1.0 + frequencies)) + 1.0
        return weights

    def _scored(self, places: Sequence[int], worth: Floats) -> list[tuple[int, float]]:
        """Returns place and exact cosine of some memories, closest first.

        Args:
            places: Of the memories.
            worth: Shape (n-grams,): weights of the query, of length 1.
        """
        rows = [self._row(place) for place in places]
        terms = np.concatenate([own for own, _ in rows])
        counts = np.concatenate([times for _, times in rows])
        lengths = np.array([len(own) for own, _ in rows])
        weights = counts * self._idf(self.frequencies.all[terms])
        firsts = np.cumsum(lengths) - lengths
        norms = np.sqrt(np.add.reduceat(weights**2, firsts))
        shared = np.add.reduceat(worth[terms] * weights, firsts)
        cosines = np.minimum(np.round(shared / norms, DECIMALS), 1.0)
        return sorted(zip(places, cosines.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))
