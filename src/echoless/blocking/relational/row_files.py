"""Parquet files of rows, and arrays that are looked up by row number, in one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa = lazy_module("pyarrow")
    pq = lazy_module("pyarrow.parquet")

Column: TypeAlias = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint64]

ROW_GROUP: Final = 1 << 17
"""Rows of a row group: what an engine reads at a time."""


def write_rows(path: Path, columns: dict[str, Column]) -> None:
    """Writes columns of one length to a Parquet file; the file is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(pa.table(columns), part, row_group_size=ROW_GROUP, compression="lz4")
    part.replace(path)


def read_rows(folder: Path, names: Sequence[str]) -> tuple[Column, ...]:
    """Returns columns of all Parquet files of a folder; empty where there is none."""
    # not by `pyarrow.dataset`: it needs functions that are registered while it is imported, and
    # failed where threads imported it together
    pieces = []
    for path in sorted(folder.rglob("*.parquet")):
        with pq.ParquetFile(path) as file:
            pieces.append(file.read(list(names)))
    if not pieces:
        return tuple(np.empty(0, dtype=np.int64) for _ in names)
    table = pa.concat_tables(pieces)
    return tuple(table.column(name).to_numpy() for name in names)


def row_batches(folder: Path, names: Sequence[str]) -> Iterator[tuple[Column, ...]]:
    """Yields columns of all Parquet files of a folder, a row group or less at a time."""
    for path in sorted(folder.rglob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROW_GROUP, columns=list(names)):
                yield tuple(batch.column(name).to_numpy() for name in names)


def save(path: Path, array: NDArray[np.generic]) -> None:
    """Writes an array to a `.npy` file; one on the disk is copied in pieces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    copy = np.lib.format.open_memmap(path, mode="w+", dtype=array.dtype, shape=array.shape)
    for start in range(0, len(array), ROW_GROUP):
        copy[start : start + ROW_GROUP] = array[start : start + ROW_GROUP]
    copy.flush()


def mapped(path: Path) -> NDArray[np.generic]:
    """Returns the array of a `.npy` file, read from the disk where it is used."""
    array: NDArray[np.generic] = np.load(path, mmap_mode="c")
    return array


@dataclass(slots=True)
class RowWriter:
    """A folder of Parquet files that takes columns in pieces.

    Attributes:
        folder: Takes the files.
        size: Rows of a file, roughly.
    """

    folder: Path
    size: int = 8 * ROW_GROUP
    _pieces: list[dict[str, Column]] = field(default_factory=list)
    _held: int = 0
    _files: int = 0

    def add(self, columns: dict[str, Column]) -> None:
        """Adds columns of one length."""
        self._pieces.append(columns)
        self._held += len(next(iter(columns.values())))
        if self._held >= self.size:
            self.close()

    def close(self) -> None:
        """Writes what is left."""
        if not self._held:
            return
        names = self._pieces[0]
        joined = {name: np.concatenate([each[name] for each in self._pieces]) for name in names}
        write_rows(self.folder / f"{self._files:06d}.parquet", joined)
        self._pieces, self._held = [], 0
        self._files += 1
