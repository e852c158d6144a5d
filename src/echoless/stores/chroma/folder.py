"""The folder of a Chroma store: its collections, a copy to read from, a client to write with.

Opening a folder with the library's own client writes to it, even if nothing is asked of it after
(1.5.9: a row in `acquire_write`, a rewritten `length.bin`, and the migrations of an older folder).
So reading goes to a copy, which is taken with SQLite's backup and checked for changes meanwhile.

The library opens what the tables of a folder name, reads its own settings from the current folder,
and makes the functions that a collection names. So it gets folders named by a UUID with regular
files alone, settings that are all written down, and collections without functions.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from echoless.core import sqlite
from echoless.core.database_copies import refuse_large
from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    MissingExtra,
    StoreError,
    StoreLocked,
    StoreNotFound,
    UsageError,
)
from echoless.core.failures import kind_of, misplaced, of_system
from echoless.core.optional import is_panic, lazy_module, library_settings
from echoless.core.sqlite import is_sqlite, is_unfinished_at, open_for_reading
from echoless.stores.chroma.metadata import Record
from echoless.stores.exact_vectors import to_rows
from echoless.stores.files import Snapshot, files_below, speaking_of
from echoless.stores.known_schema import of_tables_alone

if TYPE_CHECKING:
    import chromadb
    import numpy as np
    import pydantic_settings
    from chromadb import config as chroma_config
    from chromadb import errors as chroma_errors
    from chromadb.api.client import Client
    from numpy.typing import NDArray

    from echoless.core.model import Json
else:  # optional, and three quarters of a second
    chromadb = lazy_module("chromadb")
    chroma_config = lazy_module("chromadb.config")
    chroma_errors = lazy_module("chromadb.errors")
    pydantic_settings = lazy_module("pydantic_settings")

EXTRA: Final = "chroma"
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DATABASE: Final = "chroma.sqlite3"
_TEXTS: Final = "embedding_fulltext"
"""How the names of the virtual tables of the database begin."""
_ATTEMPTS: Final = 5
_BATCH: Final = 1000

Held: TypeAlias = tuple[Record, bytes | None]
"""A record with its vector."""

State = Mapping[str, Snapshot | None]
"""State of every file of a folder, by its path in the folder."""


class Collection(Protocol):
    """The methods of the library's collection that are used.

    It is opened with `embedding_function` None, so that Chroma never embeds a text.
    """

    name: str

    @property
    def configuration_json(self) -> Mapping[str, Json]:
        """Returns the settings of the index and of the embedding function."""

    def get(self, ids: list[str] | None = None, *, include: list[str]) -> Mapping[str, Any]:
        """Returns columns of some records, or of all."""

    def add(
        self,
        ids: list[str],
        embeddings: Sequence[NDArray[np.float32]],
        *,
        metadatas: list[dict[str, Json] | None],
        documents: list[str | None],
    ) -> None:
        """Writes new records."""

    def update(
        self,
        ids: list[str],
        *,
        embeddings: NDArray[np.float32] | None,
        metadatas: list[dict[str, Json]] | None,
        documents: list[str] | None,
    ) -> None:
        """Changes records; metadata is merged key by key."""

    def delete(self, ids: list[str]) -> object:
        """Removes records."""


def folder_of(path: Path) -> Path | None:
    """Returns the Chroma folder at a path: itself, or `chroma` in the data folder of a program."""
    return next((each for each in (path, path / "chroma") if (each / DATABASE).is_file()), None)


def existing(path: Path) -> Path:
    """Returns the Chroma folder at a path, as `folder_of`, which must exist.

    Raises:
        StoreNotFound: There is none.
        ForeignStore: It is a link in the folder that was named.
    """
    folder = folder_of(path)
    if folder is None:
        raise StoreNotFound(
            f"no Chroma store at {path}. Check the path: a folder holds the file {DATABASE}."
        )
    if folder != path and kind_of(folder) != "folder":
        raise misplaced(folder, "folder")
    return folder


def collections(folder: Path) -> list[str]:
    """Returns the names of the collections, sorted, without changing a byte of the folder.

    Raises:
        ForeignStore: The database is not one of Chroma's.
    """
    with _reading(folder) as db:
        return [str(name) for (name,) in db.execute("SELECT name FROM collections ORDER BY name")]


def chosen(folder: Path, part: str, usual: str) -> str:
    """Returns the collection to open: the one named, else the usual one, else the only one.

    Raises:
        StoreNotFound: The folder has no collection, or none of this name.
        UsageError: There are several and none was named.
    """
    names = collections(folder)
    if part and part not in names:
        raise StoreNotFound(
            f'collection "{part}" not found in {folder}. It has: {", ".join(names) or "none"}.'
        )
    if part:
        return part
    if usual in names:
        return usual
    if not names:
        raise StoreNotFound(f'collection "{usual}" not found in {folder}. It has none.')
    if len(names) > 1:
        raise UsageError(
            f"{folder} has several collections ({', '.join(names)}). Name one: "
            f"chroma:///{folder}#{names[0]}"
        )
    return names[0]


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Yields the database for reading; after a stopped write, a repaired copy of it."""
    path = folder / DATABASE
    if kind_of(path) != "file":
        raise misplaced(path, "file")
    if not is_sqlite(path):
        raise ForeignStore(
            f"{path} is no database of Chroma: it is no SQLite file. Check the path."
        )
    try:
        database = of_tables_alone(open_for_reading(path), "Chroma", _TEXTS)
        with closing(database) as opened, opened.speaking():
            yield opened.connection
    except StoreLocked as problem:
        raise _locked(folder) from problem


