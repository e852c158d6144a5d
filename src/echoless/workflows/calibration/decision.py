"""Turns answers into settings: where to begin looking, and a shift of the decision."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp
from typing import Final

from echoless.models.encoders.calibration import OperatingPoint
from echoless.workflows.calibration.logistic_fit import Odds

QUESTIONS: Final = 30
"""Asked in one session."""

LOOK: Final = 0.85
"""Share of the way from strangers to even odds at which the detector begins looking: that of the
built-in encoder (strangers .09, even odds .57, operating point .50)."""

WIDE: Final = 0.17
"""Width of the 90 % interval of even odds, as a share of the way from strangers to equal texts,
beyond which no point is learned."""

LEAST_EACH: Final = 5
"""Answers of either kind below which nothing is believed."""

LEAST_RISE: Final = 8.0
"""Log odds between strangers and equal texts below which a model does not tell one from the other.
See `workflows/calibration/logistic_fit.py` for what models have."""

SPREAD: Final = 1.0
"""Standard deviation of the shift that is expected before any answer, in log odds."""

_STEP: Final = 10
_MOST_MORE: Final = 100
_STEPS: Final = 50
_SURE: Final = 1e-9


def looking_point(stranger: float, odds: Odds, low: float, source: str) -> OperatingPoint:
    """Returns where the detector begins looking: below even odds, or their lower end if less.

    Args:
        stranger: Cosine of texts that have nothing to do with each other.
        odds: Of the answers.
        low: Lower end of even odds; 1 where it is not known.
        source: Where the figure comes from.
    """
    point = min(stranger + LOOK * (odds.even - stranger), low)
    return OperatingPoint(max(0.01, round(point, 3)), source)


def unsettled(odds: Odds, stranger: float, same: int, answers: int, read: bool) -> tuple[str, int]:
    """Returns why the answers settle no point, and how many more would help; empty, 0 if they do.

    Args:
        odds: Fitted on them.
        stranger: Cosine of texts that have nothing to do with each other.
        same: How many answers say the same.
        answers: How many there are.
        read: Whether there is a language the model reads.
    """
    if not answers:
        return "no answers yet", QUESTIONS
    if not read:
        return "there are too few memories of a language the model reads", 0
    other = answers - same
    if min(same, other) < LEAST_EACH:
        kind = "the same" if same <= other else "different"
        few = f"only {min(same, other)} of the pairs answered are {kind}"
        return few, max(_STEP, QUESTIONS - answers)
    if odds.rise < LEAST_RISE:
        return "the model hardly tells pairs that say the same from others", 0
    width = (odds.high - odds.low) / (1.0 - stranger)
    if width <= WIDE:
        return "", 0
    # the interval shrinks with the root of the number of answers
    wanted = answers * ((width / WIDE) ** 2 - 1.0)
    return "too wide", min(_MOST_MORE, max(_STEP, _STEP * ceil(wanted / _STEP)))


def fitted_shift(answers: Sequence[tuple[float, bool]]) -> float | None:
    """Returns the shift of the decision that answers speak for, in log odds.

    The maximum a posteriori of one number added to all log odds, under a normal prior around 0
    (Platt, Probabilistic outputs for support vector machines, 1999, with the slope left at 1).

    Args:
        answers: Log odds of the same as the decision ships, and whether they are the same.

    Returns:
        None with fewer than `LEAST_EACH` answers of either kind.
    """
    same = sum(answer for _, answer in answers)
    if min(same, len(answers) - same) < LEAST_EACH:
        return None
    shift = 0.0
    for _ in range(_STEPS):
        chances = [1 / (1 + exp(-max(-40.0, min(40.0, logit + shift)))) for logit, _ in answers]
        slope = sum(answer - chance for (_, answer), chance in zip(answers, chances, strict=True))
        slope -= shift / SPREAD**2
        curve = sum(chance * (1 - chance) for chance in chances) + 1 / SPREAD**2
        shift += slope / curve
        if abs(slope / curve) < _SURE:
            break
    return round(shift, 4)
