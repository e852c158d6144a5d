"""Odd numbers, letters and bytes, found by the fuzzer: said or shown, never a crash."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from tests.nesting import OPENED

Call: TypeAlias = Callable[..., Result]

DIGITS = "9" * 400


def store_of(place: Path, line: str) -> str:
    (place / "odd.jsonl").write_text(line + "\n", "utf-8")
    return "odd.jsonl"


@pytest.mark.parametrize("key", ["created_at", "updated_at", "last_accessed"])
def test_a_time_of_four_hundred_digits_is_one_that_cannot_be_placed(
    echoless: Call, place: Path, key: str
) -> None:
    store = store_of(place, f'{{"id": "m-1", "content": "Anna drinks tea.", "{key}": {DIGITS}}}')
    assert echoless("search", store, "tea").exit_code == 0
    shown = json.loads(echoless("show", store, "m-1", "--json").stdout)
    assert shown["memories"][0][key] == DIGITS


@pytest.mark.parametrize(
    ("written", "told"),
    [("1e999", "Infinity"), ("-1e999", "-Infinity"), ("NaN", "NaN")],
)
def test_json_output_is_json_whatever_number_a_record_holds(
    echoless: Call, place: Path, written: str, told: str
) -> None:
    fields = f'"metadata": {{"a": [{written}, 1.5]}}, "odd": {written}'
    store = store_of(place, f'{{"id": "m-1", "content": "Anna drinks tea.", {fields}}}')
    result = echoless("show", store, "m-1", "--json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    shown = json.loads(result.stdout, parse_constant=refuse)["memories"][0]
    assert shown["metadata"] == {"a": [told, 1.5]}
    assert shown["extra"] == {"odd": told}


def test_what_is_piped_in_and_is_no_text_is_refused(place: Path, notes: str) -> None:
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    words = ["remember", notes, "-", "--encoder", "none"]
    result = CliRunner().invoke(main, words, input=b"Anna drinks \xff tea.", prog_name="echoless")
    assert result.exit_code == 3
    assert "standard input is not UTF-8 text (byte 13)" in result.stderr
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


DEEP = OPENED


@pytest.mark.parametrize("text", [DEEP, f"[map]\nx = {DEEP}", f'{{"namespace": {DEEP}'])
@pytest.mark.parametrize("name", ["map.toml", "map.json"])
def test_a_map_of_deep_brackets_is_refused(
    echoless: Call, place: Path, name: str, text: str
) -> None:
    (place / name).write_text(text, "utf-8")
    result = echoless("audit", "chroma:///nowhere#notes", "--map", f"@{name}")
    assert result.exit_code == 3
    assert f"{name} cannot be read as" in result.stderr


def test_a_vector_of_other_letters_is_told_with_its_line(echoless: Call, place: Path) -> None:
    """F10c: a zero-width space in place of base64 ended with a ValueError that named no line."""
    store = store_of(place, r'{"id": "m-1", "content": "Tea.", "embedding": "\u200b"}')
    for words in (["audit", store, "--set", "semantic=no"], ["import", store, "new.db"]):
        result = echoless(*words)
        assert result.exit_code in {0, 3}
        assert "should not happen" not in result.output
        assert "base64" in result.output
    assert not (place / "new.db").exists()


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (lambda _plan: OPENED, "recursion"),
        (lambda plan: plan.replace('"gains": {', '"gains": 5, "was": {'), "'gains'"),
        (lambda plan: plan.replace('"actions": [', '"actions": "no", "was": ['), "'actions'"),
        (lambda plan: plan.replace('"members": [', '"members": [{}, '), "'id'"),
        (lambda plan: plan.replace('"evidence": "', '"evidence": "\\ud800'), "'evidence'"),
    ],
    ids=["deep", "gains", "actions", "members", "half a character"],
)
def test_a_plan_of_a_wrong_form_is_told_by_its_part(
    echoless: Call, notes: str, place: Path, edit: Callable[[str], str], part: str
) -> None:
    """F10d: brackets ended with a RecursionError, a number for an object with a TypeError."""
    made = echoless("dedup", notes, "--set", "semantic=no", "--plan", "plan.json")
    assert made.exit_code == 0, made.output
    plan = place / "plan.json"
    plan.write_text(edit(plan.read_text("utf-8")), "utf-8")
    before = Path(notes).read_bytes()
    result = echoless("apply", notes, "plan.json")
    assert result.exit_code == 5
    assert part in result.output
    assert Path(notes).read_bytes() == before
