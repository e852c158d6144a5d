"""Days told from where the writer stands (`tomorrow`, `vor zwei Tagen`), made absolute.

Where two readings are common the day stays open: on a Tuesday `next Friday` is the one of this week
to some and of the next to others. Such a day equals only another that is open in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, NamedTuple

from echoless.core.shipped import shipped_json
from echoless.matching.languages import Unit, fold
from echoless.matching.values.patterns import any_of
from echoless.matching.values.tokens import (
    Day,
    Kind,
    Month,
    OpenDay,
    Quantity,
    Token,
    Value,
    Week,
    Weekday,
    Year,
)

_DAY: Final = 86_400
_LONGEST: Final = 366
_SPANS: Final[Mapping[Value, str]] = {
    Unit("second", Fraction(604_800)): "week",
    Unit("month", Fraction(1)): "month",
    Unit("month", Fraction(12)): "year",
}
_THIS: Final = frozenset({"this", "diese", "diesen", "dieser", "dieses", "diesem"})
_PARTS: Final = frozenset({"morning", "afternoon", "evening", "abend"})
_WEEKENDS: Final = frozenset({"weekend", "wochenende"})
_NIGHTS: Final = frozenset({"night", "nacht"})
_SPANNING: Final = (Quantity, Unit)
"""Types of what can be a span of time."""
_ONE: Final = frozenset({"a", "an", "one", "einer", "einem"})


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    days: Mapping[str, int]
    refs: Mapping[str, int]
    spans: Mapping[str, tuple[str, int]]
    ago: frozenset[str]
    later: frozenset[str]
    before: frozenset[str]
    within: frozenset[str]
    leads: frozenset[str]


@cache
def _words(language: str) -> _Words:
    raw = shipped_json("matching/lexicon/forms.json")[language]
    return _Words(
        days=raw["relative_days"],
        refs=raw["relative_refs"],
        spans={word: (name, shift) for word, (name, shift) in raw["relative_spans"].items()},
        ago=frozenset(raw["after_span"]),
        later=frozenset(raw["later_span"]),
        before=frozenset(raw["before_span"]),
        within=frozenset(raw["until_span"]),
        leads=frozenset({*raw["relative_days"], *raw["relative_refs"], *raw["relative_spans"]}),
    )


class _Resolved(NamedTuple):
    """A relative day: the range of its tokens, and the absolute values."""

    start: int
    end: int
    values: tuple[Value, ...]


@lru_cache(maxsize=65_536)
def anchored_tokens(
    tokens: tuple[Token, ...], language: str, day: date, *, year: bool, weekday: bool
) -> tuple[Token, ...]:
    """Tokens with relative days replaced by absolute ones.

    Args:
        tokens: Of one text.
        language: Its language.
        day: When it was written.
        year: Also say the year.
        weekday: Also say the day of the week.
    """
    out: list[Token] = []
    at = 0
    for resolved in _relative(tokens, language, day):
        out.extend(tokens[at : resolved.start])
        first = tokens[resolved.start]
        text = " ".join(t.text for t in tokens[resolved.start : resolved.end])
        values = [
            value
            for value in resolved.values
            if (year or not isinstance(value, Year) or len(resolved.values) == 1)
            and (weekday or not isinstance(value, Weekday))
        ]
        for place, value in enumerate(values):
            mark, glue = ("", "") if place else (first.mark, first.glue)
            out.append(Token(Kind.DATE, value, text, mark, glue))
        at = resolved.end
    out.extend(tokens[at:])
    return tuple(
        token if token.place == place else token._replace(place=place)
        for place, token in enumerate(out)
    )


_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
"""Scripts in which a word may begin and end anywhere: Thai to Khmer, Japanese, Han, Hangul."""


@cache
def _elsewhere() -> tuple[re.Pattern[str], Mapping[str, tuple[str, int]]]:
    """Returns a pattern of the phrases of all languages of CLDR, and what each of them means."""
    raw = shipped_json("matching/lexicon/relative_days.json")
    meant = {
        phrase: (span, int(shift))
        for span, shifts in raw.items()
        for shift, phrases in shifts.items()
        for phrase in phrases
    }
    inside = f"(?:(?<![^\\W{_UNSPACED}])|(?<=[{_UNSPACED}]))"
    return re.compile(f"{inside}{any_of(meant)}(?:(?!\\w)|(?<=[{_UNSPACED}]))"), meant


def days_elsewhere(body: str, day: date) -> list[tuple[str, Value]]:
    """Returns the relative days of a text in any language of CLDR, each with the day it means.

    Args:
        body: The text; of its languages, those that `anchored_tokens` reads word by word are here
            too.
        day: When it was written.
    """
    pattern, meant = _elsewhere()
    named: list[tuple[str, Value]] = []
    small = unicodedata.normalize("NFC", body.casefold().replace("’", "'"))
    phrases = dict.fromkeys(m.group() for m in pattern.finditer(small))
    if not body.isascii():  # vowel signs may be left out
        phrases |= dict.fromkeys(m.group() for m in pattern.finditer(fold(body, "en")))
    for phrase in phrases:
        span, shift = meant[phrase]
        then = _shifted(day, shift * (7 if span == "week" else 1))
        if span in {"month", "year"}:
            named += [(phrase, value) for value in _month_or_year(day, span, shift)]
        elif then is not None:
            value = _week(then) if span == "week" else Day(then.month, then.day)
            named.append((phrase, value))
    return named


def is_relative(tokens: tuple[Token, ...], language: str) -> bool:
    """Returns whether a text tells a day from where its writer stands."""
    return bool(_relative(tokens, language, date(2024, 1, 3)))


def _relative(tokens: Sequence[Token], language: str, day: date) -> list[_Resolved]:
    words, dates, end = _words(language), list[_Resolved](), 0
    folded = [token.text.casefold() for token in tokens]
    if not "".join(folded).isascii():
        folded = [fold(token.text, language) for token in tokens]
    for at in _leads(tokens, folded, words):
        if at < end:
            continue
        resolved = (
            _plain_day(tokens, folded, at, words, day)
            or _this(tokens, folded, at, words, day)
            or _named(tokens, folded, at, words, day)
            or _counted(tokens, folded, at, words, day)
        )
        if resolved is not None and resolved.start >= end:
            dates.append(resolved)
            end = resolved.end
    return dates


def _leads(tokens: Sequence[Token], folded: Sequence[str], words: _Words) -> Sequence[int]:
    """Returns the places of tokens from which on a relative day can be read: few in most texts."""
    leads = words.leads
    return [
        at
        for at, token in enumerate(tokens)
        if folded[at] in leads
        or isinstance(token.value, _SPANNING)
        or (token.glue and token.glue.rpartition(" ")[2] in _THIS)
    ]


def _absolute(day: date) -> tuple[Value, ...]:
    return (Weekday(day.isoweekday()), Day(day.month, day.day), Year(day.year))


def _shifted(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _plain_day(
    tokens: Sequence[Token], folded: Sequence[str], at: int, words: _Words, day: date
) -> _Resolved | None:
    """Reads `tomorrow`, `the day after tomorrow`, `gestern`; not `heute Morgen` or `am Morgen`."""
    shift = words.days.get(folded[at])
    if shift is None:
        return None
    if folded[at] == "morgen":
        after_a_day = at > 0 and folded[at - 1] in {"heute", "gestern"}
        if tokens[at].text != "morgen" or after_a_day:
            return None
    start = at
    if at > 1 and abs(shift) == 1 and folded[at - 2 : at] in (["day", "after"], ["day", "before"]):
        start, shift = at - 2, shift * 2
    meant = _shifted(day, shift)
    return _Resolved(start, at + 1, _absolute(meant)) if meant else None


def _this(
    tokens: Sequence[Token], folded: Sequence[str], at: int, words: _Words, day: date
) -> _Resolved | None:
    """Reads `this week`, `this morning`, `last night`; what part of the day it was stays said."""
    token = tokens[at]
    if words.refs.get(folded[at]) == -1 and folded[at + 1 : at + 2] and folded[at + 1] in _NIGHTS:
        meant = None if _leads_a_word(tokens, at + 1) else _shifted(day, -1)
        return _Resolved(at, at + 1, _absolute(meant)) if meant else None
    if token.glue.rpartition(" ")[2] not in _THIS:
        return None
    if folded[at] in _PARTS and not _leads_a_word(tokens, at):
        return _Resolved(at, at + 1, (*_absolute(day), token.value))
    name = _SPANS.get(token.value)
    if name == "week":
        return _Resolved(at, at + 1, (_week(day),))
    if folded[at] in _WEEKENDS:
        return _Resolved(at, at + 1, (_week(day), token.value))
    return _Resolved(at, at + 1, _month_or_year(day, name, 0)) if name else None


def _leads_a_word(tokens: Sequence[Token], at: int) -> bool:
    """Checks for a noun that follows: `this morning routine` is no morning."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return after is not None and after.kind is Kind.WORD and not (after.mark or after.glue)


