"""Stores as other programs write them, for `benchmarks.adapters`: files, tables and collections."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from tests import postgres_server

from echoless import Memory

SERVER: Final = "ECHOLESS_BENCHMARK_POSTGRES"
"""Variable with the address of the database that is filled, without scheme and table."""


def fill_memory_files(url: str, memories: Sequence[Memory]) -> None:
    """Writes a memory folder of Claude Code: a file a memory, and the index."""
    folder = Path(url.removeprefix("markdown:///").partition("?")[0])
    folder.mkdir()
    index = []
    for memory in memories:
        title = memory.content[:40]
        head = f"---\nname: {memory.id}\ndescription: {title}\ntype: project\n---\n\n"
        (folder / f"{memory.id}.md").write_text(f"{head}{memory.content}\n", encoding="utf-8")
        index.append(f"- [{memory.id}]({memory.id}.md) — {title}\n")
    (folder / "MEMORY.md").write_text("".join(index), encoding="utf-8")


def fill_rules(url: str, memories: Sequence[Memory]) -> None:
    """Writes a file of rules: a bullet a memory, its namespace a heading."""
    lines = ["# Rules\n"]
    for namespace in sorted({memory.namespace for memory in memories}):
        lines.append(f"\n## {namespace}\n\n")
        lines += [f"- {m.content}\n" for m in memories if m.namespace == namespace]
    Path(url.removeprefix("markdown:///")).write_text("".join(lines), encoding="utf-8")


def fill_graph(url: str, memories: Sequence[Memory]) -> None:
    """Writes the file of the MCP memory server: observations, with the namespace as entity."""
    texts: dict[str, list[str]] = {}
    for memory in memories:
        texts.setdefault(memory.namespace, []).append(memory.content)
    entities = (
        {"type": "entity", "name": name, "entityType": "project", "observations": observed}
        for name, observed in sorted(texts.items())
    )
    text = "\n".join(json.dumps(entity, ensure_ascii=False) for entity in entities)
    Path(url.removeprefix("mcp-memory:///")).write_text(text, encoding="utf-8")


def fill_table(url: str, memories: Sequence[Memory]) -> None:
    """Makes a table of SQLite with vectors as bytes."""
    path = url.removeprefix("sql:///").partition("?")[0]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT, project TEXT, made TEXT, "
            "embedding BLOB)"
        )
        connection.executemany(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?)",
            ((m.id, m.content, m.namespace, m.created_at, m.vectors[0].data) for m in memories),
        )


def fill_pgvector(_url: str, memories: Sequence[Memory]) -> None:
    """Makes a table of PostgreSQL with vectors of pgvector."""
    import psycopg

    with psycopg.connect("postgresql://" + os.environ[SERVER]) as connection:
        dimensions = len(memories[0].vectors[0].data) // 4
        connection.execute(
            "CREATE TABLE notes (id text PRIMARY KEY, body text, project text, made timestamptz, "
            f"embedding vector({dimensions}))"
        )
        with connection.cursor().copy("COPY notes FROM STDIN") as copy:
            for memory in memories:
                numbers = np.frombuffer(memory.vectors[0].data, dtype="<f4").tolist()
                row = (memory.id, memory.content, memory.namespace, memory.created_at)
                copy.write_row((*row, json.dumps(numbers)))


def fill_qdrant(url: str, memories: Sequence[Memory]) -> None:
    """Makes a folder of Qdrant with points as mem0 writes them."""
    from hashlib import md5
    from uuid import UUID

    from qdrant_client import QdrantClient, models

    folder = re.split("[?#]", url.partition(":///")[2])[0]
    with closing(QdrantClient(path=folder)) as client:
        dimensions = len(memories[0].vectors[0].data) // 4
        size = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
        client.create_collection("mem0", size)
        for start in range(0, len(memories), 1_000):
            points = [
                models.PointStruct(
                    id=str(UUID(int=number + 1)),
                    vector=np.frombuffer(memory.vectors[0].data, dtype="<f4").tolist(),
                    payload={
                        "data": memory.content,
                        "hash": md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
                        "user_id": memory.namespace,
                        "created_at": memory.created_at,
                    },
                )
                for number, memory in enumerate(memories[start : start + 1_000], start)
            ]
            client.upsert("mem0", points)


@contextmanager
def postgres() -> Iterator[None]:
    """Runs a server with an empty database inside the block; children find its address."""
    with postgres_server.running() as server:
        os.environ[SERVER] = server.database("benchmark")
        try:
            yield
        finally:
            del os.environ[SERVER]
