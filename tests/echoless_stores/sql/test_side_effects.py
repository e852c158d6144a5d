"""Databases that write by themselves: triggers, rules, row security, and keys that cascade."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from echoless import apply, open_store, undo
from echoless.cli.main import main
from echoless.core.errors import StoreError, StoreReadOnly
from echoless.core.profiles import ActionKind
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds

NOTES = """
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT, owner TEXT,
  archived BOOLEAN DEFAULT 0, updated_at TEXT DEFAULT 'old', tags TEXT, seen INTEGER DEFAULT 0);
INSERT INTO notes (body, owner, tags) VALUES ('The printer is out of toner.', 'ann', '["a"]'),
  ('the printer is out of toner', 'ann', '["b"]'), ('The only copy.', 'ben', NULL),
  ('The lift is being repaired.', 'ann', NULL);
"""
MAP = "map=content:body&map=namespace:owner"


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def table_of(folder: Path, more: str) -> Path:
    path = folder / "n.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(NOTES + more)
    return path


def there_and_back(url: str, action: ActionKind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hides the second row behind the first and undoes it; returns remarks and notes."""
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [("1", "2")], action))
        assert not run.refused
        said = store.remarks(), tuple(store.notes())
        undo(store, run.id)
    return said


STAMP = "UPDATE notes SET updated_at = 'new' WHERE id = new.id;"
TRIGGERS = {
    "updated_at": f"CREATE TRIGGER t AFTER UPDATE ON notes BEGIN {STAMP} END;",
    "inserted too": f"CREATE TRIGGER t AFTER UPDATE ON notes BEGIN {STAMP} END;"
    f"CREATE TRIGGER u AFTER INSERT ON notes BEGIN {STAMP} END;",
    "a guarded one": "CREATE TRIGGER t AFTER UPDATE ON notes"
    f" WHEN new.updated_at = old.updated_at BEGIN {STAMP} END;",
    "a number": "CREATE TRIGGER t AFTER UPDATE ON notes"
    " BEGIN UPDATE notes SET seen = seen + 1 WHERE id = new.id; END;",
    "through another table": "CREATE TABLE hook (id);"
    "CREATE TRIGGER t AFTER UPDATE ON notes BEGIN INSERT INTO hook VALUES (new.id);"
    " DELETE FROM hook; END;"
    "CREATE TRIGGER h AFTER INSERT ON hook BEGIN"
    " UPDATE notes SET updated_at = 'new' WHERE id = new.id; END;",
    "a counter": "CREATE TABLE counts (owner, n); INSERT INTO counts VALUES ('ann', 3), ('ben', 1);"
    "CREATE TRIGGER t AFTER DELETE ON notes BEGIN"
    " UPDATE counts SET n = n - 1 WHERE owner = old.owner; END;"
    "CREATE TRIGGER u AFTER INSERT ON notes BEGIN"
    " UPDATE counts SET n = n + 1 WHERE owner = new.owner; END;",
}


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize(
    ("hide", "action"),
    [("archived", "mark"), ("move", "mark"), ("archived", "merge"), ("archived", "delete")],
)
def test_cells_that_a_trigger_changes_beside_are_as_before_after_an_undo(
    tmp_path: Path, trigger: str, hide: str, action: ActionKind
) -> None:
    path = table_of(tmp_path, TRIGGERS[trigger])
    before = dump(path)
    remarks, _ = there_and_back(f"sql:///{path}?{MAP}&hide={hide}#notes", action)
    assert dump(path) == before
    assert any("a write sets off" in remark and "the trigger 't'" in remark for remark in remarks)


LOSSES = {
    "another row": ("UPDATE notes SET body = 'HACKED' WHERE id = 3;", "'body' of the row '3'"),
    "a row of the same owner": (
        "UPDATE notes SET seen = seen + 1 WHERE owner = new.owner;",
        "'seen' of the row '1'",
    ),
    "a row that follows": ("UPDATE notes SET archived = new.archived WHERE id = 3;", "'archived'"),
    "another table": ("UPDATE other SET text = 'HACKED';", "rows of 'other'"),
    "rows of another table": ("DELETE FROM other WHERE id = 1;", "rows of 'other'"),
    "in place of a row": ("REPLACE INTO notes (id, body) VALUES (3, 'x');", "of the row '3'"),
}
OTHER = "CREATE TABLE other (id INTEGER PRIMARY KEY, text); INSERT INTO other VALUES (1, 'mine');"


