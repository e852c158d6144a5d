"""Tables of the embedded store, as decorated migrations, and their rows as memories.

A million rows take seconds, so every step in the loops here counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from echoless.core.errors import BadRecord
from echoless.core.json_codec import read_links, read_tags
from echoless.core.model import EMPTY, Json, Memory, Provenance, Vector
from echoless.core.sqlite import Migrations, steps_in
from echoless.core.text import retired
from echoless.stores import ledger_schema as lineage
from echoless.stores.expiration import promised
from echoless.stores.known_schema import KnownSchema
from echoless.stores.scope import owned

APPLICATION_ID: Final = 0x4563686F
"""`PRAGMA application_id` of our files: "Echo" in ASCII; tells them from other programs' files."""

_TABLES: Final = """-- step 0001_memories
PRAGMA application_id=1164142703 -- "Echo" in ASCII, as in `APPLICATION_ID`

CREATE TABLE memories (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL, namespace TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', importance,
  access_count INTEGER NOT NULL DEFAULT 0, created_at TEXT, updated_at TEXT,
  last_accessed TEXT, provenance TEXT NOT NULL DEFAULT 'unknown',
  links TEXT NOT NULL DEFAULT '[]', pinned INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL DEFAULT '{}', extra TEXT NOT NULL DEFAULT '{}')

CREATE INDEX memories_namespace ON memories(namespace)

-- With row ids: a table without them is an index, which keeps at most a quarter of a page of an
-- entry in its place, so that every vector of 384 dimensions took a page of its own
-- (https://www.sqlite.org/withoutrowid.html).
CREATE TABLE vectors (seq INTEGER NOT NULL REFERENCES memories(seq) ON DELETE CASCADE,
  model TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (seq, model))

-- step 0002_full_text
CREATE VIRTUAL TABLE memories_words USING fts5(content, tags, content='memories',
  content_rowid='seq', tokenize='unicode61 remove_diacritics 2')

CREATE VIRTUAL TABLE memories_trigrams USING fts5(content, tags, content='memories',
  content_rowid='seq', tokenize='trigram')

CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_words(rowid, content, tags) VALUES (new.seq, new.content, new.tags);INSERT
  INTO memories_trigrams(rowid, content, tags) VALUES (new.seq, new.content, new.tags); END

CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_words(memories_words, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_trigrams(memories_trigrams, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags); END

CREATE TRIGGER memories_au AFTER UPDATE OF content, tags ON memories BEGIN
  INSERT INTO memories_words(memories_words, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_trigrams(memories_trigrams, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_words(rowid, content, tags) VALUES (new.seq, new.content, new.tags);INSERT
  INTO memories_trigrams(rowid, content, tags) VALUES (new.seq, new.content, new.tags); END

-- step 0003_changes
-- the last change of each memory, so that an index can follow
CREATE TABLE memories_changes (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE)

CREATE TRIGGER memories_ci AFTER INSERT ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (new.id); END

CREATE TRIGGER memories_cd AFTER DELETE ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (old.id); END

CREATE TRIGGER memories_cu AFTER UPDATE ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (old.id);
  INSERT OR REPLACE INTO memories_changes (id) VALUES (new.id); END

CREATE TRIGGER vectors_ci AFTER INSERT ON vectors
  WHEN EXISTS (SELECT id FROM memories WHERE seq = new.seq) BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES
  ((SELECT id FROM memories WHERE seq = new.seq)); END

CREATE TRIGGER vectors_cd AFTER DELETE ON vectors
  WHEN EXISTS (SELECT id FROM memories WHERE seq = old.seq) BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES
  ((SELECT id FROM memories WHERE seq = old.seq)); END

-- step 0004_visible
DROP VIEW IF EXISTS visible_memories

-- What is not hidden, for programs that read the file themselves. The table of marks belongs to the
-- ledger, which is made after this one: a view is resolved when it is read
-- (https://sqlite.org/lang_createview.html).
CREATE VIEW visible_memories AS SELECT * FROM memories
  WHERE id NOT IN (SELECT duplicate FROM marks)
"""
"""Tables of a file of echoless, step by step: an empty line parts statements. What was published
stays as it is, but for white space where there is some: `KnownSchema` compares files with it."""

migrations: Final = Migrations("store", steps_in(_TABLES))

WORDS: Final = "memories_words"
TRIGRAMS: Final = "memories_trigrams"
CHANGES: Final = "memories_changes"

KNOWN: Final = KnownSchema(migrations, lineage.migrations)
"""Tables and triggers of a file of echoless; indexes and tables of SQLite itself may differ."""


# ------------------------------------------------------------------ rows as memories


PLAIN: Final = (
    "id",
    "content",
    "namespace",
    "type",
    "importance",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed",
)
CODED: Final = ("tags", "links", "metadata", "extra")
COLUMNS: Final = (*PLAIN, "provenance", "pinned", *CODED)

_PROVENANCE: Final = {word.value: word for word in Provenance}
_VECTOR: Final = 2
"""Columns of a row before `seq`: model and data of one vector."""

_TEXT: Final = frozenset({str})
_TIME: Final = frozenset({str, type(None)})
_NUMBER: Final = frozenset({int, float, type(None)})

_MOST_KNOWN: Final = 100_000
"""Values remembered because they may come again: names, kinds, tags, times, importance."""


