"""Memories mem0 keeps in its vector store, through an object `mem0.Memory`.

A memory belongs to the user, agent and run mem0 scopes it by: its namespace is `user_id=ann`, or
`agent_id=pia&user_id=ann`. Records are written to mem0's own vector store with mem0's own embedder,
under the id they have, and told in mem0's history.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import ClassVar, Final, Protocol
from urllib.parse import quote, unquote

from echoless.codec import json_text, read_time
from echoless.errors import BadRecord
from echoless.model import Json, Memory
from echoless.stores.live import record as records
from echoless.stores.live.base import RECHECK, STAMPED, LiveStore
from echoless.vectors.optional import require_module

EXTRA: Final = "mem0"
SCOPES: Final = ("agent_id", "run_id", "user_id")
"""Whom a memory of mem0 belongs to, in the order of its namespace."""

_DERIVED: Final = ("hash", "text_lemmatized")
_TAKEN: Final = frozenset({"data", *_DERIVED, *STAMPED, *SCOPES, "id"})
_IDS: Final = uuid.UUID("5b0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11")
"""Root of the ids made for memories that come with an id of another form."""

_FIRST: Final = 1000
_SINGLY: Final = 64
"""Up to so many records are fetched one by one, as the library does; more are listed."""


class Row(Protocol):
    """A record of mem0's vector store."""

    @property
    def id(self) -> object: ...  # noqa: D102

    @property
    def payload(self) -> Mapping[str, Json] | None: ...  # noqa: D102


class VectorStore(Protocol):
    """What is used of mem0's interface to vector stores."""

    def get(self, vector_id: str) -> Row | None: ...  # noqa: D102

    def insert(  # noqa: D102
        self, vectors: list[list[float]], payloads: list[dict[str, Json]], ids: list[str]
    ) -> object: ...

    def update(  # noqa: D102
        self, vector_id: str, vector: list[float], payload: dict[str, Json]
    ) -> object: ...

    def list(self, filters: dict[str, str] | None, top_k: int) -> object: ...  # noqa: D102


class Embedder(Protocol):
    """What is used of mem0's interface to embedders."""

    def embed(self, text: str, memory_action: str) -> list[float]: ...  # noqa: D102


class History(Protocol):
    """What is used of mem0's history."""

    def add_history(  # noqa: D102
        self,
        memory_id: str,
        old_memory: Json,
        new_memory: str,
        event: str,
        *,
        created_at: Json,
        updated_at: Json,
        actor_id: Json,
        role: Json,
    ) -> object: ...


class Mem0(Protocol):
    """What is used of an object `mem0.Memory`."""

    vector_store: VectorStore
    embedding_model: Embedder
    db: History

    def delete(self, memory_id: str) -> object: ...  # noqa: D102


def namespace_of(owners: Mapping[str, object]) -> str:
    """The namespace of a record: its owners, sorted by what they are."""
    told = [(name, owners.get(name)) for name in SCOPES]
    return "&".join(f"{name}={quote(str(value), safe='')}" for name, value in told if value)


def owners_of(namespace: str) -> dict[str, str]:
    """The owners `namespace_of` joined; none if it is no namespace of mem0."""
    parts = [part.partition("=") for part in namespace.split("&")]
    owners = {name: unquote(value) for name, _, value in parts}
    return owners if set(owners) <= set(SCOPES) and all(owners.values()) else {}


