"""Retries, limits and the running total, with a clock that a test turns."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Barrier, Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.errors import LimitReached, ModelError, ModelUnavailable, UsageError
from echoless.core.llm_limits import Limits
from echoless.models.llm import Answer, Passing, Prompt
from echoless.models.llm.budget import MINUTE
from echoless.models.llm.retrying_model import (
    FIRST,
    MOST,
    PATIENCE,
    RETRIES,
    GovernedModel,
    asked_in_order,
    backoff,
)
from echoless.models.llm.server_model import asked_to_wait

ASK = Prompt(instruction="Say OK.", longest=100)


class Clock:
    """Time passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds


class Stub:
    """Answers, or raises, as its script says; the last entry stays."""

    name = "stub:1"

    def __init__(self, *script: Answer | Exception) -> None:
        self.script = list(script) or [Answer(text="OK", tokens_in=10, tokens_out=2)]
        self.asked = 0

    def answer(self, _prompt: Prompt) -> Answer:
        self.asked += 1
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(act, Exception):
            raise act
        return act


def governed(stub: Stub, clock: Clock | None = None, **limits: Any) -> GovernedModel:
    clock = clock or Clock()
    return GovernedModel(
        stub, Limits(**limits), clock=lambda: clock.now, sleep=clock.sleep, chance=lambda: 0.0
    )


def busy(wait: float | None = None, *, unavailable: bool = False) -> Passing:
    return Passing("The server is busy", "Try later.", wait=wait, unavailable=unavailable)


# ------------------------------------------------------------------ retries


def test_a_failure_that_passes_is_tried_again_after_growing_waits() -> None:
    clock, stub = Clock(), Stub(busy(), busy(), busy(), Answer(text="OK"))
    assert governed(stub, clock).answer(ASK).text == "OK"
    assert clock.slept == [FIRST, 2 * FIRST, 4 * FIRST]


def test_a_server_that_says_when_is_waited_for_that_long() -> None:
    clock, stub = Clock(), Stub(busy(7), Answer(text="OK"))
    governed(stub, clock).answer(ASK)
    assert clock.slept == [7]


def test_a_server_that_asks_for_more_patience_than_there_is_is_not_asked_again() -> None:
    clock, stub = Clock(), Stub(busy(PATIENCE + 1))
    with pytest.raises(ModelError, match=r"asks to wait 61 seconds\). Try later"):
        governed(stub, clock).answer(ASK)
    assert (stub.asked, clock.slept) == (1, [])


@pytest.mark.parametrize(("unavailable", "kind"), [(False, ModelError), (True, ModelUnavailable)])
def test_a_failure_that_stays_is_told_with_the_number_of_tries(
    unavailable: bool, kind: type[ModelError]
) -> None:
    stub = Stub(busy(unavailable=unavailable))
    with pytest.raises(ModelError, match=r"The server is busy \(5 tries\). Try later.") as caught:
        governed(stub).answer(ASK)
    assert type(caught.value) is kind
    assert stub.asked == RETRIES + 1


def test_a_failure_that_does_not_pass_is_not_tried_again() -> None:
    stub = Stub(ModelError("Too long."))
    with pytest.raises(ModelError, match="Too long"):
        governed(stub).answer(ASK)
    assert stub.asked == 1


@pytest.mark.parametrize("answer", [Answer(text=" "), Answer(text='{"te', cut=True)])
def test_an_empty_or_cut_off_answer_is_an_error_and_is_paid_for(answer: Answer) -> None:
    model = governed(Stub(Answer(text=answer.text, cut=answer.cut, tokens_in=5, tokens_out=6)))
    with pytest.raises(ModelError):
        model.answer(ASK)
    assert (model.spent.tokens_in, model.spent.tokens_out) == (5, 6)


