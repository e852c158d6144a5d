"""Tables of an llm-memory file, and conversion of a row of `memories` to a Memory and back.

What the table has no column for (provenance, a pin, foreign fields) lies in its JSON column
`metadata` under the one key `echoless`, which llm-memory's own clients carry along unread.

The tables and columns are those of `VoidogStudio/llm-memory` (MIT), written down from its layout.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import json_text, json_value, read_provenance
from echoless.core.model import Json, JsonObject, Link, Memory, Provenance, Vector, canonical
from echoless.core.sqlite import Cell
from echoless.core.text import unreadable
from echoless.stores.expiration import promised
from echoless.stores.scope import Head, owned
from echoless_programs.stores.program_file import Row, columns, unpacked

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


def make_tables(db: sqlite3.Connection, at: str) -> None:
    """Makes an empty store of the current version.

    Args:
        db: A connection that has loaded sqlite-vec, inside a transaction.
        at: Time of making, ISO 8601.
    """
    for statement in _TABLES.strip().split("\n\n"):
        db.execute(statement)
    db.execute(
        f"CREATE VIRTUAL TABLE {VECTORS} USING vec0("
        f"memory_id TEXT PRIMARY KEY, embedding FLOAT[{DIMENSIONS}] distance_metric=cosine)"
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
        return self.version >= WRITABLE_FROM and "namespace" in self.columns[MEMORIES]


_TABLE_NAMES: Final = (MEMORIES, LINKS, LOG, VERSIONS, NOTES, *SHADOWS, "schema_version")


def layout_of(db: sqlite3.Connection) -> Tables | None:
    """Returns the layout of an open file, or None if it is no llm-memory store."""
    # not the virtual table itself: its columns are known to the extension only
    known = {table: names for table in _TABLE_NAMES if (names := columns(db, table))}
    own = known.get(MEMORIES, ())
    if not {"id", "content", "content_type", "memory_tier", "created_at", "updated_at"} <= {*own}:
        return None
    if "schema_version" in known:
        (version,) = db.execute("SELECT max(version) FROM schema_version").fetchone()
        if isinstance(version, int):
            return Tables(known, version)
    # a copy without that table: the columns show the version
    older = WRITABLE_FROM if "namespace" in own else 1
    return Tables(known, CURRENT if "version" in own else older)


# ------------------------------------------------------------------ rows as memories


MODEL: Final = "llm-memory"
"""Identity of the stored vectors. The store keeps those of one model and does not name it."""

HOME: Final = "echoless"
"""Key of the metadata that holds what has no column."""

NAMESPACE: Final = re.compile(r"[a-z0-9_/-]{1,128}")
TYPES: Final = frozenset({"text", "image", "code", "json", "yaml"})
_UNSET: Final = '"unset"'
_NO_TIME: Final = "1970-01-01T00:00:00+00:00"

_PLAIN_EXTRA: Final[Mapping[str, Json]] = {
    "memory_tier": "long_term",
    "agent_id": None,
    "expires_at": None,
    "version": 1,
    "previous_version_id": None,
    "schema_id": None,
    "structured_content": None,
}
"""Columns that go into `extra`, each with the default value that is left out."""


# ------------------------------------------------------------------ from a row


def memory_of(
    row: Row, *, links: tuple[Link, ...] = (), vector: bytes | None = None, where: str = ""
) -> Memory:
    """Returns the memory in a row.

    Args:
        row: By column; columns an older schema does not have are missing.
        links: Its outgoing links.
        vector: Its stored vector.
        where: The file, for messages.

    Raises:
        BadRecord: Its JSON cannot be read.
    """
    with _named(row, where):
        metadata, home, unset = _parts(row)
        tags: Json = json.loads(str(row["tags"])) if row.get("tags") else []
        if not isinstance(tags, list):
            raise TypeError(f"the tags {str(row['tags'])[:40]!r} are no JSON list")
        importance = row.get("importance_score")
        memory = Memory(
            id=str(row["id"]),
            content=str(row["content"]),
            namespace=str(row.get("namespace", DEFAULT_NAMESPACE)),
            type=str(home.get("type", row["content_type"])),
            tags=tuple(str(tag) for tag in tags),
            importance=None if importance is None else float(importance),
            access_count=int(row.get("access_count") or 0),
            created_at=None if "created_at" in unset else _time(row["created_at"]),
            updated_at=None if "updated_at" in unset else _time(row["updated_at"]),
            last_accessed=_time(row.get("last_accessed_at")),
            provenance=read_provenance(home.get("provenance")),
            links=links,
            pinned=bool(home.get("pinned", False)),
            metadata=metadata,
            vectors=() if vector is None else (Vector(MODEL, vector),),
            extra={**_inside(home.get("extra")), **_extra(row)},
        )
        return owned(promised(memory))


@contextmanager
def _named(row: Row, where: str) -> Iterator[None]:
    """Turns what fails inside into the error for a row that cannot be read."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as problem:
        raise BadRecord(
            f"Memory {row['id']!r} in {where} is damaged ({problem}). First copy the file; then "
            "mend the record with llm-memory. Nothing was changed."
        ) from problem


