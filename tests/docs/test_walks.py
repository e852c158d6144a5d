"""The walks through the code are what a trace of the program shows, and they get no longer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/walks.md").read_text("utf-8")


<<<<<<< HEAD
def test_each_step_of_a_walk_is_in_the_source() -> None:
    source = {path.as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert len(STEPS) > 50
    for file, name in STEPS:
        texts = [text for path, text in source.items() if path.endswith(f"/{file}")]
        assert texts, file
        last = name.rpartition(".")[2]
        assert not last or re.search(rf"(?:def|class) {last}\b", "".join(texts)), (file, name)


def test_the_map_has_every_package() -> None:
    text = (ROOT / "docs/contributing/index.md").read_text("utf-8")
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(re.findall(r"^\| \d \| `(\w+)` \|", text, re.MULTILINE))
=======
def test_the_page_is_what_a_trace_shows() -> None:
    """Where it fails, `python docs/generate_walks.py` writes the page anew."""
    program = [sys.executable, str(ROOT / "docs/generate_walks.py"), "--check"]
    assert subprocess.run(program, check=False).returncode == 0
>>>>>>> less


@pytest.mark.parametrize(("walk", "most"), [("dedup STORE --apply", 75), ("remember", 43)])
def test_a_walk_passes_no_more_files_than_before(walk: str, most: int) -> None:
    rows = PAGE.partition(f"`echoless {walk}")[2].partition("\n## ")[0]
    assert 5 < len(re.findall(r"^\| \d+ \|", rows, re.MULTILINE)) <= most
