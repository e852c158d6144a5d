"""Every input that once went wrong goes well now, by every door of its target."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.fuzz.corpus import FOLDER, INDEX, entries

ROOT = Path(__file__).parents[1]
TARGETS = sorted({entry.target for entry in entries()})


def test_each_case_stands_in_the_index_and_each_line_of_the_index_has_a_case() -> None:
    folders = {f"{p.parent.name}/{p.name}" for p in FOLDER.glob("*/*") if p.is_dir()}
    assert (FOLDER / INDEX).is_file()
    assert folders == {entry.path for entry in entries()}
    assert folders


@pytest.mark.parametrize("target", TARGETS)
def test_what_once_went_wrong_goes_well(target: str) -> None:
    """No crash, no hang, no byte changed by reading, nothing left by a refusal, undo gives back."""
    words = ["-m", "benchmarks.fuzz", "--replay", "--json", "--target", target]
    result = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env=os.environ,
        check=False,
    )
    assert result.stdout, result.stderr
    told = json.loads(result.stdout)
    assert set(told) == {entry.path for entry in entries() if entry.target == target}
    wrong = {path: [_short(each) for each in found] for path, found in told.items() if found}
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


def _short(wrong: dict[str, str]) -> str:
    return f"{wrong['door']}: {wrong['fault']}, {wrong['error']} {wrong['frame']}"
