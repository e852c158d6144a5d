"""The pattern that cuts a text into matches: a table of alternatives, the first that fits wins.

Nothing here swallows Han or kana unless it is meant for them: Japanese writes no spaces, so a path,
an identifier or a number ends where Japanese begins.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from echoless.core.text import lazy_pattern
from echoless.matching.languages import Lexicon, units

LINE: Final = "\u23ce"
"""Stands for a line break: normalising folds white space, but a line is a statement of its own."""

CJK: Final = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HAN: Final = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
KATA: Final = "\u30a1-\u30fa\u30fc-\u30ff"
LETTER: Final = rf"[^\W\d_{CJK}]"
MARKS: Final = "".join(
    each for each in map(chr, range(0x300, 0xE00)) if unicodedata.category(each)[0] == "M"
)
"""Vowel signs, points and accents that follow their letter and belong to its word."""
_W: Final = (
    r"0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff"
    r"\u0370-\u037d\u0386-\u1fff\uac00-\ud7a3"
)
"""What `\\w` matches outside of East Asia, for use inside a character class."""

_MARKED: Final = rf"(?:[{MARKS}]+{LETTER}*)*"
"""What goes on with a word behind a mark above or below its letter."""

_W_NARROW: Final = r"0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
_MORE_NARROW: Final = r"\u00b2\u00b3\u00b9\u00bc-\u00be"
_LETTER_NARROW: Final = rf"[{_MORE_NARROW}{_W_NARROW.replace('0-9', '').replace('_', '')}]"
"""What both match below U+0100. Such a class takes a fifth of the time to compile."""

_END: Final = rf"(?![{_W}]|[/-][{_W}])"
KANJI_DIGITS: Final = "〇一二三四五六七八九十"
_KD: Final = rf"[\d{KANJI_DIGITS}]{{1,3}}"
_DIGITS: Final = r"(?:[1-9]\d{0,2}(?: \d{3})+(?![.,:]?\d)|\d+(?:[.,'_]\d+)*(?:[eE][-+]?\d{1,2})?)"
"""A number: groups of three behind spaces, which ISO 80000-1 has, or digits with signs between."""
_SHORT_UNITS: Final = frozenset("dglmvwt") | {"in"}
"""Letters that stand for a unit only in the right case and place: `5 m`, but not `5m`."""

_DAYS_DE: Final = r"(?:Mo|Di|Mi|Do|Fr|Sa|So)"
_DAYS_JA: Final = "[月火水木金土日]"
_MERIDIEM: Final = rf"(?:[aApP]\.[mM](?![{_W}])\.?|[aApP][mM](?![{_W}]))"
_MERIDIEM_DE: Final = (
    rf"(?:[aApP]\.[mM](?![{_W}])\.?|(?:AM|PM|pm)(?![{_W}])"
    r"|am(?=\s?[-–]\s?\d|\s(?:to|and)\s))"
)
"""In German `am` is a preposition: `Tisch 5 am Fenster`."""

_PLAIN_WORD: Final = "(?:[A-ZÄÖÜ]?[a-zäöüß]+|[A-Z]+)"
PLAIN_WORDS: Final = re.compile(
    rf"(?<![^\s(\[\"'])({_PLAIN_WORD}(?: +{_PLAIN_WORD}){{0,31}})(?=[ ,;!?)]|[.:](?= |$)|$)"
)
"""At most 32 plain words between spaces, which need no look at the table. What stands behind the
first of them that needs one is read again."""

PLAIN_NUMBER: Final = re.compile(
    r"(?<!\S)([0-9]{1,9})"
    r"(?=[,;!?)](?: |$)|$| ([A-Za-zÄÖÜäöüß]{2,})(?:[ ,;!?)]|[.:](?: |$)|$))"
)
"""Digits between spaces (group 1) with a word after them (group 2) or none. The table is needed for
them only where that word is one of the `companions`."""


def any_of(names: Iterable[str]) -> str:
    """Returns an expression of any of some names, which tries the longest first.

    Names with one beginning share it: an expression that lists all units one by one takes three
    times as long to compile, and tries hundreds of them behind each number.
    """
    tails: dict[str, set[str]] = {}
    for name in names:
        tails.setdefault(name[:1], set()).add(name[1:])
    ends = tails.pop("", None) is not None
    alternatives = [re.escape(first) + any_of(tails[first]) for first in sorted(tails)]
    if not alternatives:
        return "" if ends else "(?!)"
    if len(alternatives) == 1 and not ends:
        return alternatives[0]
    return f"(?:{'|'.join(alternatives)})" + ("?" if ends else "")


def _spellings(names: Mapping[str, int]) -> set[str]:
    return {*names} | {name.replace("ae", "ä") for name in names}


@cache
def companions(lexicon: Lexicon) -> frozenset[str]:
    """Words, folded by case, that may make more than a number of the number before them."""
    names = _unit_names(lexicon.language) | _spellings(lexicon.months) | {*lexicon.multipliers}
    first = {re.split(r"[^A-Za-zÄÖÜäöüß]", name, maxsplit=1)[0] for name in names}
    return frozenset({word.casefold() for word in first} - {""} | {"of", "am", "pm", "uhr"})


@cache
def heads(lexicon: Lexicon) -> frozenset[str]:
    """Words, folded by case, with which a date or a time may begin."""
    closed = {"am", "pm", "mo", "di", "mi", "do", "fr", "sa", "so"}
    return frozenset({word.casefold() for word in _spellings(lexicon.months)} | closed)


class Phrases:
    """Entries of more than one word, by their first word."""

    def __init__(self, phrases: Sequence[str]) -> None:
        """Takes the entries, longest first."""
        entries: dict[str, list[str]] = {}
        for phrase in phrases:
            first = re.split(r"\W", phrase, maxsplit=1)[0].casefold()
            entries.setdefault(first, []).append(phrase)
        self._entries = {first: tuple(alternatives) for first, alternatives in entries.items()}
        self._longest = max(map(len, phrases), default=0)

    def following(self, word: str) -> frozenset[str]:
        """Returns the second words of the entries that begin with a word, folded by case."""
        parts = (re.split(r"\W", entry)[1:2] for entry in self._entries.get(word, ()))
        return frozenset(part.casefold() for some in parts for part in some)

    def end_of(self, text: str, start: int, word: str) -> int:
        """Returns where the entry ends that begins at a place of a text; -1 if there is none.

        Args:
            text: Any text.
            start: The place.
            word: The word that begins there, folded by case.
        """
        entries = self._entries.get(word, ())
        head = text[start : start + self._longest].lower()
        if not head.startswith(entries):
            return -1
        ends = (start + len(entry) for entry in entries if head.startswith(entry))
        return next((end for end in ends if not _WORD_LETTER.match(text, end)), -1)


_WORD_LETTER: Final = lazy_pattern(f"[{_W}]")


@cache
def phrases_of(lexicon: Lexicon) -> Phrases:
    """Returns the entries of more than one word."""
    return Phrases(lexicon.phrases)


_Bodies: TypeAlias = dict[str, str]
"""Alternatives by name; a name with a point is a part of the name before the point."""


_LETTER_FIRST: Final = frozenset(
    {
        *("url", "mail", "phrase", "uuid", "md", "days", "time.colon", "compact", "short", "pair"),
        *("path", "version", "compound", "identifier.digits", "identifier.colon"),
        *("identifier.line", "identifier.camel", "identifier.call", "dotted", "word.up", "word"),
    }
)
_DIGIT_FIRST: Final = frozenset(
    {
        *("mail", "phrase.digit", "uuid", "iso", "dmy", "slashes", "jdate", "dm", "time.colon"),
        *("time.point", "time.named", "time.hour", "compact", "range", "fraction", "jfrac", "path"),
        *("version", "jnum", "number", "identifier.digits", "identifier.call", "dotted", "digits"),
    }
)
_SIGN_FIRST: Final = frozenset(
    {
        *("mail", "flag", "path", "identifier.digits", "identifier.hash", "identifier.call"),
        *("dotted", "sign_", "mark", "other"),
    }
)
_AMOUNT_FIRST: Final = _SIGN_FIRST | {"money", "number"}
_EAST_FIRST: Final = frozenset(
    {
        *("mail", "jdate", "jdays", "time.hour", "time.part", "jfrac", "path", "jnum"),
        *("identifier.line", "identifier.east", "identifier.call", "dotted", "word.up", "word"),
        *("han", "kata", "hira", "sign_", "mark", "other"),
    }
)
"""Alternatives by what they may begin with."""


def _first_of(text: str, at: int) -> frozenset[str]:
    """Returns the alternatives that may begin at a place of a text."""
    character = text[at]
    if character.isdecimal():
        return _DIGIT_FIRST
    if "\u2e80" <= character <= "\uffff":
        return _EAST_FIRST
    if character == "_" or character.isalnum():
        return _LETTER_FIRST
    signed = character in "-+\u2212" and text[at + 1 : at + 2].isdecimal()
    return _AMOUNT_FIRST if signed or character in "$€£¥" else _SIGN_FIRST


_EAST: Final = lazy_pattern(f"[{CJK}]")
_UNLIKE: Final = lazy_pattern(rf"[^\W{_W}]|(?!\w)[{_W}]|[\u0300-\u036f]")


def _is_wide(character: str) -> bool:
    """Returns whether a character may be in a class and not in the narrow form of it."""
    if character <= "\u00ff":
        return False
    if character < "\u2000" or "\uac00" <= character <= "\ud7a3":
        return True
    return character.isalnum() and _EAST.match(character) is None


class Breadth(IntEnum):
    """What the classes of a pattern must tell apart in a text."""

    ALIKE = 0
    """Nothing: `\\w` matches the letters of the text as the classes do."""
    NARROW = 1
    """Han, kana and Latin-1."""
    WIDE = 2
    """All characters. Such classes take three quarters of the time to compile."""


def breadth_of(text: str) -> Breadth:
    """Returns what the classes of a pattern must tell apart in a text."""
    if text.isascii() or _UNLIKE.search(text) is None:
        return Breadth.ALIKE
    return Breadth.WIDE if any(map(_is_wide, text)) else Breadth.NARROW


class PatternTable:
    """The pattern of a language, in parts by the character that a match begins with.

    All of it takes 110 ms to compile, and each place of a text would try all alternatives. The
    part for letters takes 8 ms where a text has none beyond Latin-1.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        """Takes the language; compiles nothing yet."""
        self._lexicon = lexicon
        self._parts: dict[tuple[frozenset[str], Breadth], re.Pattern[str]] = {}

    def match(self, text: str, at: int, breadth: Breadth) -> re.Match[str] | None:
        """Returns what the whole pattern matches at a place of a text.

        Args:
            text: Any text.
            at: A place in it.
            breadth: Of the text.
        """
        key = _first_of(text, at), breadth
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = pattern(self._lexicon, *key)
        return part.match(text, at)


