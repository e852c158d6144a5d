"""The verdict on weighed pairs: vetoes decide, then the score; what stays apart is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from echoless.judge.align import Alignment
from echoless.judge.apart import apart_features, superset_features
from echoless.judge.case import Case
from echoless.judge.facts import Facts
from echoless.judge.naming import differences, naming
from echoless.judge.needed import needed
from echoless.judge.scan import Kind, Token
from echoless.judge.scorecard import Scorecard
from echoless.judge.vetoes import Veto
from echoless.judge.weighing import Weighed
from echoless.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Memory,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
)
from echoless.times import instant

_SAME_TOPIC: Final = 0.35
"""Cosine from which texts in two languages, of which no word can be compared, are worth a look."""

ONE_SIDED: Final = 0.3
"""Probability from which the one side that has words left over is called the superset, inclusive:
the poorer text must not survive."""

_LABELS: Final = frozenset({Kind.IDENTIFIER, Kind.PATH})


def settle(cases: Sequence[Case], weighed: Sequence[Weighed], card: Scorecard) -> list[Verdict]:
    """The verdicts on cases that words alone do not decide, in their order."""
    found = [_together(*each, card) for each in zip(cases, weighed, strict=True)]
    apart = [each for each, verdict in zip(weighed, found, strict=True) if verdict is None]
    names = iter(card.names([apart_features(w.found, w.values, w.against) for w in apart]))
    return [
        verdict or _apart(case, each, next(names), card)
        for case, each, verdict in zip(cases, weighed, found, strict=True)
    ]


def _chance(weighed: Weighed, card: Scorecard) -> float:
    return card.same.probability(weighed.values) if weighed.found.comparable else 0.0


def _together(case: Case, weighed: Weighed, card: Scorecard) -> Verdict | None:
    """The verdict on two texts that may state the same, or None if they stay apart."""
    both = weighed.found
    if not both.best_a and (verdict := _without_vectors(case, weighed)):
        return verdict
    if weighed.against or (chance := _chance(weighed, card)) < card.review:
        return None
    note = f"score {chance:.2f}"
    enough = needed(weighed, card)
    if chance < enough.score or both.similarity < enough.cosine:
        evidence = case.evidence("similar-in-meaning", *differences(both), note=note)
        return Unsure(replace(evidence, chance=chance))
    return _same(case, both, note, card)


def _without_vectors(case: Case, weighed: Weighed) -> Verdict | None:
    both = weighed.found
    languages = both.a.facts.language, both.b.facts.language
    if languages[0] != languages[1] and both.similarity >= _SAME_TOPIC:
        other = Difference(DifferenceKind.LANGUAGE, (languages[0],), (languages[1],))
        return Unsure(case.evidence("other-language", other, *differences(both)))
    if weighed.against or both.rest_a or both.rest_b:
        return None
    faint = Difference(DifferenceKind.DETAIL, _texts(both.found.faint))
    return Unsure(case.evidence("wording-differs", faint))


def _same(case: Case, both: Alignment, note: str, card: Scorecard) -> Verdict:
    """The same in other words; or one side says more."""
    a, b = (card.superset.probability(side) for side in superset_features(both))
    if max(a, b) < (ONE_SIDED if bool(both.rest_a) != bool(both.rest_b) else 0.5):
        return Duplicate(case.evidence("same-in-other-words", note=note))
    extra = Difference(DifferenceKind.DETAIL, _texts(both.rest_a), _texts(both.rest_b))
    evidence = case.evidence("adds-in-other-words", extra, note=note)
    return Subsumes(evidence, case.side("a" if a >= b else "b"))


def _apart(case: Case, weighed: Weighed, name: str, card: Scorecard) -> Verdict:
    """Texts that stay apart: what they are to each other."""
    both, against = weighed.found, weighed.against
    rule = against[0].rule if against else _RULES[name]
    evidence = case.evidence(rule, *_named(both, against, name), veto=bool(against))
    if name in {"related", "distinct"}:
        if against and _chance(weighed, card) >= card.merge:
            return Unsure(evidence)
        return Related(evidence) if name == "related" else Distinct(evidence)
    if name == "sibling":
        return Sibling(evidence)
    newer = _newer(case, both.a.facts, both.b.facts)
    if newer is None and _other_label(both):
        return Sibling(evidence)
    if name == "update" and newer is not None:
        return Update(evidence, case.side(newer))
    return Contradiction(evidence)


def _other_label(both: Alignment) -> bool:
    """All that differs in one wording is an identifier or a path: another thing of its kind."""
    if not both.rest_a or not both.rest_b:
        return False
    return both.kinds_a <= _LABELS and both.kinds_b <= _LABELS


_RULES: Final = {
    "update": "newer-value",
    "contradiction": "cannot-both-hold",
    "sibling": "other-entity",
    "related": "same-topic",
    "distinct": "little-in-common",
}


def _named(both: Alignment, against: tuple[Veto, ...], name: str) -> tuple[Difference, ...]:
    """The differences, the deciding one first."""
    if name in {"related", "distinct"}:
        return (Difference(DifferenceKind.DETAIL, _texts(both.rest_a), _texts(both.rest_b)),)
    return naming(both, against, changed=name == "update")


def _newer(case: Case, a: Facts, b: Facts) -> Side | None:
    """Which side replaces the other, if the texts or their times say so."""
    if a.stage is not None and b.stage is not None and a.stage != b.stage:
        return "a" if a.stage > b.stage else "b"
    if a.update != b.update:
        return "a" if a.update else "b"
    return later(case.a, case.b)


def later(a: Memory, b: Memory) -> Side | None:
    """The side that was made later; None where the times do not tell."""
    one, other = instant(a.created_at), instant(b.created_at)
    if one is None or other is None or one == other:
        return None
    return "a" if one > other else "b"


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple([token.text for token in tokens])
