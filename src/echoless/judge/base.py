"""What a judge is. The judge decides what is the same; a candidate only asks the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from echoless.model import Pair, Verdict


class Judge(Protocol):
    """Decides about one pair.

    A judge is pure: the verdict depends on the two memories and the signals, not on other pairs,
    on the order of calls or on which of the two is called a (exchanging them gives the flipped
    verdict). Duplicate and Subsumes depend on the contents alone, so a verdict on one of several
    byte-identical memories holds for all of them. It never raises on any text.
    """

    def judge(self, pair: Pair) -> Verdict:
        """Give the verdict with its evidence."""
        ...

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The verdicts on many pairs, in their order: the same as one by one, only sooner."""
        ...
