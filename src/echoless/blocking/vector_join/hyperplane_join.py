"""A join of the rows that share a bucket in a hash table of random hyperplanes.

Each table gives a row one bit a plane, the side on which it lies. Two rows at an angle θ agree in a
bit with probability `1 - θ/π` (Charikar, Similarity estimation techniques from rounding algorithms,
STOC 2002), so in all bits of a table with its power, and in at least one of several tables nearly
always. Every pair found is exact, and the share that may be missed is stated beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import acos, ceil, log1p, pi
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import (
    Hits,
    Join,
    JoinWork,
    blocks,
    pairs_within,
    product_pairs,
    row_norms,
)

RECALL: Final = 0.999
"""Least expected share of the pairs at the very threshold; closer pairs are found more often."""

MOST_TABLES: Final = 64
"""Tables, at most; with more, hashing costs what it saves, and every pair is compared."""

MOST_BITS: Final = 20
SEED: Final = 20261122
_A_BUCKET: Final = 500_000
"""Cost of one bucket, in multiplications (`benchmarks/results/lsh.md`)."""


@dataclass(frozen=True, slots=True)
class HashTables:
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
) -> HashTables | None:
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

    def work(tables: HashTables) -> float:
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


def layout_for(stay: float, bits: int, recall: float, most_tables: int) -> HashTables | None:
    """Returns tables of so many bits with the expected recall; None if it takes too many.

    Args:
        stay: Probability that a plane does not separate two rows at the threshold.
        bits: Of a table.
        recall: Expected share of the pairs at the threshold, at least.
        most_tables: With more, hashing costs what it saves.
    """
    together = stay**bits
    if together >= recall:
        return HashTables(bits, 1, together)
    tables = ceil(log1p(-recall) / log1p(-together))
    if tables > most_tables:
        return None
    return HashTables(bits, tables, 1.0 - (1.0 - together) ** tables)


def pairs_sharing(
    rows: NDArray[np.float32], threshold: float, made: HashTables, *, inclusive: bool = True
) -> Iterator[Hits]:
    """Yields pairs i < j that share a bucket and whose cosine reaches a threshold, each once.

    Cosines are those of `exact_join.pairs_above`, and so are all its guarantees but completeness.
    Where the buckets are so large that comparing their members costs more than comparing all rows
    once, all rows are compared once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; any length.
        threshold: -1 to 1.
        made: From `layout`.
        inclusive: False asks for cosines above the threshold.

    Yields:
        Hits in a fixed order; arrays are never empty.

    Raises:
        ValueError: A row is zero or not finite.
    """
    join = Join(rows, row_norms(rows), threshold, inclusive)
    planes = np.random.default_rng(SEED).standard_normal(
        (made.tables * made.bits, rows.shape[1]), dtype=np.float32
    )
    weights = 2 ** np.arange(made.bits, dtype=np.int64)
    keys = np.empty((len(rows), made.tables), dtype=np.int64)
    for some in blocks(len(rows)):
        sides = join.unit(some.start, some.stop - some.start) @ planes.T >= 0
        keys[some] = sides.reshape(-1, made.tables, made.bits) @ weights
    sizes = [np.bincount(column) for column in keys.T]
    if 2 * sum(int((held * (held - 1)).sum()) for held in sizes) >= len(rows) ** 2:
        yield from product_pairs(join, None, JoinWork())
        return
    yield from pairs_within(join, (bucket for column in keys.T for bucket in _buckets(column)))


def _buckets(keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Returns groups of rows that share a key, at least two rows each, ascending."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [bucket for bucket in np.split(order, cuts) if len(bucket) > 1]
