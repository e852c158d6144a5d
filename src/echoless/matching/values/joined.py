"""Values that share what is said once: `4 h 30 min`, `from 8 to 10 pm`, `3 to 5 March`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from echoless.core.expressions import lazy_pattern
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
    Raw,
    Value,
)

_DASHES: Final = frozenset("-–—~〜")
_ON_THE_HOUR: Final = lazy_pattern(r"(?:uhr|o'clock)$")
_AFTERNOON: Final = lazy_pattern("午後|夕方")
_DIGITS: Final = lazy_pattern(r"\d{1,2}")


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


def _added(out: list[Raw], raw: Raw, sets: Mapping[str, frozenset[str]]) -> bool:
    """Reads `4 h 30 min`: the second quantity is a part of the first one's unit."""
    part = raw.values[0][1]
    if not isinstance(part, Quantity):
        return False
    back = 2 if len(out) > 1 and out[-1].word in sets["and"] else 1
    first = out[-back]
    whole = first.values[0][1] if len(first.values) == 1 else None
    unit = quantities.unit_of(first.text) if isinstance(whole, Quantity) else None
    if unit is None or not isinstance(whole, Quantity):
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
    digits = _DIGITS.match(text)
    if int(hour) > 24 or (
        raw.kind == "time" and ":" in text and not text.rstrip(".").endswith("m")
    ):
        return None
    if _ON_THE_HOUR.search(text) or (digits and int(digits.group()) > 12):
        whole = int(hour)
        open_half = isinstance(end, DialTime) and 0 < whole <= 12
        return DialTime(whole % 12, 0) if open_half else ClockTime(whole % 24, 0)
    if isinstance(end, DialTime):
        return DialTime(int(hour) % 12, 0) if 0 < int(hour) <= 12 else None
    half = "pm" if end.hour >= 12 else "am"
    ends = quantities.clock_range(hour, str(end.hour % 12 or 12), half)
    return ends[0] if ends else None
