"""Layout of an llm-memory file: its tables by version, and how a new one is made.

The tables and columns are those of `VoidogStudio/llm-memory` (MIT), written down from its layout.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CURRENT: Final = 6
WRITABLE_FROM: Final = 5
"""Schema versions below this have no namespaces; they are read and never written."""

DIMENSIONS: Final = 384
"""Of a store made here: that of the default model, `intfloat/multilingual-e5-small`."""

DEFAULT_NAMESPACE: Final = "default"

MEMORIES: Final = "memories"
LINKS: Final = "memory_links"
LOG: Final = "memory_access_log"
VERSIONS: Final = "memory_versions"
NOTES: Final = "dependency_notifications"
VECTORS: Final = "embeddings"
SHADOWS: Final = ("embeddings_rowids", "embeddings_chunks", "embeddings_vector_chunks00")

_TABLES: Final = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at DATETIME NOT NULL)

CREATE TABLE agents (id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT,
  metadata TEXT DEFAULT '{}', created_at DATETIME NOT NULL, last_active_at DATETIME NOT NULL,
  system_prompt TEXT)

CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT NOT NULL,
  content_type TEXT NOT NULL DEFAULT 'text', memory_tier TEXT NOT NULL DEFAULT 'long_term',
  tags TEXT DEFAULT '[]', metadata TEXT DEFAULT '{}', agent_id TEXT REFERENCES agents(id),
  created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, expires_at DATETIME,
  importance_score FLOAT DEFAULT 0.5, access_count INTEGER DEFAULT 0,
  last_accessed_at DATETIME, consolidated_from TEXT, namespace TEXT NOT NULL DEFAULT 'default',
  version INTEGER DEFAULT 1, previous_version_id TEXT, schema_id TEXT, structured_content TEXT)

CREATE TABLE memory_links (id TEXT PRIMARY KEY,
  source_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  target_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  link_type TEXT NOT NULL DEFAULT 'related', metadata TEXT DEFAULT '{}',
  created_at DATETIME NOT NULL, cascade_on_update INTEGER DEFAULT 0,
  cascade_on_delete INTEGER DEFAULT 0, strength REAL DEFAULT 1.0,
  UNIQUE(source_id, target_id, link_type))

CREATE TABLE memory_access_log (id TEXT PRIMARY KEY,
  memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  accessed_at DATETIME NOT NULL, access_type TEXT NOT NULL)

CREATE TABLE memory_versions (id TEXT PRIMARY KEY,
  memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  version INTEGER NOT NULL, content TEXT NOT NULL, content_type TEXT NOT NULL,
  tags TEXT DEFAULT '[]', metadata TEXT DEFAULT '{}', created_at DATETIME NOT NULL,
  change_reason TEXT, UNIQUE(memory_id, version))

CREATE TABLE dependency_notifications (id TEXT PRIMARY KEY,
  source_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  target_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  notification_type TEXT NOT NULL, metadata TEXT DEFAULT '{}',
  created_at DATETIME NOT NULL, processed_at DATETIME)

CREATE VIRTUAL TABLE memories_fts
  USING fts5(content, content_id UNINDEXED, tokenize='unicode61')

CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(content, content_id) VALUES (new.content, new.id); END

CREATE TRIGGER memories_fts_update AFTER UPDATE OF content ON memories BEGIN
  UPDATE memories_fts SET content = new.content WHERE content_id = new.id; END

CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN
  DELETE FROM memories_fts WHERE content_id = old.id; END

CREATE INDEX idx_memories_tier ON memories(memory_tier)

CREATE INDEX idx_memories_agent ON memories(agent_id)

CREATE INDEX idx_memories_created ON memories(created_at DESC)

CREATE INDEX idx_memories_expires ON memories(expires_at) WHERE expires_at IS NOT NULL

CREATE INDEX idx_memories_importance ON memories(importance_score, created_at)

CREATE INDEX idx_memories_namespace ON memories(namespace)

CREATE INDEX idx_memories_namespace_tier ON memories(namespace, memory_tier)

CREATE INDEX idx_memories_namespace_created ON memories(namespace, created_at DESC)

CREATE INDEX idx_memories_namespace_importance
  ON memories(namespace, importance_score, created_at)

CREATE INDEX idx_links_source ON memory_links(source_id)

CREATE INDEX idx_links_target ON memory_links(target_id)

CREATE INDEX idx_links_type ON memory_links(link_type)
"""
"""One statement a paragraph."""


def make_tables(db: sqlite3.Connection, at: str, dimensions: int = DIMENSIONS) -> None:
    """Makes an empty store of the current version.

    Args:
        db: A connection that has loaded sqlite-vec, inside a transaction.
        at: Time of making, ISO 8601.
        dimensions: Of the vectors.
    """
    for statement in _TABLES.strip().split("\n\n"):
        db.execute(statement)
    db.execute(
        f"CREATE VIRTUAL TABLE {VECTORS} USING vec0("
        f"memory_id TEXT PRIMARY KEY, embedding FLOAT[{int(dimensions)}] distance_metric=cosine)"
    )
    db.execute("INSERT INTO schema_version VALUES (?, ?)", (CURRENT, at))


@dataclass(frozen=True, slots=True)
class Layout:
    """Tables of one file.

    Attributes:
        columns: Names of the columns by table, in order; tables that are not there are left out.
        version: Schema version.
    """

    columns: Mapping[str, tuple[str, ...]]
    version: int

    @property
    def has_namespaces(self) -> bool:
        """Returns whether rows name their namespace."""
        return "namespace" in self.columns[MEMORIES]

    @property
    def has_versions(self) -> bool:
        """Returns whether a changed memory leaves its earlier state behind."""
        return "version" in self.columns[MEMORIES] and VERSIONS in self.columns

    @property
    def has_vectors(self) -> bool:
        """Returns whether the tables that hold the vectors exist."""
        return all(name in self.columns for name in SHADOWS)

    @property
    def writable(self) -> bool:
        """Returns whether this version may be written."""
        return self.version >= WRITABLE_FROM and self.has_namespaces


_TABLE_NAMES: Final = (MEMORIES, LINKS, LOG, VERSIONS, NOTES, *SHADOWS, "schema_version")


def layout_of(db: sqlite3.Connection) -> Layout | None:
    """Returns the layout of an open file, or None if it is no llm-memory store."""
    columns: dict[str, tuple[str, ...]] = {}
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    present = {str(name) for (name,) in tables}  # a view in place of a table might never end
    for table in (name for name in _TABLE_NAMES if name in present):
        # not the virtual table itself: its columns are known to the extension only
        names = tuple(str(row[1]) for row in db.execute(f"PRAGMA table_info({table})").fetchall())
        if names:
            columns[table] = names
    own = columns.get(MEMORIES, ())
    if not {"content", "content_type", "memory_tier"} <= set(own):
        return None
    if "schema_version" in columns:
        (version,) = db.execute("SELECT max(version) FROM schema_version").fetchone()
        if isinstance(version, int):
            return Layout(columns, version)
    # a copy without that table: the columns show the version
    older = WRITABLE_FROM if "namespace" in own else 1
    return Layout(columns, CURRENT if "version" in own else older)
