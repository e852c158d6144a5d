"""The library of Qdrant: locations, points of a server, rows and lock of a folder, failures.

Locations of a collection: `FOLDER?map=field:key#NAME` and `HOST:PORT?map=field:key#NAME`.

`https://HOST` and `http://HOST` are servers too. A key is never part of a location: it would get
into plans, reports and the history of the shell.
"""

from __future__ import annotations

import os
import pickle
import re
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from echoless.core.batches import batched
from echoless.core.destination import ServerAddress
from echoless.core.errors import (
    BadRecord,
    EcholessError,
    StoreError,
    StoreLocked,
    StoreNotFound,
    StoreReadOnly,
    UsageError,
)
from echoless.core.failures import of_system
from echoless.core.json_codec import bytes_to_floats, floats_to_bytes
from echoless.core.model import Json
from echoless.core.optional import require_module
from echoless.core.own_folders import expanded, user_folder
from echoless.core.text import has_utf8
from echoless.stores.field_map import FieldMap, MappedUrl, read_location
from echoless.stores.scope import by_labels_present
from echoless_stores.vector_record import UNNAMED, Record, RecordLayout
from echoless_stores.vector_store import RecordDriver, Written, beside, digest_of, short_name

if TYPE_CHECKING:
    import qdrant_client
    from qdrant_client import models


Point: TypeAlias = Record

_LARGEST: Final = 2**64


def point_id(text: str) -> int | str | None:
    """Returns the id of a point for the id of a memory; None if Qdrant takes no such id."""
    if text.isascii() and text.isdigit():
        number = int(text)
        return number if str(number) == text and number < _LARGEST else None
    try:
        return text if str(uuid.UUID(text)) == text else None
    except ValueError:
        return None


def in_order(id_: str) -> tuple[int, int, str]:
    """Returns a key that sorts ids in the order of Qdrant: numbers, then UUIDs."""
    number = point_id(id_)
    return (0, number, "") if isinstance(number, int) else (1, 0, id_)


def as_point(id_: str, payload: Mapping[str, Json] | None, vector: object) -> Point:
    """Returns a point from the parts a client gives, its vectors sorted by kind.

    Args:
        id_: Its id.
        payload: Its fields; None for none.
        vector: A list, or an object with a list, a list of lists, or an object with `indices` and
            `values` by name; None for none.

    Raises:
        BadRecord: A vector is none of these.
    """
    named = vector if isinstance(vector, Mapping) else {} if vector is None else {UNNAMED: vector}
    dense: dict[str, bytes] = {}
    other: dict[str, Json] = {}
    numbers: dict[str, Sequence[float]] = {}
    for name, value in named.items():
        what = f"the vector {name!r} of the point {id_!r}"
        if isinstance(value, Sequence) and value and not isinstance(value[0], Sequence):
            numbers[name], dense[name] = value, floats_to_bytes(list(value), what)
        elif isinstance(value, Sequence):
            other[name] = [[float(each) for each in row] for row in value]
        else:
            places, weights = getattr(value, "indices", None), getattr(value, "values", None)
            if not isinstance(places, Sequence) or not isinstance(weights, Sequence):
                raise BadRecord(f"{what} is neither a list of numbers nor a sparse vector.")
            other[name] = {"indices": [*map(int, places)], "values": [*map(float, weights)]}
    bare = vector is not None and named is not vector
    return Point(id_, dict(payload or {}), dense, other, numbers, bare)


def components(point: Point, name: str) -> list[float]:
    """Returns a dense vector as numbers: the stored numbers if they still equal its bytes."""
    data, stored = point.dense[name], point.numbers.get(name)
    if stored is not None and floats_to_bytes(list(stored), name) == data:
        return list(stored)
    return bytes_to_floats(data)


KEY: Final = "QDRANT_API_KEY"
"""Variable of the environment that holds the key of a server."""

_PORT: Final = 6333
_SERVER: Final = re.compile(
    r"https?://|(?:[^/?#@\s]*@)?(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):\d{1,5}(?=[/?#]|\Z)"
)


