"""Folders of Chroma made and read with the library itself, not through the adapter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings


@dataclass(frozen=True)
class Row:
    """One record as its owner adds it."""

    id: str
    document: str | None
    vector: Sequence[float]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    quiet = Settings(anonymized_telemetry=False, chroma_otel_collection_endpoint="")
    client = chromadb.PersistentClient(path=str(folder), settings=quiet)
    try:
        yield client
    finally:
        client.close()


def make(folder: Path, name: str, rows: Iterable[Row], **more: Any) -> Path:
    """A collection with records."""
    more.setdefault("embedding_function", None)
    with opened(folder) as client:
        collection = client.create_collection(name, **more)
        told = list(rows)
        if told:
            collection.add(
                ids=[row.id for row in told],
                embeddings=[list(row.vector) for row in told],
                documents=[row.document for row in told],
                metadatas=[dict(row.metadata) or None for row in told],
            )
    return folder


def held(folder: Path, name: str) -> dict[str, tuple[Any, Any, tuple[float, ...]]]:
    """Document, metadata and vector by id."""
    with opened(folder) as client:
        rows = client.get_collection(name, embedding_function=None).get(
            include=["embeddings", "documents", "metadatas"]
        )
    told = zip(rows["ids"], rows["documents"], rows["metadatas"], rows["embeddings"], strict=True)
    return {id_: (doc, meta, tuple(map(float, vector))) for id_, doc, meta, vector in told}
