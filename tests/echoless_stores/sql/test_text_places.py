"""The column of texts that is proposed for a table of no known program."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from echoless import apply, find, open_store, plan, undo
from echoless.cli.main import main
from echoless.core.errors import UsageError
from tests.echoless_stores.sql.worlds import conninfo
from tests.laws.worlds import safe

MOMENT = "2026-11-28 23:05:50"


def made(path: Path, statement: str, rows: Sequence[Sequence[object]]) -> Path:
    """An SQLite file with one table."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)
        marks = ", ".join("?" * len(rows[0]))
        db.executemany(f"INSERT INTO {statement.split()[2]} VALUES ({marks})", rows)
    return path


def printed(path: Path) -> list[str]:
    """The addresses that `audit` of the file prints."""
    output = CliRunner().invoke(main, ["audit", str(path)]).output
    commands = re.findall(r"echoless audit ('[^']*'|\S+)", output)
    return [shlex.split(each)[0].rstrip(".") for each in commands]


def agents_file(folder: Path, items: Sequence[Mapping[str, object]]) -> Path:
    """A session as `SQLiteSession` of openai-agents 0.24 writes it."""
    rows = [(n, "ann", json.dumps(item), MOMENT) for n, item in enumerate(items, 1)]
    columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT"
    table = f"CREATE TABLE agent_messages ({columns} NOT NULL, created_at TIMESTAMP)"
    return made(folder / "agents.db", table, rows)


def said(text: str) -> dict[str, object]:
    """An item of the user."""
    return {"role": "user", "content": text}


def answered(text: str) -> dict[str, object]:
    """An item of the model."""
    parts = [{"annotations": [], "text": text, "type": "output_text"}]
    return {"id": "m", "type": "message", "role": "assistant", "content": parts}


def test_the_printed_address_keeps_different_messages_of_one_second_apart(tmp_path: Path) -> None:
    texts = ("Deploys run on Tuesday.", "The staging database is blue.", "Ann likes short answers.")
    more = [answered("The gateway listens on port 8443."), said(texts[1])]
    path = agents_file(tmp_path, [*map(said, texts), *more])
    before = path.read_bytes()
    (address,) = printed(path)
    with open_store(address.replace("#", "&hide=move#")) as store:
        found = find(store, safe())
        assert len(found.memories) == 5
        assert [(g.survivor, [m.id for m in g.members]) for g in found.groups] == [("2", ["5"])]
        run = apply(store, plan(found))
        with closing(sqlite3.connect(path)) as db:
            kept = [
                json.loads(row) for (row,) in db.execute("SELECT message_data FROM agent_messages")
            ]
        assert kept == [*map(said, texts), more[0]]
        undo(store, run.id)
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(":memory:")) as old:
        old.deserialize(before)
        query = "SELECT * FROM agent_messages ORDER BY id"
        assert db.execute(query).fetchall() == old.execute(query).fetchall()


def test_a_text_in_a_list_of_parts_is_read_found_and_rewritten_in_its_place(tmp_path: Path) -> None:
    """The events of google-adk 2.13."""

    def event(text: str) -> str:
        return json.dumps({"content": {"parts": [{"text": text}], "role": "user"}, "id": "e"})

    texts = (
        "The lift is being repaired.",
        "Invoices go out on Mondays.",
        "The lift is being repaired.",
    )
    rows = [(f"e{n}", "app", "ann", MOMENT, event(text)) for n, text in enumerate(texts)]
    table = (
        "CREATE TABLE events (id PRIMARY KEY, app_name, user_id, timestamp DATETIME, event_data)"
    )
    path = made(tmp_path / "adk.db", table, rows)
    (address,) = printed(path)
    assert "map=content:event_data->content->parts->0->text" in address
    assert "map=created_at:timestamp" in address
    with open_store(address) as store:
        found = find(store, safe())
        assert [(g.survivor, [m.id for m in g.members]) for g in found.groups] == [("e0", ["e2"])]
        with store.writing():
            store.put([replace(store.get(["e1"])["e1"], content="Invoices go out on Fridays.")])
    with closing(sqlite3.connect(path)) as db:
        (cell,) = db.execute("SELECT event_data FROM events WHERE id = 'e1'").fetchone()
    assert cell == event("Invoices go out on Fridays.")


