"""Random hyperplanes: which rows to compare, for many rows and a high threshold.

Each table gives a row one bit a plane, the side it lies on. Two rows at an angle θ agree in a bit
with probability `1 - θ/π` (Charikar, Similarity estimation techniques from rounding algorithms,
STOC 2002), so in all bits of a table with its power, and in at least one of several tables nearly
always. Rows that share a bucket of any table are compared exactly, all of them: what is found is
right, and what may be missed is stated beforehand. `banding.py` does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, ceil, log1p, pi
from typing import Final

RECALL: Final = 0.999
"""Least expected share of the pairs at the very threshold; closer pairs are found more often."""

MOST_TABLES: Final = 64
"""With more, hashing costs what it saves: then every pair is compared."""

MOST_BITS: Final = 20
_A_BUCKET: Final = 500_000
"""Multiplications that take as long as the handling of one bucket (`benchmarks/results/lsh.md`)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Tables of random hyperplanes.

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
    """The cheapest tables that are expected to find what is to be found.

    Args:
        threshold: Cosine, 0 to 1.
        dimensions: Of the rows.
        count: Number of rows.
        bits: Planes of a table; by default as many as make the work least.

    Returns:
        The layout; None where comparing every pair is the better way: more than `MOST_TABLES` would
        be needed, or no number of bits saves any work.
    """
    if bits is not None:
        return _with_bits(threshold, bits)
    chosen = (_with_bits(threshold, number) for number in range(1, MOST_BITS + 1))
    costs = [(_work(made, dimensions, count), made.bits, made) for made in chosen if made]
    best = min(costs, key=lambda each: each[:2], default=None)
    return best[2] if best and best[0] < count * count * dimensions / 2 else None


def layout_for(stay: float, bits: int, recall: float, most_tables: int) -> Layout | None:
    """Tables of so many bits that find what is to be found; None if it takes too many.

    Args:
        stay: Probability that a plane does not part two rows at the threshold.
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


def _with_bits(threshold: float, bits: int) -> Layout | None:
    stay = 1 - acos(min(1.0, max(-1.0, threshold))) / pi
    return layout_for(stay, bits, RECALL, MOST_TABLES)


def _work(made: Layout, dimensions: int, count: int) -> float:
    """Multiplications, for rows that lie in all directions alike."""
    hashing = made.bits * made.tables * count * dimensions
    buckets: float = made.tables * min(2**made.bits, count / 2)
    comparing: float = made.tables * count * count / 2**made.bits * dimensions
    return hashing + comparing + _A_BUCKET * buckets
