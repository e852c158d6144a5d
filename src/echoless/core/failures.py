"""Translation of errors of SQLite and of the operating system into errors of echoless.

Codes decide, never the words of a message: SQLite has one for a full disk and others for a disk
that fails (https://sqlite.org/rescode.html), the system likewise (errno).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path
from typing import Final

from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnfinished,
)

SQLITE_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite fails with; the second where its message quotes a damaged schema that is no text."""

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
DISK: Final = frozenset({*FULL, *FORBIDDEN, errno.EIO})
"""Numbers of the system's errors that are about a disk, not about a mistake of the program."""

_KINDS: Final = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
}
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Numbers of the errors for a name under which nothing can be."""

_PRIMARY: Final = 0xFF
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_REFUSED: Final = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN})
_UNFINISHED: Final = sqlite3.SQLITE_READONLY_ROLLBACK
_NO_ROOM: Final = 1 << 16
"""Bytes a folder needs for the index of SQLite's log (32 KiB) and the blocks around it."""


def code_of(problem: Exception) -> int:
    """Returns SQLite's extended result code of an error; 0 where it has none.

    The error may be that of `sqlite3` or of `apsw`, which names it otherwise.
    """
    for name in ("sqlite_errorcode", "extendedresult"):
        code = getattr(problem, name, None)
        if isinstance(code, int):
            return code
    return 0


def said(problem: Exception) -> str:
    """Returns the message of an error, also where SQLite quotes bytes that are no text."""
    if isinstance(problem, UnicodeDecodeError):
        return problem.object.decode("utf-8", "backslashreplace")
    return str(problem)


def is_damage(problem: Exception) -> bool:
    """Returns whether an error of SQLite says that the file is damaged or no database."""
    if isinstance(problem, UnicodeDecodeError) or code_of(problem) & _PRIMARY in _DAMAGED:
        return True
    text = said(problem)
    damaged = ("malformed", "not a database", "file is encrypted", "Could not decode")
    return any(words in text for words in (*damaged, "no such table", "no such column"))


def is_unfinished(problem: Exception) -> bool:
    """Returns whether an interrupted write has to be rolled back before the file can be read."""
    return code_of(problem) == _UNFINISHED


def is_unwritable(problem: Exception) -> bool:
    """Returns whether SQLite could not make or change a file beside the database."""
    code = code_of(problem)
    wanted = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL}
    reading = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ}
    return code & _PRIMARY in wanted or (
        code & _PRIMARY == sqlite3.SQLITE_IOERR and code not in reading
    )


def has_room(folder: Path) -> bool:
    """Returns whether a small file fits into a folder; True where the system does not say."""
    try:
        system = os.statvfs(folder)
    except (OSError, AttributeError):
        return True
    return not system.f_flag & os.ST_RDONLY and system.f_bavail * system.f_frsize >= _NO_ROOM


def _is_full(path: Path | None) -> bool:
    """Returns whether a file may be written but there is no space for it."""
    if path is None or has_room(path.parent):
        return False
    read_only = os.statvfs(path.parent).f_flag & os.ST_RDONLY
    return not read_only and os.access(path.parent, os.W_OK)


