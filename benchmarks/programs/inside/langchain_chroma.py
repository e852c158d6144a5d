"""LangChain's Chroma: documents as LangChain writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record
from benchmarks.programs.inside.langchain import embeddings


def store(folder: Path) -> Any:
    from langchain_chroma import Chroma

    return Chroma("notes", embeddings(), persist_directory=str(folder / "chroma"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    store(folder).add_texts(
        [note.text for note in notes],
        [{"user_id": note.owner} for note in notes],
        ids=[f"n{number}" for number in range(len(notes))],
    )


def dump(folder: Path) -> list[Record]:
    found = store(folder).get(include=["documents", "metadatas", "embeddings"])
    return [
        record(name, text, vector=numbers, metadata=meta)
        for name, text, meta, numbers in zip(
            found["ids"], found["documents"], found["metadatas"], found["embeddings"], strict=True
        )
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = store(folder).similarity_search(query, k=limit, filter={"user_id": "ann"})
    return [one.page_content for one in found]


def edit(folder: Path, old: str, new: str) -> None:
    from langchain_core.documents import Document

    opened = store(folder)
    found = opened.get(where_document={"$contains": old})
    changed = Document(page_content=new, metadata=found["metadatas"][0])
    opened.update_document(found["ids"][0], changed)
