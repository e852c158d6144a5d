"""Cache of the index between processes, in the user's cache folder.

A convenience and behaves like one: it may be deleted, it is read only where it fits the store, and
one that cannot be read or written costs time and nothing else. It holds no text, but numbers that
tell something of texts, so its folder is closed to others.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.checked_arrays import read_arrays, write_arrays
from echoless.core.model import digest
from echoless.core.own_folders import (
    LOG,
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
from echoless.ingest.vector_index import BITS, SEED
from echoless.stores.base import Store

if TYPE_CHECKING:
    from echoless.models.encoders.base import Vectoriser
    from echoless.models.encoders.vectorizer import MemoryVectoriser

FORMAT: Final = 5

WORTH_KEEPING: Final = 500
"""Memories below which an index is made anew about as soon as it is read. At 1,000 a process that
remembers one text took .34 s of processor time without a kept index and .26 s with one."""

WORTH_WRITING: Final = 0.005
"""Share of the index that has to be new for it to be written again. What is newer than the kept
index is taken in by each new process: 500 texts in 30 ms. To write one of 100,000 takes a second.
"""


def open_index(
    store: Store, settings: Settings, vectoriser: MemoryVectoriser | None
) -> MemoryIndex:
    """Returns the cached index of a store, or an empty one; the caller must refresh it."""
    index = MemoryIndex(settings.profile, vectoriser)
    path = _path(store, settings, vectoriser)
    if not (settings.cache and os.path.lexists(path)):
        return index
    try:
        for folder in (cache_folder(), path.parent):
            insist_on_own(folder)
        index.restore(*read_arrays(path))
    except Exception as problem:  # noqa: BLE001 - whatever is wrong with a cache, it is no cache
        _warn(path, "cannot be read", problem)
        return MemoryIndex(settings.profile, vectoriser)
    return index


def _warn(path: Path, what: str, problem: Exception) -> None:
    if isinstance(problem, NotPrivate):
        LOG.warning("%s", without(problem))
        return
    why = type(problem).__name__
    LOG.warning("The kept index %s %s (%s); it is made anew.", path, what, why)


def keep(index: MemoryIndex, store: Store, settings: Settings) -> None:
    """Saves the index if it has enough memories."""
    worth = len(index) >= WORTH_KEEPING and index.touched >= WORTH_WRITING * len(index)
    if not (settings.cache and index.token and worth):
        return
    path = _path(store, settings, index.vectoriser)
    import secrets

    draft = path.with_suffix(f".{secrets.token_hex(8)}")
    try:
        if os.path.lexists(path.parent) and not path.parent.is_dir():
            set_aside(path.parent)
        make_own(cache_folder())
        make_own(path.parent)
        if path.is_dir():
            set_aside(path)
        for abandoned in path.parent.glob(f"{path.stem}.*"):
            if abandoned != path and "set-aside" not in abandoned.name:
                abandoned.unlink()
        write_arrays(draft, *index.snapshot())
        draft.replace(path)  # atomic
    except OSError as problem:
        with suppress(OSError):
            draft.unlink()
        _warn(path, "cannot be written", problem)
        return
    index.touched = 0


def _path(store: Store, settings: Settings, vectoriser: Vectoriser | None) -> Path:
    encoder = getattr(vectoriser, "encoder", None)
    profile = digest(json.loads(json.dumps(asdict(settings.profile), default=str)))
    model = getattr(encoder, "model", "")
    what = [FORMAT, store.identity, profile, model, TEXT_VERSION, BITS, SEED]
    return cache_folder() / "door" / f"{digest(what)}.index"
