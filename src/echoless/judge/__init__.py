"""The judge: what is the same, what only looks alike, and why.

Three stages, each a value one can look at: `facts.py` takes typed tokens out of one text,
`compare.py` lays two texts side by side, `decide.py` gives the verdict. What the judge knows of a
language is data in `lexicon/`.
"""

from __future__ import annotations

from echoless.errors import UsageError
from echoless.judge.base import Judge
from echoless.judge.decide import FullJudge, GuardJudge

__all__ = ["FullJudge", "GuardJudge", "Judge", "judge_named"]


def judge_named(name: str) -> Judge:
    """The judge a profile names.

    Args:
        name: `full` (compares what the texts say), `guards` (trusts the similarity but for the
            number and the negation guard) or `bare` (trusts the similarity).

    Raises:
        UsageError: There is no such judge.
    """
    match name:
        case "full":
            return FullJudge()
        case "guards":
            return GuardJudge()
        case "bare":
            return GuardJudge(guards=False)
        case _:
            raise UsageError(f"there is no judge {name!r}; choose full, guards or bare")