def _parts(row: Row) -> tuple[dict[str, Json], JsonObject, Sequence[Json]]:
    """Returns the metadata of a row, what echoless keeps in them, and its fields without a time."""
    text = row.get("metadata")
    metadata = json.loads(str(text)) if text else {}
    if not isinstance(metadata, dict):
        raise TypeError(f"the metadata {str(text)[:40]!r} are no JSON object")
    home = _inside(metadata.pop(HOME, None))
    unset = home.get("unset")
    return metadata, home, unset if isinstance(unset, list) else ()


HEAD: Final = ("id", "namespace", "created_at", "metadata")
"""Columns of `memories` that decide whether a memory is in a scope."""


def head_of(row: Row, *, where: str = "") -> Head:
    """Returns the fields of the memory in a row that a scope needs.

    Args:
        row: The columns of `HEAD` that the table has.
        where: The file, for messages.

    Raises:
        BadRecord: Its JSON cannot be read.
    """
    time = _time(row["created_at"])
    if _UNSET in str(row.get("metadata")):
        with _named(row, where):
            time = None if "created_at" in _parts(row)[2] else time
    return Head(str(row["id"]), str(row.get("namespace", DEFAULT_NAMESPACE)), time)


def _inside(value: Json) -> JsonObject:
    """Returns an object, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _time(value: object) -> str | None:
    """Returns a time as text; SQLite returns digits as a number."""
    return None if value is None else str(value)


def _extra(row: Row) -> dict[str, Json]:
    """Returns the columns that go into `extra`; sources that are no JSON list stay a text."""
    extra: dict[str, Json] = {}
    for name, usual in _PLAIN_EXTRA.items():
        value = row.get(name)
        if value is not None and value != usual and not isinstance(value, bytes):
            extra[name] = value
    sources = row.get("consolidated_from")
    if sources is not None:
        parsed = json_value(sources)
        extra["consolidated_from"] = parsed if isinstance(parsed, list) else str(sources)
    return extra


# ------------------------------------------------------------------ to a row


def row_of(memory: Memory) -> dict[str, Cell]:
    """Returns the row of a memory as this module writes it, for all known columns."""
    own = {name: value for name, value in memory.extra.items() if _is_column(name, value)}
    sources = own.pop("consolidated_from", None)
    row: dict[str, Json] = {
        "id": memory.id,
        "content": memory.content,
        "content_type": memory.type if memory.type in TYPES else "text",
        "tags": json_text(list(memory.tags)),
        "metadata": sorted_text({**memory.metadata, **_home(memory)}),
        "created_at": memory.created_at or _NO_TIME,
        "updated_at": memory.updated_at or memory.created_at or _NO_TIME,
        "importance_score": memory.importance,
        "access_count": memory.access_count,
        "last_accessed_at": memory.last_accessed,
        "consolidated_from": json_text(sources) if isinstance(sources, list) else sources,
        "namespace": memory.namespace,
    }
    return unpacked(row | {name: own.get(name, usual) for name, usual in _PLAIN_EXTRA.items()})


def sorted_text(value: JsonObject) -> str:
    """Returns JSON with sorted keys, since an object from the ledger has lost their order."""
    return json_text(json.loads(canonical(value))) if value else "{}"


def _is_column(name: str, value: Json) -> bool:
    """Returns whether a foreign field has a column that can hold its value."""
    if name == "consolidated_from":
        return isinstance(value, list)
    if name == "version":
        return isinstance(value, int) and not isinstance(value, bool)
    return name in _PLAIN_EXTRA and isinstance(value, str)


def _home(memory: Memory) -> dict[str, Json]:
    """Returns what has no column, under one key; empty for a memory of llm-memory's own."""
    inside: dict[str, Json] = {}
    if memory.type not in TYPES:
        inside["type"] = memory.type
    if memory.provenance is not Provenance.UNKNOWN:
        inside["provenance"] = memory.provenance.value
    if memory.pinned:
        inside["pinned"] = True
    unset: list[Json] = [n for n in ("created_at", "updated_at") if getattr(memory, n) is None]
    if unset:
        inside["unset"] = unset
    foreign = {name: v for name, v in memory.extra.items() if not _is_column(name, v)}
    if foreign:
        inside["extra"] = foreign
    return {HOME: inside} if inside else {}


def check(memory: Memory) -> None:
    """Refuses what a row cannot hold, or llm-memory does not read.

    Raises:
        BadRecord: A text cannot be stored in SQLite.
        StoreError: Its namespace is of another form.
    """
    if problem := unreadable(memory.content) or unreadable(memory.id):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in SQLite.")
    known = "rowid" in memory.native  # it came from here, whatever the form of its namespace
    if not known and not NAMESPACE.fullmatch(memory.namespace):
        raise StoreError(
            f"llm-memory has no place for the namespace of memory {memory.id!r}: "
            f"{memory.namespace!r} is not 1-128 characters of a-z, 0-9, _, / and -. "
            "Change it, or keep the memory in another store; nothing was written."
        )
