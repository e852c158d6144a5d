"""mem0 with Chroma in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record
from benchmarks.programs.inside.mem0 import edited, fill, memory, records, searched


def provider(folder: Path) -> dict[str, Any]:
    place = {"path": str(folder / "chroma"), "collection_name": "mem0"}
    return {"provider": "chroma", "config": place}


def write(folder: Path, notes: Sequence[Note]) -> None:
    with memory(provider(folder)) as opened:
        fill(opened, notes)


def dump(folder: Path) -> list[Record]:
    with memory(provider(folder)) as opened:
        found = opened.vector_store.collection.get(include=["embeddings"])
        return records(
            opened, dict(zip(found["ids"], [list(v) for v in found["embeddings"]], strict=True))
        )


def search(folder: Path, query: str, limit: int) -> list[str]:
    with memory(provider(folder)) as opened:
        return searched(opened, query, limit)


def edit(folder: Path, old: str, new: str) -> None:
    with memory(provider(folder)) as opened:
        edited(opened, old, new)
