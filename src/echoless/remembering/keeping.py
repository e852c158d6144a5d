"""The index, kept between processes in the user's cache folder.

A convenience and behaves like one: it may be deleted, it is read only where it fits the store, and
one that cannot be read or written costs time and nothing else. It holds no text, but numbers that
tell something of texts, so its folder is closed to others.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from echoless.core.own_folders import cache_folder
from echoless.model import digest
from echoless.remembering.index import MemoryIndex
from echoless.remembering.pointed import BITS, SEED, VectorIndex
from echoless.remembering.shingled import WordingIndex, arrays_of, segments_from
from echoless.settings import Settings
from echoless.stores.base import Changes, Store
from echoless.text import TEXT_VERSION

if TYPE_CHECKING:
    from echoless.vectors.base import Vectoriser
    from echoless.vectors.vectorise import MemoryVectoriser

FORMAT: Final = 2

WORTH_KEEPING: Final = 2_000
"""Memories below which an index is made anew sooner than it is read."""

WORTH_WRITING: Final = 0.02
"""Share of the index that has to be new for it to be written again."""

_CURRENT: Final = "current"
_LOG: Final = logging.getLogger("echoless.cache")


def open_index(
    store: Store, settings: Settings, vectoriser: MemoryVectoriser | None
) -> MemoryIndex:
    """The index of a store as it was kept, or an empty one; either is yet to be refreshed."""
    index = MemoryIndex(settings.profile, vectoriser)
    if not (settings.cache and isinstance(store, Changes)):
        return index
    folder = _folder(store, settings, vectoriser)
    if not os.path.lexists(folder / _CURRENT):
        return index
    try:
        name = _plain(folder / _CURRENT).read_text("utf-8").strip()
        told = json.loads(_plain(folder / name / "index.json").read_bytes())
        if told["format"] == FORMAT:
            _read(index, folder / name, told)
    except Exception as problem:  # noqa: BLE001 - whatever is wrong with a cache, it is no cache
        _LOG.warning(
            "The kept index in %s cannot be read (%s); it is made anew.",
            folder,
            type(problem).__name__,
        )
        return MemoryIndex(settings.profile, vectoriser)
    return index


def _plain(path: Path) -> Path:
    """The path of a regular file; anything else might not come to its end when it is read.

    Raises:
        OSError: It is something else, or not there.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is no regular file")
    return path


def keep(index: MemoryIndex, store: Store, settings: Settings) -> bool:
    """Keep an index, where that is worth it.

    Returns:
        Whether it was written.
    """
    worth = len(index) >= WORTH_KEEPING and index.touched >= WORTH_WRITING * len(index)
    if not (settings.cache and index.token and worth):
        return False
    folder = _folder(store, settings, index.vectoriser)
    name = secrets.token_hex(8)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).mkdir(mode=0o700)
        _write(index, folder / name)
        draft = folder / f"{name}.current"
        draft.write_text(name, "utf-8")
        os.replace(draft, folder / _CURRENT)  # noqa: PTH105 - atomic
    except OSError:
        shutil.rmtree(folder / name, ignore_errors=True)
        return False
    index.touched = 0
    _tidy(folder, name)
    return True


def _tidy(folder: Path, current: str) -> None:
    for old in folder.iterdir():
        if old.is_dir() and old.name != current:
            with suppress(OSError):  # someone on Windows has it open; the next one removes it
                shutil.rmtree(old)


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
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    told = {
        "format": FORMAT,
        "files": {name: _digest_of(folder / f"{name}.npy") for name in arrays},
        "token": index.token,
        "ids": index.ids,
        "codes": index.codes,
        "segments": len(segments),
        "models": models,
    }
    (folder / "index.json").write_text(json.dumps(told), "utf-8")


def _digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with _plain(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(index: MemoryIndex, folder: Path, told: Mapping[str, Any]) -> None:
    """Fill an index from files that are byte for byte as they were written.

    Raises:
        ValueError: One of them is not.
    """
    arrays: dict[str, Any] = {}
    for name, written in told["files"].items():
        path = folder / f"{name}.npy"
        if _digest_of(path) != written:
            raise ValueError(f"{path} is not as it was written")
        arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    index.restore(told["ids"], told["codes"], arrays)
    index.wording = WordingIndex(segments_from(arrays, told["segments"]))
    for number, model in enumerate(told["models"]):
        own = {name: arrays[f"vectors-{number}-{name}"] for name in VectorIndex.ARRAYS}
        rest = {"mean": own["mean"], "signatures": own["signatures"]}
        index.vectors[model] = VectorIndex(model, own["owners"], own["rows"], **rest)
    index.token = str(told["token"])
