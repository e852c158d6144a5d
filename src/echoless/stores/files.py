"""Whole-file reading, atomic replacement and the writer's lock, for stores that are text files."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from echoless.core.failures import of_system
from echoless.database import BUSY_TIMEOUT_SECONDS
from echoless.errors import EcholessError, StoreError, StoreLocked


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a file looked when it was read: enough to notice that someone replaced or edited it."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Snapshot | None:
        """The present state, or None if there is no file."""
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def file_number(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that takes its place; None where there is none."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def database_state(path: Path) -> str:
    """What tells one state of an SQLite file from the next, whoever wrote it.

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
        raise translated(problem, log) from problem
    return f"{Snapshot.of(path)}/{Snapshot.of(log)}/{salts}"


def since(state: str, before: str) -> tuple[str, tuple[str, ...] | None]:
    """What `Changes.changes` answers for a store that can only tell whether anything changed."""
    return state, () if state == before else None


def read_bytes(path: Path) -> bytes:
    """The whole file."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise translated(problem, path) from problem


def replace_bytes(path: Path, data: bytes, expected: Snapshot | None) -> None:
    """Replace a file atomically: written beside it, synchronised, renamed over it.

    Args:
        path: The file; its permissions are kept.
        data: New content.
        expected: How the file must look for the replacement to go ahead.

    Raises:
        StoreError: Someone changed the file since it was read.
        StoreFull: No space; the old file stands.
        StoreReadOnly: The file or folder may not be written.
    """
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "file is read-only", str(path))
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    except OSError as problem:
        raise translated(problem, path) from problem
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))  # noqa: PTH101 - a plain name is at hand
        if Snapshot.of(path) != expected:
            raise StoreError(
                f"{path} was changed by another program while it was being written. "
                "Nothing was changed; try again."
            )
        os.replace(name, path)  # noqa: PTH105
    except BaseException as problem:
        with suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108
        if isinstance(problem, OSError):
            raise translated(problem, path) from problem
        raise
    _sync_folder(path.parent)


def _mode(path: Path) -> int:
    """Permissions for the new file: those of the old one, else what the umask leaves."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """The advisory lock of the one writer of a file, `.NAME.lock` beside it.

    Raises:
        StoreLocked: Another writer holds it for longer than the busy timeout.
        StoreReadOnly: The folder may not be written.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only writers need it

    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=BUSY_TIMEOUT_SECONDS)
    try:
        lock.acquire()
    except Timeout as problem:
        raise StoreLocked(
            f"{path} is locked by another process that writes to it. Wait for it to end and try "
            "again; nothing was changed."
        ) from problem
    except OSError as problem:
        raise translated(problem, path) from problem
    try:
        yield
    finally:
        lock.release()


def translated(problem: OSError, path: Path) -> EcholessError:
    """The error of ours that says what an operating-system error means and what to do."""
    return of_system(problem, path)
