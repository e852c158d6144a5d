"""Choice of a number of threads by measurement, since other programs may use the cores.

On busy cores two threads can be slower than one, and the load of a machine describes the last
minute and includes our own work. So each count is tried on a piece of the work, and the fastest one
is used until the next trial. The results do not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from echoless.core.runtime import workers

AGAIN: Final = 32
"""Pieces of work after which the counts are tried anew."""


class Pace:
    """The choice of a number of threads, piece of work by piece of work."""

    def __init__(self) -> None:
        """Starts without any measurement."""
        self._rates: dict[int, float] = {}
        self._pieces = 0

    @contextmanager
    def measured(self, size: int) -> Iterator[int]:
        """Runs a piece of work in a block and measures it.

        Args:
            size: Of the piece, in any unit that is the same for all pieces.

        Yields:
            Threads to use: 1 to `compiled.workers()`.
        """
        most = workers()
        counts = sorted({1, (most + 1) // 2, most})
        untried = [count for count in counts if count not in self._rates]
        threads = untried[-1] if untried else max(counts, key=self._rates.__getitem__)
        start = perf_counter()
        yield threads
        self._rates[threads] = size / max(perf_counter() - start, 1e-9)
        self._pieces += 1
        if self._pieces % AGAIN == 0:
            self._rates.clear()