class FilePlace(Mapping[str, Json]):
    """Place of a memory in its file, as `native`; a tenth of the size of a dictionary."""

    __slots__ = ("_seq",)

    def __init__(self, seq: int) -> None:
        self._seq = seq

    def __getitem__(self, name: str) -> Json:
        if name == "seq":
            return self._seq
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("seq",))

    def __len__(self) -> int:
        return 1


class MemoryRows:
    """Conversion of rows to memories; repeated names, tags, times and numbers are held once."""

    def __init__(self, path: Path) -> None:
        """Starts with nothing held.

        Args:
            path: Of the file, for messages.
        """
        self._path = path
        self._names: dict[str, str] = {}
        self._times: dict[str | None, str | None] = {}
        self._numbers: dict[float, float] = {}
        self._tags: dict[str, tuple[str, ...]] = {"[]": ()}

    def memories(self, batches: Iterable[Sequence[tuple[Any, ...]]]) -> Iterator[Memory]:
        """Yields memories, in the order of the rows.

        Args:
            batches: Rows of model, data (both None without a vector), seq and `COLUMNS`; rows of
                one memory stand together.

        Raises:
            BadRecord: A record is damaged; the message names it.
        """
        pending: tuple[Any, ...] | None = None
        vectors: tuple[Vector, ...] = ()
        same = self._names.setdefault
        for batch in batches:
            for row in batch:
                model = row[0]
                if model is not None and (type(model), type(row[1])) != (str, bytes):
                    raise self._damaged(row[_VECTOR + 1], "its vector is none")
                if pending is not None and pending[_VECTOR] == row[_VECTOR]:
                    vectors += (Vector(same(model, model), row[1]),)
                    continue
                if pending is not None:
                    yield self._memory(pending, vectors)
                pending = row
                vectors = () if model is None else (Vector(same(model, model), row[1]),)
        if pending is not None:
            yield self._memory(pending, vectors)

    def _memory(self, row: tuple[Any, ...], vectors: tuple[Vector, ...]) -> Memory:
        """Makes one memory of a row; raises the errors of `memories`."""
        _, _, seq, id_, content, namespace, kind, importance, count, made, changed, seen = row[:12]
        provenance, pinned, tags, links, metadata, extra = row[12:]
        for known in (self._names, self._times, self._numbers):
            if len(known) > _MOST_KNOWN:
                known.clear()
        same, at = self._names.setdefault, self._times.setdefault
        try:
            if not (
                type(id_) is type(content) is type(namespace) is type(kind) is str
                and type(count) is int
                and type(made) in _TIME
                and type(changed) in _TIME
                and type(seen) in _TIME
                and type(importance) in _NUMBER
            ):
                _raise_for_type(row)
            if importance and type(importance) is float:  # 0.0 and -0.0, 1 and 1.0 are two
                importance = self._numbers.setdefault(importance, importance)
            memory = Memory(
                id=id_,
                content=content,
                namespace=same(namespace, namespace),
                type=same(kind, kind),
                tags=self._tagged(tags),
                importance=importance,
                access_count=count,
                created_at=at(made, made),
                updated_at=at(changed, changed),
                last_accessed=at(seen, seen),
                provenance=_PROVENANCE.get(provenance, Provenance.UNKNOWN),
                links=() if links == "[]" else read_links(json.loads(links)),
                pinned=bool(pinned),
                metadata=EMPTY if metadata == "{}" else _object(metadata),
                vectors=vectors,
                extra=EMPTY if extra == "{}" else _object(extra),
                native=FilePlace(seq),
            )
            bare = memory.metadata is EMPTY and memory.extra is EMPTY
            return memory if bare and not retired(content) else owned(promised(memory), whole=True)
        except (ValueError, TypeError, RecursionError, BadRecord) as problem:
            raise self._damaged(id_, str(problem)) from problem

    def _damaged(self, id_: object, why: str) -> BadRecord:
        """Returns the error for a damaged memory."""
        return BadRecord(
            f"Memory {id_!r} in {self._path} is damaged ({why}). Nothing was changed. First copy "
            "the file; `echoless check STORE` looks for more."
        )

    def _tagged(self, text: str) -> tuple[str, ...]:
        """Parses the tags of a row, each text once."""
        known = self._tags.get(text)
        if known is None:
            known = read_tags(json.loads(text))
            if len(self._tags) > _MOST_KNOWN:
                self._tags.clear()
            self._tags[text] = known
        return known


def _raise_for_type(row: Sequence[Any]) -> None:
    """Raises the error that names the field of a wrong type.

    Raises:
        TypeError: It names the field; types that are right after all raise nothing.
    """
    wanted = dict.fromkeys(PLAIN, _TEXT) | {
        "importance": _NUMBER,
        "access_count": frozenset({int}),
        "created_at": _TIME,
        "updated_at": _TIME,
        "last_accessed": _TIME,
    }
    for name, value in zip(PLAIN, row[_VECTOR + 1 :], strict=False):
        if type(value) not in wanted[name]:
            raise TypeError(f"{name} holds {type(value).__name__}")


def _object(text: str) -> dict[str, Json]:
    """Parses a JSON object."""
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise TypeError(f"an object was expected, not {text[:20]!r}")
    return parsed
