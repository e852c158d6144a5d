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
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.drafts import synchronise_folder
from echoless.core.errors import StoreError
from echoless.stores.files import (
    NEW,
    Snapshot,
    read_bytes,
    remove_drafts,
    replace_bytes,
    speaking_of,
)
from echoless.stores.markdown.presets import SUFFIXES
from echoless.stores.markdown.state import digest_of

_SUFFIX: Final = ".echoless-files"
_DRAFT: Final = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(NEW)}")


@dataclass(frozen=True, slots=True)
class Change:
    """One file that is to change.

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
        StoreError: It cannot be read.
    """
    if not record.exists():
        return None
    try:
        data = json.loads(read_bytes(record))
        before = {
            path: None if each is None else base64.b64decode(each)
            for path, each in data["before"].items()
        }
        return Pending(data["token"], before, data["after"])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        if not record.exists():  # the writer was done meanwhile
            return None
        raise StoreError(
            f"{record} cannot be read. It holds the files of an unfinished write as they were; "
            "restore it from a backup, or move it away to go on with the files as they are."
        ) from problem


def carry_out(
    root: Path, record: Path, token: str, changes: Sequence[Change], earlier: Pending | None
) -> None:
    """Writes the record, then replaces the files one by one: new ones first, removals last.

    Args:
        root: The folder.
        record: See `record_of`.
        token: Of the state to be.
        changes: What to change.
        earlier: A write in the same transaction of the sidecar, which this one joins.

    Raises:
        StoreError: A file changed since it was read; nothing was changed.
    """
    for change in changes:
        if Snapshot.of(root / change.path) != change.snapshot:
            raise StoreError(
                f"{root / change.path} was changed by another program meanwhile. Nothing was "
                "changed; try again."
            )
    before = {c.path: c.before for c in changes} | dict(earlier.before if earlier else {})
    after = dict(earlier.after if earlier else {}) | {c.path: _digest(c.after) for c in changes}
    data = {
        "token": token,
        "before": {path: _encoded(each) for path, each in before.items()},
        "after": after,
    }
    replace_bytes(record, json.dumps(data).encode(), Snapshot.of(record) if earlier else None)
    order = sorted(changes, key=lambda c: (c.after is None, c.before is not None, c.path))
    for change in order:
        _write(root, change)


def _write(root: Path, change: Change) -> None:
    path = root / change.path
    if change.after is None:
        with speaking_of(path):
            path.unlink(missing_ok=True)
            synchronise_folder(path.parent)
        return
    if change.before is None:
        with speaking_of(path):
            path.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(path, change.after, change.snapshot)
    if change.before is None:
        with suppress(OSError):  # permissions of a new file are no reason to fail
            like = root / change.like
            shutil.copymode(like, path)
            if change.like and like.is_file():
                stat = like.stat()
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _digest(data: bytes | None) -> str:
    return "" if data is None else digest_of(data.decode("utf-8", "surrogateescape"))


def conflicts(root: Path, pending: Pending) -> list[Path]:
    """Returns the files of an unfinished write that are neither as before nor as after it."""
    edited = []
    for path, before in pending.before.items():
        now = _bytes(root / path)
        if now != before and _digest(now) != pending.after[path]:
            edited.append(root / path)
    return edited


def take_back(root: Path, record: Path, pending: Pending) -> list[Path]:
    """Puts the files of an unfinished write back as they were, and removes the record.

    Returns:
        Files somebody edited since, which are left alone; their before-image is beside them, under
        a name that ends in `.before`.
    """
    edited = conflicts(root, pending)
    for path, before in pending.before.items():
        target = root / path
        if target in edited:
            if before is not None:
                image = target.with_name(target.name + ".before")
                if not image.exists():
                    replace_bytes(image, before, None)
            continue
        now = _bytes(target)
        if now == before:
            continue
        if before is None:
            with speaking_of(target):
                target.unlink(missing_ok=True)
            continue
        with speaking_of(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        replace_bytes(target, before, Snapshot.of(target))
    drop(record, root, pending)
    return edited


def drop(record: Path, root: Path, pending: Pending) -> None:
    """Removes the record of a write that is done, drafts beside its files, and empty archives."""
    for path in pending.before:
        if (root / path).parent.is_dir():
            remove_drafts(root / path)
    with speaking_of(record):
        record.unlink(missing_ok=True)
    remove_empty(root, pending.before)


def drafts_in(folder: Path) -> list[Path]:
    """Returns drafts of Markdown files in a folder, not below it, sorted."""
    if not folder.is_dir():
        return []
    with speaking_of(folder):
        names = sorted(each.name for each in folder.iterdir())
    drafts = ((name, _DRAFT.fullmatch(name)) for name in names)
    return [folder / n for n, d in drafts if d and Path(d.group(1)).suffix in SUFFIXES]


def remove_empty(root: Path, paths: Iterable[str]) -> None:
    """Removes the folders above some files that nothing is in any more, below the root."""
    for path in sorted(paths):
        for folder in (root / path).relative_to(root).parents:
            if folder == Path():
                break
            with suppress(OSError):
                (root / folder).rmdir()


def _bytes(path: Path) -> bytes | None:
    return read_bytes(path) if path.is_file() else None
