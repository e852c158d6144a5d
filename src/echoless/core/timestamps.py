"""Times as stores write them, converted to instants."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from echoless.core.expressions import lazy_pattern
from echoless.core.model import Memory, Side

_FRACTION: Final = lazy_pattern(r"[.,](\d+)")
_EPOCH: Final = lazy_pattern(r"-?\d{9,19}(?:\.\d+)?\Z")
_SECOND: Final = 1_000_000_000


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
        delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    nanoseconds = int(fraction.group(1)[:9].ljust(9, "0")) if fraction else 0
    return (delta.days * 86_400 + delta.seconds) * _SECOND + nanoseconds


def later(a: Memory, b: Memory) -> Side | None:
    """Returns the side that was made later; None where the times do not tell."""
    one, other = instant(a.created_at), instant(b.created_at)
    if one is None or other is None or one == other:
        return None
    return "a" if one > other else "b"


def now() -> str:
    """Returns the present in UTC, ISO 8601 with microseconds and a `Z`."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment_of_writing(moment: datetime | None = None) -> str:
    """Returns a time for a new memory, in whole milliseconds, which most stores can hold.

    A whole second has no fraction, as stores that keep numbers write it back.

    Args:
        moment: Aware; the present by default.
    """
    written = (moment or datetime.now(UTC)).astimezone(UTC)
    unit = "seconds" if written.microsecond < 1_000 else "milliseconds"
    return written.isoformat(timespec=unit).replace("+00:00", "Z")
