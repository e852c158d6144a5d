"""Many questions at once, their answers in the order of the questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


def asked_in_order(ask: Callable[[Q], A], questions: Sequence[Q], workers: int) -> list[A]:
    """The answer to each question, in order.

    Args:
        ask: Called from several threads.
        questions: Any number.
        workers: How many are on their way at a time, from 1.

    Raises:
        Exception: What `ask` raises on the first question that raises; those not begun are dropped.
    """
    if workers == 1 or len(questions) < 2:
        return [ask(question) for question in questions]
    pool = ThreadPoolExecutor(min(workers, len(questions)), thread_name_prefix="model")
    try:
        return list(pool.map(ask, questions))
    finally:
        pool.shutdown(cancel_futures=True)
