"""The metadata keys of a collection, and one of its records as a memory and back.

Writing starts from the record as it was and changes only the keys whose fields changed, so that a
memory that is read and written again gives the same record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject, Memory, Vector, canonical
from echoless.core.text import unreadable
from echoless.stores import column_values as values
from echoless.stores.expiration import promised, searched, shown
from echoless.stores.field_map import PLAIN, FieldMap, presets
from echoless.stores.record_layout import MEM0, RecordLayout
from echoless.stores.scope import Head, no_owners, owned, owners_of

OWN: Final = "echoless."
"""Prefix of the metadata keys for fields the owner's layout has no key for."""

FIELDS: Final = tuple(name for name in PLAIN if name != "content")
"""Fields stored in metadata; with a map `content` may be one too."""

_METADATA: Final = f"{OWN}metadata"
_EXTRA: Final = f"{OWN}extra"
MODEL: Final = f"{OWN}vector_model"
_DOCUMENT: Final = "document"
_NATIVE: Final = "chroma"
_INTEGERS: Final = 2**63
_RESERVED: Final = ("#", "$", "chroma:", OWN)
_HEAD: Final = ("namespace", "created_at")


@dataclass(frozen=True, slots=True)
class CollectionLayout:
    """What is known of the records of a collection.

    Attributes:
        fields: The place of each field in the metadata.
        model: Name of the vectors' model where a record does not state one.
        profile: Name of the profile the store proposes.
    """

    fields: RecordLayout
    model: str
    profile: str = "safe"


def keys_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata key of each field: the owner's, or one of echoless."""
    return {name: columns.get(name, OWN + name) for name in FIELDS}


def general(field_map: FieldMap, model: str) -> CollectionLayout:
    """Returns the layout of any collection, with a map.

    Raises:
        UsageError: The map names a field that has a place of its own.
    """
    columns = field_map.only(("content", *FIELDS), "a Chroma collection").columns
    return CollectionLayout(RecordLayout(keys_of(columns), columns.get("content", "")), model)


def mem0(model: str) -> CollectionLayout:
    """Returns the layout of a collection of mem0."""
    return CollectionLayout(replace(MEM0, keys=keys_of(MEM0.keys)), model)


def is_mem0(field_map: FieldMap) -> bool:
    """Returns whether a map is that of mem0."""
    return field_map == presets()["mem0"]


def model_of(collection: str, configuration: Mapping[str, Json]) -> str:
    """Returns the name of the model that made a collection's vectors.

    Chroma keeps the name of its own embedding functions. Of any other nothing is known; then the
    collection gives the name, so that vectors of two collections are never compared.
    """
    used = configuration.get("embedding_function")
    if isinstance(used, Mapping) and used.get("type") == "known":
        settings = used.get("config")
        named = settings.get("model_name") if isinstance(settings, Mapping) else None
        return ":".join(str(each) for each in (used.get("name"), named) if each)
    return f"chroma:{collection}"


@dataclass(frozen=True, slots=True)
class Record:
    """The text and the metadata of one record of a collection.

    Attributes:
        document: The text, or None.
        metadata: Scalars and lists of scalars by key.
    """

    document: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


def native(record: Record) -> dict[str, Json]:
    """Returns the `native` value of a memory, which holds its record unchanged."""
    return {_NATIVE: {"document": record.document, "metadata": dict(record.metadata)}}


def from_native(memory: Memory) -> Record | None:
    """Returns the record a memory was read from, if it came from a collection."""
    saved = memory.native.get(_NATIVE)
    if not isinstance(saved, Mapping):
        return None
    document, metadata = saved.get("document"), saved.get("metadata")
    return Record(
        document if isinstance(document, str) else None,
        dict(metadata) if isinstance(metadata, Mapping) else {},
    )


# ------------------------------------------------------------------ reading


