"""Index of vectors by their direction: signs first, then the true cosine of the few closest.

Up to `ALL_LOOKED_AT` vectors the question is compared with each. Beyond that each is kept as one
bit for each of `BITS` random directions, the side it lies on; two vectors at an angle differ in
angle / pi of the bits (Charikar, Similarity estimation techniques from rounding algorithms, STOC
2002). All signatures are compared by exclusive or and population count, and the `LOOKED_AT` closest
by their cosine. Vectors of one model share a mean; signs are taken of what is left without it, or
half of the bits would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.pair_scores import DECIMALS

Scalar = TypeVar("Scalar", bound=np.generic)

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Words = NDArray[np.uint64]

BITS: Final = 256
LOOKED_AT: Final = 64
SEED: Final = 42

FAR: Final = 0.42
"""Share of the bits in which vectors differ whose cosine is not worth taking: at a cosine of .25
they differ in .42 of them, strangers in half."""

ALL_LOOKED_AT: Final = 4_096
"""Vectors up to which all are compared by their cosine: sooner done, and nothing can be missed."""

MEAN_OF: Final = 4_096
"""Vectors the mean is taken of; of more it hardly moves."""

_BLOCK: Final = 2_048

_AT_ONCE: Final = 32_768
"""Signatures compared at once."""

_LEAST: Final = 256
"""Rows that an array which grows has room for at first."""


@dataclass(frozen=True, slots=True)
class Close:
    """Memories close to a query, in the same order in all three arrays.

    Attributes:
        places: Shape (n,), int64, ascending.
        one_way: Shape (n,): cosine of the worst part's best match, in the better direction, six
            decimals: that all of one is found in the other.
        both_ways: As above, in the worse direction: what the detector reports.
    """

    places: Ints
    one_way: Doubles
    both_ways: Doubles


class VectorIndex:
    """Index of the vectors of one model; a long memory has several.

    Attributes:
        model: Identity of the model.
        dimensions: Of its vectors.
    """

    ARRAYS = ("owners", "rows", "mean", "signatures")

    def __init__(
        self,
        model: str,
        owners: Ints,
        rows: Floats,
        mean: Floats | None = None,
        signatures: Words | None = None,
    ) -> None:
        """Begins with vectors.

        Args:
            model: Identity of the model.
            owners: Shape (n,), int64: the memory of each vector, by its place in the index.
            rows: Shape (n, dimensions), float32, not zero, of any length.
            mean: Kept from before, with `signatures`; rows are of unit length then.
            signatures: Shape (BITS / 64, n), uint64; none where there were too few vectors.
        """
        self.model, self.dimensions = model, rows.shape[1]
        random = np.random.default_rng(SEED)
        self._planes = random.standard_normal((self.dimensions, BITS)).astype(np.float32)
        self._stored = _unit(rows) if signatures is None else rows
        self._fresh = Rows(self._stored[:0])
        self._owners = Rows(owners)
        self._mean = np.zeros(self.dimensions, np.float32) if mean is None else mean
        self._columns: list[Rows[np.uint64]] = []
        if signatures is not None and signatures.size:
            self._columns = [Rows(column) for column in signatures]
        self._sign()

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, owners: Ints, rows: Floats) -> None:
        """Adds vectors: shape (n,) and (n, dimensions); owners not below those already added."""
        unit = _unit(rows)
        self._fresh.append(unit)
        self._owners.append(owners)
        if self._columns:
            self._append(unit)
        else:
            self._sign()

    def _sign(self) -> None:
        """Begins to keep signatures, once there are enough vectors to know their mean."""
        if self._columns or len(self) <= ALL_LOOKED_AT:
            return
        self._columns = [Rows(np.empty(0, dtype=np.uint64)) for _ in range(BITS // 64)]
        everything = np.arange(len(self))
        self._mean = self._rows(everything[:MEAN_OF]).mean(axis=0)
        for start in range(0, len(self), _BLOCK):
            self._append(self._rows(everything[start : start + _BLOCK]))

    def _append(self, unit: Floats) -> None:
        for column, own in zip(self._columns, self._signed(unit).T, strict=True):
            column.append(own)

    def nearest(self, rows: Floats, allowed: NDArray[np.bool_], *, many: int = LOOKED_AT) -> Close:
        """Returns memories with a vector close to one of the query's.

        Args:
            rows: Shape (parts, dimensions).
            allowed: Which memories may be named, by place.
            many: Vectors compared, for each of the query's.
        """
        unit = _unit(rows)
        candidates = distinct(np.concatenate([self._closest(row, allowed, many) for row in unit]))
        places = distinct(self._owners.all[candidates])
        if not len(places):
            return Close(places, np.empty(0), np.empty(0))
        first = np.searchsorted(self._owners.all, places)
        counts = np.searchsorted(self._owners.all, places, side="right") - first
        starts = np.cumsum(counts) - counts
        numbers = np.repeat(first - starts, counts) + np.arange(counts.sum())
        cosines = unit.astype(np.float64) @ self._rows(numbers).astype(np.float64).T
        cosines = cosines.round(DECIMALS).clip(-1.0, 1.0)
        forth = np.maximum.reduceat(cosines, starts, axis=1).min(axis=0)
        back = np.minimum.reduceat(cosines.max(axis=0), starts)
        return Close(places, np.maximum(forth, back), np.minimum(forth, back))

    def _closest(self, row: Floats, allowed: NDArray[np.bool_], many: int) -> Ints:
        """Returns numbers of the vectors whose signatures differ little, the closest of them.

        Args:
            row: Of unit length.
            allowed: Which memories may be named.
            many: Vectors, at most.
        """
        if self._columns:
            signed = self._signed(row[None, :])[0]
            apart = _differing([column.all for column in self._columns], signed)
            near = np.flatnonzero(apart <= int(FAR * BITS))
            near = near[allowed[self._owners.all[near]]]
        else:
            # Without BLAS, whose threads wait for each other: of 3,000 vectors .1 ms on an idle
            # machine, but 15 ms beside other programs, against .3 ms this way.
            parts = (self._stored, self._fresh.all)
            apart = -np.concatenate([np.einsum("ij,j->i", part, row) for part in parts])
            near = np.flatnonzero(allowed[self._owners.all])
        if len(near) <= many:
            return near
        chosen: Ints = near[np.argpartition(apart[near], many)[:many]]
        return chosen

    def _rows(self, numbers: Ints) -> Floats:
        """Returns vectors; those that were kept are read where they lie, as they may be many."""
        rows = np.empty((len(numbers), self.dimensions), dtype=np.float32)
        old = numbers < len(self._stored)
        rows[old] = self._stored[numbers[old]]
        rows[~old] = self._fresh.all[numbers[~old] - len(self._stored)]
        return rows

    def _signed(self, unit: Floats) -> Words:
        sides = (unit - self._mean) @ self._planes >= 0
        return np.packbits(sides, axis=1).view(np.uint64)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Returns what to keep, by name."""
        columns = [column.all for column in self._columns]
        signatures = np.stack(columns) if columns else np.empty((0, 0), dtype=np.uint64)
        rows = np.concatenate([self._stored, self._fresh.all])
        own = (self._owners.all, rows, self._mean, signatures)
        return dict(zip(self.ARRAYS, own, strict=True))


