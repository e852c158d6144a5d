"""Cut a text into tokens that carry facts: one pass of one pattern, first alternative wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from echoless.judge import quantity
from echoless.judge.language import Lexicon, units

LINE: Final = "\u23ce"
"""Stands for a line break: normalising folds white space, but a line is a statement of its own."""

_CJK: Final = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER: Final = rf"[^\W\d_{_CJK}]"


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
class Token:
    """One thing a text says.

    Attributes:
        kind: What it is.
        key: Its canonical form: two tokens with one key mean the same.
        text: As written.
        mark: Punctuation between it and the token before, each mark once; empty if none.
        glue: Function words in between, folded, joined by spaces.
    """

    kind: Kind
    key: str
    text: str
    mark: str = ""
    glue: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """A match of the pattern before words are told apart."""

    kind: str
    text: str
    keys: tuple[tuple[Kind, str], ...] = ()


def _words(names: list[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=lambda name: (-len(name), name)))


@cache
def pattern(lexicon: Lexicon) -> re.Pattern[str]:
    """The pattern of a language."""
    month = _words([*_spellings(lexicon.months)]) or "(?!)"
    unit = _words(list(units()))
    phrases = _words(list(lexicon.phrases)) or "(?!)"
    east = _words([u for u in units() if not u.isascii() and u not in "°€£¥￥％"])
    kanji = "[〇一二三四五六七八九十百千]+"
    digits = r"\d+(?:[.,'_]\d+)*(?:[eE][-+]?\d{1,2})?"
    big = _words([w for w in lexicon.multipliers if len(w) > 3 and w.isascii()]) or "(?!)"
    parts = {
        "url": r"[A-Za-z][A-Za-z0-9+.-]{1,12}://[^\s<>\"'`,;)\]]+",
        "mail": r"(?<![\w.])[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
        "phrase": rf"(?<!\w)(?i:{phrases})(?!\w)",
        "uuid": r"(?<!\w)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?!\w)",
        "iso": (
            r"(?<![\w-])(?P<y1>\d{4})(?P<s1>[-/.])(?P<m1>\d{1,2})(?P=s1)(?P<d1>\d{1,2})(?![\d-])"
            r"(?:T(?=\d))?"
        ),
        "dmy": r"(?<![\w.])(?P<d2>\d{1,2})\.(?P<m2>\d{1,2})\.(?P<y2>\d{4})(?!\d)",
        "jdate": (
            r"(?:(?P<y3>\d{4})年)?(?P<m3>\d{1,2})月(?P<d3>\d{1,2})日"
            r"|(?P<y4>\d{4})年(?:(?P<m4>\d{1,2})月)?|(?P<m5>\d{1,2})月"
        ),
        "dm": (
            rf"(?<![\w.])(?P<d6>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m6>(?i:{month}))\b"
            r"\.?(?:,?\s+(?P<y6>(?:19|20)\d\d)(?!\d))?"
        ),
        "md": (
            rf"(?<!\w)(?P<m7>(?i:{month}))\b\.?\s+(?:the\s+)?(?P<d7>\d{{1,2}})(?:st|nd|rd|th)?"
            r"(?![\w:.,]*\d)(?!\w)(?:,?\s+(?P<y7>(?:19|20)\d\d)(?!\d))?"
        ),
        "time": (
            r"(?<![\w:.])(?P<h1>\d{1,2}):(?P<n1>\d{2})(?::\d{2}(?:\.\d+)?)?(?![\w:])"
            r"(?:\s*(?P<p1>[aApP]\.?[mM]\b\.?))?(?:\s+Uhr\b)?Z?"
            r"|(?<![\w:.])(?P<h2>\d{1,2})\s*(?:(?P<p2>[aApP]\.?[mM]\b\.?)|Uhr\b|o'clock\b)"
            r"|(?P<p3>午前|午後)?(?P<h3>\d{1,2})時(?!間)(?:(?P<n3>\d{1,2})分|(?P<half>半))?"
        ),
        "flag": r"(?<![\w-])--?[A-Za-z][\w-]*",
        "path": (
            r"(?<![\w/.@])[@~.]?[\w.*+{}-]{0,120}(?:[/\\]{1,2}[\w.@*~+{}-]+)+[/\\]?"
            r"|(?<![\w/.@])[\w.*+-]{1,120}[/\\](?![\w/\\])|(?<![\w/.])~?/(?=[\s'\"]|$)"
        ),
        "version": (
            r"(?<![\w.])v?\d+(?:\.\d+){2,}(?:[-+][\w.]+)?(?!\w)"
            r"|(?<![\w.])v\d+(?:\.\d+)*(?!\w)"
        ),
        "jnum": (
            rf"(?:\d[\d,.]*(?:[百千万億]+\d*)+|{kanji}(?:[万億](?:{kanji})?)*|\d[\d,.]*)"
            rf"(?P<ju>{east})|\d[\d,.]*[万億]|[一二三四五六七八九十百千]+[万億]"
        ),
        "money": rf"(?P<cur>[$€£¥])\s?(?P<cn>{digits})(?P<ck>[kKmM](?!\w)|\s(?:{big})\b)?(?![\w])",
        "number": (
            rf"(?<![\w.])(?P<sign>(?<![\w)])[-+](?=\d))?(?P<n>{digits})"
            rf"(?:(?P<ord>st|nd|rd|th)(?!\w)|(?P<k>[kKB](?![\w])|\s(?i:{big})\b)?"
            rf"(?:(?P<sep>[\s-]?)(?P<u>(?i:{unit}))(?![^\W{_CJK}]|[/-]\w))?)?(?![^\W{_CJK}]|-\w*\d)"
        ),
        "identifier": (
            r"#?(?=[A-Za-z0-9_-]{0,80}\d)(?=[0-9_-]{0,80}[A-Za-z])"
            r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9_]+)*(?:[.:][A-Za-z0-9]+)*"
            rf"|[A-Za-z][\w-]{{0,120}}(?::[A-Za-z0-9][\w-]*)+|#{_LETTER}[\w-]*|{_LETTER}*_\w+|{_LETTER}+_"
            r"|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|\w+(?=\(\))"
        ),
        "dotted": (
            rf"(?<![\w.])(?:[\w*-]{{1,120}})?\.{_LETTER}[\w-]*(?:\.\w+)*"
            rf"|{_LETTER}[\w-]{{0,120}}(?:\.{_LETTER}\w*)+"
        ),
        "digits": r"\d+(?:[.,:/-]\d+)*",
        "word": rf"{_LETTER}+-(?:up|in|on|off|out|down|over)(?!\w)|{_LETTER}+(?:'{_LETTER}+)*",
        "han": r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+",
        "kata": r"[\u30a1-\u30fa\u30fc-\u30ff]+",
        "hira": r"[\u3041-\u309f]+",
        "sign_": r"<=|>=|!=|==|=>|->|[<>→←↔≠≤≥✅❌✓✗☑☐√×]|\[[ xX]\]|~~",
        "mark": rf"[.;:,!?|()\[\]{{}}。、・「」『』【】{LINE}=]|(?<=\s)[-–—](?=\s)|–|—",
        "other": r"[^\s\w]",
    }
    return re.compile("|".join(f"(?P<{name}>{body})" for name, body in parts.items()))


def _spellings(names: object) -> Iterator[str]:
    assert isinstance(names, dict)
    for name in names:
        yield name
        if "ae" in name:
            yield name.replace("ae", "ä")


def _date(found: re.Match[str], n: str, lexicon: Lexicon) -> tuple[tuple[Kind, str], ...]:
    groups = found.groupdict()
    year, month, day = groups.get(f"y{n}"), groups.get(f"m{n}"), groups.get(f"d{n}")
    keys: list[tuple[Kind, str]] = []
    if month:
        index = (
            int(month)
            if month.isdigit()
            else lexicon.months.get(month.casefold().replace("ä", "ae"), 0)
        )
        key = quantity.day_key(index, int(day)) if day else f"m:{index:02d}"
        if key is None:
            return ((Kind.NUMBER, f"n:{found.group()}"),)
        keys.append((Kind.DATE, key))
    if year:
        keys.append((Kind.DATE, f"y:{year}"))
    return tuple(keys)


def _jdate(found: re.Match[str], lexicon: Lexicon) -> tuple[tuple[Kind, str], ...]:
    for n in ("3", "4", "5"):
        if found.groupdict().get(f"m{n}") or found.groupdict().get(f"y{n}"):
            return _date(found, n, lexicon)
    return ()


def _time(found: re.Match[str], _: Lexicon) -> tuple[tuple[Kind, str], ...]:
    get = found.groupdict().get
    hour = get("h1") or get("h2") or get("h3") or "0"
    minute = get("n1") or get("n3") or ("30" if get("half") else None)
    time = quantity.clock(hour, minute, get("p1") or get("p2") or get("p3"))
    return ((Kind.DATE, f"t:{time}"),) if time else ((Kind.NUMBER, f"n:{found.group()}"),)


def _number(found: re.Match[str], lexicon: Lexicon) -> tuple[tuple[Kind, str], ...]:
    digits, unit, sign = found["n"], found["u"], "-" if found["sign"] == "-" else ""
    if found["ord"]:
        return ((Kind.RELATION, f"#{int(digits)}" if digits.isdigit() else digits),)
    value = quantity.number(digits, lexicon)
    # "a 5 m ladder" has a unit, "5 in total" has not: short words need a closer look.
    if unit and unit.casefold() in {"in", "d", "l", "v", "w", "g"} and found["sep"]:
        return ((Kind.NUMBER, f"n:{sign}{digits}"),)
    if value is None:
        return ((Kind.NUMBER, f"n:{sign}{digits}"),)
    factor = lexicon.multipliers.get((found["k"] or "").strip().casefold())
    if unit:
        signed = -value if sign else value
        return ((Kind.NUMBER, quantity.quantity_key(signed * (factor or 1), unit)),)
    if factor:
        return ((Kind.NUMBER, f"n:{sign}{quantity.show(value * factor)}"),)
    return ((Kind.DATE, f"y:{digits}"),) if _is_year(sign, digits) else _bare(sign, digits, lexicon)


def _is_year(sign: str, digits: str) -> bool:
    return not sign and len(digits) == 4 and digits.isdigit() and digits[:2] in {"19", "20"}


def _bare(sign: str, digits: str, lexicon: Lexicon) -> tuple[tuple[Kind, str], ...]:
    """Without a unit, `1.10` may be a version: digits after a point stay as written."""
    value = quantity.number(digits, lexicon)
    grouped = "," in digits or "'" in digits or (lexicon.language == "de" and "." in digits)
    if value is not None and (digits.isdigit() or "e" in digits.casefold() or grouped):
        plain = (
            quantity.show(value)
            if digits.isdigit() or value.denominator == 1
            else digits.replace(",", ".")
        )
        return ((Kind.NUMBER, f"n:{sign}{plain}"),)
    return ((Kind.NUMBER, f"n:{sign}{digits}"),)


def _money(found: re.Match[str], lexicon: Lexicon) -> tuple[tuple[Kind, str], ...]:
    value = quantity.number(found["cn"], lexicon)
    if value is None:
        return ((Kind.NUMBER, f"n:{found.group()}"),)
    factor = lexicon.multipliers.get((found["ck"] or "").strip().casefold(), 1)
    return ((Kind.NUMBER, quantity.quantity_key(value * factor, found["cur"])),)


def _jnum(found: re.Match[str], _: Lexicon) -> tuple[tuple[Kind, str], ...]:
    unit = found["ju"]
    value = quantity.kanji_number(found.group().removesuffix(unit or ""))
    return (
        (Kind.NUMBER, quantity.quantity_key(value, unit) if unit else f"n:{quantity.show(value)}"),
    )


def _version(found: re.Match[str], _: Lexicon) -> tuple[tuple[Kind, str], ...]:
    bare = found.group().removeprefix("v")
    kind = Kind.VERSION if "." in bare else Kind.IDENTIFIER
    return ((kind, f"n:{bare}"),)


def _literal(kind: Kind) -> Callable[[re.Match[str], Lexicon], tuple[tuple[Kind, str], ...]]:
    return lambda found, _: ((kind, found.group().rstrip(".:")),)


_READERS: Final[dict[str, Callable[[re.Match[str], Lexicon], tuple[tuple[Kind, str], ...]]]] = {
    "url": _literal(Kind.PATH),
    "mail": _literal(Kind.IDENTIFIER),
    "uuid": _literal(Kind.IDENTIFIER),
    "iso": lambda found, lexicon: _date(found, "1", lexicon),
    "dmy": lambda found, lexicon: _date(found, "2", lexicon),
    "jdate": _jdate,
    "dm": lambda found, lexicon: _date(found, "6", lexicon),
    "md": lambda found, lexicon: _date(found, "7", lexicon),
    "time": _time,
    "flag": _literal(Kind.IDENTIFIER),
    "path": _literal(Kind.PATH),
    "version": _version,
    "jnum": _jnum,
    "money": _money,
    "number": _number,
    "identifier": _literal(Kind.IDENTIFIER),
    "dotted": _literal(Kind.PATH),
    "digits": lambda found, _: ((Kind.NUMBER, f"n:{found.group()}"),),
    "sign_": _literal(Kind.RELATION),
}


def scan(text: str, lexicon: Lexicon) -> Iterator[Raw]:
    """Matches in order. Words come without keys: `words.py` tells what they are."""
    for found in pattern(lexicon).finditer(text):
        name = found.lastgroup or "other"
        reader = _READERS.get(name)
        yield Raw(name, found.group(), reader(found, lexicon) if reader else ())
