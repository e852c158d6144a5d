"""The session of OpenAI Agents in SQLite: messages of a talk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def session(folder: Path, owner: str) -> Any:
    from agents import SQLiteSession

    return SQLiteSession(owner, str(folder / "sessions.db"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    for owner in ("ann", "ben"):
        items: Any = [{"role": "user", "content": n.text} for n in notes if n.owner == owner]
        asyncio.run(session(folder, owner).add_items(items))


def dump(folder: Path) -> list[Record]:
    return [
        record(f"{owner}-{item['content']}", item["content"], role=item["role"])
        for owner in ("ann", "ben")
        for item in asyncio.run(session(folder, owner).get_items())
    ]
