"""The harness of faults knows every kind of store, draws fairly, and sees what goes wrong."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.faults.__main__ import Scene, drawn, scenes
from benchmarks.faults.injection import Ended
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.verification import wrong
from benchmarks.faults.worlds import CASES, World

from echoless import open_store
from echoless.stores.registry import kinds

ROOT = Path(__file__).parents[2]
BY_A_SERVER = {"postgresql"}
"""Kinds whose files are written by another process."""


def test_every_kind_of_store_that_writes_files_is_there() -> None:
    assert {kind.place.partition(":")[0] for kind in KINDS.values()} | BY_A_SERVER == set(kinds())


@pytest.mark.parametrize("name", [kind.name for kind in KINDS.values() if not kind.slow])
def test_a_store_of_each_kind_goes_there_and_back(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    world = CASES["undo mark"](kind, tmp_path, 6)
    assert len(world.before.memories) == 6
    assert bool(world.before.files) == kind.exact
    assert wrong(world, Ended(4, 0, "")) is None


@pytest.mark.parametrize("points", [1, 50, 2_000, 100_000])
def test_few_points_leave_scenes_out_and_never_a_kind(points: int) -> None:
    chosen = drawn(scenes(), points, "seed")
    assert {scene.kind.name for scene, _ in chosen} == set(KINDS)
    assert chosen == drawn(scenes(), points, "seed")
    assert all(most is not None and most >= 1 for _, most in chosen)
    if points >= 2_000:
        assert abs(sum(most or 0 for _, most in chosen) - points) < points / 10
        fast, slow = (
            max(most or 0 for scene, most in chosen if scene.kind.slow is slow)
            for slow in (False, True)
        )
        assert fast > slow


def _world(name: str, folder: Path) -> World:
    return CASES["undo mark"](KINDS[name], folder, 6)


@pytest.mark.parametrize(
    ("name", "file"), [("markdown codex", "notes/MEMORY.md"), ("mcp-memory", "memory.jsonl")]
)
def test_a_byte_that_undo_does_not_give_back_is_seen(name: str, file: str, tmp_path: Path) -> None:
    world = _world(name, tmp_path)
    path = tmp_path / file
    path.write_bytes(path.read_bytes() + b"\n")
    assert "not exact" in str(wrong(world, Ended(4, 0, "")))


def test_a_row_that_undo_does_not_give_back_is_seen(tmp_path: Path) -> None:
    world = _world("sql mark", tmp_path)
    held = {**world.before.files, "notes.db": {"others": ["(1, 1, 'another word')"]}}
    world = replace(world, before=replace(world.before, files=held))
    assert "files ['notes.db']" in str(wrong(world, Ended(4, 0, "")))


def test_a_memory_that_is_gone_is_seen(tmp_path: Path) -> None:
    world = CASES["apply mark"](KINDS["sqlite"], tmp_path, 6)
    with open_store(world.url) as store, store.writing():
        store.remove(["m-3"])
    assert wrong(world, Ended(4, 0, "")) is not None


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="the layer needs Linux and a cc"
)
def test_a_run_can_be_stopped_continued_and_added_to(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"

    def play(seed: str) -> str:
        words = ["--only", "jsonl/undo mark/6", "--points", "3", "--workers", "1", "--seed", seed]
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.faults", *words, "--results", str(results)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=False,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    assert "scene 1 of 1" in play("a")
    assert "scene" not in play("a").partition("minutes")[0]
    play("b")
    told = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    assert [(each["scene"], each["seed"]) for each in told] == [
        ("jsonl/undo mark/6", "a"),
        ("jsonl/undo mark/6", "b"),
    ]
    assert not list(tmp_path.glob("echoless-faults-*"))  # the layer's folder went with it


def test_a_scene_says_what_it_is() -> None:
    assert str(Scene(KINDS["sqlite"], "apply mark", 6)) == "sqlite/apply mark/6"
