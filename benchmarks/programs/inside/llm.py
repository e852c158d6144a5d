"""`llm`'s collections of embeddings in SQLite, with a model of our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector


def collection(folder: Path) -> Any:
    import llm
    import sqlite_utils

    class Words(llm.EmbeddingModel):
        model_id = "words"

        def embed_batch(self, texts: Iterable[str | bytes]) -> Iterator[list[float]]:
            return iter([vector(str(text)) for text in texts])

    database = sqlite_utils.Database(str(folder / "embeddings.db"))
    return llm.Collection("notes", database, model=Words())


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = collection(folder)
    for number, note in enumerate(notes):
        opened.embed(f"n{number}", note.text, metadata={"user_id": note.owner}, store=True)


def dump(folder: Path) -> list[Record]:
    import llm

    rows = collection(folder).db.query(
        "SELECT id, content, metadata, embedding, updated FROM embeddings ORDER BY rowid"
    )
    return [
        record(
            row["id"],
            row["content"],
            updated=row["updated"],
            vector=llm.decode(row["embedding"]),
            metadata=row["metadata"],
        )
        for row in rows
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [str(one.content) for one in collection(folder).similar(query, number=limit)]


def edit(folder: Path, old: str, new: str) -> None:
    opened = collection(folder)
    found = next(one for one in opened.similar(old) if one.content == old)
    opened.embed(found.id, new, metadata=found.metadata, store=True)
