"""Recall databases, made by statements of their own and not by the adapter."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

L1 = "Run the linter before each commit, always."
L2 = "The build cache lives outside the workspace folder."

FIRST = (1, 0, 0, 0, 0, 0)
COS_99 = (99, 14, 1, 1, 1, 0)
COS_97 = (97, 24, 3, 2, 1, 1)
COS_96 = (24, 7, 0, 0, 0, 0)
COS_95 = (19, 6, 1, 1, 1, 0)

_SHARED = (
    "project TEXT, importance INTEGER DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),"
    " provenance TEXT CHECK (provenance IN ('verbatim','user_authored','extracted','derived'))"
)
_RECALLS = ", access_count INTEGER DEFAULT 0, last_accessed DATETIME"
_MADE = "created_at DATETIME DEFAULT CURRENT_TIMESTAMP"
_CONFIDENCE = "confidence TEXT DEFAULT 'medium' CHECK (confidence IN ('high','medium','low'))"

TABLES = f"""
CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT UNIQUE NOT NULL,
  started_at DATETIME DEFAULT CURRENT_TIMESTAMP, ended_at DATETIME, summary TEXT, project TEXT,
  cwd TEXT, git_branch TEXT, model TEXT, source TEXT DEFAULT 'unknown');
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id), timestamp DATETIME NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user','assistant','system')), content TEXT NOT NULL,
  {_SHARED}{_RECALLS});
CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, {_MADE},
  session_id TEXT REFERENCES sessions(session_id), category TEXT, decision TEXT NOT NULL,
  reasoning TEXT, alternatives TEXT, status TEXT DEFAULT 'active', {_CONFIDENCE},
  {_SHARED}{_RECALLS});
CREATE TABLE learnings (id INTEGER PRIMARY KEY AUTOINCREMENT, {_MADE},
  session_id TEXT REFERENCES sessions(session_id), category TEXT, problem TEXT NOT NULL,
  solution TEXT, prevention TEXT, tags TEXT, {_CONFIDENCE}, {_SHARED}{_RECALLS});
CREATE TABLE breadcrumbs (id INTEGER PRIMARY KEY AUTOINCREMENT, {_MADE},
  session_id TEXT REFERENCES sessions(session_id), content TEXT NOT NULL, category TEXT,
  expires_at DATETIME, {_SHARED}{_RECALLS});
CREATE TABLE loa_entries (id INTEGER PRIMARY KEY AUTOINCREMENT, {_MADE}, title TEXT NOT NULL,
  description TEXT, fabric_extract TEXT NOT NULL,
  message_range_start INTEGER REFERENCES messages(id),
  message_range_end INTEGER REFERENCES messages(id),
  parent_loa_id INTEGER REFERENCES loa_entries(id), session_id TEXT, tags TEXT,
  message_count INTEGER, {_SHARED.replace("DEFAULT 5", "DEFAULT 8")}{_RECALLS}, source_ids TEXT);
CREATE TABLE procedures (id INTEGER PRIMARY KEY AUTOINCREMENT, {_MADE}, title TEXT NOT NULL,
  trigger_context TEXT, steps TEXT NOT NULL, source_learnings TEXT, project TEXT,
  times_observed INTEGER DEFAULT 2, {_CONFIDENCE});
CREATE TABLE embeddings (id INTEGER PRIMARY KEY AUTOINCREMENT, source_table TEXT NOT NULL,
  source_id INTEGER NOT NULL, model TEXT NOT NULL DEFAULT 'nomic-embed-text',
  dimensions INTEGER NOT NULL DEFAULT 768, embedding BLOB NOT NULL, {_MADE},
  UNIQUE (source_table, source_id));
CREATE TABLE schema_meta (key TEXT PRIMARY KEY, value TEXT);
"""

LINEAGE = """
CREATE TABLE dedup_lineage (id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP, survivor_table TEXT NOT NULL,
  survivor_id INTEGER NOT NULL, duplicate_table TEXT NOT NULL, duplicate_id INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('exact','semantic')), similarity REAL,
  status TEXT NOT NULL DEFAULT 'marked' CHECK (status IN ('marked','deleted','reverted')),
  detail TEXT);
CREATE UNIQUE INDEX idx_dedup_lineage_duplicate ON dedup_lineage(duplicate_table, duplicate_id)
  WHERE status = 'marked';
