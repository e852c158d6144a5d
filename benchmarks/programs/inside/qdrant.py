"""Qdrant's client with a folder: a collection of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vector


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(folder / "qdrant"))
    try:
        yield client
    finally:
        client.close()


def write(folder: Path, notes: Sequence[Note]) -> None:
    from qdrant_client import models

    points = [
        models.PointStruct(
            id=number + 1,
            vector=vector(note.text),
            payload={
                "text": note.text,
                "user_id": note.owner,
                "created_at": f"2026-01-0{number + 1}T10:00:00Z",
            },
        )
        for number, note in enumerate(notes)
    ]
    with opened(folder) as client:
        size = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
        client.create_collection("notes", vectors_config=size)
        client.upsert("notes", points)


def dump(folder: Path) -> list[Record]:
    with opened(folder) as client:
        return [
            record(
                point.id,
                point.payload["text"],
                created=point.payload["created_at"],
                vector=point.vector,
                payload=point.payload,
            )
            for point in client.scroll("notes", limit=100, with_vectors=True)[0]
        ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    with opened(folder) as client:
        found = client.query_points("notes", query=vector(query), limit=limit).points
        return [point.payload["text"] for point in found]


def edit(folder: Path, old: str, new: str) -> None:
    with opened(folder) as client:
        points = client.scroll("notes", limit=100)[0]
        name = next(point.id for point in points if point.payload["text"] == old)
        client.set_payload("notes", {"text": new}, points=[name])