NO_TEXTS = {
    "a time": (MOMENT, "2026-11-28 23:05:51", "2026-11-28 23:05:52 +0100"),
    "a time in words": (
        "Sat Nov 28 23:05:50 2026",
        "Sun, 29 Nov 2026 00:01:02 GMT",
        "May 3, 2026 9 PM",
    ),
    "a number": ("+49 170 1234567", "1 024", "3.5 17"),
    "an id": ("01JF 9XQ7", "550e8400-e29b-41d4-a716-446655440000", "ab12 cd34"),
    "a path": ("/home/ann/My Documents/a.txt", "C:\\Program Files\\Tool\\x.exe", "~/b c/d e.md"),
    "an address": ("https://example.org/a b", "ann@example.org ben@example.org", "s3://b/c d"),
    "a label": ("in progress",) * 4,
    "labels": ("in progress", "not started") * 6,
}


@pytest.mark.parametrize("kind", NO_TEXTS)
def test_what_says_nothing_is_passed_over_for_the_text_in_the_column_of_json(
    tmp_path: Path, kind: str
) -> None:
    values = NO_TEXTS[kind]
    rows = [
        (n, value, json.dumps({"kind": kind, "note": f"Fact {n}: the lift is slow.", "at": MOMENT}))
        for n, value in enumerate(values)
    ]
    path = made(tmp_path / "own.db", "CREATE TABLE facts (id INTEGER PRIMARY KEY, x, data)", rows)
    assert printed(path) == [f"sql:///{path}?map=content:data->note#facts"]


@pytest.mark.parametrize("kind", NO_TEXTS)
def test_a_table_of_nothing_else_is_not_proposed(tmp_path: Path, kind: str) -> None:
    rows = list(enumerate(NO_TEXTS[kind]))
    path = made(tmp_path / "own.db", "CREATE TABLE facts (id INTEGER PRIMARY KEY, x)", rows)
    assert printed(path) == [f"sql:///{path}?map=content:COLUMN#TABLE"]


def test_a_column_that_is_named_as_a_time_is_no_text(tmp_path: Path) -> None:
    rows = [(1, "on a rainy day in the second week of May", "Ann likes tea.")]
    table = "CREATE TABLE facts (id INTEGER PRIMARY KEY, noted_at, said)"
    path = made(tmp_path / "own.db", table, rows)
    assert "map=content:said" in printed(path)[0]


def test_texts_without_spaces_between_words_are_texts(tmp_path: Path) -> None:
    rows = [(1, "诚实原则：不知道就说不知道。"), (2, "查询火车票用接口。")]
    path = made(tmp_path / "own.db", "CREATE TABLE facts (id INTEGER PRIMARY KEY, x)", rows)
    assert printed(path) == [f"sql:///{path}?map=content:x#facts"]


def test_a_named_table_without_a_usual_column_is_told_with_its_column_of_texts(
    tmp_path: Path,
) -> None:
    path = agents_file(tmp_path, [said("Deploys run on Tuesday.")])
    answer = CliRunner().invoke(main, ["audit", f"sql:///{path}#agent_messages"])
    assert f"sql:///{path}?map=content:message_data->content#agent_messages" in answer.output


def test_a_server_counts_texts_in_lists_as_they_are_read(
    database: str,
) -> None:
    values = ([{"text": "In a list."}], {"0": {"text": "In an object."}}, [], [{"text": 7}], "x")
    with psycopg.connect(conninfo(database), autocommit=True) as server:
        server.execute("CREATE TABLE facts (id int PRIMARY KEY, data jsonb)")
        for number, value in enumerate(values):
            cell = json.dumps({"parts": value})
            server.execute("INSERT INTO facts VALUES (%s, %s)", (number, cell))
    with open_store(f"postgresql://{database}&map=content:data->parts->0->text#facts") as store:
        assert [memory.content for memory in store.scan()] == ["In a list.", "In an object."]
        assert store.count() == 2
    with pytest.raises(UsageError, match=r"map=content:data->parts->0->text#facts"):
        open_store(f"postgresql://{database}#facts")