def decode(id_: str, record: Record, vector: bytes | None, layout: CollectionLayout) -> Memory:
    """Returns the memory of a record.

    A value that cannot be read as the field of its key stays in `metadata` as it is, and the field
    takes its default.
    """
    fields = layout.fields
    raw = shown(record.metadata, fields.expires)
    record = Record(record.document, raw)
    read, taken = fields.read(raw)
    extra = dict(values.as_object(raw.get(_EXTRA)))
    content = record.document or ""
    if fields.content and isinstance(text := raw.get(fields.content), str):
        content = text
        taken.add(fields.content)
        if record.document is not None:
            extra[_DOCUMENT] = record.document
    taken |= {_METADATA, _EXTRA, MODEL, fields.digest, *fields.derived}
    metadata = {key: value for key, value in raw.items() if key not in taken}
    metadata.update(values.as_object(raw.get(_METADATA)))
    model = raw.get(MODEL)
    model_name = model if isinstance(model, str) and model else layout.model
    memory = Memory(
        id=id_,
        content=content,
        metadata=metadata,
        extra=extra,
        vectors=() if vector is None else (Vector(model_name, vector),),
        native=native(record),
        **read,  # type: ignore[arg-type]
    )
    return owned(promised(searched(memory)), whole=not (fields.privacy or fields.owners))


def head(id_: str, raw: Mapping[str, Json], layout: CollectionLayout) -> Head:
    """Returns the id, namespace and time of a record's memory, from its metadata."""
    read, _ = layout.fields.read(raw, _HEAD)
    time = read.get("created_at")
    return Head(id_, str(read.get("namespace", "")), None if time is None else str(time))


# ------------------------------------------------------------------ writing


def encode(memory: Memory, base: Record, layout: CollectionLayout) -> Record:
    """Returns the record of a memory.

    Args:
        memory: As it has to read afterwards.
        base: The record it was, or an empty one.
        layout: Of the collection.

    Raises:
        BadRecord: The text cannot be stored.
        StoreError: The namespace names no owner, or a field has no place in the form of its key.
    """
    old = decode(memory.id, base, None, layout)
    problem = unreadable(memory.id) or (
        unreadable(memory.content) if memory.content != old.content else None
    )
    if problem:
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in Chroma.")
    fields = layout.fields
    raw = shown(base.metadata, fields.expires)
    if fields.owners and memory.namespace != old.namespace and not owners_of(memory.namespace):
        raise StoreError(no_owners(memory))
    fields.change(raw, old, memory)
    _write_metadata(raw, old, memory, fields.taken)
    if not fields.content:
        _write_object(raw, _EXTRA, memory.extra)
        return Record(base.document if memory.content == old.content else memory.content, raw)
    _write_object(raw, _EXTRA, {k: v for k, v in memory.extra.items() if k != _DOCUMENT})
    if memory.content != old.content or fields.content not in raw:
        raw[fields.content] = memory.content
    document = memory.extra.get(_DOCUMENT)
    return Record(document if isinstance(document, str) else None, raw)


def _write_metadata(
    raw: dict[str, Json], old: Memory, memory: Memory, taken: frozenset[str]
) -> None:
    """Writes the metadata keys that changed, as JSON where Chroma or the layout has no place."""
    if canonical(memory.metadata) == canonical(old.metadata):
        return
    before = dict(raw)
    for key in old.metadata:
        if not (key in taken and key in memory.metadata):
            raw.pop(key, None)
    overflow: dict[str, Json] = {}
    for key, value in memory.metadata.items():
        if key in before and canonical(before[key]) == canonical(value) and key in old.metadata:
            raw[key] = before[key]
        elif key not in taken and fits(key, value):
            raw[key] = value
        else:
            overflow[key] = value
    _write_object(raw, _METADATA, overflow)


def _write_object(raw: dict[str, Json], key: str, value: JsonObject) -> None:
    """Writes an object as JSON; a text that already holds the same object stays."""
    if canonical(values.as_object(raw.get(key))) == canonical(value):
        return
    values.set_or_remove(raw, key, json_text(value) if value else None)


def fits(key: str, value: Json) -> bool:
    """Checks whether Chroma returns a metadata value exactly as it was written."""
    if not key or key.startswith(_RESERVED) or unreadable(key):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        kinds = {type(each) for each in value}
        return len(kinds) == 1 and all(_scalar(each) for each in value)
    return _scalar(value)


def _scalar(value: Json) -> bool:
    """Checks whether Chroma returns a single value exactly; it loses the sign of -0.0."""
    match value:
        case bool():
            return True
        case str():
            return unreadable(value) is None
        case int():
            return -_INTEGERS <= value < _INTEGERS
        case float():
            return math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)
        case _:
            return False
