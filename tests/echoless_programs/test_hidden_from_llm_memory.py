"""What is hidden has expired for llm-memory, where that is asked for: its searches leave it out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from echoless import apply, open_store, undo
from echoless.core.model import Link, Memory
from echoless.stores.base import Store
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import fill, plan_by_hand, simple

LIVE = (
    "SELECT content FROM memories"
    " WHERE expires_at IS NULL OR datetime(expires_at) > datetime('now')"
)
"""Memories a search of llm-memory looks at: those that have not expired."""


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Returns all rows of the tables of memories and links."""
    with closing(sqlite3.connect(path)) as db:
        tables = ("memories", "memory_links", "memory_versions", "memories_fts")
        return {t: db.execute(f"SELECT rowid, * FROM {t} ORDER BY 1").fetchall() for t in tables}


class TestHiddenRows(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"llm-memory:///{folder}/llm_memory.db?hide=expire"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"llm-memory:///{folder}/llm_memory.db")

    def kept(self, memory: Memory) -> Memory:
        return replace(memory, namespace=memory.namespace or "default")

    def seen(self, folder: Path) -> set[str]:
        with closing(sqlite3.connect(folder / "llm_memory.db")) as db:
            return {text for (text,) in db.execute(LIVE)}


def test_the_sentence_says_that_the_row_stays_and_has_expired(tmp_path: Path) -> None:
    path = tmp_path / "llm_memory.db"
    fill(f"llm-memory:///{path}", [simple(1, namespace="proj")])
    with open_store(f"llm-memory:///{path}?hide=expire") as store:
        said = store.owner_view
    assert not said.sees_hidden
    assert "stay in the store with a past date of expiration" in said.sentence
    assert "no longer in the store" not in said.sentence


def test_links_of_others_and_dates_of_their_own_come_back_with_an_undo(tmp_path: Path) -> None:
    path = tmp_path / "llm_memory.db"
    ends = {"expires_at": "2999-01-01T00:00:00+00:00"}
    made = [simple(n, namespace="proj") for n in (1, 2, 3)]
    made = [made[0], replace(made[1], extra=ends), replace(made[2], links=(Link("m-2"),))]
    fill(f"llm-memory:///{path}", made)
    before = rows(path)
    with open_store(f"llm-memory:///{path}?hide=expire") as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
        assert rows(path)["memory_links"] == before["memory_links"]
        assert store.get(["m-2"])["m-2"].extra == ends
        undo(store, run.id)
    assert rows(path) == before
