"""Opens a judge: by name, or the judge of the road with the pair model where it can run."""

from __future__ import annotations

from typing import Final

from echoless.core.errors import UsageError
from echoless.core.run_notes import Tally
from echoless.matching.base import Judge
from echoless.matching.containment_guard import ContainmentJudge
from echoless.matching.decision import shipped_decision
from echoless.matching.guards import GuardJudge
from echoless.matching.judge import LearnedJudge
from echoless.matching.pair_model.network import available, open_network
from echoless.matching.pair_model.scoring import PairScorer, open_scores
from echoless.matching.rule_judge import RuleJudge

WITHOUT: Final = (
    "The pair model was not asked, as onnxruntime is not installed: memories were compared by "
    "values and wording. pip install 'echoless[use]' brings it."
)


def judge_named(name: str) -> Judge:
    """Returns the judge that a profile names, without the pair model.

    Args:
        name: `full` (compares what the texts say), `guards` (trusts the similarity but for the
            number and the negation guard), `guards+containment` (also holds a pair of which one
            text contains the other whole) or `bare` (trusts the similarity).

    Raises:
        UsageError: There is no such judge.
    """
    match name:
        case "full":
            return RuleJudge()
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


def open_learned(
    tally: Tally, *, cache: bool = True, most: int | None = None, shift: float = 0.0
) -> Judge:
    """Returns the judge with the pair model, or the rules alone where it cannot run.

    Args:
        tally: Told if the model's libraries are missing.
        cache: Whether scores are remembered between runs.
        most: Pairs the model may be asked about in all; None for any number.
        shift: Log odds added to every probability of the same, as a user's answers say.
    """
    if not available():
        tally.note(WITHOUT)
        return RuleJudge()
    scorer = PairScorer(open_network, open_scores() if cache else None)
    decision = shipped_decision().shifted(shift)
    return LearnedJudge(RuleJudge(), scorer, tally, decision, most=most)
