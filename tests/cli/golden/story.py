"""Runs the commands of the quickstart on a pseudo-terminal and returns what it shows.

All commands run in one child process, whose standard streams are the terminal: the libraries are
loaded once. Run as a program, this module is that child.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = Path(__file__).parent
PAGE: Final = ROOT / "docs" / "quickstart.md"
WIDTHS: Final = (80, 120)

MORE: Final = (
    "echoless dedup memories.jsonl --top 1 --explain",
    "echoless review memories.jsonl --list",
    "echoless explain m-6 m-7 --store memories.jsonl",
    'echoless remember memories.jsonl "The team uses Postgres 17 now." --namespace work',
    'echoless remember memories.jsonl "The spare key hangs in the hallway." --namespace home',
    "echoless show memories.jsonl m-9",
    "echoless dedup memories.jsonl --apply --action merge",
    "echoless history memories.jsonl",
    "echoless history memories.jsonl last",
    "echoless discover .",
    "echoless undo memories.jsonl run-20260101-000000-000000",
)
"""Commands behind those of the page, for outputs that it does not show."""

_BLOCK: Final = re.compile(r"^```(\w+) ?([\w.]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"^\$ (.+)$", re.MULTILINE)
_MARK: Final = "\x1e"
_PLAN: Final = f"plan-{'0' * 8}-0000-0000-0000-{'0' * 12}"
_CHANGING: Final = (
    (re.compile(r"run-\d{8}-\d{6}-[0-9a-f]{6}"), "run-20260101-000000-000000"),
    (re.compile(r"plan-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), _PLAN),
    (re.compile(r"\bm-[0-9a-f]{16}\b"), "m-0123456789abcdef"),
)
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b")
_THEN: Final = "2026-01-01 00:00"


class Look(NamedTuple):
    """How a terminal looks.

    Attributes:
        columns: Its width.
        coloured: Whether it shows colours.
    """

    columns: int
    coloured: bool

    @property
    def path(self) -> Path:
        """Returns the file with what it shows."""
        return FOLDER / f"{self.columns}-{'coloured' if self.coloured else 'plain'}.txt"


LOOKS: Final = tuple(Look(*each) for each in product(WIDTHS, (True, False)))


def commands() -> tuple[str, ...]:
    """Returns the commands of the page that have an output, then `MORE`."""
    blocks = [m[3] for m in _BLOCK.finditer(PAGE.read_text("utf-8")) if m[1] == "console"]
    return (*(line for block in blocks for line in _COMMAND.findall(block)), *MORE)


def sample() -> str:
    """Returns the memories of the page."""
    text = PAGE.read_text("utf-8")
    return next(m[3] for m in _BLOCK.finditer(text) if m[2] == "memories.jsonl")


def shown() -> dict[Look, str]:
    """Returns what terminals show of all commands, with fixed ids, runs and times."""
    with tempfile.TemporaryDirectory() as folder:
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.golden.story", folder],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            env=_environment(Path(folder)),
        )
        os.close(slave)
        said = _everything(master)
        os.close(master)
        if child.wait() != 0:
            raise RuntimeError(said)
    texts = said.split(_MARK)[1:]
    return {look: _fixed(text, folder) for look, text in zip(LOOKS, texts, strict=True)}


def _environment(folder: Path) -> dict[str, str]:
    """Returns variables without any setting from outside."""
    names = ("PATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV")
    inherited = {name: os.environ[name] for name in names if name in os.environ}
    own = {
        f"ECHOLESS_{kind.upper()}_DIR": str(folder / kind) for kind in ("cache", "data", "config")
    }
    python = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return {**inherited, **own, "PYTHONPATH": python, "PYTHONUTF8": "1", "TERM": "xterm-256color"}


def _everything(terminal: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how Linux reports the end of a pseudo-terminal
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8").replace("\r\n", "\n")


def _fixed(text: str, folder: str) -> str:
    for pattern, fixed in _CHANGING:
        text = pattern.sub(fixed, text)
    written = sample().replace("T", " ")
    text = _TIME.sub(lambda found: found[0] if found[0] in written else _THEN, text)
    return text.replace(folder, "/tmp/folder").replace("\x1b", "␛").lstrip("\n")


# ------------------------------------------------------------------ the child


def _run_all(folder: Path) -> None:
    from echoless.cli import progress  # the parent needs none of this
    from echoless.cli.main import main

    progress.DELAY = 1e9  # a bar shows how fast the machine is
    for look in LOOKS:
        os.environ["COLUMNS"] = str(look.columns)
        os.environ.pop("NO_COLOR", None)
        if not look.coloured:
            os.environ["NO_COLOR"] = "1"
        print(_MARK, flush=True)
        place = folder / look.path.stem / "work"
        place.mkdir(parents=True)
        (place / "memories.jsonl").write_text(sample(), "utf-8")
        with chdir(place):
            for line in commands():
                print(f"$ {line}", flush=True)
                words = shlex.split(_with_run(line))[1:]
                try:
                    main(words, prog_name="echoless")
                except SystemExit as end:
                    print(f"(exit code {end.code})\n" if end.code else "", flush=True)


def _with_run(line: str) -> str:
    """Returns a command with the latest run in place of the fixed one."""
    fixed = _CHANGING[0][1]
    if fixed not in line:
        return line
    return line.replace(fixed, next(_runs()))


def _runs() -> Iterator[str]:
    from echoless import history, open_store

    with open_store("memories.jsonl") as store:
        yield from (run.id for run in reversed(history(store.ledger)))


if __name__ == "__main__":
    _run_all(Path(sys.argv[1]))
