"""`audit --compare` and `--fail-worse`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]
Write = Callable[..., str]

TEA = "Anna drinks green tea in the morning."
PRINTER = "The printer in the hallway is out of toner."


@pytest.fixture
def old(echoless: Call, write_store: Write, place: Path) -> str:
    """The answer about a store without repetition, which has some since."""
    store = write_store(("m-1", TEA, "home", 0.5), ("m-2", PRINTER, "home", 0.5))
    said = echoless("audit", store, "--set", "semantic=no", "--json")
    (place / "old.json").write_text(said.stdout, "utf-8")
    write_store(("m-1", TEA, "home", 0.5), ("m-2", PRINTER, "home", 0.5), ("m-3", TEA, "home", 0.5))
    return "old.json"


def test_the_report_begins_with_what_got_worse_in_words_and_signs(echoless: Call, old: str) -> None:
    said = echoless("audit", "notes.jsonl", "--set", "semantic=no", "--compare", old)
    assert said.exit_code == 0
    assert said.stdout.startswith("Compared with old.json\n")
    assert "Worse: 33.3% of what is visible is redundant, before it was 0.0%." in said.stdout
    assert "+33.3 points, worse" in said.stdout
    assert "Groups: 1 new." in said.stdout
    assert "new: m-1 (1 copy)" in said.stdout
    assert "home: 33.3%, before 0.0%" in said.stdout
    assert said.stdout.index("Compared with") < said.stdout.index("Audit of")


def test_markdown_has_the_same_section(echoless: Call, old: str) -> None:
    said = echoless(
        "audit", "notes.jsonl", "--set", "semantic=no", "--compare", old, "--format", "markdown"
    )
    assert "## Compared with old.json" in said.stdout
    assert "| +33.3 points, worse |" in said.stdout


def test_json_has_it_under_compared_with_the_texts_of_what_it_names(
    echoless: Call, old: str
) -> None:
    words = ("audit", "notes.jsonl", "--set", "semantic=no", "--compare", old, "--json", "--texts")
    data = json.loads(echoless(*words).stdout)
    assert data["compared"]["change"] == "worse"
    assert data["compared"]["groups"]["new"] == [{"survivor": "m-1", "before": 0, "now": 1}]
    assert data["texts"]["m-1"] == TEA


def test_a_share_that_rose_ends_with_10_where_that_is_asked_for(echoless: Call, old: str) -> None:
    worse = echoless(
        "audit", "notes.jsonl", "--set", "semantic=no", "--compare", old, "--fail-worse"
    )
    assert worse.exit_code == 10
    assert "33.33% is redundant, and in old.json it was 0.00%: it got worse." in worse.stderr
    (data,) = [echoless("audit", "notes.jsonl", "--set", "semantic=no", "--json").stdout]
    Path("new.json").write_text(data, "utf-8")
    words = (
        "audit",
        "notes.jsonl",
        "--set",
        "semantic=no",
        "--compare",
        "new.json",
        "--fail-worse",
    )
    same = echoless(*words)
    assert same.exit_code == 0
    assert "As before: 33.3% of what is visible is redundant." in same.stdout
    assert "Groups: 1 as before." in same.stdout
    assert echoless(*words, "--fail-over", "5%").exit_code == 10


def test_each_of_several_stores_is_compared_with_its_own_audit(
    echoless: Call, old: str, write_store: Write, place: Path
) -> None:
    write_store(("m-1", PRINTER, "", 0.5), name="other.jsonl")
    words = ("audit", "notes.jsonl", "other.jsonl", "--set", "semantic=no", "--json")
    first = echoless(*words, "--compare", old, "--fail-worse")
    assert first.exit_code == 10
    assert "old.json has no audit of jsonl:///other.jsonl, so it is not compared." in first.stderr
    stores = json.loads(first.stdout)["stores"]
    assert [bool(each["compared"]) for each in stores] == [True, False]
    (place / "both.json").write_text(first.stdout, "utf-8")
    again = json.loads(echoless(*words, "--compare", "both.json").stdout)["stores"]
    assert [each["compared"]["change"] for each in again] == ["same", "same"]


def test_another_store_is_compared_and_said(echoless: Call, old: str, write_store: Write) -> None:
    write_store(("m-1", PRINTER, "", 0.5), name="other.jsonl")
    said = echoless("audit", "other.jsonl", "--set", "semantic=no", "--compare", old)
    assert said.exit_code == 0
    assert "is of jsonl:///notes.jsonl, this one of jsonl:///other.jsonl." in said.stdout


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("notes.jsonl", "--fail-worse"), 2, "add --compare OLD.json"),
        (("--all", ".", "--compare", "old.json"), 2, "--compare and --all do not go together"),
        (("notes.jsonl", "--compare", "none.json"), 3, "none.json cannot be read"),
        (("notes.jsonl", "--compare", "notes.jsonl"), 3, "is not an answer of `echoless audit"),
    ],
)
def test_wrong_calls_say_what_to_do(
    echoless: Call, old: str, words: tuple[str, ...], code: int, problem: str
) -> None:
    said = echoless("audit", *words)
    assert said.exit_code == code
    assert problem in said.stderr
