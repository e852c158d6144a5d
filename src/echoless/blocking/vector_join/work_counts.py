"""Counters of the work that a vector join did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from echoless.blocking.detector import no_pulse


@dataclass(slots=True)
class Work:
    """Counters of one join, for reports and for tests that count instead of timing.

    Attributes:
        compared: Pairs that were compared by a filter.
        verified: Pairs whose cosine was computed.
        crowded: Rows with more partners than were asked for.
        folded: Rows that were compared as one with equal rows.
        pulse: Called between blocks of work; an exception it raises ends the join.
    """

    compared: int = 0
    verified: int = 0
    crowded: int = 0
    folded: int = 0
    pulse: Callable[[], None] = field(default=no_pulse, compare=False, repr=False)
