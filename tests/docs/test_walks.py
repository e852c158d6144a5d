"""The walks through the code are what a trace of the program shows, and they get no longer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/walks.md").read_text("utf-8")


def test_the_page_is_what_a_trace_shows() -> None:
    """Where it fails, `python docs/generate_walks.py` writes the page anew."""
    program = [sys.executable, str(ROOT / "docs/generate_walks.py"), "--check"]
    assert subprocess.run(program, check=False).returncode == 0


@pytest.mark.parametrize(("walk", "most"), [("dedup STORE --apply", 75), ("remember", 43)])
def test_a_walk_passes_no_more_files_than_before(walk: str, most: int) -> None:
    rows = PAGE.partition(f"`echoless {walk}")[2].partition("\n## ")[0]
    assert 5 < len(re.findall(r"^\| \d+ \|", rows, re.MULTILINE)) <= most
