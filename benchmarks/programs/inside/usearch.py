"""usearch: an index of numbers and vectors; it holds no texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vectors


def write(folder: Path, notes: Sequence[Note]) -> None:
    import numpy as np
    from usearch.index import Index

    made = Index(ndim=DIMENSIONS)
    numbers = np.array(vectors([note.text for note in notes]), dtype=np.float32)
    made.add(np.arange(len(notes)), numbers)
    made.save(str(folder / "index.usearch"))


def dump(folder: Path) -> list[Record]:
    from usearch.index import Index

    opened = Index.restore(str(folder / "index.usearch"))
    return [record(key, "") for key in opened.keys]
