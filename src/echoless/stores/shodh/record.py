"""A note of the library as a memory, and back without loss.

The library hands out ids, times and an importance of its own and cannot change a note. What it does
not take as an argument stands in the note's metadata, in keys that begin with `echoless.`:

* `echoless.replaces`: ids the note stands for, as a JSON list. The first is its lasting id.
* `echoless.created_at`, `echoless.access_count`, `echoless.importance`: what a new note would
  start without.
* `echoless.fields`: the rest, as a JSON object.
* `echoless.supersedes`: the library's id of the note it was written in place of.

`original_id` is set to the lasting id where nothing else stands there: wt-memory's import knows a
note by it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from echoless import codec
from echoless.errors import BadRecord, StoreError
from echoless.model import EMPTY, VOLATILE, Json, JsonObject, Memory
from echoless.stores.shodh.arguments import FLAGS, arguments

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.stores.shodh.library import Record

T = TypeVar("T")

REPLACES: Final = "echoless.replaces"
CREATED: Final = "echoless.created_at"
ACCESS: Final = "echoless.access_count"
IMPORTANCE: Final = "echoless.importance"
FIELDS: Final = "echoless.fields"
SUPERSEDES: Final = "echoless.supersedes"
ORIGINAL: Final = "original_id"

TYPES: Final = frozenset(
    ("Context", "Task", "Discovery", "Error", "Pattern", "Learning", "Decision", "Conversation")
)
"""The library's types as it tells them; any other word becomes Context."""

_TOLD: Final = frozenset(
    (
        *("id", "content", "experience_type", "tags", "entities", "metadata", "importance"),
        *("access_count", "created_at", "last_accessed", "compressed", "is_failure", "is_anomaly"),
    )
)
"""Keys of a note that have a place of their own; what else it has is carried in `Memory.extra`."""

_NONE: Final[tuple[str, ...]] = ()
_FLAGS: Final = (*FLAGS, "compressed")
_KEPT_APART: Final = ("namespace", "updated_at", "provenance", "links", "pinned", "vectors")


