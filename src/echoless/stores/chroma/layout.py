"""The metadata keys of a collection: those of its owner, and those of echoless for the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from echoless.core.model import Json, JsonObject, Memory
from echoless.core.timestamps import instant
from echoless.stores.field_map import PLAIN, PRESETS, FieldMap
from echoless.stores.live.mem0 import SCOPES

OWN: Final = "echoless."
"""Prefix of the metadata keys for fields the owner's layout has no key for."""

FIELDS: Final = tuple(name for name in PLAIN if name != "content")
"""Fields stored in metadata; with a map `content` may be one too."""

EGO_COLLECTION: Final = "ego_memories"
_EGO_SIGNS: Final = frozenset({"emotion", "timestamp", "linked_ids"})
_EGO_MAP: Final = FieldMap(
    {
        "type": "category",
        "tags": "tags",
        "importance": "importance",
        "access_count": "access_count",
        "created_at": "timestamp",
        "last_accessed": "last_accessed",
        "links": "linked_ids",
    }
)
_EGO_LINK: Final[JsonObject] = {"target_id": "", "link_type": "", "confidence": 0, "note": ""}

_USUAL_INTENSITY: Final = 0.5
_USUAL_IMPORTANCE: Final = 3
_SECOND: Final = 10**9


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


def ego(model: str) -> Layout:
    """Returns the layout of the collection of ego-mcp."""
    return Layout("ego", _EGO_MAP, model, "is_private", _EGO_LINK)


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


def is_ego(collection: str, first: Mapping[str, Json] | None) -> bool:
    """Checks whether a collection has the layout of ego-mcp.

    Args:
        collection: Its name.
        first: Metadata of one of its records; None where it has none.
    """
    return collection == EGO_COLLECTION and (first is None or bool(_EGO_SIGNS & first.keys()))


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


def protection(memory: Memory, now: datetime) -> str | None:
    """Returns why ego-mcp's owner wants a memory protected, as a half sentence, or None.

    A memory is protected if its intensity is 0.6 or more and persons are involved, if it was
    recalled three times or more though its importance is 2 or less, or if what it anticipates lies
    in the future.

    Args:
        memory: Of ego-mcp's layout.
        now: With an offset.
    """
    metadata = memory.metadata
    try:
        intensity = float(metadata.get("intensity"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        intensity = _USUAL_INTENSITY
    if intensity >= 0.6 and persons(metadata.get("involved_person_ids")):
        return "it is felt strongly and involves persons"
    importance = _USUAL_IMPORTANCE if memory.importance is None else memory.importance
    if memory.access_count >= 3 and importance <= 2:
        return "it is recalled often though it counts as unimportant"
    anticipated = metadata.get("anticipated_at")
    moment = instant(anticipated) if isinstance(anticipated, str) else None
    if moment is not None and moment > int(now.timestamp() * _SECOND):
        return "what it anticipates is still to come"
    return None


def persons(value: Json) -> tuple[str, ...]:
    """Returns the ids of persons in a text that holds a JSON list or names with commas."""
    if not isinstance(value, str):
        return ()
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    listed = parsed if isinstance(parsed, list) else value.split(",")
    return tuple(text for each in listed if (text := str(each).strip()))
