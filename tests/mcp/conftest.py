"""A folder with a small store, and no settings from outside."""

import os
from pathlib import Path

import pytest

from tests.mcp.clients import write_notes


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("ECHOLESS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def notes(place: Path) -> Path:
    return write_notes(place / "notes.jsonl")
