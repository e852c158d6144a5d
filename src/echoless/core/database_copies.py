"""Private copies of an SQLite file with its journal, for readers that must not touch the file."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreError, StoreFull, StoreLocked
from echoless.core.failures import of_system

_ATTEMPTS: Final = 5
MOST_COPIED: Final = 2**34
"""Most bytes of a private copy, 16 GiB: a file may say of itself that it is of any size."""

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


def refuse_large(size: int, path: Path) -> None:
    """Refuses to copy a store that is too large.

    Args:
        size: Bytes of its files.
        path: The store, for the message.

    Raises:
        StoreError: The message names the bound.
    """
    if size > MOST_COPIED:
        raise StoreError(
            f"{path} has {size:,} bytes and can only be read from a copy, which has at most "
            f"{MOST_COPIED:,}. Nothing was copied or changed."
        )


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
        import shutil

        shutil.rmtree(self.path.parent, ignore_errors=True)


def copied(path: Path) -> Copy:
    """Copies a database with its journal or log into the system's temporary folder.

    Raises:
        StoreFull: The copy has no space there.
        StoreLocked: Others keep writing to the file.
        StoreError: The file is too large for a copy.
    """
    real = path.resolve()
    import shutil
    import tempfile

    for _ in range(_ATTEMPTS):
        before = state(real)
        refuse_large(sum(part[0] for part in before if part), path)
        target = Path(tempfile.mkdtemp(prefix="echoless-"))
        copy = Copy(target / real.name, real, before)
        weakref.finalize(copy, shutil.rmtree, target, ignore_errors=True)
        try:
            for part in (real, journal(real), log(real)):
                if part.exists():
                    shutil.copyfile(part, target / part.name, follow_symlinks=False)
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
        if state(real) == before:
            return copy
        copy.discard()
    raise StoreLocked(
        f"{path} is being written by another program again and again. Wait for it to end, and try "
        "again; nothing was changed."
    )
