"""How much a pair has to reach to be merged: a score, and a cosine besides.

The score is learned on labelled pairs, whose authors reworded what they meant to be the same. Real
memories of one project share words, names and days without saying the same, and no score learned
there sees it: so a cosine is asked for too, less where other things speak for sameness.
"""

from __future__ import annotations

from math import expm1
from typing import Final, NamedTuple

from echoless.judge.align import Alignment
from echoless.judge.features import feature
from echoless.judge.scorecard import Scorecard
from echoless.judge.weighing import Weighed

EASED: Final = 0.55
"""Score from which texts are merged whose words all have a counterpart, or that share a value, are
very close and have hardly a word left over, inclusive. Where the score is this low they mostly
differ in wording that labelled pairs are poor in (`the standup is at 9:30`, `the daily standup
starts at 9:30`)."""

VERY_CLOSE: Final = 0.80
"""Cosine on the reference scale of texts that are very close, inclusive."""

SHARING_VALUES: Final = 0.45
"""Cosine that texts need which have two names or values in common and hardly a word left over,
inclusive: a form or a line of configuration is far from the sentence that says the same. With more
words left over, nearly every such merge on `benchmarks/results/real_memories.md` was wrong."""

SHARING_SCORE: Final = 0.75
"""Score from which that cosine is enough, inclusive."""

_HARDLY: Final = (1, 3)
"""Words left over on the two sides, at most, that are hardly a word."""

IN_ONE_LANGUAGE: Final = 0.65
"""Cosine on the reference scale that texts in one language need to be merged, inclusive: below it
nearly every merge proposed in `benchmarks/results/real_memories.md` was wrong (November 2026)."""

BOTH_SAY_MORE: Final = 0.70
"""The same where both texts have words left over, inclusive."""

ACROSS_LANGUAGES: Final = 0.55
"""Cosine on the reference scale that texts in two languages need to be merged, inclusive: true
translations have a median of .71 to .79 (measured, November 2026)."""


class Needed(NamedTuple):
    """What a pair needs to be merged, both inclusive.

    Attributes:
        score: Probability of the same facts, 0 to 1.
        cosine: Of the texts, on the reference scale, 0 to 1.
    """

    score: float
    cosine: float


def needed(weighed: Weighed, card: Scorecard) -> Needed:
    """What a pair that nothing keeps apart needs to be merged.

    Args:
        weighed: The pair.
        card: The learned weights.
    """
    both, close = weighed.found, weighed.found.similarity
    shared = round(expm1(feature(weighed.values, "values-shared")))
    if _straight(weighed):
        if not both.rest_a and not both.rest_b and close >= BOTH_SAY_MORE:
            return Needed(min(EASED, card.merge), BOTH_SAY_MORE)
        if shared and close >= VERY_CLOSE and _hardly_more(both):
            return Needed(min(EASED, card.merge), VERY_CLOSE)
    floor = _floor(both)
    if close < floor and shared > 1 and _hardly_more(both):
        return Needed(max(SHARING_SCORE, card.merge), min(SHARING_VALUES, floor))
    return Needed(card.merge, floor)


def _floor(both: Alignment) -> float:
    if both.a.facts.language != both.b.facts.language:
        return ACROSS_LANGUAGES
    return BOTH_SAY_MORE if both.rest_a and both.rest_b else IN_ONE_LANGUAGE


def _straight(weighed: Weighed) -> bool:
    """Nothing they share stands in another place."""
    return not any(feature(weighed.values, name) for name in ("crossed", "inverted", "exchanged"))


def _hardly_more(both: Alignment) -> bool:
    few, more = sorted((len(both.rest_a), len(both.rest_b)))
    return few <= _HARDLY[0] and more <= _HARDLY[1]
