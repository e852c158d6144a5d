"""The work of a command, counted in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.budgets import check, read

from benchmarks import work


def audited(folder: Path, texts: list[str]) -> dict[str, int]:
    folder.mkdir()
    lines = (json.dumps({"id": f"m-{at}", "content": text}) for at, text in enumerate(texts))
    (folder / "notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    words = ("audit", str(folder / "notes.jsonl"), "--encoder", "none", "--json")
    return work._run(folder, words)


def test_a_count_is_the_same_each_time_and_grows_with_the_work(tmp_path: Path) -> None:
    texts = [f"The printer in room {room} is out of toner." for room in range(4)]
    first, again = (audited(tmp_path / name, texts) for name in ("a-folder", "b"))
    more = audited(tmp_path / "c", [*texts, "The printer in room 4 is out of paper."])
    assert first == again
    assert first.keys() == work.ADVICE.keys()
    assert first["modules"] > first["patterns"] > 0
    for name in ("memories made", "pairs ruled", "file bytes"):
        assert 0 < first[name] < more[name], name


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no store at"):
        work._run(tmp_path, ("audit", "nowhere.db"))


def test_each_command_has_a_budget_for_each_count() -> None:
    budgets = read(work.BUDGETS.read_text("utf-8"))
    commands = {name.rpartition(": ")[0] for name in budgets}
    assert len(commands) == 5
    assert budgets.keys() == {f"{each}: {name}" for each in commands for name in work.ADVICE}


def test_work_over_its_budget_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "work.toml"
    path.write_text('"unchanged: modules" = 60\n')
    counts = {"unchanged: modules": 65}
    holds, lines = check(path, counts, work.advice(counts), "benchmarks.work")
    assert not holds
    said = "unchanged: modules: 65 is 5 over the budget of 60. " + work.ADVICE["modules"]
    assert said in lines
