"""Work on several threads: tasks with their results in order, and how many threads are fastest."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from echoless.core.errors import UsageError

if TYPE_CHECKING:
    import threadpoolctl

Result = TypeVar("Result")

THREADS: Final = "ECHOLESS_THREADS"
"""Environment: threads to use, instead of the cores this process may run on."""


def workers() -> int:
    """Returns the number of threads: at least 1, at most the cores of this process.

    Raises:
        UsageError: `ECHOLESS_THREADS` is no positive whole number.
    """
    written = os.environ.get(THREADS, "").strip()
    if not written:
        return _cores()
    if not written.isdecimal() or int(written) < 1:
        raise UsageError(f"{THREADS} is {written!r}; it has to be a whole number of at least 1.")
    return min(int(written), _cores())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1  # no affinity to ask for on macOS and Windows


AGAIN: Final = 32
"""Pieces of work after which the counts are tried anew."""


def in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Runs tasks on `workers()` threads and yields their results, first task first.

    At most two tasks a thread are running or waiting to be taken, so results do not pile up. After
    an interrupt or a failure no further task begins. A single thread, or a single task, is run by
    the caller. Products have one thread of BLAS meanwhile: those of BLAS wait actively for each
    other, which took a fifth of a join's processor time, and 15 ms of a small one on busy cores.
    """
    with blas().limit(limits=1, user_api="blas"):
        yield from _pooled(tasks, workers())


def _pooled(tasks: Iterable[Callable[[], Result]], threads: int) -> Iterator[Result]:
    """Yields the results of `in_order`."""
    source = iter(tasks)
    begun = list(islice(source, 2))
    tasks = chain(begun, source)
    if threads == 1 or len(begun) < 2:
        for task in tasks:
            yield task()
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="echoless")
    try:
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@cache
def blas() -> threadpoolctl.ThreadpoolController:
    """Returns the control of the threads of BLAS; numpy has to be imported."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


class Pace:
    """The choice of a number of threads by measurement, piece of work by piece of work.

    Other programs may use the cores: on busy ones two threads can be slower than one, and the load
    of a machine describes the last minute and includes our own work. So each count is tried on a
    piece of the work, and the fastest one is used until the next trial. The results do not depend
    on it.
    """

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
            Threads to use: 1 to `workers()`.
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
