"""How many threads pay, found out by measuring: cores that other programs use do not.

On busy cores two threads can be slower than one, and the load of a machine tells of the last minute
and of our own work too. So each count is tried on a piece of the work, and the fastest goes on,
until it is time to look again. What is computed does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from echoless.compiled import workers

AGAIN: Final = 32
"""Pieces of work after which the counts are tried anew."""


class Pace:
    """Chooses a number of threads for one piece of work after the other."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._rates: dict[int, float] = {}
        self._pieces = 0

    @contextmanager
    def measured(self, size: int) -> Iterator[int]:
        """Do a piece of work inside.

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
