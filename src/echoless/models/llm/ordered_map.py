"""Many questions at a time, with their answers in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


def asked_in_order(ask: Callable[[Q], A], questions: Sequence[Q], workers: int) -> list[A]:
    """Returns the answer to each question, in order.

    An interruption does not wait for open requests, which may take minutes with retries. For that
    the threads are daemons, which those of a pool are not.

    Args:
        ask: Called from several threads.
        questions: Any number.
        workers: How many are on their way at a time, from 1.

    Raises:
        Exception: What `ask` raised, of the first question that did; no further one is begun then.
    """
    if workers == 1 or len(questions) < 2:
        return [ask(question) for question in questions]
    answers: dict[int, A] = {}
    failures: dict[int, Exception] = {}
    places, turn, stop = iter(range(len(questions))), Lock(), Event()

    def work() -> None:
        while not stop.is_set():
            with turn:
                place = next(places, None)
            if place is None:
                return
            try:
                answers[place] = ask(questions[place])
            except Exception as problem:  # noqa: BLE001 - raised again where it was asked for
                failures[place] = problem
                stop.set()

    threads = [Thread(target=work, daemon=True) for _ in range(min(workers, len(questions)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if failures:
        raise failures[min(failures)]
    return [answers[place] for place in range(len(questions))]
