"""LangMem's tools to manage and search memories, over LangGraph's `SqliteStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vectors


@contextmanager
def store(folder: Path) -> Iterator[Any]:
    from langgraph.store.sqlite import SqliteStore

    index: Any = {"dims": DIMENSIONS, "embed": vectors, "fields": ["content"]}
    with SqliteStore.from_conn_string(str(folder / "graph.db"), index=index) as opened:
        opened.setup()
        yield opened


def write(folder: Path, notes: Sequence[Note]) -> None:
    from langmem import create_manage_memory_tool

    with store(folder) as opened:
        for note in notes:
            tool = create_manage_memory_tool(("memories", note.owner), store=opened)
            tool.invoke({"content": note.text, "action": "create"})


def dump(folder: Path) -> list[Record]:
    with store(folder) as opened:
        return [
            record(
                item.key,
                item.value["content"],
                created=item.created_at,
                updated=item.updated_at,
                namespace=item.namespace,
            )
            for item in opened.search(("memories",), limit=100)
        ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    from langmem import create_search_memory_tool

    with store(folder) as opened:
        tool = create_search_memory_tool(
            ("memories", "ann"), store=opened, response_format="content_and_artifact"
        )
        call = {"name": tool.name, "args": {"query": query, "limit": limit}}
        found = tool.invoke({**call, "id": "1", "type": "tool_call"}).artifact
        return [item.value["content"] for item in found]


def edit(folder: Path, old: str, new: str) -> None:
    from langmem import create_manage_memory_tool

    with store(folder) as opened:
        items = opened.search(("memories", "ann"), limit=100)
        key = next(item.key for item in items if item.value["content"] == old)
        tool = create_manage_memory_tool(("memories", "ann"), store=opened)
        tool.invoke({"content": new, "action": "update", "id": key})
