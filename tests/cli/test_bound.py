"""What a program keeps beside its records, by their places, is not broken by hiding one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]
NONE = ("--encoder", "none")
TEXTS = ("Tea is at four.", "tea is at four", "Backups run at two.")


@pytest.fixture(params=["matrix", "rows", "file"])
def document(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A list of memories with its vectors in the same document, or in a file beside it."""
    data = [{"id": str(number), "content": text} for number, text in enumerate(TEXTS)]
    beside: dict[str, object] = {"matrix": "A" * 300} if request.param == "matrix" else {}
    if request.param == "rows":
        beside["vectors"] = [[1, 0], [1, 0], [0, 1]]
    if request.param == "file":
        (tmp_path / "vectors.npy").write_bytes(b"\x93NUMPY")
    path = tmp_path / "vdb.json"
    path.write_text(json.dumps({"data": data, **beside}))
    return path


def test_a_list_with_a_matrix_is_hidden_from_echoless_alone(echoless: Call, document: Path) -> None:
    before = document.read_bytes()
    said = echoless("dedup", f"jsonl:///{document}?hide=move", *NONE, "--apply")
    assert said.exit_code == 4
    assert "may hold a row for each element" in said.stderr
    assert "hide=move" not in echoless("dedup", str(document), *NONE).stdout
    for action in ("mark", "delete"):
        assert echoless("dedup", str(document), *NONE, "--action", action, "--apply").exit_code == 0
        assert document.read_bytes() == before
        echoless("undo", str(document))
    assert echoless("remember", str(document), "The lift is broken.").exit_code == 4
    assert "cannot" in (said := echoless("forget", str(document), "0", "--yes")).stderr or (
        "stays" in said.stderr
    )
    assert document.read_bytes() == before


def table(path: Path, *more: str) -> None:
    with sqlite3.connect(path, isolation_level=None) as database:
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)")
        for text in TEXTS:
            database.execute("INSERT INTO notes (body) VALUES (?)", (text,))
        for statement in more:
            database.execute(statement)
    database.close()


INDEX = "CREATE VIRTUAL TABLE notes_fts USING fts5(body, content='notes', content_rowid='id')"
FILLED = "INSERT INTO notes_fts (notes_fts) VALUES ('rebuild')"
TRIGGER = (
    "CREATE TRIGGER gone AFTER DELETE ON notes BEGIN INSERT INTO notes_fts (notes_fts, rowid, body)"
    " VALUES ('delete', old.id, old.body); END"
)


def found(path: Path) -> list[tuple[int]]:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT rowid FROM notes_fts WHERE notes_fts MATCH 'tea'")
        return rows.fetchall()


def test_an_index_that_the_program_keeps_itself_still_answers(
    echoless: Call, tmp_path: Path
) -> None:
    path = tmp_path / "fts.db"
    table(path, INDEX, FILLED)
    address = f"sql:///{path}?map=content:body#notes"
    said = echoless("dedup", address.replace("map", "hide=move&map"), *NONE, "--apply")
    assert said.exit_code == 4
    assert "its full-text index notes_fts is kept by the program itself" in said.stderr
    assert echoless("dedup", address, *NONE, "--action", "delete", "--apply").exit_code == 0
    assert found(path) == [(1,), (2,)]


def test_an_index_that_triggers_keep_is_no_hindrance(echoless: Call, tmp_path: Path) -> None:
    path = tmp_path / "fts.db"
    table(path, INDEX, FILLED, TRIGGER)
    moved = f"sql:///{path}?hide=move&map=content:body#notes"
    assert echoless("dedup", moved, *NONE, "--apply").exit_code == 0
    assert found(path) == [(1,)]


def test_an_index_of_libsql_is_named_before_anything_is_tried(
    echoless: Call, tmp_path: Path
) -> None:
    path = tmp_path / "libsql.db"
    table(
        path,
        "CREATE INDEX near ON notes (abs(body))",
        "PRAGMA writable_schema=1",
        "UPDATE sqlite_master SET sql = replace(sql, 'abs(', 'libsql_vector_idx(')",
    )
    said = echoless("dedup", f"sql:///{path}?map=content:body#notes", *NONE, "--apply")
    assert said.exit_code == 0
    assert "its index near needs libSQL" in said.stderr


@pytest.mark.parametrize("key", ["meta", "payload", "attributes"])
def test_owners_in_an_object_of_any_name_keep_memories_apart(
    echoless: Call, tmp_path: Path, key: str
) -> None:
    rows = [
        {"id": user, "content": "Anna prefers green tea.", key: {"user_id": user}}
        for user in ("ann", "ben")
    ]
    for name, text in (
        ("list.json", json.dumps({"documents": rows})),
        ("lines.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
    ):
        (tmp_path / name).write_text(text)
        said = echoless("dedup", str(tmp_path / name), *NONE, "--json")
        assert json.loads(said.stdout)["counts"]["groups"] == 0
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT, {key} TEXT)")
        for row in rows:
            values = (row["id"], row["content"], json.dumps(row[key]))
            database.execute("INSERT INTO notes VALUES (?, ?, ?)", values)
    said = echoless("dedup", f"sql:///{path}?map=content:body#notes", *NONE, "--json")
    assert json.loads(said.stdout)["counts"]["groups"] == 0