@cache
def table_of(lexicon: Lexicon) -> PatternTable:
    """Returns the table of a language."""
    return PatternTable(lexicon)


def pattern(
    lexicon: Lexicon, kinds: frozenset[str] | None = None, breadth: Breadth = Breadth.WIDE
) -> re.Pattern[str]:
    """Returns the pattern of a language, or a part of it.

    Args:
        lexicon: The language.
        kinds: Alternatives by name; all by default.
        breadth: Of the texts.
    """
    alternatives: dict[str, list[str]] = {}
    for kind, body in _table(lexicon):
        if kinds is None or kind in kinds:
            alternatives.setdefault(kind.partition(".")[0], []).append(body)
    source = "|".join(f"(?P<{name}>{'|'.join(bodies)})" for name, bodies in alternatives.items())
    if breadth is not Breadth.WIDE:
        alike = breadth is Breadth.ALIKE
        source = source.replace(_MARKED, "").replace(_W, r"\w" if alike else _W_NARROW)
        source = source.replace(LETTER, r"[^\W\d_]" if alike else _LETTER_NARROW)
    return re.compile(source)


@cache
def _table(lexicon: Lexicon) -> tuple[tuple[str, str], ...]:
    """Returns the alternatives of a language by name, those tried first in front."""
    steps = (_named, _days, _dates, _shares, _written, _numbers, _plain)
    return tuple(each for step in steps for each in step(lexicon).items())