@pytest.mark.parametrize("loss", LOSSES)
def test_what_no_undo_could_take_back_is_refused_and_named(tmp_path: Path, loss: str) -> None:
    statement, says = LOSSES[loss]
    trigger = f"CREATE TRIGGER spoils AFTER UPDATE ON notes BEGIN {statement} END;"
    path = table_of(tmp_path, OTHER + trigger)
    before = dump(path)
    url = f"sql:///{path}?{MAP}&hide=archived#notes"
    answer = CliRunner().invoke(
        main, ["dedup", url, "--set", "semantic=no", "--apply", "--top", "0"]
    )
    assert answer.exit_code == 4, answer.output
    assert "the trigger 'spoils' changes" in answer.output
    assert says in answer.output
    assert "nothing was changed" in answer.output
    assert dump(path) == before
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER spoils")
    there_and_back(url, "mark")


def test_rows_that_a_trigger_removes_with_a_row_are_not_lost(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        "CREATE TABLE tags (note, tag); INSERT INTO tags VALUES (2, 'x'), (2, 'y'), (3, 'z');"
        "CREATE TRIGGER gone AFTER DELETE ON notes"
        " BEGIN DELETE FROM tags WHERE note = old.id; END;",
    )
    before = dump(path)
    ways: tuple[tuple[str, ActionKind], ...] = (("move", "mark"), ("move", "delete"))
    for hide, action in ways:
        with (
            open_store(f"sql:///{path}?{MAP}&hide={hide}#notes") as store,
            pytest.raises(StoreError, match="the trigger 'gone' changes or removes rows of 'tags'"),
        ):
            apply(store, plan_by_hand(store, [("1", "2")], action))
        assert dump(path) == before


def test_an_undo_that_alone_would_spoil_a_row_is_found_by_the_apply(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        "CREATE TRIGGER later AFTER UPDATE OF archived ON notes WHEN new.archived = 0"
        " BEGIN UPDATE notes SET body = 'HACKED' WHERE id = 3; END;",
    )
    with (
        open_store(f"sql:///{path}?{MAP}&hide=archived#notes") as store,
        pytest.raises(StoreError, match="'body' of the row '3'"),
    ):
        apply(store, plan_by_hand(store, [("1", "2")], "mark"))


def test_a_log_of_the_owner_is_told_and_full_text_follows(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        "CREATE TABLE log (what); CREATE VIRTUAL TABLE fts USING fts5(body, content=notes,"
        " content_rowid=id); INSERT INTO fts(fts) VALUES ('rebuild');"
        f"CREATE TRIGGER t AFTER UPDATE ON notes BEGIN {STAMP}"
        " INSERT INTO log VALUES (new.id); END;"
        "CREATE TRIGGER d AFTER DELETE ON notes BEGIN"
        " INSERT INTO fts(fts, rowid, body) VALUES ('delete', old.id, old.body); END;"
        "CREATE TRIGGER i AFTER INSERT ON notes BEGIN"
        " INSERT INTO fts(rowid, body) VALUES (new.id, new.body); END;",
    )
    before = worlds.rows(path, "notes")
    actions: tuple[ActionKind, ...] = ("mark", "delete")
    for action in actions:
        _, notes = there_and_back(f"sql:///{path}?{MAP}&hide=archived#notes", action)
        assert worlds.rows(path, "notes") == before
        assert any("added rows to log" in note for note in notes)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT DISTINCT what FROM log").fetchall() == [(2,), (1,)]
        db.execute("INSERT INTO fts(fts, rank) VALUES ('integrity-check', 1)")
        assert db.execute("SELECT rowid FROM fts('toner') ORDER BY 1").fetchall() == [(1,), (2,)]


def test_triggers_that_only_fill_full_text_are_no_news(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        "CREATE VIRTUAL TABLE fts USING fts5(body);"
        "CREATE TRIGGER i AFTER INSERT ON notes BEGIN"
        " INSERT INTO fts(rowid, body) VALUES (new.id, new.body); END;",
    )
    assert there_and_back(f"sql:///{path}?{MAP}&hide=archived#notes", "mark") == ((), ())


