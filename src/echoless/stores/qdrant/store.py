"""A collection of Qdrant as a store: `qdrant:///PATH?map=field:key#NAME`, and mem0's by `mem0:`.

Qdrant has no transactions: the ledger says first what will be written, and every write can be
given again. No text is ever embedded. Lineage lies in `FOLDER.NAME.echoless` beside the folder,
or for a server in the user's data folder.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import BadRecord, ForeignStore, StoreError, StoreNotFound, UsageError
from echoless.core.model import Memory
from echoless.core.own_folders import make_own
from echoless.core.sqlite import Database
from echoless.stores import expiration, files
from echoless.stores.base import ALL, Scope, StoreKind
from echoless.stores.exact_vectors import ExactVectors
from echoless.stores.field_map import PLAIN, FieldMap
from echoless.stores.files import exclusive, speaking_of
from echoless.stores.link_index import LinkIndex
from echoless.stores.live.payload import OWN
from echoless.stores.qdrant import points as records
from echoless.stores.qdrant.client import (
    CollectionLocation,
    ServerPoints,
    filter_among,
    has_filter,
    read_place,
)
from echoless.stores.qdrant.folder import FolderPoints, collections_in, make_collection
from echoless.stores.qdrant.points import Point, PointId, Space, known_ids, point_id
from echoless.stores.record_layout import RecordLayout
from echoless.stores.sidecar import BesideSidecar, Sidecar

_IDS: Final = uuid.UUID("5b0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11")
"""Root of the ids made for memories whose id has another form, as for an object of mem0."""

_ENTITIES: Final = "_entities"
"""End of the name of the collection in which mem0 keeps the names that occur in memories."""


@dataclass(slots=True)
class _Passed:
    """Numbers of points a scan passed over."""

    empty: int = 0
    dated: int = 0
    elsewhere: int = 0


class QdrantStore(StoreKind, BesideSidecar):
    """Memories in any collection, with a map of its payload."""

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
        self._points = points
        base = place.sidecar_base
        named = base.with_name(f"{base.name}.echoless")
        sidecar = Sidecar(base if place.folder else named, path=named)
        super().__init__(sidecar)
        self._opened = ExitStack()
        self._passed = _Passed()
        self._stale: set[str] = set()
        self._links: LinkIndex | None = None
        self._linked_at = ""
        self._exact = ExactVectors(sidecar)
        self._exact.needed = place.folder is None
        self.url = place.url(self.scheme)
        of_server = place.folder is None and has_filter(layout)
        self.capabilities = replace(self.capabilities, partitioned=of_server)

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
            raise _no_folder(place.folder, cls.scheme)
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
        if not create or wanted in names:
            wanted = cls._chosen(place, names)
        elif not wanted:
            raise UsageError(f"Name the collection to make: {place.url(cls.scheme)}#NAME.")
        return replace(place, collection=wanted)

    @classmethod
    def _chosen(cls, place: CollectionLocation, names: Sequence[str]) -> str:
        """Returns the existing collection that the address means.

        Raises:
            StoreNotFound: The place holds no such collection.
            UsageError: There are several and none was named.
        """
        own = [name for name in names if name.removesuffix(_ENTITIES) not in {*names} - {name}]
        if not names:
            raise StoreNotFound(f"{place.where} holds no collection of Qdrant.")
        if not place.collection and cls.usual in names:
            return cls.usual
        if not place.collection and len(own) == 1:
            return own[0]
        if not place.collection:
            raise UsageError(
                f"{place.where} holds several collections: {', '.join(names)}. Name one, as in "
                f"{replace(place, collection=own[0] if own else names[0]).url(cls.scheme)}."
            )
        if place.collection not in names:
            raise StoreNotFound(
                f"{place.where} has no collection {place.collection!r}. It has: "
                f"{', '.join(names)}. Check the name behind the #."
            )
        return place.collection

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
    def _space(self) -> Space:
        """Returns the vectors of the collection."""
        sizes = {} if self._points is None else self._points.sizes
        return Space(f"qdrant:{self._place.collection}", sizes)

    # ------------------------------------------------------------------ reading

    def _memory(self, point: Point) -> Memory | None:
        """Returns the memory of a point; None if it has no text."""
        return records.decode(point, self._layout, self._space)

    def _exactly(self, point: Point) -> Point:
        """Returns a point with the vectors that were written, where a server changed them."""
        dense = {
            name: self._exact.original(_vector_key(point.id, name), data) or data
            for name, data in point.dense.items()
        }
        return replace(point, dense=dense)

    def _all(
        self, names: Collection[str] | None = None, *, vectors: bool = True
    ) -> Iterator[Memory]:
        """Yields memories, and counts the points that are none or that expire.

        Args:
            names: Only those of these namespaces; all by default.
            vectors: Whether their vectors are wanted.
        """
        self._passed = passed = _Passed()
        points = self._points
        if isinstance(points, ServerPoints):
            within = None if names is None else filter_among(self._layout, names)
            scanned = points.scan(within, vectors=vectors)
        else:
            scanned = iter(()) if points is None else points.scan()
        for point in scanned:
            if names is not None and records.namespace(point.payload, self._layout) not in names:
                continue
            memory = self._memory(self._exactly(point))
            if memory is None:
                passed.empty += 1
            elif expiration.expires(
                expiration.shown(point.payload, self._layout.expires), self._layout.expires
            ):
                passed.dated += 1
            elif expiration.is_hidden(point.payload) and not self.ledger.marks_of([memory.id]):
                passed.elsewhere += 1
            else:
                yield memory

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope: by number, then by UUID."""
        yield from scope.narrow(self._all(scope.names))

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id."""
        memories = map(self._memory, self._fetch(ids).values())
        return {memory.id: memory for memory in memories if memory is not None}

    def _fetch(self, ids: Iterable[str]) -> dict[PointId, Point]:
        """Returns points by id."""
        wanted = known_ids(ids)
        present = {} if self._points is None or not wanted else self._points.get(wanted)
        return {id_: self._exactly(point) for id_, point in present.items()}

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        return sum(1 for _ in scope.narrow(self._all(scope.names, vectors=False)))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        return dict(sorted(Counter(m.namespace for m in self._all(vectors=False)).items()))

    def linking(self, ids: Collection[str]) -> set[str]:
        """Returns the ids of the memories with a link to one of these.

        A server is asked for the points that can have links. A folder is read once while it is
        locked, and again where another program changed it since.
        """
        points = self._points
        if points is None:
            return set()
        keys = [OWN, *filter(None, [self._layout.keys.get("links")])]
        if isinstance(points, ServerPoints):
            return LinkIndex(self._linked(keys)).linking(ids)
        if self._links is None or self._linked_at != points.state:
            self._links, self._linked_at = LinkIndex(self._linked(keys)), points.state
        return self._links.linking(ids)

    def _linked(self, keys: Sequence[str]) -> Iterator[Memory]:
        """Yields the memories with one of some keys in their payload."""
        for point in () if self._points is None else self._points.holding(keys):
            memory = self._memory(point)
            if memory is not None:
                yield memory

    def _relink(self, ids: Collection[str]) -> None:
        """Updates the index of links for memories that were written or removed."""
        if self._links is not None and isinstance(self._points, FolderPoints):
            self._links.update(ids, self.get(ids))
            self._linked_at = self._points.state

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether a folder changed since a state; of a server nothing is known."""
        if isinstance(self._points, FolderPoints):
            return files.since(self._points.state, since)
        return uuid.uuid4().hex, None

    def remarks(self) -> tuple[str, ...]:
        """Returns how many points the last scan passed over."""
        empty, dated, elsewhere = astuple(self._passed)
        key, day = self._layout.content, self._layout.expires
        without = f"Points without a text under {key!r}, passed over: {empty}."
        return (*((without,) if empty else ()), *expiration.remarks(day, dated, elsewhere))

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
            if self._points is not None:
                self._opened.enter_context(self._points.writing())
            yield

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory with an id of Qdrant's form."""
        if point_id(memory.id) is not None:
            return memory
        return replace(memory, id=str(uuid.uuid5(_IDS, memory.id)))

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds points; a memory that was read and not changed goes back as it was.

        Raises:
            BadRecord: Qdrant cannot store the id, the text or the namespace.
            StoreError: A field or a vector has no place.
        """
        self._must_write()
        if self._points is None:
            self._make(memories)
        points = self._points
        if points is None:
            return
        present = self._fetch(memory.id for memory in memories)
        whole: list[Point] = []
        payloads: list[Point] = []
        for memory in memories:  # refuse before the first change
            point = self._prepared(memory, present)
            old = present.get(point.id)
            if old is not None and (old.dense, old.other) == (point.dense, point.other):
                if old.payload != point.payload:
                    payloads.append(replace(point, numbers=old.numbers))
            else:
                whole.append(point)
        written = {_vector_key(p.id, n): data for p in whole for n, data in p.dense.items()}
        self._exact.announce(written)
        points.write(whole)
        points.write_payloads(payloads)
        if self._exact.needed and whole:
            back = points.get([point.id for point in whole]).values()
            read = {_vector_key(p.id, n): data for p in back for n, data in p.dense.items()}
            self._exact.keep(written, read)
        self._relink([memory.id for memory in memories])

    def _prepared(self, memory: Memory, present: Mapping[PointId, Point]) -> Point:
        """Returns the point to write for a memory, hidden if the present one is."""
        id_ = point_id(memory.id)
        if id_ is None:
            raise BadRecord(
                f"Qdrant takes whole numbers and UUIDs as ids, and {memory.id!r} is neither."
            )
        old = present.get(id_)
        base = records.base_of(memory) or old
        before = None if base is None else self._memory(base)
        same_text = before is not None and before.content == memory.content
        payload = records.encode(memory, base, before, self._layout, self._space)
        if old is not None and expiration.is_hidden(old.payload):
            payload |= expiration.hiding(payload, self._layout.expires)
        dense = self._placed(memory)
        if not dense and (not same_text or (old is not None and old.dense)):
            raise StoreError(
                f"{memory.id!r} has no vector (field 'vectors'), and a search in {self.url} finds "
                "by vectors. Give it the vector of its text, by the model of the collection; "
                "nothing was changed."
            )
        other = {} if base is None else base.other
        if other and not same_text:  # sparse vectors are made of the words of the old text
            self._stale.add(memory.id)
            other = {}
        numbers = {} if old is None else old.numbers
        point = Point(id_, payload, dense, other, numbers, bare=base is not None and base.bare)
        self._insist(point, memory)
        return point

    def _insist(self, point: Point, memory: Memory) -> None:
        """Checks that a point reads back as its memory.

        Raises:
            StoreError: The memory reads back in another form.
        """
        read = self._memory(point)
        if read != memory:
            odd = [
                f.name
                for f in fields(memory)
                if getattr(memory, f.name) != getattr(read, f.name, None)
            ]
            raise StoreError(
                f"{memory.id!r} cannot be held in {self.url}: {', '.join(odd)} would read back "
                "differently. Nothing was changed."
            )

    def _placed(self, memory: Memory) -> dict[str, bytes]:
        """Returns the vectors of a memory by name.

        Raises:
            StoreError: A vector has no place, or the wrong length, or one is missing.
        """
        space = self._space
        placed: dict[str, bytes] = {}
        for vector in memory.vectors:
            name = space.slot(vector)
            length = len(vector.data) // 4
            if name is None or name in placed or space.sizes[name] != length:
                takes = ", ".join(f"{n or 'one'} of {size}" for n, size in space.sizes.items())
                raise StoreError(
                    f"{memory.id!r} carries a vector of {length} components (model "
                    f"{vector.model!r}), and {self.url} takes {takes or 'none'}. Nothing was "
                    "changed."
                )
            placed[name] = vector.data
        return placed

    def _make(self, memories: Sequence[Memory]) -> None:
        """Makes the collection for the length of the first vectors."""
        sizes = sorted({len(v.data) // 4 for memory in memories for v in memory.vectors})
        if not memories:
            return
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
                self._points = client
            except BaseException:
                client.close()
                raise
            return
        make_collection(folder, self._place.collection, size, keywords=keywords)
        made = FolderPoints(folder, (collections_in(folder) or {})[self._place.collection])
        self._opened.enter_context(made.writing())
        self._points = made

    def remove(self, ids: Iterable[str]) -> None:
        """Removes points."""
        self._must_write()
        present = sorted(self._fetch(ids), key=str)
        if self._points is not None and present:
            self._points.remove(present)
            self._relink([str(id_) for id_ in present])

    def notes(self) -> tuple[str, ...]:
        """Returns how many memories lost vectors that were made of the words of their old text."""
        if not self._stale:
            return ()
        note = (
            "Memories whose text changed and that have no sparse vector now: "
            f"{len(self._stale)}. Their owner's search by words finds them again once it has "
            "written them itself."
        )
        return (note,)

    # ------------------------------------------------------------------ files

    def _databases(self) -> tuple[Database, ...]:
        return (self._points.database,) if isinstance(self._points, FolderPoints) else ()

    def close(self) -> None:
        """Closes the collection and the sidecar."""
        if self._points is not None:
            self._points.close()
        super().close()


def _vector_key(id_: PointId, name: str) -> str:
    """Returns the key of a vector in the sidecar."""
    return f"{id_}/{name}" if name else str(id_)


def _no_folder(folder: Path, scheme: str) -> StoreNotFound | ForeignStore:
    """Returns the error for a path that is no folder of Qdrant."""
    if not folder.exists():
        return StoreNotFound(
            f"{folder} does not exist. Check the path; a server is written {scheme}://HOST:6333#NAME."
        )
    return ForeignStore(
        f"{folder} is not a folder of Qdrant's local mode: it has no readable meta.json with "
        "collections. Check the path."
    )
