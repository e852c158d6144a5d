"""Waiting times before a model is asked again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

FIRST: Final = 0.5
"""Seconds before the second try; doubled for each further one."""

MOST: Final = 8.0
"""Seconds between two tries of a server that does not say when."""

PATIENCE: Final = 60.0
"""Seconds a server may ask to wait. Whoever asks for more is not asked again."""

_JITTER: Final = 0.25
"""Share of a wait that is left to chance, so that many workers do not come back at once."""


def backoff(attempt: int, chance: float) -> float:
    """Returns seconds to wait after a failed try.

    Args:
        attempt: Which try it was, from 0.
        chance: From 0 to 1.
    """
    return float(min(MOST, FIRST * 2.0 ** min(attempt, 10))) * (1 - _JITTER * chance)


def asked_to_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Returns seconds a server asks to wait: `retry-after-ms`, or `Retry-After` in either form.

    Args:
        headers: Of its answer; names in any case.
        now: For a date; the time of day by default.

    Returns:
        Seconds from 0, or None if it does not say.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(by_name.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    value = by_name.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
