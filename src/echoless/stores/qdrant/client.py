"""The library's client of a server, what it writes into a folder, and its failures as errors."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from echoless.core.errors import (
    EcholessError,
    StoreError,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
)
from echoless.core.failures import of_system
from echoless.core.model import Json
from echoless.core.optional import lazy_module, require_module
from echoless.stores.qdrant.location import KEY, Place
from echoless.stores.qdrant.points import UNNAMED, Point, PointId, as_point, components

if TYPE_CHECKING:
    import portalocker
    import qdrant_client
    from qdrant_client import models
    from qdrant_client.local import persistence
else:
    portalocker = lazy_module("portalocker")
    qdrant_client = lazy_module("qdrant_client")
    models = lazy_module("qdrant_client.models")
    persistence = lazy_module("qdrant_client.local.persistence")

EXTRA: Final = "qdrant"
_BATCH: Final = 256
_SECONDS: Final = 30
_HTTP_KEY: Final = (401, 403)
_HTTP_ABSENT: Final = 404

_Result = TypeVar("_Result")


class Client:
    """A client of one collection."""

    def __init__(self, inner: qdrant_client.QdrantClient, where: str, collection: str) -> None:
        """Wraps a client of the library.

        Args:
            inner: Closed with this object.
            where: The folder or the server, for messages.
            collection: Name of the collection.
        """
        self._inner = inner
        self._where = where
        self._collection = collection

    @classmethod
    def of_server(cls, place: Place) -> Client:
        """Makes a client of a server; nothing is sent yet.

        Raises:
            MissingExtra: The library is not installed.
            UsageError: The key would go unencrypted over a network.
        """
        require_module("qdrant_client", "A store of Qdrant", EXTRA)
        with _translated(place.server), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on a key without encryption, which `key` allows here
            inner = qdrant_client.QdrantClient(
                url=place.server,
                api_key=place.key(),
                timeout=_SECONDS,
                check_compatibility=False,
            )
        return cls(inner, place.server, place.collection)

    def of(self, collection: str) -> Client:
        """Returns the same client for a collection; closing one closes both."""
        return Client(self._inner, self._where, collection)

    def close(self) -> None:
        """Closes the client and, for a folder, gives its lock back."""
        self._inner.close()

    def _call(self, method: Callable[..., _Result], **given: object) -> _Result:
        """Calls a method of the library for the collection."""
        with _translated(self._where):
            return method(collection_name=self._collection, **given)

    # ------------------------------------------------------------------ reading

    def collections(self) -> list[str]:
        """Returns the names of all collections and aliases, sorted."""
        with _translated(self._where):
            listed = [each.name for each in self._inner.get_collections().collections]
            aliases = [each.alias_name for each in self._inner.get_aliases().aliases]
        return sorted({*listed, *aliases})

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the collection's dense vectors by name."""
        vectors = self._call(self._inner.get_collection).config.params.vectors
        named = vectors if isinstance(vectors, Mapping) else {"": vectors}
        return {
            name: each.size
            for name, each in named.items()
            if each is not None and each.multivector_config is None
        }

    def holding(self, keys: Sequence[str]) -> Iterator[Point]:
        """Yields the points with one of some keys in their payload, without vectors."""
        empty = [models.IsEmptyCondition(is_empty=models.PayloadField(key=key)) for key in keys]
        held: list[models.Condition] = [models.Filter(must_not=[each]) for each in empty]
        return self.scroll(models.Filter(should=held), vectors=False)

    def scroll(self, within: models.Filter | None, *, vectors: bool) -> Iterator[Point]:
        """Yields points, page by page.

        Args:
            within: What they pass; None for all.
            vectors: Whether vectors are sent too.
        """
        offset: object = None
        while True:
            records, offset = self._call(
                self._inner.scroll,
                limit=_BATCH,
                offset=offset,
                with_payload=True,
                with_vectors=vectors,
                scroll_filter=within,
            )
            for each in records:
                yield as_point(_id(each.id), each.payload, each.vector)
            if offset is None:
                return

    def retrieve(self, ids: Sequence[PointId]) -> Iterator[Point]:
        """Yields points by id; unknown ones are left out."""
        for start in range(0, len(ids), _BATCH):
            records = self._call(
                self._inner.retrieve,
                ids=list(ids[start : start + _BATCH]),
                with_payload=True,
                with_vectors=True,
            )
            for each in records:
                yield as_point(_id(each.id), each.payload, each.vector)

    # ------------------------------------------------------------------ writing

    def create(self, size: int, *, keywords: bool) -> None:
        """Makes the collection as mem0 makes it, or plainer.

        Args:
            size: Number of components of its vectors.
            keywords: Whether it takes the sparse vectors of mem0's keyword search.
        """
        settings = _settings(size, keywords=keywords)
        self._call(
            self._inner.create_collection,
            vectors_config=settings.vectors,
            sparse_vectors_config=settings.sparse_vectors,
        )

    def upsert(self, points: Sequence[Point]) -> None:
        """Writes whole points and waits for the end of it."""
        for start in range(0, len(points), _BATCH):
            made = [_struct(point) for point in points[start : start + _BATCH]]
            self._call(self._inner.upsert, points=made, wait=True)

    def overwrite_payload(self, id_: PointId, payload: Mapping[str, Json]) -> None:
        """Replaces the payload of a point and waits for the end of it."""
        self._call(self._inner.overwrite_payload, payload=dict(payload), points=[id_], wait=True)

    def amend(self, ids: Sequence[PointId], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets fields of points, then takes others away; waits for the end of both."""
        for start in range(0, len(ids), _BATCH):
            batch = list(ids[start : start + _BATCH])
            if new:
                self._call(self._inner.set_payload, payload=dict(new), points=batch, wait=True)
            if gone:
                self._call(self._inner.delete_payload, keys=list(gone), points=batch, wait=True)

    def delete(self, ids: Sequence[PointId]) -> None:
        """Removes points and waits for the end of it."""
        for start in range(0, len(ids), _BATCH):
            selector = models.PointIdsList(points=list(ids[start : start + _BATCH]))
            self._call(self._inner.delete, points_selector=selector, wait=True)


@contextmanager
def holding_lock(folder: Path) -> Iterator[None]:
    """Holds the lock by which the library lets one program open a folder.

    Raises:
        MissingExtra: The library is not installed.
        StoreLocked: A program has it open.
        StoreReadOnly: The folder may not be written.
    """
    require_module("qdrant_client", "A store of Qdrant", EXTRA)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with _translated(str(folder / ".lock")):
        file = os.fdopen(os.open(folder / ".lock", flags, 0o666), "r+b", buffering=0)
    with file:
        try:
            portalocker.lock(
                file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
        except portalocker.exceptions.LockException as problem:
            raise _locked(str(folder)) from problem
        try:
            yield
        finally:
            portalocker.unlock(file)


def new_settings(size: int, *, keywords: bool) -> Json:
    """Returns the settings of a new collection as the library keeps them in a folder."""
    made: Json = _settings(size, keywords=keywords).model_dump(mode="json")
    return made


def _settings(size: int, *, keywords: bool) -> models.CreateCollection:
    """Returns the settings of a collection as mem0 makes it, or plainer."""
    sparse = {"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)}
    return models.CreateCollection(
        vectors=models.VectorParams(size=size, distance=models.Distance.COSINE),
        sparse_vectors=sparse if keywords else None,
    )


def row_of(point: Point) -> tuple[str, bytes]:
    """Returns the row of a point as the library keeps it in a folder: its key, and a pickle."""
    key = persistence.CollectionPersistence.encode_key(point.id)
    return key, pickle.dumps(_struct(point))


def _locked(where: str) -> StoreLocked:
    """Returns the error for a folder that is open elsewhere."""
    return StoreLocked(
        f"A program that uses Qdrant has {where} open and holds its lock. Stop it (an agent with "
        "mem0, say) and try again; nothing was changed."
    )


def _id(id_: object) -> PointId:
    return id_ if isinstance(id_, int) else str(id_)


def _struct(point: Point) -> models.PointStruct:
    """Returns a point as the library takes it."""
    vectors: dict[str, object] = {name: components(point, name) for name in point.dense}
    for name, value in point.other.items():
        is_sparse = isinstance(value, Mapping)
        vectors[name] = models.SparseVector.model_validate(value) if is_sparse else value
    return models.PointStruct.model_validate(
        {
            "id": point.id,
            "payload": dict(point.payload),
            "vector": vectors[UNNAMED] if point.bare and list(vectors) == [UNNAMED] else vectors,
        }
    )


@contextmanager
def _translated(where: str) -> Iterator[None]:
    """Raises whatever the library raises inside the block as an error of echoless."""
    try:
        yield
    except EcholessError:
        raise
    except Exception as problem:
        raise _error(problem, where) from problem


def _error(problem: Exception, where: str) -> EcholessError:
    """Returns the error of echoless for one of the library."""
    status = getattr(problem, "status_code", None)
    if isinstance(problem, PermissionError):
        return StoreReadOnly(f"{where} may not be written ({problem}). Nothing was changed.")
    if isinstance(problem, OSError):
        return of_system(problem, Path(where))
    if status in _HTTP_KEY:
        return StoreError(
            f"{where} refuses the key (HTTP {status}). Set {KEY} to the key of this server; "
            "nothing was changed."
        )
    if status == _HTTP_ABSENT:
        return StoreNotFound(
            f"{where} does not know the collection any more, or is no Qdrant server (HTTP 404). "
            "Nothing was changed."
        )
    if type(problem).__name__ == "ResponseHandlingException":
        return StoreError(
            f"No Qdrant server answers at {where} ({problem}). Check the address, and that the "
            "server runs. Nothing counts as changed that does not read back."
        )
    said = str(problem).strip().replace("\n", " ")[:300]
    return StoreError(
        f"Qdrant at {where} failed ({type(problem).__name__}: {said}). Nothing counts as changed "
        "that does not read back; try again when it works."
    )
