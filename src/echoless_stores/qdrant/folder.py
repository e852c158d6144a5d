"""A folder of Qdrant's local mode, read and written without the library's loader.

`meta.json` lists the collections; each is an SQLite file whose rows are pickled points
(`qdrant_client/local/persistence.py`, 1.20). Whoever unpickles runs what a pickle asks for, and
the library unpickles all rows of a folder that it opens. So it never opens one here: rows are read
by a reader that makes plain values only, and written under Qdrant's own lock. Reading takes no
lock: a program that has the folder open goes on.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import Final

from echoless.core.batches import batched
from echoless.core.errors import EcholessError, ForeignStore, StoreError
from echoless.core.failures import kind_of
from echoless.core.model import Json
from echoless.core.sqlite import Database, open_for_reading, open_for_writing
from echoless.stores import files
from echoless.stores.known_schema import of_tables_alone
from echoless_stores.qdrant.client import (
    Point,
    as_point,
    holding_lock,
    in_order,
    new_settings,
    row_of,
)
from echoless_stores.vector_store import RecordDriver, Written

META: Final = "meta.json"
_ROWS: Final = "storage.sqlite"
_BATCH: Final = 500
_TABLE: Final = "CREATE TABLE IF NOT EXISTS points (id TEXT PRIMARY KEY, point BLOB)"


def collections_in(folder: Path) -> dict[str, Mapping[str, Json]] | None:
    """Returns the settings of all collections by name, aliases too; None for another folder."""
    if kind_of(folder / META) != "file":
        return None
    try:
        meta = json.loads((folder / META).read_bytes())
        listed, aliases = meta["collections"], meta["aliases"]
        names = {**{name: name for name in listed}, **aliases}
        return {name: listed[own] | {"name": own} for name, own in sorted(names.items())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


class FolderPoints(RecordDriver):
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
        self.database: Database = of_tables_alone(open_for_reading(path), "Qdrant")
        self.path = path
        self._rows: dict[str, list[int]] = {}
        self._state = ""
        self._writer: Database | None = None

    @property
    def sizes(self) -> Mapping[str, int | None]:
        """Returns the vectors the collection takes."""
        return self._sizes

    # ------------------------------------------------------------------ reading

    def _numbered(self) -> dict[str, list[int]]:
        """Returns the numbers of each point's rows, in the order of ids.

        Older clients could leave several rows of one point; the last one counts.

        Raises:
            ForeignStore: The id of a row is no id of a point.
        """
        state = files.database_state(self.path)
        if state != self._state:
            with self.database.speaking():
                keys = self.database.connection.execute("SELECT rowid, id FROM points").fetchall()
            numbers: dict[str, list[int]] = {}
            for number, key in sorted(keys):
                with _reading(self.path, number):
                    id_ = _id(_loaded(base64.b64decode(key, validate=True)))
                numbers.setdefault(id_, []).append(number)
            self._rows = {id_: numbers[id_] for id_ in sorted(numbers, key=in_order)}
            self._state = state
        return self._rows

    def scan(self, *, vectors: bool = True) -> Iterator[Point]:
        """Yields all points in the order of their ids."""
        _ = vectors  # they are in one pickle with the rest
        yield from self._fetch(list(self._numbered()))

    def get(self, ids: Sequence[str]) -> dict[str, Point]:
        """Returns points by id."""
        return {point.id: point for point in self._fetch(ids)}

    def _fetch(self, ids: Sequence[str]) -> Iterator[Point]:
        """Yields points in the order of the given ids; unknown ones are left out."""
        numbers = self._numbered()
        wanted = {numbers[id_][-1]: id_ for id_ in ids if id_ in numbers}
        for batch in batched(wanted, _BATCH):
            marks = ",".join("?" * len(batch))
            with self.database.speaking():
                query = f"SELECT rowid, point FROM points WHERE rowid IN ({marks})"
                rows = dict(self.database.connection.execute(query, batch).fetchall())
            for number in batch:
                if number in rows:
                    point = _point(rows[number], self.path, number)
                    if point.id != wanted[number]:
                        raise _foreign(self.path, number, f"it says {point.id!r} of itself")
                    yield point

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds Qdrant's own lock of the folder, with the file open for writing.

        Raises:
            StoreLocked: Another program has the folder open.
        """
        with holding_lock(self._folder):
            self._writer = of_tables_alone(open_for_writing(self.path, wal=False), "Qdrant")
            try:
                yield
            finally:
                self._writer.close()
                self._writer = None

    def _replace(self, ids: Sequence[str], points: Sequence[Point]) -> None:
        """Removes all rows of points and writes new ones, in one transaction."""
        if self._writer is None:
            raise StoreError(f"{self._folder} is open for reading only.")
        numbers = self._numbered()
        removed = [(number,) for id_ in ids for number in numbers.get(id_, ())]
        with self._writer.transaction():
            self._writer.change_many("DELETE FROM points WHERE rowid = ?", removed)
            self._writer.change_many("INSERT INTO points VALUES (?, ?)", map(row_of, points))

    def write(self, changed: Sequence[Written]) -> None:
        """Writes whole points, all or none.

        The library's own change of a payload would write vectors anew, scaled to length 1.
        """
        points = [new for new, _ in changed]
        self._replace([point.id for point in points], points)

    def amend(self, ids: Sequence[str], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets and takes away fields of points, with the vectors as they are."""
        changed: list[Written] = []
        for point in self.get(ids).values():
            payload = {k: v for k, v in {**point.payload, **new}.items() if k not in gone}
            changed.append((replace(point, payload=payload), point))
        self.write(changed)

    def remove(self, ids: Sequence[str]) -> None:
        """Removes points, all or none."""
        self._replace(ids, ())

    def close(self) -> None:
        """Closes the file."""
        self.database.close()

    @property
    def state(self) -> str:
        """Returns a text that changes with every write to the collection."""
        return files.database_state(self.path)


def make_collection(folder: Path, name: str, size: int, *, keywords: bool) -> None:
    """Makes a collection in a folder of Qdrant, or in a new one.

    Args:
        folder: Folder of Qdrant; its other collections stay unchanged.
        name: Of the collection, which is not there.
        size: Number of components of its vectors.
        keywords: Whether it takes the sparse vectors of mem0's keyword search.

    Raises:
        StoreLocked: Another program has the folder open.
    """
    path = _file(folder, name)
    with files.speaking_of(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
    with holding_lock(folder):
        database = open_for_writing(path, create=True, wal=False)
        try:
            with database.transaction():
                database.change(_TABLE)
        finally:
            database.close()
        meta = folder / META
        before = files.Snapshot.of(meta)
        data = files.read_bytes(meta) if before else b'{"collections": {}, "aliases": {}}'
        settings = json.loads(data)
        settings["collections"][name] = new_settings(size, keywords=keywords)
        files.replace_bytes(meta, json.dumps(settings).encode(), before)


def first_payload(folder: Path, settings: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Returns the payload of a point of a collection; None if it has none or cannot be read."""
    try:
        database = of_tables_alone(open_for_reading(_file(folder, str(settings["name"]))), "Qdrant")
    except EcholessError:
        return None
    try:
        with database.speaking():
            query = "SELECT point, rowid FROM points LIMIT 1"
            row = database.connection.execute(query).fetchone()
        return None if row is None else _point(row[0], database.place or folder, row[1]).payload
    except EcholessError:
        return None
    finally:
        database.close()


def _file(folder: Path, collection: str) -> Path:
    """Returns the file of a collection.

    Raises:
        ForeignStore: It would lie outside of the folder.
    """
    path = folder / "collection" / collection / _ROWS
    inside = (folder / "collection").resolve()
    try:
        if path.resolve().relative_to(inside) == Path(collection, _ROWS):
            return path
    except (ValueError, OSError, RuntimeError):
        pass
    raise ForeignStore(
        f"The collection {collection!r} of {folder} would lie outside of that folder, by its name "
        "or by a link. Nothing was read or changed; take it out of meta.json, or copy the folder "
        "without links."
    )


def _sizes(vectors: Json) -> dict[str, int | None]:
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

_STOOD_FOR: Final = frozenset(
    {
        ("qdrant_client.http.models.models", "PointStruct"),
        ("qdrant_client.http.models.models", "SparseVector"),
        ("uuid", "UUID"),
        ("uuid", "SafeUUID"),
    }
)
_PLAIN: Final = frozenset(
    {("builtins", "set")}
    | {("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")}
)
_VALUES: Final = 1_000_000
"""Most values of one row; a pickle may name one list many times over."""

_STEPS: Final = re.compile(
    rb"(?:G.{8}|[\x80Khq].|[\x88\x89N()\]}aeustRb.\x81\x85-\x87\x8f-\x91\x93\x94]"
    rb"|M..|[Jj].{4}|r..[\x00-\x0f]\x00|\x95.{8}|c[\w.]+\n\w+\n)*+",
    re.DOTALL,
)
"""The steps that rows of points take, of those of fixed size in the module `pickletools`.

Python's reader makes room for as many values as the largest number behind `r` says.
"""

_SIZES: Final = {0x8A: 1, 0x8C: 1, ord("C"): 1, ord("X"): 4, ord("B"): 4, 0x8D: 8, 0x8E: 8}
"""Number of bytes of the length behind a step with a value of its own length, by step."""


class _Part:
    """Stands for an object of the library; keeps its fields and does nothing."""

    def __init__(self, *_given: object) -> None:
        """Takes what the object would be made of."""

    def __setstate__(self, state: object) -> None:
        fields = state.get("__dict__", state) if isinstance(state, Mapping) else {}
        self.__dict__.update(fields)


class _PlainUnpickler(pickle.Unpickler):
    """Makes plain values of a pickle, and refuses any other class or function."""

    def find_class(self, module: str, name: str) -> object:
        """Returns what stands for a class of the library, or one of a few plain classes.

        Raises:
            UnpicklingError: The class is neither.
        """
        if (module, name) in _STOOD_FOR:
            return _Part
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _loaded(data: object) -> object:
    """Returns the object of a pickle; raises anything for one that is broken or asks for more."""
    if not isinstance(data, bytes):
        raise TypeError("it holds no bytes")
    at = 0
    while (match := _STEPS.match(data, at)) and (at := match.end()) < len(data):
        if data[at] not in _SIZES:
            raise pickle.UnpicklingError(f"it takes the step {data[at]:#x}")
        behind = at + 1 + _SIZES[data[at]]
        at = behind + int.from_bytes(data[at + 1 : behind], "little")
    return _PlainUnpickler(io.BytesIO(data)).load()


@contextmanager
def _reading(path: Path, number: int) -> Iterator[None]:
    """Raises whatever is wrong with a row inside the block as an error about that row."""
    try:
        yield
    except Exception as problem:  # a broken pickle may raise anything
        raise _foreign(path, number, f"{type(problem).__name__}: {problem}") from problem


def _foreign(path: Path, number: int, why: str) -> ForeignStore:
    """Returns the error for a row that is no point."""
    return ForeignStore(
        f"Row {number} of {path} is no point of Qdrant ({why}). Nothing of it was carried out and "
        "nothing was changed. If you do not know who made this folder, do not open it with any "
        "program of Qdrant; else take that row out, or use a copy from before."
    )


def _id(value: object) -> str:
    """Returns the id of a point; raises TypeError for what is none."""
    plain = _json(value, count())
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise TypeError(f"its id is {type(value).__name__}")
    return str(plain)


def _point(row: object, path: Path, number: int) -> Point:
    """Returns the point of a row."""
    with _reading(path, number):
        made = _loaded(row)
        fields = vars(made) if isinstance(made, _Part) else {}
        payload, vector = fields.get("payload"), fields.get("vector")
        counter = count()
        items = payload.items() if isinstance(payload, Mapping) else ()
        plain = {str(key): _json(value, counter) for key, value in items}
        named = vector.values() if isinstance(vector, Mapping) else [vector]
        lists = [each for each in named if isinstance(each, list | tuple) and each]
        lists = [each for each in lists if isinstance(each[0], list | tuple)]
        if sum(len(row) for each in lists for row in each) > _VALUES:
            raise ValueError("it holds too many numbers")
        return as_point(_id(fields.get("id")), plain, vector)


def _json(value: object, number: Iterator[int]) -> Json:
    """Returns a value of a payload as JSON; clients before 1.7 stored times as objects.

    Args:
        value: What a row holds.
        number: Counts the values of the row.
    """
    if next(number) > _VALUES:
        raise ValueError("it holds too many values")
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _json(each, number) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_json(each, number) for each in value]
        case datetime() | date():
            return value.isoformat()
        case _Part() if isinstance(identity := vars(value).get("int"), int):
            return str(uuid.UUID(int=identity))
        case _:
            return str(value)