def test_reading_tells_of_triggers_and_changes_no_byte(tmp_path: Path) -> None:
    path = table_of(tmp_path, TRIGGERS["updated_at"])
    before = path.read_bytes()
    url = f"sql:///{path}?{MAP}&hide=archived#notes"
    answer = CliRunner().invoke(main, ["dedup", url, "--set", "semantic=no"])
    assert answer.exit_code == 0, answer.output
    assert "a write sets off the trigger 't'" in " ".join(answer.output.split())
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_row_the_database_does_not_take_is_no_success(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        "CREATE TRIGGER keeps BEFORE UPDATE ON notes BEGIN SELECT RAISE(IGNORE); END;"
        "CREATE TRIGGER holds BEFORE DELETE ON notes BEGIN SELECT RAISE(IGNORE); END;",
    )
    before = dump(path)
    ways: tuple[tuple[str, ActionKind], ...] = (
        ("move", "mark"),
        ("move", "delete"),
        ("archived", "mark"),
    )
    for hide, action in ways:
        with (
            open_store(f"sql:///{path}?{MAP}&hide={hide}#notes") as store,
            pytest.raises(StoreError, match="took 0 of 1 rows"),
        ):
            apply(store, plan_by_hand(store, [("1", "2")], action))
        assert dump(path) == before


# ------------------------------------------------------------------ a server


SERVER = """
CREATE TABLE notes (id int PRIMARY KEY, content text, owner text, archived boolean DEFAULT false,
  updated_at timestamptz DEFAULT '2020-01-01', tags text[]);
INSERT INTO notes (id, content, owner, tags) VALUES
  (1, 'The printer is out of toner.', 'ann', '{a}'), (2, 'the printer is out of toner', 'ann',
  '{b}'), (3, 'The only copy.', 'ben', NULL), (4, 'The lift is being repaired.', 'ann', NULL);
CREATE TABLE other (id int PRIMARY KEY, text text);
INSERT INTO other VALUES (1, 'mine'), (2, 'yours');
CREATE TABLE log (what text);
"""


def function(name: str, body: str, result: str = "NEW") -> str:
    code = f"BEGIN {body} RETURN {result}; END"
    return f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {code} $$;"


TOUCH = function("touch", "NEW.updated_at = now();") + (
    "CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();"
)


