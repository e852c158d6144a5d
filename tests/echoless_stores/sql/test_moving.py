"""Rows of hidden memories leave the table where that is asked for: its own program shows that."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pytest
from langgraph.store.base import BaseStore
from psycopg import sql

from echoless import apply, open_store, remember, undo
from echoless.core.errors import StoreError, UsageError
from echoless.core.model import Memory
from echoless.core.settings import Choices, resolve
from echoless.execution.integrity import check
from echoless.ingest.outcomes import Admitted
from echoless.stores.base import Store
from echoless.stores.hidden_records import seen_elsewhere
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds
from tests.echoless_stores.sql.worlds import PAIR
from tests.postgres_server import Server


class TestSqliteTable(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"sql:///{folder}/agent.db?hide=move#notes"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"sql:///{folder}/agent.db#notes")

    def kept(self, memory: Memory) -> Memory:
        return replace(memory, vectors=())

    def seen(self, folder: Path) -> set[str]:
        with closing(sqlite3.connect(folder / "agent.db")) as db:
            return {text for (text,) in db.execute("SELECT content FROM notes")}


class TestPostgresTable(TestSqliteTable):
    base: ClassVar[str]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def address(cls, server: Server) -> Iterator[None]:
        cls.base = server.database("hiding")
        yield
        server.drop("hiding")

    @pytest.fixture(autouse=True)
    def lineage(self, tmp_path: Path) -> Iterator[None]:
        """Lineage beside the folder of the test; the suite takes back its own patches meanwhile."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
            yield

    def url(self, folder: Path) -> str:
        return f"postgresql://{self.base}&hide=move#{_table(folder)}"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"postgresql://{self.base}#{_table(folder)}")

    def seen(self, folder: Path) -> set[str]:
        query = sql.SQL("SELECT content FROM {}").format(sql.Identifier(_table(folder)))
        with psycopg.connect(worlds.conninfo(self.base)) as connection:
            return {text for (text,) in connection.execute(query)}


def _table(folder: Path) -> str:
    return folder.name.replace("-", "_")


def hide_second(url: str, texts: tuple[str, str] = PAIR) -> str:
    """Hides the second of two memories behind the first, and returns the run."""
    with open_store(url) as store:
        count, by_text = store.count(), {memory.content: memory.id for memory in store.scan()}
        run = apply(store, plan_by_hand(store, [tuple(by_text[text] for text in texts)], "mark"))
        assert not run.refused
        assert store.count() == count, "still read by echoless"
        return run.id


def undone(url: str, run: str) -> None:
    with open_store(url) as store:
        assert check(store).problems == ()
        undo(store, run)


def test_a_new_row_takes_no_number_of_a_moved_one(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)")
        db.executemany("INSERT INTO notes (content) VALUES (?)", [(text,) for text in PAIR])
    url = f"sql:///{path}?hide=move#notes"
    run = hide_second(url)
    with open_store(url) as store:
        added = remember(store, "The cellar is damp.", settings=resolve(Choices(semantic=False)))
        assert isinstance(added, Admitted)
        assert added.id == "3"
    undone(url, run)
    with open_store(url) as store:
        assert [memory.content for memory in store.scan()] == [*PAIR, "The cellar is damp."]


def test_a_new_row_takes_no_number_of_a_moved_one_whose_successors_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)")
        texts = [(text,) for text in (*PAIR, "Anna drinks tea.")]
        db.executemany("INSERT INTO notes (content) VALUES (?)", texts)
    url = f"sql:///{path}?hide=move#notes"
    run = hide_second(url)
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute("DELETE FROM notes WHERE id = 3").rowcount == 1
        assert db.execute("SELECT id FROM notes").fetchall() == [(1,)]
    with open_store(url) as store:
        added = remember(store, "The cellar is damp.", settings=resolve(Choices(semantic=False)))
        assert isinstance(added, Admitted)
        assert added.id == "3"
    undone(url, run)
    with open_store(url) as store:
        assert [memory.content for memory in store.scan()] == [*PAIR, "The cellar is damp."]


# ------------------------------------------------------------------ the owners' programs


def found(store: BaseStore) -> set[str]:
    """Returns the texts LangGraph finds."""
    items = store.search(("users",), limit=100)
    return {str(item.value.get("text")) for item in items}


