"""Turns answers into settings: the cosine of even odds, where to look from, a shift of decisions.

Even odds are where a pair of a model is as likely the same as not.

Logistic regression of answers on the cosine, with a weak prior (MAP by Newton's method), and the
percentile bootstrap for how sure it is (Efron, Tibshirani, An Introduction to the Bootstrap, ch.
13). Deterministic: the resamples are seeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.models.encoders.calibration import OperatingPoint

Floats: TypeAlias = NDArray[np.float64]

RESAMPLES: Final = 200
SEED: Final = 20261122

_LIKELY: Final = (16.0, 8.0)
"""Mean and spread of the slope expected, in log odds from random texts to equal texts. Measured on
a store of 1,200 memories: 18 for USE, 20 for MiniLM, 21 for e5; 6 for potion, which cannot read a
part of it."""

_WIDER: Final = 1.35
"""By what the interval is widened: resampling answers says nothing of how far the odds are from a
logistic curve, nor of the prior. Without it 31 of 40 sessions on halves of the development store,
and 76 of 100 with a model half as sharp as expected, held the truth."""

_LEAST_SLOPE: Final = 2.0
_FAR: Final = 40.0
_STEPS: Final = 60
_SURE: Final = 1e-10


@dataclass(frozen=True, slots=True)
class Sample:
    """Cosines of pairs, and whether their texts state the same.

    Attributes:
        cosines: One for each pair.
        same: Alongside.
        weights: Alongside, 1 for an answer of a person.
    """

    cosines: Floats
    same: NDArray[np.bool_]
    weights: Floats


@dataclass(frozen=True, slots=True)
class Odds:
    """The odds that a pair is the same, by its cosine.

    Attributes:
        even: The cosine of even odds.
        low: Lower end of its 90 % interval.
        high: Upper end.
        slope: Rise of the log odds for each unit of cosine.
        rise: The same from strangers to equal texts: how well the model tells.
    """

    even: float
    low: float
    high: float
    slope: float
    rise: float

    def cosine(self, logit: float) -> float:
        """Returns the cosine at which the log odds have this value."""
        return self.even + logit / self.slope


def sample(groups: Sequence[tuple[Sequence[float], bool, float]]) -> Sample:
    """Returns groups of (cosines, whether the same, weight of each) as one sample."""
    return Sample(
        np.array([c for cosines, _, _ in groups for c in cosines], dtype=np.float64),
        np.array([same for cosines, same, _ in groups for _ in cosines], dtype=np.bool_),
        np.array([weight for cosines, _, weight in groups for _ in cosines], dtype=np.float64),
    )


def even_odds(
    answers: Sample, known: Sample, stranger: float, *, resamples: int = RESAMPLES
) -> Odds:
    """Fits the even odds, and measures how sure they are.

    Args:
        answers: Of a person; resampled.
        known: Certain pairs, with little weight: they say where to begin; not resampled.
        stranger: Cosine of texts that have nothing to do with each other, below 1.
        resamples: How often to draw; with 0, and without answers, the interval is all there is.

    Returns:
        The even odds, between `stranger` and 1.
    """
    even, slope = _fitted(answers, known, stranger)
    random = np.random.default_rng(SEED)
    size = len(answers.cosines)
    ends = []
    for _ in range(resamples if size else 0):
        drawn = random.integers(0, size, size)
        resample = Sample(answers.cosines[drawn], answers.same[drawn], answers.weights[drawn])
        ends.append(_fitted(resample, known, stranger)[0])
    low, high = np.quantile(ends, (0.05, 0.95)) if ends else (stranger, 1.0)
    low = max(stranger, even - _WIDER * max(0.0, even - float(low)))
    high = min(1.0, even + _WIDER * max(0.0, float(high) - even))
    return Odds(even, low, high, slope, slope * (1.0 - stranger))


def _fitted(answers: Sample, known: Sample, stranger: float) -> tuple[float, float]:
    """Returns the cosine of even odds, and the slope."""
    cosines = np.concatenate([answers.cosines, known.cosines])
    same = np.concatenate([answers.same, known.same]).astype(np.float64)
    weights = np.concatenate([answers.weights, known.weights])
    room = 1.0 - stranger
    x = np.stack([np.ones_like(cosines), (cosines - stranger) / room], axis=1)
    mean = np.array([-_LIKELY[0] / 2, _LIKELY[0]])
    prior = np.diag(1.0 / np.array([_LIKELY[1], _LIKELY[1]]) ** 2)
    at = mean.copy()
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(x @ at, -_FAR, _FAR)))
        slope = x.T @ (weights * (same - chance)) - prior @ (at - mean)
        curve = (x * (weights * chance * (1.0 - chance))[:, None]).T @ x + prior
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, 5.0 / float(np.abs(step).max() or 1.0))  # far steps may overshoot
        at = at + step
        if float(np.abs(step).max()) < _SURE:
            break
    rise = max(float(at[1]), _LEAST_SLOPE)
    share = min(1.0, max(0.0, -float(at[0]) / rise))
    return stranger + share * room, rise / room


# ------------------------------------------------------------------ from odds to settings

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
See `_LIKELY` for what models have."""

SPREAD: Final = 1.0
"""Standard deviation of the shift that is expected before any answer, in log odds."""

_STEP: Final = 10
_MOST_MORE: Final = 100
_SHIFT_STEPS: Final = 50
_SHIFT_SURE: Final = 1e-9


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
    for _ in range(_SHIFT_STEPS):
        chances = [1 / (1 + exp(-max(-40.0, min(40.0, logit + shift)))) for logit, _ in answers]
        slope = sum(answer - chance for (_, answer), chance in zip(answers, chances, strict=True))
        slope -= shift / SPREAD**2
        curve = sum(chance * (1 - chance) for chance in chances) + 1 / SPREAD**2
        shift += slope / curve
        if abs(slope / curve) < _SHIFT_SURE:
            break
    return round(shift, 4)
