"""`--texts`: the JSON of `audit` and `dedup` with the texts of the memories it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]
COMMANDS = pytest.mark.parametrize("command", ["audit", "dedup"])


def answer(echoless: Call, *words: str) -> dict[str, object]:
    said = echoless(*words, "--set", "semantic=no", "--json")
    assert said.exit_code == 0, said.output
    data: dict[str, object] = json.loads(said.stdout)
    return data


@COMMANDS
def test_each_memory_that_is_named_has_its_text(echoless: Call, notes: str, command: str) -> None:
    texts = answer(echoless, command, notes, "--texts")["texts"]
    assert isinstance(texts, dict)
    assert list(texts) == ["m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-8"]
    assert texts["m-4"] == "The database listens on port 5433."
    assert texts["m-8"] == "   ", "it was skipped, and is named for that"


@COMMANDS
def test_the_rest_of_the_answer_is_the_same(echoless: Call, notes: str, command: str) -> None:
    plain = answer(echoless, command, notes)
    whole = answer(echoless, command, notes, "--texts")
    del whole["texts"]
    assert whole == plain


@COMMANDS
def test_secrets_in_texts_are_masked_and_counted(
    echoless: Call, write_store: Callable[..., str], command: str
) -> None:
    key = "AKIA" + "Q3EGRIT7XK2LMV9P"
    store = write_store(
        ("m-1", f"The key of the bucket is {key}.", "", 0.5),
        ("m-2", f"The key of the bucket is {key}", "", 0.5),
    )
    data = answer(echoless, command, store, "--texts")
    assert key not in json.dumps(data)
    assert data["masked"] == 1
    texts = {id_: re.sub(r"secret \d+", "secret N", text) for id_, text in data["texts"].items()}
    assert texts == {  # secrets are numbered by process
        "m-1": "The key of the bucket is AKIA…[secret N, 20 characters].",
        "m-2": "The key of the bucket is AKIA…[secret N, 20 characters]",
    }


def test_the_members_of_a_series_have_their_texts(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    runs = [(f"m-{n}", f"Build {n} of the nightly run passed", "ci", 0.5) for n in range(1, 13)]
    data = answer(echoless, "audit", write_store(*runs), "--texts")
    texts = data["texts"]
    assert isinstance(texts, dict)
    assert data["series"]
    assert {run[0] for run in runs} <= texts.keys()


def test_each_of_several_stores_has_its_own_texts(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    one = write_store(*((f"m-{n}", "Anna drinks tea.", "", 0.5) for n in (1, 2)), name="a.jsonl")
    two = write_store(*((f"m-{n}", "Ben drinks milk.", "", 0.5) for n in (1, 2)), name="b.jsonl")
    stores = answer(echoless, "audit", one, two, "--texts")["stores"]
    assert isinstance(stores, list)
    assert [each["texts"]["m-2"] for each in stores] == ["Anna drinks tea.", "Ben drinks milk."]


@COMMANDS
def test_texts_belong_to_json(echoless: Call, notes: str, command: str) -> None:
    said = echoless(command, notes, "--set", "semantic=no", "--texts")
    assert said.exit_code == 2
    assert "--texts adds the texts of memories to --json" in said.stderr


def test_texts_are_of_named_stores(echoless: Call, place: Path) -> None:
    said = echoless("audit", "--all", str(place), "--json", "--texts")
    assert said.exit_code == 2
    assert "--texts and --all do not go together" in said.stderr
