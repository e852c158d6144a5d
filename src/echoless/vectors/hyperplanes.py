"""Random hyperplanes: which rows to compare, for many rows and a high threshold.

Each table gives a row one bit a plane, the side it lies on. Two rows at an angle θ agree in a bit
with probability `1 - θ/π` (Charikar, Similarity estimation techniques from rounding algorithms,
STOC 2002), so in all bits of a table with its power, and in at least one of several tables nearly
always. Rows that share a bucket of any table are compared exactly, all of them: what is found is
right, and what may be missed is stated beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import acos, ceil, log, log1p, pi
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.join import Hits, pairs_above, pairs_within

RECALL: Final = 0.999
"""Least expected share of the pairs at the very threshold; closer pairs are found more often."""

MOST_TABLES: Final = 64
"""With more, hashing costs what it saves: then every pair is compared."""

MOST_BITS: Final = 20
SEED: Final = 42

_BLOCK: Final = 1024
"""Rows hashed at a time."""

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


def _with_bits(threshold: float, bits: int) -> Layout | None:
    together = (1 - acos(min(1.0, max(-1.0, threshold))) / pi) ** bits
    if together >= RECALL:
        return Layout(bits, 1, together)
    apart = log1p(-together)
    tables = ceil(log(1 - RECALL) / apart)
    if tables > MOST_TABLES:
        return None
    return Layout(bits, tables, 1 - (1 - together) ** tables)


def _work(made: Layout, dimensions: int, count: int) -> float:
    """Multiplications, for rows that lie in all directions alike."""
    hashing = made.bits * made.tables * count * dimensions
    buckets: float = made.tables * min(2**made.bits, count / 2)
    comparing: float = made.tables * count * count / 2**made.bits * dimensions
    return hashing + comparing + _A_BUCKET * buckets


def pairs_sharing(
    rows: NDArray[np.float32],
    threshold: float,
    made: Layout,
    *,
    inclusive: bool = True,
    seed: int = SEED,
) -> Iterator[Hits]:
    """Pairs i < j that share a bucket and whose cosine reaches a threshold, each once.

    Cosines are those of `join.pairs_above`, and so is every promise but that nothing is missed.
    Equal rows always share a bucket. Where the buckets are so crowded that comparing their members
    costs more than comparing all rows once, all rows are compared once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; any length.
        threshold: -1 to 1.
        made: From `layout`.
        inclusive: False asks for cosines above the threshold.
        seed: Of the planes; the same seed and dimensions give the same planes.

    Yields:
        Hits in a fixed order; arrays are never empty.

    Raises:
        ValueError: A row is zero or not finite.
    """
    tables = _tables(rows, made, seed)
    work = sum(len(bucket) ** 2 for table in tables for bucket in table)
    if 2 * work >= len(rows) ** 2:  # all pairs are compared once, those of a bucket both ways
        yield from pairs_above(rows, threshold, inclusive=inclusive)
        return
    buckets = (bucket for table in tables for bucket in table)
    yield from pairs_within(rows, buckets, threshold, inclusive=inclusive)


def _tables(rows: NDArray[np.float32], made: Layout, seed: int) -> list[list[NDArray[np.int64]]]:
    """Buckets of at least two rows by table, row numbers ascending.

    Equal rows are hashed once: a matrix product may round a row otherwise at another place, and
    equal rows must not part. `+ 0.0` makes `-0.0` equal to `0.0` in bytes too.
    """
    random = np.random.default_rng(seed)
    planes = random.standard_normal((made.tables * made.bits, rows.shape[1])).astype(np.float32)
    once, place = np.unique(_as_bytes(rows + np.float32(0.0)), return_inverse=True)
    distinct = once.view(np.float32).reshape(len(once), rows.shape[1])
    keys = _keys(distinct, planes, made)[place]
    return [_buckets(keys[:, table]) for table in range(made.tables)]


def _as_bytes(rows: NDArray[np.float32]) -> NDArray[np.void]:
    """Each row as one value."""
    whole = np.ascontiguousarray(rows)
    return whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()


def _keys(
    rows: NDArray[np.float32], planes: NDArray[np.float32], made: Layout
) -> NDArray[np.int64]:
    """One number a row and table, its bits the sides of the planes; in blocks of bounded memory."""
    weights = 2 ** np.arange(made.bits, dtype=np.int64)
    keys = np.empty((len(rows), made.tables), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        sides = rows[start : start + _BLOCK] @ planes.T >= 0
        keys[start : start + _BLOCK] = sides.reshape(-1, made.tables, made.bits) @ weights
    return keys


def _buckets(keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [bucket for bucket in np.split(order, cuts) if len(bucket) > 1]