CREATE INDEX idx_dedup_lineage_survivor ON dedup_lineage(survivor_table, survivor_id);
"""

_INDEXES = {
    "messages_fts": ("messages", "content, project"),
    "decisions_fts": ("decisions", "decision, reasoning, project"),
    "learnings_fts": ("learnings", "problem, solution, tags, project"),
    "breadcrumbs_fts": ("breadcrumbs", "content, category, project"),
    "loa_fts": ("loa_entries", "title, description, fabric_extract, tags, project"),
}


def _index(fts: str, table: str, columns: str) -> str:
    prefix = fts.removesuffix("_fts")
    new = ", ".join(f"new.{c}" for c in columns.split(", "))
    old = new.replace("new.", "old.")
    add = f"INSERT INTO {fts}(rowid, {columns}) VALUES (new.id, {new});"
    drop = f"INSERT INTO {fts}({fts}, rowid, {columns}) VALUES ('delete', old.id, {old});"
    return f"""
CREATE VIRTUAL TABLE {fts} USING fts5({columns}, content={table}, content_rowid='id');
CREATE TRIGGER {prefix}_ai AFTER INSERT ON {table} BEGIN {add} END;
CREATE TRIGGER {prefix}_ad AFTER DELETE ON {table} BEGIN {drop} END;
CREATE TRIGGER {prefix}_au AFTER UPDATE OF {columns} ON {table} BEGIN {drop} {add} END;
"""


class Recall:
    """A database to fill and to look into."""

    def __init__(self, path: Path, *, version: int = 17, lineage: bool = True) -> None:
        self.path = path
        script = TABLES + "".join(_index(fts, *rest) for fts, rest in _INDEXES.items())
        with self.open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(script + (LINEAGE if lineage else ""))
            db.execute(f"PRAGMA user_version = {version}")
            db.execute("INSERT INTO sessions (session_id, source) VALUES ('s1', 'claude')")

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self.path)
        db.execute("PRAGMA foreign_keys=ON")
        try:
            with db:
                yield db
        finally:
            db.close()

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with self.open() as db:
            return db.execute(statement, values).fetchall()

    def add(self, table: str, vector: Sequence[float] | None = None, **columns: object) -> int:
        """A row, with a vector if one is given; its number."""
        names = ", ".join(columns)
        places = ", ".join("?" * len(columns))
        with self.open() as db:
            number = db.execute(
                f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(columns.values())
            ).lastrowid
            assert number is not None
            if vector is not None:
                _embed(db, table, number, vector)
        return number

    def breadcrumb(
        self, content: str, vector: Sequence[float] | None = None, **more: object
    ) -> int:
        more.setdefault("created_at", "2026-06-01 10:00:00")
        return self.add("breadcrumbs", vector, content=content, **more)

    def message(self, content: str, vector: Sequence[float] | None = None, **more: object) -> int:
        values = {"session_id": "s1", "timestamp": "2026-06-01 10:00:00", "role": "user", **more}
        return self.add("messages", vector, content=content, **values)

    def decision(self, decision: str, vector: Sequence[float] | None = None, **more: object) -> int:
        return self.add("decisions", vector, decision=decision, **more)

    def lineage(
        self, columns: str = "duplicate_id, survivor_id, status"
    ) -> list[tuple[object, ...]]:
        return self.run(f"SELECT {columns} FROM dedup_lineage ORDER BY id")

    def numbers(self, table: str = "breadcrumbs") -> list[object]:
        return [row[0] for row in self.run(f"SELECT id FROM {table} ORDER BY id")]

    def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table of data, lineage aside."""
        names = ("sessions", "messages", "decisions", "learnings", "breadcrumbs", "loa_entries",
                 "procedures", "embeddings")  # fmt: skip
        return {name: self.run(f"SELECT * FROM {name} ORDER BY id") for name in names}


def _embed(db: sqlite3.Connection, table: str, number: int, vector: Sequence[float]) -> None:
    db.execute(
        "INSERT INTO embeddings (source_table, source_id, dimensions, embedding)"
        " VALUES (?, ?, ?, ?)",
        (table, number, len(vector), struct.pack(f"<{len(vector)}f", *vector)),
    )
