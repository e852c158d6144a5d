"""The decision: from two texts side by side to a verdict that names its reason.

```
equal texts, equal normal forms ........................ Duplicate
too long, nothing to compare ........................... Unsure
nothing left over on either side ....................... Duplicate, or Contradiction (order), …
left over on one side, as an addition .................. Subsumes
left over on one side otherwise ........................ Unsure or Contradiction
left over on both sides, in the same frame ............. Update, Contradiction, Sibling, Unsure
left over on both sides, little in common .............. Unsure, Related, Distinct
```

The law: what has something unmatched on both sides is not merged. Similarity never outweighs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from echoless.judge.compare import Comparison, compare
from echoless.judge.containment import turns
from echoless.judge.facts import Facts, facts_of
from echoless.judge.guards import GuardJudge
from echoless.judge.scan import Kind, Token
from echoless.judge.surface import surface_difference
from echoless.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
)
from echoless.times import instant

__all__ = ["FullJudge", "GuardJudge"]

_KINDS: Final = {
    Kind.IDENTIFIER: DifferenceKind.IDENTIFIER,
    Kind.PATH: DifferenceKind.PATH,
    Kind.VERSION: DifferenceKind.VERSION,
    Kind.DATE: DifferenceKind.DATE,
    Kind.NUMBER: DifferenceKind.NUMBER,
    Kind.UNIT: DifferenceKind.UNIT,
    Kind.NEGATION: DifferenceKind.NEGATION,
    Kind.QUANTIFIER: DifferenceKind.QUANTIFIER,
    Kind.MODALITY: DifferenceKind.MODALITY,
    Kind.SCOPE: DifferenceKind.SCOPE,
    Kind.NAME: DifferenceKind.NAME,
    Kind.RELATION: DifferenceKind.POLARITY,
    Kind.WORD: DifferenceKind.DETAIL,
}
_RANK: Final = {kind: rank for rank, kind in enumerate(_KINDS.values())}
_MEANING: Final = frozenset(
    {
        DifferenceKind.NEGATION,
        DifferenceKind.QUANTIFIER,
        DifferenceKind.MODALITY,
        DifferenceKind.POLARITY,
    }
)
_ENTITIES: Final = frozenset(
    {
        DifferenceKind.IDENTIFIER,
        DifferenceKind.PATH,
        DifferenceKind.VERSION,
        DifferenceKind.DATE,
        DifferenceKind.SCOPE,
        DifferenceKind.NAME,
    }
)
_SAME_FRAME: Final = 0.5
_WORTH_REVIEW: Final = 0.72
_SAME_TOPIC: Final = 0.35
_SAME_WORDS_ASIDE: Final = 0.7
"""Cosine (USE multilingual) that two texts need which agree but for words that say little."""

_LIST_LENGTH: Final = 12
"""Tokens from which a sign before a figure at a line's start is taken for a bullet of a list."""


class FullJudge:
    """Compares what two texts say and merges only what leaves nothing unexplained."""

    def judge(self, pair: Pair) -> Verdict:
        """Give the verdict with its evidence."""
        if pair.b.content < pair.a.content:
            return flipped(_judge(Pair(pair.b, pair.a, pair.signals)))
        return _judge(pair)


def _judge(pair: Pair) -> Verdict:
    case = _Case(pair)
    if pair.a.content == pair.b.content:
        return Duplicate(case.evidence("same-text"))
    verdict = _compared(case, pair)
    if isinstance(verdict, Duplicate | Subsumes):
        return _held_by_surface(case, pair, verdict) or verdict
    return verdict


def _held_by_surface(case: _Case, pair: Pair, verdict: Duplicate | Subsumes) -> Verdict | None:
    """Words agree: does what stands between them?"""
    language = facts_of(pair.a.content).language
    superset = verdict.superset if isinstance(verdict, Subsumes) else None
    found = surface_difference(pair.a.content, pair.b.content, language, superset)
    return None if found is None else Unsure(case.evidence(*found))


def _compared(case: _Case, pair: Pair) -> Verdict:
    a, b = facts_of(pair.a.content), facts_of(pair.b.content)
    if a.normal == b.normal and a.normal:
        return Duplicate(case.evidence("same-text-after-normalising"))
    if a.capped or b.capped:
        return Unsure(case.evidence("too-long-to-compare"))
    if not a.tokens or not b.tokens:
        return Unsure(case.evidence("nothing-to-compare"))
    found = compare(a, b)
    if found.two_sided:
        return _both_say_more(case, a, b, found)
    held = _held(case, a, b, found)
    if held is not None:
        return held
    if not found.only_a and not found.only_b:
        return Duplicate(case.evidence("same-facts"))
    return _one_says_more(case, a, b, found)


