"""`echoless explain`: values compared, what forbids a merge, the model, what would change it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


def test_a_differing_value_is_named_and_said_to_forbid_the_merge() -> None:
    result = explain("The cache lives 15 minutes.", "The cache lives 50 minutes.")
    assert result.exit_code == 0
    assert "What forbids a merge" in result.output
    assert "number-differs (number): 15 minutes | 50 minutes" in result.output
    assert "`15 minutes` stands against `50 minutes`" in result.output


def test_each_kind_of_value_is_told_with_how_it_stands() -> None:
    told = json.loads(
        explain(
            "Ping db-1 at 2 pm on 3 May for 30 s.", "Ping db-2 at 14:00 for 30 seconds.", "--json"
        ).output
    )
    relations = {each["kind"]: each["relation"] for each in told["values"]}
    assert relations == {"date": "one-sided", "identifier": "different", "number": "equal"}


def test_a_score_comes_with_what_it_is_made_of_and_what_is_missing() -> None:
    result = explain(
        "Refunds take five working days.", "Money returns to customers inside a week of work."
    )
    assert result.exit_code == 0
    assert "What would change it" in result.output


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Logs are written to /var/log/app", "Log directory: /var/log/app"),
        ("prod: MAX_ROWS=500", "MAX_ROWS is set to 500 in production."),
    ],
)
def test_what_is_told_to_be_enough_is_what_decided(a: str, b: str) -> None:
    told = json.loads(explain(a, b, "--json").stdout)
    assert told["merge"] == (told["model"]["same"] >= told["model"]["merge_from"])


def test_a_conflict_that_the_model_doubts_is_told_to_hold_the_merge() -> None:
    told = json.loads(
        explain(
            "Squash merging is mandatory on main.",
            "On main people are free to pick any merge style, squashing or not.",
            "--json",
        ).stdout
    )
    assert told["model"]["same"] >= told["model"]["merge_from"]
    (sentence,) = told["would_change"]
    assert "merged if" in sentence
    assert "conflict" in sentence
    assert "0.30" in sentence


def test_of_two_memories_of_known_order_it_is_told_whether_the_newer_replaces(
    tmp_path: Path,
) -> None:
    older = "The team meets on Mondays in room 4."
    newer = "Room 4 is being renovated, the team meets online."
    store = tmp_path / "store.jsonl"
    rows = (
        {"id": id_, "text": text, "created_at": f"2026-0{month}-02"}
        for id_, text, month in (("old", older, 3), ("new", newer, 9))
    )
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    in_store = ("old", "new", "--store", str(store))
    told = json.loads(explain(*in_store, "--json").stdout)
    assert told["verdict"] == "update"
    assert told["model"]["replaces"] >= told["model"]["replaced_from"]
    shown = f"the newer replaces the older: {told['model']['replaces']:.2f}"
    assert shown in explain(*in_store).output
    untimed = explain(older, newer, "--json")
    assert json.loads(untimed.stdout)["model"]["replaces"] is None


def test_without_an_encoder_words_alone_decide_and_no_model_is_told() -> None:
    told = json.loads(
        explain("It rains in Bern.", "Rain falls on Bern.", "--encoder", "none", "--json").output
    )
    assert told["model"] is None
    assert told["only_a"] + told["only_b"]


def test_equal_facts_are_said_to_merge_and_what_would_part_them() -> None:
    result = explain("The demo is at 2 pm.", "The demo is at 14:00.")
    assert result.output.startswith("the same in other words\n")
    assert "one would be hidden behind the other" in result.output
    assert "would keep them apart" in result.output


def test_ids_of_a_store_are_explained_with_their_texts(tmp_path: Path) -> None:
    store = tmp_path / "m.jsonl"
    store.write_text(
        '{"id": "x", "text": "Port 80 is open."}\n{"id": "y", "text": "Port 81 is open."}\n'
    )
    result = explain("x", "y", "--store", str(store))
    assert result.exit_code == 0
    assert "Port 81 is open." in result.output


def test_an_id_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = tmp_path / "m.jsonl"
    store.write_text('{"id": "x", "text": "Port 80 is open."}\n')
    result = explain("x", "nobody", "--store", str(store))
    assert result.exit_code == 3
    assert "'nobody'" in result.output


def test_texts_that_begin_with_each_others_names_are_merged_from_a_higher_chance_on() -> None:
    told = explain(
        "Mira supports Jonas in his new job.", "Jonas values Mira's support at the new job."
    ).output
    assert "(merged from 0.85)" in told


def test_nothing_speaks_against_the_merge_of_a_slip_of_the_pen() -> None:
    told = explain(
        "Check the deployment before release.", "Check the deployement before release.", "--json"
    ).output
    assert json.loads(told)["verdict"] == "duplicate"
    assert json.loads(told)["against"] == []


@pytest.mark.parametrize("text", ["", " ", "🙂", "`", "\u200b", "a" * 50_000, "\ud800"])
def test_any_text_is_explained_without_a_traceback(text: str) -> None:
    result = explain(text, "The demo is at 2 pm.")
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The API key was rotated.", "The API key was rotated and revoked."),
        ("Alice is Bob's manager.", "Bob's manager is Alice."),
        ("The rug in the hall is dirty.", "The carpet in the hallway is dirty."),
        ("We ship on Fridays.", "Releases usually go out at the end of the week."),
    ],
)
def test_the_model_says_the_same_whichever_text_comes_first(a: str, b: str) -> None:
    there, back = (json.loads(explain(*texts, "--json").output) for texts in ((a, b), (b, a)))
    assert there["model"]["same"] == back["model"]["same"]
    assert there["model"]["a_holds_b"] == back["model"]["b_holds_a"]
    assert there["only_a"] == back["only_b"]
    assert there["verdict"] == back["verdict"]
