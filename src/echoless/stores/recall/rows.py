"""A row of a Recall table as a memory, and back: only what changed is written.

Each field of a memory is one or more columns. A field that is as the row has it keeps the row's own
spelling (`NULL` or an empty project, a comma without a space in tags), so that putting back what
was read restores every column.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from echoless.codec import read_provenance, read_tags, read_time
from echoless.errors import BadRecord, StoreError
from echoless.model import Json, JsonObject, Memory, Provenance, Vector
from echoless.stores.recall.layout import TABLES, Table
from echoless.stores.scope import Head
from echoless.text import unreadable

Value: TypeAlias = "int | float | str | bytes | None"
Row: TypeAlias = Mapping[str, Value]

MALFORMED: Final = "malformed"
"""`extra["embedding"]` of a row whose vector has another length than it says."""

_BYTES: Final = "$bytes"


def id_of(table: str, number: int) -> str:
    """`breadcrumbs#12`."""
    return f"{table}#{number}"


def place_of(id_: str) -> tuple[str, int] | None:
    """Table and row number, or None for an id that is none of ours."""
    table, _, number = id_.partition("#")
    if table not in TABLES or not number.isascii() or not number.isdecimal():
        return None
    return (table, int(number)) if str(int(number)) == number and int(number) < 2**63 else None


# ------------------------------------------------------------------ one field, some columns


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    columns: Callable[[Table], tuple[str, ...]]
    read: Callable[[Table, Row], object]
    write: Callable[[Table, Memory], dict[str, Value]]


def _column(name: str) -> Callable[[Table], tuple[str, ...]]:
    return lambda _table: (name,)


def text_of(value: Value) -> str:
    """A text column; bytes that are no UTF-8 become lone surrogates, which nothing compares."""
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def content_of(table: Table, row: Row) -> str:
    """The parts of the text that say something, joined by a line feed."""
    return "\n".join(part for part in (text_of(row.get(p)) for p in table.parts) if part)


def _split(table: Table, memory: Memory) -> dict[str, Value]:
    """A new text: the first line is the first part."""
    if len(table.parts) == 1:
        return {table.parts[0]: memory.content}
    first, second = table.parts
    head, _, tail = memory.content.partition("\n")
    if not head or not tail:
        head, tail = memory.content, ""
    return {first: head, second: tail}


def _time(value: Value) -> str | None:
    return (
        value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else read_time(value)
    )


def _number(value: Value) -> float | None:
    return value if isinstance(value, int | float) else None


def _count(value: Value) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _tags(value: Value) -> tuple[str, ...]:
    return read_tags(text_of(value))


_FIELDS: Final = (
    _Field("content", lambda t: t.parts, content_of, _split),
    _Field(
        "namespace",
        _column("project"),
        lambda _, row: text_of(row.get("project")),
        lambda _, m: {"project": m.namespace or None},
    ),
    _Field(
        "created_at",
        lambda t: (t.time,),
        lambda t, row: _time(row.get(t.time)),
        lambda t, m: {t.time: m.created_at},
    ),
    _Field(
        "importance",
        _column("importance"),
        lambda _, row: _number(row.get("importance")),
        lambda _, m: {"importance": m.importance},
    ),
    _Field(
        "provenance",
        _column("provenance"),
        lambda _, row: read_provenance(text_of(row.get("provenance"))),
        lambda _, m: {
            "provenance": None if m.provenance is Provenance.UNKNOWN else m.provenance.value
        },
    ),
    _Field(
        "tags",
        lambda t: ("tags",) if "tags" in t.secondary else (),
        lambda _, row: _tags(row.get("tags")),
        lambda _, m: {"tags": ", ".join(m.tags) or None},
    ),
    _Field(
        "access_count",
        _column("access_count"),
        lambda _, row: _count(row.get("access_count")),
        lambda _, m: {"access_count": m.access_count},
    ),
    _Field(
        "last_accessed",
        _column("last_accessed"),
        lambda _, row: _time(row.get("last_accessed")),
        lambda _, m: {"last_accessed": m.last_accessed},
    ),
)


def _fillable(table: Table) -> set[str]:
    """Columns left out of `extra` while empty, so that a survivor takes them from a duplicate."""
    return {name for name in table.secondary if name != "tags"}


def _own_columns(table: Table) -> set[str]:
    return {"id", *(c for f in _FIELDS for c in f.columns(table))}


# ------------------------------------------------------------------ reading


def memory_of(table: Table, row: Row, embedding: Row | None) -> Memory:
    """The memory a row holds.

    Args:
        table: Its table.
        row: All its columns.
        embedding: Its row of `embeddings`, if it has one.

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
            extra[name] = coded(value)
    return Memory(
        id=id_of(table.name, number),
        vectors=vectors,
        extra=extra,
        native={
            "row": {name: coded(value) for name, value in row.items() if name in own},
            "embedding": None if embedding is None else _coded_row(embedding),
        },
        **{f.name: f.read(table, row) for f in _FIELDS},  # type: ignore[arg-type]
    )


