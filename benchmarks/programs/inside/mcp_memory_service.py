"""mcp-memory-service in SQLite, with an embedding server on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, embedder, record


def used(folder: Path, use: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    """Open the store, use it and close it."""
    with embedder() as url:
        os.environ["MCP_EXTERNAL_EMBEDDING_URL"] = f"{url}/embeddings"
        os.environ["MCP_EXTERNAL_EMBEDDING_MODEL"] = "words"
        return asyncio.run(_used(folder, use))


async def _used(folder: Path, use: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

    storage = SqliteVecMemoryStorage(str(folder / "memory.db"))
    await storage.initialize()
    try:
        return await use(storage)
    finally:
        closing = storage.close()
        if closing is not None:
            await closing


def write(folder: Path, notes: Sequence[Note]) -> None:
    from mcp_memory_service.models.memory import Memory
    from mcp_memory_service.utils.hashing import generate_content_hash

    async def use(storage: Any) -> None:
        options = signature(storage.store).parameters
        for note in notes:
            memory = Memory(note.text, generate_content_hash(note.text), tags=["notes"])
            given: dict[str, Any] = {"skip_semantic_dedup": True}
            if note.owner != "ann" and "store" not in options:
                continue
            if note.owner != "ann":
                given["store"] = note.owner
            done, said = await storage.store(
                memory, **{name: value for name, value in given.items() if name in options}
            )
            assert done, said

    used(folder, use)


async def listed(storage: Any) -> list[Any]:
    """All memories, of every store that it knows."""
    found = list(await storage.get_all_memories())
    if "store" in signature(storage.get_all_memories).parameters:
        found += await storage.get_all_memories(store="ben")
    return found


def dump(folder: Path) -> list[Record]:
    async def use(storage: Any) -> list[Record]:
        return [
            record(
                one.content_hash,
                one.content,
                created=one.created_at,
                updated=one.updated_at,
                tags=one.tags,
                type=one.memory_type,
                metadata=one.metadata,
            )
            for one in await listed(storage)
        ]

    return list(used(folder, use))


def search(folder: Path, query: str, limit: int) -> list[str]:
    async def use(storage: Any) -> list[str]:
        return [one.memory.content for one in await storage.retrieve(query, n_results=limit)]

    return list(used(folder, use))


def edit(folder: Path, old: str, new: str) -> None:
    async def use(storage: Any) -> None:
        found = next(one for one in await listed(storage) if one.content == old)
        await storage.update_memory_versioned(found.content_hash, new)

    used(folder, use)
