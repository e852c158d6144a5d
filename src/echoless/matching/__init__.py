"""Matching: what two memories are to each other.

`values/` cuts a text into typed values and words, `facts/` keeps what one text says,
`comparison.py` lays two texts side by side, `rules.py` names what they differ in, `rule_judge.py`
decides by that alone. `pair_model/` scores two texts, `decision.py` weighs scores and rules,
`judge.py` gives the verdict of the road, `explanation.py` says why, `runner.py` judges many pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from echoless.core.model import Pair, Verdict

MOST_PAIRS: Final = 4_000
"""Pairs of one namespace that may be merged and that a run asks the pair model about, the likeliest
first. On two cores that is some twenty seconds, once: the scores are cached (November 2026)."""


class Judge(Protocol):
    """Decides about one pair what is the same; a candidate only asks the question.

    A judge is pure: the verdict depends on the two memories and the signals, not on other pairs,
    on the order of calls or on which of the two is called a (exchanging them gives the flipped
    verdict). Duplicate and Subsumes depend on the contents and their files alone, so a verdict on
    one of several byte-identical memories of a file holds for all of them. It never raises on any
    text.
    """

    def judge(self, pair: Pair) -> Verdict:
        """Gives the verdict with its evidence."""

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Returns the verdicts on many pairs, in their order; a judge may be quicker here."""
        return [self.judge(pair) for pair in pairs]


@runtime_checkable
class Layered(Judge, Protocol):
    """A judge with rules, which can decide alone, and a model after them."""

    @property
    def rules(self) -> Judge:
        """Returns the rules."""
