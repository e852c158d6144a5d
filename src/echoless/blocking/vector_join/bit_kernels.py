"""Compiled loops of the vector joins, imported only where `echoless.core.runtime` allows it.

Each loop ends when its room for hits is full, and returns where to continue, so memory stays
bounded whatever the data. None of them allocates, so a thread may run them without the
interpreter's lock.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from echoless.core.kernel_cache import njit

LANES: Final = 128
"""Rows of a tile: their first terms lie side by side, then their second, as registers load them."""

QUERIES: Final = 4
"""Rows compared with a tile at a time; each value read from the tile serves all of them."""

GROUP: Final = 4
"""Tiles that are compared with one row after another while they stay in the first-level cache."""

# The classes stand in this file, as a change of them must give compiled code of another name.


class ComparedRows(NamedTuple):
    """Rows that are compared in full, and what makes a hit.

    Attributes:
        values: Shape (rows, dimensions), float32.
        inverse: Shape (rows,), float32: the inverse of their lengths.
        terms: The least cosine of a hit, and that from which a partner may belong to a crowd (2
            counts none).
        enough: Near partners from which a row is passed over; 0 passes none over.
        seen: Shape (rows,), int32: near partners of each row so far.
        done: Shape (1,), int64: counts pairs compared in full.
    """

    values: Any
    inverse: Any
    terms: Any
    enough: int
    seen: Any
    done: Any


class Buckets(NamedTuple):
    """Buckets of one table.

    Attributes:
        keys: Shape (rows, tables): of all tables.
        table: Number of this one.
        starts: Where each bucket begins in `order`.
        order: Rows by their key.
        near: Signatures in this order.
        limit: Signatures that differ in more bits are passed over.
    """

    keys: Any
    table: int
    starts: Any
    order: Any
    near: Any
    limit: Any


def _popcount(_context: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        count = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(count, arguments)

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)
"""Returns the number of bits set in a 64-bit word, by the processor's own instruction."""


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def cosine_of(rows: Any, inverse: Any, i: int, j: int) -> Any:
    """Returns the cosine of two rows in float32, given the inverse of their lengths."""
    one, other = rows[i], rows[j]
    total = np.float32(0.0)
    for k in range(one.shape[0]):
        total += one[k] * other[k]
    return total * inverse[i] * inverse[j]


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def inner_products(rows: Any, i: Any, j: Any, made: Any) -> None:
    """Writes the products of pairs of rows in float64; `i`, `j` and `made` have one length."""
    for pair in range(len(made)):
        one, other, total = rows[i[pair]], rows[j[pair]], 0.0
        for k in range(one.shape[0]):
            total += np.float64(one[k]) * np.float64(other[k])
        made[pair] = total


@njit(nogil=True)
def hit(rows: Any, other: int, row: int) -> Any:
    """Returns whether a pair is a hit, and counts it and a partner that belongs to a crowd."""
    rows.done[0] += 1
    cosine = cosine_of(rows.values, rows.inverse, other, row)
    if cosine >= rows.terms[1]:
        rows.seen[row] += 1
    return cosine >= rows.terms[0]


# ------------------------------------------------------------------ a tile and a row


@njit(nogil=True, fastmath=True)
def add_up(tile: Any, queries: Any, row: int, sums: Any) -> None:
    """Writes the sums of `QUERIES` queries with all rows of a tile.

    Terms are whole numbers of such a size that sums are exact in float32, in any order.

    Args:
        tile: Shape (1 + terms, LANES), float32: the first values of the sums, then term by term;
            an even number of terms.
        queries: Shape (rows, 1 + terms), float32: the limit of each query, then its terms.
        row: The first of the queries.
        sums: Shape (QUERIES, LANES), float32: takes the sums.
    """
    one, two, three, four = sums[0], sums[1], sums[2], sums[3]
    for lane in range(LANES):
        begin = tile[0, lane]
        one[lane], two[lane], three[lane], four[lane] = begin, begin, begin, begin
    for term in range(1, queries.shape[1], 2):
        a, b = queries[row, term], queries[row, term + 1]
        c, d = queries[row + 1, term], queries[row + 1, term + 1]
        e, f = queries[row + 2, term], queries[row + 2, term + 1]
        g, h = queries[row + 3, term], queries[row + 3, term + 1]
        here, after = tile[term], tile[term + 1]
        for lane in range(LANES):
            one[lane] += a * here[lane] + b * after[lane]
            two[lane] += c * here[lane] + d * after[lane]
            three[lane] += e * here[lane] + f * after[lane]
            four[lane] += g * here[lane] + h * after[lane]


@njit(nogil=True)
def any_reaches(sums: Any, limit: Any) -> Any:
    """Returns whether any sum reaches a limit."""
    reached: Any = 0
    for lane in range(LANES):
        reached += np.int32(sums[lane] >= limit)
    return reached > 0


# ------------------------------------------------------------------ rows against all before them


@njit(nogil=True)
def sift(sums: Any, limit: Any, before: int, row: int, rows: Any, pairs: Any, hits: int) -> Any:
    """Collects the hits of a row in one tile.

    Args:
        sums: Shape (LANES,), float32: of the row with each row of the tile.
        limit: Sum from which on two rows are compared in full.
        before: First row of the tile.
        row: The row that is compared with those before it.
        rows: See `ComparedRows`.
        pairs: Shape (2, room), int64: takes the hits.
        hits: How many `pairs` holds already.

    Returns:
        How many hits `pairs` holds now.
    """
    for lane in range(min(LANES, row - before)):
        if sums[lane] >= limit and hit(rows, before + lane, row):
            pairs[0, hits], pairs[1, hits] = before + lane, row
            hits += 1
    return hits


