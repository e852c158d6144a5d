"""Marked memories are hidden from the table's own program too, and shown again by undo."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import psycopg
import pytest

from echoless import apply, open_store, undo
from echoless.execution.integrity import check
from echoless.stores.ledger import Ledger
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds
from tests.echoless_stores.sql.worlds import PAIR, TEXTS


def hide_second(url: str, texts: tuple[str, str] = PAIR) -> str:
    """Marks the second of two memories as a copy of the first, and returns the run."""
    with open_store(url) as store:
        by_text = {memory.content: memory.id for memory in store.scan()}
        plan = plan_by_hand(store, [tuple(by_text[text] for text in texts)], "mark")
        run = apply(store, plan)
        assert not run.refused
        assert {memory.content for memory in store.scan()} >= set(texts), "still read by echoless"
        return run.id


class TestMem0:
    """mem0 itself searches: it leaves out what is expired."""

    @pytest.fixture
    def url(self, database: str) -> str:
        return f"postgresql://{database}#mem0"

    def test_mem0_does_not_find_a_marked_memory_until_undo(
        self, url: str, database: str, tmp_path: Path
    ) -> None:
        with worlds.mem0_on_pgvector(database, tmp_path) as memory:
            for text in TEXTS[:4]:
                memory.add(text, user_id="ann", infer=False)

            def found() -> set[str]:
                hits = memory.search("gateway port", filters={"user_id": "ann"}, top_k=20)
                return {hit["memory"] for hit in hits["results"]}

            assert set(PAIR) <= found()
            run = hide_second(url)
            assert set(PAIR) & found() == {PAIR[0]}
            with open_store(url) as store:
                undo(store, run)
            assert set(PAIR) <= found()

    def test_a_date_of_the_owner_stands_again_after_undo(
        self, url: str, database: str, tmp_path: Path
    ) -> None:
        later = date(datetime.now(UTC).year + 1, 1, 1).isoformat()
        with worlds.mem0_on_pgvector(database, tmp_path) as memory:
            memory.add(PAIR[0], user_id="ann", infer=False)
            memory.add(PAIR[1], user_id="ann", infer=False, expiration_date=later)
            memory.add(TEXTS[2], user_id="ann", infer=False, expiration_date="2020-01-01")
        before = worlds.server_rows(worlds.conninfo(database), "mem0")
        with open_store(url) as store:
            assert store.count() == 2, "what mem0 hides is no memory"
        run = hide_second(url)
        with open_store(url) as store:
            undo(store, run)
        assert worlds.server_rows(worlds.conninfo(database), "mem0") == before


def test_mcp_memory_service_skips_rows_that_name_what_stands_for_them(tmp_path: Path) -> None:
    """The condition is the one of its `retrieve`; its fixture script searches with the program."""
    path = worlds.mcp_memory_service(tmp_path)
    run = hide_second(str(path))
    with closing(sqlite3.connect(path)) as db:
        hidden = db.execute(
            "SELECT content, superseded_by = (SELECT content_hash FROM memories WHERE content = ?)"
            " FROM memories WHERE superseded_by <> '' AND content IN (?, ?)",
            (PAIR[0], *PAIR),
        ).fetchall()
        assert hidden == [(PAIR[1], 1)]
    with open_store(path) as store:
        undo(store, run)
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT count(*) FROM memories WHERE superseded_by IS NOT NULL"
        assert db.execute(query).fetchone() == (1,), "the one that the program hid itself"


def test_where_a_program_cannot_hide_a_row_the_store_does_not_promise_it(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with worlds.langgraph_file(path) as graph:
        worlds.fill_langgraph(graph)
        with open_store(path) as store:
            assert store.owner_view.sees_hidden
        hide_second(str(path))
        assert len(graph.search(("users",), limit=100)) == len(TEXTS) + 1


COLUMNS = {
    "boolean": "false",
    "timestamp with time zone": "NULL",
    "text": "''",
    "integer": "0",
    "text[]": None,
}


@pytest.fixture
def table(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("kind", [kind for kind, value in COLUMNS.items() if value])
def test_a_column_of_ones_own_hides_rows(
    kind: str, database: str, table: psycopg.Connection
) -> None:
    table.execute(f"CREATE TABLE notes (id int PRIMARY KEY, content text, gone {kind})")
    for number, text in enumerate(PAIR):
        table.execute(f"INSERT INTO notes VALUES (%s, %s, {COLUMNS[kind]})", (number, text))
    before = worlds.server_rows(worlds.conninfo(database), "notes")
    run = hide_second(f"postgresql://{database}&hide=gone#notes")
    shown = "gone IS NULL OR gone::text IN ('false', '0', '')"
    assert table.execute(f"SELECT id FROM notes WHERE {shown}").fetchall() == [(0,)]
    with open_store(f"postgresql://{database}#notes") as store:  # the option is remembered
        undo(store, run)
    assert worlds.server_rows(worlds.conninfo(database), "notes") == before


def test_a_row_hidden_by_a_stopped_run_is_shown_again_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, gone BOOLEAN)")
        db.executemany("INSERT INTO notes VALUES (?, ?, NULL)", enumerate(PAIR))
    url = f"sql:///{path}?hide=gone"
    with open_store(url) as store:
        plan = plan_by_hand(store, [("0", "1")], "mark")

        def stopped(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("echoless.execution.recovery.recover", lambda _store: ())
        monkeypatch.setattr(Ledger, "mark", stopped)
        with pytest.raises(KeyboardInterrupt):
            apply(store, plan)
        monkeypatch.undo()
    with open_store(url) as store:
        assert store.count() == 2, "a hidden row of an unfinished run is still read"
        check(store)
        assert store.count() == 2
        hidden = {mark.duplicate for mark in store.ledger.marks().values()}
    with closing(sqlite3.connect(path)) as db:
        gone = {id_ for (id_,) in db.execute("SELECT id FROM notes WHERE gone")}
    assert gone == hidden
