"""Aligns the tokens of two texts: the tokens in common, and the tokens of one side only.

Two texts differ in some twenty tokens a side, and nearly none of the four hundred pairs of them is
one word or value in two forms. `Forms`, read once for each text, tell which pairs to compare: what
they say is necessary for a match, never enough; whatever passes is compared in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

from echoless.core.model import Side
from echoless.matching.facts import Facts, remembered
from echoless.matching.facts.extraction import small_words
from echoless.matching.languages import Lexicon, fold, opposable, opposites
from echoless.matching.speech import language_of_pair
from echoless.matching.values.equivalence import (
    is_short,
    same_instant,
    same_otherwise,
    same_value,
    uncounted,
)
from echoless.matching.values.tokens import (
    ClockTime,
    Day,
    DialTime,
    EitherDay,
    Kind,
    Number,
    Ordinal,
    Quantity,
    Token,
    Unit,
    Value,
    WordClass,
    Year,
)

VALUES: Final = frozenset({Kind.NUMBER, Kind.UNIT, Kind.DATE, Kind.RELATION})
"""Kinds whose tokens are compared by value only."""
PLAIN: Final = frozenset({Kind.WORD, Kind.NAME, Kind.SCOPE})
"""Kinds whose tokens are words: synonyms and opposites are looked up."""


class Forms(NamedTuple):
    """Other forms of the tokens of one text, in the words of one language.

    Attributes:
        spellings: By place of a token: two tokens that are no values match only if they share one.
        sorts: By place of a token: what it may match by value, see `sort_of`; empty if nothing.
        opposed: Keys of the opposites of the words of this text.
        offered: Keys of the words of this text. The texts hold opposite words only if a key is also
            in `opposed` of the other text.
    """

    spellings: tuple[tuple[str, ...], ...]
    sorts: tuple[str, ...]
    opposed: frozenset[str]
    offered: frozenset[str]


def spelling(token: Token) -> str:
    """Returns a token as written, a call like the name of its function."""
    return token.text.removesuffix("()")


def representative(token: Token, lexicon: Lexicon) -> str:
    """Returns the folded word of a token, or the word that stands for its synonyms."""
    word = fold(token.text, lexicon.language)
    return lexicon.synonyms.get(word, word)


@remembered
def forms_of(facts: Facts, lexicon: Lexicon) -> Forms:
    """Returns the forms of the tokens of a text.

    Args:
        facts: Of the text.
        lexicon: Of the language of the text it is compared with, or its own.
    """
    words = {fold(t.text, lexicon.language) for t in facts.tokens if t.kind in PLAIN}
    return Forms(
        tuple([_spellings(token.kind, token.text, lexicon) for token in facts.tokens]),
        tuple([_sort_of(token) for token in facts.tokens]),
        frozenset().union(*(opposites(lexicon, word) for word in words)),
        frozenset().union(*(opposable(lexicon, word) for word in words)),
    )


@lru_cache(maxsize=65_536)
def _spellings(kind: Kind, text: str, lexicon: Lexicon) -> tuple[str, ...]:
    token = Token(kind, "", text)
    spellings = {spelling(token)}
    if kind in PLAIN:
        spellings.add(representative(token, lexicon))
    if kind in {Kind.WORD, Kind.IDENTIFIER}:
        spellings.add(text.casefold())
    return tuple(spellings)


_SORTS: Final[Mapping[type, str]] = {
    Quantity: "quantity",
    Unit: "unit",
    Year: "year",
    Ordinal: "ordinal",
    ClockTime: "clock",
    DialTime: "dial",
    EitherDay: "either",
    Day: "day",
}
_NUMBERS: Final = frozenset({"number", "share"})
_COUNTED: Final = _NUMBERS | {"quantity"}
_MEETS: Final[Mapping[str, frozenset[str]]] = {
    "number": frozenset(
        {"share", "quantity", "year", "ordinal", "clock", "dial", "day", "short", "half"}
    ),
    "share": frozenset(
        {"number", "quantity", "year", "ordinal", "clock", "dial", "day", "short", "half"}
    ),
    "quantity": _COUNTED | {"unit", "ordinal", "short", "half"},
    "unit": frozenset({"quantity"}),
    "year": _NUMBERS,
    "ordinal": _COUNTED,
    "clock": _NUMBERS | {"dial"},
    "dial": _NUMBERS | {"clock"},
    "either": frozenset({"day"}),
    "day": _NUMBERS | {"either"},
    "short": _COUNTED,
    "half": _COUNTED,
}
"""Value types that can be converted into each other. Two numbers are the same only if one is a
fraction. `equivalence` is asked about these types alone."""


def _sort_of(token: Token) -> str:
    """Returns the sort of a value that may have another form (`10m`, `half`); empty for others."""
    value = token.value
    if isinstance(value, str):
        return "short" if token.kind is Kind.IDENTIFIER and is_short(token.text) else ""
    if isinstance(value, Number):
        return "share" if "/" in value.text else "number"
    if value == WordClass("half"):
        return "half"
    return _SORTS.get(type(value), "")


_MOST_PAIRED: Final = 24
"""Tokens left over on one side beyond which no further forms of a value are tried."""


class Relation(StrEnum):
    """Relation of the values of one kind in two texts."""

    EQUAL = "equal"
    DIFFERENT = "different"
    ONE_SIDED = "one-sided"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts side by side.

    Attributes:
        a: Facts of text a.
        b: Facts of text b.
        only_a: Tokens of a without a counterpart, in order.
        only_b: Tokens of b without a counterpart, in order.
        ordered: Whether nothing is left over and both say it in one order.
        superset: The side that states all of the other and adds to it.
        opposites: Words of a and of b that are opposites of each other.
        language: Of both, see `speech.language_of_pair`.
    """

    a: Facts
    b: Facts
    only_a: tuple[Token, ...]
    only_b: tuple[Token, ...]
    ordered: bool
    superset: Side | None
    opposites: tuple[tuple[str, str], ...]
    language: str

    def relation(self, kind: Kind) -> Relation:
        """Returns the relation of the tokens of one kind in the two texts."""
        left_a, left_b = _has(self.only_a, kind), _has(self.only_b, kind)
        if left_a and left_b:
            return Relation.DIFFERENT
        if left_a or left_b:
            return Relation.ONE_SIDED
        return Relation.EQUAL if _has(self.a.tokens, kind) else Relation.INCOMPARABLE


