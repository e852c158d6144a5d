"""Operating point of a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The cosine from which pairs of a model are candidates.

    Attributes:
        cosine: 0 to 1, inclusive.
        source: Where the figure comes from, in one sentence.
    """

    cosine: float
    source: str
