"""Whole-file reading, atomic replacement and the writer's lock, for stores that are text files."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from time import time_ns
from typing import Final

from echoless.core import drafts
from echoless.core.errors import (
    ForeignStore,
    StoreChanged,
    StoreError,
    StoreLocked,
    StoreReadOnly,
    UsageError,
)
from echoless.core.failures import kind_of, misplaced, of_system
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a file when it was read: shows whether someone replaced or edited it since."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path, *, linked: bool = True) -> Snapshot | None:
        """Returns the present state, or None if there is no file.

        Args:
            path: The file.
            linked: Whether a link is followed.
        """
        with speaking_of(path):
            try:
                status = path.stat(follow_symlinks=linked)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


def file_number(path: Path) -> tuple[int, int] | None:
    """Returns device and inode, which differ for a file put in its place; None if it is missing."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def database_state(path: Path) -> str:
    """Returns a text that changes with each write to an SQLite file, whoever writes.

    Size, time and inode of the file and of its write-ahead log, and the salts of the log (bytes 16
    to 23, https://sqlite.org/fileformat2.html). The file itself is not opened: to close it again
    would drop the locks this process holds on it (https://sqlite.org/howtocorrupt.html, 2.2).
    """
    log = path.with_name(path.name + "-wal")
    salts = ""
    with speaking_of(log), suppress(FileNotFoundError), log.open("rb") as file:
        salts = file.read(32)[16:24].hex()
    return f"{Snapshot.of(path)}/{Snapshot.of(log)}/{salts}"


def since(state: str, before: str) -> tuple[str, tuple[str, ...] | None]:
    """Returns the answer of `Changes.changes` for a store that knows only whether it changed."""
    return state, () if state == before else None


_NOT_OPENED: Final = frozenset({errno.ELOOP, errno.ENXIO})
"""Numbers of the errors for a link, a circle of links and a socket."""
_LONGEST_NAME: Final = 255
"""Bytes of the name of a file on the usual file systems."""


@contextmanager
def open_file(path: Path, *, linked: bool = True) -> Iterator[BufferedReader]:
    """Opens a file for reading, and never waits for a pipe or a device that has its name.

    Args:
        path: The file.
        linked: Whether it may be a link.

    Raises:
        ForeignStore: It is no regular file, or a link that is not to be followed.
        StoreError: The operating system cannot read it.
    """
    more = getattr(os, "O_NONBLOCK", 0) | (0 if linked else getattr(os, "O_NOFOLLOW", 0))
    with speaking_of(path):
        try:
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | more)) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise misplaced(path, "file")
                yield file
        except OSError as problem:
            if isinstance(problem, IsADirectoryError) or problem.errno in _NOT_OPENED:
                raise misplaced(path, "file") from problem
            raise


def read_bytes(path: Path, *, linked: bool = True, limit: int = -1) -> bytes:
    """Reads a whole file; arguments and errors as of `open_file`.

    Args:
        path: The file.
        linked: Whether it may be a link.
        limit: Most bytes to read from its beginning; all by default.
    """
    with open_file(path, linked=linked) as file:
        return file.read(limit)


_END: Final = 4_096
"""Bytes of the end of a file that are compared: about the last 20 memories."""


def read_end(of: Path | bytes) -> bytes:
    """Returns the last bytes of a file or of its content, to know an edit that kept its size."""
    if isinstance(of, bytes):
        return of[-_END:]
    with open_file(of) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _END))
        return file.read()


def files_below(folder: Path) -> Iterator[Path]:
    """Yields the files below a folder that a library will open, at any depth.

    Raises:
        ForeignStore: Something there is a link, a pipe or a device, which the library would follow.
        StoreError: The operating system cannot read it.
    """
    waiting = [folder]
    while waiting:
        with speaking_of(waiting[-1]), os.scandir(waiting.pop()) as entries:
            for path in map(Path, entries):
                match kind_of(path):
                    case "folder":
                        waiting.append(path)
                    case "file":
                        yield path
                    case kind if kind:  # else it was removed meanwhile
                        raise misplaced(path, "file")


def refuse_leaving(path: Path, folder: Path) -> None:
    """Refuses a file or folder below another folder that leads out of it by a link.

    So does one that leads into the folder of Git, which may hold keys. What lies elsewhere is no
    matter of that folder.

    Raises:
        ForeignStore: It does.
    """
    root, real = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    inside = real.is_relative_to(root) and ".git" not in real.relative_to(root).parts
    if not inside and path.absolute().is_relative_to(folder.absolute()):
        raise ForeignStore(
            f"{path} is a link, or behind one, that leads out of {folder}. It was not read."
        )


def is_below(name: str) -> bool:
    """Returns whether a path that was read from a file can only lie below its folder."""
    path = PurePosixPath(name)
    plain = str(path) == name and not path.is_absolute() and not Path(name).drive
    return plain and bool(path.parts) and ".." not in path.parts and is_text(name)


def is_text(name: str) -> bool:
    """Returns whether a name of a file is UTF-8, which not every system demands."""
    return "\0" not in name and name == name.encode("utf-8", "ignore").decode()


