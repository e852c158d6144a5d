"""How a collection writes a memory: the owner's keys, and those of echoless for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from echoless.model import Json, JsonObject
from echoless.stores.field_map import FieldMap

OWN: Final = "echoless."
"""Begins the metadata keys of fields the owner's layout has no key for."""

FIELDS: Final = (
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
)
"""Fields that lie in metadata; `content` may, with a map."""

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


@dataclass(frozen=True, slots=True)
class Layout:
    """What is where in a collection.

    Attributes:
        profile: Name of the profile it proposes.
        map: Metadata key by field.
        model: What the vectors' model is called where a record does not say.
        privacy: Key of a truth value that parts memories into the namespaces `private` and
            `public`; empty where there is none.
        link: A link as the owner writes them.
    """

    profile: str
    map: FieldMap
    model: str
    privacy: str = ""
    link: JsonObject | None = None

    def key(self, name: str) -> str:
        """The metadata key of a field."""
        return self.map.columns.get(name, OWN + name)

    @property
    def keys(self) -> frozenset[str]:
        """Keys that hold fields."""
        return frozenset({*map(self.key, FIELDS), *self.map.columns.values(), self.privacy} - {""})


def general(field_map: FieldMap, model: str) -> Layout:
    """Any collection, with a map.

    Raises:
        UsageError: The map names a field that has a place of its own.
    """
    return Layout("safe", field_map.only(("content", *FIELDS), "a Chroma collection"), model)


def ego(model: str) -> Layout:
    """The collection of ego-mcp."""
    return Layout("ego", _EGO_MAP, model, "is_private", _EGO_LINK)


def is_ego(collection: str, first: Mapping[str, Json] | None) -> bool:
    """Whether a collection is laid out like ego-mcp's.

    Args:
        collection: Its name.
        first: Metadata of one of its records; None where it has none.
    """
    return collection == EGO_COLLECTION and (first is None or bool(_EGO_SIGNS & first.keys()))


def model_of(collection: str, configuration: Mapping[str, Json]) -> str:
    """What to call the model of a collection's vectors.

    Chroma keeps the name of its own embedding functions; of any other nothing is known, and the
    collection stands for the model: vectors of two collections never meet.
    """
    used = configuration.get("embedding_function")
    if isinstance(used, Mapping) and used.get("type") == "known":
        settings = used.get("config")
        named = settings.get("model_name") if isinstance(settings, Mapping) else None
        return ":".join(str(each) for each in (used.get("name"), named) if each)
    return f"chroma:{collection}"