def _named(lexicon: Lexicon) -> _Bodies:
    """Returns patterns of addresses and multi-word names, each matched as one token."""
    counted = [phrase for phrase in lexicon.phrases if phrase[0].isdecimal()]
    return {
        "url": rf"[A-Za-z][A-Za-z0-9+.-]{{1,12}}://[^\s<>\"'`,;)\]、。」』】{CJK}]+",
        "mail": rf"(?<![{_W}.])[{_W}.+-]{{1,64}}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
        "phrase.digit": rf"(?<![{_W}])(?i:{any_of(counted)})(?![{_W}])",
        "phrase": rf"(?<![{_W}])(?i:{any_of(lexicon.phrases)})(?![{_W}])",
        "uuid": (
            rf"(?<![{_W}])[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}(?![{_W}])"
        ),
    }


def _days(lexicon: Lexicon) -> _Bodies:
    """Days in digits."""
    german = lexicon.language == "de"
    two = r"|(?P<d8>\d\d)\.(?P<m8>\d\d)\.(?P<y8>\d\d)(?![\d.])" if german else ""
    two += r"|(?P<d9>\d{1,2})\.\s?(?P<m9>\d{1,2})\.(?!\d)" if german else ""
    return {
        "iso": (
            rf"(?<![{_W}-])(?P<y1>\d{{4}})(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})"
            r"(?![\d-])(?:T(?P<h0>\d{1,2}):(?P<n0>\d{2})(?::(?P<x0>\d{2})(?:[.,]\d+)?)?"
            r"(?:Z|(?P<z0>[+-]\d\d:?\d\d))?)?"
        ),
        "dmy": (
            rf"(?<![{_W}.])(?:(?P<d2>\d{{1,2}})\.\s?(?P<m2>\d{{1,2}})\.\s?(?P<y2>\d{{4}})"
            rf"(?!\d){two})"
        ),
        "slashes": (
            rf"(?<![{_W}/.])(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<y>(?:19|20)?\d\d)"
            rf"(?![{_W}/])"
        ),
        "jdate": (
            rf"(?:(?P<era>令和|平成|昭和)(?P<ye>元|{_KD})年(?:度(?!目))?|(?P<y3>\d{{4}})年)?"
            rf"(?P<m3>{_KD})月(?P<d3>{_KD})日|(?P<era4>令和|平成|昭和)(?P<ye4>元|{_KD})年"
            rf"(?:(?P<em4>{_KD})月)?|(?P<y4>\d{{4}})年(?:(?P<m4>{_KD})月)?|(?P<m5>{_KD})月(?!曜)"
        ),
    }