def shown(name: str) -> str:
    """Returns the name of a file as text, even if it is no UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def insist_on_text(*names: str | Path) -> None:
    """Refuses a store whose name, or whose folder's, is not UTF-8: no ledger could hold it.

    Raises:
        UsageError: The message shows the name.
    """
    for name in map(str, names):
        if not is_text(name):
            raise UsageError(f"The name {shown(name)} is not UTF-8; a store needs one that is.")


def place_in(root: Path, name: str) -> Path:
    """Returns where a file lies below a folder, or will lie, behind no link.

    Args:
        root: The folder.
        name: Relative to it; from a file that somebody else may have written.

    Raises:
        ForeignStore: It can lie outside, or something else than a folder or a file is in its way.
        StoreError: A name in it is too long.
    """
    if not is_below(name):
        raise ForeignStore(f"{name!r} is no path of a file in {root}. Nothing was changed.")
    *above, last = PurePosixPath(name).parts
    if max(len(os.fsencode(part)) for part in (*above, last)) > _LONGEST_NAME:
        raise of_system(OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)), root / name)
    place = root
    for part in above:
        place /= part
        if kind_of(place) not in {"folder", ""}:
            raise misplaced(place, "folder")
    place /= last
    if kind_of(place) not in {"file", ""}:
        raise misplaced(place, "file")
    return place


def make_folders(folder: Path) -> None:
    """Makes a folder and its parents, each with at most the rights of its own parent."""
    if not folder.is_dir():
        make_folders(folder.parent)
        with speaking_of(folder):
            folder.mkdir(mode=folder.parent.stat().st_mode & 0o777, exist_ok=True)


def check_new(path: Path, what: str) -> None:
    """Checks that `write_new` could write a file, such as before long work.

    Args:
        path: The file to be.
        what: Noun for the file in the error, such as `report`.

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


def replace_bytes(path: Path, data: bytes, expected: Snapshot | None) -> Snapshot | None:
    """Replaces a file atomically: writes a temporary file, synchronises it, renames it.

    The file gets a time of its own, to the nanosecond: that of another program comes from a clock
    with coarser steps, so no edit can leave it as it is.

    Args:
        path: The file; its permissions and owner are kept.
        data: New content.
        expected: How the file must look for the replacement to go ahead.

    Returns:
        How the file looks now; None where the file system did not keep the time.

    Raises:
        StoreChanged: Someone changed the file since it was read.
        StoreError: It has several names.
        StoreFull: No space; the old file stands.
        StoreReadOnly: The file or folder may not be written, or the owner would lose the file.
    """
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "file is read-only", str(path))
        refuse_several_names(path)
        import tempfile

        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=NEW, dir=path.parent)
    except OSError as problem:
        raise of_system(problem, path) from problem
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _take_over(file.fileno(), path)
            stamp = time_ns()
            with suppress(OSError):  # the time of another user's file is not ours to set
                os.utime(file.fileno() if os.utime in os.supports_fd else draft, ns=(stamp, stamp))
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        refuse_changed(path, expected)
        draft.replace(path)
    except BaseException as problem:
        with suppress(OSError):
            draft.unlink()
        if isinstance(problem, OSError):
            raise of_system(problem, path) from problem
        raise
    with speaking_of(path):
        drafts.synchronise_folder(path.parent)
    made = Snapshot(status.st_size, status.st_mtime_ns, status.st_ino)
    return made if made.modified == stamp else None


def refuse_changed(path: Path, expected: Snapshot | None) -> None:
    """Refuses to write a file that is not as it was when it was read.

    Raises:
        StoreChanged: It is not.
    """
    if Snapshot.of(path) != expected:
        raise StoreChanged(
            f"{path} was changed by another program while it was being written. Nothing was "
            "changed; try again."
        )


def refuse_several_names(path: Path) -> None:
    """Refuses to write a file with other hard links; call under the writer's lock.

    A new file in its place would cut them apart, and no undo could join them; to write into it
    would change files that no plan names.

    Raises:
        StoreError: The message says how to give it a file of its own.
    """
    if not path.exists() or path.stat().st_nlink == 1:
        return
    drafts.remove_abandoned(path)  # a stopped writer may have left the second name
    if (number := path.stat().st_nlink) > 1:
        raise StoreError(
            f"{path} is one of {number} hard links to one file. A write would cut them apart, or "
            f"change the others too. Nothing was changed; give it a file of its own first: cp "
            f"{path.name} NEW, then mv NEW {path.name}."
        )


def _take_over(handle: int, path: Path) -> None:
    """Gives an open new file owner, permissions and attributes of the file it will replace."""
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
    _copy_attributes(handle, path)
    if hasattr(os, "fchmod"):  # Windows has it from Python 3.13 on
        os.fchmod(handle, mode)


def _copy_attributes(handle: int, path: Path) -> None:
    """Gives an open file the extended attributes of another: lists of access, labels, notes.

    Raises:
        OSError: An attribute cannot be copied; attributes of the system itself may be refused.
    """
    try:
        names = os.listxattr(path)
    except (AttributeError, OSError):
        return  # the system or its file system has none
    for name in {*os.listxattr(handle)} - {*names}:  # such as the folder's list of access
        with suppress(OSError):
            os.removexattr(handle, name)
    for name in names:
        with suppress(OSError) if name.startswith(("security.", "trusted.")) else nullcontext():
            os.setxattr(handle, name, os.getxattr(path, name))


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
    too; in a folder that its group may write, the group shares it. It stays, because a writer that
    waits would hold a removed file, and the next a new one.

    Raises:
        StoreLocked: Another writer holds it for longer than the busy timeout.
        StoreReadOnly: The folder may not be written.
    """
    place = path.with_name(f".{path.name}.lock")
    with speaking_of(path):
        shared = path.parent.stat().st_mode & 0o022 == 0o020  # its group alone writes there too
    mode = 0o660 if shared else 0o600
    import filelock

    lock = filelock.FileLock(place, timeout=BUSY_TIMEOUT_SECONDS, mode=mode)
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
