"""One record of a collection as a memory, and a memory back into its record.

What is written starts from the record as it was and changes only the keys whose fields changed: a
record that went out and came back is the one it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from echoless.codec import json_text
from echoless.errors import BadRecord, StoreError
from echoless.model import Json, JsonObject, Memory, Vector, canonical
from echoless.stores import column_values as values
from echoless.stores.chroma.layout import FIELDS, OWN, Layout
from echoless.stores.scope import Head
from echoless.text import unreadable

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
class Record:
    """What a collection holds under one id, besides the vector.

    Attributes:
        document: The text, or None.
        metadata: Scalars and lists of scalars by key.
    """

    document: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


def native(record: Record) -> dict[str, Json]:
    """What a memory carries along of its record."""
    return {_NATIVE: {"document": record.document, "metadata": dict(record.metadata)}}


def from_native(memory: Memory) -> Record | None:
    """The record a memory was read from, if it came from a collection."""
    kept = memory.native.get(_NATIVE)
    if not isinstance(kept, Mapping):
        return None
    document, metadata = kept.get("document"), kept.get("metadata")
    return Record(
        document if isinstance(document, str) else None,
        dict(metadata) if isinstance(metadata, Mapping) else {},
    )


# ------------------------------------------------------------------ reading


def decode(id_: str, record: Record, vector: bytes | None, layout: Layout) -> Memory:
    """The memory of a record.

    A value that cannot be read as the field its key stands for stays in `metadata` as it is, and
    the field takes its default.
    """
    raw = record.metadata
    read, taken = _fields(raw, layout)
    extra = dict(values.as_object(raw.get(_EXTRA)))
    content = record.document or ""
    column = layout.map.column("content")
    if column is not None and isinstance(there := raw.get(column), str):
        content = there
        taken.add(column)
        if record.document is not None:
            extra[_DOCUMENT] = record.document
    taken |= {_METADATA, _EXTRA, MODEL}
    metadata = {key: value for key, value in raw.items() if key not in taken}
    metadata.update(values.as_object(raw.get(_METADATA)))
    model = raw.get(MODEL)
    named = model if isinstance(model, str) and model else layout.model
    return Memory(
        id=id_,
        content=content,
        metadata=metadata,
        extra=extra,
        vectors=() if vector is None else (Vector(named, vector),),
        native=native(record),
        **read,  # type: ignore[arg-type]
    )


def head(id_: str, raw: Mapping[str, Json], layout: Layout) -> Head:
    """What a scope asks of the memory of a record, from its metadata."""
    read, _ = _fields(raw, layout, _HEAD)
    time = read.get("created_at")
    return Head(id_, str(read.get("namespace", "")), None if time is None else str(time))


def _fields(
    raw: Mapping[str, Json], layout: Layout, names: Sequence[str] = FIELDS
) -> tuple[dict[str, object], set[str]]:
    """Fields by name, and the keys they were read from."""
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
    return read, taken


# ------------------------------------------------------------------ writing


def encode(memory: Memory, base: Record, layout: Layout) -> Record:
    """The record of a memory.

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
    raw = dict(base.metadata)
    for name in FIELDS:
        if canonical(_comparable(memory, name)) != canonical(_comparable(old, name)):
            _change(raw, name, memory, layout)
    _write_metadata(raw, old, memory, layout)
    extra = {k: v for k, v in memory.extra.items() if k != _DOCUMENT or not _apart(layout)}
    _overflow(raw, _EXTRA, extra)
    return Record(_write_content(raw, old, memory, base, layout), raw)


def _comparable(memory: Memory, name: str) -> Json:
    if name == "links":
        return [[link.target, link.kind, link.data] for link in memory.links]
    value: Json = getattr(memory, name)
    return value


def _apart(layout: Layout) -> bool:
    """Whether the text lies in a key of its own, apart from the document."""
    return layout.map.column("content") is not None


def _change(raw: dict[str, Json], name: str, memory: Memory, layout: Layout) -> None:
    if name == "namespace" and layout.privacy:
        _write_class(raw, memory, layout)
        return
    key = layout.key(name)
    try:
        if key in raw:
            values.read(name, raw[key])  # what cannot be read is not overwritten
        made = values.write(name, getattr(memory, name), raw.get(key), link=layout.link)
    except BadRecord as problem:
        raise StoreError(
            f"The field {name!r} of {memory.id!r} cannot be changed in its metadata key {key!r} "
            f"({problem}). Mend the record in its own program, and try again."
        ) from problem
    _set(raw, key, made)


def _write_class(raw: dict[str, Json], memory: Memory, layout: Layout) -> None:
    """The namespace of a layout with privacy classes; one that is neither has a key of ours."""
    known = memory.namespace in (*_CLASSES, "")
    _set(raw, layout.key("namespace"), None if known else memory.namespace)
    raw[layout.privacy] = memory.namespace == "private"


def _set(raw: dict[str, Json], key: str, value: Json) -> None:
    if value is None:
        raw.pop(key, None)
    else:
        raw[key] = value


def _write_metadata(raw: dict[str, Json], old: Memory, memory: Memory, layout: Layout) -> None:
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
    _overflow(raw, _METADATA, overflow)


def _overflow(raw: dict[str, Json], key: str, value: JsonObject) -> None:
    """Keep an object as JSON; the text there is left alone if it says the same."""
    if canonical(values.as_object(raw.get(key))) == canonical(value):
        return
    _set(raw, key, json_text(value) if value else None)


def _write_content(
    raw: dict[str, Json], old: Memory, memory: Memory, base: Record, layout: Layout
) -> str | None:
    """Write the text where it lies.

    Returns:
        The document.
    """
    column = layout.map.column("content")
    if column is None:
        return base.document if memory.content == old.content else memory.content
    if memory.content != old.content or column not in raw:
        raw[column] = memory.content
    document = memory.extra.get(_DOCUMENT)
    return document if isinstance(document, str) else None


def fits(key: str, value: Json) -> bool:
    """Whether Chroma gives a metadata value back as it took it."""
    if not key or key.startswith(_RESERVED) or unreadable(key):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        kinds = {type(each) for each in value}
        return len(kinds) == 1 and all(_scalar(each) for each in value)
    return _scalar(value)


def _scalar(value: Json) -> bool:
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
