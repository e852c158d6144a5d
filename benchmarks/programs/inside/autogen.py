"""AutoGen's memory over Chroma, with an embedding function of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vectors


def words() -> Any:
    """An embedding function as Chroma wants it."""
    from chromadb.api.types import EmbeddingFunction

    class Words(EmbeddingFunction[Any]):
        def __init__(self) -> None:
            pass

        def __call__(self, input: Any) -> Any:  # noqa: A002
            return vectors(list(input))

    return Words()


def memory(folder: Path, limit: int = 20) -> Any:
    from autogen_ext.memory.chromadb import (
        ChromaDBVectorMemory,
        CustomEmbeddingFunctionConfig,
        PersistentChromaDBVectorMemoryConfig,
    )

    return ChromaDBVectorMemory(
        PersistentChromaDBVectorMemoryConfig(
            collection_name="memories",
            persistence_path=str(folder / "chroma"),
            k=limit,
            embedding_function_config=CustomEmbeddingFunctionConfig(function=words, params={}),
        )
    )


def write(folder: Path, notes: Sequence[Note]) -> None:
    asyncio.run(_write(folder, notes))


async def _write(folder: Path, notes: Sequence[Note]) -> None:
    from autogen_core.memory import MemoryContent, MemoryMimeType

    opened = memory(folder)
    for number, note in enumerate(notes):
        metadata = {"id": f"n{number}", "user_id": note.owner}
        await opened.add(
            MemoryContent(content=note.text, mime_type=MemoryMimeType.TEXT, metadata=metadata)
        )
    await opened.close()


def dump(folder: Path) -> list[Record]:
    found = asyncio.run(memory(folder, 100).query("gateway")).results
    records = [
        record(one.metadata["id"], str(one.content), owner=one.metadata["user_id"]) for one in found
    ]
    return sorted(records, key=lambda one: str(one["id"]))


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [str(one.content) for one in asyncio.run(memory(folder, limit).query(query)).results]
