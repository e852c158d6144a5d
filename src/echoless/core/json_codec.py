"""Conversion of memories to JSON and back without loss, for images, exports and `--json`."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.model import Json, JsonObject, Link, Memory, Provenance, Vector
from echoless.core.text import unreadable

_COUNTS: Final = 2**62
"""Counts stay below this, so that sums of them fit the 64 bits of a database."""

FIELDS: Final = (
    "id",
    "content",
    "namespace",
    "type",
    "tags",
    "importance",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed",
    "provenance",
    "links",
    "pinned",
    "metadata",
    "vectors",
)


_READABLE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPED: Final = json.JSONEncoder(separators=(",", ":"))


def json_text(value: Json) -> str:
    """Returns compact JSON with keys in their order and readable characters unescaped.

    Lone surrogates, which have no UTF-8 form, are escaped.
    """
    text = _READABLE.encode(value)
    return text if unreadable(text) is None else _ESCAPED.encode(value)


def json_value(text: object) -> Json:
    """Returns the value of a JSON text; None for anything else, and for one nested too deeply."""
    try:
        value: Json = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value


def json_object(text: object) -> JsonObject:
    """Returns the object of a JSON text; an empty one for anything else."""
    value = json_value(text)
    return value if isinstance(value, Mapping) else {}


def memory_to_json(memory: Memory, *, with_native: bool = False) -> dict[str, Json]:
    """Returns all fields of a memory in the order of `FIELDS`, vectors as base64.

    Args:
        memory: The memory.
        with_native: Also what only its adapter understands.
    """
    record: dict[str, Json] = {name: field_to_json(memory, name) for name in FIELDS}
    record["extra"] = field_to_json(memory, "extra")
    if with_native:
        record["native"] = dict(memory.native)
    return record


def field_to_json(memory: Memory, name: str) -> Json:
    """Returns one field of a memory as JSON."""
    match name:
        case "tags":
            return list(memory.tags)
        case "provenance":
            return memory.provenance.value
        case "links":
            return [{"target": k.target, "kind": k.kind, "data": k.data} for k in memory.links]
        case "metadata":
            return dict(memory.metadata)
        case "extra":
            return dict(memory.extra)
        case "vectors":
            return vectors_to_json(memory.vectors)
        case _:
            value: Json = getattr(memory, name)
            return value


def memory_from_json(data: JsonObject) -> Memory:
    """Reads what `memory_to_json` wrote; missing fields take their defaults.

    Raises:
        BadRecord: A field has the wrong form; the message names it.
    """
    return Memory(
        id=read_text(data, "id"),
        content=read_text(data, "content"),
        namespace=read_text(data, "namespace", ""),
        type=read_text(data, "type", ""),
        tags=read_tags(data.get("tags")),
        importance=read_importance(data.get("importance")),
        access_count=read_count(data.get("access_count")),
        created_at=read_time(data.get("created_at")),
        updated_at=read_time(data.get("updated_at")),
        last_accessed=read_time(data.get("last_accessed")),
        provenance=read_provenance(data.get("provenance")),
        links=read_links(data.get("links")),
        pinned=bool(data.get("pinned", False)),
        metadata=read_object(data.get("metadata"), "metadata"),
        vectors=read_vectors(data.get("vectors")),
        extra=read_object(data.get("extra"), "extra"),
        native=read_object(data.get("native"), "native"),
    )


def read_text(data: JsonObject, name: str, default: str | None = None) -> str:
    """Returns a text field; the default where it is missing and there is one."""
    value = data.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadRecord(f"{name!r} must be a text, not {_kind(value)}")
    return value


def _kind(value: Json) -> str:
    if value is None:
        return "missing"
    return {"bool": "true or false", "dict": "an object", "list": "a list"}.get(
        type(value).__name__, f"the {type(value).__name__} {value!r}"[:60]
    )


def read_tags(value: Json) -> tuple[str, ...]:
    """Returns tags from a list of texts, or from one text with commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    raise BadRecord(f"'tags' must be a list of texts, not {_kind(value)}")


def read_importance(value: Json) -> float | None:
    """Returns a finite number or None."""
    return read_number(value, "importance")


