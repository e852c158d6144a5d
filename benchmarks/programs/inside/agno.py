"""agno's user memories in SQLite, by its `MemoryManager`; its search asks a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def manager(folder: Path) -> Any:
    from agno.db.sqlite import SqliteDb
    from agno.memory import MemoryManager

    return MemoryManager(db=SqliteDb(db_file=str(folder / "agno.db")))


def write(folder: Path, notes: Sequence[Note]) -> None:
    from agno.db.schemas import UserMemory

    opened = manager(folder)
    for number, note in enumerate(notes):
        memory = UserMemory(memory=note.text, topics=["notes"], memory_id=f"m{number}")
        opened.add_user_memory(memory, user_id=note.owner)


def listed(opened: Any, owner: str) -> list[Any]:
    return list(opened.get_user_memories(user_id=owner) or [])


def dump(folder: Path) -> list[Record]:
    opened = manager(folder)
    return [
        record(
            one.memory_id,
            one.memory,
            created=getattr(one, "created_at", None),
            updated=one.updated_at,
            owner=one.user_id,
            topics=one.topics,
        )
        for owner in ("ann", "ben")
        for one in listed(opened, owner)
    ]


def edit(folder: Path, old: str, new: str) -> None:
    from agno.db.schemas import UserMemory

    opened = manager(folder)
    name = next(one.memory_id for one in listed(opened, "ann") if one.memory == old)
    opened.replace_user_memory(name, UserMemory(memory=new), user_id="ann")
