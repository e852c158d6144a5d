"""Array of rows that grows at its end, and the different values of an array."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_LEAST: Final = 256


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
