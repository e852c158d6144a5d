"""The folder of a Chroma store: its collections, a copy to read from, the library's client.

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
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from echoless.core import sqlite
from echoless.core.database_copies import refuse_large
from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    MissingExtra,
    StoreError,
    StoreLocked,
    StoreNotFound,
)
from echoless.core.failures import kind_of, misplaced, of_system
from echoless.core.optional import is_panic, library_settings
from echoless.core.sqlite import is_sqlite, is_unfinished_at, open_for_reading
from echoless.stores.files import Snapshot, files_below, speaking_of
from echoless.stores.known_schema import of_tables_alone
from echoless_stores.vector_store import chosen

if TYPE_CHECKING:
    from chromadb.api.client import Client

EXTRA: Final = "chroma"
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DATABASE: Final = "chroma.sqlite3"
_TEXTS: Final = "embedding_fulltext"
"""How the names of the virtual tables of the database begin."""
_ATTEMPTS: Final = 5

State = Mapping[str, Snapshot | None]
"""State of every file of a folder, by its path in the folder."""


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


def named(folder: Path, part: str, usual: str) -> str:
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
    asked = part or (usual if usual in names else "")
    return chosen("collection", folder, names, asked, lambda name: f"chroma:///{folder}#{name}")


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
            import chromadb
            from chromadb import config as chroma_config

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
    import pydantic_settings

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


@contextmanager
def speaking(folder: Path) -> Iterator[None]:
    """Raises the library's errors inside the block as errors of echoless.

    Raises:
        StoreError: The library refused or failed; the message quotes it.
        StoreLocked: Another program holds the database.
    """
    from chromadb import errors as chroma_errors

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
