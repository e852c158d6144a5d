"""`echoless import` of CSV, Parquet and DuckDB files by a map."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from click.testing import Result

from echoless.core.optional import library_settings
from echoless.execution import transfer

Call = Callable[..., Result]

CSV = (
    "\ufefftext,date,who,importance,labels\r\n"
    '"Tea is at ""four"",\nas ever",2026-01-01,anna,0.5,"[""a"", ""b""]"\r\n'
    "007,,bo,,\r\n"
    "007,,bo\r\n"
)
MAP = ("--map", "content=text", "--map", "created_at=date", "--map", "tags=labels")


@pytest.fixture(autouse=True)
def folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def rows(file: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_file_becomes_a_store(echoless: Call, mark: str) -> None:
    text = CSV.replace(",", mark).replace(f'four""{mark}', 'four"",').replace(f'a""{mark}', 'a"",')
    Path("notes.csv").write_bytes(text.encode())
    before = Path("notes.csv").read_bytes()
    said = echoless("import", "notes.csv", "new.jsonl", *MAP, "--map", "namespace=who")
    assert said.exit_code == 0, said.stderr
    first, second, third = rows("new.jsonl")
    assert first["content"] == 'Tea is at "four",\nas ever'
    assert (first["created_at"], first["importance"]) == ("2026-01-01", 0.5)
    assert first["tags"] == ["a", "b"]
    assert (second["content"], second["namespace"]) == ("007", "bo")
    assert third["id"] == f"{second['id']}-2"
    assert Path("notes.csv").read_bytes() == before
    answer = json.loads(echoless("audit", "new.jsonl", "--set", "semantic=no", "--json").stdout)
    assert answer["counts"]["redundant"] == 1


def test_usual_names_need_no_map_and_ids_stay_text(echoless: Call) -> None:
    Path("notes.tsv").write_text("id\tcontent\tmood\n007\tTea is at four.\tgood\n")
    assert echoless("import", "notes.tsv", "new.jsonl").exit_code == 0
    assert rows("new.jsonl") == [{"id": "007", "content": "Tea is at four.", "mood": "good"}]


BAD = {
    "content,content\na,b\n": (3, "two of one name"),
    "Tea is at four.,2026\n": (2, "no 'text'. The first row must name the columns"),
    "": (2, "has the columns (none)"),
    "text\ncaf\xe9\n": (3, "Line 2 of bad.csv is not UTF-8"),
    'text\n"open\nmore\n': (3, "Line 3 of bad.csv is no CSV (unexpected end of data)"),
    "text\na,b\n": (3, "Row 1 of bad.csv has more cells"),
    "id,text\n1,a\n1,b\n": (3, "Row 2 of bad.csv has the id '1' of an earlier one"),
    "text,importance\na,high\n": (3, "Row 1 of bad.csv: "),
    'text\n""\n': (3, "has no text"),
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_read_is_one_sentence_and_nothing_is_made(
    echoless: Call, text: str, folder: Path
) -> None:
    (folder / "bad.csv").write_text(text, encoding="latin-1")
    before = {*folder.iterdir()}
    said = echoless("import", "bad.csv", "new.jsonl", "--map", "content=text")
    code, sentence = BAD[text]
    assert (said.exit_code, sentence in said.stderr) == (code, True), said.stderr
    assert said.stderr.startswith("Error: ")
    assert {*folder.iterdir()} == before


def test_the_column_of_the_texts_is_asked_for(echoless: Call) -> None:
    Path("notes.csv").write_text("body,at\nTea is at four.,2026\n")
    said = echoless("import", "notes.csv", "new.jsonl")
    assert said.exit_code == 2
    assert "has the columns body, at. Say which one holds the texts: --map" in said.stderr


def test_an_audit_of_a_table_names_the_import(echoless: Call) -> None:
    Path("notes.csv").write_text("text\nTea is at four.\n")
    said = echoless("audit", "notes.csv")
    assert said.exit_code == 3
    assert "`echoless import notes.csv notes.jsonl --map content=COLUMN`" in said.stderr


def test_a_parquet_file_becomes_a_store(echoless: Call) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(
        {
            "body": ["Tea is at four.", "The lift is broken."],
            "at": [date(2026, 1, 1), None],
            "labels": [["a"], []],
        }
    )
    parquet.write_table(table, "notes.parquet")
    words = ("--map", "content=body", "--map", "created_at=at", "--map", "tags=labels")
    assert echoless("import", "notes.parquet", "new.jsonl", *words).exit_code == 0
    first, second = rows("new.jsonl")
    assert (first["created_at"], first["tags"]) == ("2026-01-01", ["a"])
    assert second["content"] == "The lift is broken."
    Path("bad.parquet").write_text("PAR1")
    said = echoless("import", "bad.parquet", "other.jsonl", *words)
    assert said.exit_code == 3
    assert "bad.parquet cannot be read as Parquet" in said.stderr


def test_a_table_of_a_duckdb_file_becomes_a_store(echoless: Call) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("agent.duckdb") as database:
        database.execute("CREATE TABLE notes (id INTEGER, content VARCHAR, created_at TIMESTAMP)")
        database.execute("INSERT INTO notes VALUES (1, 'Tea is at four.', '2026-01-01')")
    assert echoless("import", "agent.duckdb", "new.jsonl").exit_code == 0
    assert rows("new.jsonl") == [
        {"id": "1", "content": "Tea is at four.", "created_at": "2026-01-01 00:00:00"}
    ]
    said = echoless("import", "agent.duckdb#none", "other.jsonl")
    assert said.exit_code == 2
    assert "agent.duckdb has the tables notes. Write agent.duckdb#TABLE." in said.stderr


def test_views_and_macros_of_a_duckdb_file_are_not_carried_out(
    echoless: Call, folder: Path
) -> None:
    """A view may read any file of whoever opens it; a macro may have the name of a function."""
    duckdb = pytest.importorskip("duckdb")
    (folder / "private.csv").write_text("content\nMy diary.\n")
    with duckdb.connect("agent.duckdb") as database:
        database.execute(f"CREATE VIEW notes AS SELECT * FROM read_csv('{folder}/private.csv')")
        database.execute("CREATE TABLE own (content VARCHAR)")
        database.execute("INSERT INTO own VALUES ('Tea is at four.')")
        database.execute("CREATE MACRO duckdb_tables() AS TABLE SELECT 'notes' AS table_name")
    assert echoless("import", "agent.duckdb", "new.jsonl").exit_code == 0
    assert [row["content"] for row in rows("new.jsonl")] == ["Tea is at four."]
    said = echoless("import", "agent.duckdb#notes", "other.jsonl")
    assert said.exit_code == 2
    assert "agent.duckdb has the tables own. Write agent.duckdb#TABLE." in said.stderr


def test_a_duckdb_file_is_opened_with_no_other_file_extension_or_setting(folder: Path) -> None:
    """Also where something of the file gets a statement of its own carried out."""
    duckdb = pytest.importorskip("duckdb")
    (folder / "private.csv").write_text("content\nMy diary.\n")
    with duckdb.connect(config=library_settings("duckdb")) as database:
        for statement in (
            f"SELECT * FROM read_csv('{folder}/private.csv')",
            f"ATTACH '{folder}/new.duckdb'",
            "INSTALL json",
            "SET enable_external_access = true",
            "SET memory_limit = '64GB'",
        ):
            with pytest.raises(duckdb.Error, match=r"disabled|locked|configuration"):
                database.execute(statement)
    assert not (folder / "new.duckdb").exists()


def test_a_log_beside_a_duckdb_file_that_is_a_link_is_not_followed(
    echoless: Call, folder: Path
) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("agent.duckdb") as database:
        database.execute("CREATE TABLE notes AS SELECT 'Tea is at four.' AS content")
    (folder / "private").write_text("mine")
    Path("agent.duckdb.wal").symlink_to(folder / "private")
    said = echoless("import", "agent.duckdb", "new.jsonl")
    assert (said.exit_code, "It was not followed" in said.stderr) == (3, True)


def duckdb_rows(texts: list[str]) -> str:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("agent.duckdb") as database:
        database.execute("CREATE TABLE notes (content VARCHAR)")
        database.executemany("INSERT INTO notes VALUES (?)", [[text] for text in texts])
    return "agent.duckdb"


def parquet_rows(texts: list[str]) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"content": texts}), "notes.parquet")
    return "notes.parquet"


@pytest.mark.parametrize("made", [duckdb_rows, parquet_rows])
@pytest.mark.parametrize("bound", ["MOST_ROWS", "MOST_BYTES"])
def test_a_table_has_at_most_so_many_rows_and_bytes(
    echoless: Call,
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[list[str]], str],
    bound: str,
) -> None:
    texts = [f"Tea is at {number}." for number in range(3)]
    file = made(texts)
    size = 3 if bound == "MOST_ROWS" else sum(len(json.dumps([text])) for text in texts)
    monkeypatch.setattr(transfer, bound, size)
    assert echoless("import", file, "new.jsonl").exit_code == 0
    monkeypatch.setattr(transfer, bound, size - 1)
    said = echoless("import", file, "other.jsonl")
    assert said.exit_code == 3
    what = "rows" if bound == "MOST_ROWS" else "bytes in its cells"
    assert f"{file} holds more than {size - 1:,} {what}, the most that is imported" in said.stderr
    assert not Path("other.jsonl").exists()


def test_values_that_a_parquet_file_says_to_hold_are_counted_first(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = parquet_rows(["a", "b"])
    monkeypatch.setattr(transfer, "MOST_BYTES", 5)  # each of two values takes three at least
    monkeypatch.setattr(transfer, "_as_json", lambda *_: pytest.fail("rows were read"))
    assert echoless("import", file, "new.jsonl").exit_code == 3


def test_an_import_leaves_other_readers_of_csv_their_limit(echoless: Call, place: Path) -> None:
    (place / "notes.csv").write_text("text\nTea is at four.\n")
    assert echoless("import", "notes.csv", "new.jsonl", "--map", "content=text").exit_code == 0
    assert list(csv.reader(["a" * 1_000])) == [["a" * 1_000]]
