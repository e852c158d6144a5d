"""One matrix of one model, filled in bulk: a million vectors are one array, not a million of them.

Rows are known by place before a vector is there, so nothing is stacked or sorted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from echoless.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]

Allocate: TypeAlias = "Callable[[tuple[int, int]], NDArray[np.float32]]"
"""Gives an array of (rows, dimensions), float32, of any content; memory-mapped, for example."""

NO_VECTOR: Final = "no vector"
ZERO: Final = "vector is zero"
NOT_FINITE: Final = "vector is not finite"
WRONG_LENGTH: Final = "vector of a wrong length"
FOREIGN_DIMENSION: Final = "vector of a foreign dimension"

_LENGTHS: Final = (1e-15, 1e15)
"""Largest numbers of a row between which its products neither vanish nor overflow in float32."""

_BLOCK: Final = 4_096
"""Rows checked or moved at a time: a few megabytes beside the matrix."""


def in_memory(shape: tuple[int, int]) -> Rows:
    """Plain memory; the system gives it page by page, as it is written."""
    return np.empty(shape, dtype=np.float32)


class Sheet:
    """Rows of one model under construction.

    Rows of one dimension lie in one array. Which dimension wins is known at the end; arrays of
    others cost what is written to them.
    """

    def __init__(self, owners: Whole, allocate: Allocate) -> None:
        """Begin with no row filled.

        Args:
            owners: Position of the memory of each row, sorted.
            allocate: Makes the arrays.
        """
        self._owners = owners
        self._allocate = allocate
        self._arrays: dict[int, Rows] = {}
        self._bytes: dict[int, memoryview] = {}
        self._widths = np.zeros(len(owners), dtype=np.int32)

    def put_bytes(self, row: int, data: bytes) -> None:
        """Fill a row from float32 little-endian bytes, at least one number."""
        width = len(data) // 4
        if width not in self._bytes:
            self._bytes[width] = self._array(width).data.cast("B")
        at = row * len(data)
        self._bytes[width][at : at + len(data)] = data
        self._widths[row] = width

    def put(self, places: Whole, rows: Rows) -> None:
        """Fill some rows.

        Args:
            places: Which, int64.
            rows: Shape (len(places), dimensions), float32.
        """
        self._array(rows.shape[1])[places] = rows
        self._widths[places] = rows.shape[1]

    def _array(self, width: int) -> Rows:
        if width not in self._arrays:
            self._arrays[width] = self._allocate((len(self._owners), width))
        return self._arrays[width]

    def refuse(self, tally: Tally, id_of: Callable[[int], str]) -> Whole:
        """Drop the memories with a row that cannot be compared: the rest is not all it says.

        Returns:
            Positions of these memories, sorted.
        """
        empty = self._widths == 0
        zero, broken = np.zeros_like(empty), np.zeros_like(empty)
        for width, array in self._arrays.items():
            for at, block in _blocks(array):
                own = self._widths[at : at + len(block)] == width
                if own.any():
                    high = np.maximum(block.max(axis=1), -block.min(axis=1))  # NaN stays NaN
                    broken[at : at + len(block)] |= own & ~np.isfinite(high)
                    zero[at : at + len(block)] |= own & (high == 0)
                    _shorten(block, own & np.isfinite(high) & (high > 0), high)
        reasons = ((empty | self._ragged(), NO_VECTOR), (broken, NOT_FINITE), (zero, ZERO))
        told: set[int] = set()
        for rows, reason in reasons:
            found = {int(owner) for owner in np.unique(self._owners[rows])} - told
            if found:
                tally.skip(reason, *(id_of(owner) for owner in sorted(found)))
                told |= found
        gone = np.array(sorted(told), dtype=np.int64)
        if told:
            self._widths[np.isin(self._owners, gone)] = 0
        return gone

    def _ragged(self) -> NDArray[np.bool_]:
        """Rows of memories whose parts have different dimensions."""
        if len(self._arrays) < 2:
            return np.zeros(len(self._owners), dtype=bool)
        same = (self._owners[1:] == self._owners[:-1]) & (self._widths[1:] != self._widths[:-1])
        return np.isin(self._owners, self._owners[1:][same])

    @property
    def owners(self) -> Whole:
        """Positions of the memories of the rows that count, sorted."""
        return self._owners[self.filled]

    @property
    def filled(self) -> Whole:
        """Places of the rows that count, sorted."""
        return np.flatnonzero(self._widths).astype(np.int64)

    def one_for_each(self, memories: int) -> bool:
        """Whether as many memories have a row that counts, all of one dimension."""
        widths = np.unique(self._widths[self._widths > 0])
        return len(widths) == 1 and len(self.filled) == memories

    def copied_to(self, other: Sheet, places: Whole) -> None:
        """Write the rows that count to places of another sheet, in order."""
        mine = self.filled
        for width, array in self._arrays.items():
            own = self._widths[mine] == width
            source, target = mine[own], places[own]
            for at in range(0, len(source), _BLOCK):
                other.put(target[at : at + _BLOCK], array[source[at : at + _BLOCK]])

    def finished(self, tally: Tally, id_of: Callable[[int], str]) -> tuple[Whole, Rows] | None:
        """Owners and rows of the dimension most memories have; a tie goes to the larger one."""
        firsts = np.unique(self._owners[self.filled], return_index=True)[1]
        widths, counts = np.unique(self._widths[self.filled[firsts]], return_counts=True)
        if not len(widths):
            return None
        _, width = max(zip(counts.tolist(), widths.tolist(), strict=True))
        foreign = np.unique(self._owners[(self._widths > 0) & (self._widths != width)])
        if len(foreign):
            tally.skip(FOREIGN_DIMENSION, *(id_of(int(owner)) for owner in foreign))
        keep = self._widths == width
        array = self._arrays[width]
        self._arrays, self._bytes = {}, {}
        if keep.all():
            return self._owners, array
        return self._owners[keep], _closed_up(array, keep)


def _shorten(block: Rows, own: NDArray[np.bool_], high: NDArray[np.float32]) -> None:
    """Bring rows of a length beyond what 32 bits can square to length 1, in place."""
    least, most = _LENGTHS
    odd = np.flatnonzero(own & ((high < least) | (high > most)))
    if len(odd):
        wide = block[odd].astype(np.float64)
        block[odd] = wide / np.linalg.norm(wide, axis=1, keepdims=True)


def _blocks(array: Rows) -> Iterator[tuple[int, Rows]]:
    for at in range(0, len(array), _BLOCK):
        yield at, array[at : at + _BLOCK]


def _closed_up(array: Rows, keep: NDArray[np.bool_]) -> Rows:
    """The rows to keep moved to the front, in place: a second matrix may not fit."""
    end = 0
    for at, block in _blocks(array):
        kept = block[keep[at : at + len(block)]]
        array[end : end + len(kept)] = kept
        end += len(kept)
    return array[:end]