@dataclass(frozen=True, slots=True)
class _Own:
    """What echoless wrote into the metadata of a note."""

    replaces: tuple[str, ...] = ()
    created_at: str | None = None
    access_count: int = 0
    importance: float | None = None
    fields: JsonObject = field(default_factory=dict)
    supersedes: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A memory with the record that holds it.

    Attributes:
        key: The library's id of the record.
        supersedes: Id of the record it was written in place of, or None.
        written: When the library wrote the record.
            memory: The memory; its id is the lasting one the record claims.
    """

    key: str
    supersedes: str | None
    written: str
    memory: Memory


def note(record: Record) -> Note:
    """Read a record of the library.

    Raises:
        BadRecord: It is not of the form the library documents; the message names its id.
    """
    key = str(record["id"])
    try:
        own, metadata = _own(codec.read_object(record.get("metadata"), "metadata"))
        written = str(record["created_at"])
        return Note(key, own.supersedes, written, _memory(record, own, metadata))
    except (BadRecord, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BadRecord(f"The note {key!r} cannot be read: {problem}.") from problem


# ------------------------------------------------------------------ reading


def _own(metadata: Mapping[str, Json]) -> tuple[_Own, dict[str, Json]]:
    """What is ours in the metadata, and what is left. A key that is not well-formed is not ours."""
    left = {key: metadata[key] for key in sorted(metadata)}
    replaces = _take(left, REPLACES, _ids, _NONE)
    if replaces and left.get(ORIGINAL) == replaces[0]:
        del left[ORIGINAL]
    fields = _take(left, FIELDS, _object, EMPTY) if replaces else EMPTY
    own = _Own(
        replaces,
        _take(left, CREATED, str, None),
        _take(left, ACCESS, _count, 0),
        _take(left, IMPORTANCE, _number, None),
        fields,
        _take(left, SUPERSEDES, str, None) if replaces else None,
    )
    return own, {**left, **codec.read_object(fields.get("metadata"), "metadata")}


def _take(left: dict[str, Json], key: str, read: Callable[[str], T], default: T) -> T:
    """A value of ours out of the metadata; where it does not read, it stays there."""
    text = left.get(key)
    if not isinstance(text, str):
        return default
    try:
        found = read(text)
    except ValueError:
        return default
    del left[key]
    return found


def _ids(text: str) -> tuple[str, ...]:
    found = json.loads(text)
    if not (isinstance(found, list) and found and all(isinstance(i, str) and i for i in found)):
        raise ValueError(text)
    return tuple(found)


def _object(text: str) -> JsonObject:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(text)  # noqa: TRY004 - one kind of failure for "not ours"
    return found


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    found = json.loads(text)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise ValueError(text)
    return found


def _memory(record: Record, own: _Own, metadata: JsonObject) -> Memory:
    fields = own.fields
    created = str(record["created_at"])
    return Memory(
        id=own.replaces[0] if own.replaces else str(record["id"]),
        content=str(record["content"]),
        namespace=str(fields.get("namespace", "")),
        type=str(fields.get("type", record.get("experience_type", ""))),
        tags=codec.read_tags(record.get("tags")),
        importance=_importance(record, own),
        access_count=codec.read_count(record.get("access_count")) + own.access_count,
        created_at=own.created_at or codec.read_time(fields.get("created_at", created)),
        updated_at=codec.read_time(fields.get("updated_at")),
        last_accessed=_last_accessed(record, fields),
        provenance=codec.read_provenance(fields.get("provenance")),
        links=codec.read_links(fields.get("links")),
        pinned=bool(fields.get("pinned", False)),
        metadata=metadata,
        vectors=codec.read_vectors(fields.get("vectors")),
        extra=_extra(record, own),
        native=_native(record, own),
    )


def _native(record: Record, own: _Own) -> dict[str, Json]:
    place: dict[str, Json] = {"at": own.fields.get("at", str(record["created_at"]))}
    return place if own.fields and not _recalled(record) else {**place, VOLATILE: ["importance"]}


def _importance(record: Record, own: _Own) -> float | None:
    """The larger of the library's value and ours.

    What the library gives a new note is a guess from its text, and it lowers that with every note
    alike that is written. In a note of ours it counts once someone recalled the note.
    """
    if own.fields and not _recalled(record):
        return own.importance
    known = (codec.read_importance(record.get("importance")), own.importance)
    return max((value for value in known if value is not None), default=None)


def _recalled(record: Record) -> bool:
    return bool(record.get("access_count")) or record.get("last_accessed") != record["created_at"]


def _last_accessed(record: Record, fields: JsonObject) -> str | None:
    """As it was before the note was written anew, until someone recalls it."""
    if "last_accessed" in fields and not _recalled(record):
        return codec.read_time(fields["last_accessed"])
    return codec.read_time(record.get("last_accessed"))


def _extra(record: Record, own: _Own) -> dict[str, Json]:
    extra: dict[str, Json] = {}
    if record.get("entities"):
        extra["entities"] = record["entities"]
    extra.update({flag: True for flag in _FLAGS if record.get(flag)})
    extra.update({key: record[key] for key in sorted(record.keys() - _TOLD)})
    extra.update(codec.read_object(own.fields.get("extra"), "extra"))
    if own.replaces[1:]:
        extra["replaces"] = list(own.replaces[1:])
    return extra


# ------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Writing:
    """What the library is told about a memory.

    Attributes:
        content: The text.
        type: The library's word, or any other, which it takes for Context.
        more: Its other arguments, `tags`, `entities`, `metadata` and fields of the note.
    """

    content: str
    type: str
    more: Mapping[str, object]


def writing(
    memory: Memory,
    module: ModuleType,
    *,
    place: str | None,
    supersedes: str | None,
) -> Writing:
    """A memory as arguments of the library.

    Args:
        memory: The memory.
        module: The library, for its classes.
        place: When its first record was written, which is its place in the store's order.
        supersedes: The record this one is written in place of.

    Raises:
        StoreError: A key of its metadata is one of ours.
    """
    taken = sorted(
        {REPLACES, CREATED, ACCESS, IMPORTANCE, FIELDS, SUPERSEDES} & set(memory.metadata)
    )
    if taken:
        raise StoreError(
            f"{memory.id!r} has the metadata key {taken[0]!r}, in which echoless keeps what "
            "shodh-memory has no place for. Rename the key; nothing was changed."
        )
    others = _others(memory)
    extra = {key: value for key, value in memory.extra.items() if key != "replaces" or not others}
    taken_over, left = arguments(extra, module)
    fields = _fields(memory, left)
    if place is not None:
        fields["at"] = place
    metadata = {key: text for key, text in memory.metadata.items() if isinstance(text, str)}
    metadata.setdefault(ORIGINAL, memory.id)
    metadata[REPLACES] = json.dumps([memory.id, *others])
    metadata[ACCESS] = str(memory.access_count)
    if memory.created_at is not None:
        metadata[CREATED] = memory.created_at
    if memory.importance is not None:
        metadata[IMPORTANCE] = repr(memory.importance)
    metadata[FIELDS] = json.dumps(fields, sort_keys=True)
    if supersedes is not None:
        metadata[SUPERSEDES] = supersedes
    more = {**taken_over, "tags": list(memory.tags), "metadata": metadata}
    return Writing(memory.content, memory.type or "Context", more)


def _others(memory: Memory) -> list[str]:
    found = memory.extra.get("replaces")
    if isinstance(found, list | tuple) and all(isinstance(i, str) and i for i in found):
        return [str(i) for i in found]
    return []


def _fields(memory: Memory, extra: Mapping[str, Json]) -> dict[str, Json]:
    """What has neither an argument nor a key of its own."""
    plain = Memory(id=memory.id, content="")
    fields: dict[str, Json] = {
        name: codec.field_to_json(memory, name)
        for name in _KEPT_APART
        if getattr(memory, name) != getattr(plain, name)
    }
    fields["last_accessed"] = memory.last_accessed
    if memory.created_at is None:
        fields["created_at"] = None
    if memory.type not in TYPES:
        fields["type"] = memory.type
    odd = {key: value for key, value in memory.metadata.items() if not isinstance(value, str)}
    if odd:
        fields["metadata"] = odd
    if extra:
        fields["extra"] = dict(extra)
    return fields
