"""mem0 with its usual Qdrant in a folder; texts are stored as they are, without a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, embedder, record

os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported


def provider(folder: Path) -> dict[str, Any]:
    """The vector store of mem0's configuration."""
    place = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
    return {"provider": "qdrant", "config": {"collection_name": "mem0", **place}}


@contextmanager
def memory(store: dict[str, Any]) -> Iterator[Any]:
    """A `mem0.Memory` with an embedder on loopback."""
    from mem0 import Memory

    with embedder() as url:
        api = {"model": "words", "api_key": "none", "openai_base_url": url}
        opened = Memory.from_config(
            {
                "vector_store": store,
                "embedder": {
                    "provider": "openai",
                    "config": {"embedding_dims": DIMENSIONS, **api},
                },
                "llm": {"provider": "openai", "config": api},
                "history_db_path": "history.db",
            }
        )
        yield opened
        client = opened.vector_store.client
        if hasattr(client, "close"):
            client.close()


def listed(opened: Any, owner: str) -> list[dict[str, Any]]:
    """What `get_all` gives for a user, in the forms of both majors."""
    try:
        found = opened.get_all(filters={"user_id": owner}, top_k=100)
    except (TypeError, ValueError):
        found = opened.get_all(user_id=owner, limit=100)
    return list(found["results"])


def write(folder: Path, notes: Sequence[Note]) -> None:
    with memory(provider(folder)) as opened:
        fill(opened, notes)


def fill(opened: Any, notes: Sequence[Note]) -> None:
    for number, note in enumerate(notes):
        opened.add(note.text, user_id=note.owner, infer=False, metadata={"n": number})


def dump(folder: Path) -> list[Record]:
    with memory(provider(folder)) as opened:
        vectors = {
            str(point.id): point.vector if isinstance(point.vector, list) else point.vector[""]
            for point in opened.vector_store.client.scroll("mem0", limit=100, with_vectors=True)[0]
        }
        return records(opened, vectors)


def records(opened: Any, vectors: dict[str, list[float]]) -> list[Record]:
    return [
        record(
            one["id"],
            one["memory"],
            created=one.get("created_at"),
            updated=one.get("updated_at"),
            vector=vectors.get(one["id"]),
            owner=one.get("user_id"),
            metadata=one.get("metadata"),
        )
        for owner in ("ann", "ben")
        for one in listed(opened, owner)
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    with memory(provider(folder)) as opened:
        return searched(opened, query, limit)


def searched(opened: Any, query: str, limit: int) -> list[str]:
    try:
        found = opened.search(query, filters={"user_id": "ann"}, top_k=limit, threshold=0.0)
    except (TypeError, ValueError):
        found = opened.search(query, user_id="ann", limit=limit)
    return [one["memory"] for one in found["results"]]


def edit(folder: Path, old: str, new: str) -> None:
    with memory(provider(folder)) as opened:
        edited(opened, old, new)


def edited(opened: Any, old: str, new: str) -> None:
    name = next(one["id"] for one in listed(opened, "ann") if one["memory"] == old)
    opened.update(name, new)
