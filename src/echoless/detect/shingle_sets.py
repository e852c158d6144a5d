"""Sets of shingles as flat arrays, and their exact Jaccard similarity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from echoless.detect.shingling import (
    Runs,
    batches,
    distinct,
    gram_runs,
    hash_of,
    in_order,
    mixed,
    pays,
    ranges,
    word_shingle_runs,
)

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
        """Shape (sets,), int64: number of members of each set."""
        return np.diff(self.starts)

    def jaccard(self, one: Ints, other: Ints) -> Floats:
        """Exact Jaccard similarity, common shingles over all shingles, of pairs of sets.

        Args:
            one: Shape (pairs,), int64: numbers of sets that are not empty.
            other: The same for the other sides.

        Returns:
            Shape (pairs,), float64, 0 to 1.
        """
        if pays(len(self.starts)):
            from echoless.detect import minhash_kernels as kernels  # noqa: PLC0415 - needs numba

            made = np.empty(len(one))
            kernels.jaccard(self.starts, self.members, one, other, made)
            return made
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
        """Some of the sets, in the order asked for."""
        counts = self.sizes[kept]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return ShingleSets(starts, self.members[ranges(self.starts[kept], counts)])

    def first_equal(self) -> Ints:
        """Shape (sets,), int64: for each set the first one that has the same members.

        Sets are told apart by their size and a sum of 64 bits over their members.
        """
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(self.members))])
        sums = mixed(ends[self.starts[1:]] - ends[self.starts[:-1]] + self.sizes.astype(np.uint64))
        _, first, where = np.unique(sums, return_index=True, return_inverse=True)
        return first.astype(np.int64)[where]


def word_sets(texts: Iterable[str], n: int) -> ShingleSets:
    """Sets of runs of n words, as `echoless.text.word_shingles`; empty for a text without words."""
    return _sets(in_order(lambda batch: distinct(word_shingle_runs(batch, n))[0], batches(texts)))


def gram_sets(texts: Iterable[str], n: int) -> ShingleSets:
    """Sets of character n-grams, as `echoless.text.char_ngrams`; empty for an empty normal form."""
    return _sets(in_order(lambda batch: distinct(_hashed(gram_runs(batch, n)))[0], batches(texts)))


def _hashed(runs: Runs) -> Runs:
    """Numbers packed of code points as hashes: MinHash reads their upper half."""
    return Runs(runs.starts, mixed(runs.values))


def number_shingles(sets: Sequence[AbstractSet[str]]) -> ShingleSets:
    """Sets of shingles of any kind."""
    hashes = {shingle: hash_of(shingle) for each in sets for shingle in each}
    lengths = np.array([len(each) for each in sets], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.array([hashes[s] for each in sets for s in each], dtype=np.uint64)
    return _sets([distinct(Runs(starts, flat))[0]])


def _sets(runs: Iterable[Runs]) -> ShingleSets:
    told = list(runs)
    members = np.concatenate([np.zeros(0, np.uint64), *(each.values for each in told)])
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(each.starts) for each in told)])
    return ShingleSets(np.cumsum(lengths), members)
