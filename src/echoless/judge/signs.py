"""Small signs that tell two texts of the same words apart, one reader for each kind.

Each takes a text (and a language, which none of them needs) and returns what it found, sorted: two
texts of which it finds the same do not differ in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FACE: Final = re.compile(r"(?<!\S)([:;])['-]?([()DP/|])(?=[\s.,!?]|$)")
_CALL: Final = re.compile(
    r"\w[(\[][^()\[\]\n]*,[^()\[\]\n]*[)\]]|\w+\(\w+\("
    r"|(?:^|(?<=returns )|(?<=return )|(?<=[=:] ))\w+ [-%/] \w+(?=[ .;]*$)",
    re.MULTILINE,
)
_CALLING: Final = frozenset("([-%/")
_BOX: Final = re.compile(r"\[([ xX])\] *([^\n\[\]]+)")
_DIVIDED: Final = re.compile(r"/\s?([A-Za-z]+)(\^[23]|[²³])")
_POWERS: Final = {"^2": "2", "^3": "3", "²": "2", "³": "3"}
_LENGTHS: Final = {'"': "in", "'": "ft", "″": "in", "′": "ft", "ft": "ft", "feet": "ft"}
_LENGTH: Final = re.compile(
    r"(?<=\d)\s?(in|inch|inches|″|′)(?=\s*(?:[.,;)]|$|(?:wide|long|tall|high|deep|thick|monitor"
    r"|display|screen|pipe|tv|rack)\b))",
    re.IGNORECASE,
)
_NUMBER: Final = (
    r"(?:\d+|an?|one|two|three|four|five|six|seven|ten|ein(?:em|er|en)?|zwei|drei|vier|fünf)"
)
_SPAN: Final = (
    r"(?:second|minute|hour|day|week|month|year|sekunde|minute|stunde|tag|woche|monat|jahr)\w*"
)
_LED: Final = re.compile(rf"\b(in|within|for|every|vor|seit|innerhalb von|alle) {_NUMBER} {_SPAN}")
_AGO: Final = re.compile(rf"\b{_NUMBER} {_SPAN} ago\b")
_LEADS: Final = {
    "in": "in",
    "within": "within",
    "for": "for",
    "every": "every",
    "vor": "ago",
    "seit": "since",
    "innerhalb von": "within",
    "alle": "every",
}
_EQUAL: Final = re.compile(r"\b(?:as \w+ as|(?:so|ebenso|genauso) \w+ wie)\b")
_UNEQUAL: Final = re.compile(r"\b(?:\w+er|more|less) (?:than|als)\b")


def faces(text: str, _language: str) -> tuple[str, ...]:
    """`:)` is not `:(`; a nose makes no difference."""
    if ":" not in text and ";" not in text:
        return ()
    return tuple(sorted(found[1] + found[2] for found in _FACE.finditer(text)))


def arguments(text: str, _language: str) -> tuple[str, ...]:
    """What takes several things in an order: `f(a, b)`, `Dict[str, int]`, `price - cost`."""
    if _CALLING.isdisjoint(text):
        return ()
    return tuple(sorted(re.sub(r"\s", "", found) for found in _CALL.findall(text)))


def boxes(text: str, _language: str) -> tuple[str, ...]:
    """Which boxes of a list are ticked; a single one is dressing."""
    found = [f"{box.casefold()} {item.casefold().strip(' .')}" for box, item in _BOX.findall(text)]
    return tuple(sorted(found)) if len(found) > 1 else ()


def powers(text: str, _language: str) -> tuple[str, ...]:
    """Powers of what is divided by: `m/s` is a speed, `m/s²` is none."""
    return tuple(sorted(unit + _POWERS[power] for unit, power in _DIVIDED.findall(text)))


def lengths(text: str, _language: str) -> tuple[str, ...]:
    """Inches and feet that a preposition or a quotation mark may be taken for."""
    return tuple(sorted(_lengths(text)))


def _lengths(text: str) -> Iterator[str]:
    for sign in _LENGTH.findall(text):
        yield _LENGTHS.get(sign, "in")
    for sign in "\"'":
        if text.count(sign) % 2 and re.search(rf"\d{sign}(?!\w)", text):
            yield _LENGTHS[sign]


def moments(text: str, _language: str) -> tuple[str, ...]:
    """What a span of time is to the moment: `in 3 days`, `3 days ago`, `for 3 days`."""
    low = text.casefold()
    found = [_LEADS[led[1]] for led in _LED.finditer(low)]
    found += ["ago" for _ in (_AGO.finditer(low) if " ago" in low else ())]
    return tuple(sorted(found))


def comparisons(text: str, _language: str) -> tuple[str, ...]:
    """`As fast as` is not `faster than`."""
    low = text.casefold()
    equal = (" as " in low or " wie " in low) and _EQUAL.search(low)
    unequal = (" than " in low or " als " in low) and _UNEQUAL.search(low)
    return (*(("as",) if equal else ()), *(("than",) if unequal else ()))
