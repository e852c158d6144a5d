"""Backup of the whole folder before anything changes, opened and compared."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from echoless.core.errors import StoreError
from echoless.core.model import Memory, fingerprint
from echoless.stores.lancedb.location import Location
from echoless.stores.lancedb.store import LanceStore


def target_of(folder: Path, chosen: Path | None) -> Path:
    """Returns the folder of the copy.

    Args:
        folder: The database.
        chosen: The folder that was asked for, or None.

    Raises:
        StoreError: Something is there, or it lies inside the folder itself.
    """
    target = chosen or folder.with_name(f"{folder.name}.backup.{time.time_ns() // 1_000_000}")
    if target.exists() or target.is_symlink():
        raise StoreError(
            f"The backup folder {target} exists. Name another with --backup-dir; nothing was "
            "changed."
        )
    if folder.resolve() in target.resolve().parents:
        raise StoreError(
            f"The backup folder {target} lies inside {folder}. Name one outside of it; nothing was "
            "changed."
        )
    return target


def back_up(store: LanceStore, target: Path, entries: Mapping[str, Memory]) -> None:
    """Copies the folder and compares every entry of the copy.

    Raises:
        StoreError: The copy could not be made or differs; it is removed, nothing was changed.
    """
    try:
        shutil.copytree(store.folder, target, symlinks=True)
        with LanceStore(Location(target, store.table)) as copy:
            copied = {memory.id: fingerprint(memory) for memory in copy.scan()}
    except (OSError, StoreError) as problem:
        _remove(target)
        raise StoreError(
            f"The backup {target} could not be made ({problem}). Nothing was changed."
        ) from problem
    # what was hidden by moving it lies in the ledger, not in the folder
    rows = store.own_get(entries)
    present = {i: fingerprint(m) for i, m in entries.items() if i in rows}
    if copied != present:
        _remove(target)
        raise StoreError(
            f"The backup has {len(copied)} entries and differs from the {len(present)} that were "
            "read: another program wrote at the same time. Nothing was changed; try again."
        )


def _remove(target: Path) -> None:
    """Removes the copy made here; nothing was at that place before."""
    with suppress(OSError):
        shutil.rmtree(target)
