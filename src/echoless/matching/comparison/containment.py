"""Whether one text states all of another and only adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from echoless.matching.facts import Facts
from echoless.matching.facts.surface import telling
from echoless.matching.languages import Lexicon
from echoless.matching.values.tokens import LINE, Kind, Token, Value, WordClass

BOUNDARIES: Final = frozenset(f",;.:!?。、|()[]【】「」–—=-{LINE}")
_STATEMENT_ENDS: Final = frozenset(f".;!?。{LINE}")
_HARMLESS: Final[frozenset[Value]] = frozenset(
    map(WordClass, ("all", "always", "both", "exactly", "many", "half"))
)

_MAX_STARTS: Final = 6


Adding: TypeAlias = Literal["adds", "narrows"]


@dataclass(frozen=True, slots=True)
class View:
    """The tokens of a text with the values that the other text uses for them."""

    facts: Facts
    tokens: tuple[Token, ...]
    values: tuple[Value, ...]

    @property
    def lexicon(self) -> Lexicon:
        """Returns the words of its language."""
        return self.facts.lexicon

    def without(self, gone: set[int]) -> View:
        """Returns the text less the tokens at some places."""
        left = [place for place in range(len(self.values)) if place not in gone]
        return View(
            self.facts,
            tuple(self.tokens[place] for place in left),
            tuple(self.values[place] for place in left),
        )


def contained(small: View, large: View) -> Adding | None:
    """Checks whether the larger text states all of the smaller one, in order, and adds to it.

    What is added may stand before it up to a colon or full stop, after it as an adjunct or a
    further clause, or in between as a phrase of its own. It may not turn the meaning: a negation,
    a limit, a condition, a duty or a scope added to the same clause is not "more of the same".

    Returns:
        `adds` where it only adds; `narrows` where a limit, a condition or a scope follows the whole
        of the smaller text (`… but only in staging`); else None.
    """
    small, large = _without_day(small, large)
    if not small.values:
        return None
    starts = [i for i, value in enumerate(large.values) if value == small.values[0]][:_MAX_STARTS]
    found = [
        _added(small, large, places)
        for places in (_places(small.values, large.values, start) for start in starts)
        if places is not None
    ]
    return "adds" if "adds" in found else next((each for each in found if each), None)


def _without_day(small: View, large: View) -> tuple[View, View]:
    """Reads `On Tuesday it failed` and `It failed on Tuesday`: the only date may stand anywhere."""
    days = [i for i, token in enumerate(small.tokens) if token.kind is Kind.DATE]
    if len(days) != 1 or large.values.count(small.values[days[0]]) != 1:
        return small, large
    return small.without(set(days)), large.without({large.values.index(small.values[days[0]])})


def _places(small: Sequence[Value], large: Sequence[Value], start: int) -> list[int] | None:
    places: list[int] = []
    at = start
    for value in small:
        while at < len(large) and large[at] != value:
            at += 1
        if at == len(large):
            return None
        places.append(at)
        at += 1
    return places


def _added(small: View, large: View, places: list[int]) -> Adding | None:
    tokens = large.tokens
    lead, tail = tokens[: places[0]], tokens[places[-1] + 1 :]
    if not lead and telling(small.tokens[0], small.lexicon) != telling(tokens[0], large.lexicon):
        return None
    if lead and not _may_lead(lead, tokens[places[0]], large.lexicon):
        return None
    for one, (before, after) in zip(small.tokens[1:], pairwise(places), strict=False):
        inside = tokens[before + 1 : after]
        if not inside and telling(one, small.lexicon) != telling(tokens[after], large.lexicon):
            return None
        if large.facts.language == "ja" and (inside or one.glue != tokens[after].glue):
            return None
        if inside and not _may_stand_inside(tokens[before], inside, tokens[after], large.lexicon):
            return None
    ending = small.facts.trailing
    following = tuple(tail[0].glue.split()) if tail else large.facts.trailing
    if ending != following[: len(ending)]:
        return None
    if not tail or _may_follow(tail, large.lexicon):
        return "adds"
    return "narrows" if _limits(tail, large.lexicon) else None


def _limits(tail: Sequence[Token], lex: Lexicon) -> bool:
    """Checks for a limit, condition or scope at the end: `only in staging`, `unless CI is red`."""
    opening = tail[:2]
    limiting = any(
        token.kind in {Kind.QUANTIFIER, Kind.SCOPE}
        or _listed(token, "hard_qualifiers", lex)
        or _listed(token, "qualifiers", lex)
        for token in opening
    )
    return limiting and not any(
        token.kind is Kind.NEGATION or _listed(token, "reversers", lex) for token in tail
    )


def turns(token: Token, lex: Lexicon) -> bool:
    """Returns whether an added token can turn the meaning of what it is added to."""
    if token.kind in {Kind.NEGATION, Kind.MODALITY, Kind.SCOPE}:
        return True
    if token.kind is Kind.QUANTIFIER:
        return token.value not in _HARMLESS
    return _listed(token, "qualifiers", lex) or _reverses(token, lex)


def _listed(token: Token, name: str, lex: Lexicon) -> bool:
    worded = isinstance(token.value, str) and lex.has(name, token.value)
    return worded or lex.has(name, token.text.casefold())


def _reverses(token: Token, lex: Lexicon) -> bool:
    """Returns whether a word takes back what was said."""
    if lex.language == "ja" and len(token.text) > 1:  # an ending may be cut off: 間違, of 間違い
        return any(entry.startswith(token.text) for entry in lex.sets["retracting"])
    return _listed(token, "reversers", lex) or _listed(token, "retracting", lex)


def _may_lead(lead: Sequence[Token], first: Token, lex: Lexicon) -> bool:
    if BOUNDARIES.isdisjoint(first.mark) or ":" in first.mark:
        return False
    return not any(turns(token, lex) for token in lead)


def _may_stand_inside(before: Token, inside: Sequence[Token], after: Token, lex: Lexicon) -> bool:
    if any(turns(token, lex) for token in inside):
        return False
    if any(token.kind is not Kind.NAME for token in inside):
        closed = bool(after.mark or after.glue) or after.kind in {Kind.RELATION, Kind.DATE}
        return _opens(inside[0]) and closed
    # A name in apposition: `her sister` / `her sister Lucia`.
    apposition = before.kind is Kind.WORD and before.text[:1].islower()
    return apposition and not inside[0].mark and not inside[0].glue and len(inside) <= 2


def _opens(token: Token) -> bool:
    return bool(token.mark or token.glue) and "'s" not in token.glue


_CONTINUES: Final = frozenset(
    (
        *("below", "above", "less", "more", "over", "under", "too", "away", "late", "off"),
        *("short", "unter", "über", "zu", "weniger", "mehr", "entfernt"),
    )
)
"""Behind a figure these go on with it: `4000 euros below target`."""


def _may_follow(tail: Sequence[Token], lex: Lexicon) -> bool:
    first = tail[0]
    if first.text.casefold() in _CONTINUES or not _CONTINUES.isdisjoint(first.glue.split()):
        return False
    east = lex.language == "ja"
    if not (first.mark or first.kind is Kind.RELATION or (_opens(first) and not east)):
        return False
    if any(_reverses(token, lex) for token in tail):
        return False
    return all(_statement_may_follow(part, lex) for part in _statements(tail))


def _statements(tail: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tail:
        if not _STATEMENT_ENDS.isdisjoint(token.mark):
            parts.append([])
        parts[-1].append(token)
    return [part for part in parts if part]


def _statement_may_follow(part: list[Token], lex: Lexicon) -> bool:
    """Returns a statement of its own may deny or limit its own things; a continuation may not.

    Two words of its own are taken as the sign that a clause speaks of something else.
    """
    if not _STATEMENT_ENDS.isdisjoint(part[0].mark):
        return len(part) >= 4 or not any(turns(token, lex) for token in part)
    opened, reason, plain = False, False, 0
    for place, token in enumerate(part):
        if not BOUNDARIES.isdisjoint(token.mark):
            opened, reason, plain = True, False, 0
        reason = reason or not _REASONS.isdisjoint(token.glue.split())
        if reason or not turns(token, lex):
            plain += 1
            continue
        if place == len(part) - 1 or _listed(token, "hard_qualifiers", lex):
            return False
        mild = token.kind in {Kind.QUANTIFIER, Kind.MODALITY}
        own = opened and plain >= (1 if mild else 2)
        if not own and not (token.kind is Kind.MODALITY and token.glue):
            return False
    return True


_REASONS: Final = frozenset({"because", "weil", "denn"})
"""What a reason denies or limits is its own matter: `… because no one had objected`."""
