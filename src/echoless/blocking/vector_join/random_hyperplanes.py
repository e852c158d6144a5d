"""Hash tables of random hyperplanes: how many bits and tables a recall needs.

Each table gives a row one bit a plane, the side on which it lies. Two rows at an angle θ agree in a
bit with probability `1 - θ/π` (Charikar, Similarity estimation techniques from rounding algorithms,
STOC 2002), so in all bits of a table with its power, and in at least one of several tables nearly
always. Rows that share a bucket of any table are compared exactly, all of them: every pair found is
right, and the share that may be missed is stated beforehand. `lsh_join.py` does the join.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, ceil, log1p, pi
from typing import Final

RECALL: Final = 0.999
"""Least expected share of the pairs at the very threshold; closer pairs are found more often."""

MOST_TABLES: Final = 64
"""Tables, at most; with more, hashing costs what it saves, and every pair is compared."""

MOST_BITS: Final = 20
_A_BUCKET: Final = 500_000
"""Multiplications that take as long as the handling of one bucket (`benchmarks/results/lsh.md`)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of hash tables of random hyperplanes.

    Attributes:
        bits: Planes of one table.
        tables: Number of tables.
        expected_recall: Expected share of the pairs at the threshold that share a bucket, 0 to 1.
    """

    bits: int
    tables: int
    expected_recall: float


def layout(
    threshold: float, dimensions: int, count: int, *, bits: int | None = None
) -> Layout | None:
    """Returns the cheapest tables with the expected recall.

    Args:
        threshold: Cosine, 0 to 1.
        dimensions: Of the rows.
        count: Number of rows.
        bits: Planes of a table; by default as many as make the work least.

    Returns:
        The layout; None where comparing every pair is cheaper: more than `MOST_TABLES` would be
        needed, or no number of bits saves any work.
    """

    def work(tables: Layout) -> float:
        """Returns the multiplications, for rows that lie in all directions alike."""
        hashing = tables.bits * tables.tables * count * dimensions
        buckets: float = tables.tables * min(2**tables.bits, count / 2)
        comparing: float = tables.tables * count * count / 2**tables.bits * dimensions
        return hashing + comparing + _A_BUCKET * buckets

    stay = 1 - acos(min(1.0, max(-1.0, threshold))) / pi
    if bits is not None:
        return layout_for(stay, bits, RECALL, MOST_TABLES)
    choices = (layout_for(stay, each, RECALL, MOST_TABLES) for each in range(1, MOST_BITS + 1))
    best = min((each for each in choices if each), key=lambda e: (work(e), e.bits), default=None)
    return best if best and work(best) < count * count * dimensions / 2 else None


def layout_for(stay: float, bits: int, recall: float, most_tables: int) -> Layout | None:
    """Returns tables of so many bits with the expected recall; None if it takes too many.

    Args:
        stay: Probability that a plane does not separate two rows at the threshold.
        bits: Of a table.
        recall: Expected share of the pairs at the threshold, at least.
        most_tables: With more, hashing costs what it saves.
    """
    together = stay**bits
    if together >= recall:
        return Layout(bits, 1, together)
    tables = ceil(log1p(-recall) / log1p(-together))
    if tables > most_tables:
        return None
    return Layout(bits, tables, 1.0 - (1.0 - together) ** tables)
