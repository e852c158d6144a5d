"""Layouts: which column of a table is which field of a memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from echoless import codec
from echoless.codec import FIELDS
from echoless.errors import ForeignStore, UsageError
from echoless.model import Json
from echoless.stores.field_map import FieldMap
from echoless.stores.lancedb import cells, moments, places
from echoless.stores.lancedb.places import Place, Value

if TYPE_CHECKING:
    import pyarrow as pa

SLIDING_CONTEXT: Final = "sliding-context"
CONTEXT_TABLE: Final = "context_entries"
PLACEHOLDER: Final = "__schema__"
"""Id of the row a fresh sliding-context table is made from; no entry."""

OPENAI_MODELS: Final[Mapping[int, str]] = {
    1536: "text-embedding-3-small",
    3072: "text-embedding-3-large",
}
"""Model by the length of its vectors, as sliding-context knows them."""

_CONTEXT_COLUMNS: Final = (
    "id",
    "summary",
    "vector",
    "sessionKey",
    "sessionType",
    "channel",
    "timestamp",
    "hasToolCalls",
    "hasDecision",
    "topics",
    "sessionFile",
    "messageRange",
    "telegramMessageIds",
)

_CONTEXT_TEXTS: Final = ("id", "summary", "sessionType", "channel")

_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "uuid", "_id"),
    "content": ("content", "text", "summary", "body", "document", "message"),
    "vectors": ("vector", "embedding", "vectors", "embeddings"),
    "created_at": ("created_at", "createdAt", "timestamp", "created"),
}
"""What columns are usually called; every other field goes by its own name. A map comes first."""

_TIMES: Final = ("created_at", "updated_at", "last_accessed")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is read.

    Attributes:
        name: `sliding-context`, or `general`.
        profile: The profile a store of this layout proposes.
        places: Where each field lies; every column of the table is in exactly one.
        placeholder: Id of a row that is no memory, or None.
    """

    name: str
    profile: str
    places: tuple[Place, ...]
    placeholder: str | None = None

    @property
    def id(self) -> Place:
        """Where the id lies."""
        return next(place for place in self.places if place.field == "id")

    @property
    def time(self) -> Place | None:
        """Where the time of creation lies."""
        return next((place for place in self.places if place.field == "created_at"), None)


def layout_of(schema: pa.Schema, table: str, columns: FieldMap, model: str | None) -> Layout:
    """The layout of a table.

    Args:
        schema: Of the table.
        table: Its name, for messages.
        columns: What a person said about the columns; with it nothing is taken for granted.
        model: Name of the model that made the vectors, or None.

    Raises:
        UsageError: The map names a column that is not there or does not fit.
        ForeignStore: No column holds ids or texts.
    """
    if not columns and _is_sliding_context(schema):
        return _sliding_context(schema, model)
    return _general(schema, table, columns, model)


def model_namer(column: str, model: str | None) -> Callable[[int], str]:
    """Names a model by the number of components of its vectors."""
    return lambda length: model or OPENAI_MODELS.get(length) or f"{column}-{length}"


# ------------------------------------------------------------------ sliding-context


def _is_sliding_context(schema: pa.Schema) -> bool:
    """The columns without which there is no entry; older tables may lack others."""
    kinds = {name: schema.field(name).type for name in schema.names}
    vector, time = kinds.get("vector"), kinds.get("timestamp")
    return (
        all(name in kinds and cells.is_text(kinds[name]) for name in _CONTEXT_TEXTS)
        and vector is not None
        and cells.is_list(vector)
        and cells.is_real(vector.value_type)
        and time is not None
        and (cells.is_real(time) or cells.is_whole(time))
    )


def _sliding_context(schema: pa.Schema, model: str | None) -> Layout:
    real = cells.is_real(schema.field("timestamp").type)
    in_text = {
        "topics": places.coded("tags", "topics", _strings, empty=(), to=places.as_list),
        "messageRange": places.coded("extra", "messageRange", _object, empty=None),
        "telegramMessageIds": places.coded(
            "extra", "telegramMessageIds", _whole_numbers, empty=None
        ),
    }
    there = {name for name in schema.names if cells.is_text(schema.field(name).type)}
    found = (
        places.text("id", "id"),
        places.text("content", "summary"),
        places.vector("vector", model_namer("vector", model)),
        places.joined("namespace", ("sessionType", "channel")),
        moments.moment("created_at", "timestamp", "ms", real=real),
        *(place for name, place in in_text.items() if name in there),
    )
    known = {column for place in found for column in place.columns}
    others = (_extra(schema.field(name)) for name in schema.names if name not in known)
    return Layout(SLIDING_CONTEXT, SLIDING_CONTEXT, (*found, *others), PLACEHOLDER)


def _strings(found: Json) -> Value:
    if not isinstance(found, list):
        raise places.Broken("it is no list")
    return codec.read_tags(found)


def _object(found: Json) -> Value:
    if not isinstance(found, dict):
        raise places.Broken("it is no object")
    return found or None


def _whole_numbers(found: Json) -> Value:
    if not isinstance(found, list) or any(type(each) is not int for each in found):
        raise places.Broken("it is no list of whole numbers")
    return found or None


