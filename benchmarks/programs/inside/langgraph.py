"""LangGraph's `SqliteStore` with an index over the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vectors


@contextmanager
def store(folder: Path) -> Iterator[Any]:
    from langgraph.store.sqlite import SqliteStore

    index: Any = {"dims": DIMENSIONS, "embed": vectors, "fields": ["text"]}
    with SqliteStore.from_conn_string(str(folder / "graph.db"), index=index) as opened:
        opened.setup()
        yield opened


def write(folder: Path, notes: Sequence[Note]) -> None:
    with store(folder) as opened:
        for number, note in enumerate(notes):
            opened.put(("memories", note.owner), f"k{number}", {"text": note.text})


def dump(folder: Path) -> list[Record]:
    with store(folder) as opened:
        return [
            record(
                item.key,
                item.value["text"],
                created=item.created_at,
                updated=item.updated_at,
                namespace=item.namespace,
            )
            for item in opened.search(("memories",), limit=100)
        ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    with store(folder) as opened:
        found = opened.search(("memories", "ann"), query=query, limit=limit)
        return [item.value["text"] for item in found]


def edit(folder: Path, old: str, new: str) -> None:
    with store(folder) as opened:
        items = opened.search(("memories", "ann"), limit=100)
        key = next(item.key for item in items if item.value["text"] == old)
        opened.put(("memories", "ann"), key, {"text": new})
