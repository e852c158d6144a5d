"""Tokens: what a text says, one thing at a time, each with a typed value.

Two tokens of equal values mean the same, whatever their kinds and however they are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from echoless.matching.languages import Unit
from echoless.matching.values.patterns import LINE

__all__ = ["LINE", "Unit"]  # of other modules, for whoever reads tokens


class Kind(StrEnum):
    """What a token is."""

    NUMBER = "number"
    UNIT = "unit"
    DATE = "date"
    VERSION = "version"
    IDENTIFIER = "identifier"
    PATH = "path"
    NAME = "name"
    NEGATION = "negation"
    QUANTIFIER = "quantifier"
    MODALITY = "modality"
    SCOPE = "scope"
    RELATION = "relation"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Number:
    """A number without a unit, or a version: `v1.10` is `1.10`, and not `1.1`.

    Attributes:
        text: Its one spelling, with the sign: `1000`, `-5`, `1/2`. Digits after a point stay as
            written.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with a unit.

    Attributes:
        amount: In the base unit.
        unit: Name of the base unit of its dimension.
    """

    amount: Fraction
    unit: str

    def __str__(self) -> str:
        return f"{self.amount} {self.unit}"


@dataclass(frozen=True, slots=True)
class Ordinal:
    """A place in an order: `third`, `3rd`."""

    number: int

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Year:
    """A year of the calendar."""

    year: int

    def __str__(self) -> str:
        return str(self.year)


@dataclass(frozen=True, slots=True)
class Month:
    """A month, 1 to 12."""

    month: int

    def __str__(self) -> str:
        return f"{self.month:02d}"


@dataclass(frozen=True, slots=True)
class Week:
    """A week of a year, as ISO 8601 counts them."""

    year: int
    week: int

    def __str__(self) -> str:
        return f"{self.year}-{self.week:02d}"


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week, 1 (Monday) to 7."""

    day: int

    def __str__(self) -> str:
        return str(self.day)


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a month, of any year."""

    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.month:02d}-{self.day:02d}"


@dataclass(frozen=True, slots=True)
class EitherDay:
    """A day of which nothing tells the month from the day: `08/03`."""

    one: int
    other: int

    def __str__(self) -> str:
        return f"{self.one:02d}/{self.other:02d}"


@dataclass(frozen=True, slots=True)
class OpenDay:
    """A day told from where the writer stands, in a way that has two readings.

    Attributes:
        near: The day by one of the readings, or the day of writing.
    """

    near: date

    def __str__(self) -> str:
        return self.near.isoformat()


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of the day, hours from 0 to 23."""

    hour: int
    minute: int
    second: int = 0

    def __str__(self) -> str:
        tail = f":{self.second:02d}" if self.second else ""
        return f"{self.hour:02d}:{self.minute:02d}{tail}"


@dataclass(frozen=True, slots=True)
class DialTime:
    """A time on the dial, hours from 0 to 11: the text does not tell the half of the day."""

    hour: int
    minute: int

    def __str__(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}"


@dataclass(frozen=True, slots=True)
class WordClass:
    """The class of a negation, a quantifier or a duty: `cannot` and `not` are of one class."""

    name: str

    def __str__(self) -> str:
        return self.name


Value: TypeAlias = (
    Number
    | Quantity
    | Unit
    | Ordinal
    | Year
    | Month
    | Week
    | Weekday
    | Day
    | EitherDay
    | OpenDay
    | ClockTime
    | DialTime
    | WordClass
    | str
)
"""What a token says. Text is the value of a word (its stem, or the word that stands for its
synonyms), a name, an identifier, a path and a sign."""

TypedValue: TypeAlias = tuple[Kind, Value]


class Token(NamedTuple):
    """One thing a text says: a word or a value.

    Attributes:
        kind: Kind of the value.
        value: Meaning: two tokens with one value mean the same.
        text: As written.
        mark: Punctuation between it and the token before, each mark once; empty if none.
        glue: Function words in between, folded, joined by spaces.
        bare: How it stands: a plain number as `hour` (`at eight`) or `alone`, counting nothing that
            is named beside it (`than the 50`); a word `joined` by a hyphen to the one before.
        place: Its place among the tokens of its text, from 0.
    """

    kind: Kind
    value: Value
    text: str
    mark: str = ""
    glue: str = ""
    bare: str = ""
    place: int = 0


class Raw(NamedTuple):
    """A match of the pattern before words are told apart.

    Attributes:
        kind: Name of the alternative; `hour`, `alone` and `joined` as in `Token.bare`.
        text: As written.
        values: Values of the match, if the match alone determines them.
        word: A word, folded; empty for everything else.
    """

    kind: str
    text: str
    values: tuple[TypedValue, ...] = ()
    word: str = ""