def compare(a: Facts, b: Facts) -> Comparison:
    """Returns the comparison of what two texts say."""
    only_a, only_b = _left_over(a, b), _left_over(b, a)
    stands_for = _match_forms(a, b, only_a, only_b) if only_a and only_b else {}
    ordered = False
    superset: Side | None = None
    if not only_a and not only_b:
        # words of one meaning may stand in each other's place: `price - cost`, `cost - price`
        texts, texts_too = ([token.text.casefold() for token in f.tokens] for f in (a, b))
        exchanged = texts != texts_too and sorted(texts) == sorted(texts_too)
        ordered = _values(a, {}) == _values(b, stands_for) and not exchanged
        superset = _more_exact(b, stands_for) if ordered else None
    elif not only_b:
        superset = "a" if _added(a, b, _values(a, {}), _values(b, stands_for)) else None
    elif not only_a:
        superset = "b" if _added(b, a, _values(b, stands_for), _values(a, {})) else None
    return Comparison(
        a,
        b,
        tuple(only_a),
        tuple(only_b),
        ordered,
        superset,
        _opposites(a, b, only_a, only_b),
        language_of_pair(a, b),
    )


def _has(tokens: Sequence[Token], kind: Kind) -> bool:
    return any(token.kind is kind for token in tokens)


def _left_over(one: Facts, other: Facts) -> list[Token]:
    """Returns the tokens of one text that the other has no token of the same value for."""
    counts = other.counts
    if one.counts == counts:
        return []
    if len(one.counts) == len(one.tokens):
        return [token for token in one.tokens if token.value not in counts]
    room = dict(counts)
    left: list[Token] = []
    for token in one.tokens:
        if room.get(token.value, 0):
            room[token.value] -= 1
        else:
            left.append(token)
    return left


def _match_forms(a: Facts, b: Facts, only_a: list[Token], only_b: list[Token]) -> dict[int, Value]:
    """Takes out what is the same in another form: `8 pm` and `at eight`, `café` and `cafe`.

    Returns:
        The value of a by the index of each token of b that was matched.
    """
    stands_for: dict[int, Value] = {}
    if max(len(only_a), len(only_b)) > _MOST_PAIRED:
        return stands_for
    lex = a.lexicon
    forms, forms_too = forms_of(a, lex), forms_of(b, lex)
    sorts = {forms.sorts[token.place] for token in only_a}
    sorts_too = {forms_too.sorts[token.place] for token in only_b}
    if "clock" in sorts and "clock" in sorts_too:
        for one, other in same_instant(only_a, only_b):
            _take_out(one, other, only_a, only_b, stands_for)
    spelled = set[str]().union(*[forms_too.spellings[token.place] for token in only_b])
    meeting = {sort for sort in sorts if sort and not _MEETS[sort].isdisjoint(sorts_too)}
    for one in list(only_a):
        sort = forms.sorts[one.place]
        if not spelled.isdisjoint(forms.spellings[one.place]):
            others = only_b
        elif sort in meeting:
            meets = _MEETS[sort]
            others = [token for token in only_b if forms_too.sorts[token.place] in meets]
        else:
            continue
        partner = next((token for token in others if _same_form(one, token, lex)), None)
        if partner is not None:
            _take_out(one, partner, only_a, only_b, stands_for)
    return stands_for


