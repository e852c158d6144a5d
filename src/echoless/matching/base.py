"""What a judge is. The judge decides what is the same; a candidate only asks the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from echoless.core.model import Pair, Verdict


class Judge(Protocol):
    """Decides about one pair.

    A judge is pure: the verdict depends on the two memories and the signals, not on other pairs,
    on the order of calls or on which of the two is called a (exchanging them gives the flipped
    verdict). Duplicate and Subsumes depend on the contents and their files alone, so a verdict on
    one of several byte-identical memories of a file holds for all of them. It never raises on any
    text.
    """

    def judge(self, pair: Pair) -> Verdict:
        """Gives the verdict with its evidence."""
        ...

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Returns the verdicts on many pairs, in their order: those of one by one, but sooner."""
        ...


@runtime_checkable
class Layered(Judge, Protocol):
    """A judge with rules, which can decide alone, and a model after them."""

    @property
    def rules(self) -> Judge:
        """Returns the rules."""
        ...
