"""The tables of a Recall database, and a row as a memory and back: only what changed is written.

Each field of a memory is one or more columns. A field that did not change keeps the row's own
spelling (`NULL` or an empty project, a comma without a space in tags), so that writing back what
was read restores every column.

The tables of a Recall database: names, columns, and the schema of an empty one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import read_provenance, read_tags, read_time
from echoless.core.model import Json, JsonObject, Memory, Provenance, Vector
from echoless.core.sqlite import Cell, table_exists
from echoless.core.text import unreadable
from echoless.stores.column_values import cell_from_json, cell_to_json
from echoless.stores.expiration import promised, searched
from echoless.stores.scope import Head


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


_STATEMENTS: Final = tuple(
    Path(__file__).with_name("schema.sql").read_text("utf-8").strip().split("\n\n")
)
"""Statements that make an empty database; triggers keep the full text up to date."""

LINEAGE: Final = tuple(each for each in _STATEMENTS if "dedup_lineage" in each)
"""Statements that make the table of marks in a file of a version without it."""

VERSION: Final = 10
"""`user_version` of a database made here: the version that brought `dedup_lineage`."""


def make(db: sqlite3.Connection) -> None:
    """Creates the tables of an empty database."""
    for statement in _STATEMENTS:
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")


# ------------------------------------------------------------------ rows as memories


Row: TypeAlias = Mapping[str, Cell]

MALFORMED: Final = "malformed"
"""`extra["embedding"]` of a row whose vector does not have the length it states."""


def id_of(table: str, number: int) -> str:
    """Returns the id of a row, such as `breadcrumbs#12`."""
    return f"{table}#{number}"


def place_of(id_: str) -> tuple[str, int] | None:
    """Returns table and row number, or None for an id of another form."""
    table, _, number = id_.partition("#")
    if table not in TABLES or not number.isascii() or not number.isdecimal():
        return None
    return (table, int(number)) if str(int(number)) == number and int(number) < 2**63 else None


# ------------------------------------------------------------------ one field, some columns


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a memory, with its columns."""

    name: str
    columns: Callable[[RecallTable], tuple[str, ...]]
    read: Callable[[RecallTable, Row], object]
    write: Callable[[RecallTable, Memory], dict[str, Cell]]


def text_of(value: Cell) -> str:
    """Returns a value as text; bytes that are not UTF-8 become lone surrogates."""
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def content_of(table: RecallTable, row: Row) -> str:
    """Returns the parts of the text that are not empty, joined by a line feed."""
    return "\n".join(part for part in (text_of(row.get(p)) for p in table.parts) if part)


def _split(table: RecallTable, memory: Memory) -> dict[str, Cell]:
    """Returns the columns of a new text: the first line is the first part."""
    if len(table.parts) == 1:
        return {table.parts[0]: memory.content}
    first, second = table.parts
    head, _, tail = memory.content.partition("\n")
    if not head or not tail:
        head, tail = memory.content, ""
    return {first: head, second: tail}


def _time(value: Cell) -> str | None:
    """Returns a value as a time."""
    return (
        value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else read_time(value)
    )


def _one(
    name: str,
    read: Callable[[Cell], object],
    write: Callable[[Memory], Cell],
    column: str = "",
) -> _Field:
    """Returns a field in one column, which all tables call alike: by its name, or another one."""
    own = column or name
    return _Field(
        name, lambda _: (own,), lambda _, row: read(row.get(own)), lambda _, m: {own: write(m)}
    )


_FIELDS: Final = (
    _Field("content", lambda t: t.parts, content_of, _split),
    _one("namespace", text_of, lambda m: m.namespace or None, "project"),
    _Field(
        "created_at",
        lambda t: (t.time,),
        lambda t, row: _time(row.get(t.time)),
        lambda t, m: {t.time: m.created_at},
    ),
    _one("importance", lambda n: n if isinstance(n, int | float) else None, lambda m: m.importance),
    _one(
        "provenance",
        lambda cell: read_provenance(text_of(cell)),
        lambda m: None if m.provenance is Provenance.UNKNOWN else m.provenance.value,
    ),
    _Field(
        "tags",
        lambda t: ("tags",) if "tags" in t.secondary else (),
        lambda _, row: read_tags(text_of(row.get("tags"))),
        lambda _, m: {"tags": ", ".join(m.tags) or None},
    ),
    _one(
        "access_count",
        lambda n: n if isinstance(n, int) and n >= 0 else 0,
        lambda m: m.access_count,
    ),
    _one("last_accessed", _time, lambda m: m.last_accessed),
)


