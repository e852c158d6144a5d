"""`echoless tend` plans for what changed since last time, and changes no memory unasked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from echoless.workflows.dedupe import pipeline

Call = Callable[..., Result]

TWICE = (
    '{"id": "a", "content": "The gateway listens on port 8443."}\n'
    '{"id": "b", "content": "the gateway listens on port 8443"}\n'
)
TEND = ("tend", "a.jsonl", "--set", "semantic=no")


@pytest.fixture(autouse=True)
def store(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    (place / "a.jsonl").write_text(TWICE)
    return place / "a.jsonl"


def answer(echoless: Call, *words: str) -> dict[str, Any]:
    """Returns the JSON answer about one store."""
    return json.loads(echoless(*TEND, *words, "--json").stdout)["stores"][0]


def test_a_plan_is_written_that_apply_carries_out_and_undo_takes_back(
    echoless: Call, store: Path
) -> None:
    before = store.read_bytes()
    said = echoless(*TEND)
    assert said.exit_code == 0
    first, second = said.stdout.splitlines()
    assert first == "a.jsonl: 2 new. 1 memory may go behind another."
    assert second.startswith("Look at the plan, then: echoless apply a.jsonl ")
    assert store.read_bytes() == before
    words = shlex.split(second.partition(": ")[2])
    assert echoless(*words[1:]).exit_code == 0
    assert "a.jsonl: other settings or decisions since" in echoless(*TEND).stdout
    assert "nothing changed since" in echoless(*TEND).stdout
    assert echoless("undo", "a.jsonl").exit_code == 0


def test_an_unchanged_store_is_not_looked_at_and_its_plan_still_waits(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer(echoless)
    looks: list[int] = []
    find = pipeline.find
    monkeypatch.setattr(pipeline, "find", lambda *a, **k: looks.append(1) or find(*a, **k))
    again = answer(echoless)
    assert looks == []
    assert not again["looked"]
    assert again["plan"] == made["plan"]
    assert "the plan of then still waits" in echoless(*TEND).stdout


def test_a_changed_store_gets_a_new_plan_in_place_of_the_one_that_waits(
    echoless: Call, store: Path
) -> None:
    made = answer(echoless)
    store.write_text(TWICE + '{"id": "c", "content": "The gateway listens on port 8443"}\n')
    again = answer(echoless)
    assert (again["new"], again["changed"], again["gone"]) == (1, 0, 0)
    assert again["plan"] != made["plan"]
    assert again["plan_file"] == made["plan_file"]
    assert json.loads(Path(again["plan_file"]).read_text())["id"] == again["plan"]


def test_with_apply_the_plan_is_one_run_and_the_next_time_nothing_is_left(echoless: Call) -> None:
    said = echoless(*TEND, "--apply")
    assert "1 memory hidden." in said.stdout
    assert "Take it back: echoless undo a.jsonl run-" in said.stdout
    after = answer(echoless)
    assert (after["looked"], after["plan"], after["run"]) == (False, None, None)
    assert "nothing changed since" in echoless(*TEND).stdout


def test_an_out_of_date_memory_goes_into_the_plan(echoless: Call, store: Path) -> None:
    store.write_text(
        '{"id": "old", "content": "The gateway listens on port 8443.",'
        ' "created_at": "2025-01-01"}\n'
        '{"id": "new", "content": "The gateway now listens on port 9443.",'
        ' "created_at": "2026-01-01"}\n'
    )
    plan = json.loads(Path(answer(echoless)["plan_file"]).read_text())
    assert [action["survivor"] for action in plan["actions"]] == ["new"]


def test_one_store_that_cannot_be_read_does_not_stop_the_others(
    echoless: Call, place: Path
) -> None:
    said = echoless("tend", "none.jsonl", "a.jsonl", "--set", "semantic=no", "--json")
    assert said.exit_code == 3
    missing, tended = json.loads(said.stdout)["stores"]
    assert "none.jsonl" in missing["error"]
    assert tended["plan_file"]
    assert "Error: none.jsonl: " in said.stderr


def test_plans_go_into_a_folder_that_is_named_and_exists(echoless: Call, place: Path) -> None:
    refused = echoless(*TEND, "--into", "plans")
    assert refused.exit_code == 2
    assert "plans is no folder" in refused.stderr
    (place / "plans").mkdir()
    assert Path(answer(echoless, "--into", "plans")["plan_file"]).parent.name == "plans"


def test_a_damaged_file_of_last_time_means_to_look_again(echoless: Call, place: Path) -> None:
    made = answer(echoless)
    (kept,) = (place / "data/echoless/tend").glob("*.last.json")
    for damaged in ("{", "[]", '{"echoless_tend": 1, "at": "2026-01-01", "memories": 3}'):
        kept.write_text(damaged)
        assert answer(echoless)["looked"]
    assert answer(echoless)["plan"] != made["plan"]


def test_without_an_own_folder_one_has_to_be_named(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "data").write_text("no folder")
    said = echoless(*TEND)
    assert said.exit_code == 2
    assert "Name a folder by --into" in said.stderr
