"""Matrix of the vectors of one model, filled in bulk.

Rows are known by place before a vector is there, so nothing is stacked or sorted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from echoless.core.run_notes import Tally
from echoless.models.encoders.base import NO_VECTOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]

Allocate: TypeAlias = "Callable[[tuple[int, int]], NDArray[np.float32]]"
"""Gives an array of (rows, dimensions), float32, of any content; memory-mapped, for example."""

ZERO: Final = "vector is zero"
NOT_FINITE: Final = "vector is not finite"
FOREIGN_DIMENSION: Final = "vector of a foreign dimension"

_LENGTHS: Final = (1e-15, 1e15)
"""Largest numbers of a row between which its products neither vanish nor overflow in float32."""

_BLOCK: Final = 4_096
"""Rows checked or moved at a time: a few megabytes beside the matrix."""


class Sheet:
    """Rows of one model under construction.

    Rows of one dimension lie in one array. Which dimension wins is known at the end; arrays of
    others cost what is written to them.
    """

    def __init__(self, owners: Sequence[int] | Whole, allocate: Allocate | None = None) -> None:
        """Starts with no row filled.

        Args:
            owners: Position of the memory of each row, sorted.
            allocate: Makes the arrays; in memory by default.
        """
        self._owners: Whole = np.asarray(owners, dtype=np.int64)
        # in memory the system provides an array page by page, as it is written
        self._allocate = allocate or (lambda shape: np.empty(shape, dtype=np.float32))
        self._arrays: dict[int, Rows] = {}
        self._bytes: dict[int, memoryview] = {}
        self._widths = np.zeros(len(owners), dtype=np.int32)
        self._appended = 0

    def append(self, rows: Sequence[bytes]) -> None:
        """Writes the next rows from float32 little-endian bytes, each of at least one number."""
        if len(set(map(len, rows))) > 1:
            for row in rows:
                self.append([row])
            return
        if not rows:
            return
        size, first = len(rows[0]), self._appended
        width = size // 4
        if width not in self._bytes:
            self._bytes[width] = self._array(width).data.cast("B")
        self._bytes[width][first * size : (first + len(rows)) * size] = b"".join(rows)
        self._widths[first : first + len(rows)] = width
        self._appended += len(rows)

    def put(self, places: Whole, rows: Rows) -> None:
        """Writes some rows.

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
        """Removes the memories with a row that cannot be compared, and counts them by reason.

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
                    least, most = _LENGTHS
                    # neither holds of NaN
                    if own.all() and high.min() >= least and high.max() <= most:
                        continue
                    broken[at : at + len(block)] |= own & ~np.isfinite(high)
                    zero[at : at + len(block)] |= own & (high == 0)
                    _shorten(block, own & np.isfinite(high) & (high > 0), high)
        if len(self._arrays) > 1:  # rows of memories whose parts have different dimensions
            owners, widths = self._owners, self._widths
            other = (owners[1:] == owners[:-1]) & (widths[1:] != widths[:-1])
            empty |= np.isin(owners, owners[1:][other])
        if not (empty | broken | zero).any():
            return np.empty(0, dtype=np.int64)
        reasons = ((empty, NO_VECTOR), (broken, NOT_FINITE), (zero, ZERO))
        refused: set[int] = set()
        for rows, reason in reasons:
            new = {int(owner) for owner in np.unique(self._owners[rows])} - refused
            if new:
                tally.skip(reason, *(id_of(owner) for owner in sorted(new)))
                refused |= new
        gone = np.array(sorted(refused), dtype=np.int64)
        if refused:
            self._widths[np.isin(self._owners, gone)] = 0
        return gone

    @property
    def owners(self) -> Whole:
        """Returns the positions of the memories of the filled rows, sorted."""
        return self._owners[self.filled]

    @property
    def filled(self) -> Whole:
        """Returns the places of the filled rows, sorted."""
        return np.flatnonzero(self._widths).astype(np.int64)

    def one_for_each(self, memories: int) -> bool:
        """Checks whether so many memories have one filled row each, all of one dimension."""
        widths = np.unique(self._widths[self._widths > 0])
        return len(widths) == 1 and len(self.filled) == memories

    def copied_to(self, other: Sheet, places: Whole) -> None:
        """Writes the filled rows to places of another sheet, in order."""
        mine = self.filled
        for width, array in self._arrays.items():
            own = self._widths[mine] == width
            source, target = mine[own], places[own]
            for at in range(0, len(source), _BLOCK):
                other.put(target[at : at + _BLOCK], array[source[at : at + _BLOCK]])

    def finished(self, tally: Tally, id_of: Callable[[int], str]) -> tuple[Whole, Rows] | None:
        """Returns owners and rows of the most frequent dimension; a tie goes to the larger one."""
        if len(self._arrays) == 1 and len(self._widths) and self._widths.all():
            (array,) = self._arrays.values()
            self._arrays, self._bytes = {}, {}
            return self._owners, array
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
        end = 0  # the rows to keep go to the front, in place: a second matrix may not fit
        for at, block in _blocks(array):
            rows = block[keep[at : at + len(block)]]
            array[end : end + len(rows)] = rows
            end += len(rows)
        return self._owners[keep], array[:end]


class Filling:
    """A sheet in which the vectors of texts are still missing.

    Attributes:
        sheet: To be filled.
        texts: Those whose vectors are missing, sorted.
    """

    def __init__(
        self, sheet: Sheet, numbers: Mapping[str, int], wanted: Whole, places: Whole
    ) -> None:
        """Groups the rows by the text they want.

        Args:
            sheet: To be filled.
            numbers: Texts, numbered as they were met.
            wanted: Number of the text of each row.
            places: The row.
        """
        self.sheet = sheet
        self.texts = sorted(numbers)
        sorted_number = np.empty(len(numbers), dtype=np.int64)
        for at, text in enumerate(self.texts):
            sorted_number[numbers[text]] = at
        wanted = sorted_number[wanted]
        order = np.argsort(wanted, kind="stable")
        self._rows = places[order]
        self._starts = np.searchsorted(wanted[order], np.arange(len(self.texts) + 1))

    @classmethod
    def beside(
        cls,
        stored: Sheet | None,
        owners: Sequence[int],
        wanted: Sequence[int],
        numbers: Mapping[str, int],
        allocate: Allocate | None,
    ) -> Filling:
        """Makes a sheet that holds the stored rows, and rows for the vectors of texts.

        Args:
            stored: Rows of vectors that were stored, or None.
            owners: Position of the memory of each further row, sorted.
            wanted: Number of the text of each further row.
            numbers: Texts, numbered as they were met.
            allocate: Makes the arrays; in memory if None.
        """
        if stored is None:
            sheet = Sheet(owners, allocate)
            return cls(sheet, numbers, np.asarray(wanted, dtype=np.int64), np.arange(len(owners)))
        have = stored.owners
        joined = np.concatenate([have, np.asarray(owners, dtype=np.int64)])
        order = np.argsort(joined, kind="stable")
        sheet = Sheet(joined[order], allocate)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        stored.copied_to(sheet, places[: len(have)])
        return cls(sheet, numbers, np.asarray(wanted, dtype=np.int64), places[len(have) :])

    def put(self, numbers: Sequence[int], rows: Rows) -> None:
        """Writes the vectors of texts, by their place in `texts`, to all rows that want them."""
        chosen = np.asarray(numbers, dtype=np.int64)
        if len(self.texts) == len(self._rows):  # each text is wanted by one row
            self.sheet.put(self._rows[chosen], rows)
            return
        counts = self._starts[chosen + 1] - self._starts[chosen]
        source = np.repeat(np.arange(len(chosen)), counts)
        first = np.cumsum(counts) - counts
        within = np.arange(len(source)) - first[source]
        self.sheet.put(self._rows[self._starts[chosen][source] + within], rows[source])


def _shorten(block: Rows, own: NDArray[np.bool_], high: NDArray[np.float32]) -> None:
    """Scales rows whose squares leave the range of float32 to length 1, in place."""
    least, most = _LENGTHS
    odd = np.flatnonzero(own & ((high < least) | (high > most)))
    if len(odd):
        wide = block[odd].astype(np.float64)
        block[odd] = wide / np.linalg.norm(wide, axis=1, keepdims=True)


def _blocks(array: Rows) -> Iterator[tuple[int, Rows]]:
    for at in range(0, len(array), _BLOCK):
        yield at, array[at : at + _BLOCK]
