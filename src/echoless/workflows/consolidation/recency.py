"""Finds recent memories and puts them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.timestamps import instant

_HOUR: Final = 3600 * 10**9
_LONGEST: Final = 10.0**7
"""Hours; more than a thousand years is all there is."""


@dataclass(frozen=True, slots=True)
class Window:
    """The memories of the last hours.

    Attributes:
        cutoff: The first moment that is recent, in nanoseconds since 1970.
    """

    cutoff: int

    def holds(self, memory: Memory) -> bool:
        """Checks whether a memory was made in the window; without a readable time it was not."""
        moment = instant(memory.created_at)
        return moment is not None and moment >= self.cutoff


def window_of(hours: float, now: datetime | None = None) -> Window:
    """Returns the window of the last hours.

    Args:
        hours: Above 0; its first moment is recent.
        now: The present by default; without an offset it is UTC.

    Raises:
        UsageError: The number of hours is not above 0.
    """
    if not hours > 0:
        raise UsageError(f"The window must be a number of hours above 0, not {hours!r}.")
    moment = instant((now or datetime.now(UTC)).isoformat()) or 0
    return Window(moment - int(min(hours, _LONGEST) * _HOUR))


def recent_first(memories: Sequence[Memory], recent: Callable[[Memory], bool]) -> list[Memory]:
    """Returns memories sorted: recent ones first, the most recent before others, then by id."""

    def key(memory: Memory) -> tuple[bool, int, str]:
        is_recent = recent(memory)
        return not is_recent, -(instant(memory.created_at) or 0) if is_recent else 0, memory.id

    return sorted(memories, key=key)
