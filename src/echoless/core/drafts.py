"""New files that appear complete or not at all, and never replace another file.

A draft is a folder of its own, `.NAME.RANDOM.draft`, which only its owner may read. What is made in
it gets its name by a hard link, which fails where the name is taken: of several processes that make
one file, one wins. A process removes only its own drafts, and those whose process is gone.
"""

from __future__ import annotations

import errno
import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreLocked, UsageError

SIDECAR: Final = ".echoless"
BESIDE: Final = (SIDECAR, "-wal", "-journal")
"""Suffixes of files that belong to a store and may hold the only copy of something."""

_DRAFT: Final = ".draft"
_MAKING: Final = ".making"
_ALIVE: Final = "alive.lock"
_HOUR: Final = 3600
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_PRIVATE: Final = 0o600


@contextmanager
def draft(target: Path) -> Iterator[Path]:
    """Makes a folder for the draft of a new file, and removes it at the end.

    Args:
        target: Path of the new file; the draft lies in the same folder, so on the same file system.

    Yields:
        Where to make the file: the same name inside the draft's folder.

    Raises:
        UsageError: Something that belongs to a store of this name is in the way.
        StoreLocked: Another process writes under this name.
        OSError: The folder cannot be made.
    """
    remove_abandoned(target)
    refuse_what_is_in_the_way(target)
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_MAKING, dir=target.parent))
    try:
        import filelock

        alive = filelock.FileLock(folder / _ALIVE)
        alive.acquire(blocking=False)
        folder = folder.rename(folder.with_suffix(_DRAFT))  # no one saw it without its lock
        yield folder / target.name
        alive.release()
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def publish(made: Path, target: Path, *, like: Path | None = None) -> None:
    """Links a draft and its sidecar to their names, and makes both durable.

    The sidecar goes first, so that the file is never there without it.

    Args:
        made: The file in its draft.
        target: Its name.
        like: The file whose permissions and owner the new one gets; private if None.

    Raises:
        UsageError: The name was taken meanwhile; nothing was overwritten.
        OSError: The disk failed; nothing is left under the name.
    """
    parts = [(made, target)]
    sidecar = made.with_name(made.name + SIDECAR)
    if sidecar.exists():
        parts.insert(0, (sidecar, target.with_name(target.name + SIDECAR)))
    done: list[tuple[Path, Path]] = []
    try:
        for part, name in parts:
            give_mode(part, like)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            _link(part, name)
            done.append((part, name))
        synchronise_folder(target.parent)
    except BaseException as problem:
        for part, name in done:
            _take_back(part, name)
        if isinstance(problem, FileExistsError):
            raise UsageError(
                f"{problem.filename2 or target} was made by another process meanwhile. Nothing "
                "was overwritten; choose another name, or remove that file first."
            ) from problem
        raise


def _link(part: Path, name: Path) -> None:
    """Makes a hard link from a draft to its name.

    Where there are no hard links, an empty file holds the place.
    """
    try:
        os.link(part, name)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
        part.replace(name)


def _take_back(part: Path, name: Path) -> None:
    """Removes a name again if it is still that of our draft."""
    with suppress(OSError):
        if not part.exists() or part.samefile(name):
            name.unlink()


def synchronise_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk, where the system can.

    Raises:
        OSError: The disk failed.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # a folder that may not be read cannot be synchronised
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno in {errno.EIO, errno.ENOSPC, errno.EDQUOT}:
            raise
    finally:
        os.close(handle)


# ------------------------------------------------------------------ what is in the way


def refuse_what_is_in_the_way(target: Path) -> None:
    """Refuses to make a file where a ledger, journal or lock of that name lies.

    Args:
        target: The file to be.

    Raises:
        UsageError: A ledger or journal lies there.
        StoreLocked: Another process holds the lock of that name.
    """
    for suffix in BESIDE:
        beside = target.with_name(target.name + suffix)
        if os.path.lexists(beside) and not target.exists():
            raise UsageError(
                f"{beside} is there without its store {target.name}. It may hold the only copy of "
                "deleted memories. Move it to its store, or choose another name."
            )
    lock = target.with_name(f".{target.name}.lock")
    if lock.exists() and is_held(lock):
        raise StoreLocked(
            f"Another process writes to {target}. Wait for it to end and try again; nothing was "
            "changed."
        )


def is_held(lock: Path) -> bool:
    """Returns whether another process holds a lock file."""
    import filelock

    probe = filelock.FileLock(lock)
    try:
        probe.acquire(blocking=False)
    except (filelock.Timeout, OSError):
        return True
    probe.release()
    return False


# ------------------------------------------------------------------ drafts left behind


def abandoned(target: Path) -> list[Path]:
    """Returns the drafts of a file whose process is gone, sorted.

    One that is just being made has no lock yet: it is left alone for an hour.
    """
    pattern, before = f".{glob.escape(target.name)}.*", time.time() - _HOUR
    try:
        folders = sorted(
            folder
            for folder in target.parent.glob(pattern)
            if folder.is_dir()
            and (
                folder.suffix == _DRAFT
                or (folder.suffix == _MAKING and folder.stat().st_mtime < before)
            )
        )
    except OSError:
        return []
    return [folder for folder in folders if not is_held(folder / _ALIVE)]


def remove_abandoned(target: Path) -> list[Path]:
    """Removes drafts whose process is gone, and a ledger that such a process had published.

    Returns:
        The drafts.
    """
    gone = abandoned(target)
    import shutil

    for folder in gone:
        part = folder / (target.name + SIDECAR)
        name = target.with_name(target.name + SIDECAR)
        if not target.exists() and part.exists() and name.exists():
            _take_back(part, name)
        shutil.rmtree(folder, ignore_errors=True)
    return gone


# ------------------------------------------------------------------ permissions


def give_mode(path: Path, like: Path | None) -> None:
    """Gives a file the permissions and the owner of another; private where that cannot be told.

    Args:
        path: The file.
        like: The other; for a folder its permissions for files; None makes the file private.
    """
    if like is None or not like.exists():
        path.chmod(_PRIVATE)
        return
    wanted = like.stat()
    path.chmod(_PRIVATE)  # before another may own it
    mode = wanted.st_mode & 0o666 | _PRIVATE
    try:
        if (path.stat().st_uid, path.stat().st_gid) != (wanted.st_uid, wanted.st_gid):
            os.chown(path, wanted.st_uid, wanted.st_gid)
    except PermissionError:
        mode = _PRIVATE  # its group would be another one than that of the store
    path.chmod(mode)


def make_private(path: Path, like: Path | None = None) -> None:
    """Makes an empty file with the permissions of another, if there is no file yet.

    Args:
        path: The new file.
        like: As in `give_mode`.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
    except FileExistsError:
        return
    give_mode(path, like)


def follow(path: Path, like: Path) -> None:
    """Gives a file the permissions and the owner of what it belongs to, where they differ."""
    if not like.exists():
        return
    wanted, now = like.stat(), path.stat()
    mode = wanted.st_mode & 0o666 | _PRIVATE
    if (now.st_mode & 0o777, now.st_uid, now.st_gid) != (mode, wanted.st_uid, wanted.st_gid):
        try:
            give_mode(path, like)
        except PermissionError:
            return  # it belongs to another user, who decides who may read it
