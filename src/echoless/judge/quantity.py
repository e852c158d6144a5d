"""Numbers, units, dates and clock times in one spelling each.

`1,000` = `1000` = `1k`; `2 h` = `120 minutes`; `15 October` = `October 15th`; `3 pm` = `15:00`.
What is no quantity keeps its digits as written: version 1.10 is not version 1.1.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from echoless.judge.language import Lexicon, units

_MAX_DIGITS: Final = 30
_THOUSANDS_EN: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_THOUSANDS_DE: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?$")
_THOUSANDS_PLAIN: Final = re.compile(r"\d{1,3}(?:['_ ]\d{3})+$")
_DECIMAL_COMMA: Final = re.compile(r"\d+,\d+$")
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d{1,2})?$", re.IGNORECASE)
_KANJI_DIGITS: Final = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_KANJI_POWERS: Final = {"十": 10, "百": 100, "千": 1000}
_KANJI_BIG: Final = {"万": 10_000, "億": 100_000_000}


def number(text: str, lexicon: Lexicon) -> Fraction | None:
    """Value of a number as written, without its sign; None where it has no plain value.

    Args:
        text: Digits with separators, such as `1,250`, `1.250,50` or `3e-4`.
        lexicon: The language decides what `1.250` and `2,5` mean.
    """
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
    """Value of Japanese numerals, mixed with digits or not: `三万`, `2万5千`, `百二十`."""
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


def show(value: Fraction) -> str:
    """Canonical text of a value."""
    return (
        str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    )


def quantity_key(value: Fraction, unit: str) -> str:
    """Key of a number with its unit, in the base unit of its dimension."""
    known = units()[unit.casefold()]
    if known.base == "fahrenheit":
        return f"q:{show((value - 32) * 5 / 9)} celsius"
    return f"q:{show(value * known.factor)} {known.base}"


def word_number(words: list[str], lexicon: Lexicon) -> int | None:
    """Value of a run of number words such as `one hundred and twenty`; None if it is none.

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


def clock(hour: str, minute: str | None, half: str | None) -> str | None:
    """`15:00` from parts of a clock time; None if there is no such time."""
    hours, minutes = int(hour), int(minute or 0)
    if half:
        afternoon = half.casefold().startswith("p") or half == "午後"
        if hours > 12:
            return None
        hours = hours % 12 + (12 if afternoon else 0)
    if hours > 24 or minutes > 59:
        return None
    return f"{hours % 24:02d}:{minutes:02d}"


def day_key(month: int, day: int) -> str | None:
    """Key of a day in a month, or None if there is none."""
    return f"d:{month:02d}-{day:02d}" if 1 <= month <= 12 and 1 <= day <= 31 else None
