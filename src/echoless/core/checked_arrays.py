"""File of arrays and of what is to be known of them, compared with its checksums when it is read.

The arrays are mapped into memory, not copied. CRC-32 tells damage, at a gigabyte a second or more;
a digest that withstands an enemy takes three times as long, and the folder is closed to others, see
`own_folders`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from echoless.core.own_folders import insist_on_own_file

_ALIGNED: Final = 64

_LENGTH: Final = 8
"""Bytes of the length of the contents, with which a file begins; their SHA-256 follows."""

_BEGINNING: Final = _LENGTH + 32


class DamagedArrays(Exception):
    """Error for a file of arrays whose bytes changed since it was written."""


def write_arrays(
    path: Path, contents: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]
) -> None:
    """Writes a new file that only this user may read, and waits for the disk.

    Args:
        path: Of the file.
        contents: What JSON can hold.
        arrays: By name.
    """
    flat = [
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays.values()
    ]
    listed = {
        name: [array.dtype.str, array.shape, crc32(data)]
        for (name, array), data in zip(arrays.items(), flat, strict=True)
    }
    body = json.dumps({**contents, "arrays": listed}).encode()
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(len(body).to_bytes(_LENGTH, "little") + hashlib.sha256(body).digest() + body)
        for data in flat:
            file.write(b"\0" * (-file.tell() % _ALIGNED))
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Returns contents and arrays of a file.

    Raises:
        DamagedArrays: They are not as they were written.
        OSError: The file is not there or cannot be read, or is not this user's.
    """
    if not insist_on_own_file(path):
        raise FileNotFoundError(path)
    if path.stat().st_size < _BEGINNING:
        raise DamagedArrays("it is too short")
    data = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    place = _BEGINNING + int.from_bytes(data[:_LENGTH].tobytes(), "little")
    body = data[_BEGINNING:place].tobytes()
    if hashlib.sha256(body).digest() != data[_LENGTH:_BEGINNING].tobytes():
        raise DamagedArrays("its contents are not as they were written")
    contents: dict[str, Any] = json.loads(body)
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, shape, check) in contents.pop("arrays").items():
        type_ = np.dtype(kind)
        place += -place % _ALIGNED
        some = data[place : place + type_.itemsize * math.prod(shape)]
        if crc32(some.data) != check:
            raise DamagedArrays(f"{name} is not as it was written")
        arrays[name] = some.view(type_).reshape(shape)
        place += len(some)
    return contents, arrays
