"""A collection of Chroma as a store: `chroma:///path?map=field:key#collection`.

It is read from a private copy and written with the library's own client; no text is ever embedded.
Chroma keeps no order, so memories come sorted by id. Lineage lies in `FOLDER.COLLECTION.echoless`
beside the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection as Ids
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self, cast

from echoless.core.errors import StoreError, StoreReadOnly, UsageError
from echoless.core.json_codec import floats_to_bytes
from echoless.core.model import Json, Memory
from echoless.stores import expiration, files
from echoless.stores.base import ALL, Head, OwnerView, Scope, StoreKind
from echoless.stores.chroma import ego
from echoless.stores.chroma import folder as folders
from echoless.stores.chroma import metadata as records
from echoless.stores.chroma.ego import LexicalIndex
from echoless.stores.chroma.folder import Collection, Writes, speaking
from echoless.stores.chroma.metadata import CollectionLayout, Record
from echoless.stores.exact_vectors import ExactVectors, all_bytes
from echoless.stores.field_map import FieldMap, Hiding, MappedUrl, read_location
from echoless.stores.files import exclusive
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.link_index import LinkIndex
from echoless.stores.sidecar import Sidecar

if TYPE_CHECKING:
    from chromadb.api.client import Client

_ALL: Final = ["embeddings", "documents", "metadatas"]
_BATCH: Final = 1000
_LONGEST_NAME: Final = 100
_MAP_FACT: Final = "field map"

STALE_CLIENT: Final = (
    "A program that has {} open (ego-mcp, say) keeps its old view of it, and its searches may "
    "fail: start it again. Next time stop it first."
)


class ChromaStore(StoreKind, MovesHidden):
    """Memories in one collection."""

    summary: ClassVar[str] = "a collection of Chroma, ego-mcp's or any with a map (extra: chroma)"
    takes_map = True

    def __init__(self, folder: Path, collection: str, asked: FieldMap, hide: Hiding = "") -> None:
        """Wraps a collection that exists; use `open` or `create`."""
        self._folder = folder
        self._name = collection
        self._asked_map = asked
        self._asked = hide
        name = collection
        if len(collection) > _LONGEST_NAME:
            digest = hashlib.sha256(collection.encode()).hexdigest()[:8]
            name = f"{collection[:_LONGEST_NAME]}-{digest}"
        sidecar = Sidecar(folder.with_name(f"{folder.name}.{name}"))
        super().__init__(sidecar)
        self._copy: Path | None = None
        self._state: folders.State = {}
        self._client: Client | None = None
        self._collection: Collection | None = None
        self._layout: CollectionLayout | None = None
        self._changed = False
        self._links: LinkIndex | None = None
        self._written: folders.State = {}
        self._exact = ExactVectors(sidecar)
        self._lexical = LexicalIndex(folder.parent)
        self._location = MappedUrl(folder, collection, asked, hide)
        self.url = f"chroma:///{self._location}"
        self.owner_reads = f"programs that read the collection {collection}"

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns the location with a map, completed from the map it has."""
        given = _located(location)
        return str(replace(given, map=field_map.over(given.map)))

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens a collection: `PATH`, `PATH#COLLECTION`, with `?map=field:key` between them.

        With `hide=move` behind the question mark, hidden records leave the collection.
        """
        asked = _located(location)
        folder = folders.existing(asked.path)
        name = folders.chosen(folder, asked.part, ego.COLLECTION)
        records.general(asked.map, "")
        store = cls(folder, name, asked.map, asked.hide)
        if not records.is_mem0(asked.map or _remembered(store.ledger)):
            return store
        store.close()
        if asked.hide:
            raise UsageError(
                f"{location}: memories of mem0 are hidden by its own expiration date. Leave out "
                f"hide={asked.hide}."
            )
        return cast("Self", Mem0ChromaStore(folder, name, asked.map))

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a collection, or creates an empty one (and the folder) where there is none."""
        asked = _located(location)
        folder = folders.folder_of(asked.path) or asked.path
        names = folders.collections(folder) if (folder / folders.DATABASE).is_file() else []
        if not asked.part and not names:
            raise UsageError(f"Name the collection to make: chroma:///{asked.path}#NAME.")
        if asked.part and asked.part not in names:
            folder.parent.mkdir(parents=True, exist_ok=True)
            client = folders.open_client(folder)
            try:
                with speaking(folder):
                    client.create_collection(asked.part, embedding_function=None)
            finally:
                client.close()
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for a folder with Chroma's database, or one with such a folder named `chroma`."""
        return path.is_dir() and folders.folder_of(path) is not None

    @classmethod
    def locations_in(cls, path: Path) -> list[str]:
        """Returns the location of each collection of a folder."""
        names = folders.collections(folders.existing(path))
        return [str(MappedUrl(path, name, FieldMap())) for name in names]

    # ------------------------------------------------------------------ what it is

    @property
    def profile(self) -> str:
        """Returns the profile of the layout: `ego` for ego-mcp's collection, else `safe`."""
        return self._its_layout().profile

    @property
    def folder(self) -> Path:
        """Chroma's folder."""
        return self._folder

    @property
    def is_empty(self) -> bool:
        """Returns whether the collection holds nothing."""
        return not self._ids()

    def protected(self, memory: Memory) -> str | None:
        """Returns why ego-mcp protects a memory; other collections protect none."""
        if self._its_layout().profile != "ego":
            return None
        return ego.protection(memory, datetime.now(UTC))

    def notes(self) -> tuple[str, ...]:
        """Returns what went wrong with the lexical index, and which programs to start again."""
        stale = (STALE_CLIENT.format(self._folder),) if self._changed else ()
        return (*self._lexical.notes(), *stale)

    def _its_layout(self) -> CollectionLayout:
        """Returns the layout of the collection, which the first call determines."""
        if self._layout is None:
            configuration = self._open().configuration_json
            model = records.model_of(self._name, configuration)
            settings = next(
                (s for i in ("hnsw", "spann") if isinstance(s := configuration.get(i), Mapping)), {}
            )
            self._exact.needed = settings.get("space") == "cosine"  # see `exact_vectors.py`
            asked = self._asked_map or _remembered(self.ledger)
            if records.is_mem0(asked):
                self._layout = records.mem0(model)
            elif asked:
                self._layout = records.general(asked, model)
            else:
                first = self._ids()[:1]
                metadata = self._fetch(first)[first[0]][0].metadata if first else None
                is_ego = ego.is_ego(self._name, metadata)
                plain = records.general(FieldMap(), model)
                self._layout = ego.layout_of(model) if is_ego else plain
        return self._layout

    # ------------------------------------------------------------------ reading

    def _open(self) -> Collection:
        """Returns the collection: of the folder itself while writing, else of a current copy."""
        if not self._writing and self._copy and folders.state(self._folder) != self._state:
            self._close_client()
        if self._collection is None:
            place = self._folder
            if not self._writing:
                place, self._state = folders.copy(self._folder, self._name)
                self._copy = place
            self._client = folders.open_client(place)
            with speaking(place):
                self._collection = folders.open_collection(self._client, self._name)
        return self._collection

    def _close_client(self) -> None:
        """Closes the client and removes the copy it was opened on."""
        self._collection = self._links = None
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._copy is not None:
            folders.discard(self._copy)
            self._copy = None

    def _ids(self) -> list[str]:
        """Returns all ids, sorted."""
        collection = self._open()
        with speaking(self._folder):
            return sorted(collection.get(include=[])["ids"])

    def _fetch(self, ids: Sequence[str]) -> dict[str, tuple[Record, bytes | None]]:
        """Returns records and vectors by id."""
        collection = self._open()
        result: dict[str, tuple[Record, bytes | None]] = {}
        for start in range(0, len(ids), _BATCH):
            with speaking(self._folder):
                batch = collection.get(list(ids[start : start + _BATCH]), include=_ALL)
            vectors = all_bytes(batch["embeddings"])
            rows = zip(batch["ids"], batch["documents"], batch["metadatas"], vectors, strict=True)
            for id_, document, metadata, vector in rows:
                result[id_] = Record(document, dict(metadata or {})), vector
        return result

    def _memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Returns memories by id."""
        layout = self._its_layout()
        return {
            id_: records.decode(id_, record, self._exact.original(id_, vector), layout)
            for id_, (record, vector) in self._fetch(ids).items()
        }

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the records in the scope, sorted by id."""
        ids = self._ids() if scope == ALL else [head.id for head in scope.narrow(self._heads())]
        for start in range(0, len(ids), _BATCH):
            batch = self._memories(ids[start : start + _BATCH])
            yield from (batch[id_] for id_ in sorted(batch))

    def _heads(self) -> Iterator[Head]:
        """Yields id, namespace and time of each memory, sorted by id, from the metadata alone."""
        layout, collection, ids = self._its_layout(), self._open(), self._ids()
        for start in range(0, len(ids), _BATCH):
            with speaking(self._folder):
                batch = collection.get(ids[start : start + _BATCH], include=["metadatas"])
            metadata = dict(zip(batch["ids"], batch["metadatas"], strict=True))
            for id_ in sorted(metadata):
                yield records.head(id_, dict(metadata[id_] or {}), layout)

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of records by id."""
        return self._memories(sorted(set(ids)))

    def own_count(self, scope: Scope) -> int:
        """Returns the number of records in the scope."""
        return len(self._ids()) if scope == ALL else sum(1 for _ in scope.narrow(self._heads()))

    def own_namespaces(self) -> Mapping[str, int]:
        """Returns the number of records by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._heads()).items()))

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the key by which a scan sorts: the id alone."""
        return 0, memory.id

    def _moving_url(self) -> str:
        return f"chroma:///{replace(self._location, hide='move')}"

    def linking(self, ids: Ids[str]) -> set[str]:
        """Returns the ids of the memories with a link to one of these.

        Links lie in metadata that Chroma cannot search. They are read once while writing, and again
        where another program changed the folder since.
        """
        state = folders.state(self._folder)
        if self._links is None or state != self._written:
            self._links, self._written = LinkIndex(self.own_scan(ALL)), state
        return self._links.linking(ids) | self.moved_linking(ids)

    def as_read(
        self, id_: str, document: str, metadata: Mapping[str, Json], row: Sequence[float]
    ) -> Memory:
        """Returns the memory a record would read as, were it in the collection; writes nothing.

        Raises:
            BadRecord: The vector is no list of finite numbers.
        """
        layout = self._its_layout()
        vector = floats_to_bytes(list(row), f"the vector of {id_!r}")
        return records.decode(id_, Record(document, dict(metadata)), vector, layout)

    def changes(self, since: str) -> tuple[str, tuple[str, ...] | None]:
        """Returns whether the database changed since a state, but not which records did."""
        state = files.database_state(self._folder / folders.DATABASE)
        return files.since(self._with_hidden(state), since)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the whole folder against other writers.

        Raises:
            StoreReadOnly: It may not be written.
        """
        if not folders.may_write(self._folder):
            raise StoreReadOnly(
                f"{self._folder} may not be written. Check the permissions of the folder and its "
                "files; nothing was changed."
            )
        self._its_layout()
        with exclusive(self._folder):
            folders.take_back(self._folder)
            yield

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        """Opens the library's client on the folder itself."""
        # whoever undoes a run reads the fields it wrote, whether the map is named or not
        if self._asked_map and _remembered(self.ledger) != self._asked_map:
            with self.ledger.transaction():
                self.ledger.set_fact(_MAP_FACT, json.dumps(dict(self._asked_map.columns)))
        self._close_client()
        try:
            self._open()
            yield
        finally:
            self._close_client()

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the database or the sidecar, where a writer was stopped in the middle."""
        own = (self._folder / folders.DATABASE,) if folders.unfinished(self._folder) else ()
        return (*own, *super().unfinished())

    def take_back(self) -> None:
        """Undoes stopped writes on the files themselves."""
        folders.take_back(self._folder)
        super().take_back()

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds records; a record that was read and not changed stays the same."""
        collection, layout = self._changing(), self._its_layout()
        ids = sorted({m.id for m in memories})
        present = self._fetch(ids)
        prepared = []
        for memory in memories:  # refuse before the first change
            base = records.from_native(memory) or present.get(memory.id, (Record(), None))[0]
            record, vector = _prepared(memory, base, layout)
            if layout.fields.expires and expiration.is_hidden(
                present.get(memory.id, (Record(),))[0].metadata
            ):
                hidden = expiration.hiding(record.metadata, layout.fields.expires)
                record = Record(record.document, {**record.metadata, **hidden})
            prepared.append((memory, record, vector))
        with self._opened_anew_on_failure(), self._lexical.step(), speaking(self._folder):
            writes = Writes(collection)
            for memory, record, vector in prepared:
                old = present.get(memory.id)
                if old is not None:
                    old = old[0], self._exact.original(memory.id, old[1])
                writes.add(memory.id, old, record, vector)
                self._lexical.put(memory.id, memory.content)
            writes.carry_out()
        read = {id_: vector for id_, (_, vector) in self._fetch(ids).items()}
        self._exact.keep({m.id: vector for m, _, vector in prepared}, read)
        self._relink(ids)

    @contextmanager
    def _opened_anew_on_failure(self) -> Iterator[None]:
        """Closes the client where Chroma fails in the block, so that the folder is opened anew.

        A write that Chroma 1.5 refuses as it applies its log stays in the log, and arrives when the
        folder is opened the next time. Whoever takes the write back must see it first.
        """
        try:
            yield
        except BaseException:
            self._close_client()
            raise

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes records."""
        collection = self._changing()
        present = sorted(self._fetch(sorted(set(ids))))
        if not present:
            return
        with self._opened_anew_on_failure(), self._lexical.step(), speaking(self._folder):
            collection.delete(present)
            for id_ in present:
                self._lexical.remove(id_)
        self._relink(present)

    def _relink(self, ids: Sequence[str]) -> None:
        """Updates the index of links for memories that were written or removed."""
        if self._links is not None:
            self._links.update(ids, self._memories(ids))
            self._written = folders.state(self._folder)

    def _changing(self) -> Collection:
        """Returns the collection for a change.

        Raises:
            StoreError: Outside of `writing`.
        """
        self._must_write()
        self._changed = True
        return self._open()

    def close(self) -> None:
        """Closes client and sidecar, and removes the copy."""
        self._close_client()
        super().close()


def _located(location: str) -> MappedUrl:
    """Returns the parts of a location."""
    return read_location(location, takes=("map", "hide"))


class Mem0ChromaStore(ChromaStore):
    """Memories of mem0 in a collection, which mem0 stops seeing when they are hidden."""

    def __init__(self, folder: Path, collection: str, asked: FieldMap) -> None:
        """Wraps a collection that exists; use `ChromaStore.open`."""
        super().__init__(folder, collection, asked)
        self._dated = self._elsewhere = 0

    @property
    def owner_view(self) -> OwnerView:
        """Returns that mem0 leaves out hidden memories, as it reads the date of expiration."""
        return OwnerView(
            "Hidden memories have a past date of expiration, so searches and lists of mem0 leave "
            "them out. `get` with their id returns them. `echoless undo` sets the date back."
        )

    def _ids(self) -> list[str]:
        """Returns the ids of the memories mem0 does not hide by itself, sorted."""
        collection = self._open()
        with speaking(self._folder):
            batch = collection.get(include=["metadatas"])
        key = records.mem0("").fields.expires
        held = dict(zip(batch["ids"], batch["metadatas"], strict=True))
        own = {id_: expiration.shown(metadata or {}, key) for id_, metadata in held.items()}
        hidden = [id_ for id_, metadata in held.items() if expiration.is_hidden(metadata or {})]
        marks = self.ledger.marks_of(hidden)
        foreign = {id_ for id_ in hidden if id_ not in marks}
        dated = {id_ for id_, metadata in own.items() if expiration.expires(metadata, key)}
        self._dated, self._elsewhere = len(dated - foreign), len(foreign)
        return sorted(own.keys() - dated - foreign)

    def remarks(self) -> tuple[str, ...]:
        """Returns how many memories the last scan passed over."""
        return expiration.remarks("expiration_date", self._dated, self._elsewhere)

    def hide(self, marks: Sequence[Mark]) -> None:
        """Sets a past day as expiration date, and saves the former date in the record."""
        for id_, metadata in self._metadata(mark.duplicate for mark in marks).items():
            if not expiration.is_hidden(metadata):
                hidden = expiration.hiding(metadata, self._its_layout().fields.expires)
                self._amend(id_, metadata, {**metadata, **hidden})

    def unhide(self, ids: Iterable[str]) -> None:
        """Sets the expiration date back, or takes it away; a day set since stays."""
        for id_, metadata in self._metadata(ids).items():
            if expiration.is_hidden(metadata):
                shown = expiration.shown(metadata, self._its_layout().fields.expires)
                self._amend(id_, metadata, shown)

    def _metadata(self, ids: Iterable[str]) -> dict[str, dict[str, Json]]:
        """Returns metadata by id."""
        present = self._fetch(sorted(set(ids)))
        return {id_: dict(record.metadata) for id_, (record, _) in present.items()}

    def _amend(self, id_: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> None:
        """Changes the metadata of a record, and nothing else of it."""
        changes = {key: value for key, value in new.items() if old.get(key) != value}
        changes |= dict.fromkeys(old.keys() - new.keys())  # None takes a key away
        collection = self._changing()
        with self._opened_anew_on_failure(), speaking(self._folder):
            collection.update([id_], embeddings=None, metadatas=[changes], documents=None)


def _remembered(ledger: Ledger) -> FieldMap:
    """Returns the map an earlier run wrote with, or an empty one."""
    text = ledger.fact(_MAP_FACT)
    return FieldMap(json.loads(text)) if text else FieldMap()


def _prepared(memory: Memory, base: Record, layout: CollectionLayout) -> tuple[Record, bytes]:
    """Returns the record and vector to write.

    Raises:
        StoreError: The memory has no vector, or several.
    """
    if len(memory.vectors) != 1:
        raise StoreError(
            f"Chroma keeps exactly one vector a record, and {memory.id!r} has "
            f"{len(memory.vectors)} (field 'vectors'). Give it the vector of its text, by the "
            "model of the collection; nothing was changed."
        )
    (vector,) = memory.vectors
    record = records.encode(memory, base, layout)
    metadata = dict(record.metadata)
    if vector.model != layout.model:
        metadata[records.MODEL] = vector.model
    else:
        metadata.pop(records.MODEL, None)
    return Record(record.document, metadata), vector.data
