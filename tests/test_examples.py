"""Every example runs; each asserts what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_example_runs(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "ECHOLESS_CACHE_DIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, str(example)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2