def test_langgraph_finds_a_hidden_item_no_more_and_after_undo_again(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    url = f"sql:///{path}?hide=move#store"
    with worlds.langgraph_file(path) as graph:
        worlds.fill_langgraph(graph)
        before, rows = found(graph), worlds.rows(path, "store")
        assert before >= set(PAIR)
        run = hide_second(url)
        assert found(graph) == before - {PAIR[1]}
        undone(f"sql:///{path}", run)
        assert found(graph) == before
    assert worlds.rows(path, "store") == rows


def test_langgraph_on_a_server_gets_item_and_vectors_back(database: str) -> None:
    url, tables = f"postgresql://{database}&hide=move#store", ("store", "store_vectors")
    with worlds.langgraph_server(database, indexed=True) as graph:
        worlds.fill_langgraph(graph)
        before, rows = found(graph), worlds.server_rows(worlds.conninfo(database), *tables)
        run = hide_second(url)
        assert found(graph) == before - {PAIR[1]}
        hits = graph.search(("users",), query="gateway port", limit=100)
        assert PAIR[1] not in {hit.value.get("text") for hit in hits}
        undone(f"postgresql://{database}#store", run)
        assert found(graph) == before
    assert worlds.server_rows(worlds.conninfo(database), *tables) == rows


AGNO = ("Anna prefers green tea in the morning.", "Der Schlüssel liegt bei Frau Köhler.")


@pytest.mark.parametrize(
    ("made", "query", "table", "pair"),
    [
        (worlds.agno, "SELECT json_extract(memory, '$') FROM agno_memories", "agno_memories", AGNO),
        (worlds.openmemory, "SELECT content FROM memories", "memories", PAIR),
        (
            worlds.claude_mem,
            "SELECT coalesce(narrative, text) FROM observations",
            "observations",
            PAIR,
        ),
    ],
)
def test_a_program_reads_a_hidden_row_no_more_and_undo_gives_every_cell_back(
    tmp_path: Path, made: Callable[[Path], Path], query: str, table: str, pair: tuple[str, str]
) -> None:
    path = made(tmp_path)
    before = worlds.rows(path, table)

    def read() -> set[Any]:
        with closing(sqlite3.connect(path)) as db:
            return {text for (text,) in db.execute(query)}

    texts = read()
    assert set(pair) <= texts
    run = hide_second(f"sql:///{path}?hide=move#{table}", pair)
    assert read() == texts - {pair[1]}
    undone(str(path), run)
    assert worlds.rows(path, table) == before


# ------------------------------------------------------------------ rows with others about them


def own_table(path: Path, key: str = "INTEGER PRIMARY KEY AUTOINCREMENT") -> str:
    """Makes a table with one row of odd cells, and two tables that refer to it."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE notes (id {key}, content TEXT, odd, made TEXT DEFAULT 'now')")
        db.execute("CREATE TABLE tag (note REFERENCES notes(id) ON DELETE CASCADE, name BLOB)")
        db.execute("CREATE TABLE task (note REFERENCES notes(id))")
        for number, text in enumerate((*PAIR, "The cat sleeps.", "the cat sleeps"), 1):
            db.execute(
                "INSERT INTO notes VALUES (?, ?, ?, NULL)", (number, text, bytes([number, 0]))
            )
            db.execute("INSERT INTO tag VALUES (?, ?)", (number, b"\xff"))
        db.execute("UPDATE notes SET odd = 2.0, made = CAST(x'ff41' AS TEXT) WHERE id = 2")
        db.execute("INSERT INTO task VALUES (4)")
    return f"sql:///{path}?hide=move#notes"


TABLES = ("notes", "tag", "task")


def test_rows_that_go_with_a_row_come_back_and_rows_others_refer_to_stay(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    url = own_table(path)
    before = worlds.rows(path, *TABLES)
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [("1", "2"), ("3", "4")], "mark"))
        assert run.counts["mark"] == 2
        (note,) = store.notes()
        assert "1 ('4')" in note
        assert "refer to them" in note
    now = worlds.rows(path, *TABLES)
    assert [row[0] for row in now["notes"]] == [1, 3, 4]
    assert len(now["tag"]) == 3
    undone(url, run.id)
    assert worlds.rows(path, *TABLES) == before


def test_rows_of_any_type_come_back_to_a_server_and_keep_their_order(database: str) -> None:
    conninfo = worlds.conninfo(database)
    with psycopg.connect(conninfo, autocommit=True) as server:
        server.execute(
            "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content text,"
            " price numeric(9, 4), day timestamptz, more jsonb, many text[], raw bytea,"
            " size int GENERATED ALWAYS AS (length(content)) STORED)"
        )
        server.execute("CREATE TABLE tag (note bigint REFERENCES notes ON DELETE CASCADE, x json)")
        server.execute("CREATE TABLE task (note bigint REFERENCES notes ON DELETE SET NULL)")
        for number in range(1, 13):
            server.execute(
                "INSERT INTO notes (content, price, day, more, many, raw) VALUES (%s, 1.50,"
                " '2026-01-02 03:04:05.6+02', '{\"a\": [1.0, null]}', '{a,\"b c\",NULL}',"
                " '\\x00ff')",
                (f"Room {number} is blue.",),
            )
            server.execute("""INSERT INTO tag VALUES (%s, '{"b" :  1}')""", (number,))
        server.execute("INSERT INTO task VALUES (11)")
    before = worlds.server_rows(conninfo, *TABLES)
    url = f"postgresql://{database}&hide=move#notes"
    with open_store(url) as store:
        ids = [memory.id for memory in store.scan()]
        assert ids == [str(number) for number in range(1, 13)]
        run = apply(store, plan_by_hand(store, [("1", "2", "10", "11", "12")], "mark"))
        assert "1 ('11')" in store.notes()[0]
        assert [memory.id for memory in store.scan()] == ids
    now = worlds.server_rows(conninfo, *TABLES)
    assert (len(now["notes"]), len(now["tag"]), now["task"]) == (9, 9, before["task"])
    undone(url, run.id)
    assert worlds.server_rows(conninfo, *TABLES) == before


def test_the_row_whose_number_the_next_one_would_get_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    url = own_table(path, "INTEGER PRIMARY KEY")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM task")
    before = worlds.rows(path, *TABLES)
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [("1", "2"), ("3", "4")], "mark"))
        assert "1 ('4')" in store.notes()[0]
    assert [row[0] for row in worlds.rows(path, "notes")["notes"]] == [1, 3, 4]
    undone(url, run.id)
    assert worlds.rows(path, *TABLES) == before


def test_a_number_given_to_another_row_meanwhile_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    url = own_table(path)
    before = worlds.rows(path, *TABLES)
    run = hide_second(url)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO notes (id, content) VALUES (2, 'Another one.')")
    with open_store(url) as store:
        list(store.scan())
        assert "1 ('2')" in store.remarks()[0]
        with pytest.raises(StoreError, match="'2' cannot go back"):
            undo(store, run)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM notes WHERE id = 2")
    with open_store(url) as store:
        check(store, mend=True)
        assert store.ledger.marks() == {}
    assert worlds.rows(path, *TABLES) == before


def test_a_row_that_no_longer_fits_is_named_and_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    url = own_table(path)
    before = worlds.rows(path, *TABLES)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE UNIQUE INDEX one ON notes (content)")
    run = hide_second(url)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO notes (id, content) VALUES (9, ?)", (PAIR[1],))
    with open_store(url) as store, pytest.raises(StoreError, match=r"'2' cannot go back.*UNIQUE"):
        undo(store, run)
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute("SELECT count(*) FROM tag WHERE note = 2").fetchone() == (0,)
        db.execute("DELETE FROM notes WHERE id = 9")
    with open_store(url) as store:
        assert store.count() == 4
        check(store, mend=True)
    assert worlds.rows(path, *TABLES) == before


def test_a_memory_that_echoless_adds_gets_no_number_of_a_hidden_row(tmp_path: Path) -> None:
    url = own_table(tmp_path / "own.db")
    hide_second(url, ("The cat sleeps.", PAIR[0]))
    with open_store(url) as store, store.writing():
        new = store.shaped(Memory(id="x", content="A new one."))  # type: ignore[attr-defined]
    assert new.id == "5"


# ------------------------------------------------------------------ what the URL says


def test_a_table_that_hides_by_a_column_refuses_to_move_rows(tmp_path: Path) -> None:
    path = worlds.mcp_memory_service(tmp_path)
    with pytest.raises(UsageError, match="told by 'superseded_by' already"):
        open_store(f"sql:///{path}?hide=move")


def test_a_column_named_move_is_meant_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, move BOOLEAN)")
        db.executemany("INSERT INTO notes VALUES (?, ?, NULL)", enumerate(PAIR))
    hide_second(f"sql:///{path}?hide=move#notes")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT id FROM notes WHERE move").fetchall() == [("1",)]


def test_a_column_is_refused_while_rows_lie_in_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    run = hide_second(own_table(path))
    url = f"sql:///{path}?hide=made#notes"
    with pytest.raises(UsageError, match="lie in its ledger"):
        open_store(url)
    undone(f"sql:///{path}#notes", run)
    open_store(url).close()


def test_the_note_names_the_url_under_which_rows_leave(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    url = own_table(path)
    with open_store(url.replace("?hide=move", "")) as store:
        assert store.owner_view.hiding_url == url
        assert "go on seeing them" in (seen_elsewhere(store, {"mark": 1, "merge": 0}) or "")
    with open_store(url) as store:
        assert not store.owner_view.sees_hidden
        assert "do not see them" in store.owner_view.sentence
