"""Anthropic's memory tool over files of this machine: a file a memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def tool(folder: Path) -> Any:
    from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

    return BetaLocalFilesystemMemoryTool(base_path=str(folder))


def write(folder: Path, notes: Sequence[Note]) -> None:
    from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create

    opened = tool(folder)
    for owner in ("ann", "ben"):
        told = "".join(f"- {note.text}\n" for note in notes if note.owner == owner)
        path = f"/memories/{owner}.md"
        opened.create(Create(command="create", path=path, file_text=f"# {owner}\n\n{told}"))


def dump(folder: Path) -> list[Record]:
    from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as View

    opened = tool(folder)
    records = []
    for owner in ("ann", "ben"):
        seen = opened.view(View(command="view", path=f"/memories/{owner}.md"))
        for line in str(seen).splitlines():
            text = line.partition("\t")[2] or line.partition(": ")[2]
            if text.startswith("- "):
                records.append(record(f"{owner}/{text[2:]}", text[2:], owner=owner))
    return records


def edit(folder: Path, old: str, new: str) -> None:
    from anthropic.types.beta import BetaMemoryTool20250818StrReplaceCommand as Replace

    change = Replace(command="str_replace", path="/memories/ann.md", old_str=old, new_str=new)
    tool(folder).str_replace(change)
