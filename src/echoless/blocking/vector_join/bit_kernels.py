"""Compiled loops over bit signatures, imported only where `echoless.core.runtime` allows it.

Each loop ends when its room for hits is full, and returns where to continue, so memory stays
bounded whatever the data. None of them allocates, so a thread may run them without the
interpreter's lock.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from echoless.blocking.vector_join.register_kernels import (
    LANES,
    QUERIES,
    dots,
    products,
)
from echoless.core.kernel_cache import njit

GROUP: Final = 4
"""Tiles that are compared with one row after another while they stay in the first-level cache."""

# The classes stand in this file, as a change of them must give compiled code of another name.


class Rows(NamedTuple):
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


def any_passes(tile: Any, queries: Any, row: int, told: Any) -> Any:
    """Returns which of the `QUERIES` queries from `row` on have a row of the tile that passes.

    A bit for each, the first query's lowest; `told` takes, for each query, a bit of every row of
    the tile.
    """
    raise NotImplementedError  # compiled code takes one of those below


def _any_short(tile: Any, queries: Any, row: int, told: Any) -> Any:
    return products(tile, queries, row, told)


def _any_whole(tile: Any, queries: Any, row: int, told: Any) -> Any:
    return dots(tile, queries, row, told)


@overload(any_passes, jit_options={"nogil": True})
def _choose_any(tile: Any, queries: Any, row: int, told: Any) -> Any:  # noqa: ARG001
    return _any_short if isinstance(tile.dtype, types.Float) else _any_whole


# ------------------------------------------------------------------ rows against all before them


@njit(nogil=True)
def sift(told: Any, before: int, row: int, rows: Any, found: Any, hits: int) -> Any:
    """Collects the hits of a row in one tile.

    Args:
        told: Shape (LANES / 64,), uint64: a bit for each row of the tile that passed, the first
            row's lowest.
        before: First row of the tile.
        row: The row that is compared with those before it.
        rows: See `Rows`.
        found: Shape (2, room), int64: takes the hits.
        hits: How many `found` holds already.

    Returns:
        How many hits `found` holds now.
    """
    for w in range(told.shape[0]):
        passed, first = told[w], before + 64 * w
        while passed:
            lowest = passed & (~passed + np.uint64(1))
            other = first + int(popcount(lowest - np.uint64(1)))
            passed ^= lowest
            if other >= row:
                break
            if hit(rows, other, row):
                found[0, hits], found[1, hits] = other, row
                hits += 1
    return hits


@njit(nogil=True)
def scan(tiles: Any, queries: Any, rows: Any, span: Any, position: Any, found: Any) -> Any:
    """Collects the hits of the rows of a span with all rows before them.

    Args:
        tiles: As `prefilters.Laid.tiles`, like `queries`.
        queries: All rows.
        rows: See `Rows`.
        span: First row, and the one after the last.
        position: Group of tiles and row to begin with.
        found: As for `sift`, with room for more hits than `QUERIES * GROUP * LANES`.

    Returns:
        Hits in `found`, then group and row to continue with, or -1 twice where all is done.
    """
    hits, first, last = 0, span[0], span[1]
    group, row = position[0], position[1]
    told = np.empty((QUERIES, LANES // 64), dtype=np.uint64)
    while group * GROUP * LANES < last:
        row = max(row, first, group * GROUP * LANES + 1)
        while row < last:
            if hits + QUERIES * GROUP * LANES > found.shape[1]:
                return hits, group, row
            wanted = 0
            for q in range(min(QUERIES, last - row)):
                wanted |= int(rows.enough == 0 or rows.seen[row + q] < rows.enough) << q
            stop = min((group + 1) * GROUP, (min(row + QUERIES, last) + LANES - 2) // LANES)
            for at in range(group * GROUP, stop if wanted else 0):
                passed = wanted & any_passes(tiles[at], queries, row, told)
                for q in range(QUERIES):
                    if passed >> q & 1:
                        hits = sift(told[q], at * LANES, row + q, rows, found, hits)
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
    """Writes signs of coordinates as one key a table and as words.

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
def meet(buckets: Any, rows: Any, position: Any, found: Any) -> Any:
    """Collects the hits of a table's buckets; also returns bucket and place to continue with."""
    keys, table, starts, order, near, limit = buckets
    enough, seen = rows.enough, rows.seen
    hits, place = 0, position[1]
    for bucket in range(position[0], starts.shape[0] - 1):
        place = max(place, starts[bucket] + 1)
        while place < starts[bucket + 1]:
            row = order[place]
            if hits + place - starts[bucket] > found.shape[1]:
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
                    found[0, hits], found[1, hits] = order[before], row
                    hits += 1
            place += 1
    return hits, -1, -1


@njit(nogil=True)
def row_hashes(words: Any, into: Any) -> None:
    """Writes a 64-bit hash of each row of 32-bit words; equal rows have equal hashes."""
    for row in range(words.shape[0]):
        told = np.uint64(0x9E3779B97F4A7C15)
        for k in range(words.shape[1]):
            told = (told ^ np.uint64(words[row, k])) * np.uint64(0xFF51AFD7ED558CCD)
            told ^= told >> np.uint64(32)
        into[row] = told
