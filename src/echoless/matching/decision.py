"""Decides with what the pair model and the rules say: logistic models over named features.

The weights lie in `decision.json`, fitted by `training/fit.py` on labelled pairs that the pair
model was not trained on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from rapidfuzz import fuzz

from echoless.core.model import Verdict, richer
from echoless.core.profiles import MergeUse
from echoless.core.shipped import shipped_json
from echoless.core.text import ByText
from echoless.matching.fields import fields_of
from echoless.matching.pair_model.scoring import Scores, probability
from echoless.matching.rules import HOLDING

_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_FAR: Final = 8.0
"""Logits beyond this, on either side, count as this."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model over named features.

    Attributes:
        weights: By name of the feature.
        bias: Logit where all features are 0.
    """

    weights: Mapping[str, float]
    bias: float

    def probability(self, values: Mapping[str, float]) -> float:
        """Returns the probability, 0 to 1. A feature without a weight counts for nothing."""
        weighed = (self.weights.get(name, 0.0) * x for name, x in values.items())
        return probability(self.bias + sum(weighed))


@dataclass(frozen=True, slots=True)
class Decision:
    """The models and their thresholds, all inclusive.

    Attributes:
        prior: Whether the two say the same or conflict, without what the pair model says: it
            chooses whom to ask about.
        same: Whether one text contains all statements of the other.
        conflict: Whether the two tell another value or state of one thing.
        confirmed: Whether the pair model confirms a conflict of the rules, or doubts it, without
            what it says: it orders these questions.
        ask: Probability of `prior` from which the pair model is asked.
        merge: Probability of `same` from which two memories are merged, as `Profile.use` says.
        review: Probability of `same` from which a person is asked.
        alarm: Probability of `conflict` from which a conflict is reported.
    """

    prior: Logistic
    same: Logistic
    conflict: Logistic
    confirmed: Logistic
    ask: float
    merge: float
    review: float
    alarm: float


@cache
def shipped_decision(use: MergeUse = "default") -> Decision:
    """Returns the weights that ship with echoless.

    Args:
        use: See `Profile.use`; it sets `merge`.

    Raises:
        DamagedPackage: The file is not as it was installed.
    """
    stored = shipped_json("matching/decision.json")
    prior, same, conflict, confirmed = (
        Logistic(stored[name]["weights"], stored[name]["bias"])
        for name in ("prior", "same", "conflict", "confirmed")
    )
    ask, review, alarm = (float(stored[name]) for name in ("ask", "review", "alarm"))
    merge = float(stored["merge"][use])
    return Decision(prior, same, conflict, confirmed, ask, merge, review, alarm)


@ByText
def _numbers(sentence: str) -> frozenset[str]:
    """Returns the numbers of a sentence as written."""
    return frozenset(_NUMBER.findall(sentence))


def rule_features(a: str, b: str, verdict: Verdict) -> dict[str, float]:
    """Returns the features that need no model. Exchanging the sides changes none of them.

    Args:
        a: One text.
        b: The other.
        verdict: What the rules say; its evidence names all differences.
    """
    one, other = sorted((fields_of(a).sentence, fields_of(b).sentence))
    lengths = sorted((len(one), len(other)))
    numbers = _numbers(one), _numbers(other)
    more = [bool(numbers[0] - numbers[1]), bool(numbers[1] - numbers[0])]
    evidence = verdict.evidence
    held = evidence.rule in HOLDING
    differences = () if held else evidence.differences
    left = sorted((sum(len(d.a) for d in differences), sum(len(d.b) for d in differences)))
    values = {
        "letters": fuzz.ratio(one, other) / 100,
        "words": fuzz.token_set_ratio(one, other) / 100,
        "length": math.log(lengths[1] / max(1, lengths[0])),
        "size": math.log1p(lengths[1]),
        "numbers_both": float(all(more)),
        "numbers_one": float(more[0] != more[1]),
        "left_least": float(min(left[0], 6)),
        "left_most": float(min(left[1], 12)),
        "left_none": float(left[1] == 0),
        "left_one_side": float(left[0] == 0 < left[1]),
        "superset": float(richer(verdict) is not None),
        "held": float(held),
        "order": float(evidence.rule == "order-differs"),
    }
    for difference in differences:
        sides = "both" if difference.a and difference.b else "one"
        values[f"{difference.kind.value}_{sides}"] = 1.0
    return values


def features(plain: Mapping[str, float], scores: Scores) -> dict[str, float]:
    """Returns all features of a pair: those of `rule_features`, and what the pair model says."""
    low, high = sorted(max(-_FAR, min(_FAR, logit)) for logit in scores[:2])
    conflict = max(-_FAR, min(_FAR, scores.conflict))
    return {
        **plain,
        "both": low,
        "either": high,
        "conflict": conflict,
        "both_and_conflict": low * conflict / _FAR,
    }
