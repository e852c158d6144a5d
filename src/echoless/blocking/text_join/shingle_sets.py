"""Sets of shingles in flat arrays, and their exact Jaccard similarity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.shingling import (
    Runs,
    batches,
    distinct,
    gram_runs,
    hash_of,
    in_order,
    loops_loaded,
    mixed,
    ranges,
    starts_of,
    word_shingle_runs,
)
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.blocking.text_join import minhash_kernels as kernels
else:
    kernels = lazy_module("echoless.blocking.text_join.minhash_kernels")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """Sets of shingles, each shingle as a number of 64 bits, the same in every process.

    Attributes:
        starts: Shape (sets + 1,), int64: where each set begins in `members`.
        members: Shape (entries,), uint64: ascending within a set, each once.
    """

    starts: Ints
    members: Words

    @property
    def sizes(self) -> Ints:
        """Returns the number of members of each set; shape (sets,), int64."""
        return np.diff(self.starts)

    def jaccard(self, one: Ints, other: Ints) -> Floats:
        """Returns the exact Jaccard similarity, common shingles over all shingles, of pairs.

        Args:
            one: Shape (pairs,), int64: numbers of sets that are not empty.
            other: The same for the other sides.

        Returns:
            Shape (pairs,), float64, 0 to 1.
        """
        if loops_loaded():
            similarities = np.empty(len(one))
            kernels.jaccard(self.starts, self.members, one, other, similarities)
            return similarities
        sizes = self.sizes
        pairs = np.tile(np.arange(len(one)), 2)
        counts = sizes[np.concatenate([one, other])]
        members = self.members[ranges(self.starts[np.concatenate([one, other])], counts)]
        owners = np.repeat(pairs, counts)
        order = np.lexsort((members, owners))
        members, owners = members[order], owners[order]
        twice = (members[1:] == members[:-1]) & (owners[1:] == owners[:-1])
        common = np.bincount(owners[1:][twice], minlength=len(one))
        shared: Floats = common / (sizes[one] + sizes[other] - common)
        return shared

    def chosen(self, kept: Ints) -> ShingleSets:
        """Returns the sets of the given numbers, in that order."""
        counts = self.sizes[kept]
        return ShingleSets(starts_of(counts), self.members[ranges(self.starts[kept], counts)])

    def first_equal(self) -> Ints:
        """Returns for each set the first one with the same members; shape (sets,), int64.

        Sets are told apart by their size and a sum of 64 bits over their members.
        """
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(self.members))])
        sums = mixed(ends[self.starts[1:]] - ends[self.starts[:-1]] + self.sizes.astype(np.uint64))
        _, first, where = np.unique(sums, return_index=True, return_inverse=True)
        return first.astype(np.int64)[where]


def word_sets(texts: Iterable[str], n: int) -> ShingleSets:
    """Returns the set of runs of n words of each text (`core.text.word_shingles`)."""
    return _sets(in_order(lambda batch: distinct(word_shingle_runs(batch, n))[0], batches(texts)))


def gram_sets(texts: Iterable[str], n: int) -> ShingleSets:
    """Returns the set of character n-grams of each text (`core.text.char_ngrams`)."""

    def read(batch: Sequence[str]) -> Runs:
        runs = gram_runs(batch, n)
        return distinct(Runs(runs.starts, mixed(runs.values)))[0]  # MinHash reads the upper half

    return _sets(in_order(read, batches(texts)))


def number_shingles(sets: Sequence[AbstractSet[str]]) -> ShingleSets:
    """Returns sets of shingles of any kind as numbers."""
    hashes = {shingle: hash_of(shingle) for each in sets for shingle in each}
    lengths = np.array([len(each) for each in sets], dtype=np.int64)
    flat = np.array([hashes[s] for each in sets for s in each], dtype=np.uint64)
    return _sets([distinct(Runs(starts_of(lengths), flat))[0]])


def _sets(batches_of_runs: Iterable[Runs]) -> ShingleSets:
    """Returns runs without repeats, batch by batch, as one collection of sets."""
    runs = list(batches_of_runs)
    members = np.concatenate([np.zeros(0, np.uint64), *(each.values for each in runs)])
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(each.starts) for each in runs)])
    return ShingleSets(starts_of(lengths), members)
