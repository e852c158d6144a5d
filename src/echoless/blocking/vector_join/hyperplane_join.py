"""A join of the rows that share a bucket in a hash table of random hyperplanes.

Each table gives a row one bit a plane, the side on which it lies. Two rows at an angle θ agree in a
bit with probability `1 - θ/π` (Charikar, Similarity estimation techniques from rounding algorithms,
STOC 2002), so in all bits of a table with its power, and in at least one of several tables nearly
always. Every pair found is right, and the share that may be missed is stated beforehand.

With the compiled kernels a pair of a bucket is compared by its signatures first and in full only if
they are close; without them all pairs of a bucket are compared in full. A pair belongs to the first
table in which it shares a bucket, so none comes twice and none has to be remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import acos, ceil, log1p, pi
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.similarities import SEEN_ENOUGH
from echoless.blocking.vector_join.exact_join import (
    Hits,
    Join,
    JoinWork,
    in_order_of_rows,
    pairs_within,
    product_pairs,
    row_norms,
    some_of,
)
from echoless.blocking.vector_join.prefix_join import ROOM, crowd_terms
from echoless.blocking.vector_join.projections import (
    Frame,
    Words,
    blocks,
    cut,
    random_planes,
    widest_angle,
)
from echoless.core.optional import lazy_module
from echoless.core.runtime import compiled
from echoless.core.threads import in_order

if TYPE_CHECKING:
    from echoless.blocking.vector_join import bit_kernels
else:
    bit_kernels = lazy_module("echoless.blocking.vector_join.bit_kernels")

Keys = NDArray[np.uint32]

MISS: Final = 1e-9
"""Probability that signatures rule out a pair at the very threshold."""

WORDS: Final = 6
"""Words of a signature, at most: 384 bits separate unrelated rows from pairs wherever bands pay."""

RECALL: Final = 0.999
"""Least expected share of the pairs at the very threshold; closer pairs are found more often."""

MOST_TABLES: Final = 64
"""Tables, at most; with more, hashing costs what it saves, and every pair is compared."""

MOST_BITS: Final = 20
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


@dataclass(frozen=True, slots=True)
class FilledTables:
    """Hash tables that put each row into one bucket a table.

    Attributes:
        layout: Bits and tables.
        keys: Shape (rows, tables), uint32: the bucket of each row in each table.
        signatures: Shape (rows, words), uint64: signs of the first planes.
        comparisons: Pairs that share a bucket, counted once a table.
    """

    layout: HashTables
    keys: Keys
    signatures: Words
    comparisons: int


def tables_of(join: Join, frame: Frame, layout: HashTables) -> FilledTables:
    """Returns rows in buckets by the sides of the frame's first `tables * bits` planes."""
    words = signature_bits(len(frame.planes)) // 64
    keys = np.empty((len(join.rows), layout.tables), dtype=np.uint32)
    signatures = np.empty((len(join.rows), words), dtype=np.uint64)

    def fill(some: slice) -> None:
        keys[some], signatures[some] = keys_and_signatures(join, frame, layout, some)

    for _ in in_order(partial(fill, some) for some in blocks(len(keys))):
        pass
    comparisons = 0
    for table in range(layout.tables):
        held = np.bincount(keys[:, table], minlength=1).astype(np.int64)
        comparisons += int((held * (held - 1) // 2).sum())
    return FilledTables(layout, keys, signatures, comparisons)


def keys_and_signatures(
    join: Join, frame: Frame, layout: HashTables, some: slice
) -> tuple[Keys, Words]:
    """Returns the buckets and the signatures of some rows.

    Args:
        join: All rows.
        frame: Centre and planes.
        layout: Bits and tables.
        some: One of `projections.blocks`: a product of other rows may round to another side.

    Returns:
        As `FilledTables.keys` and `FilledTables.signatures`; signatures are zero without compiled
        kernels, the only ones that read them.
    """
    bits, count = layout.bits, layout.tables
    at = frame.coordinates(join.unit(some.start, some.stop - some.start))
    signatures = np.zeros((len(at), signature_bits(len(frame.planes)) // 64), dtype=np.uint64)
    if compiled():
        keys = np.empty((len(at), count), dtype=np.uint32)
        bit_kernels.pack(at, bits, keys, signatures)
        return keys, signatures
    weights = 2 ** np.arange(bits, dtype=np.int64)
    sides = (at[:, : count * bits] >= 0).reshape(len(at), count, bits)
    return (sides @ weights).astype(np.uint32), signatures


def bucket_pairs(
    join: Join, tables: FilledTables, most_bits: int, most: int | None, work: JoinWork
) -> Iterator[Hits]:
    """Yields hits i < j that share a bucket; arrays are never empty.

    Args:
        join: Rows and threshold.
        tables: Their buckets.
        most_bits: Signatures that differ in more bits are passed over (`projections.cut`).
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes the counts.

    Yields:
        Hits by rising j, then i.
    """
    work.compared += tables.comparisons
    numbers = range(tables.layout.tables)
    parts: list[Hits] = []
    if compiled():
        inverse = join.inverse
        tasks = (
            partial(_hits_of_table, join, inverse, tables, t, most_bits, most) for t in numbers
        )
        for verified, hits_of_table in in_order(tasks):
            work.pulse()
            work.verified += verified
            parts += hits_of_table
    else:
        buckets = (bucket for table in numbers for bucket in buckets_of(tables.keys[:, table]))
        parts += pairs_within(join, buckets)
        work.verified += sum(len(part[0]) for part in parts)
    hits, crowded = some_of(in_order_of_rows(parts), most)
    work.crowded += crowded
    if len(hits[0]):
        yield hits


def buckets_of(keys: Keys) -> list[NDArray[np.int64]]:
    """Returns groups of rows that share a key, at least two rows each, ascending."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [bucket for bucket in np.split(order, cuts) if len(bucket) > 1]


def _hits_of_table(
    join: Join,
    inverse: NDArray[np.float32],
    tables: FilledTables,
    table: int,
    most_bits: int,
    most: int | None,
) -> tuple[int, list[Hits]]:
    """Returns how many pairs of one table were compared in full, and those that are hits."""
    count = len(join.rows)
    starts = np.zeros((1 << tables.layout.bits) + 1, dtype=np.int64)
    order = np.empty(count, dtype=np.int32)
    bit_kernels.sort_by_key(tables.keys, table, starts, order)
    near = np.empty_like(tables.signatures)
    bit_kernels.gather(tables.signatures, order, near)
    buckets = bit_kernels.Buckets(tables.keys, table, starts, order, near, np.uint64(most_bits))
    enough, terms = 0 if most is None else SEEN_ENOUGH, crowd_terms(join, most)
    seen = np.zeros(1 if most is None else count, dtype=np.int32)
    counts = np.zeros(1, dtype=np.int64)
    rows = bit_kernels.ComparedRows(join.rows, inverse, terms, enough, seen, counts)
    pairs = np.empty((2, max(ROOM, int(np.diff(starts).max()))), dtype=np.int64)
    hits: list[Hits] = []
    position = (0, 0)
    while position[0] >= 0:
        size, *after = bit_kernels.meet(buckets, rows, np.array(position), pairs)
        position = (after[0], after[1])
        hits += join.confirmed(*pairs[:, :size].copy())
    return int(counts[0]), hits


def planes_for(layout: HashTables) -> int:
    """Returns the planes a layout needs, a signature of at least four words included."""
    return max(256, 64 * ceil(layout.tables * layout.bits / 64))


def signature_bits(planes: int) -> int:
    """Returns the bits of the signatures made with so many planes."""
    return 64 * min(WORDS, planes // 64)


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
    planes = planes_for(made)
    origin = np.zeros(rows.shape[1], dtype=np.float32)
    tables = tables_of(join, Frame(origin, random_planes(planes, rows.shape[1])), made)
    if 4 * tables.comparisons >= len(rows) ** 2:
        yield from product_pairs(join, None, JoinWork())
        return
    most = cut(signature_bits(planes), widest_angle(threshold, 1.0), MISS)
    yield from bucket_pairs(join, tables, most, None, JoinWork())
