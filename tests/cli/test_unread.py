"""An audit of a store that was not read says so in its first line, and no limit passes on it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.workflows.audit.report import LONG_MEMORY

Call = Callable[..., Result]

WORDS = "The user said a thing. "
"""Six tokens."""


def long_file(place: Path) -> str:
    (place / "MEMORY.md").write_text("# Memory\n\n" + WORDS * 100)
    return "MEMORY.md"


def table(place: Path) -> str:
    with sqlite3.connect(place / "app.db") as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")
        rows = [("Tea is at four.",), ("The lift is broken.",), ("",), (None,), (None,)]
        connection.executemany("INSERT INTO notes (body) VALUES (?)", rows)
    return "sql:///app.db?map=content:body#notes"


def blank(place: Path) -> str:
    (place / "memory.json").write_text('[{"id": "1", "content": ""}, {"id": "2", "content": " "}]')
    return "memory.json"


def nothing(place: Path) -> str:
    (place / "memory.json").write_text('{"version": "1.0", "facts": []}')
    return "memory.json"


def folder_of_text(place: Path) -> str:
    (place / "notes").mkdir()
    (place / "notes/a.md").write_text("- Tea is at four.\n- The lift is broken.\n")
    for number in range(2):
        (place / f"notes/{number}.txt").write_text("Tea is at four.")
    return "notes"


def folder_of_utf_16(place: Path) -> str:
    folder_of_text(place)
    for number in range(2):
        (place / f"notes/{number}.txt").unlink()
        (place / f"notes/{number}.md").write_bytes("- Tea is at four.".encode("utf-16"))
    return "notes"


UNREAD = {
    long_file: "Nothing was compared: all text, about 575 tokens, was read as one memory.",
    table: "Most was not read: 3 of 5 rows of the store.",
    blank: "Most was not read: 2 of 2 memories have no text.",
    folder_of_text: "Most was not read: 2 of 3 files of the store.",
    folder_of_utf_16: "Most was not read: 2 of 3 files of the store.",
}


@pytest.mark.parametrize("make", UNREAD, ids=lambda make: make.__name__)
def test_every_door_says_it_first_and_a_limit_refuses(
    echoless: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store, sentence = make(tmp_path), UNREAD[make]
    words = ("audit", store, "--set", "semantic=no")
    for form in ((), ("--explain",), ("--format", "markdown")):
        said = echoless(*words, *form)
        assert said.exit_code == 0
        assert sentence.removesuffix(".") in said.stdout
        assert "repeats another" not in said.stdout
    answer = json.loads(echoless(*words, "--json").stdout)
    assert answer["unread"].startswith(sentence)
    assert echoless(*words, "--html", "report.html").exit_code == 0
    assert sentence.removesuffix(".") in (tmp_path / "report.html").read_text()
    for form in ((), ("--json",)):
        refused = echoless(*words, "--fail-over", "100%", *form)
        assert refused.exit_code == 3
        assert "So --fail-over cannot tell" in refused.stderr


def test_an_empty_store_is_said_to_be_empty_and_passes_a_limit(
    echoless: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = echoless("audit", nothing(tmp_path), "--set", "semantic=no", "--fail-over", "0%")
    assert said.exit_code == 0
    assert "There are no memories here." in said.stdout
    assert "repeats another" not in said.stdout


def test_all_stores_are_told_apart(
    echoless: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = long_file(tmp_path)
    (tmp_path / "AGENTS.md").write_text("- Tea is at four.\n- The lift is broken.\n")
    words = ("audit", "--all", store, "AGENTS.md", "--set", "semantic=no")
    said = echoless(*words)
    assert said.exit_code == 0
    assert "Nothing was compared" in said.stdout
    refused = echoless(*words, "--fail-over", "5%")
    assert refused.exit_code == 3
    assert refused.stderr.count("So --fail-over cannot tell") == 1


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("x" * (LONG_MEMORY * 4), False),  # a bound that is reached is not passed
        ("x" * (LONG_MEMORY * 4 + 1), True),
    ],
)
def test_one_memory_is_a_note_up_to_a_length(
    echoless: Call, tmp_path: Path, text: str, *, unread: bool
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(json.dumps([text]))
    answer = json.loads(echoless("audit", str(file), "--set", "semantic=no", "--json").stdout)
    assert answer["tokens"] == LONG_MEMORY + unread
    assert (answer["unread"] is not None) == unread


def test_half_is_not_most(echoless: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of_text(tmp_path)
    (tmp_path / "notes/b.md").write_text("- The cat sleeps.\n")
    said = echoless("audit", "notes", "--set", "semantic=no", "--fail-over", "0%")
    assert said.exit_code == 0
    assert "None of 3 memories repeats another one." in said.stdout


def test_what_was_found_is_told_behind_it(echoless: Call, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text(json.dumps(["Tea is at four.", "Tea is at four.", "", "", ""]))
    said = echoless("audit", str(file), "--set", "semantic=no")
    assert "3 of 5 memories have no text. 1 of 5 memories repeats another one" in said.stdout
