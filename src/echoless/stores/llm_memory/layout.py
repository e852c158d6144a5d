"""Layout of an llm-memory file: its tables by version, and how a new one is made.

The tables and columns are those of `VoidogStudio/llm-memory` (MIT), written down from its layout.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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

_TABLES: Final = Path(__file__).with_name("schema.sql").read_text("utf-8")
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
class Tables:
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


def layout_of(db: sqlite3.Connection) -> Tables | None:
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
    if not {"id", "content", "content_type", "memory_tier", "created_at", "updated_at"} <= {*own}:
        return None
    if "schema_version" in columns:
        (version,) = db.execute("SELECT max(version) FROM schema_version").fetchone()
        if isinstance(version, int):
            return Tables(columns, version)
    # a copy without that table: the columns show the version
    older = WRITABLE_FROM if "namespace" in own else 1
    return Tables(columns, CURRENT if "version" in own else older)
