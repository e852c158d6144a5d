"""Where the detector begins looking among the vectors of a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where to begin looking.

    Attributes:
        cosine: 0 to 1, inclusive.
        source: Where the figure comes from, in one sentence.
    """

    cosine: float
    source: str
