"""A note of the library as a memory, and back without loss.

The library gives each note an id, a time and an importance of its own, and cannot change a note.
What it does not take as an argument is kept in the note's metadata, in keys that begin with
`echoless.`:

* `echoless.replaces`: ids the note stands for, as a JSON list. The first is its lasting id.
* `echoless.created_at`, `echoless.access_count`, `echoless.importance`: what a new note would
  start without.
* `echoless.fields`: the rest, as a JSON object.
* `echoless.supersedes`: the library's id of the note it was written in place of.

`original_id` is set to the lasting id where nothing else stands there: wt-memory's import knows a
note by it.

The optional fields of a note as arguments of `remember`.

The library returns them as flat fields (`outcome_type`, `outcome_details`, ...) and takes some of
them as objects of its own classes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import EMPTY, VOLATILE, Json, JsonObject, Memory
from echoless.stores.expiration import promised

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.core.model import Json
    from echoless_programs.stores.shodh.library import Record

FLAGS: Final = ("is_failure", "is_anomaly")

_TEXTS: Final = (
    "action_type",
    "severity",
    "recovery_action",
    "root_cause",
    "pattern_id",
    "predicted_outcome",
)
_PLACES: Final = {"position": "Position", "geo_location": "GeoLocation"}
_OBJECTS: Final = {
    "outcome": (
        "Outcome",
        ("outcome_type", "outcome_details", "reward", "prediction_accurate"),
    ),
    "environment": ("Environment", ("weather", "terrain_type", "lighting", "nearby_agents")),
    "decision_context": (
        "DecisionContext",
        ("decision_context", "action_params", "confidence", "alternatives"),
    ),
}
"""Class of an argument, and the fields of it that the library returns."""

_OWN_WORDS: Final = {"outcome_details": "details", "decision_context": "state"}
"""shodh's name of a field, where it differs from ours."""


def _is_number(value: Json) -> bool:
    """Checks for a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_texts(value: Json) -> bool:
    """Checks for a list of texts that are not empty, at least one."""
    if not isinstance(value, list | tuple):
        return False
    return bool(value) and all(isinstance(each, str) and each for each in value)


def _is_place(value: Json) -> bool:
    """Checks for three numbers."""
    return isinstance(value, list | tuple) and len(value) == 3 and all(map(_is_number, value))


_FITS: Final[Mapping[str, Callable[[Json], bool]]] = {
    "entities": _are_texts,
    **dict.fromkeys(FLAGS, lambda value: value is True),
    **dict.fromkeys(_TEXTS, lambda value: isinstance(value, str)),
    "heading": _is_number,
    "sensor_data": lambda v: isinstance(v, Mapping) and all(map(_is_number, v.values())),
    **dict.fromkeys(_PLACES, _is_place),
}
"""Whether a value is of the form the library takes, by the name of the argument."""


def arguments(
    extra: Mapping[str, Json], module: ModuleType
) -> tuple[dict[str, object], dict[str, Json]]:
    """Returns the fields of a note for a call of the library, and the fields it does not take.

    Args:
        extra: The fields, as the library returns them.
        module: The library.
    """
    left = dict(extra)
    made: dict[str, Any] = {n: left.pop(n) for n, fits in _FITS.items() if fits(left.get(n))}
    for name in _PLACES.keys() & made:
        made[name] = getattr(module, _PLACES[name])(*made[name])
    for name, (kind, fields) in _OBJECTS.items():
        values = {_OWN_WORDS.get(each, each): left[each] for each in fields if each in left}
        if not values:
            continue
        try:
            made[name] = getattr(module, kind)(**values)
        except (TypeError, ValueError):
            continue  # not of its form: carried in the metadata instead
        for used in fields:
            left.pop(used, None)
    return made, left


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
"""The library's types in its spelling; any other word becomes Context."""

_KNOWN_KEYS: Final = frozenset(
    (
        *("id", "content", "experience_type", "tags", "entities", "metadata", "importance"),
        *("access_count", "created_at", "last_accessed", "compressed", "is_failure", "is_anomaly"),
    )
)
"""Keys of a note that have a field of their own; all others are carried in `Memory.extra`."""

_FLAGS: Final = (*FLAGS, "compressed")
_OWN_FIELDS: Final = ("namespace", "updated_at", "provenance", "links", "pinned", "vectors")


@dataclass(frozen=True, slots=True)
class _Own:
    """The values echoless wrote into the metadata of a note."""

    replaces: tuple[str, ...] = ()
    created_at: str | None = None
    access_count: int = 0
    importance: float | None = None
    fields: JsonObject = field(default_factory=dict)
    supersedes: str | None = None

    @classmethod
    def split(cls, metadata: Mapping[str, Json]) -> tuple[_Own, dict[str, Json]]:
        """Returns the values of echoless in the metadata, and the rest.

        A key that is not well-formed belongs to the rest.
        """
        left: dict[str, Any] = {key: metadata[key] for key in sorted(metadata)}
        replaces = tuple(_take(left, REPLACES, _are_texts) or ())
        if replaces and left.get(ORIGINAL) == replaces[0]:
            del left[ORIGINAL]
        own = cls(
            replaces,
            left.pop(CREATED, None),
            _take(left, ACCESS, lambda v: type(v) is int and 0 <= v < 10**18) or 0,
            _take(left, IMPORTANCE, lambda v: _is_number(v) and math.isfinite(v)),
            (_take(left, FIELDS, lambda v: isinstance(v, dict)) if replaces else None) or EMPTY,
            left.pop(SUPERSEDES, None) if replaces else None,
        )
        return own, {**left, **codec.read_object(own.fields.get("metadata"), "metadata")}