def _take_out(
    one: Token, other: Token, only_a: list[Token], only_b: list[Token], stands_for: dict[int, Value]
) -> None:
    stands_for[other.place] = one.value
    only_a.remove(one)
    only_b.remove(other)


def _same_form(one: Token, other: Token, lex: Lexicon) -> bool:
    if one.kind in VALUES and other.kind in VALUES:
        return same_value(one, other)
    if spelling(one) == spelling(other):
        return one.kind is not Kind.DATE  # `tomorrow` of two days is one spelling and two days
    if one.kind in PLAIN and other.kind in PLAIN:
        return representative(one, lex) == representative(other, lex)
    letters = {one.kind, other.kind} == {Kind.IDENTIFIER, Kind.WORD} and one.text.isalpha()
    if letters and one.text.casefold() == other.text.casefold():
        return True  # `BigQuery` and `bigquery`
    return same_otherwise(one, other)


def _values(facts: Facts, stands_for: Mapping[int, Value]) -> list[Value]:
    """Returns the values of a text; a value with two forms has the form of the other text."""
    return [stands_for.get(token.place, token.value) for token in facts.tokens]


_TURNING: Final = ("reversers", "retracting")
"""Lists of words that reverse the meaning of a text to which they are added."""


def _added(more: Facts, less: Facts, larger: list[Value], smaller: list[Value]) -> bool:
    """Checks whether one text states all of the other, in order, with harmless additions only.

    A denial or a duty that is added may turn it. So may a word in the place of a function word
    (`has`, `needs`), or between two words that belong together.
    """
    rest = iter(enumerate(larger))
    places = [next((at for at, held in rest if held == value), -1) for value in smaller]
    if not places or -1 in places:
        return False
    tokens, known = more.tokens, set(places)
    seams = (
        token
        for before, token in pairwise(tokens[places[0] : places[-1] + 1])
        if (before.place in known) != (token.place in known)
    )
    if not all(t.mark or t.glue or t.kind in {Kind.RELATION, Kind.DATE} for t in seams):
        return False
    said, said_too = (Counter(chain(*small_words(facts))) for facts in (less, more))
    added = (token for token in tokens if token.place not in known)
    return said <= said_too and not any(_turns(token, more.lexicon) for token in added)


def _turns(token: Token, lex: Lexicon) -> bool:
    if token.kind in {Kind.NEGATION, Kind.MODALITY}:
        return True
    if lex.language == "ja" and len(token.text) > 1:  # an ending may be cut off: 間違, of 間違い
        return any(entry.startswith(token.text) for name in _TURNING for entry in lex.sets[name])
    written = {token.text.casefold(), token.value if isinstance(token.value, str) else ""}
    return any(lex.has(name, word) for name in _TURNING for word in written)


_SAYS_MORE: Final = frozenset({(Quantity, Number), (ClockTime, Number), (ClockTime, DialTime)})
"""Types of values: the first tells a unit, or the half of the day, the second does not."""


def _more_exact(b: Facts, stands_for: Mapping[int, Value]) -> Side | None:
    """Returns the side whose values say more: `30 s` against `30`, `8 pm` against `at eight`."""
    sides = set[Side]()
    for token in b.tokens if stands_for else ():
        value = stands_for.get(token.place, token.value)
        if (type(value), type(token.value)) in _SAYS_MORE and not uncounted(value):
            sides.add("a")
        elif (type(token.value), type(value)) in _SAYS_MORE and not uncounted(token.value):
            sides.add("b")
    return sides.pop() if len(sides) == 1 else None


def _opposites(
    a: Facts, b: Facts, only_a: Sequence[Token], only_b: Sequence[Token]
) -> tuple[tuple[str, str], ...]:
    """Returns words left over on both sides that the lexicon knows as opposites."""
    if not only_a or not only_b:
        return ()
    if max(len(only_a), len(only_b)) > _MOST_PAIRED:
        return ()
    lex = a.lexicon
    if forms_of(a, lex).opposed.isdisjoint(forms_of(b, lex).offered):
        return ()
    left, right = ([t for t in side if t.kind in PLAIN] for side in (only_a, only_b))
    return tuple(
        (one.text, other.text)
        for one in left
        for other in right
        if lex.opposed(fold(one.text, lex.language), fold(other.text, lex.language))
    )
