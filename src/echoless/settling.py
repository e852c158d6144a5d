"""From even odds to what is used: a scale for the judge, a place to begin looking, or a refusal."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from echoless.vectors.scale import Calibration, OperatingPoint

if TYPE_CHECKING:
    from echoless.vectors.odds import Odds

QUESTIONS: Final = 30
"""Asked in one session."""

EVEN: Final = 0.57
"""Cosine of even odds on the reference scale, measured as here: all 1,777 undecided pairs of the
development store, with the labels for answers; 90 % interval .56 to .59."""

STRANGER: Final = 0.09
"""The median of its pairs, on the reference scale."""

LOOK: Final = 0.50
"""The operating point on the reference scale."""

WIDE: Final = 0.15
"""Width of the 90 % interval, on the reference scale, beyond which a calibration is not used. Half
of it moves the judge's score by about 0.4 in log odds."""

LEAST_EACH: Final = 5
"""Answers of either kind below which no interval is believed."""

LEAST_RISE: Final = 8.0
"""Log odds between strangers and equal texts below which a model does not tell one from the other.
See `vectors/odds.py` for what models have."""

_STEP: Final = 10
_MOST_MORE: Final = 100


def scale(stranger: float, odds: Odds, answers: int, languages: frozenset[str]) -> Calibration:
    """Strangers, even odds and equal texts on the reference scale.

    Words are never matched: of four models measured only the reference gains from it, and a
    threshold for words takes hundreds of answers (`benchmarks/results/calibrations.md`).
    """
    middle = min(0.999, max(stranger + 0.001, odds.even))
    return Calibration(
        ((round(stranger, 4), STRANGER), (round(middle, 4), EVEN), (1.0, 1.0)),
        None,
        f"calibrated by its user: {answers} answers",
        stretch=round((EVEN - STRANGER) / (middle - stranger), 3),
        languages=languages,
    )


def looking_point(made: Calibration, low: float, answers: int, derived: int) -> OperatingPoint:
    """Where the reference begins looking, or the lower end of even odds if that is less."""
    source = f"calibrated by its user: {answers} answers, {derived} derived pairs"
    return OperatingPoint(max(0.01, round(min(made.cosine(LOOK), low), 3)), source)


def unsettled(made: Calibration, odds: Odds, same: int, answers: int) -> tuple[str, int]:
    """Why the answers do not settle it, and how many more would help; empty and 0 if they do.

    Args:
        made: What they would give.
        odds: Fitted on them.
        same: How many answers say the same.
        answers: How many there are.
    """
    if not answers:
        return "no answers yet", QUESTIONS
    if not made.languages:
        return "there are too few memories of a language the model reads", 0
    other = answers - same
    if min(same, other) < LEAST_EACH:
        kind = "the same" if same <= other else "different"
        few = f"only {min(same, other)} of the pairs answered are {kind}"
        return few, max(_STEP, QUESTIONS - answers)
    if odds.rise < LEAST_RISE:
        return "the model hardly tells pairs that say the same from others", 0
    width = made.reference(odds.high) - made.reference(odds.low)
    return ("too wide", _more(answers, width)) if width > WIDE else ("", 0)


def _more(answers: int, width: float) -> int:
    """Answers that would narrow the interval enough: it shrinks with the root of their number."""
    wanted = answers * ((width / WIDE) ** 2 - 1.0)
    return min(_MOST_MORE, max(_STEP, _STEP * ceil(wanted / _STEP)))
