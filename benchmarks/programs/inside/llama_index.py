"""LlamaIndex: a vector index persisted as a folder of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector


def embedding() -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

    return Words()


def index(folder: Path) -> Any:
    from llama_index.core import StorageContext, load_index_from_storage

    place = StorageContext.from_defaults(persist_dir=str(folder / "index"))
    return load_index_from_storage(place, embed_model=embedding())


def write(folder: Path, notes: Sequence[Note]) -> None:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    nodes = [
        TextNode(id_=f"n{number}", text=note.text, metadata={"user_id": note.owner})
        for number, note in enumerate(notes)
    ]
    made = VectorStoreIndex(nodes, embed_model=embedding())
    made.storage_context.persist(str(folder / "index"))


def dump(folder: Path) -> list[Record]:
    opened = index(folder)
    vectors = opened.vector_store.data.embedding_dict
    return [
        record(name, node.get_content(), vector=vectors.get(name), metadata=node.metadata)
        for name, node in opened.docstore.docs.items()
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = index(folder).as_retriever(similarity_top_k=limit).retrieve(query)
    return [one.node.get_content() for one in found]
