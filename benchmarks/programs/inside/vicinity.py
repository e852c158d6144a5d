"""Vicinity: a folder with vectors and the items they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector, vectors


def index(folder: Path) -> Any:
    from vicinity import Vicinity

    return Vicinity.load(str(folder / "index"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    import numpy as np
    from vicinity import Backend, Vicinity

    made = Vicinity.from_vectors_and_items(
        vectors=np.array(vectors([note.text for note in notes])),
        items=[{"text": note.text, "user_id": note.owner} for note in notes],
        backend_type=Backend.BASIC,
    )
    made.save(str(folder / "index"))


def dump(folder: Path) -> list[Record]:
    return [record(one["text"], one["text"], item=one) for one in index(folder).items]


def search(folder: Path, query: str, limit: int) -> list[str]:
    import numpy as np

    (found,) = index(folder).query(np.array([vector(query)]), k=limit)
    return [item["text"] for item, _ in found]
