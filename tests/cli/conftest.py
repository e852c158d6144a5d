"""A command line to call, in this process or in its own, and a small store to call it on."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from tests.answers import held_to_schemas

__all__ = ["held_to_schemas"]

MEMORIES = [
    ("m-1", "The database listens on port 5432.", "work", 0.9),
    ("m-2", "The database listens on port 5432.", "work", 0.5),
    ("m-3", "the database listens on port 5432", "work", 0.4),
    ("m-4", "The database listens on port 5433.", "work", 0.5),
    ("m-5", "Anna drinks green tea in the morning.", "home", 0.5),
    ("m-6", "Anna drinks green tea in the morning!", "home", 0.3),
    ("m-7", "The printer in the hallway is out of toner.", "home", 0.5),
    ("m-8", "   ", "home", 0.5),
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, with caches and settings of its own."""
    for name in [name for name in os.environ if name.startswith("ECHOLESS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("ECHOLESS_LOG_LEVEL", "warning")  # no line of progress on a slow machine
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def line(id_: str, content: str, namespace: str, importance: float, **more: object) -> str:
    day = int(id_.rpartition("-")[2])
    record = {
        "id": id_,
        "content": content,
        "namespace": namespace,
        "importance": importance,
        "created_at": f"2026-01-{day:02d}T10:00:00Z",
        **more,
    }
    return json.dumps(record)


@pytest.fixture
def write_store(place: Path) -> Callable[..., str]:
    """Write memories as a JSONL store."""

    def write(
        *memories: tuple[str, str, str, float], name: str = "notes.jsonl", **more: object
    ) -> str:
        text = "\n".join(line(*memory, **more) for memory in memories)
        (place / name).write_text(text + "\n", "utf-8")
        return name

    return write


@pytest.fixture
def notes(write_store: Callable[..., str]) -> str:
    """Eight memories: two groups that say the same (three and two), a conflict, one empty."""
    return write_store(*MEMORIES)


@pytest.fixture
def echoless() -> Callable[..., Result]:
    """Call the command line in this process."""

    def call(*words: str, stdin: str = "") -> Result:
        return CliRunner().invoke(main, list(words), input=stdin, prog_name="echoless")

    return call


@pytest.fixture
def process(place: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the command line in a process of its own."""

    def call(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        program = "from echoless.cli.main import run; run()"
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=place,
            timeout=50,
            check=False,
        )

    return call
