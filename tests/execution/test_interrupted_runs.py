"""A run that is killed between its groups: what stands is counted and told, not "rolled back"."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import history, open_store, undo
from echoless.cli.main import main
from tests.conformance.stores import fill, simple
from tests.echoless_stores.chroma_folders import Row, make

PLACES = ("Oslo", "Kyoto", "Lima", "Tunis", "Perth", "Quito")
KILLED = """
import os, signal, sys
import echoless.execution.executor as applying

left = int(sys.argv.pop(1))
real = applying.write

def write(*words):
    global left
    done = real(*words)
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

applying.write = write
from echoless.cli.main import run
run()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A collection in which each of six things is said twice; it has no transactions."""
    rows = [
        Row(f"{place}-{n}", f"The office in {place} opens at nine.", (float(at), 1.0))
        for at, place in enumerate(PLACES)
        for n in range(2)
    ]
    return str(make(tmp_path / "chroma", "notes", rows))


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def killed_in_group(number: int, store: str) -> str:
    """The run of a dedup that was killed after it changed its group of that number, from 0."""
    words = ["dedup", store, "--set", "semantic=no", "--action", "delete", "--apply"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(number), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with open_store(store) as opened:
        (run,) = opened.ledger.open_runs()
    return run


def ids(store: str) -> set[str]:
    with open_store(store) as opened:
        return {m.id for m in opened.scan()}


def test_check_says_how_many_groups_stand_and_how_to_take_them_back(store: str) -> None:
    """Systems failure 1: `check` said "rolled back" when most of the run stood."""
    before = ids(store)
    run = killed_in_group(3, store)
    assert "interrupted" in call("history", store).output
    told = call("check", store)
    assert told.exit_code == 0, told.output
    said = " ".join(told.output.split())
    assert (
        f"Run {run} was interrupted after 3 of 6 groups: the group under way was finished" in said
    )
    assert f"4 stay; `echoless undo 'chroma:///{store}#notes' {run}` takes them back" in said
    assert "rolled back" not in said
    assert len(before - ids(store)) == 4
    assert "partly done" in call("history", store).output
    assert "interrupted, 4 of 6 groups stand" in call("history", store, run).output
    (past,) = json.loads(call("history", store, "--json").stdout)["runs"]
    assert (past["status"], past["groups"], past["planned"]) == ("partly done", 4, 6)
    assert call("undo", store, "last").exit_code == 0
    assert ids(store) == before


def test_a_group_that_did_not_arrive_is_counted_as_taken_back(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems failure 1."""
    before = ids(store)
    run = killed_in_group(2, store)
    with open_store(store) as opened, opened.writing():  # the last removal did not reach the disk
        (started,) = list(opened.ledger.events(run, "action_started"))[2:]
        images = [i for i in opened.ledger.images(run) if i.action == started.data["action"]]
        opened.put([i.memory for i in images if i.moment == "before" and i.memory])
    said = " ".join(call("check", store).output.split())
    assert "was interrupted after 2 of 6 groups: the group under way was taken back, 2 stay" in said
    assert len(before - ids(store)) == 2


def test_a_run_of_which_nothing_stands_says_so(store: str) -> None:
    before = ids(store)
    run = killed_in_group(0, store)
    with open_store(store) as opened, opened.writing():
        images = [i for i in opened.ledger.images(run) if i.moment == "before"]
        opened.put([i.memory for i in images if i.memory])
    said = " ".join(call("check", store).output.split())
    assert "after 0 of 6 groups: the group under way was taken back, nothing of it stays" in said
    assert ids(store) == before
    assert "nothing done" in call("history", store).output


def test_an_interrupted_addition_is_told_as_one(tmp_path: Path) -> None:
    url = f"jsonl:///{tmp_path}/m.jsonl"
    fill(url, [simple(1)])
    with open_store(url) as opened:
        with opened.writing(), opened.ledger.transaction():
            opened.ledger.record("run_started", "run-1", {"plan": "", "profile": "safe"})
            event = {"action": 0, "kind": "add", "survivor": "x", "added": ["x"], "why": "said"}
            opened.ledger.record(
                "action_started", "run-1", {**event, "members": [], "conflicts": []}
            )
    said = call("check", url).output
    assert "Run run-1, an addition, was interrupted; it was taken back." in said
    with open_store(url) as opened:
        assert [r.status for r in history(opened.ledger)] == ["nothing done"]
        with pytest.raises(Exception, match="changed nothing"):
            undo(opened, "run-1")
