"""A command line to call in this process, in an empty folder with a cache of its own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from tests.answers import held_to_schemas

__all__ = ["held_to_schemas"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with nothing of this machine's in sight."""
    for name in [n for n in os.environ if n.startswith(("ECHOLESS_", "RECALL_", "MEM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")  # no test here needs a model
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def echoless() -> Callable[..., Result]:
    """Call the command line in this process."""

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, list(words), prog_name="echoless")

    return call
