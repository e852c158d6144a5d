"""Keeps a store as it is now beside the user's own data, so that `compare` has a state before.

A dream, a clean-up or an agent may rewrite a memory at any moment. A snapshot is a copy of its
files, or an export of another store: to compare with, not to undo by.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreNotFound, UsageError
from echoless.core.model import digest, fingerprint
from echoless.core.own_folders import make_own, user_folder
from echoless.execution.transfer import export
from echoless.stores.base import Store, TextFiles
from echoless.stores.files import read_bytes, write_new

KEPT: Final = 10
"""Snapshots of one store; with a newer one the oldest goes."""


def keep_snapshot(store: Store) -> Path:
    """Keeps a snapshot, unless the newest one shows the same state.

    Returns:
        Where the store as it is now can be opened.

    Raises:
        UsageError: There is no place for it.
        StoreError: The disk is full, or failed.
    """
    folder = _folder(store)
    state = digest(sorted(fingerprint(memory) for memory in store.scan()))[:12]
    earlier = _snapshots(folder)
    if earlier and earlier[-1].name.endswith(state):
        return _opened(earlier[-1])
    made = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{state}"
    try:
        make_own(made)
    except OSError as problem:
        raise UsageError(f"A snapshot cannot be kept: {problem}.") from problem
    if isinstance(store, TextFiles):
        root = store.root
        for path in store.text_files():
            if path.is_file():
                inside = path.relative_to(root) if root.is_dir() else Path()
                target = made / root.name / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                write_new(target, read_bytes(path))
    else:
        export(store, made / "memories.jsonl")
    for old in earlier[: max(0, len(earlier) + 1 - KEPT)]:
        shutil.rmtree(old)
    return _opened(made)


def newest_snapshot(store: Store) -> Path:
    """Returns where the newest snapshot of a store can be opened.

    Raises:
        StoreNotFound: There is none.
    """
    known = _snapshots(_folder(store))
    if not known:
        raise StoreNotFound(
            f"There is no snapshot of {store.url}. `echoless tend --snapshot` keeps one."
        )
    return _opened(known[-1])


def drop_snapshots(store: Store) -> None:
    """Removes all snapshots of a store: they hold texts."""
    for each in _snapshots(_folder(store)):
        shutil.rmtree(each)


def _folder(store: Store) -> Path:
    """Returns the folder of the snapshots of a store, which may not exist."""
    return user_folder("data") / "snapshots" / digest(store.identity)[:12]


def _snapshots(folder: Path) -> list[Path]:
    """Returns the snapshots in a folder, oldest first; one that was not finished is none."""
    return sorted(each for each in folder.glob("*T*-*") if each.is_dir() and any(each.iterdir()))


def _opened(snapshot: Path) -> Path:
    """Returns the one file or folder in a snapshot."""
    return next(iter(sorted(snapshot.iterdir())))
