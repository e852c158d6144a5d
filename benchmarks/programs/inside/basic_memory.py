"""basic-memory, by its command line: notes with a bullet for each memory.

Its index is built anew for each copy of the notes, since it keeps their absolute path.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def said(folder: Path, *arguments: str) -> str:
    """What its command line prints for arguments; all in this process, as it loads slowly."""
    os.environ |= {
        "HOME": str(folder / "home" / str(os.getpid())),
        "BASIC_MEMORY_HOME": str(folder / "notes"),
        "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
    }
    Path(os.environ["HOME"]).mkdir(parents=True, exist_ok=True)
    from basic_memory.cli.main import app
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output[-300:]
    return str(done.stdout)


def write(folder: Path, notes: Sequence[Note]) -> None:
    for owner in ("ann", "ben"):
        told = "".join(f"- [fact] {note.text}\n" for note in notes if note.owner == owner)
        given = ("--title", owner, "--folder", "people", "--content", f"# {owner}\n\n{told}")
        try:
            said(folder, "tool", "write-note", *given)
        except AssertionError:  # an older version makes no project by itself
            if owner == "ann":
                said(folder, "project", "add", "notes", str(folder / "notes"))
            said(folder, "tool", "write-note", *given, "--project", "notes")


def dump(folder: Path) -> list[Record]:
    records = []
    for owner in ("ann", "ben"):
        path = next((folder / "notes" / "people").glob(f"{owner}.md"))
        texts = [
            line.removeprefix("- [fact] ").strip()
            for line in path.read_text("utf-8").splitlines()
            if line.startswith("- [fact] ")
        ]
        records += [record(f"{owner}/{text}", text, owner=owner) for text in texts]
    return records


def search(folder: Path, query: str, limit: int) -> list[str]:
    home = folder / "home" / str(os.getpid())
    if not home.exists():
        said(folder, "reindex", "--search")
    kind = ("--entity-type", "observation", "--page-size", str(limit))
    answer: Any = json.loads(said(folder, "tool", "search-notes", f'"{query}"', *kind, "--json"))
    found = answer if isinstance(answer, list) else answer.get("results", [])
    return [str(one.get("content") or one.get("title")) for one in found]


def edit(folder: Path, old: str, new: str) -> None:
    shutil.rmtree(folder / "home" / str(os.getpid()), ignore_errors=True)
    said(folder, "reindex", "--search")
    change = ("--operation", "find_replace", "--find-text", old, "--content", new)
    said(folder, "tool", "edit-note", "people/ann", *change)
