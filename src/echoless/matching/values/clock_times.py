"""Clock times said in words: `half past seven`, `Viertel nach drei`, `10 at night`."""

from __future__ import annotations

from echoless.matching.values import quantities
from echoless.matching.values.cursor import Cursor, Spelled
from echoless.matching.values.tokens import ClockTime, DialTime, Kind, Quantity


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