def _dates(lexicon: Lexicon) -> _Bodies:
    """Days and months by name, days of the week, times."""
    month = any_of(_spellings(lexicon.months) - {"may"})
    may = r"|May|MAY|may(?=\s+(?:19|20)\d\d|[,.;:)]|$)" if "may" in lexicon.months else ""
    month = f"(?i:{month}){may}"
    german = lexicon.language == "de"
    days = (
        rf"{_DAYS_DE}\.?(?:\s?(?:[-–/&+,]|bis|und)\s?{_DAYS_DE}(?![{_W}])\.?){{1,13}}"
        rf"|{_DAYS_DE}(?![{_W}])\.?(?=,?\s\d{{1,2}}(?:[.:]\d\d)?\s?(?:[-–.]|Uhr|bis))"
    )
    return {
        "dm": (
            rf"(?<![{_W}.])(?P<d6>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m6>{month})"
            rf"(?![{_W}])\.?(?:,?\s+(?P<y6>(?:19|20)\d\d)(?![\d:]))?"
        ),
        "md": (
            rf"(?<![{_W}])(?P<m7>{month})(?![{_W}])\.?\s+(?:the\s+)?(?P<d7>\d{{1,2}})"
            rf"(?:st|nd|rd|th)?(?![{_W}:.,]*\d)(?![{_W}])(?:,?\s+(?P<y7>(?:19|20)\d\d)(?![\d:]))?"
            rf"|(?<![{_W}])(?P<mA>{month})(?![{_W}])\.?,?\s+(?P<yA>(?:19|20)\d\d)(?![\d:])"
        ),
        "days": rf"(?<![{_W}])(?:{days if german else '(?!)'})",
        "jdays": (
            rf"(?:毎週)?{_DAYS_JA}(?:[〜~・、/-]{_DAYS_JA}){{1,13}}(?:曜日?)?|土日(?!本)|(?<=\(){_DAYS_JA}(?=\))"
        ),
        **_times(german=german),
    }


