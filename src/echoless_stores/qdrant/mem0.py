"""mem0's memories in Qdrant as a store: `mem0:///PATH` and `mem0://HOST:PORT#NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from echoless.core.errors import UsageError
from echoless.stores.base import Capabilities
from echoless_stores.qdrant.client import CollectionLocation
from echoless_stores.qdrant.folder import collections_in, first_payload
from echoless_stores.qdrant.store import QdrantStore
from echoless_stores.vector_record import MEM0, RecordLayout


class Mem0QdrantStore(QdrantStore):
    """Memories of mem0."""

    summary: ClassVar[str] = "mem0's memories in Qdrant, a folder or a server (extra: qdrant)"
    capabilities = Capabilities(hides=True)
    scheme: ClassVar[str] = "mem0"
    usual: ClassVar[str] = "mem0"

    @classmethod
    def layout(cls, place: CollectionLocation) -> RecordLayout:
        """Returns mem0's layout.

        Raises:
            UsageError: The URL holds a map.
        """
        if place.map:
            raise UsageError(
                "The fields of mem0's payload are known, so mem0: takes no map. With a map it is "
                "qdrant:."
            )
        return MEM0

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for a folder of Qdrant with a memory of mem0 in the collection that is meant."""
        known = collections_in(path) if path.is_dir() else None
        if not known:
            return False
        named = known.get(cls.usual) or next(iter(known.values()))
        payload = first_payload(path, named)
        if payload is None:
            return cls.usual in known
        return all(isinstance(payload.get(key), str) for key in ("data", "hash"))
