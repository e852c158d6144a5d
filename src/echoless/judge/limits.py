"""Vetoes of small words: what stands on one side only and limits, unsettles or places the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rapidfuzz import fuzz

from echoless.judge.align import Alignment
from echoless.judge.facts import Facts, remembered
from echoless.judge.language import stem
from echoless.judge.scan import Kind, Token

Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""Words of a and of b that stand against each other."""

_WHOLE: Final = frozenset({"!all", "!always", "!both"})
_UNREAL: Final = frozenset({"!may", "!should", "!future", "!used to", "!try"})
_LIMITS: Final = frozenset(
    (
        *("before", "after", "until", "from", "below", "above", "unless", "if", "even", "nearly"),
        *("under", "over", "without", "except", "bevor", "nach", "vor", "bis", "unter", "ausser"),
        *("falls",),
    )
)
_CONDITIONS: Final = frozenset(("if", "unless", "falls", "sofern", "provided"))
_WHENEVER: Final = frozenset(
    (
        *("when", "whenever", "once", "as soon as", "in case", "wenn", "sobald", "bei", "for"),
        *("on", "after", "until", "before", "with", "without", "nach", "während", "while"),
        *("where",),
    )
)
_ALIKE: Final = 60
"""Share of letters in common, in percent, from which a capitalised word may be a misread name."""

_PLAIN: Final = frozenset({Kind.WORD, Kind.NAME})
_TIMES_OF: Final = frozenset({"hours", "uhrzeiten", "days"})
"""`Opening hours`, `office days`: what the clock times or weekdays beside them are, no amount."""


def limited(found: Alignment) -> tuple[Kind, Sides] | None:
    """One small word that limits, on one side, where the rest is said: `nearly all`, `staging`."""
    for rest, other, left in _both_ways(found):
        turning = [t for t in rest if _turns(t)] if len(other) <= 1 else ()
        if turning and not any(t.kind in _PLAIN for t in rest):
            return turning[0].kind, _sides(turning, left=left)
    return None


def _turns(token: Token) -> bool:
    match token.kind:
        case Kind.UNIT:
            return token.text.casefold() not in _TIMES_OF
        case Kind.SCOPE | Kind.NEGATION:
            return True
        case Kind.QUANTIFIER:
            return token.key not in _WHOLE
        case Kind.MODALITY:
            return token.key in _UNREAL
        case Kind.RELATION:
            return token.text.casefold() in _LIMITS
        case _:
            return False


def other_tense(found: Alignment) -> Sides | None:
    """`Is hosted` on one side, `was hosted` on the other."""
    a, b = found.a.facts.times, found.b.facts.times
    if a and b and a.isdisjoint(b):
        return tuple(sorted(a)), tuple(sorted(b))
    return None


def conditional(found: Alignment) -> Sides | None:
    """A condition on one side, and none of any kind on the other."""
    for rest, _, left in _both_ways(found):
        words = conditions_in(found.a.facts if left else found.b.facts)
        told = [t for t in rest if t.text in words] if words else ()
        other = found.b.facts if left else found.a.facts
        if told and not any(_conditions(t) for t in other.tokens):
            return _sides(told, left=left)
    return None


@remembered
def conditions_in(facts: Facts) -> frozenset[str]:
    """Words of condition as a text writes them."""
    return frozenset([t.text for t in facts.tokens if t.text.casefold() in _CONDITIONS])


def _conditions(token: Token) -> bool:
    words = (token.text.casefold(), *token.glue.split())
    return any(word in _CONDITIONS or word in _WHENEVER for word in words)


def misread_name(found: Alignment) -> Sides | None:
    """A name at the start of a sentence looks like any word: `Paula booked`, `by Paul`."""
    if "ja" in {found.a.facts.language, found.b.facts.language}:
        return None
    for rest, other, left in _both_ways(found):
        if Kind.NAME not in (found.kinds_b if left else found.kinds_a):
            continue
        for one in rest:
            if one.kind is Kind.WORD and one.mark and one.text[:1].isupper():
                near = [t for t in other if t.kind is Kind.NAME and _alike(t, one)]
                if near:
                    told = (one.text,), tuple(t.text for t in near)
                    return told if left else (told[1], told[0])
    return None


def _alike(one: Token, other: Token) -> bool:
    return fuzz.ratio(one.text, other.text) >= _ALIKE


def foretold(found: Alignment) -> Sides | None:
    """`Will move` on one side, `moved` on the other."""
    for rest, _, left in _both_ways(found):
        if Kind.MODALITY not in (found.kinds_a if left else found.kinds_b):
            continue
        will = [t for t in rest if t.key == "!future"]
        if not will:
            continue
        here, there = (found.a, found.b) if left else (found.b, found.a)
        bare = {_stem(t) for t in here.facts.tokens if not t.text.endswith("ed")}
        done = [t for t in there.facts.tokens if t.text.endswith("ed") and _stem(t) in bare]
        if done:
            told = tuple(t.text for t in will), tuple(t.text for t in done)
            return told if left else (told[1], told[0])
    return None


def _stem(token: Token) -> str:
    return stem(token.text.casefold(), "en")


def _both_ways(
    found: Alignment,
) -> tuple[tuple[Sequence[Token], Sequence[Token], bool], ...]:
    return (found.rest_a, found.rest_b, True), (found.rest_b, found.rest_a, False)


def _sides(tokens: Sequence[Token], *, left: bool) -> Sides:
    told = tuple(token.text for token in tokens)
    return (told, ()) if left else ((), told)
