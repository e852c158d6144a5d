"""All pairs by bits: each row against all rows before it, 64 of them at a time.

Needs the compiled kernels (`bit_kernels.py`). What the bits let through is compared in full, so a
pair that is found is right; what they pass over is either certain not to reach the threshold
(`Bound`) or reaches it with a probability that was named (`cut`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.crowd import DENSE, LOOKED_AT
from echoless.vectors.join import Hits, Join, in_order_of_rows
from echoless.vectors.partners import kept_partners
from echoless.vectors.signing import Bound, Floats, Frame, Words, blocks
from echoless.vectors.threads import in_order
from echoless.vectors.work import Work

ROWS_AT_ONCE: Final = 2048
"""Rows one task compares with all before them."""

NEVER: Final = 2.0
"""No cosine is as high."""

ROOM: Final = 1 << 16
"""Hits a task gathers before it hands them on."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """What rows are turned into bits by, and what bits rule out.

    Attributes:
        frame: Where coordinates are taken.
        bound: For a search without any risk; None goes by odds.
        most: By odds: more bits than these rule a pair out.
    """

    frame: Frame
    bound: Bound | None
    most: int = 0


@dataclass(frozen=True, slots=True)
class Signed:
    """Bits of all rows.

    Attributes:
        words: Of a row and kind.
        tiles: Shape (tiles * words * 64,): signs, 64 rows side by side.
        queries: Shape (rows, 2 * words): signs, and which of them count.
        strong: Shape (rows, 2 * words): far above zero, far below; no columns without a bound.
    """

    words: int
    tiles: Words
    queries: Words
    strong: Words


def scan_pairs(join: Join, sieve: Sieve, most: int | None, work: Work) -> Iterator[Hits]:
    """Pairs i < j at the threshold of the join, by rising j, then i; arrays are never empty.

    Args:
        join: Rows and threshold.
        sieve: What is passed over.
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes what was done.
    """
    count = len(join.rows)
    seen = np.zeros(count, dtype=np.int32)
    run = _Run(join, signed(join, sieve), _limits(sieve), most, join.inverse, seen)
    work.compared += count * (count - 1) // 2
    starts = range(0, count, ROWS_AT_ONCE)
    tasks = (partial(run.block, s, min(s + ROWS_AT_ONCE, count)) for s in starts)
    for part, hits in in_order(tasks):
        work.pulse()
        work.passed += part.passed
        work.verified += part.verified
        work.crowded += part.crowded
        if len(hits[0]):
            yield hits


def _limits(sieve: Sieve) -> NDArray[np.uint64]:
    bound = sieve.bound
    two = (sieve.most, 0) if bound is None else (bound.most_weak, bound.most_strong)
    return np.array(two, dtype=np.uint64)


def signed(join: Join, sieve: Sieve) -> Signed:
    """All rows as bits, in blocks on several threads."""
    from echoless.vectors.bit_kernels import LANES, sign  # noqa: PLC0415 - compiles

    count, bound = len(join.rows), sieve.bound
    words = -(-len(sieve.frame.planes) // 64)
    whole = -(-count // LANES) * LANES
    queries = np.empty((count, 2 * words), dtype=np.uint64)
    strong = np.zeros((count, 0 if bound is None else 2 * words), dtype=np.uint64)
    tiles = np.zeros((whole // LANES, words, LANES), dtype=np.uint64)
    weak, far = (0.0, 0.0) if bound is None else (bound.weak, bound.strong)

    def fill(some: slice) -> None:
        at = sieve.frame.coordinates(join.unit(some.start, some.stop - some.start))
        sign(at, np.float32(weak), np.float32(far), queries[some], strong[some])
        _lay(queries[some, :words], tiles, some.start, LANES)

    for _ in in_order(partial(fill, some) for some in blocks(count)):
        pass
    return Signed(words, tiles.reshape(-1), queries, strong)


def _lay(signs: Words, tiles: Words, start: int, lanes: int) -> None:
    """Put the words of consecutive rows, from a whole tile on, side by side."""
    rows, words = signs.shape
    full = np.zeros((-(-rows // lanes) * lanes, words), dtype=np.uint64)
    full[:rows] = signs
    first = start // lanes
    tiles[first : first + len(full) // lanes] = full.reshape(-1, lanes, words).transpose(0, 2, 1)


@dataclass(frozen=True, slots=True)
class _Run:
    join: Join
    signed: Signed
    limits: NDArray[np.uint64]
    most: int | None
    inverse: Floats
    seen: NDArray[np.int32]

    def block(self, first: int, last: int) -> tuple[Work, Hits]:
        """Rows `first` to `last` against all before them."""
        counts = np.zeros(2, dtype=np.int64)
        parts = [
            hits
            for found in self._found(first, last, counts)
            for hits in self.join.confirmed(*found)
        ]
        hits = in_order_of_rows(parts)
        crowded = 0
        if self.most is not None:
            keep = kept_partners(*hits, self.most)
            crowded = len(np.unique(hits[1][~keep]))
            hits = (hits[0][keep], hits[1][keep], hits[2][keep])
        return Work(passed=int(counts[0]), verified=int(counts[1]), crowded=crowded), hits

    def _found(
        self, first: int, last: int, counts: NDArray[np.int64]
    ) -> Iterator[NDArray[np.int64]]:
        from echoless.vectors.bit_kernels import scanner  # noqa: PLC0415 - compiles

        scan = scanner(self.signed.words)
        found = np.empty((2, ROOM), dtype=np.int64)
        position = (0, first)
        while position[0] >= 0:
            hits, *after = scan(
                self.signed.tiles,
                self.signed.queries,
                self.signed.strong,
                self.join.rows,
                self.inverse,
                self.limits,
                crowd_terms(self.join, self.most),
                0 if self.most is None else LOOKED_AT,
                np.array([first, last]),
                np.array(position),
                self.seen,
                found,
                counts,
            )
            position = (after[0], after[1])
            yield found[:, :hits].copy()


def crowd_terms(join: Join, most: int | None) -> Floats:
    """The floor of a hit, and the cosine from which partners of a crowd are counted."""
    return np.array([join.floor, NEVER if most is None else DENSE], dtype=np.float32)
