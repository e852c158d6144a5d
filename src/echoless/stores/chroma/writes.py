"""Changes of one step, put together: each call of the library is a transaction of its own."""

from __future__ import annotations

from typing import Final, TypeAlias

from echoless.core.model import Json
from echoless.stores.chroma.folder import Collection
from echoless.stores.chroma.record import Record
from echoless.stores.exact_vectors import to_rows

Held: TypeAlias = tuple[Record, bytes | None]
"""A record as it is, with its vector."""

_BATCH: Final = 1000


class Writes:
    """Records to write to one collection, sorted by the call each one needs."""

    def __init__(self, collection: Collection) -> None:
        """Collects for a collection."""
        self._collection = collection
        self._away: list[str] = []
        self._new: list[tuple[str, Record, bytes]] = []
        self._keys: list[tuple[str, dict[str, Json]]] = []
        self._texts: list[tuple[str, str | None, bytes, dict[str, Json]]] = []

    def add(self, id_: str, old: Held | None, new: Record, vector: bytes) -> None:
        """Adds one record to what is to be written.

        Args:
            id_: Its id.
            old: As it is; None where there is none.
            new: As it has to be.
            vector: Its vector.
        """
        if old is not None and new.document is None and old[0].document is not None:
            self._away.append(id_)  # an update cannot take a document away
            old = None
        if old is None:
            self._new.append((id_, new, vector))
            return
        before, after = old[0].metadata, new.metadata
        changes: dict[str, Json] = {
            key: value
            for key, value in after.items()
            if key not in before or before[key] != value or type(before[key]) is not type(value)
        }
        # an update merges key by key, and None takes a key away
        changes.update((key, None) for key in before if key not in after)
        document = new.document if new.document != old[0].document else None
        if document is not None or vector != old[1]:
            self._texts.append((id_, document, vector, changes))
        elif changes:
            self._keys.append((id_, changes))

    def carry_out(self) -> None:
        """Writes what was added."""
        if self._away:
            self._collection.delete(self._away)
        for start in range(0, len(self._new), _BATCH):
            new = self._new[start : start + _BATCH]
            self._collection.add(
                [id_ for id_, _, _ in new],
                # a list of rows: vectors of two lengths are for the library to refuse
                [to_rows(vector)[0] for _, _, vector in new],
                metadatas=[dict(record.metadata) or None for _, record, _ in new],
                documents=[record.document for _, record, _ in new],
            )
        for start in range(0, len(self._keys), _BATCH):
            changed = self._keys[start : start + _BATCH]
            self._collection.update(
                [id_ for id_, _ in changed],
                embeddings=None,
                metadatas=[changes for _, changes in changed],
                documents=None,
            )
        for id_, document, vector, changes in self._texts:
            self._collection.update(
                [id_],
                embeddings=to_rows(vector),  # a document without its vector would be embedded
                metadatas=[changes] if changes else None,
                documents=None if document is None else [document],
            )
