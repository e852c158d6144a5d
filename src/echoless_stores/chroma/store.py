"""A collection of Chroma as a store: `chroma:///path?map=field:key#collection`.

It is read from a private copy and written with the library's own client; no text is ever embedded.
Chroma keeps no order, so memories come sorted by id. Lineage lies in `FOLDER.COLLECTION.echoless`
beside the folder.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import StoreLocked, StoreReadOnly, UsageError
from echoless.core.failures import kind_of
from echoless.core.json_codec import floats_to_bytes, json_value
from echoless.core.model import Json, JsonObject, Memory
from echoless.core.timestamps import instant
from echoless.stores.base import StoreKind
from echoless.stores.field_map import FieldMap, Hiding, MappedUrl, read_location
from echoless.stores.files import exclusive
from echoless.stores.sidecar import Sidecar
from echoless_stores.chroma import driver as records
from echoless_stores.chroma import folder as folders
from echoless_stores.chroma.driver import DOCUMENT, ChromaRecords, fits, keys_of
from echoless_stores.chroma.folder import speaking
from echoless_stores.vector_record import MEM0, UNNAMED, Record, RecordCodec, RecordLayout, Space
from echoless_stores.vector_store import CollectionStore, Written, beside

COLLECTION: Final = "ego_memories"
_SIGNS: Final = frozenset({"emotion", "timestamp", "linked_ids"})
_MAP: Final = {
    "type": "category",
    "tags": "tags",
    "importance": "importance",
    "access_count": "access_count",
    "created_at": "timestamp",
    "last_accessed": "last_accessed",
    "links": "linked_ids",
}
_LINK: Final[JsonObject] = {"target_id": "", "link_type": "", "confidence": 0, "note": ""}

_USUAL_INTENSITY: Final = 0.5
_USUAL_IMPORTANCE: Final = 3
_SECOND: Final = 10**9

STALE = "lexical index is stale"


LAYOUT: Final = RecordLayout(
    keys_of(_MAP), DOCUMENT, DOCUMENT, privacy="is_private", link=_LINK, fits=fits
)
"""Layout of the collection of ego-mcp."""


def is_ego(collection: str, first: Mapping[str, Json] | None) -> bool:
    """Checks whether a collection has the layout of ego-mcp.

    Args:
        collection: Its name.
        first: Metadata of one of its records; None where it has none.
    """
    return collection == COLLECTION and (first is None or bool(_SIGNS & first.keys()))


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
    parsed = json_value(value)
    listed = parsed if isinstance(parsed, list) else value.split(",")
    return tuple(text for each in listed if (text := str(each).strip()))


class LexicalIndex:
    """The index of one data folder; does nothing where there is none."""

    def __init__(self, data: Path) -> None:
        """Takes the folder in which to look for the index."""
        self._path = data / "fts" / "memories.db"
        self._notes: list[str] = []
        self._open: sqlite3.Connection | None = None

    def notes(self) -> tuple[str, ...]:
        """Returns what went wrong, each message once."""
        return tuple(dict.fromkeys(self._notes))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Makes the changes of a block visible at its end, or not at all if it fails.

        Raises:
            StoreLocked: Another program writes to the index; nothing was changed.
        """
        kinds = (kind_of(self._path.parent), kind_of(self._path))
        if kinds != ("folder", "file"):
            if "symbolic link" in kinds:
                self._notes.append(f"{STALE} ({self._path}: it is a link, which is not followed)")
            yield
            return
        with closing(sqlite3.connect(self._path, timeout=5.0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as problem:
                if "locked" in str(problem):
                    raise StoreLocked(
                        f"{self._path} is locked by another program. Wait for it to end, or stop "
                        "it, and try again; nothing was changed."
                    ) from problem
                self._note(problem)
                yield
                return
            self._open = db
            try:
                yield
            except BaseException:
                db.rollback()
                raise
            finally:
                self._open = None
            try:
                db.commit()
            except sqlite3.Error as problem:
                self._note(problem)

    def put(self, id_: str, content: str) -> None:
        """Writes the text of a memory in place of the one it had."""
        self.remove(id_)
        self._execute("INSERT INTO memory_fts (memory_id, content) VALUES (?, ?)", (id_, content))

    def remove(self, id_: str) -> None:
        """Removes a memory."""
        self._execute("DELETE FROM memory_fts WHERE memory_id = ?", (id_,))

    def _execute(self, statement: str, values: tuple[str, ...]) -> None:
        if self._open is None:
            return
        try:
            self._open.execute(statement, values)
        except sqlite3.Error as problem:
            self._note(problem)

    def _note(self, problem: sqlite3.Error) -> None:
        self._notes.append(f"{STALE} ({self._path}: {problem})")


_MAP_FACT: Final = "field map"

STALE_CLIENT: Final = (
    "A program that has {} open (ego-mcp, say) keeps its old view of it, and its searches may "
    "fail: start it again. Next time stop it first."
)


class ChromaStore(StoreKind, CollectionStore):
    """Memories in one collection."""

    summary: ClassVar[str] = "a collection of Chroma, ego-mcp's or any with a map (extra: chroma)"
    takes_map = True
    vectorless = False

    def __init__(self, folder: Path, collection: str, asked: FieldMap, hide: Hiding = "") -> None:
        """Wraps a collection that exists; use `open` or `create`."""
        self._folder = folder
        self._name = collection
        self._asked_map = asked
        self._asked = hide
        self._records_of = ChromaRecords(folder, collection)
        super().__init__(Sidecar(beside(folder, collection)), self._records_of)
        self._known: RecordCodec | None = None
        self._lexical = LexicalIndex(folder.parent)
        self._location = MappedUrl(folder, collection, asked, hide)
        self.url = f"chroma:///{self._location}"
        self.owner_reads = f"programs that read the collection {collection}"

    @property
    def remains(self) -> str:
        """Returns where Chroma keeps removed texts.

        Its vector index is written with memory that was never set (chromadb 1.5), so a piece of
        any text of the process can lie there.
        """
        return (
            "Chroma keeps them in its write log (embeddings_queue in chroma.sqlite3), and pieces "
            "can lie in its vector index: header.bin, data_level0.bin, length.bin, link_lists.bin."
        )

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
        name = folders.named(folder, asked.part, COLLECTION)
        records.general(asked.map)
        store = cls(folder, name, asked.map, asked.hide)
        if asked.hide and records.is_mem0(store.map):
            store.close()
            raise UsageError(
                f"{location}: memories of mem0 are hidden by its own expiration date. Leave out "
                f"hide={asked.hide}."
            )
        return store

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
    def map(self) -> FieldMap:
        """Returns the map that was asked for, else that of an earlier run."""
        text = self.ledger.fact(_MAP_FACT)
        return self._asked_map or (FieldMap(json.loads(text)) if text else FieldMap())

    @property
    def _codec(self) -> RecordCodec:
        """Returns the codec of the collection, which the first call determines."""
        if self._known is None:
            configuration = self._records_of.configuration
            settings = next(
                (s for i in ("hnsw", "spann") if isinstance(s := configuration.get(i), Mapping)), {}
            )
            self._exact.needed = settings.get("space") == "cosine"  # see `ExactVectors`
            space = Space(records.model_of(self._name, configuration), self._records_of.sizes)
            self._known = RecordCodec("chroma", self.record_layout(), space)
        return self._known

    def record_layout(self) -> RecordLayout:
        """Returns the layout: of mem0 or of a map, else ego-mcp's where the first record has it."""
        if records.is_mem0(self.map):
            return replace(MEM0, fits=records.fits)
        if not self.map and self._name == COLLECTION:
            first = next(self._records_of.scan(vectors=False), None)
            if is_ego(self._name, None if first is None else first.payload):
                return LAYOUT
        return records.general(self.map)

    @property
    def profile(self) -> str:
        """Returns the profile of the layout: `ego` for ego-mcp's collection, else `safe`."""
        return "ego" if self._codec.layout is LAYOUT else "safe"

    def protected(self, memory: Memory) -> str | None:
        """Returns why ego-mcp protects a memory; other collections protect none."""
        if self.profile == "ego":
            return protection(memory, datetime.now(UTC))
        return super().protected(memory)

    def notes(self) -> tuple[str, ...]:
        """Returns what went wrong with the lexical index, and which programs to start again."""
        stale = (STALE_CLIENT.format(self._folder),) if self._records_of.changed else ()
        return (*super().notes(), *self._lexical.notes(), *stale)

    # ------------------------------------------------------------------ reading

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the key by which a scan sorts: the id alone."""
        return 0, memory.id

    def as_read(
        self, id_: str, document: str, metadata: Mapping[str, Json], row: Sequence[float]
    ) -> Memory:
        """Returns the memory a record would read as, were it in the collection; writes nothing.

        Raises:
            BadRecord: The vector is no list of finite numbers.
        """
        vector = floats_to_bytes(list(row), f"the vector of {id_!r}")
        record = Record(id_, {**metadata, records.DOCUMENT: document}, {UNNAMED: vector})
        return next(self._memories([record]))

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
        _ = self._codec  # read before the folder is locked
        with exclusive(self._folder):
            folders.take_back(self._folder)
            yield

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        """Opens the library's client on the folder itself."""
        # whoever undoes a run reads the fields it wrote, whether the map is named or not
        text = json.dumps(dict(self._asked_map.columns))
        if self._asked_map and self.ledger.fact(_MAP_FACT) != text:
            with self.ledger.transaction():
                self.ledger.set_fact(_MAP_FACT, text)
        with self._records_of.writing():
            yield

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the database or the sidecar, where a writer was stopped in the middle."""
        own = (self._folder / folders.DATABASE,) if folders.unfinished(self._folder) else ()
        return (*own, *super().unfinished())

    def take_back(self) -> None:
        """Undoes stopped writes on the files themselves."""
        folders.take_back(self._folder)
        super().take_back()

    def write_records(self, changed: Sequence[Written]) -> None:
        """Writes records, and their texts into the lexical index."""
        with self._lexical.step():
            super().write_records(changed)
            for new, _ in changed:
                self._lexical.put(new.id, self._codec.text(new.payload) or "")

    def remove_records(self, ids: Sequence[str]) -> None:
        """Removes records, and their texts from the lexical index."""
        with self._lexical.step():
            super().remove_records(ids)
            for id_ in ids:
                self._lexical.remove(id_)


def _located(location: str) -> MappedUrl:
    """Returns the parts of a location."""
    return read_location(location, takes=("map", "hide"))
