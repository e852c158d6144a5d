"""The tables of a Recall database, and a row of them as a memory and back.

The text of a memory is one column or two; a row keeps its own spelling where its meaning did not
change (`NULL` or an empty project, a comma without a space in tags).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.json_codec import read_provenance, read_tags, read_time
from echoless.core.model import Json, Memory, Provenance, Vector
from echoless.core.sqlite import Cell
from echoless.stores.column_values import cell_from_json, cell_to_json
from echoless.stores.expiration import promised, searched
from echoless_programs.stores.program_file import Row, packed, text_of


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

    @property
    def own(self) -> frozenset[str]:
        """Returns the columns that hold the id and the fields of a memory."""
        tags = {"tags"} & {*self.secondary}
        return frozenset({"id", *self.parts, self.time, *_PLAIN, *tags})

    @property
    def fillable(self) -> frozenset[str]:
        """Returns columns left out of `extra` while empty, which a duplicate may then fill."""
        return frozenset(self.secondary) - {"tags"}

    def content(self, row: Row) -> str:
        """Returns the parts of the text that are not empty, joined by a line feed."""
        return "\n".join(part for part in (text_of(row.get(p)) for p in self.parts) if part)


_PLAIN: Final = ("project", "importance", "provenance", "access_count", "last_accessed")
"""Columns of fields that all tables call alike."""

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

STATEMENTS: Final = tuple(
    Path(__file__).with_name("schema.sql").read_text("utf-8").strip().split("\n\n")
)
"""Statements that make an empty database; triggers keep the full text up to date."""

LINEAGE: Final = tuple(each for each in STATEMENTS if "dedup_lineage" in each)
"""Statements that make the table of marks in a file of a version without it."""

VERSION: Final = 10
"""`user_version` of a database made here: the version that brought `dedup_lineage`."""

MALFORMED: Final = "malformed"
"""`extra["embedding"]` of a row whose vector does not have the length it states."""


def id_of(table: str, number: Cell) -> str:
    """Returns the id of a row, such as `breadcrumbs#12`.

    Raises:
        BadRecord: Its number is none.
    """
    if not isinstance(number, int):
        raise BadRecord(f"{table}: {number!r:.40} is no id of a row, which is a number")
    return f"{table}#{number}"


def place_of(id_: str) -> tuple[str, int] | None:
    """Returns table and row number, or None for an id of another form."""
    table, _, number = id_.partition("#")
    digits = number.removeprefix("-")
    if table not in TABLES or not digits.isascii() or not digits.isdecimal():
        return None
    place = int(number)
    return (table, place) if str(place) == number and -(2**63) <= place < 2**63 else None


def time_of(value: Cell) -> str | None:
    """Returns a value as a time."""
    return text_of(value) if isinstance(value, bytes) else read_time(value)


def memory_of(table: RecallTable, row: Row, embedding: Row | None = None) -> Memory:
    """Returns the memory in a row.

    Args:
        table: Its table.
        row: All its columns.
        embedding: Row of `embeddings` for the memory, or None.

    Raises:
        BadRecord: Its id is no number.
    """
    importance, count = row.get("importance"), row.get("access_count")
    vectors, state = vectors_of(embedding)
    extra: dict[str, Json] = {"table": table.name, "embedding": state}
    for name, value in row.items():
        if name not in table.own and not (value is None and name in table.fillable):
            extra[name] = cell_to_json(value)
    memory = Memory(
        id=id_of(table.name, row.get("id")),
        content=table.content(row),
        namespace=text_of(row.get("project")),
        tags=read_tags(text_of(row.get("tags"))),
        importance=importance if isinstance(importance, int | float) else None,
        access_count=count if isinstance(count, int) and count >= 0 else 0,
        created_at=time_of(row.get(table.time)),
        last_accessed=time_of(row.get("last_accessed")),
        provenance=read_provenance(text_of(row.get("provenance"))),
        vectors=vectors,
        extra=extra,
        native={
            "row": packed({name: value for name, value in row.items() if name in table.own}),
            "embedding": embedding and packed(embedding),
        },
    )
    return promised(searched(memory))


def vectors_of(embedding: Row | None) -> tuple[tuple[Vector, ...], str | None]:
    """Returns the vectors in a row of `embeddings`, and the value of `extra["embedding"]`."""
    if not embedding:
        return (), None
    data, dimensions = embedding.get("embedding"), embedding.get("dimensions")
    if not isinstance(data, bytes) or dimensions != len(data) / 4 or not data:
        return (), MALFORMED
    return (Vector(f"{text_of(embedding.get('model'))}/{dimensions}", data),), None


def embedding_of(memory: Memory) -> dict[str, Cell]:
    """Returns the row of `embeddings` of a memory as it is written anew; empty without a vector."""
    for vector in memory.vectors[:1]:
        model, _, _ = vector.model.rpartition("/")
        return {"model": model, "dimensions": vector.dimensions, "embedding": vector.data}
    return {}


def row_of(table: RecallTable, memory: Memory, names: Collection[str]) -> dict[str, Cell]:
    """Returns the row of a memory as it is written anew, without its number.

    Args:
        table: Its table.
        memory: The memory; the first line of a new text is the first part.
        names: Columns the table has in this file.
    """
    head, _, tail = memory.content.partition("\n")
    split = len(table.parts) > 1 and head and tail
    parts = (head, tail) if split else (memory.content, "")
    own: dict[str, Cell] = {
        **dict(zip(table.parts, parts, strict=False)),
        "project": memory.namespace or None,
        table.time: memory.created_at,
        "importance": memory.importance,
        "provenance": None if memory.provenance is Provenance.UNKNOWN else memory.provenance.value,
        "tags": ", ".join(memory.tags) or None,
        "access_count": memory.access_count,
        "last_accessed": memory.last_accessed,
    }
    free = {*names} - table.own - {"table", "embedding"}
    more = {name: cell_from_json(memory.extra[name]) for name in free & memory.extra.keys()}
    row = {**dict.fromkeys(table.fillable), **more}
    row |= {name: value for name, value in own.items() if name in table.own}
    return {name: value for name, value in row.items() if name in names}
