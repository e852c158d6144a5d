"""Whole-file reading, atomic replacement and the writer's lock, for stores that are text files."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core import drafts
from echoless.core.errors import ForeignStore, StoreError, StoreLocked, StoreReadOnly, UsageError
from echoless.core.failures import of_system
from echoless.core.optional import lazy_module
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS

if TYPE_CHECKING:
    import tempfile

    import filelock
else:
    tempfile = lazy_module("tempfile")
    filelock = lazy_module("filelock")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a file when it was read: shows whether someone replaced or edited it since."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Snapshot | None:
        """Returns the present state, or None if there is no file."""
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def file_number(path: Path) -> tuple[int, int] | None:
    """Returns device and inode, which differ for a file put in its place; None if it is missing."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def database_state(path: Path) -> str:
    """Returns a text that changes with each write to an SQLite file, whoever writes.

    Size, time and inode of the file and of its write-ahead log, and the salts of the log (bytes 16
    to 23, https://sqlite.org/fileformat2.html). The file itself is not opened: to close it again
    would drop the locks this process holds on it (https://sqlite.org/howtocorrupt.html, 2.2).
    """
    log = path.with_name(path.name + "-wal")
    salts = ""
    try:
        with log.open("rb") as file:
            salts = file.read(32)[16:24].hex()
    except FileNotFoundError:
        pass
    except OSError as problem:
        raise of_system(problem, log) from problem
    return f"{Snapshot.of(path)}/{Snapshot.of(log)}/{salts}"


def since(state: str, before: str) -> tuple[str, tuple[str, ...] | None]:
    """Returns the answer of `Changes.changes` for a store that knows only whether it changed."""
    return state, () if state == before else None


def read_bytes(path: Path) -> bytes:
    """Reads a whole file.

    Raises:
        StoreError: The operating system cannot read it.
    """
    with speaking_of(path):
        return path.read_bytes()


def check_new(path: Path, what: str) -> None:
    """Checks that a file could be written with `write_new`, such as before the work it takes.

    Args:
        path: The file to be.
        what: What it holds, as a noun for the error.

    Raises:
        UsageError: The file exists, or its folder does not.
    """
    if path.exists():
        raise UsageError(f"{path} exists. Give the {what} another name, or remove that file first.")
    if not path.parent.is_dir():
        raise UsageError(
            f"The {what} cannot be written to {path}: there is no folder {path.parent}."
        )


def write_new(path: Path, data: bytes, *, like: Path | None = None) -> None:
    """Writes a new file: whole or not at all, and never over another one.

    Args:
        path: The file.
        data: Its content.
        like: The file whose permissions and owner it gets; private if None.

    Raises:
        UsageError: The file is there, or a ledger without its store.
        StoreFull: No space.
        StoreReadOnly: The folder may not be written.
    """
    with speaking_of(path), drafts.draft(path) as made:
        made.write_bytes(data)
        if made.read_bytes() != data:
            raise StoreError(f"{path} was not kept as written. Nothing was written; try again.")
        drafts.publish(made, path, like=like)


def make_file(path: Path) -> None:
    """Makes the empty private file of a new store.

    Raises:
        UsageError: A ledger or journal of another store of that name lies there.
        StoreReadOnly: The folder may not be written.
    """
    try:
        drafts.refuse_what_is_in_the_way(path)
    except UsageError:
        if not path.exists():  # else another process made it meanwhile
            raise
    with speaking_of(path):
        drafts.make_private(path)


def replace_bytes(path: Path, data: bytes, expected: Snapshot | None) -> None:
    """Replaces a file atomically: writes beside it, synchronises, renames over it.

    Args:
        path: The file; its permissions and owner are kept.
        data: New content.
        expected: How the file must look for the replacement to go ahead.

    Raises:
        StoreError: Someone changed the file since it was read.
        StoreFull: No space; the old file stands.
        StoreReadOnly: The file or folder may not be written, or the owner would lose the file.
    """
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "file is read-only", str(path))
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=NEW, dir=path.parent)
    except OSError as problem:
        raise of_system(problem, path) from problem
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _take_over(file.fileno(), path)
            os.fsync(file.fileno())
        if Snapshot.of(path) != expected:
            raise StoreError(
                f"{path} was changed by another program while it was being written. "
                "Nothing was changed; try again."
            )
        draft.replace(path)
    except BaseException as problem:
        with suppress(OSError):
            draft.unlink()
        if isinstance(problem, OSError):
            raise of_system(problem, path) from problem
        raise
    with speaking_of(path):
        drafts.synchronise_folder(path.parent)


def _take_over(handle: int, path: Path) -> None:
    """Gives an open new file the owner and the permissions of the file it will replace."""
    try:
        old = path.stat()
    except FileNotFoundError:
        return  # private, as it was made
    mode, new = old.st_mode & 0o7777, os.fstat(handle)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except PermissionError:
            raise StoreReadOnly(
                f"{path} belongs to another user, who would lose it. Write to it as that user "
                f"(number {old.st_uid}), or take it over with chown; nothing was changed."
            ) from None
    os.fchmod(handle, mode)


NEW: Final = ".new"
"""Suffix of the draft of a file that replaces an old one; made and removed under its lock."""


def drafts_of(path: Path) -> list[Path]:
    """Returns drafts that stopped writers left beside a file; call under the writer's lock.

    Returns:
        Files and folders, sorted.
    """
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\{NEW}")
    with speaking_of(path):
        names = sorted(other.name for other in path.parent.iterdir())
    files = [path.with_name(name) for name in names if pattern.fullmatch(name)]
    return files + drafts.abandoned(path)


def remove_drafts(path: Path) -> list[Path]:
    """Removes the drafts beside a file and returns them; call under the writer's lock."""
    removed = drafts_of(path)
    with speaking_of(path):
        for each in removed:
            if not each.is_dir():
                each.unlink(missing_ok=True)
        drafts.remove_abandoned(path)
    return removed


@contextmanager
def speaking_of(path: Path) -> Iterator[None]:
    """Turns errors of the operating system about a file into errors of echoless."""
    try:
        yield
    except OSError as problem:
        raise of_system(problem, path) from problem


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the advisory lock of the one writer of a file, `.NAME.lock` beside it.

    It lies there because all who write the file must see the same lock, other users and machines
    too. It stays, because a writer that waits would hold a removed file, and the next a new one.

    Raises:
        StoreLocked: Another writer holds it for longer than the busy timeout.
        StoreReadOnly: The folder may not be written.
    """
    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=BUSY_TIMEOUT_SECONDS)
    try:
        lock.acquire()
    except filelock.Timeout as problem:
        raise StoreLocked(
            f"{path} is locked by another process that writes to it. Wait for it to end and try "
            "again; nothing was changed."
        ) from problem
    except OSError as problem:
        raise of_system(problem, path) from problem
    try:
        yield
    finally:
        lock.release()


def text_of(data: bytes, path: Path, advice: str = "Convert the file to UTF-8.") -> str:
    """Returns the text of a file.

    Args:
        data: Bytes of the file.
        path: Of the file, for the message.
        advice: What to do where it is no UTF-8, as a sentence.

    Raises:
        ForeignStore: It is not UTF-8; the message names the line.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise ForeignStore(f"Line {line} of {path} is not UTF-8 text. {advice}") from problem
