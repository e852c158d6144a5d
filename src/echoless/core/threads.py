"""Tasks on several threads, with their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from echoless.core.runtime import workers

Result = TypeVar("Result")


def in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Runs tasks on `workers()` threads and yields their results, first task first.

    At most two tasks a thread are running or waiting to be taken, so results do not pile up. After
    an interrupt or a failure no further task begins. A single thread, or a single task, is run by
    the caller.
    """
    threads, source = workers(), iter(tasks)
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