def _fillable(table: RecallTable) -> set[str]:
    """Returns columns left out of `extra` while empty, which a duplicate may then fill."""
    return {name for name in table.secondary if name != "tags"}


def _own_columns(table: RecallTable) -> set[str]:
    """Returns the columns that hold the id and the fields of a memory."""
    return {"id", *(c for f in _FIELDS for c in f.columns(table))}


# ------------------------------------------------------------------ reading


def memory_of(table: RecallTable, row: Row, embedding: Row | None) -> Memory:
    """Returns the memory in a row.

    Args:
        table: Its table.
        row: All its columns.
        embedding: Row of `embeddings` for the memory, or None.

    Raises:
        BadRecord: Its id is no number.
    """
    number = row["id"]
    if not isinstance(number, int):
        raise BadRecord(f"{table.name}: {number!r:.40} is no id of a row, which is a number")
    vectors, state = _vectors(embedding)
    own = _own_columns(table)
    fillable = _fillable(table)
    extra: dict[str, Json] = {"table": table.name, "embedding": state}
    for name, value in row.items():
        if name not in own and not (value is None and name in fillable):
            extra[name] = cell_to_json(value)
    memory = Memory(
        id=id_of(table.name, number),
        vectors=vectors,
        extra=extra,
        native={
            "row": {name: cell_to_json(value) for name, value in row.items() if name in own},
            "embedding": embedding and {n: cell_to_json(v) for n, v in embedding.items()},
        },
        **{f.name: f.read(table, row) for f in _FIELDS},  # type: ignore[arg-type]
    )
    return promised(searched(memory))


def head_of(table: RecallTable, number: int, row: Row) -> Head:
    """Returns id, namespace and time of the memory in a row.

    Args:
        table: Its table.
        number: Id of the row in its table.
        row: Columns of project and time.
    """
    return Head(id_of(table.name, number), text_of(row["project"]), _time(row[table.time]))


def _vectors(embedding: Row | None) -> tuple[tuple[Vector, ...], str | None]:
    """Returns the vectors in a row of `embeddings`, and the value of `extra["embedding"]`."""
    if embedding is None:
        return (), None
    data, dimensions = embedding.get("embedding"), embedding.get("dimensions")
    if not isinstance(data, bytes) or dimensions != len(data) / 4 or not data:
        return (), MALFORMED
    return (Vector(f"{text_of(embedding.get('model'))}/{dimensions}", data),), None


# ------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Written:
    """The new state of a row and of its row of `embeddings`.

    Attributes:
        row: Columns that differ from the present row; all known ones where there is none.
        embedding: The row of `embeddings` without its source, or None for none.
    """

    row: dict[str, Cell]
    embedding: dict[str, Cell] | None


def written(
    memory: Memory, table: RecallTable, names: Iterable[str], present: tuple[Row, Row | None] | None
) -> Written:
    """Returns what to write for a memory.

    Args:
        memory: The memory.
        table: Its table.
        names: Columns the table has in this file.
        present: The stored row and its embedding; None if the table has no such row.

    Raises:
        BadRecord: A text cannot be stored.
        StoreError: The table has no place for something; the message names the field.
    """
    present_columns = set(names)
    old: Row = present[0] if present else {}
    known = [present] if present else []
    if isinstance(saved := memory.native.get("row"), Mapping):
        vector = memory.native.get("embedding")
        known.append((_cells(saved), _cells(vector) if isinstance(vector, Mapping) else None))
    new: dict[str, Cell] = {}
    if (
        known and not present
    ):  # where a row is put back, all its present_columns count, empty ones too
        new.update({**known[0][0], **dict.fromkeys(_fillable(table))})
    for field in _FIELDS:
        new.update(_field(field, memory, table, [row for row, _ in known]))
    own = _own_columns(table) | {"table", "embedding"}
    new.update(dict.fromkeys(_fillable(table) & present_columns))
    new.update(
        (name, cell_from_json(value))
        for name, value in memory.extra.items()
        if name in present_columns - own
    )
    row = {
        name: value
        for name, value in new.items()
        if name in present_columns and (not present or old.get(name) != value)
    }
    made = Written(row, _embedding(memory, known))
    _check(memory, table, {**dict.fromkeys(present_columns), **old, **row}, made, fresh=not present)
    return made


