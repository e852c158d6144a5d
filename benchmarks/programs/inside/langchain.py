"""LangChain's vector store in memory, dumped to one JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector, vectors


def embeddings() -> Any:
    from langchain_core.embeddings import Embeddings

    class Words(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors(texts)

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    return Words()


def store(folder: Path) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    return InMemoryVectorStore.load(str(folder / "vectors.json"), embeddings())


def write(folder: Path, notes: Sequence[Note]) -> None:
    from langchain_core.vectorstores import InMemoryVectorStore

    made = InMemoryVectorStore(embeddings())
    made.add_texts(
        [note.text for note in notes],
        [{"user_id": note.owner} for note in notes],
        ids=[f"n{number}" for number in range(len(notes))],
    )
    made.dump(str(folder / "vectors.json"))


def dump(folder: Path) -> list[Record]:
    return [
        record(name, one["text"], vector=one["vector"], metadata=one["metadata"])
        for name, one in store(folder).store.items()
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    return [one.page_content for one in store(folder).similarity_search(query, k=limit)]


def edit(folder: Path, old: str, new: str) -> None:
    opened = store(folder)
    name = next(name for name, one in opened.store.items() if one["text"] == old)
    opened.add_texts([new], [opened.store[name]["metadata"]], ids=[name])
    opened.dump(str(folder / "vectors.json"))
