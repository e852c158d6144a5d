"""Memories mem0 keeps in its vector store, through an object `mem0.Memory`.

A memory belongs to the user, agent and run mem0 scopes it by: its namespace is `user_id=ann`, or
`agent_id=pia&user_id=ann`. Records are written to mem0's own vector store with mem0's own embedder,
under the id they have, and added to mem0's history.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from echoless.core.errors import BadRecord
from echoless.core.json_codec import json_text, read_time
from echoless.core.model import Json, JsonObject, Memory, identical
from echoless.core.optional import require_module
from echoless.stores import column_values as values
from echoless.stores.expiration import hashed
from echoless.stores.field_map import Hiding
from echoless.stores.live import RECHECK, STAMPED, LiveStore
from echoless.stores.scope import OWNERS, no_owners, owned_by, owners_of
from echoless_stores.live import payload as records

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

EXTRA: Final = "mem0"
_DERIVED: Final = ("hash", "text_lemmatized")
_TAKEN: Final = frozenset({"data", *_DERIVED, *STAMPED, *OWNERS, "id"})
_IDS: Final = uuid.UUID("5b0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11")
"""Root of the ids made for memories whose id has another form."""

_HIDDEN_SINCE: Final = "1970-01-02"
"""Date of expiration of hidden records: long past, and one that nobody else gives."""

_FIRST: Final = 1000
_SINGLY: Final = 64
"""Largest number of records that are fetched individually, as the library does; more are listed."""


Payload: TypeAlias = "dict[str, Json]"
"""The text, the owners and all other fields of a record."""


class Mem0Store(LiveStore):
    """Memories of mem0."""

    way: ClassVar[Hiding] = "expire"
    summary: ClassVar[str] = "an object mem0.Memory; lineage at a path you name"
    unrestored: Final = (
        "mem0 links names in a memory to it in a second collection, and counts its history on; "
        "neither is set back."
    )
    passed: ClassVar[str] = (
        "Records without a text or past their expiration date: {}. They are passed over and stay "
        "as they are."
    )

    def __init__(
        self,
        memory: Mem0,
        *,
        lineage: str | Path | None = None,
        recheck: float = RECHECK,
        hide: Literal["", "mark", "expire"] = "",
    ) -> None:
        """Wraps a mem0 memory.

        Args:
            memory: It stays yours: close it yourself.
            lineage: As `LiveStore`.
            recheck: As `LiveStore`.
            hide: As `LiveStore`: `expire` gives hidden records a date of expiration in the past, so
                that mem0 leaves them out of searches and lists.
        """
        require_module("mem0", "A store of mem0", EXTRA)
        super().__init__("mem0", lineage, recheck, hide)
        self.inner = memory

    # ------------------------------------------------------------------ reading

    def _listed(self, filters: Mapping[str, str] | None) -> dict[str, Payload]:
        """Returns all records by id; mem0's interface of vector stores has a limit and no pages."""
        limit = _FIRST
        while True:
            with self._translated():
                listing = self.inner.vector_store.list(
                    filters=dict(filters) if filters else None, top_k=limit
                )
            rows = list(listing) if isinstance(listing, list | tuple) else []
            if rows and isinstance(rows[0], list | tuple):
                rows = list(rows[0])  # some of mem0's vector stores wrap the list in another
            if len(rows) < limit:
                return {str(row.id): dict(row.payload or {}) for row in rows}
            limit *= 4

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        """Yields all memories of one namespace or of all, and counts the other records."""
        owners = owners_of(namespace or "")
        if namespace and not owners:
            return
        aside = self._aside()
        for id_, payload in self._listed(owners or None).items():
            if _is_concealed(payload) and id_ in aside:
                continue
            memory = _memory(id_, payload)
            if memory is not None and not is_expired(payload):
                yield memory
            elif namespace is None or owned_by(payload) == namespace:
                self._passed += 1

    def owned(self, owners: Mapping[str, object]) -> list[Memory]:
        """Returns all memories of some owners, whoever else they belong to, expired ones too."""
        filters = {name: str(owner).strip() for name, owner in owners.items() if owner is not None}
        memories, aside = _read(self._listed(filters or None)), self._aside()
        return [aside[id_].memory if id_ in aside else each for id_, each in memories.items()]

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of what the library shows, by id."""
        rows, aside = self._fetch(ids), self._aside()
        return _read({i: p for i, p in rows.items() if not (i in aside and _is_concealed(p))})

    def _fetch(self, ids: Iterable[str]) -> dict[str, Payload]:
        """Returns records by id."""
        wanted = set(ids)
        if len(wanted) > _SINGLY:
            return {i: payload for i, payload in self._listed(None).items() if i in wanted}
        with self._translated():
            rows = [self.inner.vector_store.get(vector_id=id_) for id_ in sorted(wanted)]
        return {str(row.id): dict(row.payload or {}) for row in rows if row is not None}

    # ------------------------------------------------------------------ writing

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory with an id of mem0's form and, as in mem0, both of its times."""
        try:
            is_uuid = str(uuid.UUID(memory.id)) == memory.id
        except ValueError:
            is_uuid = False
        return replace(
            memory,
            id=memory.id if is_uuid else str(uuid.uuid5(_IDS, memory.id)),
            updated_at=memory.updated_at or memory.created_at,
        )

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds records, each embedded by mem0's own embedder.

        Raises:
            BadRecord: The namespace or the text is not one mem0 can hold.
            StoreError: A field has no place, or the embedder or the vector store failed.
        """
        self._must_write()
        present = self._fetch(m.id for m in memories)
        # all payloads are made first, so that one that cannot be held is refused before a change
        payloads = [(m, _payload(m, present.get(m.id))) for m in memories]
        with self.noting([m.id for m in memories]), self._translated():
            for memory, payload in payloads:
                old = present.get(memory.id)
                action = "add" if old is None else "update"
                vector = self.inner.embedding_model.embed(memory.content, action)
                if old is None:
                    self.inner.vector_store.insert(
                        vectors=[vector], ids=[memory.id], payloads=[payload]
                    )
                else:
                    self.inner.vector_store.update(
                        vector_id=memory.id, vector=vector, payload=payload
                    )
                self.inner.db.add_history(
                    memory.id,
                    (old or {}).get("data"),
                    memory.content,
                    action.upper(),
                    created_at=payload.get("created_at"),
                    updated_at=payload.get("updated_at"),
                    actor_id=payload.get("actor_id"),
                    role=payload.get("role"),
                )

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes records, as mem0 itself does."""
        self._must_write()
        present = sorted(self._fetch(ids))
        with self.noting(present), self._translated():
            for id_ in present:
                self.inner.delete(id_)

    # ------------------------------------------------------------------ hidden from mem0

    def conceal(self, memories: Sequence[Memory]) -> None:
        """Gives records a date of expiration in the past: `search` and `get_all` leave them out.

        https://github.com/mem0ai/mem0, `_payload_is_expired` of `mem0/memory/main.py` (2.2.1).
        """
        self._date({memory.id: _HIDDEN_SINCE for memory in memories})

    def revealed(self, memories: Sequence[Memory]) -> None:
        """Restores the dates of records; a record with other changes is rewritten."""
        self._date({m.id: m.metadata.get("expiration_date") for m in memories})
        present = _read(self._fetch(memory.id for memory in memories))
        changed = [m for m in memories if not identical(present.get(m.id), m)]
        if changed:
            self.own_put(changed)

    def _date(self, dates: Mapping[str, Json]) -> None:
        """Writes the date of expiration of records, and nothing else of them."""
        rows = self._fetch(dates)
        with self.noting(list(rows)), self._translated():
            for id_, payload in rows.items():
                values.set_or_remove(payload, "expiration_date", dates[id_])
                payload.update(hashed(payload, hidden=dates[id_] == _HIDDEN_SINCE))
                # with its vector, the payload replaces the old one; alone some stores merge it
                vector = self.inner.embedding_model.embed(str(payload.get("data")), "update")
                self.inner.vector_store.update(vector_id=id_, vector=vector, payload=payload)


