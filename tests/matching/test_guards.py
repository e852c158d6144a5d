"""The judge of the profiles that trust a similarity."""

from __future__ import annotations

import pytest

from echoless.core.errors import UsageError
from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Duplicate,
    Memory,
    Pair,
    Sibling,
    Verdict,
)
from echoless.matching.guards import GuardJudge, judge_named
from echoless.matching.rule_judge import RuleJudge


def guarded(a: str, b: str, *, guards: bool = True) -> Verdict:
    pair = Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"vector": 0.97})
    return GuardJudge(guards=guards).judge(pair)


def test_trusts_the_similarity() -> None:
    verdict = guarded("The cat sat here", "A dog ran there")
    assert isinstance(verdict, Duplicate)
    assert verdict.evidence.similarity == 0.97


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("port 8080", "port 8081"),
        ("2 of 2", "2 of 3"),
        ("due 2025-01-02", "due 2025-01-03"),
        ("at 10:30", "at 10:31"),
        ("one 5", "five"),
    ],
)
def test_holds_other_numbers(a: str, b: str) -> None:
    verdict = guarded(a, b)
    assert isinstance(verdict, Sibling)
    assert verdict.evidence.rule == "number-guard"
    assert verdict.evidence.difference is DifferenceKind.NUMBER


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("it works", "it does not work"),
        ("it works", "it doesn't work"),
        ("it works", "it doesn’t work"),
        ("it works", "it doesnt work"),
        ("es geht", "es geht nicht"),
        ("mit Salz", "ohne Salz"),
        ("They agree", "NEVER agree"),
    ],
)
def test_holds_an_odd_negation(a: str, b: str) -> None:
    verdict = guarded(a, b)
    assert isinstance(verdict, Contradiction)
    assert verdict.evidence.rule == "negation-guard"


def test_full_width_digits_and_double_negation_pass() -> None:
    assert isinstance(guarded("port ８０８０", "the port 8080"), Duplicate)
    assert isinstance(guarded("it is not never", "it is always"), Duplicate)
    assert isinstance(guarded("knot and notes", "a thing"), Duplicate)


def test_guards_can_be_switched_off() -> None:
    assert isinstance(guarded("port 8080", "port 8081", guards=False), Duplicate)


def test_judges_by_name() -> None:
    assert isinstance(judge_named("full"), RuleJudge)
    pair = Pair(Memory(id="a", content="1"), Memory(id="b", content="2"), {"x": 1.0})
    assert isinstance(judge_named("guards").judge(pair), Sibling)
    assert isinstance(judge_named("bare").judge(pair), Duplicate)
    with pytest.raises(UsageError, match="choose full, guards, "):
        judge_named("strict")
