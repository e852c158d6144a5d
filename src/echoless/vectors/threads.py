"""Blocks of work on several threads, their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from echoless.compiled import workers

Result = TypeVar("Result")


def in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Run tasks on `workers()` threads and yield what they return, first task first.

    At most two tasks a thread are under way or waiting to be taken, so results do not pile up. An
    interrupt or a failure ends it at the next task: those not begun are dropped. A single thread,
    or a single task, is the caller's own.
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
