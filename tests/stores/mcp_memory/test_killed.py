from __future__ import annotations

import json
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from echoless import apply, open_store, undo
from echoless.execution.integrity import check
from echoless.execution.plan import Plan
from echoless.execution.rollback import STANDING, history
from tests.conformance.crash import killed_at
from tests.conformance.stores import plan_by_hand
from tests.stores.mcp_memory.graphs import written

STRIDE = 5
"""Every so many writes the process is killed; `benchmarks.faults` kills it at every one."""

DATA = written(
    [
        ("Ann", "person", ["Likes tea", "likes tea", "Lives in Oslo", "lives in oslo"]),
        ("ann", "person", ["Likes tea", "Plays chess"]),
        ("Ben", "person", ["Plays chess"]),
    ],
    [("ann", "Ben", "knows"), ("Ann", "ann", "is"), ("Ben", "Ann", "knows")],
)
TEXTS = {"Likes tea", "likes tea", "Lives in Oslo", "lives in oslo", "Plays chess"}
GROUPS = (("likes tea", "Likes tea"), ("Lives in Oslo", "lives in oslo"))


def _apply(url: str, plan: Plan) -> None:
    with open_store(url) as store:
        apply(store, plan)


def _undo(url: str, run: str) -> None:
    with open_store(url) as store:
        undo(store, run)


def _plan(url: str, action: str) -> Plan:
    with open_store(url) as store:
        ids = {m.content: m.id for m in store.scan() if m.namespace == "Ann"}
        groups = [tuple(ids[text] for text in texts) for texts in GROUPS]
        return plan_by_hand(store, groups, "delete" if action == "delete" else "mark")


def _is_whole(folder: Path) -> None:
    """The server can read its file, and each text is in it, hidden beside it, or in an image."""
    said: set[str] = set()
    for line in (folder / "memory.jsonl").read_text("utf-8").split("\n"):
        said |= set(json.loads(line).get("observations", ()))
    for beside in folder.glob("memory.jsonl*.hidden"):
        said |= {text for text in TEXTS if json.dumps(text)[1:-1] in beside.read_text("utf-8")}
    ledgers = b"".join(path.read_bytes() for path in folder.glob("memory.jsonl*.echoless*"))
    said |= {text for text in TEXTS if text.encode() in ledgers}
    assert said >= TEXTS


@pytest.mark.parametrize("action", ["mark", "delete"])
def test_killed_at_every_5th_write_nothing_is_lost_and_undo_is_exact(
    tmp_path: Path, action: str
) -> None:
    original, place = tmp_path / "original", tmp_path / "crash"
    original.mkdir()
    (original / "memory.jsonl").write_bytes(DATA)
    url = f"mcp-memory:///{place}/memory.jsonl"
    outcomes: Counter[int] = Counter()
    for step in range(0, 10_000, STRIDE):
        shutil.copytree(original, place)
        plan = _plan(url, action)
        killed = killed_at(step, partial(_apply, url, plan))
        _is_whole(place)
        with open_store(url) as store:
            assert check(store).sound
            assert check(store).problems == ()
            standing = [run.id for run in history(store.ledger) if run.status in STANDING]
            outcomes[len(standing)] += 1
            assert killed or standing
            if not standing:
                assert (place / "memory.jsonl").read_bytes() == DATA
                assert not store.ledger.marks()
            for run in standing:
                undo(store, run)
        assert (place / "memory.jsonl").read_bytes() == DATA
        assert not list(place.glob("*.hidden"))
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"
    assert outcomes[0] > 5
    assert outcomes[1] > 3


def test_killed_at_every_5th_write_of_undo_it_can_be_brought_to_its_end(
    tmp_path: Path,
) -> None:
    original, place = tmp_path / "original", tmp_path / "crash"
    original.mkdir()
    (original / "memory.jsonl").write_bytes(DATA)
    first = f"mcp-memory:///{original}/memory.jsonl"
    with open_store(first) as store:
        run = apply(store, _plan(first, "mark")).id
    url = f"mcp-memory:///{place}/memory.jsonl"
    for step in range(0, 10_000, STRIDE):
        shutil.copytree(original, place)
        killed = killed_at(step, partial(_undo, url, run))
        _is_whole(place)
        with open_store(url) as store:
            assert check(store).sound
            if store.ledger.marks():
                undo(store, run)
        assert (place / "memory.jsonl").read_bytes() == DATA
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"
    assert step > 10


@pytest.mark.parametrize("applied", [True, False])
def test_a_server_that_writes_after_a_kill_leaves_it_to_be_finished(
    tmp_path: Path, applied: bool
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(DATA)
    url = f"mcp-memory:///{path}"
    hidden = path.with_name("memory.jsonl.hidden")
    with open_store(url) as store:
        run = apply(store, _plan(url, "mark")).id
    after, kept = path.read_bytes(), json.loads(hidden.read_text("utf-8"))
    kept["states"] = [{"file": "of the old file", "state": {}}, *kept["states"]]
    hidden.write_text(json.dumps(kept), "utf-8")
    added = b'"Lives in Oslo","Runs"' if applied else b'"Lives in Oslo","lives in oslo","Runs"'
    path.write_bytes((after if applied else DATA).replace(added.replace(b',"Runs"', b""), added))
    assert b"Runs" in path.read_bytes()
    with open_store(url) as store:
        texts = Counter(m.content for m in store.scan() if m.namespace == "Ann")
        assert texts == dict.fromkeys(("Likes tea", "likes tea", "Lives in Oslo", "Runs"), 1) | {
            "lives in oslo": 1
        }
        assert store.get(store.ledger.marks()).keys() == store.ledger.marks().keys()
        undo(store, run)
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n")]
    assert Counter(rows[0]["observations"]) == texts