class Mem0Store(LiveStore):
    """Memories of mem0."""

    summary: ClassVar[str] = "an object mem0.Memory; lineage at a path you name"
    unrestored: Final = (
        "mem0 links names in a memory to it in a second collection, and counts its history on; "
        "neither is set back."
    )

    def __init__(
        self, memory: Mem0, *, lineage: str | Path | None = None, recheck: float = RECHECK
    ) -> None:
        """Wrap a mem0 memory.

        Args:
            memory: It stays yours: close it yourself.
            lineage: As `LiveStore`.
            recheck: As `LiveStore`.
        """
        require_module("mem0", "A store of mem0", EXTRA)
        super().__init__("mem0", lineage, recheck)
        self.inner = memory

    # ------------------------------------------------------------------ reading

    def _listed(self, filters: Mapping[str, str] | None) -> list[Row]:
        """All records; the interface of mem0's vector stores has a limit and no pages."""
        limit = _FIRST
        while True:
            with self._speaking():
                told = self.inner.vector_store.list(
                    filters=dict(filters) if filters else None, top_k=limit
                )
            rows = _rows(told)
            if len(rows) < limit:
                return rows
            limit *= 4

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        owners = owners_of(namespace or "")
        if namespace and not owners:
            return
        for row in self._listed(owners or None):
            memory = _memory(row)
            if memory is None or is_expired(row.payload):
                self._passed += 1
            else:
                yield memory

    def owned(self, owners: Mapping[str, object]) -> list[Memory]:
        """All memories of some owners, whomever else they belong to, expired ones too."""
        told = {name: str(owner).strip() for name, owner in owners.items() if owner is not None}
        found = map(_memory, self._listed(told or None))
        return [memory for memory in found if memory is not None]

    def remarks(self) -> tuple[str, ...]:
        """How many records the last scan passed over."""
        told = (
            f"Records without a text or past their expiration date: {self._passed}. They are "
            "passed over and stay as they are."
        )
        return (told,) if self._passed else ()

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id."""
        told = (_memory(row) for row in self._fetch(ids).values())
        return {memory.id: memory for memory in told if memory is not None}

    def _fetch(self, ids: Iterable[str]) -> dict[str, Row]:
        wanted = set(ids)
        if len(wanted) > _SINGLY:
            rows = [row for row in self._listed(None) if str(row.id) in wanted]
        else:
            rows = [row for id_ in sorted(wanted) if (row := self._row(id_)) is not None]
        return {str(row.id): row for row in rows}

    def _row(self, id_: str) -> Row | None:
        with self._speaking():
            return self.inner.vector_store.get(vector_id=id_)

    # ------------------------------------------------------------------ writing

    def shaped(self, memory: Memory) -> Memory:
        """A new memory with an id of the form mem0 gives, and its one time twice, as mem0 does."""
        return replace(
            memory,
            id=memory.id if _is_uuid(memory.id) else str(uuid.uuid5(_IDS, memory.id)),
            updated_at=memory.updated_at or memory.created_at,
        )

    def put(self, memories: Sequence[Memory]) -> None:
        """Replace or add records, each embedded by mem0's own embedder.

        Raises:
            BadRecord: The namespace or the text is not one mem0 can hold.
            StoreError: A field has no place, or the embedder or the vector store failed.
        """
        self._must_write()
        there = self._fetch(m.id for m in memories)
        told = [(m, _payload(m, there.get(m.id))) for m in memories]  # refuse before a change
        with self.noting([m.id for m in memories]):
            self._write(told, there)

    def _write(
        self, told: Sequence[tuple[Memory, dict[str, Json]]], there: Mapping[str, Row]
    ) -> None:
        for memory, payload in told:
            old = there.get(memory.id)
            with self._speaking():
                how = "add" if old is None else "update"
                vector = self.inner.embedding_model.embed(memory.content, how)
                if old is None:
                    self.inner.vector_store.insert(
                        vectors=[vector], ids=[memory.id], payloads=[payload]
                    )
                else:
                    self.inner.vector_store.update(
                        vector_id=memory.id, vector=vector, payload=payload
                    )
                self._tell(memory, payload, old)

    def _tell(self, memory: Memory, payload: Mapping[str, Json], old: Row | None) -> None:
        """The entry mem0's own history gets."""
        self.inner.db.add_history(
            memory.id,
            _told(old, "data"),
            memory.content,
            "ADD" if old is None else "UPDATE",
            created_at=payload.get("created_at"),
            updated_at=payload.get("updated_at"),
            actor_id=payload.get("actor_id"),
            role=payload.get("role"),
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Take records out, as mem0 itself does."""
        self._must_write()
        gone = sorted(self._fetch(ids))
        with self.noting(gone), self._speaking():
            for id_ in gone:
                self.inner.delete(id_)


def _is_uuid(id_: str) -> bool:
    try:
        return str(uuid.UUID(id_)) == id_
    except ValueError:
        return False


def is_expired(payload: Mapping[str, Json] | None) -> bool:
    """Whether mem0 hides a record because its day is past."""
    told = (payload or {}).get("expiration_date")
    try:
        return bool(told) and date.fromisoformat(str(told)) < datetime.now(UTC).date()
    except ValueError:
        return False


def _told(row: Row | None, key: str) -> Json:
    return None if row is None else (row.payload or {}).get(key)


def _rows(told: object) -> list[Row]:
    """The records of a listing, which some of mem0's vector stores wrap in another list."""
    rows = list(told) if isinstance(told, list | tuple) else []
    if rows and isinstance(rows[0], list | tuple):
        rows = list(rows[0])
    return rows


def _memory(row: Row) -> Memory | None:
    payload = dict(row.payload or {})
    text = payload.get("data")
    if not isinstance(text, str):
        return None
    rest: dict[str, Json] = {k: v for k, v in payload.items() if k not in _TAKEN}
    own = rest.get(records.OWN)
    if isinstance(own, str):
        rest[records.OWN] = _object(own)
    stamps = {name: read_time(payload.get(name)) for name in STAMPED}
    return records.decode(str(row.id), text, namespace_of(payload), rest, stamps)


def _object(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _payload(memory: Memory, old: Row | None) -> dict[str, Json]:
    """What mem0 would write for this memory, its times as they are told."""
    from mem0.utils.lemmatization import lemmatize_for_bm25  # noqa: PLC0415 - an optional library

    owners, now = owners_of(memory.namespace), datetime.now(UTC).isoformat()
    if not owners:
        raise BadRecord(
            f"{memory.namespace!r}, the namespace of {memory.id!r}, is none of mem0: name whom it "
            "belongs to, such as user_id=ann or agent_id=pia&user_id=ann."
        )
    times = {
        "created_at": memory.created_at or _told(old, "created_at") or now,
        "updated_at": memory.updated_at or now,
    }
    rest = records.encode(memory, _TAKEN, {name: getattr(memory, name) for name in STAMPED})
    own = rest.pop(records.OWN, None)
    payload: dict[str, Json] = {
        **rest,
        **owners,
        **times,
        "data": memory.content,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "text_lemmatized": lemmatize_for_bm25(memory.content),
    }
    if own is not None:  # as a text: some of mem0's vector stores hold no objects
        payload[records.OWN] = json_text(own)
    return payload