def _times(*, german: bool) -> _Bodies:
    half = _MERIDIEM_DE if german else _MERIDIEM
    clock = rf"o'clock(?![{_W}])|(?-i:Uhr)(?![{_W}])"
    return {
        "time.colon": (
            rf"(?<![{_W}.])(?<!\d:)(?:(?P<p0>[AaPp][Mm])\s?)?(?P<h1>\d{{1,2}}):(?P<n1>\d{{2}})"
            rf"(?::(?P<x1>\d{{2}})(?:[.,]\d+)?)?Z?(?![{_W}:])"
            rf"(?:\s*(?P<p1>{half}))?(?:\s+(?:{clock}))?"
        ),
        "time.point": (
            rf"(?<![{_W}.])(?<!\d:)(?P<h4>\d{{1,2}})[.:](?P<n4>\d{{2}})\s*"
            rf"(?:(?P<p4>{half})|(?:{clock}))"
        ),
        "time.named": (
            rf"(?<![{_W}])(?<!\d[:.,])(?P<h2>\d{{1,2}})(?:\s*(?P<p2>{half})|[\s-]*(?P<oc>{clock})"
            rf"(?:\s(?P<n2>[0-5]\d)(?![{_W}:.,/-]))?)"
        ),
        "time.hour": (
            r"(?:(?P<p3>午前|午後|早朝|朝|昼|夕方|夜|晩|深夜)の?|(?!一時(?!半)))"
            rf"(?P<h3>{_KD})時(?![間代点期刻計速])(?:(?P<n3>{_KD})分|(?P<half>半))?"
        ),
        "time.part": (
            r"(?P<p5>午前|午後|早朝|朝|昼|夕方|夜|晩|深夜)(?P<h5>\d{1,2}):(?P<n5>\d{2})(?!\d)"
        ),
    }


class _Units(NamedTuple):
    """Alternatives of units: all, names of more than one letter, and names of East Asia."""

    all: str
    long: str
    east: str


def _unit_names(language: str) -> set[str]:
    """Units that are known by their spelling alone."""
    # Mon. is short for Monate in German and for Monday in English.
    more = {"mon"} if language == "de" else set()
    return {*units()} - _SHORT_UNITS | more


@cache
def _units(language: str) -> _Units:
    names = _unit_names(language)
    long = any_of(names)
    short = r"(?<=\d)(?:[dglLVWvw]|in)|(?<=[\s-])[dgmlLVWt]"
    east = any_of(u for u in names if not u.isascii() and u not in "°€£¥￥％µgμgµm")
    return _Units(rf"(?:(?i:{long})|{short})", long, east)


