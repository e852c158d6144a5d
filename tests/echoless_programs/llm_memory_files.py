"""Files of llm-memory, made with its own SQL and the real sqlite-vec, not through the adapter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

A = (1, 0, 0, 0, 0, 0)
C99 = (99, 14, 1, 1, 1, 0)
C97 = (97, 24, 3, 2, 1, 1)
C96 = (24, 7, 0, 0, 0, 0)
C95 = (19, 6, 1, 1, 1, 0)
C95_TOO = (19, -6, -1, -1, -1, 0)
C90 = (9, 3, 3, 1, 0, 0)
C85 = (17, 10, 3, 1, 1, 0)
C80 = (4, 3, 0, 0, 0, 0)
"""Vectors whose cosine to `A` is exactly that."""

OLD = """
CREATE TABLE schema_version(version INTEGER PRIMARY KEY, applied_at DATETIME NOT NULL);
CREATE TABLE memories(id TEXT PRIMARY KEY, content TEXT NOT NULL,
 content_type TEXT NOT NULL DEFAULT 'text', memory_tier TEXT NOT NULL DEFAULT 'long_term',
 tags TEXT DEFAULT '[]', metadata TEXT DEFAULT '{}', agent_id TEXT,
 created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, expires_at DATETIME,
 importance_score FLOAT DEFAULT 0.5, access_count INTEGER DEFAULT 0, last_accessed_at DATETIME,
 consolidated_from TEXT);
CREATE TABLE memory_links(id TEXT PRIMARY KEY,
 source_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
 target_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
 link_type TEXT NOT NULL DEFAULT 'related', metadata TEXT DEFAULT '{}',
 created_at DATETIME NOT NULL, UNIQUE(source_id, target_id, link_type));
CREATE TABLE memory_access_log(id TEXT PRIMARY KEY,
 memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
 accessed_at DATETIME NOT NULL, access_type TEXT NOT NULL);
CREATE VIRTUAL TABLE memories_fts USING fts5(content, content_id UNINDEXED, tokenize='unicode61');
CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN
 INSERT INTO memories_fts(content, content_id) VALUES (new.content, new.id); END;
CREATE TRIGGER memories_fts_update AFTER UPDATE OF content ON memories BEGIN
 UPDATE memories_fts SET content = new.content WHERE content_id = old.id; END;
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN
 DELETE FROM memories_fts WHERE content_id = old.id; END;
"""
V5 = "ALTER TABLE memories ADD COLUMN namespace TEXT NOT NULL DEFAULT 'default';"
V6 = """
ALTER TABLE memories ADD COLUMN version INTEGER DEFAULT 1;
ALTER TABLE memories ADD COLUMN previous_version_id TEXT;
ALTER TABLE memories ADD COLUMN schema_id TEXT;
ALTER TABLE memories ADD COLUMN structured_content TEXT;
ALTER TABLE memory_links ADD COLUMN cascade_on_update INTEGER DEFAULT 0;
ALTER TABLE memory_links ADD COLUMN cascade_on_delete INTEGER DEFAULT 0;
ALTER TABLE memory_links ADD COLUMN strength REAL DEFAULT 1.0;
CREATE TABLE memory_versions(id TEXT PRIMARY KEY,
 memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE, version INTEGER NOT NULL,
 content TEXT NOT NULL, content_type TEXT NOT NULL, tags TEXT, metadata TEXT,
 created_at DATETIME NOT NULL, change_reason TEXT, UNIQUE(memory_id, version));
CREATE TABLE dependency_notifications(id TEXT PRIMARY KEY,
 source_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
 target_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
 notification_type TEXT NOT NULL, metadata TEXT DEFAULT '{}', created_at DATETIME NOT NULL,
 processed_at DATETIME);
"""

TABLES = (
    "memories",
    "memory_links",
    "memory_access_log",
    "memory_versions",
    "dependency_notifications",
)


class File:
    """One file of llm-memory that is being made or looked into."""

    def __init__(self, path: Path, *, dimensions: int = 6, version: int = 6) -> None:
        self.path = path
        if not path.exists():
            with self.open() as db:
                db.execute(OLD + (V5 if version >= 5 else "") + (V6 if version >= 6 else ""))
                db.execute("INSERT INTO schema_version VALUES (?, '2026-01-01')", (version,))
                db.execute(
                    "CREATE VIRTUAL TABLE embeddings USING vec0(memory_id TEXT PRIMARY KEY,"
                    f" embedding FLOAT[{dimensions}] distance_metric=cosine)"
                )

    @contextmanager
    def open(self) -> Iterator[apsw.Connection]:
        db = apsw.Connection(str(self.path))
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.execute("PRAGMA foreign_keys=ON")
        try:
            yield db
        finally:
            db.close()

    def add(
        self,
        id_: str,
        vector: Sequence[float] | None = None,
        content: str = "The deploy key lives in the vault.",
        **columns: Any,
    ) -> None:
        """A memory; without `created_at` each is newer than the one before."""
        with self.open() as db:
            self.insert(db, id_, vector, content, **columns)

    def insert(
        self,
        db: apsw.Connection,
        id_: str,
        vector: Sequence[float] | None,
        content: str,
        **columns: Any,
    ) -> None:
        (number,) = db.execute("SELECT coalesce(max(rowid), 0) + 1 FROM memories").fetchone()
        at = f"2026-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}.{number:06d}+00:00"
        row = {"id": id_, "content": content, "created_at": at, "updated_at": at, **columns}
        if "namespace" not in columns and "namespace" in self.columns(db):
            row["namespace"] = "proj"
        for name in ("tags", "metadata", "consolidated_from"):
            if isinstance(row.get(name), list | dict):
                row[name] = json.dumps(row[name])
        db.execute(
            f"INSERT INTO memories({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            tuple(row.values()),
        )
        if vector is not None:
            db.execute("INSERT INTO embeddings VALUES (?, ?)", (id_, json.dumps(list(vector))))

    @staticmethod
    def columns(db: apsw.Connection) -> list[str]:
        return [row[1] for row in db.execute("PRAGMA table_info(memories)")]

    def link(self, source: str, target: str, kind: str = "related", **columns: Any) -> str:
        """A link; returns its id."""
        id_ = f"{source}>{target}>{kind}"
        row = {"id": id_, "source_id": source, "target_id": target, "link_type": kind}
        row |= {"created_at": "2026-02-01T00:00:00+00:00", **columns}
        self.run(
            f"INSERT INTO memory_links({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            *row.values(),
        )
        return id_

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.open() as db:
            return db.execute(statement, values).fetchall()

    def row(self, id_: str) -> dict[str, Any]:
        with self.open() as db:
            (found,) = db.execute("SELECT * FROM memories WHERE id = ?", (id_,)).fetchall()
            return dict(zip(self.columns(db), found, strict=True))

    def ids(self) -> list[str]:
        return [id_ for (id_,) in self.run("SELECT id FROM memories ORDER BY id")]

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All tables as their owner sees them; row numbers are not part of that."""
        with self.open() as db:
            found = {
                name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
                for name in TABLES
                if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            }
            found["embeddings"] = db.execute(
                "SELECT memory_id, embedding FROM embeddings ORDER BY 1"
            ).fetchall()
            found["fts"] = db.execute(
                "SELECT content_id, content FROM memories_fts ORDER BY 1"
            ).fetchall()
            return found
