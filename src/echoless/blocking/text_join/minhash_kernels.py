"""Compiled loops of the MinHash join: band keys, and the partners of a row in its buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from echoless.core.kernel_cache import njit

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
Words = NDArray[np.uint64]
Keys = NDArray[np.uint32]
Floats = NDArray[np.float64]


@njit(nogil=True)
def mixed(value: np.uint32) -> np.uint32:
    """Returns a fixed permutation of 32 bits: the finaliser of MurmurHash3 (Appleby)."""
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x85EBCA6B))
    value = np.uint32(value ^ (value >> np.uint32(13)))
    value = np.uint32(value * np.uint32(0xC2B2AE35))
    return np.uint32(value ^ (value >> np.uint32(16)))


@njit(nogil=True)
def keys(
    starts: Ints, members: Words, seeds: Keys, rows: int, first: int, last: int, made: Keys
) -> None:
    """Writes the band keys of the sets from `first` to `last`, for `minhash_bands.band_keys`."""
    values = len(seeds)
    smallest = np.empty(values, dtype=np.uint32)
    for each in range(first, last):
        for at in range(values):
            smallest[at] = np.uint32(0xFFFFFFFF)
        for place in range(starts[each], starts[each + 1]):
            member = np.uint32(members[place] >> np.uint64(32))
            for at in range(values):
                value = mixed(np.uint32(member ^ seeds[at]))
                smallest[at] = min(smallest[at], value)
        for band in range(values // rows):
            key = np.uint32(0)
            for at in range(band * rows, (band + 1) * rows):
                key = mixed(np.uint32(key ^ smallest[at]))
            made[band, each] = key


@njit(nogil=True)
def shared(starts: Ints, members: Words, one: int, other: int, least: int) -> int:
    """Returns the common members of two sets, or fewer than `least` once that is out of reach."""
    left, right = starts[one], starts[other]
    ends = starts[one + 1], starts[other + 1]
    common = 0
    while left < ends[0] and right < ends[1]:
        if common + min(ends[0] - left, ends[1] - right) < least:
            return common
        if members[left] == members[right]:
            common += 1
            left += 1
            right += 1
        elif members[left] < members[right]:
            left += 1
        else:
            right += 1
    return common


@njit(nogil=True)
def jaccard(starts: Ints, members: Words, one: Ints, other: Ints, made: Floats) -> None:
    """Writes the similarities of pairs of sets, for `ShingleSets.jaccard`."""
    for pair in range(len(one)):
        a, b = one[pair], other[pair]
        sizes = starts[a + 1] - starts[a] + starts[b + 1] - starts[b]
        common = shared(starts, members, a, b, 0)
        made[pair] = common / (sizes - common)


@njit(nogil=True)
def keep_closest(
    one: Ints, similarity: Floats, first: int, last: int, most: int, dense: float
) -> int:
    """Moves the wanted partners to the front, by the rule of `top_k.first_of_crowd`."""
    for wanted in range(first, min(first + most, last)):
        best = wanted
        for place in range(wanted + 1, last):
            mine, theirs = min(similarity[place], dense), min(similarity[best], dense)
            if mine > theirs or (mine == theirs and one[place] < one[best]):
                best = place
        one[wanted], one[best] = one[best], one[wanted]
        similarity[wanted], similarity[best] = similarity[best], similarity[wanted]
    return min(first + most, last)


@njit(nogil=True)
def compared(starts: Ints, members: Words, one: int, other: int, threshold: float) -> float:
    """Returns the Jaccard similarity of two sets; a value below the threshold may be inexact.

    It is -1 where the sizes alone rule the pair out.
    """
    mine, theirs = starts[one + 1] - starts[one], starts[other + 1] - starts[other]
    if min(mine, theirs) < threshold * max(mine, theirs):
        return -1.0
    least = int(np.ceil(threshold / (1.0 + threshold) * (mine + theirs) - 1e-9))
    common = shared(starts, members, one, other, least)
    return float(common / (mine + theirs - common))


@njit(nogil=True)
def partners(
    sets: tuple[Ints, Words],
    buckets: tuple[Ints, Ints, Rows, Rows],
    rows: tuple[int, int],
    gate: tuple[float, bool, float, int],
    stamps: Rows,
    made: tuple[Ints, Ints, Floats],
    done: Ints,
) -> int:
    """Writes the verified partners of the rows from `rows[0]` to `rows[1]`, for `jaccard_join`.

    Args:
        sets: Where each set begins, and the members.
        buckets: Where the entries of each row begin; of each entry where its bucket begins and how
            many of its members are compared; the members of all buckets.
        rows: First and last.
        gate: Threshold, whether it counts itself, similarity from which partners are equally
            close, number of wanted partners (-1: all).
        stamps: One for each row, 0 at the beginning of the first call.
        made: Filled with one, other and similarity of the pairs.
        done: Filled with pairs made, pairs verified and rows that had too many.

    Returns:
        The next row: `rows[1]`, or the first one whose pairs did not fit.
    """
    starts, members = sets
    begins, first_of, looked_at, bucket = buckets
    threshold, inclusive, dense, most = gate
    one, other, similarity = made
    for row in range(rows[0], rows[1]):
        begin, at, seen = done[0], done[0], 0
        for entry in range(begins[row], begins[row + 1]):
            close = 0
            for place in range(first_of[entry], first_of[entry] + looked_at[entry]):
                if close > most >= 0:
                    break
                partner = bucket[place]
                if stamps[partner] >> 1 == row + 1:
                    close += stamps[partner] & 1
                    continue
                stamps[partner] = (row + 1) << 1
                jaccard = compared(starts, members, row, partner, threshold)
                seen += jaccard >= 0.0
                if jaccard > threshold or (inclusive and jaccard == threshold):
                    if at == len(one):
                        stamps[:] = 0
                        return row
                    one[at], other[at], similarity[at] = partner, row, jaccard
                    at += 1
                    if jaccard >= dense:
                        stamps[partner] |= 1
                        close += 1
        if at - begin > most >= 0:
            at = keep_closest(one, similarity, begin, at, most, dense)
            done[2] += 1
        done[0], done[1] = at, done[1] + seen
    return rows[1]
