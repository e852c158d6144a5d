"""A collection of Chroma as a store: `chroma:///path?map=field:key#collection`.

Read from a private copy, written with the library's own client, nothing ever embedded. Chroma keeps
no order, so memories come sorted by id. Lineage lies in `FOLDER.COLLECTION.echoless` beside the
folder.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import ClassVar, Final, Self

from echoless.codec import floats_to_bytes
from echoless.errors import StoreError, StoreReadOnly, UsageError
from echoless.ledger import Ledger
from echoless.model import Json, Memory
from echoless.stores import files
from echoless.stores.base import ALL, Head, Scope
from echoless.stores.chroma import folder as folders
from echoless.stores.chroma import layout as layouts
from echoless.stores.chroma import record as records
from echoless.stores.chroma.ego import protection
from echoless.stores.chroma.exact import ExactVectors, all_bytes
from echoless.stores.chroma.folder import Client, Collection, speaking
from echoless.stores.chroma.lexical import LexicalIndex
from echoless.stores.chroma.record import Record
from echoless.stores.chroma.writes import Held, Writes
from echoless.stores.field_map import FieldMap, Location, read_location
from echoless.stores.files import exclusive
from echoless.stores.link_index import LinkIndex
from echoless.stores.sidecar import BesideSidecar, Sidecar

_ALL: Final = ["embeddings", "documents", "metadatas"]
_BATCH: Final = 1000
_NAME: Final = 100
_MAP_FACT: Final = "field map"

STALE_CLIENT: Final = (
    "A program that has {} open (ego-mcp, say) keeps its old view of it, and its searches may "
    "fail: start it again. Next time stop it first."
)


class ChromaStore(BesideSidecar):
    """Memories in one collection."""

    summary: ClassVar[str] = "a collection of Chroma, ego-mcp's or any with a map (extra: chroma)"
    holds_ledger: Final = False

    def __init__(self, folder: Path, collection: str, asked: FieldMap) -> None:
        """Take up a collection that is there; use `open` or `create`."""
        self._folder = folder
        self._name = collection
        self._asked = asked
        self._sidecar = Sidecar(folder.with_name(f"{folder.name}.{_file_name(collection)}"))
        self._copy: Path | None = None
        self._state: folders.State = {}
        self._client: Client | None = None
        self._collection: Collection | None = None
        self._layout: layouts.Layout | None = None
        self._turn = RLock()
        self._writing = False
        self._changed = False
        self._links: LinkIndex | None = None
        self._written: folders.State = {}
        self._exact = ExactVectors(self._sidecar)
        self._lexical = LexicalIndex(folder.parent)
        self.url = f"chroma:///{Location(folder, collection, asked)}"

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """The location with a map, filled up from the one it has."""
        there = read_location(location)
        return str(Location(there.path, there.part, field_map.over(there.map)))

    @classmethod
    def open(cls, location: str) -> Self:
        """Open a collection: `PATH`, `PATH#COLLECTION`, with `?map=field:key` between them."""
        asked = read_location(location)
        folder = folders.found(asked.path)
        name = folders.chosen(folder, asked.part, layouts.EGO_COLLECTION)
        layouts.general(asked.map, "")
        return cls(folder, name, asked.map)

    @classmethod
    def create(cls, location: str) -> Self:
        """Open a collection, or make an empty one (and the folder) where there is none."""
        asked = read_location(location)
        folder = folders.folder_of(asked.path) or asked.path
        there = folders.collections(folder) if (folder / folders.DATABASE).is_file() else []
        if not asked.part and not there:
            raise UsageError(f"Name the collection to make: chroma:///{asked.path}#NAME.")
        if asked.part and asked.part not in there:
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
        """A folder with Chroma's database, or one with such a folder named `chroma`."""
        return path.is_dir() and folders.folder_of(path) is not None

    # ------------------------------------------------------------------ what it is

    @property
    def profile(self) -> str:
        """`ego` for ego-mcp's collection, else `safe`."""
        return self._its_layout().profile

    @property
    def folder(self) -> Path:
        """Chroma's folder."""
        return self._folder

    @property
    def is_empty(self) -> bool:
        """Whether the collection holds nothing."""
        return not self._ids()

    def protected(self, memory: Memory) -> str | None:
        """Why ego-mcp holds a memory dear; nothing protects in other collections."""
        if self._its_layout().profile != "ego":
            return None
        return protection(memory, datetime.now(UTC))

    def notes(self) -> tuple[str, ...]:
        """What went wrong with the lexical index, and who has to be started again."""
        stale = (STALE_CLIENT.format(self._folder),) if self._changed else ()
        return (*self._lexical.notes(), *stale)

    def _its_layout(self) -> layouts.Layout:
        if self._layout is None:
            collection = self._open()
            model = layouts.model_of(self._name, collection.configuration_json)
            self._exact.needed = _space(collection) == "cosine"
            asked = self._asked or _remembered(self.ledger)
            if asked:
                self._layout = layouts.general(asked, model)
            else:
                first = self._ids()[:1]
                told = self._fetch(first)[first[0]][0].metadata if first else None
                ego = layouts.is_ego(self._name, told)
                self._layout = layouts.ego(model) if ego else layouts.general(FieldMap(), model)
        return self._layout

    # ------------------------------------------------------------------ reading

    def _open(self) -> Collection:
        """The collection: of the folder itself while writing, else of a copy that is up to date."""
        if not self._writing and self._copy and folders.state(self._folder) != self._state:
            self._close_client()
        if self._collection is None:
            place = self._folder
            if not self._writing:
                place, self._state = folders.copy(self._folder, self._name)
                self._copy = place
            self._client = folders.open_client(place)
            with speaking(place):
                self._collection = self._client.get_collection(self._name, embedding_function=None)
        return self._collection

    def _close_client(self) -> None:
        self._collection = self._links = None
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._copy is not None:
            folders.discard(self._copy)
            self._copy = None

    def _ids(self) -> list[str]:
        collection = self._open()
        with speaking(self._folder):
            return sorted(collection.get(include=[])["ids"])

    def _fetch(self, ids: Sequence[str]) -> dict[str, tuple[Record, bytes | None]]:
        """Records and vectors by id."""
        collection = self._open()
        found: dict[str, tuple[Record, bytes | None]] = {}
        for start in range(0, len(ids), _BATCH):
            with speaking(self._folder):
                rows = collection.get(list(ids[start : start + _BATCH]), include=_ALL)
            vectors = all_bytes(rows["embeddings"])
            told = zip(rows["ids"], rows["documents"], rows["metadatas"], vectors, strict=True)
            for id_, document, metadata, vector in told:
                found[id_] = Record(document, dict(metadata or {})), vector
        return found

    def _memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        layout = self._its_layout()
        return {
            id_: records.decode(id_, record, self._exact.told(id_, vector), layout)
            for id_, (record, vector) in self._fetch(ids).items()
        }

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, sorted by id."""
        ids = self._ids() if scope == ALL else [head.id for head in scope.narrow(self._heads())]
        for start in range(0, len(ids), _BATCH):
            batch = self._memories(ids[start : start + _BATCH])
            yield from (batch[id_] for id_ in sorted(batch))

    def _heads(self) -> Iterator[Head]:
        """What a scope asks of each memory, sorted by id; neither texts nor vectors are read."""
        layout, collection, ids = self._its_layout(), self._open(), self._ids()
        for start in range(0, len(ids), _BATCH):
            with speaking(self._folder):
                found = collection.get(ids[start : start + _BATCH], include=["metadatas"])
            told = dict(zip(found["ids"], found["metadatas"], strict=True))
            yield from (records.head(id_, dict(told[id_] or {}), layout) for id_ in sorted(told))

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id."""
        return self._memories(sorted(set(ids)))

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        return len(self._ids()) if scope == ALL else sum(1 for _ in scope.narrow(self._heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._heads()).items()))

    def linking(self, ids: Iterable[str]) -> set[str]:
        """Ids of the memories with a link to one of these.

        Links lie in metadata that Chroma cannot search. They are read once while writing, and again
        where another program changed the folder since.
        """
        state = folders.state(self._folder)
        if self._links is None or state != self._written:
            self._links, self._written = LinkIndex(self.scan()), state
        return self._links.linking(ids)

    def as_read(
        self, id_: str, document: str, metadata: Mapping[str, Json], row: Sequence[float]
    ) -> Memory:
        """The memory that a record would read as, were it in the collection; nothing is written.

        Raises:
            BadRecord: The vector is no list of finite numbers.
        """
        layout = self._its_layout()
        vector = floats_to_bytes(list(row), f"the vector of {id_!r}")
        return records.decode(id_, Record(document, dict(metadata)), vector, layout)

    def changes(self, since: str) -> tuple[str, tuple[str, ...] | None]:
        """Whether the database is another one than before; not which records differ."""
        return files.since(files.database_state(self._folder / folders.DATABASE), since)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock, with the library's client open on the folder itself."""
        with self._turn, ExitStack() as stack:
            if not self._writing:
                self._begin_writing(stack)
            yield

    def _begin_writing(self, stack: ExitStack) -> None:
        if not folders.may_write(self._folder):
            raise StoreReadOnly(
                f"{self._folder} may not be written. Check the permissions of the folder and its "
                "files; nothing was changed."
            )
        self._its_layout()
        stack.enter_context(exclusive(self._folder))
        folders.take_back(self._folder)
        stack.enter_context(self._sidecar.writing())
        self._remember_map()
        self._close_client()
        self._writing = True
        stack.callback(self._end_writing)
        self._open()

    def _end_writing(self) -> None:
        self._close_client()
        self._writing = False

    def unfinished(self) -> tuple[Path, ...]:
        """The database or the sidecar, where a writer was stopped in the middle."""
        own = (self._folder / folders.DATABASE,) if folders.unfinished(self._folder) else ()
        return (*own, *super().unfinished())

    def take_back(self) -> None:
        """Take stopped writes back on the files themselves."""
        folders.take_back(self._folder)
        super().take_back()

    def _remember_map(self) -> None:
        """So that whoever undoes a run reads the fields the run wrote, map named or not."""
        if self._asked and _remembered(self.ledger) != self._asked:
            with self.ledger.transaction():
                self.ledger.set_fact(_MAP_FACT, json.dumps(dict(self._asked.columns)))

    def put(self, memories: Sequence[Memory]) -> None:
        """Replace or add; a record that comes back is the one it was, key by key."""
        collection, layout = self._changing(), self._its_layout()
        there = self._fetch(sorted({m.id for m in memories}))
        told = []
        for memory in memories:  # refuse before the first change
            base = records.from_native(memory) or there.get(memory.id, (Record(), None))[0]
            told.append((memory, *_prepared(memory, base, layout)))
        with self._opened_anew_on_failure(), self._lexical.step(), speaking(self._folder):
            writes = Writes(collection)
            for memory, record, vector in told:
                writes.add(memory.id, self._held(there.get(memory.id), memory.id), record, vector)
                self._lexical.put(memory.id, memory.content)
            writes.carry_out()
        self._exact.keep({m.id: v for m, _, v in told}, self._vectors([m.id for m in memories]))
        self._relink([m.id for m in memories])

    @contextmanager
    def _opened_anew_on_failure(self) -> Iterator[None]:
        """Closes the client where Chroma failed: what it took into its log before that shows then.

        A write that Chroma 1.5 refuses as it applies its log stays in the log, and arrives when the
        folder is opened the next time. Whoever takes the write back must see it first.
        """
        try:
            yield
        except BaseException:
            self._close_client()
            raise

    def _held(self, found: tuple[Record, bytes | None] | None, id_: str) -> Held | None:
        return None if found is None else (found[0], self._exact.told(id_, found[1]))

    def _vectors(self, ids: Sequence[str]) -> dict[str, bytes | None]:
        return {id_: vector for id_, (_, vector) in self._fetch(sorted(set(ids))).items()}

    def remove(self, ids: Iterable[str]) -> None:
        """Take records out."""
        collection = self._changing()
        gone = sorted(self._fetch(sorted(set(ids))))
        if not gone:
            return
        with self._opened_anew_on_failure(), self._lexical.step(), speaking(self._folder):
            collection.delete(gone)
            for id_ in gone:
                self._lexical.remove(id_)
        self._relink(gone)

    def _relink(self, ids: Sequence[str]) -> None:
        if self._links is not None:
            some = sorted(set(ids))
            self._links.update(some, self._memories(some))
            self._written = folders.state(self._folder)

    def _changing(self) -> Collection:
        self._must_write()
        self._changed = True
        return self._open()

    def close(self) -> None:
        """Close client and sidecar, and remove the copy."""
        self._close_client()
        self._sidecar.close()


def _file_name(collection: str) -> str:
    if len(collection) <= _NAME:
        return collection
    return f"{collection[:_NAME]}-{hashlib.sha256(collection.encode()).hexdigest()[:8]}"


def _remembered(ledger: Ledger) -> FieldMap:
    told = ledger.fact(_MAP_FACT)
    return FieldMap(json.loads(told)) if told else FieldMap()


def _space(collection: Collection) -> str:
    """The metric of the index: `cosine` changes vectors, see `exact.py`."""
    for index in ("hnsw", "spann"):
        settings = collection.configuration_json.get(index)
        if isinstance(settings, Mapping):
            return str(settings.get("space", ""))
    return ""


def _prepared(memory: Memory, base: Record, layout: layouts.Layout) -> tuple[Record, bytes]:
    """The record and vector to write.

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
