"""A collection of Qdrant as a store: `qdrant:///PATH?map=field:key#NAME`, and mem0's by `mem0:`.

Qdrant has no transactions: the ledger says first what will be written, and every write can be
given again. No text is ever embedded. Lineage lies in `FOLDER.NAME.echoless` beside the folder,
or for a server in the user's data folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import ForeignStore, StoreError, StoreNotFound, UsageError
from echoless.core.model import Memory
from echoless.core.own_folders import make_own
from echoless.core.sqlite import Database
from echoless.stores.base import Capabilities, OwnerView, StoreKind
from echoless.stores.field_map import PLAIN, FieldMap
from echoless.stores.files import exclusive, speaking_of
from echoless.stores.sidecar import Sidecar
from echoless_stores.qdrant.client import (
    CollectionLocation,
    ServerPoints,
    filter_among,
    in_order,
    point_id,
    read_place,
)
from echoless_stores.qdrant.folder import FolderPoints, collections_in, make_collection
from echoless_stores.vector_record import Record, RecordCodec, RecordLayout, Space
from echoless_stores.vector_store import CollectionStore, chosen

_ENTITIES: Final = "_entities"
"""End of the name of the collection in which mem0 keeps the names that occur in memories."""


class QdrantStore(StoreKind, CollectionStore):
    """Memories in any collection, with a map of its payload."""

    capabilities = Capabilities()
    summary: ClassVar[str] = (
        "a collection of Qdrant with a map, a folder or a server (extra: qdrant)"
    )
    scheme: ClassVar[str] = "qdrant"
    usual: ClassVar[str] = ""
    """Name of the collection that is opened where several are there and none is named."""

    takes_map = True

    def __init__(
        self,
        place: CollectionLocation,
        layout: RecordLayout,
        points: FolderPoints | ServerPoints | None,
    ):
        """Wraps a collection; use `open` or `create`.

        Args:
            place: With the name of the collection.
            layout: Of its payloads.
            points: None for a collection that the first write makes.
        """
        self._place = place
        self._layout = layout
        base = place.sidecar_base
        named = base.with_name(f"{base.name}.echoless")
        super().__init__(Sidecar(base if place.folder else named, path=named), points)
        self._opened = ExitStack()
        self._exact.needed = place.folder is None
        self.url = place.url(self.scheme)
        self.owner_reads = f"other programs that read {self.url}"

    # ------------------------------------------------------------------ opening

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens a collection: `FOLDER#NAME` or `HOST:PORT#NAME`, a map before the `#`."""
        return cls._open(location, create=False)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a collection; where there is none, the first write makes it."""
        return cls._open(location, create=True)

    @classmethod
    def _open(cls, location: str, *, create: bool) -> Self:
        """Opens a collection, or one that is to be made."""
        place = read_place(location)
        layout = cls.layout(place)
        if place.folder is None:
            client = ServerPoints.at(place)
            try:
                names = client.collections()
                named = cls._named(place, names, create=create)
                if named.collection in names:
                    return cls(named, layout, client.of(named.collection))
            except BaseException:
                client.close()
                raise
            client.close()
            return cls(named, layout, None)
        known = collections_in(place.folder)
        if known is None and (
            not create or (place.folder.exists() and any(place.folder.iterdir()))
        ):
            if not place.folder.exists():
                raise StoreNotFound(
                    f"{place.folder} does not exist. Check the path; a server is written "
                    f"{cls.scheme}://HOST:6333#NAME."
                )
            raise ForeignStore(
                f"{place.folder} is not a folder of Qdrant's local mode: it has no readable "
                "meta.json with collections. Check the path."
            )
        known = known or {}
        named = cls._named(place, sorted(known), create=create)
        held = known.get(named.collection)
        return cls(named, layout, None if held is None else FolderPoints(place.folder, held))

    @classmethod
    def _named(
        cls, place: CollectionLocation, names: Sequence[str], *, create: bool
    ) -> CollectionLocation:
        """Returns the place with the name of its collection; only a new one may be missing."""
        wanted = place.collection or cls.usual
        if create and not wanted:
            raise UsageError(f"Name the collection to make: {place.url(cls.scheme)}#NAME.")
        if create and wanted not in names:
            return replace(place, collection=wanted)
        own = [name for name in names if name.removesuffix(_ENTITIES) not in {*names} - {name}]
        asked = place.collection or (cls.usual if cls.usual in names else "")
        within = names if asked else own or names
        named = chosen(
            "collection",
            place.where,
            within,
            asked,
            lambda name: replace(place, collection=name).url(cls.scheme),
        )
        return replace(place, collection=named)

    @classmethod
    def layout(cls, place: CollectionLocation) -> RecordLayout:
        """Returns the layout of the collection at a place.

        Raises:
            UsageError: The map does not name the text, or names a field that has no key.
        """
        keys = dict(place.map.only(PLAIN, "a Qdrant collection").columns)
        content = keys.pop("content", "")
        if not content:
            raise UsageError(
                "Say which key of the payload holds the text: --map content=KEY, or "
                "?map=content:KEY in the URL. A collection of mem0 opens with mem0: instead of "
                "qdrant:."
            )
        return RecordLayout(keys, content)

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns the location with a map, completed from the map it has."""
        given = read_place(location)
        return str(replace(given, map=field_map.over(given.map)))

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for a folder of Qdrant's local mode."""
        return path.is_dir() and bool(collections_in(path))

    @property
    def _codec(self) -> RecordCodec:
        sizes = {} if self._driver is None else self._driver.sizes
        return RecordCodec("qdrant", self._layout, Space(f"qdrant:{self._place.collection}", sizes))

    def shaped_id(self, id_: str) -> str | None:
        """Returns an id that is a number or a UUID; None for any other."""
        return None if point_id(id_) is None else id_

    def order(self, memory: Memory) -> tuple[int, int, str]:
        """Returns the key by which a scan sorts: by number, then by UUID."""
        return in_order(memory.id)

    def _seen_view(self, sentence: str) -> OwnerView:
        return OwnerView(sentence, way="--action delete takes them out of the store.")

    def scan_records(self, names: Collection[str] | None, *, vectors: bool) -> Iterator[Record]:
        """Yields the points of some namespaces or of all; a server chooses them itself."""
        if not isinstance(self._driver, ServerPoints):
            return super().scan_records(names, vectors=vectors)
        within = None if names is None else filter_among(self._layout, names)
        return self._driver.scan(within, vectors=vectors)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _locked(self) -> Iterator[None]:
        base = self._place.sidecar_base
        with speaking_of(base):
            if self._place.folder is None:
                make_own(base.parent)
            else:
                base.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(base):
            yield

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        """Holds Qdrant's own lock of a folder too."""
        with ExitStack() as self._opened:
            if self._driver is not None:
                self._opened.enter_context(self._driver.writing())
            yield

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds points; the first ones make the collection."""
        self._must_write()
        if self._driver is None and memories:
            self._make(memories)
        super().own_put(memories)

    def _make(self, memories: Sequence[Memory]) -> None:
        """Makes the collection for the length of the first vectors."""
        sizes = sorted({len(v.data) // 4 for memory in memories for v in memory.vectors})
        if len(sizes) != 1 or not all(memory.vectors for memory in memories):
            raise StoreError(
                f"The vectors of a new collection have one length, and these have {sizes or 'none'}"
                " (field 'vectors'). Give each memory the vector of its text; nothing was changed."
            )
        (size,) = sizes
        folder, keywords = self._place.folder, bool(self._layout.owners)
        if folder is None:
            client = ServerPoints.at(self._place)
            try:
                client.create(size, keywords=keywords)
                self._driver = client
            except BaseException:
                client.close()
                raise
            return
        make_collection(folder, self._place.collection, size, keywords=keywords)
        made = FolderPoints(folder, (collections_in(folder) or {})[self._place.collection])
        self._opened.enter_context(made.writing())
        self._driver = made

    # ------------------------------------------------------------------ files

    def _databases(self) -> tuple[Database, ...]:
        return (self._driver.database,) if isinstance(self._driver, FolderPoints) else ()
