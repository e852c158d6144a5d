"""Values said in words, and how plain numbers stand.

Works on the matches of `tokens.py` before words are told apart, and replaces a run of them by one
match that has a value. What is only about words of a language stands in `lexicon/forms.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import takewhile
from typing import Final, TypeAlias

from echoless.core.text import lazy_pattern
from echoless.matching.languages import Lexicon
from echoless.matching.values import quantities
from echoless.matching.values.amounts import amount, mixed, one_in, share, signed
from echoless.matching.values.cursor import CLOSED, Cursor, Spelled, forms_of
from echoless.matching.values.tokens import (
    ClockTime,
    Day,
    DialTime,
    EitherDay,
    Kind,
    Number,
    Ordinal,
    Quantity,
    Raw,
    Value,
    Weekday,
)


def _hour(c: Cursor, at: int) -> tuple[int, int] | None:
    """Returns a whole hour of the dial or the day: how many matches, and the hour."""
    number = c.number(at)
    if number is None or number[1].denominator != 1 or not 0 <= number[1] <= 24:
        return None
    taken, value = number
    # "ten past five people" does not tell the time.
    return None if c.unit(at + taken) and not c.has(at + taken, "oclock") else (taken, int(value))


def _clock_time(c: Cursor, at: int, taken: int, hour: int, minute: int) -> Spelled | None:
    """Returns a clock time with what may follow it: `o'clock`, `Uhr`, `in the evening`."""
    if minute < 0:
        hour, minute = (hour - 1) % (24 if hour > 12 else 12), minute + 60
    said = c.has(at + taken, "oclock")
    taken += said
    after = c.number(at + taken) if said and not minute else None
    if after is not None and 0 < after[1] < 60 and c.ends(at + taken + after[0]):
        taken, minute = taken + after[0], int(after[1])
    part = c.part(at + taken)
    if part is not None:
        placed = quantities.in_part(hour, part[1])
        if placed is None:
            return None
        return Spelled(taken + part[0], Kind.DATE, ClockTime(placed % 24, minute))
    if hour > 12 or hour == 0 or (said and c.lex.language == "de"):
        return Spelled(taken, Kind.DATE, ClockTime(hour % 24, minute))
    return Spelled(taken, Kind.DATE, DialTime(hour % 12, minute))


def _minutes(c: Cursor, at: int) -> tuple[int, int] | None:
    """Reads `quarter`, `ten`, `eight minutes`: how many matches, and the minutes."""
    if c.has(at, "quarter"):
        return 1, 15
    if c.has(at, "half"):
        return 1, 30
    number = c.number(at)
    if number is not None:
        taken, value = number
        named = c.has(at + taken, "minutes")
        if value.denominator == 1 and 0 < value < 60 and (named or value % 5 == 0):
            return taken + named, int(value)
        return None
    raw = c.raws[at] if at < len(c.raws) else None
    if raw is None or len(raw.values) != 1:
        return None
    amount = raw.values[0][1]
    if isinstance(amount, Quantity) and amount.unit == "second":
        value = amount.amount / 60
        return (1, int(value)) if value.denominator == 1 and 0 < value < 60 else None
    return None


def clock(c: Cursor, at: int) -> Spelled | None:
    """Reads `half past seven`, `Viertel nach drei`, `halb acht`, `six in the morning`."""
    if c.has(at, "half_next") or c.has(at, "three_quarters"):
        hour = _hour(c, at + 1)
        if hour is not None:
            minute = -30 if c.has(at, "half_next") else -15
            return _clock_time(c, at, 1 + hour[0], hour[1], minute)
    british = c.lex.language == "en" and c.has(at, "half") and c.has(at - 1, "clock_leads")
    hour = _hour(c, at + 1) if british else None
    if hour is not None and 0 < hour[1] <= 12 and c.ends(at + 1 + hour[0]):
        return _clock_time(c, at, 1 + hour[0], hour[1], 30)
    return _past_or_to(c, at) or _plain_hour(c, at)


def _past_or_to(c: Cursor, at: int) -> Spelled | None:
    """Reads `ten past nine`, `eight minutes to ten`, `fünf nach halb acht`."""
    minutes = _minutes(c, at)
    if minutes is None:
        return None
    taken, minute = minutes
    past, to = c.has(at + taken, "past"), c.has(at + taken, "to")
    if not past and not to:
        return None
    named = c.has(at, "quarter") or c.has(at, "half")
    exact = taken > 1 or named or any(isinstance(value, Quantity) for _, value in c.raws[at].values)
    # "five to ten" is a range of numbers unless a time is expected.
    if to and c.lex.language == "en" and not exact and not c.has(at - 1, "clock_leads"):
        return None
    half = c.has(at + taken + 1, "half_next")
    hour = _hour(c, at + taken + 1 + half)
    if hour is None or not 0 < hour[1] <= 24 or (to and c.has(at, "half")):
        return None
    end = at + taken + 1 + half + hour[0]
    if not (named or half or c.ends(end) or c.has(end, "oclock") or c.part(end)):
        return None
    shift = (minute if past else -minute) - (30 if half else 0)
    return _clock_time(c, at, taken + 1 + half + hour[0], hour[1], shift)


def _plain_hour(c: Cursor, at: int) -> Spelled | None:
    """Reads `seven o'clock`, `10 at night`, `at seven thirty`."""
    hour = _hour(c, at)
    if hour is None:
        return None
    taken, value = hour
    if c.has(at + taken, "oclock") or c.part(at + taken):
        return _clock_time(c, at, taken, value, 0)
    minute = c.number(at + taken) if value <= 12 else None
    if (
        minute is not None
        and c.has(at - 1, "clock_leads")
        and minute[1] in {10, 15, 20, 25, 30, 35, 40, 45, 50, 55}
        and c.raws[at].word
        and not c.unit(at + taken + minute[0])
    ):
        return _clock_time(c, at, taken + minute[0], value, int(minute[1]))
    return None


def timed(c: Cursor, at: int) -> Spelled | None:
    """Returns a time in digits with the part of the day after it: `8 Uhr abends`."""
    raw = c.raws[at]
    time = raw.values[0][1] if raw.kind == "time" else None
    if not isinstance(time, ClockTime | DialTime):
        return None  # `30 o'clock` tells none
    part = c.part(at + 1)
    if part is None or raw.text.casefold().rstrip(".").endswith("m"):
        return None
    noon = isinstance(time, DialTime) and not time.hour
    placed = quantities.in_part(12 if noon else time.hour, part[1])
    if placed is None:
        return None
    second = time.second if isinstance(time, ClockTime) else 0
    return Spelled(1 + part[0], Kind.DATE, ClockTime(placed % 24, time.minute, second))


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
    if c.stands_alone(at):
        return None
    valued = bool(c.raws[at].values)
    for read in _AT_VALUE if valued else _AT_WORD:
        value = read(c, at)
        if value is not None:
            return value
    return None


def spell(raws: Sequence[Raw], lexicon: Lexicon) -> list[Raw]:
    """Replaces values said in words by matches with values, then join what belongs together."""
    starts, german = forms_of(lexicon).starts, lexicon.language == "de"
    words, places = list[Raw](), list[int]()
    before = ""
    for raw in raws:
        kind, text, values, word = raw
        if kind != "other" or text in _KEPT:  # other signs say nothing, but for a hyphen
            if (
                word in starts
                or (german and word and quantities.compound_number(word) is not None)
                or (values and not isinstance(values[0][1], str))
            ):
                places.append(len(words))
            words.append(raw._replace(kind="joined") if word and before == "-" else raw)
        before = text
    if not places:
        return words
    cursor = Cursor(words, lexicon)
    spelled = _spelled(cursor, places)
    return joined(spelled, cursor.forms.sets) if len(places) > 1 else spelled


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
    return bool(word) and word not in _without_number(lex)


@cache
def _without_number(lex: Lexicon) -> frozenset[str]:
    lists = (lex.sets[name] for name in (*CLOSED, "bland", "weak"))
    return frozenset(lex.quantifiers).union(*lists)


_DASHES: Final = frozenset("-–—~〜")
_ON_THE_HOUR: Final = lazy_pattern(r"(?:uhr|o'clock)$")
_AFTERNOON: Final = lazy_pattern("午後|夕方")


def joined(raws: Sequence[Raw], sets: Mapping[str, frozenset[str]]) -> list[Raw]:
    """Adds up quantities in two units, and give the first end of a range what the second says.

    Args:
        raws: Matches in order.
        sets: Word lists of the language, see `lexicon/forms.json`.
    """
    out: list[Raw] = []
    for raw in raws:
        if len(raw.values) != 1 or not out:
            out.append(raw)
        elif not _added(out, raw, sets):
            _share(out, raw, sets)
            out.append(_still_afternoon(out, raw))
    return out


def _still_afternoon(out: Sequence[Raw], raw: Raw) -> Raw:
    """午後5時から7時: the second hour is in the afternoon too."""
    if len(out) < 2 or raw.kind != "time" or out[-2].kind != "time":
        return raw
    first = out[-2]
    start, time = first.values[0][1], raw.values[0][1]
    linked = out[-1].text in {"から", "〜", "~", "-", "–"}
    if not linked or not _AFTERNOON.match(first.text) or not raw.text[0].isdecimal():
        return raw
    if not (isinstance(start, ClockTime) and isinstance(time, ClockTime)):
        return raw
    if time.hour >= 12 or time.hour + 12 <= start.hour:
        return raw
    later = ClockTime(time.hour + 12, time.minute, time.second)
    return Raw(raw.kind, raw.text, ((Kind.DATE, later),))


_LONGEST_SUM: Final = 60
"""Characters of a quantity that another is added to: four units written out."""


def _added(out: list[Raw], raw: Raw, sets: Mapping[str, frozenset[str]]) -> bool:
    """Reads `4 h 30 min`: the second quantity is a part of the first one's unit."""
    part = raw.values[0][1]
    if not isinstance(part, Quantity):
        return False
    back = 2 if len(out) > 1 and out[-1].word in sets["and"] else 1
    first = out[-back]
    whole = first.values[0][1] if len(first.values) == 1 else None
    unit = quantities.unit_of(first.text) if isinstance(whole, Quantity) else None
    if len(first.text) > _LONGEST_SUM or unit is None or not isinstance(whole, Quantity):
        return False
    total = quantities.add_up(whole, part, unit)
    if total is None or not quantities.unit_of(raw.text):
        return False
    del out[-back:]
    out.append(Raw("spelled", f"{first.text} {raw.text}", ((Kind.NUMBER, total),)))
    return True