def _week(day: date) -> Week:
    return Week(day.isocalendar().year, day.isocalendar().week)


def _named(
    tokens: Sequence[Token], folded: Sequence[str], at: int, words: _Words, day: date
) -> _Resolved | None:
    """Reads `last Monday`, `next week`, `Montag nächster Woche`, 来週の月曜日."""
    span, taken = words.spans.get(folded[at]), 1
    if span is None and folded[at] in words.refs and at + 1 < len(tokens):
        shift = words.refs[folded[at]]
        after = tokens[at + 1].value
        if isinstance(after, Weekday):
            return _Resolved(at, at + 2, _near(day, after.day, shift, folded[at]))
        name = _SPANS.get(after)
        span, taken = ((name, shift), 2) if name else (None, 1)
    if span is None:
        return None
    start, end = at, at + taken
    if span[0] != "week":
        return _Resolved(start, end, _month_or_year(day, *span))
    for place, new in ((end, (start, end + 1)), (start - 1, (start - 1, end))):
        beside = tokens[place].value if 0 <= place < len(tokens) else None
        if isinstance(beside, Weekday):
            monday = day - timedelta(days=day.isoweekday() - 1)
            meant = _shifted(monday, 7 * span[1] + beside.day - 1)
            return _Resolved(*new, _absolute(meant)) if meant else None
    meant = _shifted(day, 7 * span[1])
    if meant is None:
        return None
    return _Resolved(start, end, (_week(meant),))


