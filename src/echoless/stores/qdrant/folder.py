"""A folder of Qdrant's local mode, read without the library and written with it.

`meta.json` lists the collections; each is an SQLite file whose rows are pickled points
(`qdrant_client/local/persistence.py`, 1.20). Whoever unpickles runs what a pickle asks for, so
rows are read by a reader that makes plain values only, and the library is given the folder only
when all its rows are such. Reading takes no lock: a program that has the folder open goes on.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Final

from echoless.core.errors import EcholessError, ForeignStore, StoreError
from echoless.core.model import Json
from echoless.core.sqlite import Database, open_for_reading
from echoless.stores import files
from echoless.stores.qdrant.client import Client, refuse_locked
from echoless.stores.qdrant.points import Point, PointId, as_point, in_order

META: Final = "meta.json"
_ROWS: Final = "storage.sqlite"
_BATCH: Final = 500
_PLAIN: Final = frozenset({("builtins", "set"), ("uuid", "UUID"), ("uuid", "SafeUUID")})
_TIMES: Final = frozenset({"date", "datetime", "time", "timedelta", "timezone"})


def collections_in(folder: Path) -> dict[str, Mapping[str, Json]] | None:
    """Returns the settings of all collections by name, aliases too; None for another folder."""
    try:
        meta = json.loads((folder / META).read_bytes())
        listed, aliases = meta["collections"], meta["aliases"]
        names = {**{name: name for name in listed}, **aliases}
        return {name: listed[own] | {"name": own} for name, own in sorted(names.items())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class FolderPoints:
    """The points of one collection of a folder."""

    def __init__(self, folder: Path, settings: Mapping[str, Json]) -> None:
        """Opens the file of a collection for reading.

        Args:
            folder: Of Qdrant's local mode.
            settings: Of the collection, from `collections_in`.
        """
        self._folder = folder
        self._name = str(settings["name"])
        self._sizes = _sizes(settings.get("vectors"))
        path = _file(folder, self._name)
        self.database: Database = open_for_reading(path)
        self.path = path
        self._rows: dict[PointId, int] = {}
        self._state = ""
        self._client: Client | None = None

    @property
    def sizes(self) -> Mapping[str, int]:
        """Returns the vectors the collection takes."""
        return self._sizes

    # ------------------------------------------------------------------ reading

    def _numbered(self) -> dict[PointId, int]:
        """Returns the number of each point's row, in the order of ids.

        Older clients could leave several rows of one point; the last one counts.
        """
        state = files.database_state(self.path)
        if state != self._state:
            with self.database.speaking():
                keys = self.database.connection.execute("SELECT rowid, id FROM points").fetchall()
            numbers: dict[PointId, int] = {}
            for number, key in sorted(keys):
                id_ = _loaded(base64.b64decode(key), self.path)
                if isinstance(id_, int | str):
                    numbers[id_] = number
            self._rows = {id_: numbers[id_] for id_ in sorted(numbers, key=in_order)}
            self._state = state
        return self._rows

    def scan(self) -> Iterator[Point]:
        """Yields all points in the order of their ids."""
        yield from self._fetch(list(self._numbered()))

    def holding(self, keys: Sequence[str]) -> Iterator[Point]:
        """Yields the points with one of some keys in their payload."""
        return (point for point in self.scan() if not point.payload.keys().isdisjoint(keys))

    def get(self, ids: Sequence[PointId]) -> dict[PointId, Point]:
        """Returns points by id."""
        return {point.id: point for point in self._fetch(ids)}

    def _fetch(self, ids: Sequence[PointId]) -> Iterator[Point]:
        """Yields points in the order of the given ids; unknown ones are left out."""
        numbers = self._numbered()
        wanted = [numbers[id_] for id_ in ids if id_ in numbers]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            marks = ",".join("?" * len(batch))
            with self.database.speaking():
                query = f"SELECT rowid, point FROM points WHERE rowid IN ({marks})"
                rows = dict(self.database.connection.execute(query, batch).fetchall())
            for number in batch:
                if number in rows:
                    yield _point(rows[number], self.path)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds Qdrant's own lock of the folder, with the library's client open on it.

        Raises:
            StoreLocked: Another program has the folder open.
            ForeignStore: A row holds something else than a point.
        """
        refuse_locked(self._folder)
        check_rows(self._folder)
        self._client = Client.of_folder(self._folder, self._name)
        try:
            yield
        finally:
            self._client.close()
            self._client = None

    def _opened(self) -> Client:
        """Returns the client for a change."""
        if self._client is None:
            raise StoreError(f"{self._folder} is open for reading only.")
        return self._client

    def write(self, points: Sequence[Point]) -> None:
        """Writes whole points; each is a transaction of its own."""
        self._opened().upsert(points)

    def write_payloads(self, points: Sequence[Point]) -> None:
        """Writes payloads with the vectors as they are.

        The library's own change of a payload would write vectors anew, scaled to length 1.
        """
        self.write(points)

    def amend(self, ids: Sequence[PointId], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets and takes away fields of points, with the vectors as they are."""
        changed = []
        for point in self.get(ids).values():
            payload = {k: v for k, v in {**point.payload, **new}.items() if k not in gone}
            changed.append(replace(point, payload=payload))
        if changed:
            self.write(changed)

    def remove(self, ids: Sequence[PointId]) -> None:
        """Removes points."""
        self._opened().delete(ids)

    def close(self) -> None:
        """Closes the file."""
        self.database.close()

    @property
    def state(self) -> str:
        """Returns a text that changes with every write to the collection."""
        return files.database_state(self.path)


def check_rows(folder: Path) -> None:
    """Checks that a folder holds points only, so that the library may unpickle them.

    Raises:
        ForeignStore: A row holds something else.
    """
    for settings in (collections_in(folder) or {}).values():
        path = _file(folder, str(settings["name"]))
        if not path.is_file():
            continue
        database = open_for_reading(path)
        try:
            with database.speaking():
                for key, row in database.connection.execute("SELECT id, point FROM points"):
                    _loaded(base64.b64decode(key), path)
                    _loaded(row, path)
        finally:
            database.close()


def first_payload(folder: Path, settings: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Returns the payload of a point of a collection; None if it has none or cannot be read."""
    try:
        database = open_for_reading(_file(folder, str(settings["name"])))
    except EcholessError:
        return None
    try:
        with database.speaking():
            row = database.connection.execute("SELECT point FROM points LIMIT 1").fetchone()
        return None if row is None else _point(row[0], folder).payload
    except EcholessError:
        return None
    finally:
        database.close()


def _file(folder: Path, collection: str) -> Path:
    return folder / "collection" / collection / _ROWS


def _sizes(vectors: Json) -> dict[str, int]:
    """Returns the sizes of dense vectors by name, from the settings of a collection."""
    if not isinstance(vectors, Mapping):
        return {}
    named = {"": vectors} if "size" in vectors else vectors
    return {
        str(name): size
        for name, each in named.items()
        if isinstance(each, Mapping)
        and isinstance(size := each.get("size"), int)
        and not each.get("multivector_config")
    }


# ------------------------------------------------------------------ pickles


class _Part:
    """Stands for an object of the library; keeps its fields and does nothing."""

    def __setstate__(self, state: object) -> None:
        fields = state.get("__dict__", state) if isinstance(state, Mapping) else {}
        self.__dict__.update(fields)


class _PlainUnpickler(pickle.Unpickler):
    """Makes plain values of a pickle, and refuses any other class or function."""

    def find_class(self, module: str, name: str) -> object:
        """Returns what stands for a class of the library, or one of a few plain classes.

        Raises:
            UnpicklingError: It is another one.
        """
        if module.partition(".")[0] == "qdrant_client":
            return _Part
        if (module, name) in _PLAIN or (module == "datetime" and name in _TIMES):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _loaded(data: object, path: Path) -> object:
    """Returns the object of a pickle.

    Raises:
        ForeignStore: It holds something else than plain values and points.
    """
    try:
        if not isinstance(data, bytes):
            raise TypeError("no bytes")
        return _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as problem:  # a broken pickle may raise anything
        raise ForeignStore(
            f"{path} holds a row that is no point of Qdrant ({type(problem).__name__}: {problem}). "
            "Nothing of it was carried out and nothing was changed; take that row out, or use a "
            "copy from before."
        ) from problem


def _point(row: object, path: Path) -> Point:
    """Returns the point of a row."""
    made = _loaded(row, path)
    fields = vars(made) if isinstance(made, _Part) else {}
    id_ = fields.get("id")
    if not isinstance(id_, int | str):
        raise ForeignStore(f"{path} holds a point without an id. Nothing was changed.")
    payload = fields.get("payload")
    plain = {str(k): _json(v) for k, v in payload.items()} if isinstance(payload, Mapping) else None
    return as_point(id_, plain, fields.get("vector"))


def _json(value: object) -> Json:
    """Returns a value of a payload as JSON; clients before 1.7 stored times as objects."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _json(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_json(each) for each in value]
        case datetime() | date():
            return value.isoformat()
        case _:
            return str(value)
