"""Language model with a running total of its tokens, and many questions to it at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from threading import Event, Lock, Thread
from typing import Final, TypeVar

from echoless.core.choices import Limits
from echoless.core.errors import ModelError
from echoless.core.masking import Veil
from echoless.core.model import Json
from echoless.models.llm import Answer, Model, Prompt

Q = TypeVar("Q")
A = TypeVar("A")

_BYTES: Final = 2
"""Bytes of a text to a token, at least: English has about four, Japanese about three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Questions to one model, with their tokens.

    Attributes:
        model: Its name.
        questions: Put to it.
        answered: Got an answer, whatever was made of it.
        tokens_in: Of all prompts that were answered.
        tokens_out: Of all answers.
        estimated: Answers whose tokens the server did not tell; theirs are estimated, too high.
    """

    model: str
    questions: int = 0
    answered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0

    def to_json(self) -> dict[str, Json]:
        """Returns the figures as in `--json`."""
        return asdict(self)

    def line(self) -> str:
        """Returns the counts as one sentence for a person."""
        guessed = f", tokens of {self.estimated} answers estimated" if self.estimated else ""
        return (
            f"The model {self.model} answered {self.answered} of {self.questions} questions: "
            f"{self.tokens_in} tokens in, {self.tokens_out} out{guessed}."
        )


class CountedModel:
    """A model whose questions and tokens are counted, for any number of threads."""

    def __init__(self, model: Model, limits: Limits | None = None) -> None:
        """Keeps the model; nothing is asked yet.

        Args:
            model: Whom to ask.
            limits: The declared ones by default.
        """
        self._model = model
        self.limits = limits or Limits()
        self._lock = Lock()
        self._spent = Spent(model=model.name)

    @property
    def name(self) -> str:
        """Returns the name of the model."""
        return self._model.name

    @property
    def spent(self) -> Spent:
        """Returns the questions and tokens so far."""
        with self._lock:
            return self._spent

    def within(self, limits: Limits) -> CountedModel:
        """Returns the same model under other limits, with a total of its own."""
        return CountedModel(self._model, limits)

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to a prompt.

        Secrets of the prompt are not sent: a mark replaces each, and marks in the answer are
        replaced by the secrets again, so that a rewritten text loses none.

        Raises:
            ModelUnavailable: No prompt can be answered.
            ModelError: There is no answer to this one: it failed, was cut off, or is empty.
        """
        veil = Veil()
        prompt = replace(
            prompt,
            instruction=veil.over(prompt.instruction),
            data=veil.over(prompt.data),
            timeout=self.limits.timeout,
        )
        with self._lock:
            self._spent = replace(self._spent, questions=self._spent.questions + 1)
        answer = self._model.answer(prompt)
        self._count(prompt, answer)
        if answer.cut:
            raise ModelError(f"The answer of the model {self.name!r} was cut off. Try again.")
        if not answer.text.strip():
            raise ModelError(f"The model {self.name!r} answered without a text. Try again.")
        return replace(answer, text=veil.lifted(answer.text))

    def _count(self, prompt: Prompt, answer: Answer) -> None:
        """Adds the tokens of an answer; those the server did not tell are estimated."""
        sent, came = answer.tokens_in, answer.tokens_out
        with self._lock:
            spent = self._spent
            self._spent = replace(
                spent,
                answered=spent.answered + 1,
                tokens_in=spent.tokens_in + (_estimate(prompt.whole) if sent is None else sent),
                tokens_out=spent.tokens_out + (_estimate(answer.text) if came is None else came),
                estimated=spent.estimated + (sent is None or came is None),
            )


def _estimate(text: str) -> int:
    """Returns the tokens of a text, too high."""
    return len(text.encode("utf-8", "replace")) // _BYTES + 1


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