@pytest.fixture
def notes(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as connection:
        connection.execute(SERVER)
        yield connection


def state(database: str) -> dict[str, list[Any]]:
    return worlds.server_rows(worlds.conninfo(database), "notes", "other")


@pytest.mark.parametrize(
    ("hide", "action"),
    [("archived", "mark"), ("move", "mark"), ("archived", "merge"), ("archived", "delete")],
)
def test_a_server_sets_back_what_a_trigger_changes_in_the_rows_of_a_run(
    database: str, notes: psycopg.Connection, hide: str, action: ActionKind
) -> None:
    notes.execute(TOUCH)
    notes.execute("ALTER TABLE notes ENABLE ALWAYS TRIGGER touched")
    before = state(database)
    url = f"postgresql://{database}&map=namespace:owner&hide={hide}#notes"
    remarks, _ = there_and_back(url, action)
    assert state(database) == before
    assert any("sets off the trigger 'touched'" in remark for remark in remarks)
    enabled = notes.execute("SELECT tgenabled::text FROM pg_trigger WHERE tgname = 'touched'")
    assert enabled.fetchall() == [("A",)]
    with open_store(url) as store, store.writing():
        store.put([store.get(["3"])["3"]])


SPOILS = {
    "another row": ("UPDATE notes SET content = 'HACKED' WHERE id = 3;", "'content' of the row"),
    "another table": ("UPDATE other SET text = 'HACKED' WHERE id = 1;", "rows of 'other'"),
    "rows of another": ("DELETE FROM other WHERE id = 2;", "rows of 'other'"),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("action", ["mark", "delete"])
def test_a_server_refuses_what_no_undo_could_take_back(
    database: str, notes: psycopg.Connection, spoil: str, action: ActionKind
) -> None:
    statement, says = SPOILS[spoil]
    notes.execute(function("spoil", f"IF pg_trigger_depth() < 2 THEN {statement} END IF;", "NULL"))
    notes.execute(
        "CREATE TRIGGER spoils AFTER UPDATE OR DELETE ON notes FOR EACH ROW"
        " EXECUTE FUNCTION spoil()"
    )
    before = state(database)
    url = f"postgresql://{database}&map=namespace:owner&hide=archived#notes"
    with open_store(url) as store, pytest.raises(StoreError, match=says):
        apply(store, plan_by_hand(store, [("1", "2")], action))
    assert state(database) == before


def test_a_server_tells_of_a_log_and_keeps_a_counter_right(
    database: str, notes: psycopg.Connection
) -> None:
    notes.execute(
        function("logs", "INSERT INTO log VALUES (TG_OP);", "NULL")
        + function(
            "counts",
            "UPDATE other SET text = (SELECT count(*) FROM notes)::text WHERE id = 1;",
            "NULL",
        )
        + "CREATE TRIGGER logged AFTER UPDATE OR DELETE ON notes FOR EACH ROW"
        " EXECUTE FUNCTION logs();"
        "CREATE TRIGGER counted AFTER INSERT OR DELETE ON notes FOR EACH STATEMENT"
        " EXECUTE FUNCTION counts();"
        "UPDATE other SET text = '4' WHERE id = 1;"
    )
    before = state(database)
    _, told = there_and_back(f"postgresql://{database}&hide=archived#notes", "delete")
    assert state(database) == before
    assert any("added rows to log" in note for note in told)


def test_a_rule_or_row_security_that_swallows_a_write_is_no_success(
    database: str, notes: psycopg.Connection
) -> None:
    before = state(database)
    notes.execute("CREATE RULE keeps AS ON UPDATE TO notes WHERE old.id = 2 DO INSTEAD NOTHING")
    url = f"postgresql://{database}&hide=archived#notes"
    with open_store(url) as store, pytest.raises(StoreError, match="took 0 of 1 rows"):
        apply(store, plan_by_hand(store, [("1", "2")], "mark"))
    notes.execute("DROP RULE keeps ON notes; ALTER TABLE notes ENABLE ROW LEVEL SECURITY")
    notes.execute("DROP SCHEMA echoless_notes CASCADE")  # that of the owner
    notes.execute("CREATE POLICY reads ON notes FOR SELECT USING (true)")
    user = f"u{database.partition('?')[0].rpartition('/')[2]}"
    notes.execute(
        f"CREATE USER {user}; GRANT ALL ON notes TO {user}; GRANT CREATE ON DATABASE"
        f" {worlds.name_of(database)} TO {user}"
    )
    try:
        other = url.replace("postgres@", f"{user}@")
        with open_store(other) as store, pytest.raises(StoreError, match="Nothing was changed"):
            apply(store, plan_by_hand(store, [("1", "2")], "mark"))
        assert state(database) == before
    finally:
        notes.execute(f"DROP OWNED BY {user}; DROP USER {user}")


def test_who_may_not_switch_a_trigger_off_is_told_before_anything_changes(
    database: str, notes: psycopg.Connection
) -> None:
    notes.execute(TOUCH)
    before = state(database)
    user = f"o{database.partition('?')[0].rpartition('/')[2]}"
    notes.execute(
        f"CREATE USER {user}; GRANT ALL ON notes TO {user}; GRANT CREATE ON DATABASE"
        f" {worlds.name_of(database)} TO {user}"
    )
    try:
        url = f"postgresql://{database}&hide=archived#notes".replace("postgres@", f"{user}@")
        with open_store(url) as store, pytest.raises(StoreReadOnly, match="the owner of notes"):
            apply(store, plan_by_hand(store, [("1", "2")], "mark"))
        assert state(database) == before
    finally:
        notes.execute(f"DROP OWNED BY {user}; DROP USER {user}")


def test_triggers_of_a_part_of_a_table_count_too(database: str, notes: psycopg.Connection) -> None:
    notes.execute(
        "DROP TABLE notes; CREATE TABLE notes (id int PRIMARY KEY, content text, archived boolean,"
        " updated_at timestamptz) PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF notes FOR VALUES FROM (0) TO (100);"
        "INSERT INTO notes SELECT n, 'The printer is out of toner.', false, '2020-01-01'"
        " FROM generate_series(1, 3) n;"
    )
    notes.execute(TOUCH.replace("ON notes", "ON low"))
    before = state(database)
    there_and_back(f"postgresql://{database}&hide=archived#notes", "mark")
    assert state(database) == before
