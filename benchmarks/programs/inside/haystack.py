"""Haystack's document store in memory, saved as one JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector


def store(folder: Path) -> Any:
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    return InMemoryDocumentStore.load_from_disk(str(folder / "documents.json"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    made = InMemoryDocumentStore(embedding_similarity_function="cosine")
    made.write_documents(
        [
            Document(content=n.text, meta={"user_id": n.owner}, embedding=vector(n.text))
            for n in notes
        ]
    )
    made.save_to_disk(str(folder / "documents.json"))


def dump(folder: Path) -> list[Record]:
    return [
        record(one.id, one.content, vector=one.embedding, meta=one.meta)
        for one in store(folder).filter_documents()
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = store(folder).embedding_retrieval(vector(query), top_k=limit)
    return [one.content for one in found]