def _cells(saved: JsonObject) -> Row:
    """Returns a row as `native` keeps it."""
    return {name: cell_from_json(value) for name, value in saved.items()}


def _field(field: _Field, memory: Memory, table: RecallTable, known: list[Row]) -> dict[str, Cell]:
    """Returns the columns of one field: as a known row spells it, else anew."""
    wanted = getattr(memory, field.name)
    for row in known:
        if all(name in row for name in field.columns(table)) and field.read(table, row) == wanted:
            return {name: row[name] for name in field.columns(table)}
    if field.name == "content" and (problem := unreadable(memory.content)):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in SQLite.")
    made = field.write(table, memory)
    return {name: made[name] for name in field.columns(table)}


def _embedding(memory: Memory, known: list[tuple[Row, Row | None]]) -> dict[str, Cell] | None:
    """Returns the row of `embeddings`: a known one with the same vector, else a new one."""
    for _, embedding in known:
        vectors, state = _vectors(embedding)
        if vectors == memory.vectors and state == memory.extra.get("embedding"):
            return None if embedding is None else dict(embedding)
    if not memory.vectors:
        return None
    vector = memory.vectors[0]
    model, _, _ = vector.model.rpartition("/")
    return {"model": model, "dimensions": vector.dimensions, "embedding": vector.data}


def _check(memory: Memory, table: RecallTable, row: Row, made: Written, *, fresh: bool) -> None:
    """Refuses a row that does not read back as the memory."""
    number = place_of(memory.id)
    assert number is not None
    back = memory_of(table, {**row, "id": number[1]}, made.embedding)
    for name in (*(f.name for f in _FIELDS), "vectors", "type", "metadata", "links", "pinned"):
        if getattr(back, name) != getattr(memory, name):
            _refuse(memory, name)
    if memory.updated_at is not None:
        _refuse(memory, "updated_at")
    if fresh:
        lost = [n for n, v in memory.extra.items() if n not in back.extra or back.extra[n] != v]
    else:
        keys = memory.extra.keys() | back.extra.keys()
        lost = [n for n in sorted(keys) if memory.extra.get(n) != back.extra.get(n)]
    if lost:
        _refuse(memory, f"extra.{lost[0]}")


def _refuse(memory: Memory, name: str) -> NoReturn:
    raise StoreError(
        f"{memory.id!r} cannot be written: a Recall table has no place for its {name}. "
        "Nothing was changed."
    )


# ------------------------------------------------------------------ statements


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Cell]) -> None:
    """Adds a row; columns left out take their defaults."""
    marks, values = _bound(row)
    names = ", ".join(quoted(name) for name in row)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join(marks)})", values)


def update(db: sqlite3.Connection, table: str, number: int, row: Mapping[str, Cell]) -> None:
    """Changes some columns of a row."""
    if not row:
        return
    marks, values = _bound(row)
    pairs = ", ".join(f"{quoted(n)} = {mark}" for n, mark in zip(row, marks, strict=True))
    db.execute(f"UPDATE {table} SET {pairs} WHERE id = ?", (*values, number))


def _bound(row: Mapping[str, Cell]) -> tuple[list[str], list[Cell]]:
    """Returns placeholders and values; a text that is not UTF-8 is written as its bytes."""
    marks: list[str] = []
    values: list[Cell] = []
    for value in row.values():
        if isinstance(value, str) and not value.isascii():
            marks.append("CAST(? AS TEXT)")
            values.append(value.encode("utf-8", "surrogateescape"))
        else:
            marks.append("?")
            values.append(value)
    return marks, values


def exchange_embedding(
    db: sqlite3.Connection, table: str, number: int, new: Mapping[str, Cell] | None
) -> None:
    """Replaces the vector of a row, under its old number if that is free, or removes it."""
    forget_embeddings(db, table, [number])
    if new is None:
        return
    taken = db.execute("SELECT 1 FROM embeddings WHERE id = ?", (new.get("id"),)).fetchone()
    row = {name: value for name, value in new.items() if name != "id" or not taken}
    insert(db, "embeddings", {"source_table": table, "source_id": number, **row})


def forget_embeddings(db: sqlite3.Connection, table: str, numbers: Sequence[int]) -> None:
    """Removes the vectors of some rows."""
    if columns(db, "embeddings"):
        db.executemany(
            "DELETE FROM embeddings WHERE source_table = ? AND source_id = ?",
            [(table, number) for number in numbers],
        )