def read_number(value: Json, name: str) -> float | None:
    """Returns a finite number below 2^62 in size, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _COUNTS:
        raise BadRecord(f"{name!r} must be a finite number, not {_kind(value)}")
    return value


def read_count(value: Json) -> int:
    """Returns a whole number of at least 0; a missing one counts as 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _COUNTS:
        raise BadRecord(f"'access_count' must be a whole number from 0 to 2^62, not {_kind(value)}")
    return value


def read_time(value: Json) -> str | None:
    """Returns a time as text; numbers (Unix time) become their digits."""
    if value is None or isinstance(value, str):
        return value
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    raise BadRecord(f"a time must be a text or a number, not {_kind(value)}")


def read_provenance(value: Json) -> Provenance:
    """Returns the provenance of a known name; `unknown` for anything else."""
    try:
        return Provenance(value) if isinstance(value, str) else Provenance.UNKNOWN
    except ValueError:
        return Provenance.UNKNOWN


def read_links(value: Json) -> tuple[Link, ...]:
    """Returns links from a list of ids or of objects with `target`, `kind` and `data`."""
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadRecord(f"'links' must be a list, not {_kind(value)}")
    links: list[Link] = []
    for each in value:
        link = {"target": each} if isinstance(each, str) else each
        if not isinstance(link, Mapping):
            raise _bad_link(each)
        target, kind, data = link.get("target"), link.get("kind", "related"), link.get("data")
        if not isinstance(target, str) or not isinstance(kind, str):
            raise _bad_link(each)
        if data is not None and not isinstance(data, Mapping):
            raise _bad_link(each)
        links.append(Link(target, kind, dict(data or {})))
    return tuple(links)


def _bad_link(value: Json) -> BadRecord:
    return BadRecord(f"a link must be an id or an object with a 'target', not {_kind(value)}")


def read_object(value: Json, name: str) -> JsonObject:
    """Returns an object; an empty one where it is missing."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(value)
    raise BadRecord(f"{name!r} must be an object, not {_kind(value)}")


def insist_object(value: Json, what: str) -> JsonObject:
    """Returns a value that must be an object."""
    if not isinstance(value, Mapping):
        raise BadRecord(f"{what} is no object")
    return value


def vectors_to_json(vectors: Sequence[Vector]) -> dict[str, Json]:
    """Returns an object of model to base64 bytes, as `read_vectors` takes it."""
    return {v.model: base64.b64encode(v.data).decode("ascii") for v in vectors}


def read_vectors(value: Json) -> tuple[Vector, ...]:
    """Returns vectors from an object of model to base64 or list of numbers, ordered by model."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise BadRecord(f"'vectors' must be an object of model to vector, not {_kind(value)}")
    vectors: list[Vector] = []
    for model in sorted(value):
        components = value[model]
        if not isinstance(components, str):
            vectors.append(Vector(model, floats_to_bytes(components, model)))
            continue
        try:
            data = base64.b64decode(components, validate=True)
        except ValueError as problem:  # of `binascii`, or a character beyond ASCII
            raise BadRecord(f"the vector of {model!r} is not valid base64") from problem
        if len(data) % 4:
            raise BadRecord(f"the vector of {model!r} is not a whole number of float32 values")
        vectors.append(Vector(model, data))
    return tuple(vectors)


def floats_to_bytes(value: Json, model: str) -> bytes:
    """Returns a list of numbers as float32 little-endian bytes.

    Raises:
        BadRecord: It is not a list of numbers, or one lies outside float32.
    """
    if not isinstance(value, Sequence):
        raise BadRecord(f"the vector of {model!r} must be a list of numbers, not {_kind(value)}")
    kinds = set(map(type, value))
    odd = [k for k in kinds if not issubclass(k, int | float) or issubclass(k, bool)]
    if odd:
        first = next(each for each in value if type(each) in odd)
        raise BadRecord(f"the vector of {model!r} must hold numbers only, not {_kind(first)}")
    try:
        return struct.pack(f"<{len(value)}f", *value)
    except (struct.error, OverflowError) as problem:  # of whole numbers, and of others
        raise BadRecord(
            f"the vector of {model!r} holds a number too large for float32"
        ) from problem


def bytes_to_floats(data: bytes) -> list[float]:
    """Returns float32 bytes as Python floats (exact)."""
    return list(struct.unpack(f"<{len(data) // 4}f", data))
