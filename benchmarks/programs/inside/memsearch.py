"""memsearch: notes in Markdown, which it indexes in a file of Milvus Lite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, embedder, record


def write(folder: Path, notes: Sequence[Note]) -> None:
    place = folder / "memory"
    place.mkdir()
    for owner in ("ann", "ben"):
        told = "".join(f"- {note.text}\n" for note in notes if note.owner == owner)
        (place / f"{owner}.md").write_text(f"# {owner}\n\n{told}", "utf-8")


def found(folder: Path, query: str, limit: int) -> list[dict[str, Any]]:
    """What it finds, after its index was brought up to date."""
    from memsearch import MemSearch

    with embedder() as url:
        opened = MemSearch(
            [str(folder / "memory")],
            embedding_model="words",
            embedding_base_url=url,
            embedding_api_key="none",
            milvus_uri=str(folder / "milvus.db"),
        )

        async def use() -> list[dict[str, Any]]:
            await opened.index()
            return list(await opened.search(query, top_k=limit))

        return asyncio.run(use())


def dump(folder: Path) -> list[Record]:
    chunks = found(folder, "gateway", 20)
    records = [
        record(f"{Path(chunk['source']).stem}/{line[2:]}", line[2:], source=chunk["source"][-6:])
        for chunk in chunks
        for line in chunk["content"].splitlines()
        if line.startswith("- ")
    ]
    return sorted(records, key=lambda one: str(one["id"]))


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [
        line[2:]
        for chunk in found(folder, query, limit)
        for line in chunk["content"].splitlines()
        if line.startswith("- ")
    ]