def _unit(rows: Floats) -> Floats:
    wide = rows.astype(np.float64)
    lengths = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    unit: Floats = (wide / lengths).astype(np.float32)
    return unit


_COUNTS: Final = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


def _differing(columns: Sequence[Words], asked: Words) -> NDArray[np.uint8]:
    """Returns in how many bits each signature differs from the one asked about.

    Column by column: popcount of contiguous words is four times as quick as of rows. The one number
    that a byte cannot hold, all 256, becomes 0; the cosine then rules such a vector out.
    """
    apart = np.zeros(len(columns[0]), dtype=np.uint8)
    for start in range(0, len(apart), _AT_ONCE):  # what lies in between stays in the core's cache
        some = apart[start : start + _AT_ONCE]
        for column, word in zip(columns, asked, strict=True):
            some += _ones(column[start : start + _AT_ONCE] ^ word)
    return apart


def _ones(words: Words) -> NDArray[np.uint8]:
    if hasattr(np, "bitwise_count"):
        counted: NDArray[np.uint8] = np.bitwise_count(words)
        return counted
    by_byte = _COUNTS[words.view(np.uint8)].reshape(-1, 8)  # numpy before 2.0
    old: NDArray[np.uint8] = by_byte.sum(axis=1, dtype=np.uint8)
    return old


# ------------------------------------------------------------------ arrays


def distinct(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Returns the different values of an array, ascending."""
    return counted(values)[0]


def counted(values: NDArray[Scalar]) -> tuple[NDArray[Scalar], NDArray[np.int64]]:
    """Returns the different values of an array, ascending, and how often each occurs.

    `numpy.unique` loads the masked arrays for it, which takes a new process 20 ms (numpy 2.4).
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    ends = np.empty_like(starts)
    ends[:-1], ends[-1:] = starts[1:], len(ordered)
    return ordered[starts], ends - starts


class Rows(Generic[Scalar]):
    """Rows of one width and type; room doubles when it is used up."""

    def __init__(self, first: NDArray[Scalar]) -> None:
        """Begins with some rows, or none: shape (n,) or (n, width). They are not copied."""
        self._room = first
        self._used = len(first)

    def __len__(self) -> int:
        return self._used

    @property
    def all(self) -> NDArray[Scalar]:
        """Returns the rows, a view: shape (n,) or (n, width)."""
        return self._room[: self._used]

    def append(self, rows: NDArray[Scalar]) -> None:
        """Adds rows at the end."""
        wanted = self._used + len(rows)
        if wanted > len(self._room) or not self._room.flags.writeable:
            size = max(_LEAST, 2 * wanted)
            room = np.zeros((size, *self._room.shape[1:]), dtype=self._room.dtype)
            room[: self._used] = self.all
            self._room = room
        self._room[self._used : wanted] = rows
        self._used = wanted
