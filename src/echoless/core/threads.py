"""Work on several threads: tasks with their results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice
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
