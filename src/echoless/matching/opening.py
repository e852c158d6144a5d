"""Opens the judge of the road with the pair model, where its libraries are installed."""

from __future__ import annotations

from typing import Final

from echoless.judge.base import Judge
from echoless.judge.decide import FullJudge
from echoless.matching.judge import LearnedJudge
from echoless.matching.pair_model.network import available, open_network
from echoless.matching.pair_model.scoring import PairScorer, open_scores
from echoless.tally import Tally

WITHOUT: Final = (
    "The pair model was not asked, as onnxruntime is not installed: memories were compared by "
    "values and wording. pip install 'echoless[use]' brings it."
)


def open_learned(
    rules: FullJudge, tally: Tally, *, cache: bool = True, most: int | None = None
) -> Judge:
    """Returns the judge with the pair model, or the rules alone where it cannot run.

    Args:
        rules: Gives the first verdict.
        tally: Told if the model's libraries are missing.
        cache: Whether scores are remembered between runs.
        most: Pairs the model may be asked about in all; None for any number.

    Raises:
        DamagedPackage: The weights are not as they were shipped.
    """
    if not available():
        tally.note(WITHOUT)
        return rules
    scorer = PairScorer(open_network(), open_scores() if cache else None)
    return LearnedJudge(rules, scorer, tally, most=most)
