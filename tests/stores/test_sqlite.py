from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from echoless import open_store
from echoless.core.errors import (
    ForeignStore,
    StoreError,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    StoreReplaced,
)
from echoless.stores import Scope
from echoless.stores.sqlite import SqliteStore
from tests.conformance.stores import StoreConformance, contents, fill, simple


class TestSqlite(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"sqlite:///{folder}/memories.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(f"sqlite:///{tmp_path}/m.db", [simple(1, "Tea is served at four."), simple(2)])
    return tmp_path / "m.db"


def test_a_bare_path_is_recognised_by_its_content(path: Path) -> None:
    odd = path.rename(path.with_name("memories.bin"))
    with open_store(odd) as store:
        assert isinstance(store, SqliteStore)
        assert store.count() == 2


def test_the_file_is_in_wal_mode_with_foreign_keys(path: Path) -> None:
    with open_store(path) as store, store.writing():
        db = store._database.connection
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_another_programs_database_is_refused_by_name(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE memories (x)")
    db.close()
    before = contents(tmp_path)
    with pytest.raises(ForeignStore, match=r"other\.db is an SQLite database of another program"):
        open_store(other)
    assert contents(tmp_path) == before


def test_a_text_file_is_not_taken_for_a_database(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("just some notes")
    with pytest.raises(ForeignStore, match="not an SQLite database"):
        open_store(f"sqlite:///{text}")
    with pytest.raises(ForeignStore, match="not an SQLite database"):
        open_store(text)
    with pytest.raises(ForeignStore, match="not a store echoless knows"):
        open_store(text.rename(tmp_path / "notes.txt"))


def test_a_damaged_database_is_refused(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:2000] = b"\xff" * 1900
    path.write_bytes(bytes(data))
    with pytest.raises((ForeignStore, StoreError), match=r"m\.db"):
        open_store(path)


def test_a_database_damaged_while_it_is_open_tells_no_changes_but_a_sentence(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    with open_store(path) as store:
        assert isinstance(store, SqliteStore)
        path.write_bytes(b"x" * path.stat().st_size)
        with pytest.raises(ForeignStore, match=r"m\.db"):
            store.changes("")
        with pytest.raises(ForeignStore, match=r"m\.db"):
            store.gone()


def test_a_recorded_change_whose_id_is_no_text_tells_of_no_memory(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM memories")
        db.execute("UPDATE memories_changes SET id = CAST('m-7' AS BLOB) WHERE id = 'm-1'")
    with open_store(path) as store:
        assert isinstance(store, SqliteStore)
        assert list(store.gone()) == ["m-2"]


def test_a_damaged_schema_that_is_no_text_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    assert b"CREATE TABLE marks" in data
    path.write_bytes(data.replace(b"CREATE TABLE marks", b"CREATE TAB\xc8E marks"))
    with pytest.raises(ForeignStore, match=r"m\.db is not a readable SQLite database"):
        open_store(path)


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO migrations VALUES ('store/9999_future', 'then')")
    db.close()
    with pytest.raises(StoreError, match="newer echoless"):
        open_store(path)


def test_a_second_writer_is_told_that_the_store_is_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.sqlite.BUSY_TIMEOUT_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with open_store(path) as store, store.writing():
        with pytest.raises(StoreLocked, match="locked by another process"):
            store.put([simple(3)])
    other.execute("ROLLBACK")
    other.close()
    with open_store(path) as store:
        assert store.count() == 2


def test_readers_see_the_store_while_another_process_writes(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM memories")
    with open_store(path) as store:
        assert store.count() == 2
    other.execute("ROLLBACK")
    other.close()


def test_words_are_found_by_bm25_and_only_in_scope(path: Path) -> None:
    with open_store(path) as store, store.writing():
        store.put([simple(3, "Tea, tea and more tea.", namespace="other")])
        assert [i for i, _ in store.search_text("TEA", Scope(), 5)] == ["m-3", "m-1"]
        assert [i for i, _ in store.search_text("tea", Scope(namespace=""), 5)] == ["m-1"]
        assert [i for i, _ in store.search_text("tea", Scope(since="2026-01-02"), 5)] == ["m-3"]


@pytest.mark.parametrize(
    "query", ['"', "tea AND", "NEAR(", "a*b OR", "col:x", "-", "'; DROP TABLE memories"]
)
def test_query_syntax_is_read_as_words(path: Path, query: str) -> None:
    with open_store(path) as store:
        store.search_text(query, Scope(), 5)
        assert store.count() == 2


def test_scripts_without_spaces_are_found_by_trigrams_and_short_parts(path: Path) -> None:
    with open_store(path) as store, store.writing():
        store.put([simple(3, "決済サーバーを止める前に通知を送る。"), simple(4, "東京は晴れ。")])
        assert [i for i, _ in store.search_text("サーバー", Scope(), 5)] == ["m-3"]
        assert [i for i, _ in store.search_text("東京", Scope(), 5)] == ["m-4"]


def test_full_text_follows_changes_and_removals(path: Path) -> None:
    with open_store(path) as store, store.writing():
        store.put([simple(1, "Coffee instead.")])
        assert store.search_text("tea", Scope(), 5) == []
        assert [i for i, _ in store.search_text("coffee", Scope(), 5)] == ["m-1"]
        store.remove(["m-1"])
        assert store.search_text("coffee", Scope(), 5) == []
        assert store.integrity() == []


def test_a_store_that_may_not_be_written_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anything, so the file is opened the way the system would allow it: read-only.
    real = sqlite3.connect
    monkeypatch.setattr(
        "echoless.core.sqlite.sqlite3.connect",
        lambda name, **more: real(name.replace("mode=rw", "mode=ro"), **more),
    )
    with open_store(path) as store:
        with pytest.raises(StoreReadOnly, match="may not be written"), store.writing():
            store.put([simple(3)])


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "removed"])
def test_nothing_is_written_to_a_file_that_was_taken_away(path: Path, *, replaced: bool) -> None:
    other = path.with_name("other.db")
    fill(f"sqlite:///{other}", [simple(3)])
    with open_store(path) as store:
        with store.writing():
            store.put([simple(4)])  # the writer stays open for the next one
        for file in path.parent.glob("m.db*"):
            file.unlink()
        if replaced:
            other.rename(path)
        before = contents(path.parent)
        with pytest.raises(StoreReplaced, match="removed or replaced"), store.writing():
            store.put([simple(5)])
        assert contents(path.parent) == before


def test_an_absolute_path_behind_three_slashes_is_told_apart(tmp_path: Path) -> None:
    fill(f"sqlite:///{tmp_path}/agent.db", [simple(1)])
    with pytest.raises(StoreNotFound, match="Did you mean sqlite:////"):
        open_store(f"sqlite://{tmp_path}/agent.db")
    with pytest.raises(StoreNotFound) as problem:
        open_store("sqlite:///no such folder/agent.db")
    assert "four" not in str(problem.value)
