"""The tables of a Recall database: names, columns, and the schema of an empty one."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from echoless.core.sqlite import table_exists


@dataclass(frozen=True, slots=True)
class RecallTable:
    """One table of memories.

    Attributes:
        name: Of the table.
        parts: Columns that make up the text, joined by a line feed.
        time: Column of its time.
        secondary: Other columns with text, in which a copy may hold more than its survivor.
        full_text: Name of the FTS5 index.
    """

    name: str
    parts: tuple[str, ...]
    time: str = "created_at"
    secondary: tuple[str, ...] = ()
    full_text: str = ""


TABLES: Final = {
    table.name: table
    for table in (
        RecallTable("messages", ("content",), time="timestamp", full_text="messages_fts"),
        RecallTable(
            "decisions",
            ("decision",),
            secondary=("reasoning", "alternatives"),
            full_text="decisions_fts",
        ),
        RecallTable(
            "learnings",
            ("problem", "solution"),
            secondary=("prevention", "tags"),
            full_text="learnings_fts",
        ),
        RecallTable("breadcrumbs", ("content",), full_text="breadcrumbs_fts"),
        RecallTable(
            "loa_entries",
            ("title", "fabric_extract"),
            secondary=("description", "tags"),
            full_text="loa_fts",
        ),
    )
}
"""Memory tables in the order they are read and reported."""


def quoted(name: str) -> str:
    """Returns a name of a table or column as SQL."""
    return '"' + name.replace('"', '""') + '"'


def columns(db: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Returns the columns of a table in this file, which differ by version; none without it."""
    query = f"PRAGMA table_info({quoted(table)})"  # not of a view, which might never end
    return tuple(row[1] for row in (db.execute(query) if table_exists(db, table) else ()))


_LINEAGE_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS dedup_lineage (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " created_at DATETIME DEFAULT CURRENT_TIMESTAMP, survivor_table TEXT NOT NULL,"
    " survivor_id INTEGER NOT NULL, duplicate_table TEXT NOT NULL, duplicate_id INTEGER NOT NULL,"
    " reason TEXT NOT NULL, similarity REAL, status TEXT NOT NULL DEFAULT 'marked', detail TEXT)"
)
_ONE_MARK: Final = (
    "CREATE UNIQUE INDEX IF NOT EXISTS idx_dedup_lineage_duplicate"
    " ON dedup_lineage(duplicate_table, duplicate_id) WHERE status = 'marked'"
)
_BY_SURVIVOR: Final = (
    "CREATE INDEX IF NOT EXISTS idx_dedup_lineage_survivor"
    " ON dedup_lineage(survivor_table, survivor_id)"
)
LINEAGE: Final = (_LINEAGE_TABLE, _ONE_MARK, _BY_SURVIVOR)
"""Statements that make the table of marks in a file of a version without it."""

VERSION: Final = 10
"""`user_version` of a database made here: the version that brought `dedup_lineage`."""

_SHARED: Final = (
    "project TEXT, importance INTEGER DEFAULT {importance} CHECK (importance BETWEEN 1 AND 10),"
    " provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))"
)
_MADE: Final = "created_at DATETIME DEFAULT CURRENT_TIMESTAMP"
_SESSION: Final = "session_id TEXT REFERENCES sessions(session_id)"
_CONFIDENCE: Final = "confidence TEXT DEFAULT 'medium'"

_BODIES: Final = {
    "sessions": (
        "session_id TEXT UNIQUE NOT NULL, started_at DATETIME DEFAULT CURRENT_TIMESTAMP,"
        " ended_at DATETIME, summary TEXT, project TEXT, cwd TEXT, git_branch TEXT, model TEXT,"
        " source TEXT DEFAULT 'unknown'"
    ),
    "messages": (
        "session_id TEXT NOT NULL REFERENCES sessions(session_id), timestamp DATETIME NOT NULL,"
        " role TEXT NOT NULL, content TEXT NOT NULL"
    ),
    "decisions": (
        f"{_MADE}, {_SESSION}, category TEXT, decision TEXT NOT NULL, reasoning TEXT,"
        f" alternatives TEXT, status TEXT DEFAULT 'active', {_CONFIDENCE}"
    ),
    "learnings": (
        f"{_MADE}, {_SESSION}, category TEXT, problem TEXT NOT NULL, solution TEXT,"
        f" prevention TEXT, tags TEXT, {_CONFIDENCE}"
    ),
    "breadcrumbs": (
        f"{_MADE}, {_SESSION}, content TEXT NOT NULL, category TEXT, expires_at DATETIME"
    ),
    "loa_entries": (
        f"{_MADE}, title TEXT NOT NULL, description TEXT, fabric_extract TEXT NOT NULL,"
        " message_range_start INTEGER REFERENCES messages(id),"
        " message_range_end INTEGER REFERENCES messages(id),"
        " parent_loa_id INTEGER REFERENCES loa_entries(id), session_id TEXT, tags TEXT,"
        " message_count INTEGER"
    ),
    "procedures": (
        f"{_MADE}, title TEXT NOT NULL, trigger_context TEXT, steps TEXT NOT NULL,"
        " source_learnings TEXT, project TEXT, times_observed INTEGER DEFAULT 2,"
        f" {_CONFIDENCE}"
    ),
    "embeddings": (
        "source_table TEXT NOT NULL, source_id INTEGER NOT NULL,"
        " model TEXT NOT NULL DEFAULT 'nomic-embed-text',"
        f" dimensions INTEGER NOT NULL DEFAULT 768, embedding BLOB NOT NULL, {_MADE},"
        " UNIQUE (source_table, source_id)"
    ),
}
_INDEXED: Final = {
    "messages": ("content", "project"),
    "decisions": ("decision", "reasoning", "project"),
    "learnings": ("problem", "solution", "tags", "project"),
    "breadcrumbs": ("content", "category", "project"),
    "loa_entries": ("title", "description", "fabric_extract", "tags", "project"),
}


def make(db: sqlite3.Connection) -> None:
    """Creates the tables of an empty database."""
    for name, body in _BODIES.items():
        shared = _SHARED.format(importance=8 if name == "loa_entries" else 5)
        whole = f"{body}, {shared}" if name in TABLES else body
        db.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY AUTOINCREMENT, {whole})")
    db.execute("CREATE TABLE schema_meta (key TEXT PRIMARY KEY, value TEXT)")
    for statement in LINEAGE:
        db.execute(statement)
    for name, indexed in _INDEXED.items():
        _index(db, TABLES[name], ", ".join(indexed))
    db.execute(f"PRAGMA user_version = {VERSION}")


def _index(db: sqlite3.Connection, table: RecallTable, indexed: str) -> None:
    """Creates a full-text index over a table, kept up to date by triggers."""
    fts = table.full_text
    prefix = fts.removesuffix("_fts")
    new = ", ".join(f"new.{name}" for name in indexed.split(", "))
    old = new.replace("new.", "old.")
    add = f"INSERT INTO {fts}(rowid, {indexed}) VALUES (new.id, {new});"
    drop = f"INSERT INTO {fts}({fts}, rowid, {indexed}) VALUES ('delete', old.id, {old});"
    db.execute(
        f"CREATE VIRTUAL TABLE {fts} USING fts5({indexed}, content={table.name}, content_rowid=id)"
    )
    for suffix, when, what in (
        ("ai", "INSERT", add),
        ("ad", "DELETE", drop),
        ("au", f"UPDATE OF {indexed}", drop + add),
    ):
        db.execute(
            f"CREATE TRIGGER {prefix}_{suffix} AFTER {when} ON {table.name} BEGIN {what} END"
        )
