"""The walks through the code name functions that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/walks.md").read_text("utf-8")
SOURCE = ROOT / "src/echoless"
STEPS = re.findall(r"`([\w/]+\.py)(?:: ([\w.]+))?`", PAGE)


@pytest.mark.parametrize(("file", "name"), STEPS, ids=[":".join(step) for step in STEPS])
def test_a_step_of_a_walk_is_in_the_source(file: str, name: str) -> None:
    found = [path for path in SOURCE.rglob("*.py") if path.as_posix().endswith(f"/{file}")]
    assert found, file
    last = name.rpartition(".")[2]
    text = "".join(path.read_text("utf-8") for path in found)
    assert not last or re.search(rf"(?:def|class) {last}\b", text), (file, name)


@pytest.mark.parametrize(("walk", "most"), [("dedup STORE --apply", 45), ("remember", 30)])
def test_a_walk_is_short(walk: str, most: int) -> None:
    rows = PAGE.partition(f"`echoless {walk}")[2].partition("\n## ")[0]
    assert 5 < len(re.findall(r"^\| \d+ \|", rows, re.MULTILINE)) <= most
