"""Cache of the index between processes, in the user's cache folder.

A convenience and behaves like one: it may be deleted, it is read only where it fits the store, and
one that cannot be read or written costs time and nothing else. It holds no text, but numbers that
tell something of texts, so its folder is closed to others.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from echoless.core.model import digest
from echoless.core.own_folders import (
    LOG,
    InTheWay,
    NotPrivate,
    cache_folder,
    insist_on_own,
    make_own,
    set_aside,
    without,
)
from echoless.core.settings import Settings
from echoless.core.text import TEXT_VERSION
from echoless.ingest.index import MemoryIndex
from echoless.ingest.ngram_index import WordingIndex, arrays_of, segments_from
from echoless.ingest.vector_index import BITS, SEED, VectorIndex
from echoless.stores.base import Changes, Store

if TYPE_CHECKING:
    from echoless.models.encoders.base import Vectoriser
    from echoless.models.encoders.vectorizer import MemoryVectoriser

FORMAT: Final = 2

WORTH_KEEPING: Final = 2_000
"""Memories below which an index is made anew sooner than it is read."""

WORTH_WRITING: Final = 0.02
"""Share of the index that has to be new for it to be written again."""

_CURRENT: Final = "current"


def open_index(
    store: Store, settings: Settings, vectoriser: MemoryVectoriser | None
) -> MemoryIndex:
    """Returns the index of a store as it was kept, or an empty one; either is to be refreshed."""
    index = MemoryIndex(settings.profile, vectoriser)
    if not (settings.cache and isinstance(store, Changes)):
        return index
    folder = _folder(store, settings, vectoriser)
    try:
        if not _is_kept(folder):
            return index
        name = _plain(folder / _CURRENT).read_text("utf-8").strip()
        contents = json.loads(_plain(folder / name / "index.json").read_bytes())
        if contents["format"] == FORMAT:
            _read(index, folder / name, contents)
    except Exception as problem:  # noqa: BLE001 - whatever is wrong with a cache, it is no cache
        _warn(folder, "cannot be read", problem)
        return MemoryIndex(settings.profile, vectoriser)
    return index


def _is_kept(folder: Path) -> bool:
    """Returns whether an index lies there, in folders that are this user's own."""
    if not os.path.lexists(cache_folder()):
        return False
    insist_on_own(cache_folder())
    if not os.path.lexists(folder):
        return False
    insist_on_own(folder)
    if not folder.is_dir():
        raise InTheWay(f"{folder} is no folder")
    return os.path.lexists(folder / _CURRENT)


def _warn(folder: Path, what: str, problem: Exception) -> None:
    if isinstance(problem, NotPrivate):
        LOG.warning("%s", without(problem))
        return
    why = type(problem).__name__
    LOG.warning("The kept index in %s %s (%s); it is made anew.", folder, what, why)


def _plain(path: Path) -> Path:
    """Returns the path of a regular file; reading anything else might never end.

    Raises:
        OSError: It is something else, or not there.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is no regular file")
    return path


def keep(index: MemoryIndex, store: Store, settings: Settings) -> bool:
    """Keeps an index, where that is worth it.

    Returns:
        Whether it was written.
    """
    worth = len(index) >= WORTH_KEEPING and index.touched >= WORTH_WRITING * len(index)
    if not (settings.cache and index.token and worth):
        return False
    folder = _folder(store, settings, index.vectoriser)
    name = secrets.token_hex(8)
    try:
        _make_way(folder)
        make_own(cache_folder())
        make_own(folder)
        (folder / name).mkdir(mode=0o700)
        _write(index, folder / name)
        draft = folder / f"{name}.current"
        with _open_new(draft) as file:
            file.write(name.encode())
        draft.replace(folder / _CURRENT)  # atomic
    except OSError as problem:
        shutil.rmtree(folder / name, ignore_errors=True)
        _warn(folder, "cannot be written", problem)
        return False
    index.touched = 0
    for old in folder.iterdir():
        if old.is_dir() and old.name != name:
            with suppress(OSError):  # someone on Windows has it open; the next one removes it
                shutil.rmtree(old)
    return True


def _make_way(folder: Path) -> None:
    """Moves away what lies where folders, and the file that names the index, are to lie."""
    for each in (folder.parent, folder):
        if os.path.lexists(each) and not each.is_dir():
            set_aside(each)
    if (folder / _CURRENT).is_dir():
        set_aside(folder / _CURRENT)


def _open_new(path: Path) -> BinaryIO:
    """Returns a new file that only this user may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def _folder(store: Store, settings: Settings, vectoriser: Vectoriser | None) -> Path:
    encoder = getattr(vectoriser, "encoder", None)
    profile = digest(json.loads(json.dumps(asdict(settings.profile), default=str)))
    what = [store.identity, profile, getattr(encoder, "model", ""), TEXT_VERSION, BITS, SEED]
    return cache_folder() / "door" / digest(what)


def _write(index: MemoryIndex, folder: Path) -> None:
    segments = index.wording.segments
    arrays: dict[str, NDArray[np.generic]] = {**index.arrays(), **arrays_of(segments)}
    models = sorted(index.vectors)
    for number, model in enumerate(models):
        own = index.vectors[model].arrays()
        arrays.update({f"vectors-{number}-{name}": array for name, array in own.items()})
    for name, array in arrays.items():
        with _open_new(folder / f"{name}.npy") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    contents = {
        "format": FORMAT,
        "files": {name: _digest_of(folder / f"{name}.npy") for name in arrays},
        "token": index.token,
        "ids": index.ids,
        "codes": index.codes,
        "segments": len(segments),
        "models": models,
    }
    with _open_new(folder / "index.json") as file:
        file.write(json.dumps(contents).encode())


def _digest_of(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    with _plain(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(index: MemoryIndex, folder: Path, contents: Mapping[str, Any]) -> None:
    """Fills an index from files that are byte for byte as they were written.

    Raises:
        ValueError: One of them is not.
    """
    arrays: dict[str, Any] = {}
    for name, written in contents["files"].items():
        path = folder / f"{name}.npy"
        if _digest_of(path) != written:
            raise ValueError(f"{path} is not as it was written")
        arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    index.restore(contents["ids"], contents["codes"], arrays)
    index.wording = WordingIndex(segments_from(arrays, contents["segments"]))
    for number, model in enumerate(contents["models"]):
        own = {name: arrays[f"vectors-{number}-{name}"] for name in VectorIndex.ARRAYS}
        rest = {"mean": own["mean"], "signatures": own["signatures"]}
        index.vectors[model] = VectorIndex(model, own["owners"], own["rows"], **rest)
    index.token = str(contents["token"])
