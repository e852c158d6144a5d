"""Small signs that tell two texts of the same words apart, one reader for each kind.

Each takes a text (and a language, which none of them needs) and returns what it found, sorted: two
texts of which it finds the same do not differ in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

_FACE: Final = re.compile(r"(?<!\S)([:;])['-]?([()DP/|])(?=[\s.,!?]|$)")
_CALL: Final = re.compile(
    r"\w[(\[](?=[^()\[\]\n,]*,)[^()\[\]\n]*[)\]]|(?<!\w)\w+\(\w+\("
    r"|(?<!\w)\w+[<\[][\w<>\[\], |]{0,200}[>\]]\w*"
    r"|\b(?:const|let|var|lambda)\s*[(\[{]?\s*\w+(?:, ?\w+)+|\bfor \w+, ?\w+(?= in )"
    r"|(?:(?<=returns )|(?<=return )|(?<== )|^(?=\w -))\w+ ?[-%/] ?\w+(?=[ .;]*$)"
    r"|\blambda [^:\n]*: \w+ ?[-%/] ?\w+"
    r"|\bO\([^()\n]+\)",
    re.MULTILINE,
)
_CALLING: Final = frozenset("([<-%/,")
_BOX: Final = re.compile(r"\[([ xX])\] *([^\n\[\]]+)")
_WORDS: Final = re.compile(r"\w+")
_DIVIDED: Final = re.compile(r"/\s?([A-Za-z]+)(\^[23]|[²³])")
_POWERS: Final = {"^2": "2", "^3": "3", "²": "2", "³": "3"}
_LENGTHS: Final = {'"': "in", "'": "ft", "″": "in", "′": "ft", "ft": "ft", "feet": "ft"}
_LENGTH: Final = re.compile(
    r"(?<=\d)[\s-]?(in|inch|inches|″|′)(?=\s*(?:[.,;)]|$|(?:wide|long|tall|high|deep|thick|monitor"
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
_EQUAL: Final = re.compile(
    r"\b(?:as (?!soon|well|long|far|much|many|such)\w+ as|(?:so|ebenso|genauso) \w+ wie)\b"
)
_UNEQUAL: Final = re.compile(
    r"\b(?!(?:rather|other|later|sooner) )(?:\w+er|more|less) (?:than|als)\b"
)


def faces(text: str, _language: str) -> tuple[str, ...]:
    """`:)` is not `:(`; a nose makes no difference."""
    if ":" not in text and ";" not in text:
        return ()
    return tuple(sorted(found[1] + found[2] for found in _FACE.finditer(text)))


def arguments(text: str, _language: str) -> tuple[str, ...]:
    """What takes several things in an order: `f(a, b)`, `Dict[str, int]`, `price - cost`."""
    if _CALLING.isdisjoint(text):
        return ()
    plain = (re.sub(r"[\s·*]", "", found).replace('"', "'") for found in _CALL.findall(text))
    return tuple(sorted(call for call in plain if "Union" not in call))


def boxes(text: str, _language: str) -> tuple[str, ...]:
    """Which boxes of a list are ticked; a single one is dressing."""
    found = [f"{box.casefold()} {_plain(item)}" for box, item in _BOX.findall(text)]
    return tuple(sorted(found)) if len(found) > 1 else ()


def _plain(text: str) -> str:
    """Its words alone."""
    return " ".join(_WORDS.findall(text.casefold()))


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
        if text.count(sign) == 1 and re.search(rf"\d{sign}(?!\w)", text):
            yield _LENGTHS[sign]


def moments(text: str, _language: str) -> tuple[str, ...]:
    """What a span of time is to the moment: `in 3 days`, `3 days ago`, `for 3 days`."""
    low = text.casefold()
    found = [_LEADS[led[1]] for led in _LED.finditer(low)]
    found += ["ago" for _ in (_AGO.finditer(low) if " ago" in low else ())]
    return tuple(sorted(set(found)))


def comparisons(text: str, _language: str) -> tuple[str, ...]:
    """`As fast as` is not `faster than`."""
    low = text.casefold()
    equal = (" as " in low or " wie " in low) and _EQUAL.search(low)
    unequal = (" than " in low or " als " in low) and _UNEQUAL.search(low)
    return (*(("as",) if equal else ()), *(("than",) if unequal else ()))


def structure(text: str, _language: str) -> tuple[str, ...]:
    """What stands under which heading: sections of a list, of settings, of JSON."""
    if text.lstrip()[:1] == "{":
        try:
            return tuple(sorted(_paths(json.loads(text))))
        except (ValueError, RecursionError):
            return ()
    if text.count("\n") < 3:
        return ()
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 4 or len(lines) > _MOST_LINES:
        return ()
    found = list(_under_headings(lines))
    return tuple(sorted(found)) if len({each.partition("/")[0] for each in found}) > 1 else ()


_MOST_LINES: Final = 200
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•・][ \t]*|\d+[.)][ \t]+)")


def _paths(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, f"{path}{key}/")
    else:
        yield path + _plain(json.dumps(value, ensure_ascii=False))


def _under_headings(lines: Sequence[str]) -> Iterator[str]:
    """Each line with the heading it stands under; those before the first heading are left out."""
    heading = ""
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if _is_heading(line, following):
            heading = _plain(line)
        elif heading:
            yield f"{heading}/{_plain(line)}"


def _is_heading(line: str, following: str) -> bool:
    bare = line.strip()
    if _BULLET.match(line) or not following:
        return False
    if bare.startswith("#") or bare.endswith(":") or (bare[0] == "[" and bare[-1] == "]"):
        return True
    return ":" not in bare and bool(_BULLET.match(following))


def rows(text: str, _language: str) -> tuple[str, ...]:
    """Lines of a table without bars: `ana,dev`."""
    if "\n" not in text:
        return ()
    lines = [line for line in text.split("\n") if line.strip()]
    for sign in ",;|\t":
        cells = [line.split(sign) for line in lines]
        if len({len(row) for row in cells}) == 1 < len(cells[0]):
            short = all(len(_WORDS.findall(cell)) <= _CELL for row in cells for cell in row)
            return tuple(sorted("|".join(map(_plain, row)) for row in cells)) if short else ()
    return ()


_CELL: Final = 3
"""Words of a cell of such a table at most."""


def joints(text: str, _language: str) -> tuple[str, ...]:
    """Signs that join: `main..dev` and `main...dev`, `A | B` and `A & B`, `"$A"` and `'$A'`."""
    return tuple(sorted(_JOINT.findall(text)))


_JOINT: Final = re.compile(
    r"(?<=\w)\.{2,3}(?=\w)|(?<=\w )[|&](?= \w)|[\"'](?=\$\w)|[~=<>!^]=(?=\s?\d)"
)


def rates(text: str, _language: str) -> tuple[str, ...]:
    """Bits and bytes: `100 Mb/s` is not `100 MB/s`."""
    return tuple(sorted(_RATE.findall(text)))


_RATE: Final = re.compile(r"(?<![A-Za-z])[kKMGT]i?([bB])(?=/s|ps\b)")


def spans(text: str, _language: str) -> tuple[str, ...]:
    """`1 to 3` is not `1 and 3`."""
    low = text.casefold()
    ranged = _RANGE.search(low) or "between" in low or "zwischen" in low
    listed = _PAIR.search(low)
    return (*(("to",) if ranged else ()), *(("and",) if listed and not ranged else ()))


_END: Final = r"(?:\d+|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)"
_RANGE: Final = re.compile(rf"\b{_END}\s?(?:-|–|to|till|until|through|bis)\s?{_END}\b")
_PAIR: Final = re.compile(rf"\b{_END} (?:and|und|&) {_END}\b")


def states(text: str, _language: str) -> tuple[str, ...]:
    """Small words of a state: `is to be`, `is getting`, `is used to`, `a few`."""
    return tuple(sorted(match.group() for match in _STATE.finditer(text.casefold())))


def instead(text: str, _language: str) -> tuple[str, ...]:
    """What is not to be taken: `instead of axios`."""
    return tuple(sorted(_INSTEAD.findall(text.casefold())))


def being(text: str, _language: str) -> tuple[str, ...]:
    """What someone is, and what someone has: `is a nurse`, `has a nurse`."""
    found = _BEING.findall(text.casefold())
    return tuple(sorted(f"{noun} {'be' if verb in _COPULA else 'have'}" for verb, noun in found))


_INSTEAD: Final = re.compile(r"\b(?:instead of|statt|anstelle von) (\w+)")
_COPULA: Final = frozenset(("is", "are", "was", "ist", "war"))
_BEING: Final = re.compile(
    r"\b(is|are|was|has|have|had|ist|war|hat|hatte) (?:an?|ein|eine|einen) (\w+)"
)
_STATE: Final = re.compile(
    r"\b(?:is|are|was|were) to be\b|\b(?:is|are|am) getting\b"
    r"|\b(?:is|are|am|was|were) used to\b|\ba (?:few|little)\b"
)
