"""A folder of one's own, the command line, and stores that are built once and copied."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main

pytest.importorskip("shodh_memory")

from tests.systems import shodh_stores

Notes = Iterable[str | tuple[str, Mapping[str, object]]]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [n for n in os.environ if n.startswith(("ECHOLESS_", "SHODH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("SHODH_STORAGE", str(tmp_path / "root"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Notes], Path]:
    """A folder with these notes, built once for equal notes."""
    known: dict[str, Path] = {}

    def of(notes: Notes) -> Path:
        listed = list(notes)
        key = json.dumps(listed)
        if key not in known:
            known[key] = tmp_path_factory.mktemp("shodh") / "project"
            shodh_stores.build(known[key], listed)
        return known[key]

    return of


@pytest.fixture
def store(built: Callable[[Notes], Path], tmp_path: Path) -> Callable[..., Path]:
    """A copy of a store with these notes, the project `_global` of this test."""

    def of(*notes: str | tuple[str, Mapping[str, object]]) -> Path:
        folder = tmp_path / "root" / "_global"
        shutil.copytree(built(notes), folder)
        return folder

    return of


@pytest.fixture
def four(store: Callable[..., Path]) -> Path:
    """The notes A to D."""
    return store(*shodh_stores.FOUR)


@pytest.fixture
def wt(place: Path) -> Callable[..., Result]:
    """Call `echoless wt-memory` in this process."""

    def call(*words: str, stdin: str = "") -> Result:
        return CliRunner().invoke(main, ["wt-memory", *words], input=stdin, prog_name="echoless")

    return call


@pytest.fixture
def answer(wt: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    """The JSON a call prints; it must succeed unless another exit code is expected."""

    def call(*words: str, code: int = 0, stdin: str = "") -> dict[str, Any]:
        result = wt(*words, stdin=stdin)
        assert result.exit_code == code, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    return call


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace methods of the library from here on."""

    def fail(**faults: shodh_stores.Fault) -> None:
        monkeypatch.setattr("shodh_memory.Memory", shodh_stores.faulty(**faults))

    return fail


@pytest.fixture
def process(place: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the command line in a process of its own."""

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program = "from echoless.cli.main import run; run()"
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **environment},
            cwd=place,
            timeout=50,
            check=False,
        )

    return call