def _limit_reached(path: Path | None) -> int | None:
    """Returns the largest size this process may give a file, where a database has it; else None."""
    import resource

    try:
        limit = int(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
    except (ImportError, OSError):  # Windows has none
        return None
    if path is None or limit == resource.RLIM_INFINITY:
        return None
    files = [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal"))]
    largest = max((each.stat().st_size for each in files if each.exists()), default=0)
    return limit if largest + _NO_ROOM > limit else None


def of_sqlite(problem: Exception, path: Path | None) -> EcholessError:
    """Returns the error of echoless for an error of SQLite."""
    where = str(path) if path else "the database in memory"
    code = code_of(problem)
    if is_unwritable(problem) and (limit := _limit_reached(path)) is not None:
        return limited(where, f" ({limit:,} bytes)")
    if is_unfinished(problem) and path is not None:
        return StoreUnfinished(path)
    if code & _PRIMARY in _REFUSED and _is_full(path):
        return full(where)  # no room for the files SQLite wants beside the database
    match code & _PRIMARY:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _locked(where)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _forbidden(where)
        case sqlite3.SQLITE_FULL:
            return full(where)
        case sqlite3.SQLITE_IOERR:
            if path is not None and not has_room(path.parent):
                return full(where)
            return failing(where, getattr(problem, "sqlite_errorname", said(problem)))
        case sqlite3.SQLITE_CANTOPEN:
            return StoreReadOnly(
                f"{where} cannot be opened ({said(problem)}). Check that its folder exists and may "
                "be written."
            )
    return _by_words(problem, where)


def _by_words(problem: Exception, where: str) -> EcholessError:
    """Returns the error of echoless for an error of SQLite whose code says nothing."""
    text = said(problem)
    if is_damage(problem):
        return damaged(where, text)
    if "locked" in text or "busy" in text:
        return _locked(where)
    if "readonly" in text or "query_only" in text:
        return _forbidden(where)
    return StoreError(f"{where}: {text}. Nothing was changed.")


def of_system(problem: OSError, path: Path | str | None = None) -> EcholessError:
    """Returns the error of echoless for an error of the operating system."""
    where = str(path or problem.filename or "the file")
    if problem.errno == errno.EFBIG:
        return limited(where)
    if problem.errno in FULL:
        return full(where)
    if problem.errno == errno.EIO:
        return failing(where, problem.strerror or "EIO")
    if isinstance(problem, PermissionError) or problem.errno in FORBIDDEN:
        return StoreReadOnly(
            f"{where} may not be read or written ({problem.strerror}). Check the permissions of "
            "the file and its folder; nothing was changed."
        )
    return StoreError(f"{where}: {problem.strerror or problem}. Nothing was changed.")


def kind_of(path: Path) -> str:
    """Returns what has a name, without following a link: `file`, `folder`; empty for nothing."""
    try:
        return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "device")
    except OSError as problem:
        if problem.errno in _ABSENT:
            return ""
        raise of_system(problem, path) from problem


def misplaced(path: Path, wanted: str) -> ForeignStore:
    """Returns the error for a name that something of another kind has."""
    return ForeignStore(
        f"{path} is a {kind_of(path)}, and a {wanted} belongs there. It was not followed, opened "
        f"or changed. Move it away, or put a {wanted} in its place, then try again."
    )


def damaged(where: str, why: str) -> ForeignStore:
    """Returns the error for a file that is no readable database."""
    return ForeignStore(
        f"{where} is not a readable SQLite database ({why}). Nothing was changed. First copy the "
        f"file and what lies beside it; then `echoless check {where}` tells what is wrong, and "
        f"`sqlite3 {where} .recover` writes out what can be read."
    )


def full(where: str) -> StoreFull:
    """Returns the error for a disk without free space."""
    return StoreFull(
        f"No space is left to write {where}. Free some space and try again; nothing was changed."
    )


def limited(where: str, size: str = "") -> StoreError:
    """Returns the error for a file that has the largest size it may have, in brackets if known."""
    return StoreError(
        f"{where} has reached the largest size a file may have here{size}. Raise that limit "
        "(ulimit -f), or use another file system, and try again; nothing was changed."
    )


def failing(where: str, why: str) -> StoreError:
    """Returns the error for a disk that fails."""
    return StoreError(
        f"The disk reports an input/output error for {where} ({why}). Copy the file to another "
        "disk before you go on; what was being written is taken back by `echoless check`."
    )


def _locked(where: str) -> StoreLocked:
    return StoreLocked(
        f"{where} is locked by another process. Close the program that writes to it, or wait, "
        "and try again; nothing was changed."
    )


def _forbidden(where: str) -> StoreReadOnly:
    return StoreReadOnly(
        f"{where} may not be written. Check the permissions of the file and its folder; "
        "nothing was changed."
    )
