"""Cache of the index between processes, in the user's cache folder.

A convenience and behaves like one: it may be deleted, it is read only where it fits the store, and
one that cannot be read or written costs time and nothing else. It holds no text, but numbers that
tell something of texts, so its folder is closed to others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from echoless.core.checked_arrays import (
    DamagedIndex,
    new_file,
    plain,
    read_arrays,
    read_contents,
    write_arrays,
    write_contents,
)
from echoless.core.model import digest
from echoless.core.optional import lazy_module
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
from echoless.ingest.ngram_index import Segment, arrays_of, wording_from
from echoless.ingest.vector_index import BITS, SEED, VectorIndex
from echoless.stores.base import Store

if TYPE_CHECKING:
    import secrets
    import shutil

    from echoless.models.encoders.base import Vectoriser
    from echoless.models.encoders.vectorizer import MemoryVectoriser
else:
    shutil = lazy_module("shutil")
    secrets = lazy_module("secrets")

FORMAT: Final = 4

WORTH_KEEPING: Final = 500
"""Memories below which an index is made anew about as soon as it is read. At 1,000 a process that
remembers one text took .34 s of processor time without a kept index and .26 s with one."""

WORTH_WRITING: Final = 0.005
"""Share of the index that has to be new for it to be written again. What is newer than the kept
index is taken in by each new process: 500 texts in 30 ms. To write one of 100,000 takes a second.
"""

_CURRENT: Final = "current"
_ARRAYS: Final = "arrays.bin"
_CONTENTS: Final = "index.json"


def open_index(
    store: Store, settings: Settings, vectoriser: MemoryVectoriser | None
) -> MemoryIndex:
    """Returns the cached index of a store, or an empty one; the caller must refresh it."""
    index = MemoryIndex(settings.profile, vectoriser)
    if not settings.cache:
        return index
    folder = _folder(store, settings, vectoriser)
    try:
        if not _is_kept(folder):
            return index
        name = plain(folder / _CURRENT).read_text("utf-8").strip()
        contents = read_contents(folder / name / _CONTENTS)
        if contents["format"] == FORMAT:
            _read(index, folder / name, contents)
    except Exception as problem:  # noqa: BLE001 - whatever is wrong with a cache, it is no cache
        _warn(folder, "cannot be read", problem)
        return MemoryIndex(settings.profile, vectoriser)
    return index


def anew(
    problem: DamagedIndex, store: Store, settings: Settings, vectoriser: MemoryVectoriser | None
) -> MemoryIndex:
    """Returns an empty index in place of one in which damage was found while it was asked."""
    _warn(_folder(store, settings, vectoriser), "cannot be read", problem)
    return MemoryIndex(settings.profile, vectoriser)


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
        with new_file(draft) as file:
            file.write(name.encode())
        draft.replace(folder / _CURRENT)  # atomic
    except (OSError, DamagedIndex) as problem:
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


def _folder(store: Store, settings: Settings, vectoriser: Vectoriser | None) -> Path:
    encoder = getattr(vectoriser, "encoder", None)
    profile = digest(json.loads(json.dumps(asdict(settings.profile), default=str)))
    what = [store.identity, profile, getattr(encoder, "model", ""), TEXT_VERSION, BITS, SEED]
    return cache_folder() / "door" / digest(what)


def _write(index: MemoryIndex, folder: Path) -> None:
    arrays: dict[str, NDArray[np.generic]] = {**index.arrays(), **arrays_of(index.wording)}
    models = sorted(index.vectors)
    for number, model in enumerate(models):
        own = index.vectors[model].arrays()
        arrays.update({f"vectors-{number}-{name}": array for name, array in own.items()})
    with new_file(folder / _ARRAYS) as file:
        where = write_arrays(file, arrays)
        file.flush()
        os.fsync(file.fileno())
    contents = {
        "format": FORMAT,
        "arrays": where,
        "token": index.token,
        "codes": index.codes,
        "segments": len(index.wording.segments),
        "models": models,
    }
    write_contents(folder / _CONTENTS, contents)


def _read(index: MemoryIndex, folder: Path, contents: Mapping[str, Any]) -> None:
    """Fills an index from files that are byte for byte as they were written.

    What is large is compared when it is read, block by block; see `checked_arrays`.

    Raises:
        DamagedIndex: One of them is not.
    """
    large = Segment.LARGE | VectorIndex.LARGE
    arrays = read_arrays(plain(folder / _ARRAYS), contents["arrays"], large)
    index.restore(contents["codes"], arrays)
    index.wording = wording_from(arrays, contents["segments"])
    for number, model in enumerate(contents["models"]):
        own: dict[str, Any] = {n: arrays[f"vectors-{number}-{n}"] for n in VectorIndex.ARRAYS}
        rest = {"mean": own["mean"], "signatures": own["signatures"]}
        index.vectors[model] = VectorIndex(model, own["owners"], own["rows"], **rest)
    index.token = str(contents["token"])