def _shares(lexicon: Lexicon) -> _Bodies:
    unit, long, _ = _units(lexicon.language)
    half = _MERIDIEM_DE if lexicon.language == "de" else _MERIDIEM
    return {
        "compact": (
            rf"(?<![{_W}.])(?:(?P<ch>\d{{1,3}})h\s?(?P<cm>\d{{1,2}})m(?:in)?(?:\s?(?P<cs>\d{{1,2}})s)?"
            rf"|PT(?=\d)(?:(?P<ih>\d{{1,3}})H)?(?:(?P<im>\d{{1,4}})M)?(?:(?P<is>\d{{1,5}})S)?)(?![{_W}])"
        ),
        "flag": rf"(?<![{_W}-])--?[A-Za-z][{_W}-]*",
        "range": (
            rf"(?<![{_W}.:/#@+-])(?P<r1>\d{{1,4}}(?:[.,]\d+)?)[-–](?P<r2>\d{{1,4}}(?:[.,]\d+)?)"
            rf"(?![\d:/]|[.,]\d|[-–][{_W}])"
            rf"(?:\s?(?:(?P<ru>{unit}){_END}|(?P<rc>{half}|Uhr|o'clock))(?![{_W}]))?(?![{_W}])"
        ),
        "fraction": (
            rf"(?<![{_W}/.\\])(?:(?P<fw>\d{{1,3}})\s(?=[1-9]/))?(?P<fa>\d{{1,4}})/(?P<fb>\d{{1,4}})"
            rf"(?![{_W}/\\]|[.,]\d)(?:[\s-]?(?P<fu>(?i:{long}))(?![{_W}]))?"
        ),
        "jfrac": rf"(?P<jb>{_KD})分の(?P<ja>{_KD})|(?P<jhalf>半)分",
    }


def _written(lexicon: Lexicon) -> _Bodies:
    """Returns patterns of words that keep their spelling: abbreviations, pairs, paths, versions."""
    grouped = r"(?!\d{1,3}(?:\.\d{3}){2}(?![\d.]))" if lexicon.language == "de" else ""
    return {
        "short": rf"(?<![{_W}/.])(?i:w/in|w/out|w/o|w/(?=\s)|b/c|and/or|und/oder)(?![{_W}/])",
        "pair": (rf"(?<![{_W}/.@\\])[A-ZÄÖÜ]{LETTER}+(?:/[A-ZÄÖÜ]{LETTER}+)(?![{_W}/\\.*-])"),
        "path": (
            rf"(?<![{_W}/.@])[@~.]?[{_W}.*+{{}}-]{{0,120}}(?:[/\\]{{1,2}}[{_W}.@*~+{{}}-]+)+[/\\]?"
            rf"|(?<![{_W}/.@])[{_W}.*+-]{{1,120}}[/\\](?![{_W}/\\])"
            rf"|(?<![{_W}/.])~?/(?=[\s'\"]|$)"
        ),
        "version": (
            rf"(?<![{_W}.]){grouped}v?\d+(?:\.\d+){{2,}}(?:[-+][{_W}.]+)?(?![{_W}])"
            rf"|(?<![{_W}.])v\d+(?:\.\d+)*(?![{_W}])"
        ),
    }


