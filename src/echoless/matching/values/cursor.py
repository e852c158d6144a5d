"""The matches of one text, to be looked at from any place: is there a number, a unit, a word?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

from echoless.core.shipped import shipped_json
from echoless.matching.languages import Lexicon, units
from echoless.matching.values import quantities
from echoless.matching.values.tokens import Kind, Number, Ordinal, Raw, Value

_WINDOW: Final = 8
_ENDS: Final = frozenset({"mark", "sign_", "time", "dm", "hira"})
CLOSED: Final = ("articles", "function", "prepositions", "conjunctions", "significant")
_MAX_DIGITS: Final = 30


@dataclass(frozen=True, slots=True, eq=False)
class LanguageForms:
    """How a language says values.

    Attributes:
        sets: Word lists by name.
        parts: Part of the day (`a`, `p`, `night`, `noon`) by its words.
        fractions: Value by name.
        hour_parts: Share of an hour by word (`Viertelstunde`).
        ordinals: Value by word, beyond those of the lexicon.
        starts: Words that a value in words may begin with.
        goes_on: Words with which a number in digits may go on to one.
        articles: Words that begin a value only before one of these.
        ends: Words with which no noun begins.
    """

    sets: Mapping[str, frozenset[str]]
    parts: Mapping[tuple[str, ...], str]
    fractions: Mapping[str, Fraction]
    hour_parts: Mapping[str, Fraction]
    ordinals: Mapping[str, int]
    starts: frozenset[str]
    goes_on: frozenset[str]
    articles: frozenset[str]
    ends: frozenset[str]


@cache
def forms_of(lexicon: Lexicon) -> LanguageForms:
    """Returns how the language of a lexicon says values, read once."""
    raw = shipped_json("matching/lexicon/forms.json")[lexicon.language]
    sets = {name: frozenset(words) for name, words in raw.items() if isinstance(words, list)}
    fractions = {w: Fraction(value) for value, words in raw["fractions"].items() for w in words}
    hours = {w: Fraction(value) for value, words in raw["parts_of_hour"].items() for w in words}
    ordinals = {**lexicon.ordinals, **raw["ordinals"]}
    parts = {
        tuple(phrase.split()): name[0] if name in {"am", "pm"} else name
        for name, phrases in raw["parts"].items()
        for phrase in phrases
    }
    opening = ("half", "half_next", "quarter", "three_quarters", "minus")
    starts = frozenset[str]().union(*(sets[name] for name in opening))
    starts |= {*lexicon.numbers, *fractions, *hours, *ordinals, *lexicon.months}
    articles = sets["one"] - starts
    going_on = ("past", "to", "minutes", "oclock", "dozen", "and")
    goes_on = frozenset[str]().union(*(sets[name] for name in going_on))
    goes_on |= {*fractions, *(phrase[0] for phrase in parts)}
    goes_on |= {name.split(" ", 1)[0] for name in units()}
    ends = sets["hour_tails"].union(lexicon.weekdays, *(lexicon.sets[name] for name in CLOSED))
    return LanguageForms(
        sets, parts, fractions, hours, ordinals, starts | articles, goes_on, articles, ends
    )


class Spelled(NamedTuple):
    """A value in words.

    Attributes:
        taken: Number of matches that the words take.
        kind: Kind of the value.
        value: The value.
    """

    taken: int
    kind: Kind
    value: Value


class Cursor:
    """The matches of one text."""

    def __init__(self, raws: Sequence[Raw], lexicon: Lexicon) -> None:
        self.raws = raws
        self.lex = lexicon
        self.forms = forms_of(lexicon)
        self.words = [raw.word for raw in raws]
        self.dropped: set[int] = set()
        self._numbers: dict[int, tuple[int, Fraction] | None] = {}

    def word(self, at: int) -> str:
        """Returns the folded word at a place; empty where there is none."""
        return self.words[at] if 0 <= at < len(self.words) else ""

    def has(self, at: int, name: str) -> bool:
        """Returns whether the word at a place stands in a list."""
        return self.word(at) in self.forms.sets[name]

    def stands_alone(self, at: int) -> bool:
        """Returns whether no value in words can begin with the digits or the article at a place.

        The readers of such values find none then: all look at what follows, but for ordinals, the
        `1` of `1 in 20`, and times.
        """
        raw = self.raws[at]
        if raw.word:
            if raw.word not in self.forms.articles:
                return False
        elif (
            raw.kind == "time"
            or raw.text == "1"
            or raw.text[0] == "#"
            or isinstance(raw.values[0][1], Ordinal)
        ):
            return False
        if at + 1 == len(self.raws):
            return True
        after, goes_on = self.raws[at + 1], self.forms.goes_on
        return after.word not in goes_on and after.text.casefold() not in goes_on

    def number(self, at: int) -> tuple[int, Fraction] | None:
        """Returns a plain number in digits or words: how many matches it takes, and its value."""
        if at >= len(self.raws):
            return None
        if at not in self._numbers:
            self._numbers[at] = self._read(at)
        return self._numbers[at]

    def _read(self, at: int) -> tuple[int, Fraction] | None:
        raw = self.raws[at]
        if raw.word:
            return self.cardinal(at)
        if len(raw.values) == 1 and raw.kind in {"number", "jnum", "digits"}:
            value = raw.values[0][1]
            text = value.text if isinstance(value, Number) else ""
            if len(text) <= _MAX_DIGITS and text.replace(".", "", 1).isdigit() and text.isascii():
                return 1, Fraction(text)
        return None

    def digits_at(self, at: int) -> str:
        """Returns the plain number at a place in the spelling of its value; empty without one."""
        number = self.number(at)
        if number is None:
            return ""
        raw = self.raws[at]
        return str(raw.values[0][1]) if raw.values else str(number[1])

    def cardinal(self, at: int) -> tuple[int, Fraction] | None:
        """Returns a number in words."""
        lex, words = self.lex, list[str]()
        for word in self.words[at : at + _WINDOW]:
            known = word in lex.numbers or (words and word in lex.multipliers)
            if not word or not (known or (words and word == "and")):
                break
            words.append(word)
        while words and words[-1] == "and":
            words.pop()
        if not words:
            whole = quantities.compound_number(self.word(at)) if lex.language == "de" else None
            return None if whole is None else (1, whole)
        value = quantities.word_number([word for word in words if word != "and"], lex)
        if value is None:
            return 1, Fraction(lex.numbers[words[0]])
        return len(words), Fraction(value)

    def unit(self, at: int) -> tuple[int, str] | None:
        """Returns a unit in one word or two (`square metres`): how many matches, and its name."""
        word = self.word(at)
        if not word or len(word) < 2 or word == "in":
            return None
        plain = self.raws[at].text.casefold()
        if self.word(at + 1):
            two = f"{plain} {self.raws[at + 1].text.casefold()}"
            if two in units():
                return 2, two
        return (1, plain) if plain in units() else None

    def part(self, at: int) -> tuple[int, str] | None:
        """Returns a part of the day: `in the morning`, `abends`, `p.m.`."""
        if at >= len(self.raws):
            return None
        first = self.word(at) or self.raws[at].text.casefold()
        for phrase, name in self.forms.parts.items():
            if phrase[0] == first and tuple(self.words[at + 1 : at + len(phrase)]) == phrase[1:]:
                return len(phrase), name
        return None

    def ends(self, at: int) -> bool:
        """Checks that no noun begins at a place: text, clause or phrase end, or have a head."""
        if at >= len(self.raws) or self.raws[at].kind in _ENDS:
            return True
        return self.words[at] in self.forms.ends
