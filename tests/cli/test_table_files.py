"""`echoless import` of CSV files by a map."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

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


def test_an_import_leaves_other_readers_of_csv_their_limit(echoless: Call, place: Path) -> None:
    (place / "notes.csv").write_text("text\nTea is at four.\n")
    assert echoless("import", "notes.csv", "new.jsonl", "--map", "content=text").exit_code == 0
    assert list(csv.reader(["a" * 1_000])) == [["a" * 1_000]]
