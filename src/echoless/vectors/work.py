"""What a join did, counted: for reports, and for guards that must not depend on a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


def _no_pulse() -> None:
    """Nobody listens."""


@dataclass(slots=True)
class Work:
    """What a join did, for reports and for guards that count instead of timing.

    Attributes:
        compared: Pairs that were looked at by something short.
        verified: Pairs whose cosine was computed.
        crowded: Rows with more partners than were asked for.
        pulse: Called between blocks of work; what it raises ends the join.
    """

    compared: int = 0
    verified: int = 0
    crowded: int = 0
    pulse: Callable[[], None] = field(default=_no_pulse, compare=False, repr=False)
