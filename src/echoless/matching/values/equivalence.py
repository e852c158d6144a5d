"""Values that are the same though read as two: one of two texts says less exactly.

`at eight` may be `8 pm`, `240` may be `240 seconds`, `08/03` may be the eighth of March. The rules
are tried on what is left over only, and never make two explicit values one: `8 am` is not `8 pm`,
`30 s` is not `30 min`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from echoless.core.text import lazy_pattern
from echoless.matching.languages import units
from echoless.matching.values import quantities
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

_ONE: Final = frozenset({"a", "an", "one", "ein", "eine", "einer", "einen", "einem", "eines"})
_DAY_LEADS: Final = frozenset({"am", "zum", "vom", "the", "on", "den", "dem"})
_DAY_MONTH: Final = lazy_pattern(r"(\d{1,2})\.(\d{1,2})")
_HOUR_MINUTE: Final = lazy_pattern(r"(\d{1,2})[.](\d\d)")
_SHORT: Final = lazy_pattern(r"(\d+)([mCF])")
_MAX_DIGITS: Final = 60
_COUNTERS: Final = frozenset(
    {"item", "person", "time", "floor", "no", "age", "page", "line", "word", "class", "stay"}
)
"""What Japanese says with a counter, other languages say with the noun."""

_HALF: Final[frozenset[Value]] = frozenset(
    {Number("1/2"), Number("0.5"), Quantity(Fraction(50), "percent")}
)
ZONES: Final = {
    **dict.fromkeys(("UTC", "GMT"), 0),
    **dict.fromkeys(("BST", "CET", "MEZ", "WEST"), 1),
    **dict.fromkeys(("CEST", "MESZ", "EET"), 2),
    **dict.fromkeys(("MSK", "EEST"), 3),
    **dict.fromkeys(("EDT",), -4),
    **dict.fromkeys(("EST", "CDT"), -5),
    **dict.fromkeys(("MDT",), -6),
    **dict.fromkeys(("MST", "PDT"), -7),
    **dict.fromkeys(("PST",), -8),
    **dict.fromkeys(("JST", "KST"), 9),
}
"""Hours ahead of UTC. Abbreviations with two meanings (CST, IST) are left out; BST is London's."""


def fraction(text: str) -> Fraction | None:
    """Returns the value of a number as `Number` writes it; None where it has none."""
    if len(text) > _MAX_DIGITS:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def uncounted(value: Value) -> bool:
    """Returns whether the unit of a quantity says nothing a bare number does not: `25 %`, 2枚."""
    return isinstance(value, Quantity) and (value.unit == "percent" or value.unit in _COUNTERS)


def same_value(one: Token, other: Token) -> bool:
    """Returns whether two different values may be the same value."""
    return _less_exact(one, other) or _less_exact(other, one)


def _less_exact(one: Token, other: Token) -> bool:
    """Checks whether one token is a less exact form of the other."""
    match one.value, other.value:
        case Number(text), _:
            return _number_stands_for(one, text, other)
        case Unit(base, factor), Quantity(amount, unit):  # `a week`; not `in weeks`, `per week`
            led = one.glue.rpartition(" ")[2] in _ONE or one.text.casefold() == "monats"
            return led and base == unit and factor == amount
        case Quantity(amount, "degree"), Quantity(amount_too, unit):
            # Degrees of what, if one does not say; and 度 counts times as well.
            counted = unit == "time" and one.text.endswith("度")
            return amount == amount_too and (unit == "celsius" or counted)
        case Quantity(amount, "second"), Ordinal(number):  # 10日 and `the 10th`
            return one.text.endswith("日") and amount == number * 86_400
        case DialTime(hour, minute), ClockTime(hour_too, minute_too, second):
            return not second and (hour, minute) == (hour_too % 12, minute_too)
        case EitherDay(first, second), Day() as day:
            return day in {Day(first, second), Day(second, first)}
        case _:
            return False


def _number_stands_for(number: Token, text: str, other: Token) -> bool:
    """Returns whether a plain number may be what another token says with more words."""
    match other.value:
        case Year(year):
            return text == str(year)
        case Number(text_too):
            return _written_out(text, text_too)
        case Quantity() as amount:
            return _share(text, amount) or _without_unit(number, text, other.text, amount)
        case ClockTime() | DialTime() as time:
            return _hour(number, text, time)
        case Day() as day:
            return _either_way(text, day) or _pointed(text, day)
        case Ordinal(place):  # `zum 10` and `the 10th`
            return number.glue.rpartition(" ")[2] in _DAY_LEADS and text == str(place)
        case _:
            return False