def unfinished(folder: Path) -> bool:
    """Checks whether a program was stopped in the middle of a write to the database."""
    return is_unfinished_at(folder / DATABASE)


def take_back(folder: Path) -> None:
    """Undoes a write to the database that was stopped in the middle.

    Raises:
        StoreError: The database is locked, or may not be written.
    """
    if unfinished(folder):
        sqlite.take_back(folder / DATABASE)


def _locked(folder: Path) -> StoreLocked:
    return StoreLocked(
        f"{folder} is locked by another program that writes to it. Wait for it to end, or stop it, "
        "and try again; nothing was changed."
    )


def state(folder: Path) -> State:
    """Returns the state of a folder's files now, which shows later whether anyone wrote."""
    return {
        str(path.relative_to(folder)): Snapshot.of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def copy(folder: Path, collection: str) -> tuple[Path, State]:
    """Copies what one collection needs, and returns the copy and the state of the folder.

    Returns:
        A folder in the system's temporary one; the caller removes it.

    Raises:
        StoreLocked: Other programs keep writing to the folder.
    """
    for _ in range(_ATTEMPTS):
        before = state(folder)
        with speaking_of(folder):
            target = Path(tempfile.mkdtemp(prefix="echoless-chroma-"))
        try:
            _copy(folder, collection, target)
        except (OSError, EcholessError) as problem:
            discard(target)
            if isinstance(problem, EcholessError):
                raise
            if isinstance(problem, FileNotFoundError):
                continue  # a file was replaced meanwhile
            raise of_system(problem, folder) from problem
        if state(folder) == before:
            return target, before
        discard(target)
    raise _locked(folder)


def _copy(folder: Path, collection: str, target: Path) -> None:
    """Copies the database and the index files of one collection once."""
    with _reading(folder) as db:
        files = _index_files(folder, db, collection)
        size = sum(each.lstat().st_size for each in (folder / DATABASE, *files))
        refuse_large(size, folder)
        with closing(sqlite3.connect(target / DATABASE)) as made:
            db.backup(made)
    for each in files:
        new = target / each.relative_to(folder)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(each, new, follow_symlinks=False)


def _index_files(folder: Path, db: sqlite3.Connection, collection: str = "") -> list[Path]:
    """Returns the files in the folders that the database names: of a collection, or of all.

    Raises:
        ForeignStore: A name is no UUID, or something there is no file or folder.
    """
    files: list[Path] = []
    query = "SELECT s.id, c.name FROM segments s LEFT JOIN collections c ON s.collection = c.id"
    for name, owner in db.execute(query).fetchall():
        if not isinstance(name, str) or not _UUID.fullmatch(name):
            raise ForeignStore(
                f"The table of segments in {folder / DATABASE} names {name!r}, which is no UUID "
                "and may lead anywhere. Nothing was read there or changed."
            )
        kind = kind_of(folder / name)
        if kind not in {"folder", ""}:
            raise misplaced(folder / name, "folder")
        if kind and collection in {"", owner}:
            files += files_below(folder / name)
    return files


def discard(folder: Path) -> None:
    """Removes a copy."""
    shutil.rmtree(folder, ignore_errors=True)


def open_client(folder: Path) -> Client:
    """Opens the library's client on a folder. It writes to the folder.

    Nothing of its settings comes from variables or from a `.env` in the current folder.

    Raises:
        MissingExtra: The library is not installed.
        StoreError: It cannot open the folder.
        ForeignStore: It would open something outside of the folder.
    """
    if kind_of(folder / DATABASE):
        with _reading(folder) as db:
            _index_files(folder, db)
    try:
        with _without_sources():
            connect, settings = chromadb.PersistentClient, chroma_config.Settings
        with speaking(folder):
            given = settings.model_construct(**library_settings("chromadb"))
            return cast("Client", connect(path=str(folder), settings=given))
    except ImportError as problem:  # an older one has no such implementation
        raise MissingExtra("A Chroma store", EXTRA) from problem


@contextmanager
def _without_sources() -> Iterator[None]:
    """Lets the library make settings in its import without variables and the `.env` of a folder.

    Settings of other packages that are made meanwhile keep their sources.
    """
    base: Any = pydantic_settings.BaseSettings
    usual = vars(base)["settings_customise_sources"]

    def sources(cls: Any, /, made: type, init_settings: Any, **others: Any) -> Any:
        if made.__module__.startswith("chromadb."):
            return (init_settings,)
        return usual.__func__(cls, made, init_settings=init_settings, **others)

    base.settings_customise_sources = classmethod(sources)
    try:
        yield
    finally:
        base.settings_customise_sources = usual


def open_collection(client: Client, name: str) -> Collection:
    """Opens a collection without the functions that its schema names.

    The library would make them at each write, with settings of the folder such as an address, and
    hand the texts to those for sparse vectors.
    """
    opened = client.get_collection(name, embedding_function=None)
    opened.get_model().serialized_schema = None
    return cast("Collection", opened)


@contextmanager
def speaking(folder: Path) -> Iterator[None]:
    """Raises the library's errors inside the block as errors of echoless.

    Raises:
        StoreError: The library refused or failed; the message quotes it.
        StoreLocked: Another program holds the database.
    """
    try:
        yield
    except (chroma_errors.ChromaError, ValueError, TypeError) as problem:
        if "locked" in str(problem):
            raise _locked(folder) from problem
        raise StoreError(f"Chroma refused at {folder}: {problem}") from problem
    except OSError as problem:
        raise of_system(problem, folder) from problem
    except BaseException as problem:
        if not is_panic(problem):
            raise
        raise StoreError(
            f"Chroma failed at {folder}: {problem}. One of its files may be damaged: keep a copy "
            "of the folder before anything else."
        ) from problem


def may_write(folder: Path) -> bool:
    """Checks whether this process may change the folder and its database."""
    return os.access(folder, os.W_OK) and os.access(folder / DATABASE, os.W_OK)


# ------------------------------------------------------------------ changes of one step


class Writes:
    """Records to write to one collection, sorted by the call each one needs.

    Each call of the library is a transaction of its own.
    """

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
            old: The present record; None if there is none.
            new: The record to write.
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
