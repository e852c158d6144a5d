"""What a join did, counted: for reports, and for guards that must not depend on a clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """What a join did, for reports and for guards that count instead of timing.

    Attributes:
        compared: Pairs whose bits were compared.
        passed: Pairs the first test let through.
        verified: Pairs whose cosine was computed.
        crowded: Rows with more partners than were asked for.
    """

    compared: int = 0
    passed: int = 0
    verified: int = 0
    crowded: int = 0
