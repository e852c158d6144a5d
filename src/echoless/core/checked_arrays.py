"""Arrays in a file, of which each block is compared with its CRC-32 when it is first read.

An index of 100,000 memories takes 200 MB, and one text reads some hundred kilobytes of it. So what
is large is neither read nor checked as a whole: whoever asks for a part of an array gets it from
blocks that are as they were written, or an error.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 1 << 14
"""Bytes of a block."""

_CHECK: Final = 4
"""Bytes of a CRC-32. It tells damage, and 16 KiB take 3 microseconds, where a digest that
withstands an enemy takes 9 to 16; the folder is closed to others, see `own_folders`."""

_ALIGNED: Final = 64

Scalar = TypeVar("Scalar", bound=np.generic)


class DamagedIndex(Exception):
    """Error for a stored index whose bytes changed since it was written."""


def _check_of(data: memoryview | bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECK, "little")


class CheckedArray(Generic[Scalar]):
    """Array in a file; rows are checked when they are first read.

    Attributes:
        read: Bytes that were read and checked so far.
    """

    def __init__(self, rows: NDArray[Scalar], checks: bytes) -> None:
        """Takes an array, shape (n,) or (n, width), and the CRC-32 of its blocks, one by one.

        Raises:
            DamagedIndex: There is not one for each block.
        """
        self._rows, self._checks, self.read = rows, checks, 0
        blocks = math.ceil(rows.nbytes / BLOCK)
        if len(checks) != blocks * _CHECK:
            raise DamagedIndex("there are checks missing")
        self._unread = bytearray(b"\1" * blocks)
        self._left = blocks
        self._bytes = rows.data.cast("B") if rows.nbytes else memoryview(b"")
        self._width = rows.nbytes // max(1, len(rows))  # bytes of a row

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the array."""
        return self._rows.shape

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> NDArray[Scalar]:
        """Returns some rows.

        Args:
            rows: A slice with a start and an end, without a step; or numbers of rows.

        Raises:
            DamagedIndex: A block of them is not as it was written.
        """
        if self._left:
            if isinstance(rows, slice):
                self._check(rows.start, rows.stop)
            else:
                self._check_each(rows)
        return self._rows[rows]

    def all(self) -> NDArray[Scalar]:
        """Returns all rows; raises as `__getitem__` does."""
        return self[0 : len(self._rows)]

    def _check_each(self, rows: NDArray[np.integer]) -> None:
        """Compares the blocks of rows that lie apart."""
        first = rows * self._width // BLOCK
        last = (rows * self._width + self._width - 1) // BLOCK
        unread = np.frombuffer(self._unread, dtype=np.bool_)
        left = unread[first] | unread[last] | (last - first > 1)
        for row in rows[left].tolist():
            self._check(row, row + 1)

    def _check(self, start: int, end: int) -> None:
        """Compares the blocks of some rows with their checks, where that was not done before."""
        last = math.ceil(end * self._width / BLOCK)
        block = self._unread.find(1, start * self._width // BLOCK, last)
        while block >= 0:
            data = self._bytes[block * BLOCK : (block + 1) * BLOCK]
            if _check_of(data) != self._checks[block * _CHECK : (block + 1) * _CHECK]:
                raise DamagedIndex(f"block {block} is not as it was written")
            self._unread[block] = 0
            self._left -= 1
            self.read += len(data)
            block = self._unread.find(1, block + 1, last)


Part: TypeAlias = "NDArray[Scalar] | CheckedArray[Scalar]"
"""Array of which a part may be asked for: in memory, or in a file."""


def whole(part: Part[Scalar]) -> NDArray[Scalar]:
    """Returns the whole array; raises `DamagedIndex` if its bytes changed."""
    return part.all() if isinstance(part, CheckedArray) else part


# ------------------------------------------------------------------ file

Contents = dict[str, list[Any]]
"""By name of an array: type, shape, first byte, and the CRC-32 of its blocks, hexadecimal."""


def write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[np.generic]]) -> Contents:
    """Writes arrays one after the other, and returns their places in the file."""
    contents: Contents = {}
    place = 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).data.cast("B") if array.nbytes else memoryview(b"")
        blocks = range(0, len(data), BLOCK)
        checks = b"".join(_check_of(data[start : start + BLOCK]) for start in blocks)
        contents[name] = [array.dtype.str, list(array.shape), place, checks.hex()]
        padding = -len(data) % _ALIGNED
        file.write(data)
        file.write(b"\0" * padding)
        place += len(data) + padding
    return contents


def new_file(path: Path) -> BinaryIO:
    """Returns a new file that only this user may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def plain(path: Path) -> Path:
    """Returns the path of a regular file; reading anything else might never end.

    Raises:
        OSError: It is something else, or not there.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is no regular file")
    return path


def write_contents(path: Path, contents: Mapping[str, Any]) -> None:
    """Writes a new file with what some arrays are, for `read_contents`."""
    body = json.dumps(contents).encode()
    with new_file(path) as file:
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def read_contents(path: Path) -> dict[str, Any]:
    """Returns what some arrays are.

    Raises:
        DamagedIndex: The file is not as it was written.
    """
    digest, _, body = plain(path).read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise DamagedIndex(f"{path} is not as it was written")
    contents: dict[str, Any] = json.loads(body)
    return contents


def read_arrays(path: Path, contents: Contents, large: frozenset[str]) -> dict[str, Part[Any]]:
    """Returns the arrays of a file by name.

    Args:
        path: The file.
        contents: What `write_arrays` returned.
        large: Names of arrays, up to their last `-`, that are checked as they are read; all others
            are checked now.

    Raises:
        DamagedIndex: An array that is checked now is not as it was written, or the file is short.
        OSError: It cannot be read.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    arrays: dict[str, Part[Any]] = {}
    for name, (type_, shape, place, checks) in contents.items():
        kind = np.dtype(type_)
        size = kind.itemsize * math.prod(shape)
        if place + size > len(data) or kind.hasobject:
            raise DamagedIndex(f"{path} is too short")
        rows = data[place : place + size].view(np.ndarray).view(kind).reshape(shape)
        checked = CheckedArray(rows, bytes.fromhex(checks))
        arrays[name] = checked if name.rpartition("-")[2] in large else checked.all()
    return arrays
