"""nano-vectordb: one JSON file of records and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vector


def database(folder: Path) -> Any:
    from nano_vectordb import NanoVectorDB

    return NanoVectorDB(DIMENSIONS, storage_file=str(folder / "vectors.json"))


def numbers(text: str) -> Any:
    import numpy as np

    return np.array(vector(text), dtype=np.float32)


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = database(folder)
    opened.upsert(
        [
            {
                "__id__": f"n{number}",
                "__vector__": numbers(note.text),
                "content": note.text,
                "user_id": note.owner,
            }
            for number, note in enumerate(notes)
        ]
    )
    opened.save()


def dump(folder: Path) -> list[Record]:
    opened = database(folder)
    names = [f"n{number}" for number in range(20)]
    return [
        record(one["__id__"], one["content"], vector=one.get("__vector__"), owner=one["user_id"])
        for one in opened.get(names)
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [one["content"] for one in database(folder).query(numbers(query), top_k=limit)]


def edit(folder: Path, old: str, new: str) -> None:
    opened = database(folder)
    names = [f"n{number}" for number in range(20)]
    found = next(one for one in opened.get(names) if one["content"] == old)
    opened.upsert([{**found, "content": new, "__vector__": numbers(new)}])
    opened.save()
