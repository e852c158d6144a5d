"""Memories as JSON and back, without loss. One form for images, exports and `--json`."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Final

from echoless.errors import BadRecord
from echoless.model import Json, JsonObject, Link, Memory, Provenance, Vector
from echoless.text import unreadable

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


def json_text(value: Json) -> str:
    """Compact JSON in the order of the keys; readable characters stay readable.

    Lone surrogates, which have no UTF-8 form, are escaped.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if unreadable(text) is None else json.dumps(value, separators=(",", ":"))


def memory_to_json(memory: Memory, *, with_native: bool = False) -> dict[str, Json]:
    """All fields, in `FIELDS` order; vectors as base64 of their bytes.

    Args:
        memory: The memory.
        with_native: Also what only its adapter understands.
    """
    made: dict[str, Json] = {name: field_to_json(memory, name) for name in FIELDS}
    made["extra"] = field_to_json(memory, "extra")
    if with_native:
        made["native"] = dict(memory.native)
    return made


def field_to_json(memory: Memory, name: str) -> Json:
    """One field as JSON."""
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
    """Read what `memory_to_json` wrote; missing fields take their defaults.

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
    """A text; missing is `default`, if there is one."""
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
    """Tags from a list of texts, or from one text with commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    raise BadRecord(f"'tags' must be a list of texts, not {_kind(value)}")


def read_importance(value: Json) -> float | None:
    """A finite number or None."""
    return read_number(value, "importance")


def read_number(value: Json, name: str) -> float | None:
    """A finite number, smaller than any count, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _COUNTS:
        raise BadRecord(f"{name!r} must be a finite number, not {_kind(value)}")
    return value


def read_count(value: Json) -> int:
    """A whole number of at least 0; missing counts as 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _COUNTS:
        raise BadRecord(f"'access_count' must be a whole number from 0 to 2^62, not {_kind(value)}")
    return value


def read_time(value: Json) -> str | None:
    """A time as text; numbers (Unix time) become their digits."""
    if value is None or isinstance(value, str):
        return value
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    raise BadRecord(f"a time must be a text or a number, not {_kind(value)}")


def read_provenance(value: Json) -> Provenance:
    """A known word; anything missing or unknown is `unknown`."""
    try:
        return Provenance(value) if isinstance(value, str) else Provenance.UNKNOWN
    except ValueError:
        return Provenance.UNKNOWN


def read_links(value: Json) -> tuple[Link, ...]:
    """Links from a list of ids or of objects with `target`, `kind` and `data`."""
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadRecord(f"'links' must be a list, not {_kind(value)}")
    return tuple(_link(each) for each in value)


def _link(value: Json) -> Link:
    if isinstance(value, str):
        return Link(value)
    if isinstance(value, Mapping) and isinstance(value.get("target"), str):
        data = value.get("data")
        kind = value.get("kind", "related")
        if isinstance(kind, str) and (data is None or isinstance(data, Mapping)):
            return Link(str(value["target"]), kind, dict(data or {}))
    raise BadRecord(f"a link must be an id or an object with a 'target', not {_kind(value)}")


def read_object(value: Json, name: str) -> JsonObject:
    """An object; missing is an empty one."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(value)
    raise BadRecord(f"{name!r} must be an object, not {_kind(value)}")


def vectors_to_json(vectors: Sequence[Vector]) -> dict[str, Json]:
    """An object of model to base64 bytes, as `read_vectors` takes it."""
    return {v.model: base64.b64encode(v.data).decode("ascii") for v in vectors}


def read_vectors(value: Json) -> tuple[Vector, ...]:
    """Vectors from an object of model to base64 bytes or list of numbers, ordered by model."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise BadRecord(f"'vectors' must be an object of model to vector, not {_kind(value)}")
    return tuple(Vector(model, _vector_bytes(value[model], model)) for model in sorted(value))


def _vector_bytes(value: Json, model: str) -> bytes:
    if isinstance(value, str):
        try:
            data = base64.b64decode(value, validate=True)
        except ValueError as problem:  # of `binascii`, or a character beyond ASCII
            raise BadRecord(f"the vector of {model!r} is not valid base64") from problem
        if len(data) % 4:
            raise BadRecord(f"the vector of {model!r} is not a whole number of float32 values")
        return data
    return floats_to_bytes(value, model)


def floats_to_bytes(value: Json, model: str) -> bytes:
    """float32 little-endian bytes of a list of numbers.

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
    except OverflowError as problem:
        raise BadRecord(
            f"the vector of {model!r} holds a number too large for float32"
        ) from problem


def bytes_to_floats(data: bytes) -> list[float]:
    """The float32 values as Python floats (exact)."""
    return list(struct.unpack(f"<{len(data) // 4}f", data))
