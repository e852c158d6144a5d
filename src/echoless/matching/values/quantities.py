"""Numbers, units, dates and clock times in one spelling each.

`1,000` = `1000` = `1k`; `2 h` = `120 minutes`; `15 October` = `October 15th`; `3 pm` = `15:00`.
What is no quantity keeps its digits as written: version 1.10 is not version 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from echoless.core.text import lazy_pattern
from echoless.matching.languages import Lexicon, Unit, lexicon, units
from echoless.matching.values.tokens import ClockTime, Day, Quantity

_MAX_DIGITS: Final = 30
_THOUSANDS_EN: Final = lazy_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_THOUSANDS_DE: Final = lazy_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?$")
_THOUSANDS_PLAIN: Final = lazy_pattern(r"\d{1,3}(?:['_ ]\d{3})+$")
_DECIMAL_COMMA: Final = lazy_pattern(r"\d+,\d+$")
_PLAIN: Final = lazy_pattern(r"\d+(?:\.\d+)?(?:e[-+]?\d{1,2})?$", re.IGNORECASE)
_KANJI_DIGITS: Final = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_KANJI_POWERS: Final = {"十": 10, "百": 100, "千": 1000}
_KANJI_BIG: Final = {"万": 10_000, "億": 100_000_000}
_ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925}


# ------------------------------------------------------------------ numbers


@lru_cache(maxsize=16_384)
def is_whole(text: str) -> bool:
    """Returns whether it is digits only, and not too many of them to have a plain value."""
    return len(text) <= _MAX_DIGITS and text.isdigit() and text.isascii()


def number(text: str, lexicon: Lexicon) -> Fraction | None:
    """Returns the value of a number as written, without its sign; None where it has no plain value.

    Args:
        text: Digits with separators, such as `1,250`, `1.250,50` or `3e-4`.
        lexicon: The language decides what `1.250` and `2,5` mean.
    """
    if is_whole(text):
        return Fraction(int(text))
    if len(text) > _MAX_DIGITS or not text.isascii():
        return None
    if _THOUSANDS_PLAIN.match(text):
        return Fraction(re.sub(r"\D", "", text))
    german = lexicon.language == "de"
    if german and _THOUSANDS_DE.match(text):
        return Fraction(text.replace(".", "").replace(",", "."))
    if german and _DECIMAL_COMMA.match(text):
        return Fraction(text.replace(",", "."))
    if _THOUSANDS_EN.match(text):
        return Fraction(text.replace(",", ""))
    return Fraction(text) if _PLAIN.match(text) else None


def kanji_number(text: str) -> Fraction:
    """Returns the value of Japanese numerals: `三万`, `2万5千`, `百二十`."""
    total, section, digit = Fraction(0), Fraction(0), ""
    for char in text.replace(",", ""):
        if char in _KANJI_BIG:
            total += (section + _read(digit) or 1) * _KANJI_BIG[char]
            section, digit = Fraction(0), ""
        elif char in _KANJI_POWERS:
            section += (_read(digit) or 1) * _KANJI_POWERS[char]
            digit = ""
        else:
            digit += str(_KANJI_DIGITS.get(char, char))
    return total + section + _read(digit)


def _read(digits: str) -> Fraction:
    return Fraction(digits) if _PLAIN.match(digits) and len(digits) <= _MAX_DIGITS else Fraction(0)


def word_number(words: Sequence[str], lexicon: Lexicon) -> int | None:
    """Returns the value of number words such as `one hundred and twenty`; None if they have none.

    `twenty` `five` adds, `two` `hundred` multiplies; anything else (`one two`) is no number.
    """
    total, current, previous = 0, 0, 0
    for word in words:
        if word in lexicon.multipliers and previous:
            factor = lexicon.multipliers[word]
            current = max(current, 1) * factor
            if factor >= 1000:
                total, current = total + current, 0
        elif word in lexicon.numbers:
            value = lexicon.numbers[word]
            if previous and not (value < previous and previous % 10 == 0):
                return None
            current += value
        else:
            return None
        previous = lexicon.multipliers.get(word, lexicon.numbers.get(word, 0))
    return total + current


@lru_cache(maxsize=4096)
def compound_number(word: str) -> Fraction | None:
    """Returns the value of a German number in one word: `fuenfundzwanzig`.

    Args:
        word: Folded.
    """
    if word in {"ein", "eine"} or not _GERMAN.search(word):
        return None
    return _german(word)


_GERMAN: Final = lazy_pattern(
    "zig$|ssig$|zig[ht]|zehn$|hundert|tausend|einhalb|anderthalb|^(?:eins|zwei|drei|vier|elf)|mal$"
)


def _german(word: str) -> Fraction | None:
    numbers = lexicon("de").numbers
    if word in {"ein", "eine"}:
        return Fraction(1)
    if word in numbers:
        return Fraction(numbers[word])
    if word in {"anderthalb", "eineinhalb"}:
        return Fraction(3, 2)
    for name, factor in (("tausend", 1000), ("hundert", 100)):
        left, separator, right = word.partition(name)
        if separator:
            head = _german(left) if left else Fraction(1)
            tail = _german(right.removeprefix("und")) if right else Fraction(0)
            return None if head is None or tail is None else head * factor + tail
    if word.endswith("einhalb"):
        head = _german(word.removesuffix("einhalb"))
        return None if head is None else head + Fraction(1, 2)
    ones, joined, tens = word.partition("und")
    if joined and numbers.get(tens, 0) % 10 == 0 and numbers.get(tens, 0) >= 20:
        head = _german(ones)
        return head + numbers[tens] if head is not None and head < 10 else None
    return None


# ------------------------------------------------------------------ units


def quantity_of(value: Fraction, unit: str) -> Quantity:
    """Returns a number with its unit, in the base unit of its dimension."""
    known = unit_named(unit)
    if known.base == "fahrenheit":
        return Quantity((value - 32) * 5 / 9, "celsius")
    return Quantity(value * known.factor, known.base)


def unit_named(name: str) -> Unit:
    """Returns the unit of a known spelling."""
    folded = name.casefold()
    if not folded.isascii():  # an expression that ignores case takes these for an `i`
        folded = folded.replace("\u0131", "i").replace("i\u0307", "i")
    return units()[_ELSEWHERE.get(folded, folded)]


_ELSEWHERE: Final = {"mon": "monat", "in": "inch", "t": "tonne"}
"""Spellings that mean a unit only after digits; elsewhere they are words."""


_LONGEST_UNIT: Final = 20
"""Characters in which a unit and the sign before it stand; the longest known has 18."""


def unit_of(text: str) -> str | None:
    """Returns the unit at the end of a quantity as written (`90 min`, `65 €`, 三つ), or None."""
    text = text[-_LONGEST_UNIT:].casefold()
    for at in range(len(text)):
        if text[at:] in units() and not (text[at].isascii() and text[at - 1 : at].isalpha()):
            return text[at:]
    return None


def add_up(first: Quantity, second: Quantity, unit: str) -> Quantity | None:
    """Returns `4 h 30 min`; None unless the second is a smaller part of the first's unit.

    Args:
        first: One quantity.
        second: The quantity right after it.
        unit: Unit of the first, as written.
    """
    if first.unit != second.unit or first.unit not in _ADDED:
        return None
    if not 0 < second.amount < unit_named(unit).factor:
        return None
    return Quantity(first.amount + second.amount, first.unit)


_ADDED: Final = frozenset({"second", "month", "metre", "gram"})


# ------------------------------------------------------------------ times and days


def clock(
    hour: str, minute: str | None, half: str | None, second: str | None = None
) -> ClockTime | None:
    """Returns a time of the day from its parts; None if there is no such time.

    Args:
        hour: As written.
        minute: None for the full hour.
        half: Which part of the day, as written (`pm`, `午後`, `night`), or None.
        second: None for the full minute.
    """
    hours, minutes = int(hour), int(minute or 0)
    if half:
        placed = in_part(hours, _PARTS.get(half, half.casefold()[:1]))
        if placed is None:
            return None
        hours = placed
    if hours > 24 or minutes > 59:
        return None
    return ClockTime(hours % 24, minutes, int(second or 0))


_PARTS: Final = {
    "午前": "a",
    "早朝": "a",
    "朝": "a",
    "午後": "p",
    "夕方": "p",
    "昼": "noon",
    "夜": "night",
    "晩": "night",
    "深夜": "night",
    "am": "a",
    "pm": "p",
}


def in_part(hours: int, part: str) -> int | None:
    """Returns the hour of 24 from one on the dial and a part of the day; None if they do not fit.

    Args:
        hours: As said. Above twelve it is returned unless the part is `a`.
        part: `a`, `p`, `night` or `noon`.
    """
    if hours > 12:
        return None if part == "a" else hours
    if part == "night":
        return hours % 12 + (0 if hours in {12, 1, 2, 3, 4, 5} else 12)
    if part == "noon":
        return hours if hours >= 10 else hours + 12
    return hours % 12 + (12 if part == "p" else 0)


def clock_range(one: str, other: str, half: str) -> tuple[ClockTime, ...]:
    """Returns both ends of `8-10 pm` or `9-18 Uhr`; empty if these are no hours.

    The earlier end is in the same half of the day unless it is the larger number: `10-2 pm`.
    """
    if not (one.isdigit() and other.isdigit()) or int(one) > 24 or int(other) > 24:
        return ()
    part = half.casefold().replace(".", "")
    if part not in {"am", "pm"}:
        return (ClockTime(int(one) % 24, 0), ClockTime(int(other) % 24, 0))
    ends = in_part(int(other), part[0]), in_part(int(one), part[0])
    if ends[0] is None or ends[1] is None or int(one) > 12:
        return ()
    start = ends[1] if ends[1] < ends[0] else (ends[1] + 12) % 24
    return (ClockTime(start, 0), ClockTime(ends[0], 0))


def day_of(month: int, day: int) -> Day | None:
    """Returns a day of a month, or None if there is none."""
    return Day(month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def western_year(era: str, year: str) -> int:
    """令和8年 is 2026."""
    return _ERAS[era] + (1 if year == "元" else int(kanji_number(year)))
