"""A snapshot keeps a state for `compare last`; forgetting removes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless import open_store
from echoless.core.own_folders import user_folder
from echoless.workflows.snapshots import KEPT, keep_snapshot

Call = Callable[..., Result]
LOST = "The staging database is restored from the nightly dump each Monday."


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "ops.md").write_text(f"{LOST}\n\nDeploys need a green build on the main branch.\n")
    (folder / "tea.md").write_text("Tea is served at four in the afternoon in the large room.\n")
    return folder


def snapshots() -> list[Path]:
    return sorted((user_folder("data") / "snapshots").glob("*/*"))


def test_what_a_rewrite_lost_since_the_snapshot_is_told(echoless: Call, memory: Path) -> None:
    before = (memory / "ops.md").read_bytes()
    echoless("tend", str(memory), "--snapshot", "--encoder", "none")
    (memory / "ops.md").write_text("Deploys need a green build on the main branch.\n")
    said = echoless("compare", "last", str(memory), "--fail-on", "lost")
    assert said.exit_code == 10
    assert f"ops.md line 1: {LOST}" in said.stdout
    (kept,) = snapshots()
    assert (kept / "memory" / "ops.md").read_bytes() == before


def test_an_unchanged_store_keeps_one_and_no_store_more_than_the_newest(memory: Path) -> None:
    for number in range(KEPT + 2):
        (memory / "tea.md").write_text(f"Tea is served at {number} in the large room.\n")
        for _ in range(2):
            with open_store(memory) as store:
                newest = keep_snapshot(store)
    assert len(snapshots()) == KEPT
    assert f"at {KEPT + 1} in" in (newest / "tea.md").read_text()


def test_a_store_that_is_no_text_is_exported(echoless: Call, tmp_path: Path, memory: Path) -> None:
    name = str(tmp_path / "agent.db")
    echoless("remember", name, LOST, "--create")
    echoless("tend", name, "--snapshot")
    echoless(
        "edit",
        name,
        json.loads(echoless("list", name, "--json").stdout)["memories"][0]["id"],
        "--text",
        "Nothing of it is left in here, not a word.",
    )
    assert LOST in echoless("compare", "last", name).stdout


def test_without_one_the_command_that_keeps_one_is_named(echoless: Call, memory: Path) -> None:
    said = echoless("compare", "last", str(memory))
    assert said.exit_code == 3
    assert "`echoless tend --snapshot` keeps one" in said.stderr


def test_what_is_forgotten_is_in_no_snapshot(echoless: Call, memory: Path) -> None:
    echoless("tend", str(memory), "--snapshot", "--encoder", "none")
    listed = json.loads(echoless("list", str(memory), "--words", LOST, "--json").stdout)
    id_ = listed["memories"][0]["id"]
    answer = echoless("forget", str(memory), id_, "--yes", "--json")
    assert json.loads(answer.stdout)["still_in"] == []
    assert snapshots() == []


def test_the_hook_of_claude_code_keeps_one_at_the_start_of_a_session(
    echoless: Call, memory: Path
) -> None:
    transcript = memory.parent / "session.jsonl"
    event = {
        "hook_event_name": "SessionStart",
        "cwd": str(memory.parent),
        "transcript_path": str(transcript),
    }
    assert echoless("claude-hook", "--snapshot", stdin=json.dumps(event)).exit_code == 0
    assert [each for each in snapshots() if (each / "memory").is_dir()]
