"""Vectors in temporary files, once there are more than fit in memory.

The files have no name, so the system removes them when no process has them open, also after a
crash. `docs/adr/0011-vectors-out-of-core.md` says why they are plain files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import finalize

from echoless.core.errors import StoreFull, UsageError
from echoless.core.model import Memory, Vector
from echoless.core.run_notes import Tally

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
    """Returns the bytes of vectors that stay in memory.

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
    """A temporary file to which bytes are appended, and which can be read at any place."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - lives as long as this
        finalize(self, self._file.close)
        self._lock = Lock()
        self.size = 0
        self._written = 0

    def append(self, data: bytes) -> int:
        """Writes bytes at the end and returns where they begin."""
        at = self.size
        with _DiskErrors():
            self._file.write(data)
        self.size += len(data)
        return at

    def read(self, at: int, length: int) -> bytes:
        with self._lock:
            if at + length > self._written:
                with _DiskErrors():
                    self._file.flush()
                self._written = self.size
            if hasattr(os, "pread"):
                return os.pread(self._file.fileno(), length, at)
            self._file.seek(at)  # pragma: no cover - where there is no pread
            data: bytes = self._file.read(length)
            self._file.seek(0, os.SEEK_END)
            return data


class _DiskErrors:
    """Turns errors of the disk into `StoreFull`, with what to do."""

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
    """A vector whose components lie on the disk and are read on demand."""

    __slots__ = ("_at", "_file", "_length")

    def __init__(self, model: str, file: _File, at: int, length: int) -> None:
        """Keeps where the components lie; called by `Spill`."""
        for name, value in (("model", model), ("_file", file), ("_at", at), ("_length", length)):
            object.__setattr__(self, name, value)

    @property
    def data(self) -> bytes:
        """Returns float32, little-endian, read now."""
        file: _File = object.__getattribute__(self, "_file")
        return file.read(
            object.__getattribute__(self, "_at"), object.__getattribute__(self, "_length")
        )

    @property
    def dimensions(self) -> int:
        """Returns the number of components."""
        length: int = object.__getattribute__(self, "_length")
        return length // 4

    def __reduce__(self) -> tuple[type[Vector], tuple[str, bytes]]:
        return Vector, (self.model, self.data)

    def __repr__(self) -> str:
        return f"SpilledVector({self.model!r}, {self.dimensions} components on the disk)"


def mapped(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Returns an array of (rows, dimensions), float32, in a temporary file without a name.

    Raises:
        StoreFull: There is no room for it.
    """
    with _DiskErrors(), tempfile.TemporaryFile() as file:
        import numpy as np

        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


class Spill:
    """The vectors of a run: the first stay in memory, the others go to the disk."""

    def __init__(self, tally: Tally, memory: int | None = None) -> None:
        """Starts with nothing on the disk.

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
        self._lengths: dict[int, int] = {}  # most vectors have one length: one object for all

    def aside(self, memories: Iterable[Memory]) -> Iterator[Memory]:
        """Yields the memories as they come; vectors beyond the limit are on the disk.

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
        length = self._lengths.setdefault(len(data), len(data))
        return SpilledVector(vector.model, self._file, self._file.append(data), length)

    def allocate(self, shape: tuple[int, int]) -> NDArray[np.float32]:
        """Returns an array of (rows, dimensions), float32; mapped from the disk if it is large.

        Raises:
            StoreFull: There is no room for it.
        """
        if 4 * shape[0] * shape[1] <= self._memory:
            import numpy as np

            return np.empty(shape, dtype=np.float32)
        self._note()
        return mapped(shape)

    def _note(self) -> None:
        self._tally.note(
            f"More than {self._memory / 1e6:,.0f} MB of vectors: the others lie in temporary files "
            f"in {tempfile.gettempdir()} while this runs ({VARIABLE} and TMPDIR change that).",
            passing=True,
        )
