"""The running total of a model, its limits, and many questions at a time."""

from __future__ import annotations

from threading import Barrier, Event
from typing import Any

import pytest

from echoless.core.choices import Limits
from echoless.core.errors import ModelError, UsageError
from echoless.models.llm import Answer, Prompt
from echoless.models.llm.counted_model import CountedModel, asked_in_order

ASK = Prompt(instruction="Say OK.", longest=100)


class Stub:
    """Answers, or raises, as its script says; the last entry stays."""

    name = "stub:1"

    def __init__(self, *script: Answer | Exception) -> None:
        self.script = list(script) or [Answer(text="OK", tokens_in=10, tokens_out=2)]

    def answer(self, _prompt: Prompt) -> Answer:
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(act, Exception):
            raise act
        return act


@pytest.mark.parametrize("answer", [Answer(text=" "), Answer(text='{"te', cut=True)])
def test_an_empty_or_cut_off_answer_is_an_error_and_its_tokens_count(answer: Answer) -> None:
    stub = Stub(Answer(text=answer.text, cut=answer.cut, tokens_in=5, tokens_out=6))
    model = CountedModel(stub)
    with pytest.raises(ModelError):
        model.answer(ASK)
    assert (model.spent.tokens_in, model.spent.tokens_out) == (5, 6)


@pytest.mark.parametrize(
    ("name", "value"), [("workers", 0), ("workers", 65), ("timeout", 0), ("timeout", float("inf"))]
)
def test_a_limit_out_of_range_is_a_usage_error(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"--set {name} must be"):
        Limits(**{name: value})


def test_the_total_names_questions_and_tokens() -> None:
    stub = Stub(ModelError("No."), Answer(text="OK", tokens_in=1_000, tokens_out=50))
    model = CountedModel(stub)
    with pytest.raises(ModelError):
        model.answer(ASK)
    model.answer(ASK)
    model.answer(ASK)
    assert model.spent.to_json() == {
        "model": "stub:1",
        "questions": 3,
        "answered": 2,
        "tokens_in": 2_000,
        "tokens_out": 100,
        "estimated": 0,
    }
    assert model.spent.line() == (
        "The model stub:1 answered 2 of 3 questions: 2000 tokens in, 100 out."
    )


def test_untold_tokens_are_estimated_and_that_is_said() -> None:
    model = CountedModel(Stub(Answer(text="OK")))
    model.answer(ASK)
    assert "tokens of 1 answers estimated" in model.spent.line()
    assert model.spent.tokens_in >= 1


# ------------------------------------------------------------------ several at a time


def test_answers_come_in_the_order_of_the_questions() -> None:
    together = Barrier(4, timeout=5)

    def ask(number: int) -> int:
        if number < 4:
            together.wait()  # passes only if four are on their way at once
        return number * number

    assert asked_in_order(ask, range(40), 4) == [n * n for n in range(40)]


def test_the_first_question_that_raises_ends_the_rest() -> None:
    asked: list[int] = []

    def ask(number: int) -> int:
        asked.append(number)
        if number == 1:
            raise ValueError("one")
        return number

    with pytest.raises(ValueError, match="one"):
        asked_in_order(ask, range(1_000), 2)
    assert len(asked) < 1_000


def test_counting_is_exact_with_many_threads() -> None:
    model = CountedModel(Stub())
    answers = asked_in_order(lambda _number: model.answer(ASK).text, range(80), 8)
    assert answers == ["OK"] * 80
    assert (model.spent.questions, model.spent.answered, model.spent.tokens_in) == (80, 80, 800)


def test_an_interruption_does_not_wait_for_what_is_on_its_way() -> None:
    begun, release = Event(), Event()

    def ask(_number: int) -> int:
        begun.set()
        release.wait(5)
        return 0

    def interrupt() -> None:
        begun.wait(5)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("echoless.models.llm.counted_model.Thread.join", lambda _thread: interrupt())
        with pytest.raises(KeyboardInterrupt):
            asked_in_order(ask, range(4), 2)
    release.set()
