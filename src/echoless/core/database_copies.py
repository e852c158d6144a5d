"""Private copies of an SQLite file with its journal, for readers that must not touch the file."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreFull, StoreLocked
from echoless.core.failures import of_system
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil = lazy_module("shutil")
    tempfile = lazy_module("tempfile")

_ATTEMPTS: Final = 5

State = tuple[tuple[int, int, int] | None, ...]
"""Size, time and inode of each file a database consists of; None for one that is not there."""


def journal(path: Path) -> Path:
    """Returns the path of the rollback journal, where SQLite keeps what a write overwrites."""
    return path.with_name(f"{path.name}-journal")


def log(path: Path) -> Path:
    """Returns the path of the write-ahead log, where SQLite keeps new pages."""
    return path.with_name(f"{path.name}-wal")


def index(path: Path) -> Path:
    """Returns the path of the index of the write-ahead log, shared by SQLite's processes."""
    return path.with_name(f"{path.name}-shm")


def state(path: Path) -> State:
    """Returns size, time and inode of a database, its journal and its log."""
    parts: list[tuple[int, int, int] | None] = []
    for part in (path, journal(path), log(path)):
        try:
            status = part.stat()
        except FileNotFoundError:
            parts.append(None)
        else:
            parts.append((status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(parts)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Copy:
    """A copy of a database and the state of the original; removed with this object at the latest.

    Attributes:
        path: The copied file, in a folder of its own that only this user may read.
        of: The original.
        state: How the original looked.
    """

    path: Path
    of: Path
    state: State

    @property
    def outdated(self) -> bool:
        """Returns whether someone wrote to the original since it was copied."""
        return state(self.of) != self.state

    def discard(self) -> None:
        """Removes the copy; may be called twice."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def copied(path: Path) -> Copy:
    """Copies a database with its journal or log into the system's temporary folder.

    Raises:
        StoreFull: The copy has no space there.
        StoreLocked: Others keep writing to the file.
    """
    for _ in range(_ATTEMPTS):
        before = state(path)
        target = Path(tempfile.mkdtemp(prefix="echoless-"))
        copy = Copy(target / path.name, path, before)
        weakref.finalize(copy, shutil.rmtree, target, ignore_errors=True)
        try:
            for part in (path, journal(path), log(path)):
                if part.exists():
                    shutil.copyfile(part, target / part.name)
        except FileNotFoundError:
            copy.discard()
            continue  # a file was taken away meanwhile
        except OSError as problem:
            copy.discard()
            error = of_system(problem, target)
            if isinstance(error, StoreFull):
                raise StoreFull(
                    f"{path} can only be read from a copy, and {tempfile.gettempdir()} has no "
                    "space for one. Name a folder with space in TMPDIR; nothing was changed."
                ) from problem
            raise error from problem
        if state(path) == before:
            return copy
        copy.discard()
    raise StoreLocked(
        f"{path} is being written by another program again and again. Wait for it to end, and try "
        "again; nothing was changed."
    )
