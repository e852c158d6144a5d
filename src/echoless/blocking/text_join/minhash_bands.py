"""MinHash signatures cut into bands, which select the sets worth an exact comparison.

Source: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3. One MinHash value of
two sets agrees with probability s, their Jaccard similarity. A band of r values agrees with
probability s^r, at least one of b bands with `1 - (1 - s^r)^b`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.text_join.shingle_sets import ShingleSets
from echoless.blocking.text_join.shingling import in_order, loops_loaded
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.blocking.text_join import minhash_kernels as kernels
else:
    kernels = lazy_module("echoless.blocking.text_join.minhash_kernels")

Ints = NDArray[np.int64]
Keys = NDArray[np.uint32]

PERMUTATIONS_VERSION: Final = 2
"""Part of every seed: another number is another family of permutations."""

MOST_ROWS: Final = 8
MOST_PERMUTATIONS: Final = 384
"""MinHash values of a set, at most, where the banding is not chosen by its cost."""

CHOSEN_FROM: Final = 5_000
"""Sets from which on the banding is chosen by its expected cost."""

MOST_AFFORDED: Final = 2_048
SAMPLED: Final = 1 << 15
"""Pairs of sets drawn to measure how similar unrelated ones are."""

HASH_COST, KEY_COST, PAIR_COST = 0.3, 15.0, 4.5
"""Nanoseconds of a MinHash value for one member, of a band key in its sort, of a pair compared for
each member of a set: measured, and only their proportion matters."""

SETS_AT_ONCE: Final = 8_192


@dataclass(frozen=True, slots=True)
class Banding:
    """A division of signatures into bands.

    Attributes:
        bands: Number of bands b.
        rows: MinHash values in a band r.
    """

    bands: int
    rows: int

    def chance(self, similarity: float) -> float:
        """Returns the probability that two sets of this Jaccard similarity share a band."""
        return float(1.0 - (1.0 - similarity**self.rows) ** self.bands)


def bandings(threshold: float, recall: float) -> list[Banding]:
    """Returns for each number of rows the fewest bands with the recall, most rows first.

    That is `b = ln(1 - recall) / ln(1 - threshold^r)`, rounded up.
    """
    choices = []
    for rows in range(MOST_ROWS, 0, -1):
        agree = threshold**rows
        if agree >= 1.0:
            choices.append(Banding(1, rows))
        elif agree > 0.0:
            choices.append(Banding(math.ceil(math.log1p(-recall) / math.log1p(-agree)), rows))
    return choices


def banding_for(threshold: float, recall: float) -> Banding | None:
    """Returns the most selective banding that finds a pair at the threshold with the recall.

    Of those with at most `MOST_PERMUTATIONS` values the one with the most rows: more rows let
    fewer dissimilar pairs through.

    Args:
        threshold: Jaccard similarity, 0 to 1.
        recall: Strictly between 0 and 1.

    Returns:
        The banding, or None if the threshold is too low for any.
    """
    fits = (b for b in bandings(threshold, recall) if b.bands * b.rows <= MOST_PERMUTATIONS)
    return next(fits, None)


def banding_at(sets: ShingleSets, threshold: float, recall: float) -> Banding | None:
    """Returns the banding of `banding_for`, or for many sets the one that costs least.

    More rows cost more MinHash values and save comparisons of dissimilar pairs, whose number grows
    with the store. A sample of pairs gives their share.
    """
    known = banding_for(threshold, recall)
    count = len(sets.starts) - 1
    if known is None or count < CHOSEN_FROM:
        return known
    drawn = np.random.default_rng(PERMUTATIONS_VERSION).integers(0, count, (2, SAMPLED))
    alike = sets.jaccard(*drawn[:, drawn[0] != drawn[1]])
    unlike = alike[alike < threshold]
    pairs = count * (count - 1) / 2

    def cost(banding: Banding) -> float:
        hashing = HASH_COST * len(sets.members) * banding.bands * banding.rows
        meeting = pairs * float(np.sum(unlike**banding.rows)) / SAMPLED * banding.bands
        comparing = PAIR_COST * meeting * len(sets.members) / count
        return hashing + KEY_COST * count * banding.bands + comparing

    afforded = [b for b in bandings(threshold, recall) if b.bands * b.rows <= MOST_AFFORDED]
    return min(afforded, key=cost)


def band_keys(sets: ShingleSets, banding: Banding, first: int = 0, last: int | None = None) -> Keys:
    """Returns one 32-bit key for each band and set; equal bands have equal keys.

    Args:
        sets: None of them empty.
        banding: How signatures are cut.
        first: The first band wanted.
        last: The band after the last one wanted; all by default.

    Returns:
        Shape (bands, sets), uint32. Different bands share a key once in 2^32; that costs a
        comparison and nothing else.
    """
    last = banding.bands if last is None else last
    rows = banding.rows
    names = (
        f"echoless minhash {PERMUTATIONS_VERSION} {at}" for at in range(first * rows, last * rows)
    )
    digests = [hashlib.blake2b(name.encode("ascii"), digest_size=4).digest() for name in names]
    seeds = np.array([int.from_bytes(raw, "little") for raw in digests], dtype=np.uint32)
    count = len(sets.starts) - 1
    keys = np.empty((last - first, count), dtype=np.uint32)
    if not loops_loaded():
        members = (sets.members >> np.uint64(32)).astype(np.uint32)
        for band in range(last - first):
            key = np.zeros(count, dtype=np.uint32)
            for seed in seeds[band * rows : (band + 1) * rows]:
                key = _mix(key ^ np.minimum.reduceat(_mix(members ^ seed), sets.starts[:-1]))
            keys[band] = key
        return keys

    def work(begin: int) -> None:
        end = min(begin + SETS_AT_ONCE, count)
        kernels.keys(sets.starts, sets.members, seeds, rows, begin, end, keys)

    for _ in in_order(work, range(0, count, SETS_AT_ONCE)):
        pass
    return keys


def _mix(values: Keys) -> Keys:
    """Returns a fixed permutation of 32 bits: the finaliser of MurmurHash3 (Appleby)."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return values ^ (values >> np.uint32(16))
