"""Chroma: a collection of documents with embeddings of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector


def collection(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(
        str(folder / "chroma"), settings=Settings(anonymized_telemetry=False)
    )
    return client.get_or_create_collection("notes", embedding_function=None)


def write(folder: Path, notes: Sequence[Note]) -> None:
    collection(folder).add(
        ids=[f"n{number}" for number in range(len(notes))],
        documents=[note.text for note in notes],
        metadatas=[
            {"user_id": note.owner, "created_at": f"2026-01-0{number + 1}T10:00:00"}
            for number, note in enumerate(notes)
        ],
        embeddings=[vector(note.text) for note in notes],
    )


def dump(folder: Path) -> list[Record]:
    found = collection(folder).get(include=["documents", "metadatas", "embeddings"])
    return [
        record(name, text, created=meta["created_at"], vector=numbers, owner=meta["user_id"])
        for name, text, meta, numbers in zip(
            found["ids"], found["documents"], found["metadatas"], found["embeddings"], strict=True
        )
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = collection(folder).query(
        query_embeddings=[vector(query)], n_results=limit, where={"user_id": "ann"}
    )
    return list(found["documents"][0])


def edit(folder: Path, old: str, new: str) -> None:
    notes = collection(folder)
    found = notes.get(where_document={"$contains": old})
    notes.update(ids=found["ids"][:1], documents=[new], embeddings=[vector(new)])