def head_of(table: Table, number: int, row: Row) -> Head:
    """What a scope asks of the memory in a row.

    Args:
        table: Its table.
        number: Its id there.
        row: Its project and its time.
    """
    return Head(id_of(table.name, number), text_of(row["project"]), _time(row[table.time]))


def _vectors(embedding: Row | None) -> tuple[tuple[Vector, ...], str | None]:
    if embedding is None:
        return (), None
    data, dimensions = embedding.get("embedding"), embedding.get("dimensions")
    if not isinstance(data, bytes) or dimensions != len(data) / 4 or not data:
        return (), MALFORMED
    return (Vector(f"{text_of(embedding.get('model'))}/{dimensions}", data),), None


def coded(value: Value) -> Json:
    """A value as JSON."""
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    return value


def _coded_row(row: Row) -> dict[str, Json]:
    return {name: coded(value) for name, value in row.items()}


def decoded(value: Json) -> Value:
    """What `coded` was given."""
    if isinstance(value, Mapping):
        return base64.b64decode(str(value[_BYTES]))
    assert not isinstance(value, list | tuple)
    return value  # type: ignore[return-value]


# ------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Written:
    """What a row and its row of `embeddings` have to become.

    Attributes:
        row: Columns that differ from the present row; all known ones where there is none.
        embedding: The row of `embeddings` without its source, or None for none.
    """

    row: dict[str, Value]
    embedding: dict[str, Value] | None


def written(
    memory: Memory, table: Table, names: Iterable[str], present: tuple[Row, Row | None] | None
) -> Written:
    """How to write a memory.

    Args:
        memory: The memory.
        table: Its table.
        names: Columns the table has in this file.
        present: The row and its embedding as they are, if there is such a row.

    Raises:
        BadRecord: A text cannot be stored.
        StoreError: The table has no place for something; the message names the field.
    """
    there = set(names)
    old, old_embedding = present if present else ({}, None)
    known = [(old, old_embedding)] if present else []
    if isinstance(saved := memory.native.get("row"), Mapping):
        known.append(_saved(saved, memory.native.get("embedding")))
    new: dict[str, Value] = {} if present else _wide(table, known)
    for field in _FIELDS:
        new.update(_field(field, memory, table, [row for row, _ in known]))
    new.update(_others(memory, table, there))
    row = {
        name: value
        for name, value in new.items()
        if name in there and (not present or not _equal(old.get(name), value))
    }
    made = Written(row, _embedding(memory, known))
    _check(memory, table, {**dict.fromkeys(there), **old, **row}, made, fresh=not present)
    return made


def _saved(row: JsonObject, embedding: Json) -> tuple[Row, Row | None]:
    told = {name: decoded(value) for name, value in row.items()}
    if not isinstance(embedding, Mapping):
        return told, None
    return told, {name: decoded(value) for name, value in embedding.items()}


def _wide(table: Table, known: list[tuple[Row, Row | None]]) -> dict[str, Value]:
    """Where a row is put back, all its columns count, empty ones too."""
    if not known:
        return {}
    return {**dict(known[0][0]), **dict.fromkeys(_fillable(table))}


def _field(field: _Field, memory: Memory, table: Table, known: list[Row]) -> dict[str, Value]:
    """The columns of one field: as some known row spells it, else anew."""
    wanted = getattr(memory, field.name)
    for row in known:
        if all(name in row for name in field.columns(table)) and field.read(table, row) == wanted:
            return {name: row[name] for name in field.columns(table)}
    if field.name == "content" and (problem := unreadable(memory.content)):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in SQLite.")
    made = field.write(table, memory)
    return {name: made[name] for name in field.columns(table)}


def _others(memory: Memory, table: Table, there: set[str]) -> dict[str, Value]:
    own = _own_columns(table) | {"table", "embedding"}
    empty: dict[str, Value] = dict.fromkeys(_fillable(table) & there)
    given = {n: decoded(v) for n, v in memory.extra.items() if n in there and n not in own}
    return empty | given


def _embedding(memory: Memory, known: list[tuple[Row, Row | None]]) -> dict[str, Value] | None:
    for _, embedding in known:
        vectors, state = _vectors(embedding)
        if vectors == memory.vectors and state == memory.extra.get("embedding"):
            return None if embedding is None else dict(embedding)
    if not memory.vectors:
        return None
    vector = memory.vectors[0]
    model, _, _ = vector.model.rpartition("/")
    return {"model": model, "dimensions": vector.dimensions, "embedding": vector.data}


def _equal(one: Value, other: Value) -> bool:
    return one == other and isinstance(one, bytes) == isinstance(other, bytes)


def _check(memory: Memory, table: Table, row: Row, made: Written, *, fresh: bool) -> None:
    """Refuse what would not come back as it is."""
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


def _refuse(memory: Memory, name: str) -> None:
    raise StoreError(
        f"{memory.id!r} cannot be written: a Recall table has no place for its {name}. "
        "Nothing was changed."
    )
