"""Vectors on the disk instead of in memory, once there are more than fit beside everything else.

A temporary file without a name: the system removes it when nobody holds it any more, after a crash
too. `docs/adr/0011-vectors-out-of-core.md` says why it is a plain file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import finalize

from echoless.errors import StoreFull, UsageError
from echoless.model import Memory, Vector
from echoless.tally import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VARIABLE: Final = "ECHOLESS_VECTOR_MEMORY"
"""Environment variable with the megabytes (10^6 bytes) of vectors that stay in memory."""

MEGABYTES: Final = 256
"""Without that variable: 166,000 vectors of 384 components."""

_BLOCK: Final = 1 << 22
"""Bytes written at a time."""


def allowed() -> int:
    """Bytes of vectors that stay in memory.

    Raises:
        UsageError: The environment variable is no whole number.
    """
    written = os.environ.get(VARIABLE)
    if written is None:
        return MEGABYTES * 1_000_000
    if not written.isdecimal():
        raise UsageError(f"{VARIABLE} must be a whole number of megabytes, not {written!r}.")
    return int(written) * 1_000_000


class _File:
    """Bytes that are appended once and read at any place."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - lives as long as this
        finalize(self, self._file.close)
        self._lock = Lock()
        self.size = 0
        self._written = 0

    def append(self, data: bytes) -> int:
        """Put bytes at the end; where they begin."""
        at = self.size
        with _speaking():
            self._file.write(data)
        self.size += len(data)
        return at

    def read(self, at: int, length: int) -> bytes:
        with self._lock:
            if at + length > self._written:
                with _speaking():
                    self._file.flush()
                self._written = self.size
            if hasattr(os, "pread"):
                return os.pread(self._file.fileno(), length, at)
            self._file.seek(at)  # pragma: no cover - where there is no pread
            data: bytes = self._file.read(length)
            self._file.seek(0, os.SEEK_END)
            return data


class _speaking:  # noqa: N801 - reads as a word in `with`
    """A full disk is told with what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, OSError):
            raise StoreFull(
                f"Vectors could not be put aside in {tempfile.gettempdir()} ({problem.strerror}). "
                f"Make room there, set TMPDIR to another folder, or let more stay in memory by "
                f"{VARIABLE} (megabytes). Nothing was changed."
            ) from problem


class SpilledVector(Vector):
    """A vector whose components lie on the disk and are read when they are asked for."""

    __slots__ = ("_at", "_file", "_length")

    def __init__(self, model: str, file: _File, at: int, length: int) -> None:
        """Say where it lies; made by `Spill`."""
        for name, value in (("model", model), ("_file", file), ("_at", at), ("_length", length)):
            object.__setattr__(self, name, value)

    @property
    def data(self) -> bytes:
        """float32, little-endian, read now."""
        file: _File = object.__getattribute__(self, "_file")
        return file.read(
            object.__getattribute__(self, "_at"), object.__getattribute__(self, "_length")
        )

    @property
    def dimensions(self) -> int:
        """Number of components."""
        length: int = object.__getattribute__(self, "_length")
        return length // 4

    def __reduce__(self) -> tuple[type[Vector], tuple[str, bytes]]:
        return Vector, (self.model, self.data)

    def __repr__(self) -> str:
        return f"SpilledVector({self.model!r}, {self.dimensions} components on the disk)"


def mapped(shape: tuple[int, int]) -> NDArray[np.float32]:
    """An array of (rows, dimensions), float32, in a temporary file without a name.

    Raises:
        StoreFull: There is no room for it.
    """
    import numpy as np  # noqa: PLC0415

    with _speaking(), tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


class Spill:
    """What a run does with vectors: the first stay in memory, the others go to the disk."""

    def __init__(self, tally: Tally, memory: int | None = None) -> None:
        """Begin with nothing on the disk.

        Args:
            tally: Told once when vectors are put aside.
            memory: Bytes of vectors that stay in memory; `allowed` by default.

        Raises:
            UsageError: As `allowed`.
        """
        self._tally = tally
        self._memory = allowed() if memory is None else memory
        self._held = 0
        self._file: _File | None = None

    def aside(self, memories: Iterable[Memory]) -> Iterator[Memory]:
        """The memories as they come; vectors beyond the limit are on the disk.

        Raises:
            StoreFull: There is no room for them.
        """
        for memory in memories:
            vectors = memory.vectors
            if vectors and self._held >= self._memory:
                yield replace(memory, vectors=tuple(map(self._put, vectors)))
                continue
            for vector in vectors:
                self._held += len(vector.data)
            yield memory

    def _put(self, vector: Vector) -> Vector:
        if self._file is None:
            self._file = _File()
            self._note()
        data = vector.data
        return SpilledVector(vector.model, self._file, self._file.append(data), len(data))

    def allocate(self, shape: tuple[int, int]) -> NDArray[np.float32]:
        """An array of (rows, dimensions), float32; mapped from the disk if it is large.

        Raises:
            StoreFull: There is no room for it.
        """
        import numpy as np  # noqa: PLC0415

        if 4 * shape[0] * shape[1] <= self._memory:
            return np.empty(shape, dtype=np.float32)
        self._note()
        return mapped(shape)

    def _note(self) -> None:
        self._tally.note(
            f"More than {self._memory / 1e6:,.0f} MB of vectors: the others lie in temporary files "
            f"in {tempfile.gettempdir()} while this runs ({VARIABLE} and TMPDIR change that).",
            passing=True,
        )
