"""Values that are the same though their keys differ: one of two texts says less exactly.

`at eight` may be `8 pm`, `240` may be `240 seconds`, `08/03` may be the eighth of March. The rules
are tried on what is left over only, and never make two explicit values one: `8 am` is not `8 pm`,
`30 s` is not `30 min`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Final

from echoless.matching.languages import units
from echoless.matching.values import quantities
from echoless.matching.values.tokens import Kind, Token

_ONE: Final = frozenset({"a", "an", "one", "ein", "eine", "einer", "einen", "einem", "eines"})
_DAY_LEADS: Final = frozenset({"am", "zum", "vom", "the", "on", "den", "dem"})
_DAY_MONTH: Final = re.compile(r"n:(\d{1,2})\.(\d{1,2})")
_HOUR_MINUTE: Final = re.compile(r"n:(\d{1,2})[.](\d\d)")
_SHORT: Final = re.compile(r"(\d+)([mCF])")
_MAX_DIGITS: Final = 60
_COUNTERS: Final = frozenset(
    {"item", "person", "time", "floor", "no", "age", "page", "line", "word", "class", "stay"}
)
"""What Japanese says with a counter, other languages say with the noun."""

_HALF: Final = frozenset({"n:1/2", "n:0.5", "q:50 percent"})
_ZONES: Final = {
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


def same_value(one: Token, other: Token) -> bool:
    """Whether two values with different keys may be the same value."""
    pair = one.key[:2] + other.key[:2]
    rules = _RULES.get(pair)
    if rules is not None and any(rule(one, other) for rule in rules):
        return True
    rules = _RULES.get(other.key[:2] + one.key[:2])
    return rules is not None and any(rule(other, one) for rule in rules)


def fraction(text: str) -> Fraction | None:
    """Value of a number as keys write it."""
    if len(text) > _MAX_DIGITS:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def uncounted(key: str) -> bool:
    """Whether the unit of a quantity says nothing a bare number does not: `25 %`, 2枚."""
    _, _, base = key[2:].partition(" ")
    return base == "percent" or base in _COUNTERS


def _quantity(token: Token) -> tuple[Fraction | None, str]:
    value, _, base = token.key[2:].partition(" ")
    return fraction(value), base


# ------------------------------------------------------------------ numbers


def _year(number: Token, year: Token) -> bool:
    return number.key[2:] == year.key[2:]


def _share(number: Token, amount: Token) -> bool:
    """`a quarter`, `0.25` and `25 %`."""
    value, base = _quantity(amount)
    share = fraction(number.key[2:])
    if base != "percent" or share is None or value is None or share.denominator == 1:
        return False
    return share * 100 == value


def _written_out(number: Token, other: Token) -> bool:
    """`1/4` and `0.25`; but 1.10 is not 1.1, which may be versions."""
    if ("/" in number.key) == ("/" in other.key):
        return False
    value = fraction(number.key[2:])
    return value is not None and value == fraction(other.key[2:])


def _without_unit(number: Token, amount: Token) -> bool:
    """`240` and `240 seconds`; `two cards` are not `two hours`, but may be 2枚."""
    value, base = _quantity(amount)
    plain, unit = fraction(number.key[2:]), quantities.unit_of(amount.text)
    if value is None or plain is None or unit is None or units()[unit].base != base:
        return False
    if not number.bare and base not in _COUNTERS:
        return False
    return plain * units()[unit].factor == value


def _one_of(unit: Token, amount: Token) -> bool:
    """`a week` and `one week` or `seven days`; not `in weeks`, nor `per week`."""
    led = unit.glue.rpartition(" ")[2] in _ONE or unit.text.casefold() == "monats"
    return led and unit.key[2:] == amount.key[2:]


def _degrees(one: Token, other: Token) -> bool:
    """Degrees of what, if one does not say; and 度 counts times as well."""
    (x, base), (y, base_too) = _quantity(one), _quantity(other)
    if x != y or base != "degree":
        return False
    return base_too == "celsius" or (base_too == "time" and one.text.endswith("度"))


def _short(identifier: Token, value: Token) -> bool:
    """`10m` may be minutes, metres or millions, `37C` degrees or a seat."""
    found = _SHORT.fullmatch(identifier.text)
    if found is None:
        return False
    count = int(found[1])
    if found[2] != "m":
        unit = "celsius" if found[2] == "C" else "fahrenheit"
        return value.key == quantities.quantity_key(Fraction(count), unit)
    meant = (f"q:{count * 60} second", f"q:{count} metre", f"n:{count * 1_000_000}")
    return value.key in meant


# ------------------------------------------------------------------ times


def _dial(open_half: Token, time: Token) -> bool:
    """`half past seven` and `19:30`."""
    hour, _, minute = time.key[2:].partition(":")
    return open_half.key == quantities.dial(int(hour), 0)[:5] + minute


def _hour(number: Token, time: Token) -> bool:
    """`at eight` and `8 pm`, `5.30` and `17:30`."""
    hour, _, minute = time.key[2:].partition(":")
    parts = _HOUR_MINUTE.fullmatch(number.key)
    if parts is not None:
        said, minutes = int(parts[1]), parts[2]
    elif number.bare == "hour" and number.key[2:].isdecimal():
        said, minutes = int(number.key[2:]), "00"
    else:
        return False
    return minutes == minute and (
        said == int(hour) or (0 < said <= 12 and said % 12 == int(hour) % 12)
    )


# ------------------------------------------------------------------ days


def _either_way(slashed: Token, day: Token) -> bool:
    """`08/03` and the eighth of March, or the third of August."""
    one, slash, other = slashed.key[2:].partition("/")
    if not slash or not (one.isdecimal() and other.isdecimal()):
        return False
    return day.key in {f"d:{int(one):02d}-{int(other):02d}", f"d:{int(other):02d}-{int(one):02d}"}


def _pointed(number: Token, day: Token) -> bool:
    """`5.2` and the fifth of February."""
    found = _DAY_MONTH.fullmatch(number.key)
    return found is not None and day.key == f"d:{int(found[2]):02d}-{int(found[1]):02d}"


def _of_the_month(number: Token, ordinal: Token) -> bool:
    """`zum 10` and `the 10th`."""
    led = number.glue.rpartition(" ")[2] in _DAY_LEADS
    return led and ordinal.key == f"#{number.key[2:]}"


def _day_of_month(days: Token, ordinal: Token) -> bool:
    """10日 and `the 10th`."""
    value, base = _quantity(days)
    if not days.text.endswith("日") or base != "second" or value is None:
        return False
    return ordinal.key == f"#{value / 86400}"


Rule = Callable[[Token, Token], bool]

_RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "n:y:": (_year,),
    "n:n:": (_written_out,),
    "n:q:": (_share, _without_unit),
    "u:q:": (_one_of,),
    "q:q:": (_degrees,),
    "c:t:": (_dial,),
    "n:t:": (_hour,),
    "n:c:": (_hour,),
    "n:d:": (_either_way, _pointed),
    "d:d:": (_either_way,),
    **{f"n:#{digit}": (_of_the_month,) for digit in range(10)},
    **{f"q:#{digit}": (_day_of_month,) for digit in range(10)},
}


def code(key: str, kind: Kind, text: str) -> str:
    """What a token is to the rules of this module: tokens whose codes do not meet never agree."""
    head = key[:2]
    if kind is Kind.IDENTIFIER:
        return "short" if _SHORT.fullmatch(text) else ""
    if key == "!half":
        return "half"
    if head in {"n:", "d:"}:
        return f"{head}/" if "/" in key else head
    return "q:degree" if head == "q:" and key.endswith(" degree") else head


@cache
def meeting(code: str) -> frozenset[str]:
    """The codes of tokens that may be the same value as one of this code."""
    if code in {"short", "half"}:
        return frozenset({"n:", "n:/", "q:", "q:degree"})
    plain = code[:2]
    found = {rule[2:] for rule in _RULES if rule[:2] == plain}
    found |= {rule[:2] for rule in _RULES if rule[2:] == plain}
    met = {each for one in found - {plain} for each in (one, *_SPECIAL.get(one, ()))}
    if plain in found and plain in _SPECIAL:
        # Of two numbers or days just one is written with a slash, of two quantities one in degrees.
        met |= {plain} if code != plain else {*_SPECIAL[plain]}
    elif plain in found:
        met.add(plain)
    return frozenset(met | {"short", "half"} if plain in {"n:", "q:"} else met)


_SPECIAL: Final = {"n:": ("n:/",), "d:": ("d:/",), "q:": ("q:degree",)}


def zone(text: str) -> bool:
    """Whether this is a time zone."""
    return text in _ZONES


def same_otherwise(one: Token, other: Token) -> bool:
    """Whether a value is the same as an identifier or a word: `10m`, `half`."""
    for x, y in ((one, other), (other, one)):
        if x.kind is Kind.IDENTIFIER and y.key[:2] in {"q:", "n:"} and _short(x, y):
            return True
        if x.key == "!half" and y.key in _HALF:
            return True
    return False


def same_instant(left: list[Token], right: list[Token]) -> list[tuple[Token, Token]]:
    """A clock time of each side with the zone it is told in: `18:00 UTC` and `8 pm CEST`."""
    one, other = _zoned(left), _zoned(right)
    if one is None or other is None:
        return []
    (time, zone), (time_too, zone_too) = one, other
    if (
        _minutes(time) - _minutes(time_too) - 60 * (_ZONES[zone.text] - _ZONES[zone_too.text])
    ) % 1440:
        return []
    return [(time, time_too), (zone, zone_too)]


def _zoned(tokens: list[Token]) -> tuple[Token, Token] | None:
    times = [token for token in tokens if token.key[:2] == "t:"]
    zones = [token for token in tokens if token.text in _ZONES]
    return (times[0], zones[0]) if len(times) == len(zones) == 1 else None


def _minutes(time: Token) -> int:
    return int(time.key[2:4]) * 60 + int(time.key[5:7])
