"""DuckDB: a file with a table of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs.inside.common import Note, Record, record


def write(folder: Path, notes: Sequence[Note]) -> None:
    import duckdb

    with duckdb.connect(str(folder / "notes.duckdb")) as opened:
        opened.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, user_id TEXT)")
        rows = [(number, note.text, note.owner) for number, note in enumerate(notes)]
        opened.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)


def dump(folder: Path) -> list[Record]:
    import duckdb

    with duckdb.connect(str(folder / "notes.duckdb")) as opened:
        rows = opened.execute("SELECT id, body, user_id FROM notes").fetchall()
    return [record(name, text, owner=owner) for name, text, owner in rows]