@dataclass(frozen=True, slots=True)
class CollectionLocation:
    """A collection in a folder or on a server.

    Attributes:
        folder: The folder of Qdrant's local mode; None for a server.
        server: Scheme, host and port of a server; empty for a folder.
        collection: Its name; empty where none was named.
        map: From the query.
    """

    folder: Path | None
    server: str = ""
    collection: str = ""
    map: FieldMap = field(default_factory=FieldMap)

    @property
    def where(self) -> str:
        """Returns the folder or the server, for messages."""
        return self.server or str(self.folder)

    def __str__(self) -> str:
        place = MappedUrl(Path(), self.collection, self.map)
        return f"{self.server.removeprefix('http://') or self.folder}{str(place)[1:]}"

    def url(self, scheme: str) -> str:
        """Returns the URL that opens the collection."""
        return f"{scheme}://{'' if self.server else '/'}{self}"

    @property
    def sidecar_base(self) -> Path:
        """Returns the path to which `.echoless` is added for the ledger.

        Beside the folder; for a server in the user's data folder, by server and collection.
        """
        if self.folder is not None:
            return beside(self.folder, self.collection)
        whole = f"{self.server}#{self.collection}"
        name = f"{urlsplit(self.server).netloc}.{short_name(self.collection)}"
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
        return user_folder("data") / "qdrant" / f"{plain}-{digest_of(whole)}"

    def key(self) -> str | None:
        """Returns the key for the server from the environment, or None.

        Raises:
            UsageError: It would go unencrypted over a network.
        """
        key = os.environ.get(KEY, "").strip()
        if key and not ServerAddress(self.server).guarded:
            raise UsageError(
                f"The key in {KEY} would go unencrypted to {self.server}, and nothing was sent. "
                f"Write https:// before the host, or unset {KEY}."
            )
        return key or None


def read_place(location: str) -> CollectionLocation:
    """Reads what follows `scheme://`.

    Raises:
        UsageError: The query holds something else than maps, or a name or key stands in it.
    """
    server = _SERVER.match(location)
    if server is None or Path(location).exists():
        given = read_location(location)
        return CollectionLocation(expanded(str(given.path)), "", given.part, given.map)
    address, _, query = location.partition("#")[0].partition("?")
    if "@" in address:  # refused without its value
        raise UsageError(
            f"A URL of a Qdrant server takes no user name and no key: put the key into {KEY}."
        )
    names = {entry.partition("=")[0] for entry in query.split("&")} - {"", "map"}
    if names:
        raise UsageError(
            f"The URL holds {min(names)!r}. Behind the question mark only map=FIELD:KEY is known; "
            f"the key of a server goes into the variable {KEY}."
        )
    scheme = "https://" if location.startswith("https://") else "http://"
    given = read_location(location.removeprefix(scheme))
    parts = urlsplit(f"{scheme}{given.path}")
    try:
        port = parts.port or _PORT
    except ValueError:
        raise UsageError(f"{parts.netloc!r} has no valid port, such as {_PORT}.") from None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return CollectionLocation(
        None, f"{scheme}{host}:{port}{parts.path.rstrip('/')}", given.part, given.map
    )


EXTRA: Final = "qdrant"
_BATCH: Final = 256
_SECONDS: Final = 30
_HTTP_KEY: Final = (401, 403)
_HTTP_ABSENT: Final = 404

_SPELLED: Final = {"true": True, "True": True, "false": False}
"""Texts that a server may read as a value of another type, with the value."""

_STRUCTURED: Final = ("[", "{")
"""How the texts of lists and of objects begin, which no condition compares."""

_Result = TypeVar("_Result")


class ServerPoints(RecordDriver):
    """The points of one collection of a server, over its REST interface."""

    def __init__(self, inner: qdrant_client.QdrantClient, where: str, collection: str) -> None:
        """Wraps a client of the library.

        Args:
            inner: Closed with this object.
            where: The server, for messages.
            collection: Name of the collection.
        """
        self._inner = inner
        self._where = where
        self._collection = collection

    @classmethod
    def at(cls, place: CollectionLocation) -> ServerPoints:
        """Makes a client of a server; nothing is sent yet.

        Raises:
            MissingExtra: The library is not installed.
            UsageError: The key would go unencrypted over a network.
        """
        require_module("qdrant_client", "A store of Qdrant", EXTRA)
        with _translated(place.server), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on a key without encryption, which `key` allows here
            import qdrant_client

            inner = qdrant_client.QdrantClient(
                url=place.server,
                api_key=place.key(),
                timeout=_SECONDS,
                check_compatibility=False,
            )
        return cls(inner, place.server, place.collection)

    def of(self, collection: str) -> ServerPoints:
        """Returns the same client for a collection; closing one closes both."""
        return ServerPoints(self._inner, self._where, collection)

    def close(self) -> None:
        """Closes the client."""
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

    @property
    def state(self) -> str:
        """Returns nothing: a server does not tell whether anyone wrote."""
        return ""

    @cached_property
    def sizes(self) -> Mapping[str, int | None]:
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
        from qdrant_client import models

        empty = [models.IsEmptyCondition(is_empty=models.PayloadField(key=key)) for key in keys]
        held: list[models.Condition] = [models.Filter(must_not=[each]) for each in empty]
        return self.scan(models.Filter(should=held), vectors=False)

    def scan(self, within: models.Filter | None = None, *, vectors: bool = True) -> Iterator[Point]:
        """Yields points, page by page, in the server's order of ids.

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
                yield as_point(str(each.id), each.payload, each.vector)
            if offset is None:
                return

    def get(self, ids: Sequence[str]) -> dict[str, Point]:
        """Returns points by id; unknown ones are left out."""
        points: dict[str, Point] = {}
        for batch in batched(ids, _BATCH):
            for each in self._call(
                self._inner.retrieve, ids=_ids(batch), with_payload=True, with_vectors=True
            ):
                points[str(each.id)] = as_point(str(each.id), each.payload, each.vector)
        return points

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

    def write(self, changed: Sequence[Written]) -> None:
        """Writes points and waits for the end of it; no vector is sent that stays the same."""
        whole: list[Point] = []
        for new, old in changed:
            if old is None or not new.has_vectors_of(old):
                whole.append(new)
                continue
            payload, points = dict(new.payload), _ids([new.id])
            self._call(self._inner.overwrite_payload, payload=payload, points=points, wait=True)
        for batch in batched(whole, _BATCH):
            self._call(self._inner.upsert, points=[_struct(point) for point in batch], wait=True)

    def amend(self, ids: Sequence[str], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets fields of points, then takes others away; waits for the end of both."""
        for batch in map(_ids, batched(ids, _BATCH)):
            if new:
                self._call(self._inner.set_payload, payload=dict(new), points=batch, wait=True)
            if gone:
                self._call(self._inner.delete_payload, keys=list(gone), points=batch, wait=True)

    def remove(self, ids: Sequence[str]) -> None:
        """Removes points and waits for the end of it."""
        from qdrant_client import models

        for batch in map(_ids, batched(ids, _BATCH)):
            selector = models.PointIdsList(points=[*batch])
            self._call(self._inner.delete, points_selector=selector, wait=True)