class _Case:
    """A pair with its best signal, to write evidence with."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.how, self.similarity = pair.best
        self.semantic = pair.signals.get("semantic", 0.0)

    def evidence(self, rule: str, *differences: Difference, note: str = "") -> Evidence:
        return Evidence(rule, self.how, self.similarity, differences, note)


# ------------------------------------------------------------------ nothing or one side left over


def _held(case: _Case, a: Facts, b: Facts, found: Comparison) -> Verdict | None:
    """What keeps apart texts of which at least one says all the other says."""
    if a.signs != b.signs and len(a.tokens) < _LIST_LENGTH:
        difference = Difference(DifferenceKind.NUMBER, a.signs, b.signs)
        return Unsure(case.evidence("sign-or-bullet", difference))
    if a.stamps and b.stamps and a.stamps != b.stamps and not (a.stative and b.stative):
        difference = Difference(DifferenceKind.DATE, a.stamps, b.stamps)
        return Unsure(case.evidence("captured-at-other-times", difference))
    if found.opposites:
        difference = _pairs(DifferenceKind.POLARITY, found.opposites)
        return Contradiction(case.evidence("polarity-differs", difference))
    if found.cased:
        return Sibling(
            case.evidence("case-differs", _pairs(DifferenceKind.IDENTIFIER, found.cased))
        )
    if found.directed:
        return Unsure(
            case.evidence("direction-differs", _pairs(DifferenceKind.ORDER, found.directed))
        )
    if found.faint and case.semantic < _SAME_WORDS_ASIDE:
        faint = Difference(DifferenceKind.DETAIL, _texts(found.faint))
        return Unsure(case.evidence("wording-differs", faint))
    if found.tense:
        return Unsure(case.evidence("tense-differs", Difference(DifferenceKind.MODALITY)))
    if not found.only_a and not found.only_b and not found.ordered:
        difference = Difference(DifferenceKind.ORDER, _texts(a.tokens), _texts(b.tokens))
        # With other small words too it may be another way to say the same.
        verdict = Contradiction if _glue(a) == _glue(b) else Unsure
        return verdict(case.evidence("order-differs", difference))
    return None


def _glue(facts: Facts) -> list[str]:
    return sorted(word for token in facts.tokens for word in token.glue.split())


def _pairs(kind: DifferenceKind, pairs: Sequence[tuple[str, str]]) -> Difference:
    return Difference(kind, tuple(one for one, _ in pairs), tuple(other for _, other in pairs))


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _one_says_more(case: _Case, a: Facts, b: Facts, found: Comparison) -> Verdict:
    differences = _differences(found)
    if found.superset is not None:
        return Subsumes(case.evidence("adds-only", *differences), found.superset)
    larger = a if found.only_a else b
    extra = found.only_a or found.only_b
    turning = [t for t in extra if turns(t, larger.lexicon)]
    close = min(found.coverage_a, found.coverage_b) >= _SAME_FRAME
    if close and any(t.kind is Kind.NEGATION for t in turning):
        return Contradiction(case.evidence("negation-added", *differences))
    rule = "meaning-turned" if turning else "woven-in"
    return Unsure(case.evidence(rule, *differences))


# ------------------------------------------------------------------ both sides left over


def _both_say_more(case: _Case, a: Facts, b: Facts, found: Comparison) -> Verdict:
    differences = _differences(found)
    if a.language != b.language and case.semantic >= _SAME_TOPIC:
        language = Difference(DifferenceKind.LANGUAGE, (a.language,), (b.language,))
        return Unsure(case.evidence("other-language", language, *differences))
    if (found.coverage_a + found.coverage_b) / 2 < _SAME_FRAME:
        return _apart(case, found, differences)
    kind = differences[0].kind
    newer = _newer(case.pair, a, b)
    rule = f"{kind.value}-differs"
    if newer == "a":
        return Update(case.evidence(rule, *differences), "a")
    if newer == "b":
        return Update(case.evidence(rule, *differences), "b")
    if kind in _MEANING:
        return Contradiction(case.evidence(rule, *differences))
    if kind in _ENTITIES:
        return Sibling(case.evidence(rule, *differences))
    if kind in {DifferenceKind.NUMBER, DifferenceKind.UNIT}:
        only = len(differences) == 1
        verdict = Contradiction if only else Sibling
        return verdict(case.evidence(rule, *differences))
    return Unsure(case.evidence("wording-differs", *differences))


def _differences(found: Comparison) -> tuple[Difference, ...]:
    """Differences by kind: opposites first, then kinds present on both sides, then the rest."""
    kinds = sorted({_KINDS[t.kind] for t in (*found.only_a, *found.only_b)}, key=_RANK.__getitem__)
    made = [
        Difference(
            kind,
            tuple(t.text for t in found.only_a if _KINDS[t.kind] is kind),
            tuple(t.text for t in found.only_b if _KINDS[t.kind] is kind),
        )
        for kind in kinds
    ]
    made.sort(
        key=lambda d: (not (d.a and d.b) and d.kind is not DifferenceKind.NEGATION, _RANK[d.kind])
    )
    if found.opposites:
        made.insert(0, _pairs(DifferenceKind.POLARITY, found.opposites))
    return tuple(made)


def _newer(pair: Pair, a: Facts, b: Facts) -> str | None:
    """Which side replaces the other, if the texts or their times say so."""
    if a.update != b.update:
        return "a" if a.update else "b"
    if a.stage is not None and b.stage is not None and a.stage != b.stage:
        return "a" if a.stage > b.stage else "b"
    if a.update and b.update:
        return _later(pair.a, pair.b)
    return None


def _later(a: Memory, b: Memory) -> str | None:
    one, other = instant(a.created_at), instant(b.created_at)
    if one is None or other is None or one == other:
        return None
    return "a" if one > other else "b"


def _apart(case: _Case, found: Comparison, differences: tuple[Difference, ...]) -> Verdict:
    """Little in common word for word: is it worth a look, the same topic, or nothing?"""
    if case.semantic >= _WORTH_REVIEW:
        return Unsure(case.evidence("similar-in-meaning", *differences))
    if case.semantic >= _SAME_TOPIC or found.shared >= 2:
        return Related(case.evidence("same-topic", *differences))
    return Distinct(case.evidence("little-in-common", *differences))
