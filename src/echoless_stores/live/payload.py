"""A memory as the fields of another library's record, and back.

The text stays where the owner keeps it, and the record's other fields are the metadata. What the
record has no place for goes under one key, `echoless`, only where there is something to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import FIELDS, json_value, memory_from_json, memory_to_json
from echoless.core.model import VOLATILE, Json, JsonObject, Memory, canonical, unstorable
from echoless.stores.expiration import promised
from echoless.stores.scope import owned

OWN: Final = "echoless"
"""Key of a record for what only echoless uses."""

_TIMES: Final = ("created_at", "updated_at")
_PLACED: Final = frozenset({"id", "content", "namespace", "metadata", "vectors", *_TIMES})
_OWN_FIELDS: Final = tuple(name for name in (*FIELDS, "extra") if name not in _PLACED)
_EMPTY: Final = memory_to_json(Memory(id="-", content=""))
_NATIVE: Final[JsonObject] = {VOLATILE: list(_TIMES)}


def decode(
    id_: str, content: str, namespace: str, record: JsonObject, stamps: Mapping[str, str | None]
) -> Memory:
    """Returns the memory of a record.

    Args:
        id_: Its id.
        content: Its text.
        namespace: Its namespace.
        record: Its other fields, without the text.
        stamps: `created_at` and `updated_at` as the library gives them.

    Raises:
        BadRecord: The fields under `echoless` have another form than echoless writes.
    """
    own = record.get(OWN)
    known: JsonObject = own if isinstance(own, Mapping) else {}
    metadata = {key: value for key, value in record.items() if key != OWN or own is not known}
    more = known.get("metadata")
    data: dict[str, Json] = {
        **stamps,
        **{name: known[name] for name in (*_OWN_FIELDS, *_TIMES) if name in known},
        "id": id_,
        "content": content,
        "namespace": namespace,
        "metadata": {**metadata, **(more if isinstance(more, Mapping) else {})},
        "native": _NATIVE,
    }
    try:
        return owned(promised(memory_from_json(data)))
    except BadRecord as problem:
        raise BadRecord(
            f"What the record {id_!r} holds under {OWN!r} is broken ({problem}). Take that key out "
            "of it."
        ) from problem


def encode(
    memory: Memory, taken: frozenset[str], stamps: Mapping[str, str | None]
) -> dict[str, Json]:
    """Returns the record of a memory, without its text.

    Args:
        memory: As it has to read afterwards.
        taken: Keys metadata may not use: the library's own, or that of the text.
        stamps: Times the library gives anyway; others are kept under `echoless`.

    Raises:
        BadRecord: The text or the id cannot be stored.
        StoreError: It carries vectors: the library makes its own.
    """
    if problem := unstorable(memory):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored here.")
    if memory.vectors:
        raise StoreError(
            f"{memory.id!r} carries vectors (field 'vectors'), and this store makes its own. Leave "
            "them out; nothing was changed."
        )
    data = memory_to_json(memory)
    own = {n: data[n] for n in _OWN_FIELDS if canonical(data[n]) != canonical(_EMPTY[n])}
    times: dict[str, Json] = {name: getattr(memory, name) for name in _TIMES}
    if any(times.values()) and times != stamps:
        own |= times
    apart = {k: v for k, v in memory.metadata.items() if k in taken or k == OWN}
    if apart:
        own["metadata"] = apart
    record: dict[str, Json] = {k: v for k, v in memory.metadata.items() if k not in apart}
    if own:
        record[OWN] = own
    return record


def own_fields(record: JsonObject) -> JsonObject | None:
    """Returns what a record holds under `echoless`, an object or its text; None for anything else.

    Some stores hold no objects, so what is kept there may be JSON in a text.
    """
    own = record.get(OWN)
    own = json_value(own) if isinstance(own, str) else own
    return own if isinstance(own, Mapping) else None


def is_json(value: object) -> bool:
    """Checks whether a value is JSON as it is: written and read again, nothing of it changes."""
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list():
            return all(is_json(each) for each in value)
        case Mapping():
            return all(isinstance(key, str) and is_json(each) for key, each in value.items())
        case _:
            return False
