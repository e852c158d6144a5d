"""Words and character n-grams of many texts as numbers in flat arrays, a batch at a time.

`echoless.core.text` defines words and n-grams. This module computes the same ones over the code
points of many texts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from echoless.core.text import has_unspaced_script, normalise, words
from echoless.core.threads import in_order as run_in_order

Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Points = NDArray[np.uint32]
Words = NDArray[np.uint64]

Given = TypeVar("Given")
Made = TypeVar("Made")

BATCH: Final = 4096
"""Texts read at a time."""

FACTOR: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, odd."""

LONGEST_PACKED: Final = 3
"""Code points of 21 bits that fit into 64."""

_UNSPACED, _SEEN = 2, 128
_CODE_POINTS: Final = 0x110000
_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of numbers, one for each text.

    Attributes:
        starts: Shape (texts + 1,), int64: where each run begins in `values`.
        values: Shape (entries,), uint64.
    """

    starts: Ints
    values: Words


def in_order(work: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
    """Yields the result of each item, in their order, computed by threads (`core.threads`)."""
    return run_in_order(partial(work, each) for each in given)


def word_runs(texts: Sequence[str]) -> Runs:
    """Returns hashes of the words (`core.text.words`) of each text, in order, with repeats.

    Two different words share a hash of 64 bits once in 2^64; among ten million different ones,
    the chance that any two do is 3 in a million.

    Args:
        texts: One batch.
    """
    split = [words(text) for text in texts]
    hashes = {word: hash_of(word) for word in {word for each in split for word in each}}
    flat = np.array([hashes[word] for each in split for word in each], dtype=np.uint64)
    return Runs(starts_of(np.array([len(each) for each in split], dtype=np.int64)), flat)


def word_pair_runs(words_of: Runs) -> Runs:
    """Returns hashes of each two words of a text that follow each other, with repeats.

    A text of one word is one run.

    Args:
        words_of: From `word_runs`.
    """
    lengths = np.diff(words_of.starts)
    counts = np.where(lengths > 0, np.maximum(1, lengths - 1), 0)
    places = ranges(words_of.starts[:-1], counts)
    ends = np.repeat(words_of.starts[1:], counts)
    made = np.zeros(len(places), dtype=np.uint64)
    for step in range(2):
        at = places + step
        inside = at < ends
        made[inside] = mixed((made[inside] ^ words_of.values[at[inside]]) * np.uint64(FACTOR))
    return Runs(starts_of(counts), made)


def gram_runs(texts: Sequence[str], n: int) -> Runs:
    """Returns the character n-grams of each text as numbers, in order, with repeats.

    The n-grams are those of `core.text.char_ngrams`: 2 characters where most of a text is in
    scripts without spaces. Up to three code points are packed side by side, so different n-grams
    have different numbers; longer n-grams become a hash of 64 bits.

    Args:
        texts: One batch.
        n: Characters of an n-gram.
    """
    forms = [normalise(text, fold_case=True) for text in texts]
    points, starts = _points([f" {form} " if form else "" for form in forms])
    lengths = np.diff(starts)
    unspaced = starts_of((_classes(points)[points] & _UNSPACED) != 0)
    dense = unspaced[starts[1:]] - unspaced[starts[:-1]]
    sizes = np.where(2 * dense > lengths - 2, 2, n).astype(np.int64)
    counts = np.where(lengths > 0, np.maximum(1, lengths - sizes + 1), 0)
    long = n > LONGEST_PACKED
    places = ranges(starts[:-1], counts)
    if not long:  # a form has a space at both ends, so none is shorter
        wide = np.append(points.astype(np.uint64) + np.uint64(1), np.zeros(n, np.uint64))
        packed = wide[: len(points)]
        for step in range(1, n):
            packed = (packed << np.uint64(21)) | wide[step : step + len(points)]
        made = packed[places]
        if (sizes < n).any():
            made >>= np.repeat(21 * (n - sizes), counts).astype(np.uint64)
        return Runs(starts_of(counts), made)
    ends = np.minimum(places + np.repeat(sizes, counts), np.repeat(starts[1:], counts))
    made = np.zeros(len(places), dtype=np.uint64)
    for step in range(int(sizes.max(initial=0))):
        inside = places + step < ends
        point = points[places[inside] + step].astype(np.uint64) + np.uint64(1)
        value = (made[inside] ^ point) * np.uint64(FACTOR)
        made[inside] = value ^ (value >> np.uint64(29))
    return Runs(starts_of(counts), made)


def distinct(runs: Runs) -> tuple[Runs, Counts]:
    """Returns each run in ascending order without repeats, and how often each number occurs."""
    owners = np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))
    different, where = np.unique(runs.values, return_inverse=True)
    cells = np.sort(owners * len(different) + where)
    places = np.flatnonzero(np.diff(cells, prepend=-1))
    owners, where = np.divmod(cells[places], max(1, len(different)))
    lengths = np.bincount(owners, minlength=len(runs.starts) - 1)
    times = np.diff(np.append(places, len(cells))).astype(np.int32)
    return Runs(starts_of(lengths), different[where]), times


def _points(texts: Sequence[str]) -> tuple[Points, Ints]:
    """Returns the code points of texts, one after the other, and where each text begins."""
    raw = "".join(texts).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False), starts_of(lengths)


def _classes(points: Points) -> NDArray[np.uint8]:
    """Returns a table of character classes by code point, filled for those of `points`."""
    classes = _class_table()
    new = classes[points] == 0
    if new.any():
        for point in np.unique(points[new]).tolist():
            character = chr(point)
            unspaced = _UNSPACED if has_unspaced_script(character) else 0
            classes[point] = _SEEN | unspaced
    return classes


@cache
def _class_table() -> NDArray[np.uint8]:
    """Returns the one table of this process, 0 for code points not seen yet."""
    return np.zeros(_CODE_POINTS, dtype=np.uint8)


def hash_of(word: str) -> int:
    """Returns a hash of a word's code points, the same in every process and on every platform."""
    value = 0
    for character in word:
        value = (value ^ (ord(character) + 1)) * FACTOR & _MASK
        value ^= value >> 29
    return int(mixed(np.array([value], dtype=np.uint64))[0])


def mixed(values: Words) -> Words:
    """Returns a fixed permutation of 64 bits: the finaliser of SplitMix64.

    Source: Steele, Lea, Flood 2014.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def ranges(starts: Ints, counts: Ints) -> Ints:
    """Returns `start, start + 1, …` for each start, `count` numbers each, one after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Ints = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return numbers


def chunks(costs: Ints, limit: int) -> Iterator[slice]:
    """Yields runs of positions whose costs sum up to about `limit`, at least one position each."""
    ends = np.cumsum(costs)
    start, spent = 0, 0
    while start < len(costs):
        stop = max(start + 1, int(np.searchsorted(ends, spent + limit, side="right")))
        yield slice(start, stop)
        start, spent = stop, int(ends[stop - 1])


def starts_of(lengths: NDArray[np.integer] | NDArray[np.bool_]) -> Ints:
    """Returns where each run of the given lengths begins, and the end of the last one."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
