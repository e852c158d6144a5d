"""LanceDB: a table of texts with vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector


def table(folder: Path) -> Any:
    import lancedb

    return lancedb.connect(str(folder / "lance")).open_table("notes")


def write(folder: Path, notes: Sequence[Note]) -> None:
    import lancedb

    rows = [
        {
            "id": f"n{number}",
            "text": note.text,
            "user_id": note.owner,
            "created_at": f"2026-01-0{number + 1}T10:00:00",
            "vector": vector(note.text),
        }
        for number, note in enumerate(notes)
    ]
    lancedb.connect(str(folder / "lance")).create_table("notes", rows)


def dump(folder: Path) -> list[Record]:
    return [
        record(
            row["id"],
            row["text"],
            created=row["created_at"],
            vector=row["vector"],
            owner=row["user_id"],
        )
        for row in table(folder).to_arrow().to_pylist()
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    found = table(folder).search(vector(query)).where("user_id = 'ann'", prefilter=True)
    return [row["text"] for row in found.limit(limit).to_list()]


def edit(folder: Path, old: str, new: str) -> None:
    table(folder).update(where=f"text = '{old}'", values={"text": new, "vector": vector(new)})
