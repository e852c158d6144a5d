"""mem0's memories in Qdrant as a store: `mem0:///PATH` and `mem0://HOST:PORT#NAME`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from echoless.core.errors import UsageError
from echoless.core.model import Json, canonical
from echoless.stores import expiration
from echoless.stores.base import Capabilities
from echoless.stores.ledger import Mark
from echoless.stores.qdrant.client import CollectionLocation, ServerPoints
from echoless.stores.qdrant.folder import FolderPoints, collections_in, first_payload
from echoless.stores.qdrant.points import PointId, namespace
from echoless.stores.qdrant.store import QdrantStore
from echoless.stores.record_layout import MEM0, RecordLayout

_READ: Final = 60
"""Records that mem0 2.2 reads at least for a search (`mem0/memory/main.py`)."""


class Mem0QdrantStore(QdrantStore):
    """Memories of mem0."""

    summary: ClassVar[str] = "mem0's memories in Qdrant, a folder or a server (extra: qdrant)"
    capabilities = Capabilities(hides=True)
    scheme: ClassVar[str] = "mem0"
    usual: ClassVar[str] = "mem0"

    def __init__(
        self,
        place: CollectionLocation,
        layout: RecordLayout,
        points: FolderPoints | ServerPoints | None,
    ):
        """Wraps a collection; use `open` or `create`."""
        super().__init__(place, layout, points)
        self._hidden = Counter[str]()

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

    def notes(self) -> tuple[str, ...]:
        """Returns what writes left behind, and of which owners very many memories are hidden."""
        many = [f"{name} ({times:,})" for name, times in self._hidden.items() if times >= _READ]
        crowd = (
            f"Many memories were hidden of {', '.join(many)}. mem0 reads the nearest {_READ} "
            "records, or four times as many as it is asked for, before it leaves out hidden ones, "
            "so a search may find fewer. --action delete takes them out."
        )
        return (*super().notes(), *([crowd] if many else []))

    def hide(self, marks: Sequence[Mark]) -> None:
        """Sets a past day as expiration date, and saves the former date in the payload."""
        self._must_write()
        same: dict[str, tuple[dict[str, Json], list[PointId]]] = {}
        for id_, point in self._fetch(mark.duplicate for mark in marks).items():
            if not expiration.is_hidden(point.payload):
                self._hidden[namespace(point.payload, self._layout)] += 1
                new = expiration.hiding(point.payload, self._layout.expires)
                same.setdefault(canonical(new), (new, []))[1].append(id_)
        for new, together in same.values():
            if self._points is not None:
                self._points.amend(together, new, ())

    def unhide(self, ids: Iterable[str]) -> None:
        """Sets the expiration date back, or takes it away; a day set since stays."""
        self._must_write()
        same: dict[str, tuple[dict[str, Json], list[str], list[PointId]]] = {}
        for id_, point in self._fetch(ids).items():
            if expiration.is_hidden(point.payload):
                before = expiration.shown(point.payload, self._layout.expires)
                new = {k: v for k, v in before.items() if point.payload.get(k) != v}
                gone = [key for key in point.payload if key not in before]
                same.setdefault(canonical([new, gone]), (new, gone, []))[2].append(id_)
        for new, gone, together in same.values():
            if self._points is not None:
                self._points.amend(together, new, gone)