def _numbers(lexicon: Lexicon) -> _Bodies:
    unit, long, east = _units(lexicon.language)
    kanji, digits = "[〇一二三四五六七八九十百千]+", r"\d[\d,.]{0,30}"
    big = any_of(w for w in lexicon.multipliers if len(w) > 2 and w.isascii())
    per = rf"(?:\s?/\s?(?P<{{0}}>(?i:{long}))(?![{_W}]))?"
    ordinal = rf"st|nd|rd|th{'|[.](?=[ ][a-zäöü])' if lexicon.language == 'de' else ''}"
    return {
        "jnum": (
            rf"(?!十分(?![間前後ご以待ほ程かおず]))(?P<jn>{digits}(?:[百千万億]\d{{0,30}}){{1,30}}"
            rf"|{kanji}(?:[万億](?:{kanji})?)*|{digits})(?P<ju>{east})(?P<jh>半(?![分額数]))?"
            rf"|半(?P<hu>時間|日|年|月)(?!間)|{digits}[万億]|[一二三四五六七八九十百千]+[万億]"
        ),
        "money": (
            rf"(?P<cur>[$€£¥])\s?(?P<cn>{_DIGITS})(?P<ck>[kKmM](?![{_W}])|\s(?:{big})\b)?(?![{_W}])"
            + per.format("cp")
        ),
        "number": (
            rf"(?<![{_W}.])(?P<sign>(?<![{_W})])[-+−](?=\d))?(?P<n>{_DIGITS})"
            rf"(?:(?P<ord>{ordinal})(?![{_W}])|(?P<k>[kKBM](?![{_W}])|\s(?i:{big})\b)?"
            rf"(?:(?P<sep>[\s-]?)(?P<u>{unit})(?:{per.format('np')}{_END}))?)?"
            rf"(?![{_W}]|-[{_W}]*\d)"
        ),
    }


def _plain(lexicon: Lexicon) -> _Bodies:
    tail = r"(?=-[A-ZÄÖÜ][a-zäöüß]{2,}+(?![\w-]*\d))" if lexicon.language == "de" else "(?!)"
    return {
        "compound": rf"(?<![{_W}-])(?:[A-Z]{{1,4}}\d{{1,3}}(?=-[a-z]{{3,}}+(?![\w-]*\d))"
        rf"|[A-Za-z]+\d[A-Za-z0-9]*{tail})",
        "identifier.digits": (
            r"#?(?=[A-Za-z0-9_-]{0,80}\d)(?=[0-9_-]{0,80}[A-Za-z])"
            r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9_]+){0,60}(?:[.:][A-Za-z0-9]+){0,60}"
        ),
        "identifier.colon": rf"[A-Za-z][{_W}-]{{0,120}}(?::[A-Za-z0-9][{_W}-]*)+",
        "identifier.hash": rf"#{LETTER}[{_W}-]*",
        "identifier.line": (rf"{LETTER}*_[{_W}]+|{LETTER}+_"),
        "identifier.east": f"[{HAN}{KATA}]{{1,120}}(?:_[A-Za-z0-9{HAN}{KATA}]+)+",
        "identifier.camel": rf"[a-z]+[A-Z][{_W}]*|[A-Z][a-z]+[A-Z][{_W}]*",
        "identifier.call": rf"[{_W}]+(?=\(\))",
        "dotted": (
            rf"(?<![{_W}.])(?:[{_W}*-]{{1,120}})?\.{LETTER}[{_W}-]*(?:\.[{_W}]+)*"
            rf"|{LETTER}[{_W}-]{{0,120}}(?:\.{LETTER}[{_W}]*)+"
        ),
        "digits": r"\d+(?:[.,:/-]\d+)*",
        "word.up": rf"{LETTER}+-(?:up|in|on|off|out|down|over)(?![{_W}])",
        "word": rf"{LETTER}+{_MARKED}(?:'{LETTER}+){{0,8}}",
        "han": f"[{HAN}]+",
        "kata": f"[{KATA}]+",
        "hira": r"[\u3041-\u309f]+",
        "sign_": r"<=|>=|!=|==|=>|->|[<>→←↔≠≤≥✅❌✓✗☑☐√×]|\[[ xX]\]|~~",
        "mark": rf"[.;:,!?|()\[\]{{}}。、・「」『』【】{LINE}=]|(?<=\s)[-–—](?=\s)|–|—",
        "other": r"[^\s\w]",
    }
