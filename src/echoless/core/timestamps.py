"""Times as stores write them, converted to instants."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from echoless.core.text import lazy_pattern

_FRACTION: Final = lazy_pattern(r"[.,](\d+)")
_NAMED: Final = lazy_pattern(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_EPOCH: Final = lazy_pattern(r"-?\d{9,19}(?:\.\d+)?\Z")
_SECOND: Final = 1_000_000_000
_ORIGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=65_536)
def instant(text: str | None) -> int | None:
    """Returns the nanoseconds since 1970-01-01 UTC of a written time.

    Reads ISO 8601 and RFC 3339 with any number of fractional digits (nine are kept), SQLite's
    `YYYY-MM-DD HH:MM:SS`, a bare date, and Unix time in seconds, milliseconds, microseconds or
    nanoseconds (told apart by magnitude). A time without an offset is UTC.

    Args:
        text: The time as written, or None.

    Returns:
        The instant, or None if the text is missing or cannot be read. Callers sort None oldest.
    """
    if text is None:
        return None
    text = text.strip()
    if _EPOCH.match(text):
        whole, _, digits = text.partition(".")
        value, unit = int(whole), _SECOND
        while abs(value) * unit >= 10**20 and unit > 1:  # beyond the year 5138: a finer unit
            unit //= 1_000
        return value * unit + int(int(digits.ljust(9, "0")[:9] or 0) * unit // _SECOND)
    fraction = _FRACTION.search(text)
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        delta = moment - _ORIGIN
    except (ValueError, OverflowError):
        return None
    nanoseconds = int(fraction.group(1)[:9].ljust(9, "0")) if fraction else 0
    return (delta.days * 86_400 + delta.seconds) * _SECOND + nanoseconds


OLDEST: Final = -(2**63)
"""Moment given to a time that is missing or cannot be read."""


def moment_of(text: str | None) -> int:
    """Returns the `instant` of a written time, `OLDEST` where there is none."""
    moment = instant(text)
    return OLDEST if moment is None else moment


def iso(moment: int) -> str:
    """Returns nanoseconds since 1970 as ISO 8601 in UTC, in whole microseconds.

    Raises:
        OverflowError: It is in no year from 1 to 9999.
    """
    return (_ORIGIN + timedelta(microseconds=moment // 1_000)).isoformat().replace("+00:00", "Z")


def spelled(text: str | None) -> str:
    """Returns a time that is written as a number in ISO 8601; any other text unchanged."""
    moment = instant(text) if text and _EPOCH.match(text.strip()) else None
    with suppress(OverflowError):
        return iso(moment) if moment is not None else text or ""
    return text or ""


def day(text: str | None) -> str:
    """Returns the day of a time as `YYYY-MM-DD`; what is no time of a day comes back as it is."""
    written = spelled(text)
    return written[:10] if written[4:5] == "-" else written


def day_named(path: object) -> str | None:
    """Returns the first day, `YYYY-MM-DD`, in the name of a file; None for none or no name."""
    days = _NAMED.findall(path.rpartition("/")[2]) if isinstance(path, str) else ()
    return days[0] if days else None


def now() -> str:
    """Returns the present in UTC, ISO 8601 with microseconds and a `Z`."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def today() -> date:
    """Returns the present day in UTC."""
    return datetime.now(UTC).date()


def moment_of_writing(moment: datetime | None = None) -> str:
    """Returns a time for a new memory, in whole milliseconds, which most stores can hold.

    A whole second has no fraction, as stores that keep numbers write it back.

    Args:
        moment: Aware; the present by default.
    """
    written = (moment or datetime.now(UTC)).astimezone(UTC)
    unit = "seconds" if written.microsecond < 1_000 else "milliseconds"
    return written.isoformat(timespec=unit).replace("+00:00", "Z")
