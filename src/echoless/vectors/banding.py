"""Pairs that share a bucket of some table of hyperplanes (`hyperplanes.py` says how many it takes).

With the compiled kernels a pair of a bucket is compared by its signatures first and in full only if
they are close; without them all pairs of a bucket are compared in full. A pair belongs to the first
table it meets in, so none comes twice and none has to be remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import compiled
from echoless.vectors.crowd import SEEN_ENOUGH
from echoless.vectors.hyperplanes import Layout
from echoless.vectors.join import (
    Hits,
    Join,
    in_order_of_rows,
    pairs_within,
    product_pairs,
    row_norms,
    some_of,
)
from echoless.vectors.scanning import ROOM, crowd_terms
from echoless.vectors.signing import Frame, Words, blocks, cut, random_planes, widest_angle
from echoless.vectors.threads import in_order
from echoless.vectors.work import Work

Keys = NDArray[np.uint32]

MISS: Final = 1e-9
"""Probability that signatures rule out a pair at the very threshold."""

WORDS: Final = 6
"""Words of a signature, at most: 384 bits part strangers from pairs wherever bands pay."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows in their buckets.

    Attributes:
        layout: Bits and tables.
        keys: Shape (rows, tables), uint32: the bucket of each row in each table.
        signatures: Shape (rows, words), uint64: signs of the first planes.
        comparisons: Pairs that share a bucket, counted once a table.
    """

    layout: Layout
    keys: Keys
    signatures: Words
    comparisons: int


def tables_of(join: Join, frame: Frame, layout: Layout) -> Tables:
    """Put rows into buckets by the sides of the frame's first `tables * bits` planes."""
    words = signature_bits(len(frame.planes)) // 64
    keys = np.empty((len(join.rows), layout.tables), dtype=np.uint32)
    signatures = np.zeros((len(join.rows), words), dtype=np.uint64)
    pack = _compiled_pack if compiled() else _plain_pack

    def fill(some: slice) -> None:
        at = frame.coordinates(join.unit(some.start, some.stop - some.start))
        pack(at, layout.bits, keys[some], signatures[some])

    for _ in in_order(partial(fill, some) for some in blocks(len(keys))):
        pass
    return Tables(layout, keys, signatures, _comparisons(keys))


def _comparisons(keys: Keys) -> int:
    total = 0
    for table in range(keys.shape[1]):
        held = np.bincount(keys[:, table], minlength=1).astype(np.int64)
        total += int((held * (held - 1) // 2).sum())
    return total


def _compiled_pack(at: NDArray[np.float32], bits: int, keys: Keys, signatures: Words) -> None:
    from echoless.vectors.bit_kernels import pack  # noqa: PLC0415 - compiles

    pack(at, bits, keys, signatures)


def _plain_pack(at: NDArray[np.float32], bits: int, keys: Keys, signatures: Words) -> None:
    del signatures  # nobody reads them without the kernels
    weights = 2 ** np.arange(bits, dtype=np.int64)
    used = at[:, : keys.shape[1] * bits] >= 0
    keys[:] = used.reshape(len(at), keys.shape[1], bits) @ weights


def bucket_pairs(
    join: Join, tables: Tables, most_bits: int, most: int | None, work: Work
) -> Iterator[Hits]:
    """Pairs i < j at the threshold of the join that share a bucket; arrays are never empty.

    Args:
        join: Rows and threshold.
        tables: Their buckets.
        most_bits: Signatures that differ in more bits are passed over (`signing.cut`).
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes what was done.

    Yields:
        Hits by rising j, then i.
    """
    work.compared += tables.comparisons
    if compiled():
        parts = _met(join, tables, most_bits, most, work)
    else:
        parts = list(_plain(join, tables))
        work.verified += sum(len(hits[0]) for hits in parts)
    hits, crowded = some_of(in_order_of_rows(parts), most)
    work.crowded += crowded
    if len(hits[0]):
        yield hits


def _plain(join: Join, tables: Tables) -> Iterator[Hits]:
    buckets = (
        bucket
        for table in range(tables.layout.tables)
        for bucket in buckets_of(tables.keys[:, table])
    )
    yield from pairs_within(join.rows, buckets, join.threshold, inclusive=join.inclusive)


def buckets_of(keys: Keys) -> list[NDArray[np.int64]]:
    """Rows that share a key, at least two, ascending."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [bucket for bucket in np.split(order, cuts) if len(bucket) > 1]


def _met(join: Join, tables: Tables, most_bits: int, most: int | None, work: Work) -> list[Hits]:
    inverse = join.inverse

    def of(table: int) -> tuple[int, list[Hits]]:
        counts = np.zeros(1, dtype=np.int64)
        found = _table_hits(join, inverse, tables, table, most_bits, most, counts)
        hits = [hits for each in found for hits in join.confirmed(*each)]
        return int(counts[0]), hits  # counted while they were found

    parts: list[Hits] = []
    for verified, hits in in_order(partial(of, t) for t in range(tables.layout.tables)):
        work.pulse()
        work.verified += verified
        parts += hits
    return parts


def _table_hits(
    join: Join,
    inverse: NDArray[np.float32],
    tables: Tables,
    table: int,
    most_bits: int,
    most: int | None,
    counts: NDArray[np.int64],
) -> Iterator[NDArray[np.int64]]:
    from echoless.vectors.bit_kernels import gather, meet, sort_by_key  # noqa: PLC0415 - compiles

    count = len(join.rows)
    starts = np.zeros((1 << tables.layout.bits) + 1, dtype=np.int64)
    order = np.empty(count, dtype=np.int32)
    sort_by_key(tables.keys, table, starts, order)
    near = np.empty_like(tables.signatures)
    gather(tables.signatures, order, near)
    found = np.empty((2, max(ROOM, int(np.diff(starts).max()))), dtype=np.int64)
    seen = np.zeros(1 if most is None else count, dtype=np.int32)
    position = (0, 0)
    while position[0] >= 0:
        hits, *after = meet(
            tables.keys,
            table,
            starts,
            order,
            near,
            join.rows,
            inverse,
            np.uint64(most_bits),
            crowd_terms(join, most),
            0 if most is None else SEEN_ENOUGH,
            np.array(position),
            seen,
            found,
            counts,
        )
        position = (after[0], after[1])
        yield found[:, :hits].copy()


def planes_for(layout: Layout) -> int:
    """Planes a layout needs, a signature of at least four words included."""
    return max(256, 64 * ceil(layout.tables * layout.bits / 64))


def signature_bits(planes: int) -> int:
    """Bits of the signatures made with so many planes."""
    return 64 * min(WORDS, planes // 64)


def pairs_sharing(
    rows: NDArray[np.float32], threshold: float, made: Layout, *, inclusive: bool = True
) -> Iterator[Hits]:
    """Pairs i < j that share a bucket and whose cosine reaches a threshold, each once.

    Cosines are those of `join.pairs_above`, and so is every promise but that nothing is missed.
    Where the buckets are so crowded that comparing their members costs more than comparing all rows
    once, all rows are compared once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; any length.
        threshold: -1 to 1.
        made: From `hyperplanes.layout`.
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
        yield from product_pairs(join, None, Work())
        return
    most = cut(signature_bits(planes), widest_angle(threshold, 1.0), MISS)
    yield from bucket_pairs(join, tables, most, None, Work())
