"""The records of a collection of Chroma, and the keys of its metadata.

They are read from a private copy and written by the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from echoless.core.batches import batched
from echoless.core.model import Json
from echoless.core.text import unreadable
from echoless.stores import files
from echoless.stores.field_map import PLAIN, FieldMap, presets
from echoless_stores.chroma import folder as folders
from echoless_stores.chroma.folder import speaking
from echoless_stores.live.payload import OWN
from echoless_stores.vector_record import UNNAMED, Record, RecordLayout, difference
from echoless_stores.vector_store import RecordDriver, Written

if TYPE_CHECKING:
    import numpy as np
    from chromadb.api.client import Client
    from numpy.typing import NDArray

DOCUMENT: Final = "chroma:document"
"""Key under which Chroma itself keeps the text of a record in its tables."""

FIELDS: Final = tuple(name for name in PLAIN if name != "content")
"""Fields stored in metadata; with a map `content` may be one too."""

_PREFIX: Final = f"{OWN}."
"""Prefix of the metadata keys for fields the owner's layout has no key for."""

_INTEGERS: Final = 2**63
_RESERVED: Final = ("#", "$", "chroma:", _PREFIX)

_BATCH: Final = 1000
_FIELDS: Final = ["documents", "metadatas"]


class ChromaRecords(RecordDriver):
    """The records of one collection: of a current copy, or of the folder itself while writing."""

    lean = True

    def __init__(self, folder: Path, collection: str) -> None:
        """Opens nothing yet."""
        self._folder = folder
        self._name = collection
        self._copy: Path | None = None
        self._state: folders.State = {}
        self._client: Client | None = None
        self._collection: Any = None
        self._writing = False
        self.changed = False

    def _open(self) -> Any:
        """Returns the collection without the functions that its schema names.

        The library would make them at each write, with settings of the folder such as an address,
        and hand the texts to those for sparse vectors.
        """
        if not self._writing and self._copy and folders.state(self._folder) != self._state:
            self.close()
        if self._collection is None:
            place = self._folder
            if not self._writing:
                place, self._state = folders.copy(self._folder, self._name)
                self._copy = place
            self._client = folders.open_client(place)
            with speaking(place):
                opened = self._client.get_collection(self._name, embedding_function=None)
                opened.get_model().serialized_schema = None
                self._collection = opened
        return self._collection

    def close(self) -> None:
        """Closes the client and removes the copy it was opened on."""
        self._collection = None
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._copy is not None:
            folders.discard(self._copy)
            self._copy = None

    @property
    def configuration(self) -> Mapping[str, Json]:
        """Returns the settings of the index and of the embedding function."""
        configuration: Mapping[str, Json] = self._open().configuration_json
        return configuration

    @property
    def state(self) -> str:
        """Returns a text that changes with every write to the folder's database."""
        return files.database_state(self._folder / folders.DATABASE)

    @property
    def sizes(self) -> Mapping[str, int | None]:
        """Returns that there is one vector a record."""
        return {UNNAMED: None}

    # ------------------------------------------------------------------ reading

    def scan(self, *, vectors: bool = True) -> Iterator[Record]:
        """Yields all records, sorted by id."""
        with speaking(self._folder):
            ids = sorted(self._open().get(include=[])["ids"])
        for some in batched(ids, _BATCH):
            batch = self._read(some, vectors=vectors)
            yield from (batch[id_] for id_ in sorted(batch))

    def get(self, ids: Sequence[str]) -> dict[str, Record]:
        """Returns records by id."""
        batches = (self._read(some, vectors=True) for some in batched(ids, _BATCH))
        return {id_: record for batch in batches for id_, record in batch.items()}

    def _read(self, ids: Sequence[str], *, vectors: bool) -> dict[str, Record]:
        """Returns one batch of records by id."""
        collection = self._open()
        with speaking(self._folder):
            batch = collection.get(list(ids), include=[*_FIELDS, *["embeddings"] * vectors])
        rows = all_bytes(batch["embeddings"]) if vectors else [None] * len(batch["ids"])
        columns = zip(batch["ids"], batch["documents"], batch["metadatas"], rows, strict=True)
        return {
            id_: Record(
                id_,
                {**(metadata or {}), **({} if document is None else {DOCUMENT: document})},
                {} if vector is None else {UNNAMED: vector},
            )
            for id_, document, metadata, vector in columns
        }

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Opens the library's client on the folder itself."""
        self.close()
        self._writing = True
        try:
            self._open()
            yield
        finally:
            self.close()
            self._writing = False

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """Yields the collection; closes the client where Chroma fails in the block.

        A write that Chroma 1.5 refuses as it applies its log stays in the log, and arrives when the
        folder is opened the next time. Whoever takes the write back must see it first.
        """
        self.changed = True
        collection = self._open()
        try:
            with speaking(self._folder):
                yield collection
        except BaseException:
            self.close()
            raise

    def write(self, changed: Sequence[Written]) -> None:
        """Writes records, each by the call it needs; each call is a transaction of its own."""
        # an update cannot take a document away
        away = [n.id for n, o in changed if o and DOCUMENT in o.payload.keys() - n.payload.keys()]
        added = [new for new, old in changed if old is None or new.id in away]
        keys: list[tuple[str, dict[str, Json]]] = []
        with self._changing() as collection:
            if away:
                collection.delete(away)
            for batch in batched(added, _BATCH):
                collection.add(
                    [new.id for new in batch],
                    # a list of rows: vectors of two lengths are for the library to refuse
                    [to_rows(new.dense[UNNAMED])[0] for new in batch],
                    metadatas=[_metadata(new.payload) or None for new in batch],
                    documents=[_document(new.payload) for new in batch],
                )
            for new, old in changed:
                if old is None or new.id in away:
                    continue
                changed_keys, gone = difference(old.payload, new.payload)
                changes = {**changed_keys, **dict.fromkeys(gone)}
                if DOCUMENT not in changes and new.dense == old.dense:
                    keys.append((new.id, changes))
                    continue
                document = _document(changes)
                collection.update(
                    [new.id],
                    embeddings=to_rows(new.dense[UNNAMED]),  # else the document would be embedded
                    metadatas=[_metadata(changes)] if _metadata(changes) else None,
                    documents=None if document is None else [document],
                )
            for some in batched(keys, _BATCH):
                ids, metadata = zip(*some, strict=True)
                collection.update([*ids], embeddings=None, metadatas=[*metadata], documents=None)

    def amend(self, ids: Sequence[str], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets and takes away metadata of records, and changes nothing else of them."""
        changes = {**new, **dict.fromkeys(gone)}
        with self._changing() as collection:
            collection.update(
                [*ids], embeddings=None, metadatas=[changes] * len(ids), documents=None
            )

    def remove(self, ids: Sequence[str]) -> None:
        """Removes records."""
        with self._changing() as collection:
            collection.delete([*ids])


def _metadata(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the fields of a record without its text."""
    return {key: value for key, value in payload.items() if key != DOCUMENT}


def _document(payload: Mapping[str, Json]) -> str | None:
    """Returns the text of a record, or None."""
    document = payload.get(DOCUMENT)
    return document if isinstance(document, str) else None


def all_bytes(
    rows: NDArray[np.float64] | Sequence[NDArray[np.float64] | None],
) -> list[bytes | None]:
    """Returns the bytes of vectors the library gives as one array or as a list with gaps."""
    import numpy as np

    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.size:
        step, data = 4 * rows.shape[1], np.ascontiguousarray(rows, dtype="<f4").tobytes()
        return [data[at : at + step] for at in range(0, len(data), step)]
    return [None if row is None else np.asarray(row, dtype="<f4").tobytes() for row in rows]


def to_rows(vector: bytes) -> NDArray[np.float32]:
    """Returns a vector's bytes as the array of one row the library takes."""
    import numpy as np

    return np.frombuffer(vector, dtype="<f4").astype(np.float32)[None, :]


# ------------------------------------------------------------------ keys of the metadata


def keys_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata key of each field: the owner's, or one of echoless."""
    return {name: columns.get(name, _PREFIX + name) for name in FIELDS}


def general(field_map: FieldMap) -> RecordLayout:
    """Returns the layout of any collection, with a map.

    Raises:
        UsageError: The map names a field that has a place of its own.
    """
    columns = field_map.only(("content", *FIELDS), "a Chroma collection").columns
    content = columns.get("content", DOCUMENT)
    apart = {} if content == DOCUMENT else {DOCUMENT: "document"}
    return RecordLayout(keys_of(columns), content, DOCUMENT, apart=apart, fits=fits)


def is_mem0(field_map: FieldMap) -> bool:
    """Returns whether a map is that of mem0."""
    return field_map == presets()["mem0"]


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


def fits(key: str, value: Json) -> bool:
    """Checks whether Chroma returns a metadata value exactly as it was written."""
    if not key or key.startswith(_RESERVED) or unreadable(key):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        kinds = {type(each) for each in value}
        return len(kinds) == 1 and all(_scalar(each) for each in value)
    return _scalar(value)


def _scalar(value: Json) -> bool:
    """Checks whether Chroma returns a single value exactly; it loses the sign of -0.0."""
    match value:
        case bool():
            return True
        case str():
            return unreadable(value) is None
        case int():
            return -_INTEGERS <= value < _INTEGERS
        case float():
            return math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)
        case _:
            return False