def _ids(ids: Sequence[str]) -> list[int | str]:
    """Returns ids in the form of the library."""
    return [id_ if (known := point_id(id_)) is None else known for id_ in ids]


# ------------------------------------------------------------------ filters by namespace
# What a point says is decided where it is read (`record.namespace`). A filter may let through
# points of other namespaces, and never leaves out one of those that are wanted. Conditions are
# those of https://qdrant.tech/documentation/concepts/filtering/.


def filter_among(layout: RecordLayout, names: Collection[str]) -> models.Filter | None:
    """Returns a filter that all points of some namespaces pass; None where all have to be read."""
    if "" in names or not layout.has_namespace:  # no condition is met by what cannot be read
        return None
    from qdrant_client import models

    if not layout.owners:
        conditions = [_is_one_of(layout.keys["namespace"], names)]
        return models.Filter(should=list(conditions))
    either: list[models.Condition] = []
    for labels, labelled in by_labels_present(names, layout.owners).items():
        sets = {label: {values[label] for values in labelled} for label in labels}
        if any(value.startswith(_STRUCTURED) for values in sets.values() for value in values):
            return None
        must: list[models.Condition] = [_is_one_of(label, sets[label]) for label in labels]
        either.append(models.Filter(must=must))
    return models.Filter(should=either or [models.HasIdCondition(has_id=[])])


def _is_one_of(key: str, values: Collection[str]) -> models.Filter:
    """Returns the condition for points whose value under a key is read as one of some texts."""
    texts = sorted(value for value in values if has_utf8(value))
    from qdrant_client import models

    conditions: list[models.Condition] = [
        models.FieldCondition(key=key, match=models.MatchAny(any=texts))
    ]
    for value in texts:
        if value in _SPELLED:
            match = models.MatchValue(value=_SPELLED[value])
            conditions.append(models.FieldCondition(key=key, match=match))
        try:
            number = float(value)  # as a server may read it
        except ValueError:
            continue
        if isfinite(number):
            only = models.Range(gte=number, lte=number)
            conditions.append(models.FieldCondition(key=key, range=only))
    return models.Filter(should=conditions)


# ------------------------------------------------------------------ folders and failures


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
        import portalocker

        try:
            portalocker.lock(
                file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
        except portalocker.exceptions.LockException as problem:
            raise StoreLocked(
                f"A program that uses Qdrant has {folder} open and holds its lock. Stop it (an "
                "agent with mem0, say) and try again; nothing was changed."
            ) from problem
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
    from qdrant_client import models

    sparse = {"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)}
    return models.CreateCollection(
        vectors=models.VectorParams(size=size, distance=models.Distance.COSINE),
        sparse_vectors=sparse if keywords else None,
    )


def row_of(point: Point) -> tuple[str, bytes]:
    """Returns the row of a point as the library keeps it in a folder: its key, and a pickle."""
    from qdrant_client.local import persistence

    key = persistence.CollectionPersistence.encode_key(*_ids([point.id]))
    return key, pickle.dumps(_struct(point))


def _struct(point: Point) -> models.PointStruct:
    """Returns a point as a value of the library."""
    vectors: dict[str, object] = {name: components(point, name) for name in point.dense}
    from qdrant_client import models

    for name, value in point.other.items():
        is_sparse = isinstance(value, Mapping)
        vectors[name] = models.SparseVector.model_validate(value) if is_sparse else value
    return models.PointStruct.model_validate(
        {
            "id": _ids([point.id])[0],
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
