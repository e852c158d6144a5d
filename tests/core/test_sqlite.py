"""Files of SQLite, and the locks on them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from echoless import open_store
from echoless.core.sqlite import is_sqlite, open_for_writing
from echoless.stores.jsonl import JsonlStore
from tests.conformance.stores import contents
from tests.stores.stopped_writers import stop_in_the_middle

INTRUDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    db.execute("BEGIN IMMEDIATE")
    print("came in")
except sqlite3.OperationalError as problem:
    print(problem)
"""


@pytest.mark.parametrize(
    "look",
    [is_sqlite, JsonlStore.recognises, lambda path: open_store(path).close()],
    ids=["is_sqlite", "recognises", "open_store"],
)
def test_looking_at_a_file_does_not_let_another_process_past_the_writer(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    path = tmp_path / "agent.db"
    open_store(path, create=True).close()
    writer = open_for_writing(path, wal=False)
    writer.connection.execute("PRAGMA journal_mode=DELETE")
    with writer.transaction():
        look(path)
        done = subprocess.run(
            [sys.executable, "-c", INTRUDER, str(path)], capture_output=True, text=True, check=True
        )
    writer.close()
    assert done.stdout == "database is locked\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", False), (b"SQLite", False), (b"x" * 5000, False), (b'{"id": "m-1"}\n' * 500, False)],
)
def test_what_is_no_database_is_told_apart(tmp_path: Path, data: bytes, expected: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert is_sqlite(path) is expected
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_is_one_also_while_another_process_left_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = open_for_writing(path, create=True)
    database.connection.execute("CREATE TABLE t (x)")
    assert is_sqlite(path)
    database.close()
    assert is_sqlite(path)
    assert not is_sqlite(tmp_path / "gone.db")
    assert not is_sqlite(tmp_path)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_rows_that_nobody_reads_to_the_end_may_outlive_their_connection(tmp_path: Path) -> None:
    open_store(tmp_path / "agent.db", create=True).close()
    database = open_for_writing(tmp_path / "agent.db", wal=False)
    rows = database.stream(
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT x FROM n LIMIT 9"
    )
    assert next(rows) == (1,)
    database.close()
    rows.close()


SCHEMAS = {
    "a check": "CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT,"
    " m TEXT CHECK (json_valid(m)))",
    "an index": "CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, m TEXT);"
    "CREATE INDEX by_wing ON notes (json_extract(m, '$.wing'))",
    "a computed column": "CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, m TEXT,"
    " wing TEXT GENERATED ALWAYS AS (json_extract(m, '$.wing')) VIRTUAL)",
}


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_table_whose_schema_reads_json_is_read(
    tmp_path: Path, schema: str, *, stopped: bool
) -> None:
    """SQLite 3.40 counts `json_extract` among the functions an untrusted schema may not use."""
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(SCHEMAS[schema])
        db.execute("INSERT INTO notes (id, content, m) VALUES ('a', 'Tea is hot.', '{}')")
    if stopped:
        stop_in_the_middle(path)
    before = contents(tmp_path)
    with open_store(f"sql:///{path}#notes") as store:
        assert [memory.content for memory in store.scan()] == ["Tea is hot."]
    assert contents(tmp_path) == before
