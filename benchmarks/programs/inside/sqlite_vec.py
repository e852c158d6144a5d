"""sqlite-vec: a table of texts, and a virtual table of their vectors with the same row ids."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vector


def database(folder: Path) -> sqlite3.Connection:
    import sqlite_vec

    opened = sqlite3.connect(folder / "notes.db", isolation_level=None)
    opened.enable_load_extension(True)
    sqlite_vec.load(opened)
    return opened


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = database(folder)
    opened.execute(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT, user_id TEXT,"
        " created_at TEXT)"
    )
    opened.execute(f"CREATE VIRTUAL TABLE vec_notes USING vec0(embedding float[{DIMENSIONS}])")
    for number, note in enumerate(notes, 1):
        row = (number, note.text, note.owner, f"2026-01-0{number} 10:00:00")
        opened.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", row)
        made = json.dumps(vector(note.text))
        opened.execute("INSERT INTO vec_notes (rowid, embedding) VALUES (?, ?)", (number, made))


def dump(folder: Path) -> list[Record]:
    rows = database(folder).execute(
        "SELECT id, body, user_id, created_at, vec_to_json(embedding) FROM notes"
        " JOIN vec_notes ON vec_notes.rowid = notes.id ORDER BY id"
    )
    return [
        record(name, text, created=created, vector=json.loads(numbers), owner=owner)
        for name, text, owner, created, numbers in rows
    ]


def search(folder: Path, query: str, limit: int) -> list[str]:
    rows = database(folder).execute(
        "SELECT body FROM vec_notes JOIN notes ON notes.id = vec_notes.rowid"
        " WHERE embedding MATCH ? AND k = ? ORDER BY distance",
        (json.dumps(vector(query)), limit),
    )
    return [text for (text,) in rows]


def edit(folder: Path, old: str, new: str) -> None:
    database(folder).execute("UPDATE notes SET body = ? WHERE body = ?", (new, old))
