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

SEED: Final = 20261122


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


def layout(threshold: float, bits: int) -> HashTables | None:
    """Returns the fewest tables with the expected recall at a threshold.

    Args:
        threshold: Cosine, 0 to 1.
        bits: Planes of a table.

    Returns:
        The tables; None where it takes more than `MOST_TABLES`.
    """
    together = (1 - acos(min(1.0, max(0.0, threshold))) / pi) ** bits
    tables = 1 if together >= RECALL else ceil(log1p(-RECALL) / log1p(-together))
    if tables > MOST_TABLES:
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
