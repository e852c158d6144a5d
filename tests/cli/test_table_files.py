"""A CSV file is no store: the error has the line that makes JSON Lines of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.mark.parametrize("words", [("audit",), ("import",)])
def test_a_table_names_the_line_that_makes_json_lines_of_it(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(place)
    Path("my notes.csv").write_text('\ufeffcontent,mood\n"Tea is at ""four"",\nas ever",good\n')
    target = ["new.jsonl"] if words == ("import",) else []
    said = echoless(*words, "my notes.csv", *target)
    assert said.exit_code == 3
    assert "is a table. Name its column of texts content" in said.stderr
    assert not Path("new.jsonl").exists()
    line = re.search("`(.*)`", said.stderr)
    assert line is not None
    subprocess.run(line[1], shell=True, check=True)
    made = [json.loads(each) for each in Path("my notes.jsonl").read_text().splitlines()]
    assert made == [{"content": 'Tea is at "four",\nas ever', "mood": "good"}]
    assert echoless("import", "my notes.jsonl", "new.jsonl").exit_code == 0
