"""Why a verdict fell as it did: alignment, vetoes, score, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.align import Alignment
from echoless.judge.case import Case
from echoless.judge.compare import compare
from echoless.judge.decide import FullJudge
from echoless.judge.facts import Facts
from echoless.judge.features import NAMES
from echoless.judge.meaning import Meaning
from echoless.judge.needed import Needed, needed
from echoless.judge.scorecard import Scorecard, scorecard
from echoless.judge.weighing import Weighed, asked, weigh_all
from echoless.model import Difference, DifferenceKind, Memory, Pair, Verdict, merges

_TOLD: Final = 0.05
"""Log odds below which a feature is not worth a line."""


@dataclass(frozen=True, slots=True)
class Matched:
    """A word of a and the word of b it was matched with.

    Attributes:
        a: As written in a.
        b: As written in b.
        similarity: Cosine of their vectors where meaning matched them, else None: they are one
            word, value or spelling.
    """

    a: str
    b: str
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Weight:
    """What one feature did to the score.

    Attributes:
        feature: Its name.
        value: Its value for this pair.
        points: Log odds it adds, against an average pair.
    """

    feature: str
    value: float
    points: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the probability of the same becomes without one word.

    Attributes:
        side: `a` or `b`.
        word: The word that was left out.
        same: Probability without it, 0 to 1.
    """

    side: str
    word: str
    same: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the pair model says of two texts, and what the decision makes of it.

    Attributes:
        a_holds_b: Probability that a says all that b says, 0 to 1.
        b_holds_a: Probability that b says all that a says.
        conflict: Probability that they tell another value or state of one thing.
        same: Probability of the decision, over model and rules.
        merge: Probability of `same` from which two memories are merged, inclusive.
        alarm: Probability from which a conflict is reported, inclusive.
        values: Values compared, as kind, in a, in b.
        vetoed: Whether a value forbids a merge whatever the model says.
        words: Words that matter, most telling first.
    """

    a_holds_b: float
    b_holds_a: float
    conflict: float
    same: float
    merge: float
    alarm: float
    values: tuple[tuple[DifferenceKind, tuple[str, ...], tuple[str, ...]], ...]
    vetoed: bool
    words: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with all it rests on.

    Attributes:
        verdict: As the judge gives it.
        matched: Words with a counterpart, in the order of a.
        only_a: Words of a without a counterpart.
        only_b: Words of b.
        against: Rule and difference of what forbids a merge, the most telling first.
        similarity: Cosine of the texts on the reference scale, 0 to 1; None without an encoder.
        score: Probability of the same facts, 0 to 1; None where words alone decide or no encoder
            could be asked.
        merge: Score from which such a pair is merged, inclusive.
        cosine: Cosine on the reference scale that it needs besides, inclusive.
        weights: What made the score, most telling first.
        would_change: What would change the verdict, as sentences.
        reading: What the pair model says; None where it was not asked.
    """

    verdict: Verdict
    matched: tuple[Matched, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    against: tuple[tuple[str, Difference], ...]
    similarity: float | None
    score: float | None
    merge: float
    cosine: float
    weights: tuple[Weight, ...]
    would_change: tuple[str, ...]
    reading: Reading | None = None


def explain(a: Memory, b: Memory, meaning: Meaning | None = None) -> Explanation:
    """Explain the verdict of the full judge on two memories.

    Args:
        a: One memory.
        b: The other.
        meaning: Vectors of a calibrated encoder, or None.

    Raises:
        EncoderError: The encoder failed.
    """
    card, pair = scorecard(), Pair(a, b, {"lexical": 0.0})
    verdict = FullJudge(meaning, card).judge(pair)
    case = Case(pair, meaning)
    weighed = _weighed((case.a, case.b), case.facts, meaning)
    found = weighed.found
    scored = (found.comparable and "score" in verdict.evidence.note) or bool(weighed.against)
    score = card.same.probability(weighed.values) if scored and found.comparable else None
    enough = needed(weighed, card)
    turned = case.side("a") != "a"  # what is shown keeps the sides it was asked about
    shown = _weighed((a, b), case.facts[::-1], meaning) if turned else weighed
    return Explanation(
        verdict=verdict,
        matched=tuple(_matched(shown.found)),
        only_a=tuple(token.text for token in shown.found.rest_a),
        only_b=tuple(token.text for token in shown.found.rest_b),
        against=tuple((veto.rule, veto.difference) for veto in shown.against),
        similarity=found.similarity if meaning is not None else None,
        score=score,
        merge=enough.score,
        cosine=enough.cosine,
        weights=tuple(_weights(weighed, card)) if score is not None else (),
        would_change=tuple(_would_change(verdict, shown, score, card, enough)),
    )


def _weighed(
    memories: tuple[Memory, Memory], facts: tuple[Facts, Facts], meaning: Meaning | None
) -> Weighed:
    """As the judge weighs them: days told from the day of writing are absolute."""
    return weigh_all([asked(memories, facts, compare(*facts))], meaning)[0]


def _matched(found: Alignment) -> Iterator[Matched]:
    """By word, then by meaning, in the order of a."""
    meant = {id(match.a): match for match in found.alike}
    left = {id(token) for token in found.rest_a}
    partners: dict[str, list[str]] = {}
    for token in found.b.facts.tokens:
        partners.setdefault(token.key, []).append(token.text)
    for token in found.a.facts.tokens:
        if id(token) in meant:
            match = meant[id(token)]
            yield Matched(token.text, match.b.text, match.similarity)
        elif id(token) not in left:
            same = partners.get(token.key)
            yield Matched(token.text, same.pop(0) if same else token.text)


def _weights(weighed: Weighed, card: Scorecard) -> Iterator[Weight]:
    points = card.same.contributions(weighed.values)
    told = zip(NAMES, weighed.values, points, strict=True)
    for name, value, point in sorted(told, key=lambda each: (-abs(each[2]), each[0])):
        if abs(point) >= _TOLD:
            yield Weight(name, value, point)


def _would_change(
    verdict: Verdict, weighed: Weighed, score: float | None, card: Scorecard, enough: Needed
) -> Iterator[str]:
    """What would have to be otherwise for the other outcome."""
    if merges(verdict):
        yield from _would_part(score, enough)
        return
    for veto in weighed.against:
        yield f"They are kept apart as long as {_told(veto.difference, veto.rule)}."
    if score is None:
        if not weighed.against:
            yield f"The rule `{verdict.evidence.rule}` decides; a person may judge otherwise."
        return
    close = weighed.found.similarity
    if score < enough.score:
        yield f"The score is {score:.2f}; such pairs are merged from {enough.score:.2f} on."
        yield from _would_help(weighed, card)
    elif close < enough.cosine:
        yield f"The cosine is {close:.2f}; such pairs are merged from {enough.cosine:.2f} on."
    elif weighed.against:
        yield f"Without that they would be merged: the score is {score:.2f}."


def _would_part(score: float | None, enough: Needed) -> Iterator[str]:
    yield "Another number, name or date on one side, or a denial, would keep them apart."
    if score is not None:
        yield f"So would a score below {enough.score:.2f}; it is {score:.2f}."


def _would_help(weighed: Weighed, card: Scorecard) -> Iterator[str]:
    against = [w for w in _weights(weighed, card) if w.points < 0][:2]
    if against:
        names = " and ".join(f"`{w.feature}` ({w.points:+.1f})" for w in against)
        yield f"What lowers it most: {names}."


def _told(difference: Difference, rule: str) -> str:
    left, right = _side(difference.a), _side(difference.b)
    if left or right:
        return f"{left or 'nothing'} stands against {right or 'nothing'} ({rule})"
    return f"the rule `{rule}` sees a difference of {difference.kind.value}"


def _side(words: Sequence[str]) -> str:
    return " ".join(f"`{word}`" for word in words[:4])
