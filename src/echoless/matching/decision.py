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

from echoless.core.shipped import shipped_json
from echoless.matching.fields import fields_of
from echoless.matching.pair_model.scoring import Scores
from echoless.model import DifferenceKind, Unsure, Verdict, merges, verdict_name

VALUES: Final = frozenset(
    {
        DifferenceKind.NUMBER,
        DifferenceKind.DATE,
        DifferenceKind.VERSION,
        DifferenceKind.IDENTIFIER,
        DifferenceKind.PATH,
        DifferenceKind.UNIT,
    }
)
"""Kinds of difference that a small model does not read: they veto."""

_DENIALS: Final = frozenset({DifferenceKind.NEGATION, DifferenceKind.POLARITY})
_FORMS: Final = frozenset(
    {
        DifferenceKind.MODALITY,
        DifferenceKind.ORDER,
        DifferenceKind.SCOPE,
        DifferenceKind.QUANTIFIER,
    }
)
_ONE_WORDING: Final = 0.85
"""Share of letters in common from which two texts are nearly one wording."""
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
        logit = self.bias + sum(self.weights.get(name, 0.0) * x for name, x in values.items())
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


@dataclass(frozen=True, slots=True)
class Decision:
    """The models and their thresholds, all inclusive.

    Attributes:
        prior: Whether the two say the same or conflict, without what the pair model says: it
            chooses whom to ask about.
        same: Whether one text holds all that the other says.
        conflict: Whether the two tell another value or state of one thing.
        ask: Probability of `prior` from which the pair model is asked.
        merge: Probability of `same` from which two memories are merged.
        review: Probability of `same` from which a person is asked.
        alarm: Probability of `conflict` from which a conflict is reported.
    """

    prior: Logistic
    same: Logistic
    conflict: Logistic
    ask: float
    merge: float
    review: float
    alarm: float


@cache
def shipped_decision() -> Decision:
    """Returns the weights that ship with echoless.

    Raises:
        DamagedPackage: The file is not as it was installed.
    """
    stored = shipped_json("matching/decision.json")
    prior, same, conflict = (
        Logistic(stored[name]["weights"], stored[name]["bias"])
        for name in ("prior", "same", "conflict")
    )
    ask, merge, review, alarm = (
        float(stored[name]) for name in ("ask", "merge", "review", "alarm")
    )
    return Decision(prior, same, conflict, ask, merge, review, alarm)


def vetoed(verdict: Verdict, letters: float) -> bool:
    """Returns whether what the rules found forbids a merge, whatever the model says.

    Args:
        verdict: Of the rules.
        letters: Share of letters in common, 0 to 1. In nearly one wording, another order, a denial
            or an opposite is the whole difference; in two wordings it may be the wording.
    """
    evidence = verdict.evidence
    if merges(verdict):
        return False
    if evidence.veto and (evidence.difference is None or evidence.difference in VALUES):
        return True
    if evidence.veto and letters >= _ONE_WORDING and evidence.difference in _DENIALS | _FORMS:
        return True
    return any(d.kind in VALUES and d.a and d.b for d in evidence.differences)


def rule_features(a: str, b: str, verdict: Verdict) -> dict[str, float]:
    """Returns the features that need no model. Exchanging the sides changes none of them.

    Args:
        a: One text.
        b: The other.
        verdict: What the rules say.
    """
    one, other = sorted((fields_of(a).sentence, fields_of(b).sentence))
    lengths = sorted((len(one), len(other)))
    numbers = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    more = [bool(numbers[0] - numbers[1]), bool(numbers[1] - numbers[0])]
    evidence = verdict.evidence
    kind = evidence.difference if evidence.veto else None
    rule = "merge" if merges(verdict) else verdict_name(verdict)
    if isinstance(verdict, Unsure) and evidence.veto:
        rule = "unsure_veto"
    return {
        "letters": fuzz.ratio(one, other) / 100,
        "words": fuzz.token_set_ratio(one, other) / 100,
        "length": math.log(lengths[1] / max(1, lengths[0])),
        "size": math.log1p(lengths[1]),
        "numbers_both": float(all(more)),
        "numbers_one": float(more[0] != more[1]),
        "chance": evidence.chance if evidence.chance is not None else 0.0,
        f"rule_{rule}": 1.0,
        "veto_value": float(kind in VALUES),
        "veto_name": float(kind is DifferenceKind.NAME),
        "veto_denial": float(kind in _DENIALS),
        "veto_form": float(kind in _FORMS),
        "veto_detail": float(kind is DifferenceKind.DETAIL),
        "differs_value": float(any(d.kind in VALUES and d.a and d.b for d in evidence.differences)),
        "differs_name": float(any(d.kind is DifferenceKind.NAME for d in evidence.differences)),
    }


def features(plain: Mapping[str, float], scores: Scores) -> dict[str, float]:
    """Returns all features of a pair: those of `rule_features`, and what the pair model says."""
    low, high = sorted(max(-_FAR, min(_FAR, logit)) for logit in scores[:2])
    conflict = max(-_FAR, min(_FAR, scores.conflict))
    told = next(name for name in plain if name.startswith("rule_"))
    return {
        **plain,
        "both": low,
        "either": high,
        "conflict": conflict,
        "both_and_conflict": low * conflict / _FAR,
        f"{told}_either": high / _FAR,
    }
