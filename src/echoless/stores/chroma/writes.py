"""Changes of one step, put together: each call of the library is a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from echoless.model import Json, JsonObject
from echoless.stores.chroma.exact import to_rows
from echoless.stores.chroma.folder import Collection
from echoless.stores.chroma.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Held: TypeAlias = tuple[Record, bytes | None]
"""A record as it is, with its vector."""

_AT_ONCE = 1000


class Writes:
    """Records to write to one collection."""

    def __init__(self, collection: Collection) -> None:
        """Collect for a collection."""
        self._collection = collection
        self._away: list[str] = []
        self._new: list[tuple[str, Record, bytes]] = []
        self._keys: list[tuple[str, dict[str, Json]]] = []
        self._texts: list[tuple[str, str | None, bytes, dict[str, Json]]] = []

    def add(self, id_: str, old: Held | None, new: Record, vector: bytes) -> None:
        """One record, as it has to be.

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
        changes = _changes(old[0].metadata, new.metadata)
        document = new.document if new.document != old[0].document else None
        if document is not None or vector != old[1]:
            self._texts.append((id_, document, vector, changes))
        elif changes:
            self._keys.append((id_, changes))

    def carry_out(self) -> None:
        """Write."""
        if self._away:
            self._collection.delete(self._away)
        for start in range(0, len(self._new), _AT_ONCE):
            some = self._new[start : start + _AT_ONCE]
            self._collection.add(
                [id_ for id_, _, _ in some],
                _stacked([vector for _, _, vector in some]),
                metadatas=[dict(record.metadata) or None for _, record, _ in some],
                documents=[record.document for _, record, _ in some],
            )
        for start in range(0, len(self._keys), _AT_ONCE):
            told = self._keys[start : start + _AT_ONCE]
            self._collection.update(
                [id_ for id_, _ in told],
                embeddings=None,
                metadatas=[changes for _, changes in told],
                documents=None,
            )
        for id_, document, vector, changes in self._texts:
            self._collection.update(
                [id_],
                embeddings=to_rows(vector),  # a document without its vector would be embedded
                metadatas=[changes] if changes else None,
                documents=None if document is None else [document],
            )


def _stacked(vectors: list[bytes]) -> list[NDArray[np.float32]]:
    """One row each: vectors of two lengths are for the library to refuse."""
    return [to_rows(vector)[0] for vector in vectors]


def _changes(old: JsonObject, new: JsonObject) -> dict[str, Json]:
    """Keys to set, and with None those to take away: an update merges key by key."""
    changed: dict[str, Json] = {
        key: value
        for key, value in new.items()
        if key not in old or old[key] != value or type(old[key]) is not type(value)
    }
    gone: dict[str, Json] = {key: None for key in old if key not in new}
    return {**changed, **gone}
