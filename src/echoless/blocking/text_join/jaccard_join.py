"""A join of sets by Jaccard similarity, with MinHash buckets and exact comparison.

Sets that share a band (`minhash_bands.py`) lie in one bucket and are compared exactly, so a
similarity is never an estimate, and a pair at the very threshold is met with the promised
probability. The work is done row by row: a row is compared with the members of its buckets that
stand before it, each once.

Where only some partners are wanted, a bucket is not compared all with all: of equal sets only the
first few are compared, of a bucket the first `WIDTH`, and no more of it once enough partners are
found that all reach `DENSE`. So ten thousand sets that are nearly equal cost ten thousand times a
bounded number of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector_options import Gate
from echoless.blocking.text_join.minhash_bands import Banding, Keys, band_keys
from echoless.blocking.text_join.shingle_sets import ShingleSets
from echoless.blocking.text_join.shingling import chunks, in_order, loops_loaded, ranges, starts_of
from echoless.blocking.top_k import Pairs, closest_before, first_of_crowd, made_of, ranks
from echoless.blocking.vector_join.dense_limits import DENSE
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.blocking.text_join import minhash_kernels as kernels
else:
    kernels = lazy_module("echoless.blocking.text_join.minhash_kernels")

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]

WIDTH: Final = 256
"""Members of a bucket that are compared, the first ones, where only some partners are wanted."""

BANDS_AT_ONCE: Final = 16
"""Bands whose keys are held at once: 64 MB of keys for a million sets."""

ROWS_AT_ONCE: Final = 8_192
PAIRS_AT_ONCE: Final = 1 << 16
"""Pairs made at a time; entries of buckets expanded at a time without a compiler."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of all bands: the sets before it that each set is compared with.

    Attributes:
        begins: Shape (sets + 1,), int64: where the entries of each set begin.
        first: Shape (entries,), int64: where the bucket of an entry begins in `members`.
        looked_at: Shape (entries,), int32: how many of its members, all before the set, are
            compared with it.
        members: int32: the members of all buckets, ascending within one.
    """

    begins: Ints
    first: Ints
    looked_at: Rows
    members: Rows


@dataclass(slots=True)
class JaccardJoin:
    """A join of sets with themselves.

    Attributes:
        sets: None of them empty, better survivors first.
        gate: Which similarities pass.
        banding: How signatures are cut.
        most: Partners wanted for each set among those before it, see `first_of_crowd`; None: all.
        verified: Pairs compared exactly so far.
    """

    sets: ShingleSets
    gate: Gate
    banding: Banding
    most: int | None = None
    verified: int = field(default=0, init=False)

    def pairs(self) -> Iterator[Pairs]:
        """Yields blocks of pairs, ordered by `other`; each pair once."""
        count, sizes = len(self.sets.starts) - 1, self.sets.sizes
        if count < 2:
            return
        buckets = self.buckets()
        if loops_loaded():
            yield from self._compiled_pairs(buckets)
            return
        costs = np.diff(starts_of(buckets.looked_at)[buckets.begins])
        for rows in chunks(costs, PAIRS_AT_ONCE):
            span = slice(int(buckets.begins[rows.start]), int(buckets.begins[rows.stop]))
            looked_at = buckets.looked_at[span].astype(np.int64)
            partners = buckets.members[ranges(buckets.first[span], looked_at)].astype(np.int64)
            own = np.repeat(np.arange(rows.start, rows.stop), costs[rows])
            keys = np.unique(own * count + partners)
            one, other = keys % count, keys // count
            smaller = np.minimum(sizes[one], sizes[other])
            fits = smaller >= self.gate.threshold * np.maximum(sizes[one], sizes[other])
            one, other = one[fits], other[fits]
            self.verified += len(one)
            similarity = self.sets.jaccard(one, other)
            pairs = Pairs(one, other, similarity).where(self.gate.passing(similarity))
            yield first_of_crowd(pairs, self.most)

    def buckets(self) -> Buckets:
        """Returns the buckets of all bands.

        Of equal sets only the first `most` are compared, and one more to see that there are more.
        """
        wanted = np.ones(len(self.sets.starts) - 1, dtype=np.bool_)
        width = len(wanted)
        if self.most is not None:
            first = self.sets.first_equal()
            order = np.argsort(first, kind="stable")
            wanted[order] = ranks(first[order]) <= self.most
            width = WIDTH
        parts: list[_Band] = []
        for band in range(0, self.banding.bands, BANDS_AT_ONCE):
            last = min(band + BANDS_AT_ONCE, self.banding.bands)
            parts += in_order(
                lambda key: _buckets_of_band(key, wanted, width),
                band_keys(self.sets, self.banding, band, last),
            )
        offsets = np.cumsum([0, *(len(part.members) for part in parts)])
        rows = np.concatenate([part.rows for part in parts])
        order = np.argsort(rows, kind="stable")
        firsts = [part.first + at for part, at in zip(parts, offsets, strict=False)]
        return Buckets(
            starts_of(np.bincount(rows, minlength=len(wanted))),
            np.concatenate(firsts)[order],
            np.concatenate([part.looked_at for part in parts])[order],
            np.concatenate([part.members for part in parts]),
        )

    def _compiled_pairs(self, buckets: Buckets) -> Iterator[Pairs]:
        """Yields the same blocks as the loop in `pairs`, from compiled loops."""
        sets = self.sets.starts, self.sets.members
        entries = buckets.begins, buckets.first, buckets.looked_at, buckets.members
        most = -1 if self.most is None else self.most
        gate = self.gate.threshold, self.gate.inclusive, DENSE, most
        count = len(self.sets.starts) - 1

        def work(begin: int) -> list[tuple[Pairs, int]]:
            row, end, size = begin, min(begin + ROWS_AT_ONCE, count), PAIRS_AT_ONCE
            stamps, blocks = np.zeros(count, np.int32), []
            while row < end:
                columns = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
                done = np.zeros(3, np.int64)
                stop = kernels.partners(sets, entries, (row, end), gate, stamps, columns, done)
                size = 2 * size if stop == row else size
                row = stop
                blocks.append((made_of(columns, int(done[0]), int(done[2])), int(done[1])))
            return blocks

        for blocks in in_order(work, range(0, count, ROWS_AT_ONCE)):
            for pairs, verified in blocks:
                self.verified += verified
                yield closest_before(pairs, None).where(slice(None), pairs.cut)


@dataclass(frozen=True, slots=True)
class _Band:
    """Buckets of one band; entries by set, as in `Buckets`."""

    rows: Ints
    first: Ints
    looked_at: Rows
    members: Rows


def _buckets_of_band(key: Keys, wanted: NDArray[np.bool_], width: int) -> _Band:
    """Returns the buckets of one band that hold more than one set."""
    placed = np.sort(
        (key.astype(np.uint64) << np.uint64(32)) | np.arange(len(key), dtype=np.uint64)
    )
    keys = placed >> np.uint64(32)
    same = keys[1:] == keys[:-1]
    shared = np.zeros(len(key), dtype=np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    rows = (placed[shared] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    begun = np.ones(len(rows), dtype=np.bool_)
    begun[1:] = np.diff(keys[shared]) != 0
    looked_at = wanted[rows]
    before: Ints = np.cumsum(looked_at) - looked_at
    first: Ints = np.repeat(before[begun], np.diff(np.append(np.flatnonzero(begun), len(rows))))
    counts = np.minimum(before - first, width)
    some = counts > 0
    return _Band(
        rows[some], first[some], counts[some].astype(np.int32), rows[looked_at].astype(np.int32)
    )
