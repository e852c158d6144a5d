"""The learned part of the decision: weights one can read, in `weights.json`.

Each score is a sum: a bias and, for each feature, its weight times its value (logistic regression;
Hosmer, Lemeshow, Applied Logistic Regression). A weight has the sign its feature may have, so more
in common never lowers the score. `python -m benchmarks.fit` made the file; nothing is learned here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from operator import mul
from typing import Final

from echoless.core.shipped import shipped_json
from echoless.judge.features import NAMES

_OVERFLOW: Final = 60.0


@dataclass(frozen=True, slots=True)
class Score:
    """One sum.

    Attributes:
        bias: What no feature changes.
        weights: In the order of the features it was fitted on.
        means: Of the features where it was fitted: contributions are told against them.
    """

    bias: float
    weights: tuple[float, ...]
    means: tuple[float, ...]

    def logit(self, values: Sequence[float]) -> float:
        """Log odds."""
        if len(values) != len(self.weights):
            raise ValueError(f"{len(self.weights)} features were expected, not {len(values)}")
        told: float = sum(map(mul, self.weights, values))
        return self.bias + told

    def probability(self, values: Sequence[float]) -> float:
        """0 to 1."""
        return 1.0 / (1.0 + exp(-max(-_OVERFLOW, min(_OVERFLOW, self.logit(values)))))

    def contributions(self, values: Sequence[float]) -> tuple[float, ...]:
        """What each feature adds to the log odds, against an average pair."""
        told = zip(self.weights, values, self.means, strict=True)
        return tuple(w * (v - m) for w, v, m in told)


@dataclass(frozen=True, slots=True)
class Scorecard:
    """All that was learned.

    Attributes:
        same: Whether two texts that nothing keeps apart state the same, one perhaps more.
        merge: Probability from which they are merged, inclusive.
        review: Probability from which a person is asked, inclusive.
        superset: Whether the first text says more, of two that state the same.
        apart: For each verdict of texts that stay apart, its score.
    """

    same: Score
    merge: float
    review: float
    superset: Score
    apart: Mapping[str, Score]

    def names(self, rows: Sequence[Sequence[float]]) -> list[str]:
        """The verdict with the highest score for each pair that stays apart; ties by name."""
        if not rows:
            return []
        import numpy as np  # noqa: PLC0415 - not needed where nothing stays apart

        names = sorted(self.apart)
        scores = [self.apart[name] for name in names]
        weights, biases = [s.weights for s in scores], [s.bias for s in scores]
        best = (np.array(rows) @ np.array(weights).T + np.array(biases)).argmax(1)
        return [names[at] for at in best.tolist()]


@cache
def scorecard() -> Scorecard:
    """The shipped weights.

    Raises:
        ValueError: The file does not fit the features of this version.
    """
    raw = shipped_json("judge/weights.json")
    same = _score(raw["same"])
    if tuple(raw["same"]["weights"]) != NAMES:
        raise ValueError("weights.json was fitted on other features: run python -m benchmarks.fit")
    return Scorecard(
        same=same,
        merge=float(raw["same"]["merge"]),
        review=float(raw["same"]["review"]),
        superset=_score(raw["superset"]),
        apart={name: _score(one) for name, one in raw["apart"].items()},
    )


def _score(raw: Mapping[str, object]) -> Score:
    weights, bias = raw["weights"], raw["bias"]
    means = raw.get("means", {})
    assert isinstance(weights, dict)
    assert isinstance(means, dict)
    assert isinstance(bias, int | float)
    return Score(
        float(bias),
        tuple(float(weights[name]) for name in weights),
        tuple(float(means.get(name, 0.0)) for name in weights),
    )
