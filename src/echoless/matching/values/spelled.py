"""Values said in words, and how plain numbers stand.

Works on the matches of `tokens.py` before words are told apart, and replaces a run of them by one
match that has a value. What is only about words of a language stands in `lexicon/forms.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from echoless.matching.languages import Lexicon
from echoless.matching.values import quantities
from echoless.matching.values.amounts import amount, mixed, one_in, share, signed
from echoless.matching.values.clock_times import clock, timed
from echoless.matching.values.cursor import CLOSED, Cursor, Spelled
from echoless.matching.values.joined import joined
from echoless.matching.values.tokens import Kind, Number, Ordinal, Raw, Weekday

_KEPT: Final = frozenset("~〜")


def _ordinal(c: Cursor, at: int) -> tuple[int, int] | None:
    """Reads `third`, `twenty-first`, `3rd`: how many matches, and the number."""
    word = c.word(at)
    if word in c.forms.ordinals:
        return 1, c.forms.ordinals[word]
    tens, ones = c.lex.numbers.get(word, 0), c.forms.ordinals.get(c.word(at + 1), 0)
    if tens in {20, 30} and 0 < ones < 10:
        return 2, tens + ones
    raw = c.raws[at] if at < len(c.raws) else None
    value = raw.values[0][1] if raw is not None and raw.values else None
    return (1, value.number) if isinstance(value, Ordinal) and value.number < 100 else None


def _day(c: Cursor, at: int) -> Spelled | None:
    """Reads `third of June`, `June the third`, `dritten Juni`; else `twenty-first` alone."""
    months = c.lex.months
    if c.word(at) in months and c.raws[at].text[0].isupper():
        skip = 1 + c.has(at + 1, "the")
        ordinal = _ordinal(c, at + skip)
        if ordinal is None or c.word(at + skip + ordinal[0]) in months:
            return None
        day = quantities.day_of(months[c.word(at)], ordinal[1])
        return Spelled(skip + ordinal[0], Kind.DATE, day) if day else None
    ordinal = _ordinal(c, at)
    if ordinal is None:
        return None
    taken, number = ordinal
    skip = taken + c.has(at + taken, "of")
    if c.word(at + skip) in months and c.raws[at + skip].text[0].isupper():
        day = quantities.day_of(months[c.word(at + skip)], number)
        return Spelled(skip + 1, Kind.DATE, day) if day else None
    known = c.word(at) in c.lex.ordinals or not c.raws[at].word
    if known and taken == 1:
        return None
    return Spelled(taken, Kind.RELATION, Ordinal(number))


_Reader: TypeAlias = Callable[[Cursor, int], Spelled | None]

_AT_VALUE: Final[tuple[_Reader, ...]] = (timed, clock, one_in, mixed, share, _day, amount)
_AT_WORD: Final[tuple[_Reader, ...]] = (signed, clock, _day, one_in, mixed, share, amount)


def _next_value(c: Cursor, at: int) -> Spelled | None:
    """Returns the value in words that begins at a place; the longest form first."""
    valued = bool(c.raws[at].values)
    if valued and c.stands_alone(at):
        return None
    for read in _AT_VALUE if valued else _AT_WORD:
        value = read(c, at)
        if value is not None:
            return value
    return None


def _is_number(word: str) -> bool:
    """Returns whether a German word is a number: `einundzwanzig`."""
    return quantities.compound_number(word) is not None


def spell(raws: Sequence[Raw], lexicon: Lexicon) -> list[Raw]:
    """Replaces values said in words by matches with values, then join what belongs together."""
    words = list(_without_signs(raws))
    cursor = Cursor(words, lexicon)
    starts, german = cursor.forms.starts, lexicon.language == "de"
    places = [
        at
        for at, raw in enumerate(words)
        if raw.values or (raw.word and (raw.word in starts or (german and _is_number(raw.word))))
    ]
    return joined(_spelled(cursor, places), cursor.forms.sets) if places else words


def _without_signs(raws: Sequence[Raw]) -> Iterator[Raw]:
    """Leave out signs that say nothing, but for which words a hyphen joins."""
    before = ""
    for raw in raws:
        if raw.kind != "other" or raw.text in _KEPT:
            yield raw._replace(kind="joined") if raw.word and before == "-" else raw
        before = raw.text


def _spelled(c: Cursor, places: Sequence[int]) -> list[Raw]:
    out: list[Raw] = []
    end, last_hour = 0, -9
    for at in places:
        if at < end:
            continue
        out.extend(_undropped(c, end, at))
        raw, value = c.raws[at], _next_value(c, at)
        end = at + (value.taken if value else 1)
        if value is not None:
            text = " ".join(r.text for r in c.raws[at:end])
            raw = Raw("spelled", text, ((value.kind, value.value),))
        if len(raw.values) == 1 and isinstance(raw.values[0][1], Number):
            linked = last_hour == at - 1 and c.word(at - 1) in _LINKS
            raw = Raw(_place(c, at, end, linked=linked) or raw.kind, raw.text, raw.values)
            last_hour = end if raw.kind == "hour" else -9
        elif raw.kind == "range" and _are_hours(c, at):
            raw = Raw("hour", raw.text, raw.values)
        if at not in c.dropped:
            out.append(raw)
    out.extend(_undropped(c, end, len(c.raws)))
    return out


def _undropped(c: Cursor, start: int, end: int) -> Sequence[Raw]:
    between = c.raws[start:end]
    if not c.dropped:
        return between
    return [raw for at, raw in enumerate(between, start) if at not in c.dropped]


_LINKS: Final = frozenset({"to", "and", "or", "bis", "und", "oder"})
_HOUR: Final = re.compile(r"(?:[1-9]|1\d|2[0-4]|[1-9]\.[0-5]\d|1\d\.[0-5]\d|2[0-4]\.[0-5]\d)")


def _are_hours(c: Cursor, at: int) -> bool:
    """Reads `Mon to Fri 9-18`, `open 9-18`."""
    before = c.raws[at - 1] if at else None
    hours = [isinstance(v, Number) and _HOUR.fullmatch(v.text) for _, v in c.raws[at].values]
    if before is None or not all(hours):
        return False
    weekday = bool(before.values) and isinstance(before.values[-1][1], Weekday)
    named = before.word in c.lex.weekdays or c.has(at - 1, "hour_leads")
    return weekday or named or c.has(at - 1 - (before.kind == "mark"), "hour_words")


def _place(c: Cursor, at: int, end: int, *, linked: bool) -> str:
    """Returns how a plain number stands, see `Token.bare`."""
    if not c.ends(end):
        return ""
    led = c.has(at - 1, "hour_leads")
    if (led or linked) and _HOUR.fullmatch(c.digits_at(at)):
        return "hour"
    lead = c.raws[at - 1] if at else None
    named = lead is not None and (lead.kind in {"han", "kata"} or _is_content(lead.word, c.lex))
    return "" if named else "alone"


def _is_content(word: str, lex: Lexicon) -> bool:
    """Returns whether a number after the word is its number: `port 25`, `Corsa 3`."""
    known = any(lex.has(name, word) for name in (*CLOSED, "bland", "weak"))
    return bool(word) and not known and word not in lex.quantifiers
