"""A join that filters every pair by short forms of the rows, a tile of rows at a time.

It needs the compiled kernels (`bit_kernels.py`). Pairs that pass the filter (`prefilters.py`) are
compared in full, so every pair found is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.dense_limits import DENSE, SEEN_ENOUGH
from echoless.blocking.vector_join.exact_join import Hits, Join, in_order_of_rows, some_of
from echoless.blocking.vector_join.prefilters import Laid
from echoless.blocking.vector_join.projections import Floats
from echoless.blocking.vector_join.work_counts import Work
from echoless.core.optional import lazy_module
from echoless.core.threads import in_order

if TYPE_CHECKING:
    from echoless.blocking.vector_join import bit_kernels
else:
    bit_kernels = lazy_module("echoless.blocking.vector_join.bit_kernels")

ROWS_AT_ONCE: Final = 2048
"""Rows that one task compares with all rows before them."""

NEVER: Final = 2.0
"""A value above any cosine."""

ROOM: Final = 1 << 16
"""Hits that a task collects before it checks them in 64 bits."""


def scan_pairs(join: Join, laid: Laid, most: int | None, work: Work) -> Iterator[Hits]:
    """Yields hits i < j of the join, by rising j, then i; arrays are never empty.

    Args:
        join: Rows and threshold.
        laid: Short forms that are compared before the rows themselves.
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes the counts.
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
    """A scan of all rows, with the state that its tasks share."""

    join: Join
    laid: Laid
    most: int | None
    inverse: Floats
    seen: NDArray[np.int32]

    def block(self, first: int, last: int) -> tuple[Work, Hits]:
        """Returns the counts and the hits of rows `first` to `last` with all rows before them."""
        counts = np.zeros(1, dtype=np.int64)
        rows = bit_kernels.Rows(
            self.join.rows,
            self.inverse,
            crowd_terms(self.join, self.most),
            0 if self.most is None else SEEN_ENOUGH,
            self.seen,
            counts,
        )
        span = np.array([first, last])
        pairs = np.empty((2, ROOM), dtype=np.int64)
        parts: list[Hits] = []
        position = (0, first)
        while position[0] >= 0:
            size, *after = bit_kernels.scan(
                self.laid.tiles, self.laid.queries, rows, span, np.array(position), pairs
            )
            position = (after[0], after[1])
            parts += self.join.confirmed(*pairs[:, :size].copy())
        hits, crowded = some_of(in_order_of_rows(parts), self.most)
        return Work(verified=int(counts[0]), crowded=crowded), hits


def crowd_terms(join: Join, most: int | None) -> Floats:
    """Returns the least cosine of a hit, and that from which a partner surely belongs to a crowd.

    Both allow for the rounding of 32 bits: a row is passed over only where `before_enough` would do
    so too.

    Returns:
        Shape (2,), float32: both inclusive; the second is `NEVER` where all partners are wanted.
    """
    certain = max(DENSE, join.threshold) + (join.threshold - float(join.floor))
    return np.array([join.floor, NEVER if most is None else certain], dtype=np.float32)