def context_schema(dimensions: int) -> pa.Schema:
    """The schema of a new table of sliding-context entries.

    Args:
        dimensions: Length of the vectors, at least 1.
    """
    import pyarrow as pa  # noqa: PLC0415 - the library is optional

    kinds = {
        "vector": pa.list_(pa.float32(), dimensions),
        "timestamp": pa.float64(),
        "hasToolCalls": pa.bool_(),
        "hasDecision": pa.bool_(),
    }
    return pa.schema([(name, kinds.get(name, pa.string())) for name in _CONTEXT_COLUMNS])


# ------------------------------------------------------------------ any other table


def _general(schema: pa.Schema, table: str, columns: FieldMap, model: str | None) -> Layout:
    chosen = _chosen(schema, table, columns)
    found = [_placed(field, schema.field(column), model) for field, column in chosen.items()]
    if set(own_schema().names) <= set(schema.names):
        found.append(places.others(OTHERS))
    known = {column for place in found for column in place.columns}
    others = (_extra(schema.field(name)) for name in schema.names if name not in known)
    return Layout("general", "safe", (*found, *others))


def _chosen(schema: pa.Schema, table: str, columns: FieldMap) -> dict[str, str]:
    """Column by field: as told, else by the usual names, as long as their types fit."""
    chosen: dict[str, str] = {}
    for field in FIELDS:
        named = columns.column(field)
        if named is not None and named not in schema.names:
            raise UsageError(
                f"The table {table!r} has no column {named!r} for {field!r}. "
                f"It has: {', '.join(schema.names)}."
            )
        if named is not None:
            chosen[field] = named
    for field in FIELDS:
        for name in () if field in chosen else _USUAL.get(field, (field,)):
            free = name in schema.names and name not in chosen.values()
            if free and _codec(field, schema.field(name).type) is not None:
                chosen[field] = name
                break
    missing = [field for field in ("id", "content") if field not in chosen]
    if missing:
        raise ForeignStore(
            f"The table {table!r} has no column that is known to hold the {' or '.join(missing)} "
            f"of a memory. It has: {', '.join(schema.names)}. Say which one does, for example with "
            f"?map={missing[0]}:COLUMN in the URL."
        )
    return chosen


def _placed(field: str, column: pa.Field, model: str | None) -> Place:
    made = _codec(field, column.type)
    if made is None:
        raise UsageError(
            f"The column {column.name!r} holds {column.type}, which cannot be the {field!r} of a "
            "memory. Map another column."
        )
    if field == "vectors" and cells.is_list(column.type):
        return places.vector(column.name, model_namer(column.name, model))
    return made(column.name)


def _codec(field: str, kind: pa.DataType) -> Callable[[str], Place] | None:
    """What makes the place of a field in a column of a type; None where they do not fit."""
    if field == "vectors" and cells.is_list(kind):
        real = cells.is_real(kind.value_type)
        return (lambda name: places.vector(name, model_namer(name, None))) if real else None
    if field in _TIMES:
        return _time(field, kind)
    if field == "tags" and cells.is_list(kind) and cells.is_text(kind.value_type):
        return functools.partial(places.listed, "tags")
    if cells.is_text(kind):
        return _in_text(field)
    if field == "importance" and (cells.is_whole(kind) or cells.is_real(kind)):
        return places.importance
    if field == "pinned" and cells.is_truth(kind):
        return functools.partial(places.truth, "pinned")
    if field in {"id", "access_count"} and cells.is_whole(kind):
        return places.whole_id if field == "id" else functools.partial(places.count, field)
    return None


def _in_text(field: str) -> Callable[[str], Place] | None:
    made: dict[str, Callable[[str], Place]] = {
        **{name: functools.partial(places.text, name) for name in ("id", "content", "namespace")},
        "type": functools.partial(places.text, "type"),
        "provenance": places.provenance,
        "tags": places.tags_in_text,
        "links": places.links,
        "vectors": places.vectors_in_text,
        "metadata": lambda name: places.coded(
            "metadata", name, lambda found: codec.read_object(found, name), empty={}
        ),
    }
    return made.get(field)


def _time(field: str, kind: pa.DataType) -> Callable[[str], Place] | None:
    if cells.is_moment(kind):
        return lambda name: moments.moment(field, name, kind.unit)
    if cells.is_whole(kind) or cells.is_real(kind):
        return lambda name: moments.digits(field, name, real=cells.is_real(kind))
    return functools.partial(moments.time, field) if cells.is_text(kind) else None


def _extra(column: pa.Field) -> Place:
    if cells.is_vector(column.type):
        return places.numbers("extra", column.name)
    if cells.is_moment(column.type):
        return moments.moment("extra", column.name, column.type.unit)
    return places.as_is("extra", column.name)


# ------------------------------------------------------------------ a table of our own

OTHERS: Final = "extra"
"""Column of a table of ours that holds, as JSON, what has no column of its own."""


def own_schema() -> pa.Schema:
    """The schema of a new table: a column for every field."""
    import pyarrow as pa  # noqa: PLC0415 - the library is optional

    kinds = {"importance": pa.float64(), "access_count": pa.int64(), "pinned": pa.bool_()}
    names = (*FIELDS, OTHERS)
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])
