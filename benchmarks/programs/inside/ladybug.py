"""Ladybug, a graph database in a file (Graphiti and cognee keep their facts in its kind)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def connection(folder: Path) -> Any:
    import ladybug as lb

    return lb.Connection(lb.Database(str(folder / "graph.lbug")))


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = connection(folder)
    opened.execute("CREATE NODE TABLE Memory(id INT64 PRIMARY KEY, text STRING, owner STRING)")
    for number, note in enumerate(notes):
        given = {"id": number, "text": note.text, "owner": note.owner}
        opened.execute("CREATE (:Memory {id: $id, text: $text, owner: $owner})", given)


def dump(folder: Path) -> list[Record]:
    rows = connection(folder).execute("MATCH (m:Memory) RETURN m.id, m.text, m.owner")
    return [record(name, text, owner=owner) for name, text, owner in rows.get_all()]