@njit(nogil=True)
def scan(tiles: Any, queries: Any, rows: Any, span: Any, position: Any, pairs: Any) -> Any:
    """Collects the hits of the rows of a span with all rows before them.

    Args:
        tiles: As `prefix_join.Laid.tiles`, like `queries`.
        queries: All rows.
        rows: See `ComparedRows`.
        span: First row, and the one after the last.
        position: Group of tiles and row to begin with.
        pairs: As for `sift`, with room for more hits than `QUERIES * GROUP * LANES`.

    Returns:
        Hits in `pairs`, then group and row to continue with, or -1 twice where all is done.
    """
    hits, first, last = 0, span[0], span[1]
    group, row = position[0], position[1]
    sums = np.empty((QUERIES, LANES), dtype=np.float32)
    while group * GROUP * LANES < last:
        row = max(row, first, group * GROUP * LANES + 1)
        while row < last:
            if hits + QUERIES * GROUP * LANES > pairs.shape[1]:
                return hits, group, row
            wanted = 0
            for q in range(min(QUERIES, last - row)):
                wanted |= int(rows.enough == 0 or rows.seen[row + q] < rows.enough) << q
            stop = min((group + 1) * GROUP, (min(row + QUERIES, last) + LANES - 2) // LANES)
            for at in range(group * GROUP, stop if wanted else 0):
                add_up(tiles[at], queries, row, sums)
                for q in range(QUERIES):
                    limit = queries[row + q, 0]
                    if wanted >> q & 1 and any_reaches(sums[q], limit):
                        hits = sift(sums[q], limit, at * LANES, row + q, rows, pairs, hits)
            row += QUERIES
        group, row = group + 1, first
    return hits, -1, -1


# ------------------------------------------------------------------ bits and tables


@njit(nogil=True)
def sign(coordinates: Any, words: Any) -> None:
    """Writes signs of coordinates, (rows, planes), as bits of `words`, (rows, planes / 64)."""
    for row in range(words.shape[0]):
        for w in range(words.shape[1]):
            word = np.uint64(0)
            for bit in range(min(64, coordinates.shape[1] - 64 * w)):
                word |= np.uint64(coordinates[row, 64 * w + bit] >= 0) << np.uint64(bit)
            words[row, w] = word


@njit(nogil=True)
def pack(coordinates: Any, bits: int, keys: Any, signatures: Any) -> None:
    """Packs the signs of coordinates into one key for each table and into words.

    `coordinates` has shape (rows, planes); the first `tables * bits` planes make the keys, the
    first `64 * words` the signatures.
    """
    sign(coordinates, signatures)
    tables = keys.shape[1]
    for row in range(coordinates.shape[0]):
        for table in range(tables):
            key = np.uint32(0)
            for bit in range(bits):
                key |= np.uint32(coordinates[row, table * bits + bit] >= 0) << np.uint32(bit)
            keys[row, table] = key


@njit(nogil=True)
def sort_by_key(keys: Any, table: int, starts: Any, order: Any) -> None:
    """Sorts rows by their key in a table, ascending within a key.

    `starts` has one entry more than there are keys and takes the place where each begins.
    """
    starts[:] = 0
    for row in range(keys.shape[0]):
        starts[keys[row, table] + 1] += 1
    for key in range(1, starts.shape[0]):
        starts[key] += starts[key - 1]
    for row in range(keys.shape[0]):
        key = keys[row, table]
        order[starts[key]] = row
        starts[key] += 1
    for key in range(starts.shape[0] - 1, 0, -1):
        starts[key] = starts[key - 1]
    starts[0] = 0


@njit(nogil=True)
def gather(signatures: Any, order: Any, into: Any) -> None:
    """Copies signatures in the order of a table, so that those of a bucket lie side by side."""
    for place in range(order.shape[0]):
        row = order[place]
        for w in range(signatures.shape[1]):
            into[place, w] = signatures[row, w]


@njit(nogil=True)
def met_before(keys: Any, table: int, i: int, j: int) -> Any:
    """Returns whether two rows share a key in an earlier table."""
    for earlier in range(table):  # noqa: SIM110 - a loop compiles to less than a generator
        if keys[i, earlier] == keys[j, earlier]:
            return True
    return False


@njit(nogil=True)
def meet(buckets: Any, rows: Any, position: Any, pairs: Any) -> Any:
    """Collects the hits of a table's buckets; also returns bucket and place to continue with."""
    keys, table, starts, order, near, limit = buckets
    enough, seen = rows.enough, rows.seen
    hits, place = 0, position[1]
    for bucket in range(position[0], starts.shape[0] - 1):
        place = max(place, starts[bucket] + 1)
        while place < starts[bucket + 1]:
            row = order[place]
            if hits + place - starts[bucket] > pairs.shape[1]:
                return hits, bucket, place
            for before in range(starts[bucket], place):
                if enough > 0 and seen[row] >= enough:
                    break
                apart = np.uint64(0)
                for w in range(near.shape[1]):
                    apart += popcount(near[place, w] ^ near[before, w])
                if (
                    apart <= limit
                    and not met_before(keys, table, order[before], row)
                    and hit(rows, order[before], row)
                ):
                    pairs[0, hits], pairs[1, hits] = order[before], row
                    hits += 1
            place += 1
    return hits, -1, -1


@njit(nogil=True)
def row_hashes(words: Any, into: Any) -> None:
    """Writes a 64-bit hash of each row of 32-bit words; equal rows have equal hashes."""
    for row in range(words.shape[0]):
        digest = np.uint64(0x9E3779B97F4A7C15)
        for k in range(words.shape[1]):
            digest = (digest ^ np.uint64(words[row, k])) * np.uint64(0xFF51AFD7ED558CCD)
            digest ^= digest >> np.uint64(32)
        into[row] = digest
