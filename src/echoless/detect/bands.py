"""MinHash signatures cut into bands: which sets are worth an exact comparison.

Source: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3. One MinHash value of
two sets agrees with probability s, their Jaccard similarity. A band of r values agrees with
probability s^r, at least one of b bands with `1 - (1 - s^r)^b`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.detect.ngram_index import chunks, ranges
from echoless.detect.shingle_sets import ShingleSets

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Keys = NDArray[np.uint32]

PERMUTATIONS_VERSION: Final = 1
"""Part of every seed: another number is another family of permutations."""

MOST_ROWS: Final = 8
MOST_PERMUTATIONS: Final = 384
PAIR_CHUNK: Final = 1 << 15
"""Pairs enumerated at a time, about 20 MiB with their keys."""


@dataclass(frozen=True, slots=True)
class Banding:
    """How signatures are cut.

    Attributes:
        bands: Number of bands b.
        rows: MinHash values in a band r.
    """

    bands: int
    rows: int

    def chance(self, similarity: float) -> float:
        """Probability that two sets of this Jaccard similarity share a band."""
        return float(1.0 - (1.0 - similarity**self.rows) ** self.bands)


def banding_for(threshold: float, recall: float) -> Banding | None:
    """The most selective banding that finds a pair at the threshold with probability `recall`.

    The most rows for which `b = ln(1 - recall) / ln(1 - threshold^r)` bands, rounded up, need at
    most `MOST_PERMUTATIONS` values: more rows let fewer dissimilar pairs through.

    Args:
        threshold: Jaccard similarity, 0 to 1.
        recall: Strictly between 0 and 1.

    Returns:
        The banding, or None if the threshold is too low for any.
    """
    for rows in range(MOST_ROWS, 0, -1):
        agree = threshold**rows
        if agree >= 1.0:
            return Banding(1, rows)
        if agree <= 0.0:
            continue
        bands = math.ceil(math.log1p(-recall) / math.log1p(-agree))
        if bands * rows <= MOST_PERMUTATIONS:
            return Banding(bands, rows)
    return None


def band_keys(sets: ShingleSets, banding: Banding) -> Keys:
    """One 32-bit key for each set and band; equal bands have equal keys.

    Returns:
        Shape (sets, bands), uint32. Different bands share a key once in 2^32; that costs a
        comparison and nothing else.
    """
    keys = np.empty((len(sets.starts) - 1, banding.bands), dtype=np.uint32)
    for band in range(banding.bands):
        key = np.zeros(len(keys), dtype=np.uint64)
        for row in range(banding.rows):
            seed = _seed(band * banding.rows + row)
            smallest = np.minimum.reduceat(_mix(sets.hashes ^ seed)[sets.members], sets.starts[:-1])
            key = _mix(key ^ smallest)
        keys[:, band] = key >> np.uint64(32)
    return keys


def _seed(number: int) -> np.uint64:
    text = f"echoless minhash {PERMUTATIONS_VERSION} {number}"
    raw = hashlib.blake2b(text.encode("ascii"), digest_size=8).digest()
    return np.uint64(int.from_bytes(raw, "little"))


def _mix(values: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a fixed permutation of 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def meeting_pairs(keys: Keys) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of sets that share at least one band, in chunks of bounded size.

    A pair belongs to the first band it meets in, so none comes twice and none has to be remembered.

    Yields:
        Set numbers of both sides, one < other, int64.
    """
    for band in range(keys.shape[1]):
        for one, other in _same_key(keys[:, band]):
            new = (keys[one, :band] != keys[other, :band]).all(axis=1)
            if new.any():
                yield one[new], other[new]


def _same_key(column: Keys) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of positions of one column that hold the same key."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    ends = np.searchsorted(ordered, ordered, side="right")
    following = ends - np.arange(len(ordered)) - 1
    paired = np.flatnonzero(following)
    for chunk in chunks(following[paired], PAIR_CHUNK):
        places = paired[chunk]
        yield (
            np.repeat(order[places], following[places]),
            order[ranges(places + 1, following[places])],
        )
