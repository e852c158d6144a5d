"""Language model with retries, limits and a running total, and many questions to it at a time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import Final, TypeVar

from echoless.core.errors import ModelError, ModelUnavailable
from echoless.core.llm_limits import Limits
from echoless.core.masking import Veil
from echoless.models.llm.base import Answer, Model, Passing, Prompt
from echoless.models.llm.budget import Governor, Reserved, Spent

Q = TypeVar("Q")
A = TypeVar("A")

RETRIES: Final = 4

FIRST: Final = 0.5
"""Seconds before the second try; doubled for each further one."""

MOST: Final = 8.0
"""Seconds between two tries of a server that does not say when."""

PATIENCE: Final = 60.0
"""Seconds a server may ask to wait. Whoever asks for more is not asked again."""

_JITTER: Final = 0.25
"""Share of a wait that is left to chance, so that many workers do not come back at once."""


class GovernedModel:
    """A model that is asked again where that may help, and only within limits."""

    def __init__(
        self,
        model: Model,
        limits: Limits | None = None,
        *,
        retries: int = RETRIES,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Keeps the model and its limits; nothing is asked yet.

        Args:
            model: Whom to ask.
            limits: None for none.
            retries: How often a failure that may pass is tried again.
            clock: Seconds that only grow.
            sleep: Waits so many seconds; really, if None.
            chance: From 0 to 1, for the length of a wait.
        """
        self._model, self._retries = model, retries
        self._sleep, self._chance = sleep or time.sleep, chance
        self.limits = limits or Limits()
        self._governor = Governor(model.name, self.limits, clock=clock, sleep=self._sleep)

    @property
    def name(self) -> str:
        """Returns the name of the model."""
        return self._model.name

    @property
    def spent(self) -> Spent:
        """Returns the questions, tokens and costs so far."""
        return self._governor.spent

    def within(self, limits: Limits) -> GovernedModel:
        """Returns the same model under other limits, with a total of its own."""
        return GovernedModel(
            self._model, limits, retries=self._retries, sleep=self._sleep, chance=self._chance
        )

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to a prompt, asked again where a failure may pass.

        Secrets of the prompt are not sent: a mark replaces each, and marks in the answer are
        replaced by the secrets again, so that a rewritten text loses none.

        Raises:
            LimitReached: A limit stands against asking at all.
            ModelUnavailable: No prompt can be answered.
            ModelError: There is no answer to this one: it failed to the last, was cut off, or is
                empty.
        """
        veil = Veil()
        prompt = replace(
            prompt,
            instruction=veil.over(prompt.instruction),
            data=veil.over(prompt.data),
            timeout=self.limits.timeout,
        )
        reserved = self._governor.reserve(prompt)
        answer: Answer | None = None
        try:
            answer = self._tried(prompt, reserved)
        finally:
            self._governor.settle(reserved, answer)
        if answer.cut:
            raise ModelError(f"The answer of the model {self.name!r} was cut off. Try again.")
        if not answer.text.strip():
            raise ModelError(f"The model {self.name!r} answered without a text. Try again.")
        return replace(answer, text=veil.lifted(answer.text))

    def _tried(self, prompt: Prompt, reserved: Reserved) -> Answer:
        """Returns the answer of the first try that succeeds."""
        for attempt in range(self._retries + 1):
            self._governor.turn(reserved)
            try:
                answer = self._model.answer(prompt)
            except Passing as problem:
                self._governor.more_requests(problem.requests - 1)
                wait = backoff(attempt, self._chance()) if problem.wait is None else problem.wait
                if attempt == self._retries or wait > PATIENCE:
                    kind = ModelUnavailable if problem.unavailable else ModelError
                    asked = problem.wait is not None and problem.wait > PATIENCE
                    delay = f"; it asks to wait {problem.wait:.0f} seconds" if asked else ""
                    tries = "1 try" if attempt == 0 else f"{attempt + 1} tries"
                    # without the cause: a library's error may carry the request with its key
                    raise kind(f"{problem.what} ({tries}{delay}). {problem.advice}") from None
                self._sleep(wait)
            except ModelError as problem:
                self._governor.more_requests(problem.requests - 1)
                raise
            else:
                self._governor.more_requests(answer.requests - 1)
                return answer
        raise AssertionError("the last try returns or raises")


def backoff(attempt: int, chance: float) -> float:
    """Returns seconds to wait after a failed try.

    Args:
        attempt: Number of the try, from 0.
        chance: From 0 to 1.
    """
    return float(min(MOST, FIRST * 2.0 ** min(attempt, 10))) * (1 - _JITTER * chance)


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
