"""Run a command, take the system's own account of it, and keep figures with their origin."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took.

    Attributes:
        wall: Seconds from start to end, start-up included.
        cpu: Seconds of processor time, user and system.
        peak_mb: Peak resident memory in MB of 10^6 bytes.
        output: What it printed.
    """

    wall: float
    cpu: float
    peak_mb: float
    output: str


def run(*command: str, environment: dict[str, str] | None = None) -> Cost:
    """Run a command to its end.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {output[-500:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6, output)


def echoless(*arguments: str, environment: dict[str, str] | None = None) -> Cost:
    """Run the command line of this installation."""
    return run(
        sys.executable,
        "-c",
        "from echoless.cli.main import run; run()",
        *arguments,
        environment=environment,
    )


def keep(name: str, title: str, command: str, body: str) -> None:
    """Print a result and write it to `benchmarks/results/NAME.md` with command, date and commit."""
    text = f"# {title}\n\n```\n{command}\n```\n\n{origin()}\n\n{body.strip()}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, "utf-8")
    print(text)


def origin() -> str:
    """One line: when, what, where."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit()} (source {source()}), Python "
        f"{platform.python_version()}, numpy {version('numpy')}, {platform.machine()}, "
        f"{os.cpu_count()} cores. Seconds are of one noisy machine: use the ratios."
    )


def commit() -> str:
    """The commit checked out; `source` tells whether the files are those of it."""
    said = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=RESULTS.parent,
    ).stdout.strip()
    return said or "unknown"


def source() -> str:
    """Digest of the source files as they were measured, committed or not."""
    folder = Path(next(iter(import_module("echoless").__path__)))
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; `not installed` for what is not there."""
    installed = {}
    for name in packages:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed
