"""Layouts: which column of a table holds which field of a memory, and the URL that says so."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core import json_codec as codec
from echoless.core.errors import ForeignStore, StoreNotFound, UsageError
from echoless.core.json_codec import FIELDS
from echoless.core.model import Json
from echoless.stores.field_map import FieldMap, MappedUrl, presets
from echoless.stores.files import read_bytes
from echoless_stores.lancedb import cells, places
from echoless_stores.lancedb.places import Field, Value
from echoless_stores.vector_store import chosen

if TYPE_CHECKING:
    import pyarrow as pa

SLIDING_CONTEXT: Final = "sliding-context"
CONTEXT_TABLE: Final = "context_entries"
PLACEHOLDER: Final = "__schema__"
"""Id of the row a new sliding-context table is made from; it is no entry."""

OPENAI_MODELS: Final[Mapping[int, str]] = {
    1536: "text-embedding-3-small",
    3072: "text-embedding-3-large",
}
"""Model by the length of its vectors, as in sliding-context."""

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

_CREWAI: Final = "crewai"
_CREWAI_HOME: Final = {"namespace": "scope", "type": "source", "pinned": "private"}
"""Columns that make a namespace, by a field with the same type."""

_CONTEXT_TEXTS: Final = ("id", "summary", "sessionType", "channel")

_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "uuid", "_id"),
    "content": ("content", "text", "summary", "body", "document", "message"),
    "vectors": ("vector", "embedding", "vectors", "embeddings"),
    "created_at": ("created_at", "createdAt", "timestamp", "created"),
}
"""Usual names of columns; every other field has its own name. A map comes first."""

_TIMES: Final = ("created_at", "updated_at", "last_accessed")


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of all fields in a table.

    Attributes:
        name: `sliding-context`, a map in `maps.toml`, or `general`.
        profile: The profile a store of this layout proposes.
        places: Place of each field; every column of the table is in exactly one.
        placeholder: Id of a row that is no memory, or None.
    """

    name: str
    profile: str
    places: tuple[Field, ...]
    placeholder: str | None = None

    @property
    def id(self) -> Field:
        """Returns the place of the id."""
        return next(place for place in self.places if place.field == "id")

    @property
    def time(self) -> Field | None:
        """Returns the place of the time of creation."""
        return next((place for place in self.places if place.field == "created_at"), None)


def layout_of(schema: pa.Schema, table: str, columns: FieldMap, model: str) -> Columns:
    """Returns the layout of a table.

    Args:
        schema: Of the table.
        table: Its name, for messages.
        columns: The map a person gave; with it no layout of another program is tried.
        model: Name of the model that made the vectors; may be empty.

    Raises:
        UsageError: The map names a column that is not there or does not fit.
        ForeignStore: No column holds ids or texts.
    """
    if not columns and _is_sliding_context(schema):
        return _sliding_context(schema, model)
    program = "" if columns else _program(schema)
    made = []
    for part, name in _chosen(schema, table, presets().get(program, columns)).items():
        kind = schema.field(name).type
        make = _maker(part, kind)
        if make is None:
            raise UsageError(
                f"The column {name!r} holds {kind}, which cannot be the {part!r} of a "
                "memory. Map another column."
            )
        is_list = part == "vectors" and cells.is_list(kind)
        made.append(places.vector(name, model_namer(name, model)) if is_list else make(name))
    if set(own_schema().names) <= set(schema.names):
        made.append(places.others(OTHERS))
    if program == _CREWAI:
        made.append(places.shared_or_private("namespace", *_CREWAI_HOME.values()))
    return Columns(program or "general", "safe", (*made, *_remaining(schema, made)))


def _program(schema: pa.Schema) -> str:
    """Returns the program whose table has these columns, each of a type that fits; or empty."""
    kinds = {name: schema.field(name).type for name in schema.names}
    for program, known in presets().items():
        parts = {**known.columns, **(_CREWAI_HOME if program == _CREWAI else {})}
        fits = (name in kinds and _maker(part, kinds[name]) for part, name in parts.items())
        if "id" in parts and all(fits):
            return program
    return ""


def model_namer(column: str, model: str) -> Callable[[int], str]:
    """Returns what names a model by the number of components of its vectors."""
    return lambda length: model or OPENAI_MODELS.get(length) or f"{column}-{length}"


# ------------------------------------------------------------------ sliding-context


def _is_sliding_context(schema: pa.Schema) -> bool:
    """Checks for the columns every entry of sliding-context has; older tables lack others."""
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


def _sliding_context(schema: pa.Schema, model: str) -> Columns:
    """Returns the layout of a table of sliding-context."""
    real = cells.is_real(schema.field("timestamp").type)
    in_text = {
        "topics": places.coded("tags", "topics", _reader("topics"), empty=(), to=places.as_list),
        **{
            name: places.coded("extra", name, _reader(name), empty=None)
            for name in ("messageRange", "telegramMessageIds")
        },
    }
    texts = {name for name in schema.names if cells.is_text(schema.field(name).type)}
    made = (
        places.identifier("id"),
        places.valued("content", "summary", like=""),
        places.vector("vector", model_namer("vector", model)),
        places.joined("namespace", ("sessionType", "channel")),
        places.moment("created_at", "timestamp", "ms", real=real),
        *(place for name, place in in_text.items() if name in texts),
    )
    others = _remaining(schema, made)
    return Columns(SLIDING_CONTEXT, SLIDING_CONTEXT, (*made, *others), PLACEHOLDER)


def _reader(column: str) -> Callable[[Json], Value]:
    """Returns what reads the parsed JSON of a text column of an entry."""

    def read(parsed: Json) -> Value:
        match column, parsed:
            case "topics", list():
                return codec.read_tags(parsed)
            case "messageRange", dict():
                return parsed or None
            case "telegramMessageIds", list() if all(type(each) is int for each in parsed):
                return parsed or None
            case _:
                raise places.OddCell(f"{column!r} holds JSON of another type")

    return read


def context_schema(dimensions: int) -> pa.Schema:
    """Returns the schema of a new table of sliding-context entries.

    Args:
        dimensions: Length of the vectors, at least 1.
    """
    pa = cells.arrow()
    kinds = {
        "vector": pa.list_(pa.float32(), dimensions),
        "timestamp": pa.float64(),
        "hasToolCalls": pa.bool_(),
        "hasDecision": pa.bool_(),
    }
    return pa.schema([(name, kinds.get(name, pa.string())) for name in _CONTEXT_COLUMNS])


# ------------------------------------------------------------------ any other table


def _chosen(schema: pa.Schema, table: str, columns: FieldMap) -> dict[str, str]:
    """Returns the column of each field: from the map, else a usual name whose type fits."""
    chosen: dict[str, str] = {}
    for part in FIELDS:
        named = columns.column(part)
        if named is not None and named not in schema.names:
            raise UsageError(
                f"The table {table!r} has no column {named!r} for {part!r}. "
                f"It has: {', '.join(schema.names)}."
            )
        if named is not None:
            chosen[part] = named
    for part in FIELDS:
        for name in () if part in chosen else _USUAL.get(part, (part,)):
            free = name in schema.names and name not in chosen.values()
            if free and _maker(part, schema.field(name).type) is not None:
                chosen[part] = name
                break
    missing = [part for part in ("id", "content") if part not in chosen]
    if missing:
        raise ForeignStore(
            f"The table {table!r} has no column that is known to hold the {' or '.join(missing)} "
            f"of a memory. It has: {', '.join(schema.names)}. Say which one does, for example with "
            f"?map={missing[0]}:COLUMN in the URL."
        )
    return chosen


_IN_TEXT: Final[Mapping[str, Callable[[str], Field]]] = {
    **{n: partial(places.valued, n, like="") for n in ("content", "namespace", "type")},
    **{n: partial(places.valued, n, like=None) for n in ("provenance", *_TIMES)},
    **{n: partial(places.valued, n, like="[]") for n in ("tags", "links")},
    "id": places.identifier,
    "vectors": places.vectors_in_text,
    "metadata": lambda name: places.coded(
        "metadata", name, lambda parsed: codec.read_object(parsed, name), empty={}
    ),
}
"""Makers of the places of fields in a column of texts."""


def _maker(field: str, kind: pa.DataType) -> Callable[[str], Field] | None:
    """Returns what makes the place of a field in a column of a type; None if they do not fit."""
    if cells.is_text(kind):
        return _IN_TEXT.get(field)
    if field in _TIMES and cells.is_moment(kind):
        return lambda name: places.moment(field, name, kind.unit)
    whole, real, listed = cells.is_whole(kind), cells.is_real(kind), cells.is_list(kind)
    if field == "vectors" and listed and cells.is_real(kind.value_type):
        return lambda name: places.vector(name, model_namer(name, ""))
    if field == "id" and whole:
        return places.whole_id
    fitting = {
        "tags": listed and cells.is_text(kind.value_type),
        "pinned": cells.is_truth(kind),
        "access_count": whole,
        **dict.fromkeys(("importance", *_TIMES), whole or real),
    }
    like: Json = [] if listed else False if cells.is_truth(kind) else 0.0 if real else 0
    return partial(places.valued, field, like=like) if fitting.get(field) else None


def _remaining(schema: pa.Schema, made: Iterable[Field]) -> Iterator[Field]:
    """Yields a place in `extra` for each column that has no field."""
    known = {column for place in made for column in place.columns}
    for column in (schema.field(name) for name in schema.names if name not in known):
        if cells.is_vector(column.type):
            yield places.numbers("extra", column.name)
        elif cells.is_moment(column.type):
            yield places.moment("extra", column.name, column.type.unit)
        else:
            yield places.as_is("extra", column.name)


# ------------------------------------------------------------------ a table made by echoless

OTHERS: Final = "extra"
"""Column of echoless's own tables for all fields without a column, as JSON."""


def own_schema() -> pa.Schema:
    """Returns the schema of a new table: a column for every field."""
    pa = cells.arrow()
    kinds = {"importance": pa.float64(), "access_count": pa.int64(), "pinned": pa.bool_()}
    names = (*FIELDS, OTHERS)
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])


# ------------------------------------------------------------------ locations


_SUFFIX = ".lance"
_NEWEST: Final = 2**64 - 1
"""From which newer tables count down in the name of a manifest, so that the last comes first."""
_BASES: Final = 18
"""Field `base_paths` of a manifest (lance, `table.proto`): other places of files, servers too."""


def table_folder(location: MappedUrl) -> Path:
    """Returns the folder of a table."""
    return location.path / f"{location.part}{_SUFFIX}"


def tables_in(folder: Path) -> list[str]:
    """Returns the names of the tables in a folder, by its content alone, sorted."""
    if not folder.is_dir():
        return []
    paths = (each for each in folder.iterdir() if each.suffix == _SUFFIX)
    return sorted(
        each.name.removesuffix(_SUFFIX) for each in paths if (each / "_versions").is_dir()
    )


def refuse_elsewhere(folder: Path, version: int) -> None:
    """Refuses a version of a table whose manifest lets files lie outside of its folder.

    The library would read them, from another folder of the user or from a server.

    Raises:
        ForeignStore: It does, or the manifest cannot be read.
    """
    names = (f"{_NEWEST - version:020}", str(version))
    paths = [folder / "_versions" / f"{name}.manifest" for name in names]
    try:
        given = [read_bytes(path, linked=False) for path in paths if path.exists()]
        if given and not any(_BASES in set(_fields(_message(each))) for each in given):
            return
    except (ValueError, struct.error):
        pass
    raise ForeignStore(
        f"Version {version} of {folder} is no table of its own: its manifest names other places of "
        "its files, or cannot be read. Nothing was read there or changed. Make a whole copy of the "
        "table first, if you know who made it."
    )


def _message(manifest: bytes) -> bytes:
    """Returns the message of a manifest, without its length; raises ValueError for no manifest."""
    start, mark = struct.unpack("<Q4x4s", manifest[-16:])
    (size,) = struct.unpack_from("<I", manifest, start)
    message = manifest[start + 4 : start + 4 + size]
    if mark != b"LANC" or len(message) != size:
        raise ValueError("no manifest")
    return message


def _fields(message: bytes) -> Iterator[int]:
    """Yields the numbers of the fields of a message (protobuf.dev/programming-guides/encoding)."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        yield key >> 3
        kind = key & 7
        if kind in {1, 5}:
            at += 8 if kind == 1 else 4
        elif kind in {0, 2}:
            number, at = _varint(message, at)
            at += number if kind == 2 else 0
        else:
            raise ValueError("no field")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Returns the number at a place of a message, and the place behind it."""
    number = 0
    for place, byte in enumerate(message[at : at + 10]):  # one of 64 bits has ten bytes at most
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, at + place + 1
    raise ValueError("no number")


def existing(location: MappedUrl) -> MappedUrl:
    """Returns the location with the name of its table, which must exist.

    Raises:
        StoreNotFound: There is no such folder or table.
        ForeignStore: The folder holds no tables.
        UsageError: There are several tables and none was named.
    """
    folder = location.path
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise StoreNotFound(f"{folder} {what}. Check the path.")
    tables = tables_in(folder)
    if not tables:
        raise ForeignStore(f"{folder} holds no LanceDB table. Check the path.")
    table = chosen(
        "table",
        folder,
        tables,
        location.part or (CONTEXT_TABLE if CONTEXT_TABLE in tables else ""),
        lambda name: f"lancedb:///{replace(location, part=name)}",
    )
    return replace(location, part=table)
