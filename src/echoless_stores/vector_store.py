"""A store over the records of one collection; a kind brings a driver and a layout.

The databases have no transactions: the ledger says first what will be written, and every write can
be given again. No text is ever embedded.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from echoless.core.batches import batched
from echoless.core.errors import BadRecord, StoreError, StoreNotFound, UsageError
from echoless.core.groups import grouped
from echoless.core.model import Json, Memory, canonical
from echoless.stores import expiration, files
from echoless.stores.base import ALL, Head, OwnerView, Scope
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.ledger import Mark
from echoless.stores.link_index import LinkIndex
from echoless.stores.sidecar import Sidecar
from echoless_stores.live.payload import OWN
from echoless_stores.vector_record import Record, RecordCodec, difference

_BATCH: Final = 1000
_LONGEST_NAME: Final = 100
_READ: Final = 60
"""Records that mem0 2.2 reads at least for a search (`mem0/memory/main.py`)."""

_KEY: Final = "vector:"
"""Begins the name of a fact that holds a vector."""

IDS: Final = uuid.UUID("5b0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11")
"""Root of the ids made for memories whose id has another form, as for an object of mem0."""

Written: TypeAlias = "tuple[Record, Record | None]"
"""A record to write, and the present one."""


class RecordDriver(ABC):
    """The records of one collection: the part of a store that its library or server does.

    Attributes:
        lean: Whether a scan without vectors costs much less, so that a scope is chosen by one.
    """

    lean: ClassVar[bool] = False

    @property
    @abstractmethod
    def state(self) -> str:
        """Returns a text that changes with every write, whoever writes; empty if not known."""

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int | None]:
        """Returns the number of components of the vectors by name; None where not known."""

    @abstractmethod
    def scan(self, *, vectors: bool = True) -> Iterator[Record]:
        """Yields all records in the order of their ids."""

    @abstractmethod
    def get(self, ids: Sequence[str]) -> dict[str, Record]:
        """Returns records by id; unknown ones are left out."""

    def holding(self, keys: Sequence[str]) -> Iterator[Record]:
        """Yields the records with one of some keys in their payload."""
        scanned = self.scan(vectors=False)
        return (record for record in scanned if not record.payload.keys().isdisjoint(keys))

    def writing(self) -> AbstractContextManager[None]:
        """Opens the collection for writing inside the block."""
        return nullcontext()

    @abstractmethod
    def write(self, changed: Sequence[Written]) -> None:
        """Writes records that differ from the present ones, and waits for the end of it."""

    @abstractmethod
    def amend(self, ids: Sequence[str], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets and takes away fields of records, with the vectors as they are."""

    @abstractmethod
    def remove(self, ids: Sequence[str]) -> None:
        """Removes records."""

    @abstractmethod
    def close(self) -> None:
        """Releases files and connections; may be called twice."""


# ------------------------------------------------------------------ vectors to the byte


