"""The judge: what is the same, what only looks alike, and why.

Stages, each a value one can look at: `facts.py` takes typed tokens out of one text, `compare.py`
lays two texts side by side word by word, `align.py` matches by meaning what that leaves over,
`vetoes.py` says what forbids a merge, `features.py` and `scorecard.py` weigh the rest, `decide.py`
and `settle.py` give the verdict, `needed.py` says how much is enough. What is known of one word is
in `gloss.py`, of one text in `facts.py` and `reading.py`: a pair costs little more than set
operations on them. What the judge knows of a language is data in `lexicon/`, what it has learned is
data in `weights.json`.
"""

from __future__ import annotations

from echoless.errors import UsageError
from echoless.judge.base import Judge
from echoless.judge.decide import FullJudge, GuardJudge
from echoless.judge.holding import ContainmentJudge
from echoless.judge.meaning import Meaning

__all__ = ["ContainmentJudge", "FullJudge", "GuardJudge", "Judge", "judge_named"]


def judge_named(name: str, meaning: Meaning | None = None) -> Judge:
    """The judge a profile names.

    Args:
        name: `full` (compares what the texts say), `guards` (trusts the similarity but for the
            number and the negation guard), `guards+containment` (also holds a pair of which one
            text contains the other whole) or `bare` (trusts the similarity).
        meaning: Vectors of words and texts; only the full judge asks for them.

    Raises:
        UsageError: There is no such judge.
    """
    match name:
        case "full":
            return FullJudge(meaning)
        case "guards":
            return GuardJudge()
        case "guards+containment":
            return ContainmentJudge(GuardJudge())
        case "bare":
            return GuardJudge(guards=False)
        case _:
            raise UsageError(
                f"there is no judge {name!r}; choose full, guards, guards+containment or bare"
            )
