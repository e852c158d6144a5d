"""CrewAI's `Memory` in LanceDB, with an embedder of our own and no model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vectors


def embedded(texts: Sequence[str]) -> list[list[float]]:
    """No two texts have the same vector, so that no model is asked whether to join them."""
    numbers = vectors(texts)
    for text, row in zip(texts, numbers, strict=True):
        row[zlib.crc32(text.encode()) % len(row)] += 0.02
    return numbers


def memory(folder: Path) -> Any:
    from crewai import LLM
    from crewai.memory.unified_memory import Memory

    return Memory(
        storage=str(folder / "memory"),
        embedder=embedded,
        llm=LLM(model="openai/none", api_key="none", base_url="http://127.0.0.1:9/v1"),
        consolidation_threshold=1.0,
    )


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = memory(folder)
    for number, note in enumerate(notes):
        opened.remember(
            note.text,
            scope=f"/{note.owner}",
            categories=["notes"],
            metadata={"n": number},
            importance=0.5,
        )
    opened.drain_writes()


def dump(folder: Path) -> list[Record]:
    return [
        record(
            one.id,
            one.content,
            created=one.created_at,
            vector=one.embedding,
            scope=one.scope,
            categories=one.categories,
            metadata=one.metadata,
            importance=one.importance,
        )
        for one in memory(folder).list_records(limit=100)
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = memory(folder).recall(query, scope="/ann", limit=limit, depth="shallow")
    return [one.record.content for one in found]


def edit(folder: Path, old: str, new: str) -> None:
    opened = memory(folder)
    name = next(one.id for one in opened.list_records(limit=100) if one.content == old)
    opened.update(name, content=new)
