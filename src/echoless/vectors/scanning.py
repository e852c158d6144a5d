"""All pairs by something short: each row against all rows before it, a tile of them at a time.

Needs the compiled kernels (`bit_kernels.py`). What a sieve (`sieves.py`) lets through is compared
in full, so a pair that is found is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.crowd import DENSE, SEEN_ENOUGH
from echoless.vectors.join import Hits, Join, in_order_of_rows, some_of
from echoless.vectors.sieves import Laid
from echoless.vectors.signing import Floats
from echoless.vectors.threads import in_order
from echoless.vectors.work import Work

ROWS_AT_ONCE: Final = 2048
"""Rows one task compares with all before them."""

NEVER: Final = 2.0
"""No cosine is as high."""

ROOM: Final = 1 << 16
"""Hits a task gathers before it hands them on."""


def scan_pairs(join: Join, laid: Laid, most: int | None, work: Work) -> Iterator[Hits]:
    """Pairs i < j at the threshold of the join, by rising j, then i; arrays are never empty.

    Args:
        join: Rows and threshold.
        laid: What is looked at before rows are compared in full.
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes what was done.
    """
    count = len(join.rows)
    run = _Run(join, laid, most, join.inverse, np.zeros(count, dtype=np.int32))
    work.compared += count * (count - 1) // 2
    starts = range(0, count, ROWS_AT_ONCE)
    tasks = (partial(run.block, s, min(s + ROWS_AT_ONCE, count)) for s in starts)
    for part, hits in in_order(tasks):
        work.pulse()
        work.verified += part.verified
        work.crowded += part.crowded
        if len(hits[0]):
            yield hits


@dataclass(frozen=True, slots=True)
class _Run:
    join: Join
    laid: Laid
    most: int | None
    inverse: Floats
    seen: NDArray[np.int32]

    def block(self, first: int, last: int) -> tuple[Work, Hits]:
        """Rows `first` to `last` against all before them."""
        counts = np.zeros(1, dtype=np.int64)
        parts = [
            hits
            for found in self._found(first, last, counts)
            for hits in self.join.confirmed(*found)
        ]
        hits, crowded = some_of(in_order_of_rows(parts), self.most)
        return Work(verified=int(counts[0]), crowded=crowded), hits

    def _found(
        self, first: int, last: int, counts: NDArray[np.int64]
    ) -> Iterator[NDArray[np.int64]]:
        from echoless.vectors.bit_kernels import scan  # noqa: PLC0415 - compiles

        found = np.empty((2, ROOM), dtype=np.int64)
        position = (0, first)
        while position[0] >= 0:
            hits, *after = scan(
                self.laid.tiles,
                self.laid.queries,
                self.join.rows,
                self.inverse,
                crowd_terms(self.join, self.most),
                0 if self.most is None else SEEN_ENOUGH,
                np.array([first, last]),
                np.array(position),
                self.seen,
                found,
                counts,
            )
            position = (after[0], after[1])
            yield found[:, :hits].copy()


def crowd_terms(join: Join, most: int | None) -> Floats:
    """The floor of a hit, and the cosine from which partners of a crowd are counted for certain.

    Both by what 32 bits lose: a row is passed over only where `before_enough` would do so too.

    Returns:
        Shape (2,), float32: both inclusive; the second is `NEVER` where all partners are wanted.
    """
    certain = max(DENSE, join.threshold) + (join.threshold - float(join.floor))
    return np.array([join.floor, NEVER if most is None else certain], dtype=np.float32)
