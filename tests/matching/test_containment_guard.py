"""The hold on a text that contains the other whole."""

from __future__ import annotations

import pytest

from echoless.core.model import Duplicate, Memory, Pair, Sibling, Unsure, Verdict
from echoless.matching.guards import judge_named


def verdict(a: str, b: str, judge: str = "guards+containment") -> Verdict:
    pair = Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"semantic": 0.97})
    (one,) = judge_named(judge).judge_all([pair])
    return one


@pytest.mark.parametrize("swapped", [False, True])
def test_a_text_inside_another_is_held_with_what_is_added(swapped: bool) -> None:
    texts = ["Run the linter.", "NB: run the 'linter'. Twice"]
    held = verdict(*reversed(texts)) if swapped else verdict(*texts)
    assert isinstance(held, Unsure)
    assert held.evidence.rule == "containment"
    (added,) = held.evidence.differences
    assert (added.a if swapped else added.b) == ("nb:", "twice")


def test_equal_and_merely_similar_texts_are_not_held() -> None:
    assert isinstance(verdict("Run the linter.", "run  the LINTER."), Duplicate)
    assert isinstance(verdict("Run the linter.", "Use the linter."), Duplicate)
    assert isinstance(verdict("Run the linter.", "Run the linter. Twice", "guards"), Duplicate)


def test_the_guards_come_first() -> None:
    assert isinstance(verdict("Port 80 is open.", "Port 80 is open. So is 443."), Sibling)
