"""MemPalace's drawers in Chroma, with an embedding server on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, embedder, record


@contextmanager
def tools(folder: Path) -> Iterator[Any]:
    """The tools of its MCP server."""
    with embedder() as url:
        os.environ |= {
            "MEMPALACE_CONFIG_DIR": str(folder),
            "MEMPALACE_PALACE_PATH": str(folder / "palace"),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": url,
            "MEMPALACE_EMBEDDING_API_MODEL": "words",
        }
        from mempalace import mcp_server

        yield mcp_server


def write(folder: Path, notes: Sequence[Note]) -> None:
    with tools(folder) as server:
        for note in notes:
            said = server.tool_add_drawer(note.owner, "home", note.text)
            assert said.get("success"), said


def dump(folder: Path) -> list[Record]:
    with tools(folder) as server:
        listed = [
            drawer
            for owner in ("ann", "ben")
            for drawer in server.tool_list_drawers(wing=owner, limit=100)["drawers"]
        ]
        drawers = [server.tool_get_drawer(one["drawer_id"]) for one in listed]
        return [
            record(
                one["drawer_id"],
                one["content"],
                created=one.get("metadata", {}).get("filed_at"),
                metadata=one.get("metadata"),
            )
            for one in drawers
        ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    with tools(folder) as server:
        found = server.tool_search(query, limit=limit, wing="ann")
        return [one["text"] for one in found["results"]]


def edit(folder: Path, old: str, new: str) -> None:
    with tools(folder) as server:
        listed = server.tool_list_drawers(wing="ann", limit=100)["drawers"]
        names = [one["drawer_id"] for one in listed]
        name = next(n for n in names if server.tool_get_drawer(n)["content"] == old)
        server.tool_update_drawer(name, content=new)