def _month_or_year(day: date, name: str, shift: int) -> tuple[Value, ...]:
    if name == "year":
        return (Year(day.year + shift),)
    months = day.year * 12 + day.month - 1 + shift
    return (Month(months % 12 + 1), Year(months // 12))


def _near(day: date, weekday: int, shift: int, word: str) -> tuple[Value, ...]:
    """Returns the nearest such weekday, if it is also the one of the next or the last week."""
    away = (
        (weekday - day.isoweekday()) % 7 or 7
        if shift > 0
        else (-((day.isoweekday() - weekday) % 7 or 7))
    )
    meant = _shifted(day, away)
    if meant is None:
        return (Weekday(weekday),)
    weeks = meant.isocalendar()[:2] != day.isocalendar()[:2]
    certain = weeks or word in {"coming", "kommenden", "kommende", "kommender", "kommendes"}
    return _absolute(meant) if certain else (OpenDay(meant),)


def _counted(
    tokens: Sequence[Token], folded: Sequence[str], at: int, words: _Words, day: date
) -> _Resolved | None:
    """Reads `in two days`, `a week ago`, `vor drei Tagen`, 2日前."""
    after = folded[at + 1] if at + 1 < len(tokens) else ""
    days = _days(tokens[at])
    if days is None:
        return _just_now(tokens, folded, at, after, words, day)
    start, end, shift = at, at + 1, 0
    if after in words.ago or after in words.later:
        end, shift = at + 2, -days if after in words.ago else days
    elif at and folded[at - 1] in words.before and not tokens[at].glue:
        start, shift = at - 1, -days
    elif words.within & {*tokens[at].glue.split()[-2:]} and (
        at + 1 == len(tokens) or tokens[at + 1].mark
    ):
        # `in two days it turns sour` tells a time, `built in two days by Ben` a duration. They
        # cannot be told apart, so `in` counts only at the end or before a mark.
        shift = days
    meant = _shifted(day, shift) if shift else None
    return _Resolved(start, end, _absolute(meant)) if meant else None


def _just_now(
    tokens: Sequence[Token], folded: Sequence[str], at: int, after: str, words: _Words, day: date
) -> _Resolved | None:
    """Reads `an hour ago`, `vor 20 Minuten`: an hour of another day, or an open one of the same."""
    said = tokens[at].value
    if _seconds(said) is None:
        return None
    led = at and folded[at - 1] in words.before and {*tokens[at].glue.split()} <= _ONE
    start, end = (at - 1, at + 1) if led else (at, at + 2)
    return _Resolved(start, end, (OpenDay(day), said)) if led or after in words.ago else None


def _days(token: Token) -> int | None:
    """Whole days of a quantity or of `a week`."""
    seconds = _seconds(token.value)
    one = token.glue.rpartition(" ")[2] in {"a", "an", "one"}
    if seconds is None or (isinstance(token.value, Unit) and not one):
        return None
    value = seconds / _DAY
    whole = value.denominator == 1 and 0 < value <= _LONGEST
    return int(value) if whole else None


def _seconds(value: Value) -> Fraction | None:
    """Returns the seconds of a quantity or a unit of time; None of anything else."""
    match value:
        case Quantity(amount, "second"):
            return amount
        case Unit("second", factor):
            return factor
        case _:
            return None
