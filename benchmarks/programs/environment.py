"""Environments of programs: each package and version in a folder of its own, kept between runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

from benchmarks.programs.catalogue import Program

INSTALL_SECONDS: Final = 1500


class CannotInstall(Exception):
    """What the package client said."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where one version of a program is installed.

    Attributes:
        command: What runs a script in it.
        folder: Where it lies.
        version: Of the program's package, as installed.
    """

    command: tuple[str, ...]
    folder: Path
    version: str


def installed(program: Program, work: Path, *, older: bool = False) -> Environment:
    """The environment of a program, installed if it is not there yet.

    Raises:
        CannotInstall: The package client refuses.
    """
    folder = work / "environments" / f"{program.name}-{program.older if older else 'newest'}"
    done = folder / "done.json"
    make = _node if program.language == "node" else _python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            done.write_text(json.dumps(make(program, folder, older)), "utf-8")
    version = json.loads(done.read_text("utf-8"))
    if program.language == "node":
        return Environment(("node",), folder, version)
    return Environment((str(folder / "bin" / "python"), "-P"), folder, version)


def _python(program: Program, folder: Path, older: bool) -> str:
    interpreter = _interpreter(program)
    _run(interpreter, "-m", "venv", "--without-pip", str(folder))
    python = str(folder / "bin" / "python")
    version = program.older if older else program.newest
    wanted = f"{program.package}=={version}" if version else program.package
    needed = program.older_with if older and program.older_with else program.needs
    pip = (sys.executable, "-m", "pip", "--python", python)
    _run(*pip, "install", "--quiet", "--no-compile", "--prefer-binary", wanted, *needed)
    code = f"from importlib.metadata import version; print(version({program.package!r}))"
    return _run(python, "-c", code).strip()


def _interpreter(program: Program) -> str:
    """The Python to make an environment with: not each is built so that SQLite loads extensions."""
    name = f"python{program.python}" if program.python else "python3.11"
    found = [Path(folder, name) for folder in os.environ["PATH"].split(os.pathsep)]
    wanted = "enable_load_extension" if program.extensions else "execute"
    code = f"import sqlite3; sqlite3.Connection.{wanted}"
    for path in [Path(sys.executable), *found] if not program.python else found:
        if (
            path.exists()
            and not subprocess.run([path, "-c", code], capture_output=True, check=False).returncode
        ):
            return str(path)
    raise CannotInstall(f"There is no {name} here that can load extensions of SQLite.")


def _node(program: Program, folder: Path, older: bool) -> str:
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n', "utf-8")
    wanted = f"{program.package}@{program.older if older else program.newest or 'latest'}"
    needed = program.older_with if older and program.older_with else program.needs
    _run(
        "npm",
        "install",
        "--prefix",
        str(folder),
        "--no-fund",
        "--legacy-peer-deps",
        wanted,
        *needed,
    )
    package = folder / "node_modules" / program.package / "package.json"
    return str(json.loads(package.read_text("utf-8"))["version"])


def _run(*command: str) -> str:
    said = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
        env={**os.environ, "PYTHONPATH": ""},
    )
    if said.returncode:
        lines = (said.stderr or said.stdout).strip().splitlines()
        errors = [line for line in lines if "ERROR" in line or "error" in line] or lines
        raise CannotInstall(" ".join(errors[:3])[:300])
    return said.stdout