class ExactVectors:
    """Vectors byte for byte, in collections whose index changes them.

    An index by cosine keeps a vector as a direction. Chroma gives direction times length back, off
    by a unit in the last place for about half the vectors (chromadb 1.5.9); a Qdrant server gives
    the direction alone, and leaves a vector of length 1 as it is. The vector that was written is
    kept in the sidecar, so that undo restores it exactly.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        """Keeps them in a sidecar."""
        self._sidecar = sidecar
        self.needed = False

    def original(self, id_: str, read: bytes) -> bytes:
        """Returns the vector that was written if the one read is made of it, else the one read."""
        text = self._sidecar.ledger.fact(_KEY + id_) if self.needed else None
        written = read if text is None else base64.b64decode(text)
        return written if _agree(written, read) else read

    def announce(self, written: Mapping[str, bytes]) -> None:
        """Keeps vectors, before they are written: a stopped writer leaves none that is not known.

        Args:
            written: Vectors by id, as they will be handed over.
        """
        if not self.needed or not written:
            return
        ledger = self._sidecar.ledger
        with ledger.transaction():
            for id_, vector in written.items():
                ledger.set_fact(_KEY + id_, base64.b64encode(vector).decode("ascii"))


def _agree(written: bytes, read: bytes) -> bool:
    """Checks whether a vector is what an index makes of another one, as far as float32 tells.

    It has the same direction, and the same length or the length 1.
    """
    import numpy as np

    if written == read:
        return True
    one, other = np.frombuffer(written, dtype="<f4"), np.frombuffer(read, dtype="<f4")
    if one.shape != other.shape:
        return False
    length, new = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if not np.isclose(new, (length, 1.0), rtol=1e-5).any():
        return False
    if length:
        one = one * (new / length)
    scale = float(np.abs(one).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6 * scale))


# ------------------------------------------------------------------ the store


@dataclass(slots=True)
class _Passed:
    """Numbers of records a scan passed over."""

    empty: int = 0
    dated: int = 0
    elsewhere: int = 0


class CollectionStore(MovesHidden):
    """Memories in a collection of records with vectors.

    A record of a layout with a day of expiration is hidden by it, and stays where it is.

    Attributes:
        vectorless: Whether the database takes a record without a vector.
    """

    vectorless: ClassVar[bool] = True

    def __init__(self, sidecar: Sidecar, driver: RecordDriver | None) -> None:
        """Takes the lineage and the records.

        Args:
            sidecar: Closed with the store.
            driver: As above; None for a collection that the first write makes.
        """
        super().__init__(sidecar)
        self._driver = driver
        self._exact = ExactVectors(sidecar)
        self._passed = _Passed()
        self._stale: set[str] = set()
        self._links = LinkIndex()
        self._linked_at = ""
        self._crowd = Counter[str]()

    @property
    def _codec(self) -> RecordCodec:
        """Returns the codec of the collection."""
        raise NotImplementedError

    def shaped_id(self, id_: str) -> str | None:
        """Returns an id as the database takes it; None where it takes no such id."""
        return id_

    @property
    def owner_view(self) -> OwnerView:
        """Returns that mem0 leaves out hidden memories, as it reads the date of expiration."""
        if not self._codec.layout.expires:
            return super().owner_view
        return OwnerView(
            "Hidden memories have a past date of expiration, so searches and lists of mem0 leave "
            "them out. `get` with their id returns them. `echoless undo` sets the date back."
        )

    # ------------------------------------------------------------------ reading

    def scan_records(self, names: Collection[str] | None, *, vectors: bool) -> Iterator[Record]:
        """Yields the records of some namespaces or of all; it may yield others."""
        if self._driver is None or (names is not None and not names):
            return iter(())
        return self._driver.scan(vectors=vectors)

    def _records(self, names: Collection[str] | None, *, vectors: bool = False) -> Iterator[Record]:
        """Yields the records that are memories, and counts those that are none or that expire.

        Args:
            names: Only those of these namespaces; None for all.
            vectors: Whether their vectors are wanted.
        """
        self._passed = passed = _Passed()
        codec, day = self._codec, self._codec.layout.expires
        for record in self.scan_records(names, vectors=vectors):
            payload = record.payload
            if names is not None and codec.namespace(payload) not in names:
                continue
            if codec.text(payload) is None:
                passed.empty += 1
            elif expiration.expires(expiration.shown(payload, day), day):
                passed.dated += 1
            elif day and expiration.is_hidden(payload) and not self.ledger.marks_of([record.id]):
                passed.elsewhere += 1
            else:
                yield record

    def _memories(self, records: Iterable[Record]) -> Iterator[Memory]:
        """Yields the memories of records, with the vectors that were written."""
        decoded = map(self._codec.decode, map(self._exactly, records))
        return (memory for memory in decoded if memory is not None)

    def _exactly(self, record: Record) -> Record:
        """Returns a record with the vectors that were written, where the database changed them."""
        if not self._exact.needed:
            return record
        dense = {
            name: self._exact.original(_vector_key(record.id, name), data)
            for name, data in record.dense.items()
        }
        return replace(record, dense=dense)

    def _heads(self, names: Collection[str] | None) -> Iterator[Head]:
        """Yields id, namespace and time of memories."""
        return map(self._codec.head, self._records(names))

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the memories in the scope, by id."""
        if scope == ALL or self._driver is None or not self._driver.lean:
            yield from scope.narrow(self._memories(self._records(scope.names, vectors=True)))
            return
        ids = [head.id for head in scope.narrow(self._heads(scope.names))]
        for batch in batched(ids, _BATCH):
            held = self.own_get(batch)
            yield from (held[id_] for id_ in batch if id_ in held)

    def _fetch(self, ids: Iterable[str]) -> dict[str, Record]:
        """Returns records by id."""
        wanted = sorted({id_ for id_ in ids if self.shaped_id(id_) == id_})
        present = {} if self._driver is None or not wanted else self._driver.get(wanted)
        return {id_: self._exactly(record) for id_, record in present.items()}

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id."""
        memories = map(self._codec.decode, self._fetch(ids).values())
        return {memory.id: memory for memory in memories if memory is not None}

    def own_count(self, scope: Scope) -> int:
        """Returns the number of memories in the scope."""
        return sum(1 for _ in scope.narrow(self._heads(scope.names)))

    def own_namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._heads(None)).items()))

    def linking(self, ids: Collection[str]) -> set[str]:
        """Returns the ids of the memories with a link to one of these.

        A collection is read once, and again where another program changed it since.
        """
        driver = self._driver
        if driver is None:
            return set()
        if not driver.state or self._linked_at != driver.state:
            keys = [OWN, *filter(None, [self._codec.layout.keys.get("links")])]
            self._linked_at = driver.state
            self._links = LinkIndex(self._memories(driver.holding(keys)))
        return self._links.linking(ids) | self.moved_linking(ids)

    def _relink(self, ids: Collection[str]) -> None:
        """Updates the index of links for memories that were written or removed."""
        if self._linked_at and self._driver is not None:
            self._links.update(ids, self.own_get(ids))
            self._linked_at = self._driver.state

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the collection changed since a state, but not which records did."""
        state = "" if self._driver is None else self._driver.state
        return files.since(self._with_hidden(state), since) if state else (uuid.uuid4().hex, None)

    def remarks(self) -> tuple[str, ...]:
        """Returns how many records the last scan passed over."""
        empty, dated, elsewhere = astuple(self._passed)
        layout = self._codec.layout
        without = f"Points without a text under {layout.content!r}, passed over: {empty}."
        dates = expiration.remarks(layout.expires, dated, elsewhere)
        return (*((without,) if empty else ()), *dates, *super().remarks())

    # ------------------------------------------------------------------ writing

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory with an id of the form that the database takes."""
        return replace(memory, id=self.shaped_id(memory.id) or str(uuid.uuid5(IDS, memory.id)))

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds records; a memory that was read and not changed goes back as it was.

        Raises:
            BadRecord: The database cannot store the id, the text or the namespace.
            StoreError: A field or a vector has no place.
        """
        self._must_write()
        present = self._fetch(memory.id for memory in memories)
        made = [self._prepared(each, present) for each in memories]  # refuse before any change
        pairs = [(new, present.get(new.id)) for new in made]
        changed = [(new, old) for new, old in pairs if old is None or not new.says(old)]
        self._exact.announce(
            {
                _vector_key(new.id, name): data
                for new, old in changed
                if old is None or not new.has_vectors_of(old)
                for name, data in new.dense.items()
            }
        )
        self.write_records(changed)
        self._relink([new.id for new in made])

    def write_records(self, changed: Sequence[Written]) -> None:
        """Writes records that differ from the present ones."""
        if self._driver is not None and changed:
            self._driver.write(changed)

    def _prepared(self, memory: Memory, present: Mapping[str, Record]) -> Record:
        """Returns the record to write for a memory, hidden if the present one is.

        Raises:
            BadRecord: The database takes no such id.
            StoreError: The memory has no vector, or reads back in another form.
        """
        if self.shaped_id(memory.id) is None:
            raise BadRecord(
                f"{self.url} takes whole numbers and UUIDs as ids, and {memory.id!r} is neither."
            )
        codec, old = self._codec, present.get(memory.id)
        base = codec.saved(memory) or old
        before = None if base is None else codec.decode(base)
        same_text = before is not None and before.content == memory.content
        payload = codec.encode(memory, base, before)
        if old is not None and expiration.is_hidden(old.payload):
            payload |= expiration.hiding(payload, codec.layout.expires)
        dense = self._placed(memory)
        missed = not (same_text and self.vectorless) or (old is not None and old.dense)
        if missed and not dense:
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
        bare = base is not None and base.bare
        record = Record(memory.id, payload, dense, other, numbers, bare)
        read = codec.decode(record)
        if read != memory:
            names = (each.name for each in fields(memory) if each.compare)
            odd = [name for name in names if getattr(memory, name) != getattr(read, name, None)]
            raise StoreError(
                f"{memory.id!r} cannot be held in {self.url}: {', '.join(odd)} would read back "
                "differently. Nothing was changed."
            )
        return record

    def _placed(self, memory: Memory) -> dict[str, bytes]:
        """Returns the vectors of a memory by name.

        Raises:
            StoreError: A vector has no place, or the wrong length, or one is missing.
        """
        space = self._codec.space
        placed: dict[str, bytes] = {}
        for vector in memory.vectors:
            name = space.slot(vector)
            length = len(vector.data) // 4
            if name is None or name in placed or space.sizes[name] not in {None, length}:
                takes = ", ".join(f"{n or 'one'} of {s or 'any'}" for n, s in space.sizes.items())
                raise StoreError(
                    f"{memory.id!r} carries a vector of {length} components (field 'vectors', "
                    f"model {vector.model!r}), and {self.url} takes {takes or 'none'}. Nothing was "
                    "changed."
                )
            placed[name] = vector.data
        return placed

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes records."""
        self._must_write()
        present = [*self._fetch(ids)]
        if present:
            self.remove_records(present)
            self._relink(present)

    def remove_records(self, ids: Sequence[str]) -> None:
        """Removes records that are there."""
        if self._driver is not None:
            self._driver.remove(ids)

    # ------------------------------------------------------------------ hidden by a date

    def hide(self, marks: Sequence[Mark]) -> None:
        """Sets a past day as expiration date, and saves the former date in the payload."""
        layout = self._codec.layout
        if not layout.expires:
            super().hide(marks)
            return
        changes: dict[str, tuple[dict[str, Json], list[str]]] = {}
        for id_, record in self._fetch(mark.duplicate for mark in marks).items():
            if not expiration.is_hidden(record.payload):
                self._crowd[self._codec.namespace(record.payload)] += 1
                changes[id_] = expiration.hiding(record.payload, layout.expires), []
        self._amend(changes)

    def unhide(self, ids: Iterable[str]) -> None:
        """Sets the expiration date back, or takes it away; a day set since stays."""
        day = self._codec.layout.expires
        if not day:
            super().unhide(ids)
            return
        changes = {}
        for id_, record in self._fetch(ids).items():
            if expiration.is_hidden(record.payload):
                before = expiration.shown(record.payload, day)
                changes[id_] = difference(record.payload, before)
        self._amend(changes)

    def _amend(self, changes: Mapping[str, tuple[dict[str, Json], list[str]]]) -> None:
        """Changes fields of records; the same changes are made together."""
        self._must_write()
        same = grouped((canonical([*change]), id_) for id_, change in changes.items())
        for together in same.values():
            if self._driver is not None:
                self._driver.amend(together, *changes[together[0]])

    def notes(self) -> tuple[str, ...]:
        """Returns what writes left behind, and of which owners very many memories are hidden."""
        stale = (
            "Memories whose text changed and that have no sparse vector now: "
            f"{len(self._stale)}. Their owner's search by words finds them again once it has "
            "written them itself."
        )
        many = [f"{name} ({times:,})" for name, times in self._crowd.items() if times >= _READ]
        crowd = (
            f"Many memories were hidden of {', '.join(many)}. mem0 reads the nearest {_READ} "
            "records, or four times as many as it is asked for, before it leaves out hidden ones, "
            "so a search may find fewer. --action delete takes them out."
        )
        return (*([stale] if self._stale else []), *([crowd] if many else []))

    def close(self) -> None:
        """Closes the collection and the sidecar."""
        if self._driver is not None:
            self._driver.close()
        super().close()


def _vector_key(id_: str, name: str) -> str:
    """Returns the key of a vector in the sidecar."""
    return f"{id_}/{name}" if name else id_


def chosen(
    noun: str, where: Path | str, names: Sequence[str], asked: str, url: Callable[[str], str]
) -> str:
    """Returns the collection or table to open: the one named, else the only one.

    Args:
        noun: What it is called.
        where: The folder or server, for messages.
        names: Those that are there.
        asked: The name in the URL; may be empty.
        url: Returns the URL of one.

    Raises:
        StoreNotFound: There is none, or none of this name.
        UsageError: There are several and none was named.
    """
    if not names:
        raise StoreNotFound(f"{where} holds no {noun}. Check the path.")
    if asked and asked not in names:
        raise StoreNotFound(
            f"{where} has no {noun} {asked!r}. It has: {', '.join(names)}. Check the name behind "
            "the #."
        )
    if not asked and len(names) > 1:
        raise UsageError(
            f"{where} holds several {noun}s: {', '.join(names)}. Name one, as in {url(names[0])}."
        )
    return asked or names[0]


def digest_of(text: str) -> str:
    """Returns eight characters that stand for a text in the name of a file."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def short_name(collection: str) -> str:
    """Returns the name of a collection for the name of a file, cut where it is long."""
    if len(collection) <= _LONGEST_NAME:
        return collection
    return f"{collection[:_LONGEST_NAME]}-{digest_of(collection)}"


def beside(folder: Path, collection: str) -> Path:
    """Returns the path beside a folder to which `.echoless` is added for a ledger."""
    return folder.with_name(f"{folder.name}.{short_name(collection)}")
