"""Tables of the embedded store, as decorated migrations."""

from __future__ import annotations

import sqlite3
from typing import Final

from echoless.core.sqlite import Migrations
from echoless.stores import ledger_schema as lineage
from echoless.stores.known_schema import KnownSchema

APPLICATION_ID: Final = 0x4563686F
"""`PRAGMA application_id` of our files: "Echo" in ASCII; tells them from other programs' files."""

migrations: Final = Migrations("store")

WORDS: Final = "memories_words"
TRIGRAMS: Final = "memories_trigrams"
CHANGES: Final = "memories_changes"
VISIBLE: Final = "visible_memories"


@migrations.add("0001_memories")
def _memories(db: sqlite3.Connection) -> None:
    """Makes the tables of memories and vectors."""
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.execute(
        "CREATE TABLE memories (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
        " content TEXT NOT NULL, namespace TEXT NOT NULL DEFAULT '',"
        " type TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', importance,"
        " access_count INTEGER NOT NULL DEFAULT 0, created_at TEXT, updated_at TEXT,"
        " last_accessed TEXT, provenance TEXT NOT NULL DEFAULT 'unknown',"
        " links TEXT NOT NULL DEFAULT '[]', pinned INTEGER NOT NULL DEFAULT 0,"
        " metadata TEXT NOT NULL DEFAULT '{}', extra TEXT NOT NULL DEFAULT '{}')"
    )
    db.execute("CREATE INDEX memories_namespace ON memories(namespace)")
    # With row ids: a table without them is an index, which keeps at most a quarter of a page of an
    # entry in its place, so that every vector of 384 dimensions took a page of its own
    # (https://www.sqlite.org/withoutrowid.html). Older files have it so, and are read and written
    # by the same statements.
    db.execute(
        "CREATE TABLE vectors (seq INTEGER NOT NULL REFERENCES memories(seq) ON DELETE CASCADE,"
        " model TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL,"
        " PRIMARY KEY (seq, model))"
    )


@migrations.add("0002_full_text")
def _full_text(db: sqlite3.Connection) -> None:
    """Makes the two full-text indexes, and the triggers that keep them up to date."""
    for table, tokenizer in ((WORDS, "unicode61 remove_diacritics 2"), (TRIGRAMS, "trigram")):
        db.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5(content, tags, content='memories',"
            f" content_rowid='seq', tokenize='{tokenizer}')"
        )
    add = "".join(
        f"INSERT INTO {t}(rowid, content, tags) VALUES (new.seq, new.content, new.tags);"
        for t in (WORDS, TRIGRAMS)
    )
    drop = "".join(
        f"INSERT INTO {t}({t}, rowid, content, tags)"
        " VALUES ('delete', old.seq, old.content, old.tags);"
        for t in (WORDS, TRIGRAMS)
    )
    db.execute(f"CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN {add} END")
    db.execute(f"CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN {drop} END")
    db.execute(
        "CREATE TRIGGER memories_au AFTER UPDATE OF content, tags ON memories"
        f" BEGIN {drop}{add} END"
    )


@migrations.add("0003_changes")
def _changes(db: sqlite3.Connection) -> None:
    """Makes a table with the last change of each memory, so that an index can follow."""
    db.execute(
        f"CREATE TABLE {CHANGES} (number INTEGER PRIMARY KEY AUTOINCREMENT,"
        " id TEXT NOT NULL UNIQUE)"
    )
    note = f"INSERT OR REPLACE INTO {CHANGES} (id) VALUES"
    whose = "(SELECT id FROM memories WHERE seq = {}.seq)"
    for name, moment, action in (
        ("ci", "AFTER INSERT ON memories", f"{note} (new.id);"),
        ("cd", "AFTER DELETE ON memories", f"{note} (old.id);"),
        ("cu", "AFTER UPDATE ON memories", f"{note} (old.id); {note} (new.id);"),
    ):
        db.execute(f"CREATE TRIGGER memories_{name} {moment} BEGIN {action} END")
    for name, moment, row in (("ci", "INSERT", "new"), ("cd", "DELETE", "old")):
        db.execute(
            f"CREATE TRIGGER vectors_{name} AFTER {moment} ON vectors"
            f" WHEN EXISTS {whose.format(row)} BEGIN {note} ({whose.format(row)}); END"
        )


@migrations.add("0004_visible")
def _visible(db: sqlite3.Connection) -> None:
    """Makes the view of what is not hidden, for programs that read the file themselves.

    The table of marks belongs to the ledger, which is made after this one: a view is resolved when
    it is read (https://sqlite.org/lang_createview.html).
    """
    db.execute(f"DROP VIEW IF EXISTS {VISIBLE}")
    db.execute(
        f"CREATE VIEW {VISIBLE} AS SELECT * FROM memories"
        " WHERE id NOT IN (SELECT duplicate FROM marks)"
    )


_VECTORS_OF_0_1: Final = (
    "CREATE TABLE vectors (seq INTEGER NOT NULL REFERENCES memories(seq) ON DELETE CASCADE,"
    " model TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL,"
    " PRIMARY KEY (seq, model)) WITHOUT ROWID"
)

KNOWN: Final = KnownSchema(migrations, lineage.migrations, older={"vectors": (_VECTORS_OF_0_1,)})
"""Tables and triggers of a file of echoless; indexes and tables of SQLite itself may differ."""
