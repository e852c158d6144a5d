"""Layouts: which field of a payload holds which field of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from echoless.core.model import Json
from echoless.stores.field_map import PRESETS, FieldMap
from echoless.stores.live.mem0 import SCOPES


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of a memory's fields in a payload.

    Attributes:
        map: Key by field. Fields without one are kept under the key `echoless`.
        owners: Keys whose values together are the namespace; empty where it is one field or none.
        digest: Key of the MD5 of the text, which follows the text; empty for none.
        derived: Keys that are made from the text by the owner, and dropped when the text changes.
        expires: Key of the day from which on the owner hides a record; empty for none.
    """

    map: FieldMap
    owners: tuple[str, ...] = ()
    digest: str = ""
    derived: tuple[str, ...] = ()
    expires: str = ""

    @property
    def content(self) -> str:
        """Returns the key of the text."""
        return self.map.columns["content"]

    @property
    def fields(self) -> dict[str, str]:
        """Returns the key by field, without the text."""
        return {name: key for name, key in self.map.columns.items() if name != "content"}

    @property
    def taken(self) -> frozenset[str]:
        """Returns the keys that hold no metadata."""
        named = (*self.map.columns.values(), *self.owners, self.digest, *self.derived, self.expires)
        return frozenset({*named, *(("id",) if self.owners else ())} - {""})


MEM0: Final = Layout(
    map=FieldMap({k: v for k, v in PRESETS["mem0"].columns.items() if k != "namespace"}),
    owners=SCOPES,
    digest="hash",
    derived=("text_lemmatized",),
    expires="expiration_date",
)
"""Payload of mem0 2.2 (`mem0/memory/main.py`)."""


def is_mem0(payload: Mapping[str, Json]) -> bool:
    """Checks whether a payload is one of mem0's memories."""
    return isinstance(payload.get("data"), str) and isinstance(payload.get("hash"), str)
