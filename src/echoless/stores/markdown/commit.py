"""Replacement of several files as one: before-images first, then the files, then the new state.

The record of a write lies beside the sidecar, `NAME.echoless-files`, with every file as it was and
the token the state will have. The state changes in a transaction of the sidecar, which may be a
part of a larger one; therefore the record is a file of its own. As long as the token of the state
is not that of the record, the write is not done: readers take the before-images, and the next
writer puts them back.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from echoless.core.drafts import give_mode, synchronise_folder
from echoless.core.errors import StoreError
from echoless.core.failures import kind_of
from echoless.stores.files import (
    NEW,
    Snapshot,
    make_folders,
    read_bytes,
    refuse_several_names,
    remove_drafts,
    replace_bytes,
    speaking_of,
)
from echoless.stores.markdown.presets import SUFFIXES
from echoless.stores.markdown.state import digest_of

_SUFFIX: Final = ".echoless-files"
_DRAFT: Final = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(NEW)}")

Places: TypeAlias = Callable[[str], Path]
"""Returns where a file of the store lies, or refuses a path that is none: `Tree.place`."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file to change.

    Attributes:
        path: Relative to the folder.
        before: Its bytes now; None where there is no such file.
        after: Its bytes to be; None to remove it.
        snapshot: Its state when it was read.
        like: File whose permissions and time a new file takes; its source, where it is moved.
    """

    path: str
    before: bytes | None
    after: bytes | None
    snapshot: Snapshot | None
    like: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """Record of a write that is under way, or was stopped.

    Attributes:
        token: Of the state it leads to.
        before: Bytes of each file before it; None where there was none.
        after: Digest of each file after it; empty where it is to be gone.
    """

    token: str
    before: Mapping[str, bytes | None]
    after: Mapping[str, str]


def record_of(store: Path) -> Path:
    """Returns where the record of a write of a store lies."""
    return store.with_name(store.name + _SUFFIX)


def read_pending(record: Path) -> Pending | None:
    """Reads the record of a write; None where there is none.

    Raises:
        ForeignStore: It is no file.
        StoreError: It cannot be read.
    """
    if not kind_of(record):
        return None
    try:
        data = json.loads(read_bytes(record, linked=False))
        before = {
            path: None if each is None else base64.b64decode(each)
            for path, each in data["before"].items()
        }
        after = {path: str(data["after"][path]) for path in before}
        return Pending(str(data["token"]), before, after)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError) as problem:
        if not kind_of(record):  # the writer was done meanwhile
            return None
        if isinstance(problem, StoreError):
            raise
        raise StoreError(
            f"{record} cannot be read. It holds the files of an unfinished write as they were; "
            "restore it from a backup, or move it away to go on with the files as they are."
        ) from problem


def carry_out(
    place: Places, record: Path, token: str, changes: Sequence[FileChange], earlier: Pending | None
) -> None:
    """Writes the record, then replaces the files one by one: new ones first, removals last.

    Args:
        place: Finds the files.
        record: See `record_of`.
        token: Of the state to be.
        changes: What to change.
        earlier: A write in the same transaction of the sidecar, which this one joins.

    Raises:
        StoreError: A file changed since it was read, or has other hard links that a write would
            cut off; nothing was changed.
    """
    for change in changes:
        path = place(change.path)
        if Snapshot.of(path, linked=False) != change.snapshot:
            raise StoreError(
                f"{path} was changed by another program meanwhile. Nothing was changed; try again."
            )
        refuse_several_names(path)
    before = {c.path: c.before for c in changes} | dict(earlier.before if earlier else {})
    after = dict(earlier.after if earlier else {}) | {c.path: _digest(c.after) for c in changes}
    data = {
        "token": token,
        "before": {
            path: None if each is None else base64.b64encode(each).decode()
            for path, each in before.items()
        },
        "after": after,
    }
    replace_bytes(record, json.dumps(data).encode(), Snapshot.of(record) if earlier else None)
    order = sorted(changes, key=lambda c: (c.after is None, c.before is not None, c.path))
    for change in order:
        _write(place, change)


def _write(place: Places, change: FileChange) -> None:
    path = place(change.path)
    if change.after is None:
        with speaking_of(path):
            path.unlink(missing_ok=True)
            synchronise_folder(path.parent)
        return
    if change.before is not None:
        replace_bytes(path, change.after, change.snapshot)
        return
    make_folders(path.parent)
    like = place(change.like) if change.like else None
    replace_bytes(path, change.after, None)
    with suppress(OSError):  # permissions of a new file are no reason to fail
        if like is not None and like.is_file():
            shutil.copystat(like, path)
        else:
            give_mode(path, path.parent)


def _digest(data: bytes | None) -> str:
    return "" if data is None else digest_of(data.decode("utf-8", "surrogateescape"))


def conflicts(place: Places, pending: Pending) -> list[Path]:
    """Returns files of an unfinished write with neither the old nor the new bytes."""
    edited = []
    for path, before in pending.before.items():
        now = _bytes(place(path))
        if now != before and _digest(now) != pending.after[path]:
            edited.append(place(path))
    return edited


def take_back(place: Places, record: Path, pending: Pending) -> list[Path]:
    """Puts the files of an unfinished write back as they were, and removes the record.

    Returns:
        Files somebody edited since, which are left alone; their before-image is beside them, under
        a name that ends in `.before`.
    """
    edited = conflicts(place, pending)
    for path, before in pending.before.items():
        target = place(path)
        if target in edited:
            if before is not None:
                image = target.with_name(target.name + ".before")
                if not kind_of(image):
                    replace_bytes(image, before, None)
            continue
        now = _bytes(target)
        if now == before:
            continue
        if before is None:
            with speaking_of(target):
                target.unlink(missing_ok=True)
            continue
        make_folders(target.parent)
        replace_bytes(target, before, Snapshot.of(target))
    drop(record, place, pending)
    return edited


def drop(record: Path, place: Places, pending: Pending) -> None:
    """Removes the record of a write that is done, drafts beside its files, and empty archives."""
    paths = [place(path) for path in pending.before]
    for path in paths:
        if path.parent.is_dir():
            remove_drafts(path)
    with speaking_of(record):
        record.unlink(missing_ok=True)
    for path, name in sorted(zip(paths, pending.before, strict=True)):
        _remove_empty(path, name.count("/"))


def drafts_in(folder: Path) -> list[Path]:
    """Returns drafts of Markdown files in a folder, not below it, sorted."""
    if not folder.is_dir():
        return []
    with speaking_of(folder):
        names = sorted(each.name for each in folder.iterdir())
    drafts = ((name, _DRAFT.fullmatch(name)) for name in names)
    return [folder / n for n, d in drafts if d and Path(d.group(1)).suffix in SUFFIXES]


def _remove_empty(path: Path, depth: int) -> None:
    """Removes the folders above a file that nothing is in any more, up to a number of them."""
    for folder in [*path.parents][:depth]:
        with suppress(OSError):
            folder.rmdir()


def _bytes(path: Path) -> bytes | None:
    return read_bytes(path, linked=False) if kind_of(path) else None