@given(attempt=st.integers(0, 10_000), chance=st.floats(0, 1))
def test_a_wait_grows_is_capped_and_leaves_something_to_chance(attempt: int, chance: float) -> None:
    wait = backoff(attempt, chance)
    assert 0.75 * FIRST <= wait <= MOST
    assert backoff(attempt, 0.0) >= wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "12"}, 12),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 02 Jan 2026 10:00:30 GMT"}, 30),
        ({"retry-after": "Fri, 02 Jan 2026 09:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, 0),
    ],
)
def test_what_a_server_says_about_waiting_is_read(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_to_wait(headers, datetime(2026, 1, 2, 10, tzinfo=UTC)) == seconds


# ------------------------------------------------------------------ limits


def test_requests_within_a_minute_are_held_back() -> None:
    clock = Clock()
    model = governed(Stub(), clock, requests_a_minute=2)
    times = []
    for _ in range(5):
        model.answer(ASK)
        times.append(clock.now)
    assert times == [0, 0, MINUTE, MINUTE, 2 * MINUTE]


def test_tries_count_as_requests() -> None:
    clock = Clock()
    model = governed(Stub(busy(1), Answer(text="OK")), clock, requests_a_minute=1)
    model.answer(ASK)
    assert clock.now == pytest.approx(MINUTE)
    assert model.spent.requests == 2


def test_tokens_within_a_minute_are_held_back_but_a_single_question_never_for_ever() -> None:
    clock = Clock()
    model = governed(Stub(), clock, tokens_a_minute=5)
    model.answer(ASK)
    model.answer(ASK)
    assert clock.now == pytest.approx(MINUTE)


@given(
    most=st.integers(1, 5),
    gaps=st.lists(st.floats(0, 40), min_size=1, max_size=30),
)
def test_no_minute_holds_more_requests_than_allowed(most: int, gaps: list[float]) -> None:
    clock, times = Clock(), []
    stub = Stub()
    model = governed(stub, clock, requests_a_minute=most)
    for gap in gaps:
        clock.now += gap
        model.answer(ASK)
        times.append(clock.now)
    for at, later in zip(times, times[most:], strict=False):
        assert later - at >= MINUTE - 0.01


def test_questions_beyond_the_limit_are_not_asked_and_counted() -> None:
    stub = Stub()
    model = governed(stub, most_questions=2)
    model.answer(ASK)
    model.answer(ASK)
    for _ in range(3):
        with pytest.raises(LimitReached, match="limit of 2 questions"):
            model.answer(ASK)
    assert stub.asked == 2
    assert model.spent.left_out == 3
    assert "A limit left out 3 questions." in model.spent.line()


def test_the_cost_never_exceeds_its_limit() -> None:
    stub = Stub(Answer(text="OK", tokens_in=500, tokens_out=100))
    model = governed(stub, most_cost=0.01, price_in=1.0, price_out=10.0)
    with pytest.raises(LimitReached, match=r"limit of 0\.01 on the cost"):
        while True:
            model.answer(ASK)
    assert stub.asked == 6  # 0.0015 each; one more could cost 0.0015
    assert model.spent.cost == pytest.approx(0.009)


def test_a_question_that_failed_frees_what_was_set_aside_for_it() -> None:
    stub = Stub(ModelError("no"), Answer(text="OK", tokens_in=500, tokens_out=100))
    model = governed(stub, most_cost=0.002, price_in=1.0, price_out=10.0)
    with pytest.raises(ModelError):
        model.answer(ASK)
    assert model.answer(ASK).text == "OK"


def test_a_limit_on_the_cost_needs_prices() -> None:
    with pytest.raises(UsageError, match="--price-in and --price-out"):
        Limits(most_cost=1.0, price_in=1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", 0),
        ("workers", 65),
        ("requests_a_minute", 0),
        ("tokens_a_minute", -1),
        ("most_questions", 0),
        ("price_in", -0.1),
        ("timeout", 0),
        ("timeout", float("inf")),
        ("price_out", float("nan")),
    ],
)
def test_a_limit_out_of_range_is_a_usage_error(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} must be"):
        Limits(**{name: value})


# ------------------------------------------------------------------ the total


def test_the_total_names_questions_requests_tokens_and_cost() -> None:
    stub = Stub(busy(1), Answer(text="OK", tokens_in=1_000, tokens_out=50, requests=2))
    model = governed(stub, price_in=2.0, price_out=10.0)
    model.answer(ASK)
    model.answer(ASK)
    assert model.spent.to_json() == {
        "model": "stub:1",
        "questions": 2,
        "answered": 2,
        "requests": 5,
        "tokens_in": 2_000,
        "tokens_out": 100,
        "estimated": 0,
        "cost": 0.005,
        "left_out": 0,
    }
    assert model.spent.line() == (
        "The model stub:1 took 5 requests for 2 questions: 2000 tokens in, 100 out; cost 0.0050."
    )


def test_an_unknown_price_and_untold_tokens_are_said() -> None:
    model = governed(Stub(Answer(text="OK")))
    model.answer(ASK)
    assert model.spent.cost is None
    assert "tokens of 1 answers estimated" in model.spent.line()
    assert "cost unknown, as no price was given (--price-in, --price-out)" in model.spent.line()


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
    model = governed(Stub(), most_questions=50)

    def ask(_number: int) -> str:
        try:
            return model.answer(ASK).text
        except LimitReached:
            return ""

    answers: list[str] = asked_in_order(ask, range(80), 8)
    assert answers.count("OK") == model.spent.answered == model.spent.requests == 50
    assert model.spent.left_out == 30
    assert model.spent.tokens_in == 500


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
        patch.setattr("echoless.models.llm.retrying_model.Thread.join", lambda _thread: interrupt())
        with pytest.raises(KeyboardInterrupt):
            asked_in_order(ask, range(4), 2)
    release.set()