def _is_concealed(payload: JsonObject) -> bool:
    """Checks whether echoless gave a record its date of expiration."""
    return payload.get("expiration_date") == _HIDDEN_SINCE


def is_expired(payload: JsonObject) -> bool:
    """Checks whether mem0 hides a record because its expiration date is past."""
    day = payload.get("expiration_date")
    try:
        return bool(day) and date.fromisoformat(str(day)) < datetime.now(UTC).date()
    except ValueError:
        return False


def _read(payloads: Mapping[str, Payload]) -> dict[str, Memory]:
    """Returns the memories of records by id."""
    memories = ((id_, _memory(id_, payload)) for id_, payload in payloads.items())
    return {id_: memory for id_, memory in memories if memory is not None}


def _memory(id_: str, payload: Payload) -> Memory | None:
    """Returns the memory of a record; None if it has no text."""
    text = payload.get("data")
    if not isinstance(text, str):
        return None
    rest: dict[str, Json] = {k: v for k, v in payload.items() if k not in _TAKEN}
    own = records.own_fields(rest)
    if own is not None:
        rest[records.OWN] = own
    stamps = {name: read_time(payload.get(name)) for name in STAMPED}
    return records.decode(id_, text, owned_by(payload), rest, stamps)


def _payload(memory: Memory, old: Payload | None) -> dict[str, Json]:
    """Returns the payload mem0 would write for a memory, with the memory's own times."""
    owners, now = owners_of(memory.namespace), datetime.now(UTC).isoformat()
    if not owners:
        raise BadRecord(no_owners(memory))
    times = {
        "created_at": memory.created_at or (old or {}).get("created_at") or now,
        "updated_at": memory.updated_at or now,
    }
    rest = records.encode(memory, _TAKEN, {name: getattr(memory, name) for name in STAMPED})
    own = rest.pop(records.OWN, None)
    from mem0.utils import lemmatization

    payload: dict[str, Json] = {
        **rest,
        **owners,
        **times,
        "data": memory.content,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "text_lemmatized": lemmatization.lemmatize_for_bm25(memory.content),
    }
    if own is not None:  # as a text: some of mem0's vector stores hold no objects
        payload[records.OWN] = json_text(own)
    return payload
