"""Sets of shingles as flat arrays, and their exact Jaccard similarity."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.detect.ngram_index import ranges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

SHINGLE_HASH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """Non-empty sets over one vocabulary.

    Attributes:
        starts: Shape (sets + 1,), int64: where each set begins in `members`.
        members: Shape (entries,), int64: shingle numbers, each once in a set.
        hashes: Shape (shingles,), uint64: 64-bit BLAKE2b of each shingle's UTF-8 bytes, the same in
            every process and on every platform.
    """

    starts: Ints
    members: Ints
    hashes: Words

    @property
    def sizes(self) -> Ints:
        """Shape (sets,), int64: number of members of each set."""
        return np.diff(self.starts)

    def jaccard(self, one: Ints, other: Ints) -> Floats:
        """Exact Jaccard similarity, common shingles over all shingles, of pairs of sets.

        Args:
            one: Shape (pairs,), int64: set numbers.
            other: The same for the other sides.

        Returns:
            Shape (pairs,), float64, 0 to 1.
        """
        sizes = self.sizes
        joined = np.concatenate([self._keys(one), self._keys(other)])
        joined.sort()
        twice = joined[1:][joined[1:] == joined[:-1]]
        common = np.bincount(twice // len(self.hashes), minlength=len(one))
        shared: Floats = common / (sizes[one] + sizes[other] - common)
        return shared

    def _keys(self, sets: Ints) -> Ints:
        """`pair * shingles + shingle` for every member of the set at each pair's position."""
        counts = self.sizes[sets]
        members = self.members[ranges(self.starts[sets], counts)]
        return np.repeat(np.arange(len(sets)) * len(self.hashes), counts) + members


def number_shingles(sets: Sequence[AbstractSet[str]]) -> ShingleSets:
    """Number the shingles of non-empty sets; numbers follow the shingles' own order."""
    vocabulary = sorted(frozenset().union(*sets))
    numbers = {shingle: number for number, shingle in enumerate(vocabulary)}
    lengths = np.array([len(each) for each in sets], dtype=np.int64)
    return ShingleSets(
        starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        members=np.array([numbers[s] for each in sets for s in each], dtype=np.int64),
        hashes=np.array([_hash(shingle) for shingle in vocabulary], dtype=np.uint64),
    )


def _hash(shingle: str) -> int:
    raw = shingle.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=SHINGLE_HASH_BYTES).digest(), "little")