def _share(out: list[Raw], raw: Raw, sets: Mapping[str, frozenset[str]]) -> None:
    """Gives the number before `to` or `and` the half of the day, the unit or the month after it."""
    if len(out) < 2 or len(out[-2].values) != 1:
        return
    link, first = out[-1], out[-2]
    text = link.word or link.text
    ranged = text in sets["range"] or text in _DASHES
    if not ranged and text not in sets["or"]:
        return
    number, after = first.values[0][1], raw.values[0][1]
    between = len(out) > 2 and out[-3].word in sets["between"]
    digits = str(number) if isinstance(number, Number | Ordinal) else ""
    shared: Value | None = None
    if isinstance(after, Day | EitherDay):
        fits = isinstance(after, Day) and digits.isdecimal() and 0 < int(digits) < after.day
        shared = Day(after.month, int(digits)) if isinstance(after, Day) and fits else None
    elif not isinstance(number, Number) or not digits.isdigit():
        return
    elif isinstance(after, ClockTime | DialTime):
        shared = _same_half(digits, after, raw)
    elif isinstance(after, Quantity) and (ranged or between):
        unit = quantities.unit_of(raw.text)
        shared = quantities.quantity_of(Fraction(digits), unit) if unit else None
    if shared is not None:
        kind = Kind.NUMBER if isinstance(shared, Quantity) else Kind.DATE
        out[-2] = Raw("spelled", first.text, ((kind, shared),))


def _same_half(hour: str, end: ClockTime | DialTime, raw: Raw) -> ClockTime | DialTime | None:
    """Returns the hour before `to 10 pm`, `bis 18 Uhr`, `to six in the evening`; not `10:30`."""
    text = raw.text.casefold()
    digits = "".join(takewhile(str.isdecimal, text[:2]))
    if int(hour) > 24 or (
        raw.kind == "time" and ":" in text and not text.rstrip(".").endswith("m")
    ):
        return None
    if _ON_THE_HOUR.search(text) or (digits and int(digits) > 12):
        whole = int(hour)
        open_half = isinstance(end, DialTime) and 0 < whole <= 12
        return DialTime(whole % 12, 0) if open_half else ClockTime(whole % 24, 0)
    if isinstance(end, DialTime):
        return DialTime(int(hour) % 12, 0) if 0 < int(hour) <= 12 else None
    half = "pm" if end.hour >= 12 else "am"
    ends = quantities.clock_range(hour, str(end.hour % 12 or 12), half)
    return ends[0] if ends else None
