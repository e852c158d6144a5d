"""New memories and new texts get the form the table wants, and can be taken back."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from echoless import apply, open_store, undo
from echoless.core.settings import Choices, resolve
from echoless.execution.actions import Rewrite
from echoless.ingest import Admitted, remember
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds

TEXT = "The greenhouse is watered on Mondays by Ingrid."
OTHER = "Kurt keeps the spare key of the shed."
SETTINGS = resolve(Choices(profile="safe", encoder="none"))


def remembered(url: str, namespace: str, **details: Any) -> str:
    """Adds a memory and takes it back, then adds another one and reads it."""
    with open_store(url) as store:
        count = store.count()
        gone = remember(store, OTHER, settings=SETTINGS, namespace=namespace, **details)
        assert isinstance(gone, Admitted)
        undo(store, gone.run)
        assert store.count() == count
        done = remember(store, TEXT, settings=SETTINGS, namespace=namespace, **details)
        assert isinstance(done, Admitted)
        memory = store.get([done.id])[done.id]
        assert (memory.content, memory.namespace) == (TEXT, namespace)
    return done.id


def test_agno_reads_a_memory_that_echoless_added(tmp_path: Path) -> None:
    path = worlds.agno(tmp_path)
    id_ = remembered(str(path), "agent_id=pia&user_id=ann", tags=("garden",))
    with closing(sqlite3.connect(path)) as db:
        row = db.execute(
            "SELECT memory, topics, agent_id, team_id, user_id, typeof(created_at)"
            " FROM agno_memories WHERE memory_id = ?",
            (id_,),
        ).fetchone()
    assert row == (f'"{TEXT}"', '["garden"]', "pia", None, "ann", "integer")


def test_mcp_memory_service_gets_number_hash_and_times(tmp_path: Path) -> None:
    path = worlds.mcp_memory_service(tmp_path)
    id_ = remembered(str(path), "default")
    with closing(sqlite3.connect(path)) as db:
        row = db.execute(
            "SELECT id, content_hash, typeof(created_at), created_at_iso LIKE '20__-%Z'"
            " FROM memories WHERE content = ? AND deleted_at IS NULL",
            (TEXT,),
        ).fetchone()
    assert row == (int(id_), hashlib.sha256(TEXT.lower().encode()).hexdigest(), "real", 1)


def test_langgraph_finds_an_item_that_echoless_added(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with worlds.langgraph_file(path) as graph:
        worlds.fill_langgraph(graph)
        id_ = remembered(str(path), "users.ann", tags=("garden",))
        item = graph.get(("users", "ann"), id_.partition("/")[2])
        assert item is not None
        assert item.value["text"] == TEXT
        assert item.value["echoless"]["tags"] == ["garden"]


@pytest.fixture
def table(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as connection:
        yield connection


def test_a_numbered_table_of_a_server_gets_the_next_number(
    database: str, table: psycopg.Connection
) -> None:
    table.execute(
        "CREATE TABLE notes (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content text,"
        " namespace text, created_at timestamptz, tags text[], access_count int, pinned boolean)"
    )
    table.execute("INSERT INTO notes (content) VALUES ('One fact.')")
    remembered(f"postgresql://{database}#notes", "garden", tags=("a", "b c"))
    rows = table.execute("SELECT id, tags, created_at < now() FROM notes ORDER BY id").fetchall()
    assert rows == [(1, None, None), (2, ["a", "b c"], True)]


def rewritten(url: str) -> tuple[str, str, tuple[str, ...]]:
    """Gives the first of two memories a new text, and returns its id, the run and the notes."""
    with open_store(url) as store:
        by_text = {memory.content: memory for memory in store.scan()}
        first, second = (by_text[text] for text in worlds.PAIR)
        new = {first.id: Rewrite(TEXT, first.vectors, by="a person")}
        run = apply(store, plan_by_hand(store, [(first.id, second.id)], "merge", new))
        assert store.get([first.id])[first.id].content == TEXT
        return first.id, run.id, tuple(store.notes())


def test_the_hash_of_mcp_memory_service_follows_the_text(tmp_path: Path) -> None:
    path = worlds.mcp_memory_service(tmp_path)
    before = worlds.rows(path, "memories")
    id_, run, notes = rewritten(str(path))
    assert len(notes) == 1
    assert "'memory_embeddings' is still that of the old one" in notes[0]
    with closing(sqlite3.connect(path)) as db:
        (found,) = db.execute("SELECT content_hash FROM memories WHERE id = ?", (id_,)).fetchone()
    assert found == hashlib.sha256(TEXT.lower().encode()).hexdigest()
    with open_store(path) as store:
        undo(store, run)
    assert worlds.rows(path, "memories") == before


def test_the_hash_and_the_words_of_mem0_follow_the_text(database: str, tmp_path: Path) -> None:
    with worlds.mem0_on_pgvector(database, tmp_path) as memory:
        for text in worlds.PAIR:
            memory.add(text, user_id="ann", infer=False)
        url = f"postgresql://{database}#mem0"
        before = worlds.server_rows(worlds.conninfo(database), "mem0")
        id_, run, _ = rewritten(url)
        found = memory.get(id_)
        assert found is not None
        assert (found["memory"], found["hash"]) == (TEXT, hashlib.md5(TEXT.encode()).hexdigest())
        row = memory.vector_store.get(id_)
        assert "greenhouse" in row.payload["text_lemmatized"]
        with open_store(url) as store:
            undo(store, run)
        assert worlds.server_rows(worlds.conninfo(database), "mem0") == before
