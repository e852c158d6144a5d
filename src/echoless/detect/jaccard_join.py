"""All pairs of sets at or above a Jaccard similarity, by MinHash buckets and exact comparison.

Sets that share a band (`bands.py`) lie in one bucket and are compared exactly, so a similarity is
never an estimate, and a pair at the very threshold is met with the probability promised. The work
is done row by row: a row looks at the members of its buckets that stand before it, each once.

Where only so many partners are wanted, a bucket is not compared all with all: of sets that are
equal only the first few are looked at, of a bucket the first `WIDTH`, and no more of it once as
many partners are found as are wanted that are all as close as can be told (`DENSE`). So ten
thousand sets that are nearly equal cost ten thousand times a bounded number of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.detect.bands import Banding, Keys, band_keys
from echoless.detect.gate import Gate
from echoless.detect.partners import Pairs, closest_before, first_of_crowd, made_of, ranks
from echoless.detect.shingle_sets import ShingleSets
from echoless.detect.shingling import chunks, in_order, pays, ranges
from echoless.vectors.crowd import DENSE

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]

WIDTH: Final = 256
"""Members of a bucket that are looked at, the first ones, where only some partners are wanted."""

BANDS_AT_ONCE: Final = 16
"""Bands whose keys are held at once: 64 MB of keys for a million sets."""

ROWS_AT_ONCE: Final = 8_192
PAIRS_AT_ONCE: Final = 1 << 16
"""Pairs made at a time; entries of buckets expanded at a time without a compiler."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Which sets before it each set is compared with.

    Attributes:
        begins: Shape (sets + 1,), int64: where the entries of each set begin.
        first: Shape (entries,), int64: where the bucket of an entry begins in `members`.
        looked_at: Shape (entries,), int32: how many of its members stand before the set and are
            looked at.
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
        sets: None of them empty, the better one before.
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
        """Blocks of pairs, ordered by `other`; each pair once."""
        if len(self.sets.starts) < 3:
            return
        buckets = self.buckets()
        yield from self._compiled(buckets) if pays(len(buckets.begins)) else self._plain(buckets)

    def buckets(self) -> Buckets:
        """The buckets of all bands."""
        wanted = self._looked_at()
        width = WIDTH if self.most is not None else len(wanted)
        parts = [
            part
            for first in range(0, self.banding.bands, BANDS_AT_ONCE)
            for part in in_order(lambda key: _buckets(key, wanted, width), self._keys(first))
        ]
        offsets = np.cumsum([0, *(len(part.members) for part in parts)])
        rows = np.concatenate([part.rows for part in parts])
        order = np.argsort(rows, kind="stable")
        firsts = [part.first + at for part, at in zip(parts, offsets, strict=False)]
        counted = np.bincount(rows, minlength=len(wanted))
        return Buckets(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counted)]),
            np.concatenate(firsts)[order],
            np.concatenate([part.looked_at for part in parts])[order],
            np.concatenate([part.members for part in parts]),
        )

    def _keys(self, first: int) -> Keys:
        last = min(first + BANDS_AT_ONCE, self.banding.bands)
        return band_keys(self.sets, self.banding, first, last)

    def _looked_at(self) -> NDArray[np.bool_]:
        """Which sets are looked at: of equal ones the first `most`, and one to see it is cut."""
        if self.most is None:
            return np.ones(len(self.sets.starts) - 1, dtype=np.bool_)
        first = self.sets.first_equal()
        order = np.argsort(first, kind="stable")
        wanted = np.empty(len(first), dtype=np.bool_)
        wanted[order] = ranks(first[order]) <= self.most
        return wanted

    def _compiled(self, buckets: Buckets) -> Iterator[Pairs]:
        from echoless.detect import minhash_kernels as kernels  # noqa: PLC0415 - needs numba

        sets = self.sets.starts, self.sets.members
        told = buckets.begins, buckets.first, buckets.looked_at, buckets.members
        gate = (
            self.gate.threshold,
            self.gate.inclusive,
            DENSE,
            -1 if self.most is None else self.most,
        )
        count = len(self.sets.starts) - 1

        def work(begin: int) -> list[tuple[Pairs, int]]:
            row, end, size = begin, min(begin + ROWS_AT_ONCE, count), PAIRS_AT_ONCE
            stamps, found = np.zeros(count, np.int32), []
            while row < end:
                made = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
                done = np.zeros(3, np.int64)
                stop = kernels.partners(sets, told, (row, end), gate, stamps, made, done)
                size = 2 * size if stop == row else size
                row = stop
                found.append((made_of(made, int(done[0]), int(done[2])), int(done[1])))
            return found

        for found in in_order(work, range(0, count, ROWS_AT_ONCE)):
            for pairs, verified in found:
                self.verified += verified
                yield closest_before(pairs, None).where(slice(None), pairs.cut)

    def _plain(self, buckets: Buckets) -> Iterator[Pairs]:
        count = len(self.sets.starts) - 1
        entries = np.concatenate([[0], np.cumsum(buckets.looked_at, dtype=np.int64)])
        costs = np.diff(entries[buckets.begins])
        for rows in chunks(costs, PAIRS_AT_ONCE):
            span = slice(int(buckets.begins[rows.start]), int(buckets.begins[rows.stop]))
            looked_at = buckets.looked_at[span].astype(np.int64)
            partners = buckets.members[ranges(buckets.first[span], looked_at)].astype(np.int64)
            own = np.repeat(np.arange(rows.start, rows.stop), costs[rows])
            keys = np.unique(own * count + partners)
            yield first_of_crowd(self._verified(keys % count, keys // count), self.most)

    def _verified(self, one: Ints, other: Ints) -> Pairs:
        """The pairs that pass, with their exact similarity; sizes rule out most of the others."""
        sizes = self.sets.sizes
        smaller, larger = np.minimum(sizes[one], sizes[other]), np.maximum(sizes[one], sizes[other])
        fits = smaller >= self.gate.threshold * larger
        one, other = one[fits], other[fits]
        self.verified += len(one)
        similarity = self.sets.jaccard(one, other)
        return Pairs(one, other, similarity).where(self.gate.passing(similarity))


@dataclass(frozen=True, slots=True)
class _Band:
    """Buckets of one band: entries by set, as in `Buckets`."""

    rows: Ints
    first: Ints
    looked_at: Rows
    members: Rows


def _buckets(key: Keys, wanted: NDArray[np.bool_], width: int) -> _Band:
    """Buckets of more than one set."""
    placed = np.sort(
        (key.astype(np.uint64) << np.uint64(32)) | np.arange(len(key), dtype=np.uint64)
    )
    keys = placed >> np.uint64(32)
    same = keys[1:] == keys[:-1]
    together = np.zeros(len(key), dtype=np.bool_)
    together[1:] |= same
    together[:-1] |= same
    rows = (placed[together] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    begun = np.ones(len(rows), dtype=np.bool_)
    begun[1:] = np.diff(keys[together]) != 0
    looked_at = wanted[rows]
    before: Ints = np.cumsum(looked_at) - looked_at
    first: Ints = np.repeat(before[begun], np.diff(np.append(np.flatnonzero(begun), len(rows))))
    counts = np.minimum(before - first, width)
    some = counts > 0
    return _Band(
        rows[some], first[some], counts[some].astype(np.int32), rows[looked_at].astype(np.int32)
    )