@dataclass(frozen=True, slots=True)
class ShodhNote:
    """A memory with its record.

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


def note(record: Record) -> ShodhNote:
    """Reads a record of the library.

    Raises:
        BadRecord: It is not of the form the library documents; the message names its id.
    """
    key = str(record["id"])
    try:
        own, metadata = _Own.split(codec.read_object(record.get("metadata"), "metadata"))
        written = str(record["created_at"])
        return ShodhNote(key, own.supersedes, written, _memory(record, own, metadata))
    except (BadRecord, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BadRecord(f"The note {key!r} cannot be read: {problem}.") from problem


# ------------------------------------------------------------------ reading


def _take(left: dict[str, Any], key: str, fits: Callable[[Any], bool]) -> Any:
    """Removes a value from the metadata and returns it; what is none that fits stays."""
    value = codec.json_value(left.get(key))
    if not fits(value):
        return None
    del left[key]
    return value


def _memory(record: Record, own: _Own, metadata: JsonObject) -> Memory:
    """Returns the memory of a record.

    The importance the library gives a new note is a guess from its text, and it lowers that with
    every similar note that is written. In a note of echoless it counts once someone recalled the
    note; then the larger of both values holds. The time of the last access, too, is the one from
    before the note was written anew until someone recalls it.
    """
    fields = own.fields
    created = str(record["created_at"])
    accessed = record.get("last_accessed")
    as_written = not record.get("access_count") and accessed == record["created_at"]
    native: dict[str, Json] = {"at": fields.get("at", created)}
    importance = own.importance
    if not (fields and as_written):
        native[VOLATILE] = ["importance"]
        known = (codec.read_importance(record.get("importance")), own.importance)
        importance = max((value for value in known if value is not None), default=None)
    if as_written and "last_accessed" in fields:
        accessed = fields["last_accessed"]
    memory = Memory(
        id=own.replaces[0] if own.replaces else str(record["id"]),
        content=str(record["content"]),
        namespace=str(fields.get("namespace", "")),
        type=str(fields.get("type", record.get("experience_type", ""))),
        tags=codec.read_tags(record.get("tags")),
        importance=importance,
        access_count=codec.read_count(record.get("access_count")) + own.access_count,
        created_at=own.created_at or codec.read_time(fields.get("created_at", created)),
        updated_at=codec.read_time(fields.get("updated_at")),
        last_accessed=codec.read_time(accessed),
        provenance=codec.read_provenance(fields.get("provenance")),
        links=codec.read_links(fields.get("links")),
        pinned=bool(fields.get("pinned", False)),
        metadata=metadata,
        vectors=codec.read_vectors(fields.get("vectors")),
        extra=_extra(record, own),
        native=native,
    )
    return promised(memory)


def _extra(record: Record, own: _Own) -> dict[str, Json]:
    """Returns the further fields of a record, and the ids of other notes that it replaces."""
    extra: dict[str, Json] = {}
    if record.get("entities"):
        extra["entities"] = record["entities"]
    extra.update({flag: True for flag in _FLAGS if record.get(flag)})
    extra.update({key: record[key] for key in sorted(record.keys() - _KNOWN_KEYS)})
    extra.update(codec.read_object(own.fields.get("extra"), "extra"))
    if own.replaces[1:]:
        extra["replaces"] = list(own.replaces[1:])
    return extra


# ------------------------------------------------------------------ writing


def writing(
    memory: Memory,
    module: ModuleType,
    *,
    place: str | None,
    supersedes: str | None,
) -> dict[str, object]:
    """Returns a memory as arguments of the library, beside its text and type.

    Args:
        memory: The memory.
        module: The library, for its classes.
        place: When its first record was written, which is its place in the store's order.
        supersedes: The record this one is written in place of.

    Raises:
        StoreError: A key of its metadata is one of echoless.
    """
    taken = sorted(
        {REPLACES, CREATED, ACCESS, IMPORTANCE, FIELDS, SUPERSEDES} & set(memory.metadata)
    )
    if taken:
        raise StoreError(
            f"{memory.id!r} has the metadata key {taken[0]!r}, in which echoless keeps what "
            "shodh-memory has no place for. Rename the key; nothing was changed."
        )
    listed: Any = memory.extra.get("replaces")
    others = list(listed) if _are_texts(listed) else []
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
    return {**taken_over, "tags": list(memory.tags), "metadata": metadata}


def _fields(memory: Memory, extra: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the fields that have neither an argument nor a key of their own."""
    plain = Memory(id=memory.id, content="")
    fields: dict[str, Json] = {
        name: codec.field_to_json(memory, name)
        for name in _OWN_FIELDS
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