def _share(text: str, amount: Quantity) -> bool:
    """Matches `a quarter`, `0.25` and `25 %`."""
    share = fraction(text)
    if amount.unit != "percent" or share is None or share.denominator == 1:
        return False
    return share * 100 == amount.amount


def _written_out(one: str, other: str) -> bool:
    """Matches `1/4` and `0.25`; but 1.10 is not 1.1, which may be versions."""
    if ("/" in one) == ("/" in other):
        return False
    value = fraction(one)
    return value is not None and value == fraction(other)


def _without_unit(number: Token, text: str, written: str, amount: Quantity) -> bool:
    """Matches `240` and `240 seconds`; `two cards` are not `two hours`, but may be 2枚."""
    plain, name = fraction(text), quantities.unit_of(written)
    if plain is None or name is None or units()[name].base != amount.unit:
        return False
    if not number.bare and amount.unit not in _COUNTERS:
        return False
    return plain * units()[name].factor == amount.amount


def is_short(text: str) -> bool:
    """Returns whether an identifier may be a quantity: `10m`, `37C`."""
    return _SHORT.fullmatch(text) is not None


def _short(text: str, value: Number | Quantity) -> bool:
    """Matches `10m`, which may be minutes, metres or millions, `37C` degrees or a seat."""
    match = _SHORT.fullmatch(text)
    if match is None:
        return False
    count = Fraction(int(match[1]))
    if match[2] != "m":
        unit = "celsius" if match[2] == "C" else "fahrenheit"
        return value == quantities.quantity_of(count, unit)
    meant = (Quantity(count * 60, "second"), Quantity(count, "metre"))
    return value in (*meant, Number(str(count * 1_000_000)))


def _hour(number: Token, text: str, time: ClockTime | DialTime) -> bool:
    """Matches `at eight` and `8 pm`, `5.30` and `17:30`."""
    parts = _HOUR_MINUTE.fullmatch(text)
    if parts is not None:
        said, minute = int(parts[1]), int(parts[2])
    elif number.bare == "hour" and text.isdecimal():
        said, minute = int(text), 0
    else:
        return False
    if minute != time.minute or (isinstance(time, ClockTime) and time.second):
        return False
    return said == time.hour or (0 < said <= 12 and said % 12 == time.hour % 12)


def _either_way(text: str, day: Day) -> bool:
    """Matches `4/12` and the fourth of December, or the twelfth of April."""
    one, _, other = text.partition("/")
    if not (one.isdecimal() and other.isdecimal()):
        return False
    return day in {Day(int(one), int(other)), Day(int(other), int(one))}


def _pointed(text: str, day: Day) -> bool:
    """Matches `5.2` and the fifth of February."""
    match = _DAY_MONTH.fullmatch(text)
    return match is not None and day == Day(int(match[2]), int(match[1]))


def same_otherwise(one: Token, other: Token) -> bool:
    """Returns whether a value is the same as an identifier or a word: `10m`, `half`."""
    for x, y in ((one, other), (other, one)):
        if x.kind is Kind.IDENTIFIER and isinstance(y.value, Number | Quantity):
            if _short(x.text, y.value):
                return True
        elif x.value == WordClass("half") and y.value in _HALF:
            return True
    return False


def same_instant(left: list[Token], right: list[Token]) -> list[tuple[Token, Token]]:
    """Returns a clock time of each side with its zone: `18:00 UTC` and `8 pm CEST`."""
    one, other = _zoned(left), _zoned(right)
    if one is None or other is None:
        return []
    (time, zone), (time_too, zone_too) = one, other
    apart = _minutes(time) - _minutes(time_too) - 60 * (ZONES[zone.text] - ZONES[zone_too.text])
    return [] if apart % 1440 else [(time, time_too), (zone, zone_too)]


def _zoned(tokens: list[Token]) -> tuple[Token, Token] | None:
    times = [token for token in tokens if isinstance(token.value, ClockTime)]
    zones = [token for token in tokens if token.text in ZONES]
    return (times[0], zones[0]) if len(times) == len(zones) == 1 else None


def _minutes(time: Token) -> int:
    return time.value.hour * 60 + time.value.minute if isinstance(time.value, ClockTime) else 0
