"""What two texts that stay apart are to each other: features of the naming scores."""

from __future__ import annotations

from typing import Final

from echoless.judge.align import CONTENT, Alignment
from echoless.judge.features import NAMES
from echoless.judge.scan import Kind, Token
from echoless.judge.vetoes import VALUES, Veto

_RULES: Final = (
    "polarity-differs",
    "negation-differs",
    "modality-differs",
    "quantifier-differs",
    "scope-differs",
    "direction-differs",
    "word-exchanged",
    "roles-differ",
)
_KINDS: Final = tuple(Kind)

APART_NAMES: Final = (
    *NAMES,
    *(f"both-{kind.value}" for kind in _KINDS),
    *(f"one-{kind.value}" for kind in _KINDS),
    *_RULES,
    "change-told-once",
    "change-told-twice",
    "stages-differ",
    "same-words",
    "no-meaning",
)

SUPERSET_NAMES: Final = (
    "left-own",
    "left-other",
    "covered-own",
    "covered-other",
    "longer",
    "values-own",
    "values-other",
    "gap-own",
    "gap-other",
)


def apart_features(
    found: Alignment, values: tuple[float, ...], vetoes: tuple[Veto, ...]
) -> tuple[float, ...]:
    """The features of an aligned pair that stays apart, in the order of `APART_NAMES`."""
    both, one = found.kinds_a & found.kinds_b, found.kinds_a ^ found.kinds_b
    rules = {veto.rule for veto in vetoes}
    told = found.a.facts.update, found.b.facts.update
    stages = found.a.facts.stage, found.b.facts.stage
    return (
        *values,
        *[1.0 if kind in both else 0.0 for kind in _KINDS],
        *[1.0 if kind in one else 0.0 for kind in _KINDS],
        *[1.0 if rule in rules else 0.0 for rule in _RULES],
        float(told[0] != told[1]),
        float(all(told)),
        float(None not in stages and stages[0] != stages[1]),
        float(not found.rest_a and not found.rest_b),
        float(not found.best_a),
    )


def superset_features(found: Alignment) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Features of "a says more" and of "b says more", in the order of `SUPERSET_NAMES`."""
    sides = (
        (found.a, found.rest_a, found.gap_a),
        (found.b, found.rest_b, found.gap_b),
    )
    told = [_side(reading.words, rest, gap) for reading, rest, gap in sides]
    size = [max(1, len(reading.facts.tokens)) for reading, _, _ in sides]
    return _pair(told[0], told[1], size[0] / size[1]), _pair(told[1], told[0], size[1] / size[0])


def _pair(
    own: tuple[float, float, float, float], other: tuple[float, float, float, float], ratio: float
) -> tuple[float, ...]:
    longer = max(-1.5, min(1.5, ratio - 1.0 if ratio >= 1 else 1.0 - 1.0 / ratio))
    return (own[0], other[0], own[1], other[1], longer, own[2], other[2], own[3], other[3])


def _side(
    words: tuple[Token, ...], rest: tuple[Token, ...], gap: tuple[float, ...]
) -> tuple[float, float, float, float]:
    left = sum(t.kind in CONTENT for t in rest)
    values = sum(t.kind in VALUES for t in rest)
    covered = 1.0 - left / len(words) if words else 1.0
    return float(min(left, 8)), covered, float(min(values, 3)), sum(gap)
