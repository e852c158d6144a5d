"""The metadata keys of a collection, and one of its records as a memory and back.

Writing starts from the record as it was and changes only the keys whose fields changed, so that a
memory that is read and written again gives the same record.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject, Memory, Vector, canonical
from echoless.core.text import unreadable
from echoless.stores import column_values as values
from echoless.stores.expiration import promised, shown
from echoless.stores.field_map import PLAIN, PRESETS, FieldMap
from echoless.stores.live.mem0 import SCOPES, namespace_of, no_owners, owners_of
from echoless.stores.scope import Head, owned

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
_CLASSES: Final = ("public", "private")


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of each field in the records of a collection.

    Attributes:
        profile: Name of the profile the store proposes.
        map: Metadata key by field.
        model: Name of the vectors' model where a record does not state one.
        privacy: Key of a boolean that splits memories into the namespaces `private` and `public`;
            empty where there is none.
        link: A link in the owner's form, with empty values.
        owners: Keys whose values together are the namespace; empty where it is one key.
        digest: Key of the MD5 of the text, which follows the text; empty for none.
        derived: Keys made of the text by the owner, and dropped when the text changes.
        expires: Key of the day from which on the owner hides a record; empty for none.
    """

    profile: str
    map: FieldMap
    model: str
    privacy: str = ""
    link: JsonObject | None = None
    owners: tuple[str, ...] = ()
    digest: str = ""
    derived: tuple[str, ...] = ()
    expires: str = ""

    def key(self, name: str) -> str:
        """Returns the metadata key of a field."""
        return self.map.columns.get(name, OWN + name)

    @property
    def keys(self) -> frozenset[str]:
        """Returns the keys that hold fields."""
        fields = (*map(self.key, FIELDS), *self.map.columns.values())
        own = (self.privacy, *self.owners, self.digest, *self.derived)
        return frozenset({*fields, *own} - {""})


def general(field_map: FieldMap, model: str) -> Layout:
    """Returns the layout of any collection, with a map.

    Raises:
        UsageError: The map names a field that has a place of its own.
    """
    return Layout("safe", field_map.only(("content", *FIELDS), "a Chroma collection"), model)


def mem0(model: str) -> Layout:
    """Returns the layout of a collection of mem0 2.2 (`mem0/memory/main.py`)."""
    return Layout(
        "safe",
        FieldMap({k: v for k, v in PRESETS["mem0"].columns.items() if k != "namespace"}),
        model,
        owners=SCOPES,
        digest="hash",
        derived=("text_lemmatized",),
        expires="expiration_date",
    )


def is_mem0(field_map: FieldMap) -> bool:
    """Returns whether a map is that of mem0."""
    return field_map == PRESETS["mem0"]


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


def decode(id_: str, record: Record, vector: bytes | None, layout: Layout) -> Memory:
    """Returns the memory of a record.

    A value that cannot be read as the field of its key stays in `metadata` as it is, and the field
    takes its default.
    """
    raw = shown(record.metadata, layout.expires)
    record = Record(record.document, raw)
    read, taken = _fields(raw, layout)
    extra = dict(values.as_object(raw.get(_EXTRA)))
    content = record.document or ""
    column = layout.map.column("content")
    if column is not None and isinstance(text := raw.get(column), str):
        content = text
        taken.add(column)
        if record.document is not None:
            extra[_DOCUMENT] = record.document
    taken |= {_METADATA, _EXTRA, MODEL, layout.digest, *layout.derived}
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
    return owned(promised(memory), whole=not (layout.privacy or layout.owners))


def head(id_: str, raw: Mapping[str, Json], layout: Layout) -> Head:
    """Returns the id, namespace and time of a record's memory, from its metadata."""
    read, _ = _fields(raw, layout, _HEAD)
    time = read.get("created_at")
    return Head(id_, str(read.get("namespace", "")), None if time is None else str(time))


def _fields(
    raw: Mapping[str, Json], layout: Layout, names: Sequence[str] = FIELDS
) -> tuple[dict[str, object], set[str]]:
    """Returns fields by name, and the keys they were read from."""
    read: dict[str, object] = {}
    taken: set[str] = set()
    for name in names:
        key = layout.key(name)
        if key not in raw:
            continue
        try:
            read[name] = values.read(name, raw[key])
        except BadRecord:
            continue
        taken.add(key)
    if layout.privacy:
        taken.add(layout.privacy)
        private = values.is_true(raw.get(layout.privacy))
        read.setdefault("namespace", _CLASSES[private])
    if layout.owners:
        taken |= set(layout.owners)
        read["namespace"] = namespace_of(raw)
    return read, taken


# ------------------------------------------------------------------ writing


def encode(memory: Memory, base: Record, layout: Layout) -> Record:
    """Returns the record of a memory.

    Args:
        memory: As it has to read afterwards.
        base: The record it was, or an empty one.
        layout: Of the collection.

    Raises:
        BadRecord: The text cannot be stored.
        StoreError: A field has no place in the form this record has.
    """
    old = decode(memory.id, base, None, layout)
    problem = unreadable(memory.id) or (
        unreadable(memory.content) if memory.content != old.content else None
    )
    if problem:
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in Chroma.")
    raw = shown(base.metadata, layout.expires)
    for name in FIELDS:
        if canonical(values.as_json(memory, name)) != canonical(values.as_json(old, name)):
            _change(raw, name, memory, layout)
    _write_metadata(raw, old, memory, layout)
    if layout.digest and memory.content != old.content:
        data = memory.content.encode()
        raw[layout.digest] = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if memory.content != old.content:
        for key in layout.derived:
            raw.pop(key, None)
    column = layout.map.column("content")
    if column is None:
        _write_object(raw, _EXTRA, memory.extra)
        return Record(base.document if memory.content == old.content else memory.content, raw)
    _write_object(raw, _EXTRA, {k: v for k, v in memory.extra.items() if k != _DOCUMENT})
    if memory.content != old.content or column not in raw:
        raw[column] = memory.content
    document = memory.extra.get(_DOCUMENT)
    return Record(document if isinstance(document, str) else None, raw)


def _change(raw: dict[str, Json], name: str, memory: Memory, layout: Layout) -> None:
    """Writes one field into the metadata, in the form its key has."""
    key = layout.key(name)
    if name == "namespace" and layout.owners:
        owners = owners_of(memory.namespace)
        if not owners:
            raise StoreError(no_owners(memory))
        for owner in layout.owners:
            raw.pop(owner, None)
        raw.update(owners)
        return
    if name == "namespace" and layout.privacy:
        # a namespace that is no privacy class goes into a key of echoless
        is_class = memory.namespace in (*_CLASSES, "")
        values.set_or_remove(raw, key, None if is_class else memory.namespace)
        raw[layout.privacy] = memory.namespace == "private"
        return
    values.change(raw, key, name, memory, link=layout.link)


def _write_metadata(raw: dict[str, Json], old: Memory, memory: Memory, layout: Layout) -> None:
    """Writes the metadata keys that changed, as JSON where Chroma or the layout has no place."""
    if canonical(memory.metadata) == canonical(old.metadata):
        return
    before = dict(raw)
    for key in old.metadata:
        if not (key in layout.keys and key in memory.metadata):
            raw.pop(key, None)
    overflow: dict[str, Json] = {}
    for key, value in memory.metadata.items():
        if key in before and canonical(before[key]) == canonical(value) and key in old.metadata:
            raw[key] = before[key]
        elif key not in layout.keys and fits(key, value):
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
