"""phidata, as agno was called: memories of a user in a table of SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def database(folder: Path) -> Any:
    from phi.memory.db.sqlite import SqliteMemoryDb

    return SqliteMemoryDb(table_name="memory", db_file=str(folder / "memory.db"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    from phi.memory.row import MemoryRow

    opened = database(folder)
    opened.create()
    for number, note in enumerate(notes):
        row = MemoryRow(id=f"m{number}", user_id=note.owner, memory={"memory": note.text})
        opened.upsert_memory(row)


def dump(folder: Path) -> list[Record]:
    return [
        record(
            row.id,
            row.memory["memory"],
            created=row.created_at,
            updated=row.updated_at,
            owner=row.user_id,
        )
        for row in database(folder).read_memories(limit=100, sort="asc")
    ]


def edit(folder: Path, old: str, new: str) -> None:
    opened = database(folder)
    row = next(r for r in opened.read_memories(limit=100) if r.memory["memory"] == old)
    row.memory = {"memory": new}
    opened.upsert_memory(row)
