"""Folders of this user for caches, settings and data, and checks that they are private.

What is read from a cache is trusted. So a folder that another user owns or may write to is not
used: whoever writes there could choose what echoless reports.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

LOG: Final = logging.getLogger("echoless.cache")
"""Where caches speak that have no report to speak in; the command line prints each sentence once
on standard error."""

Kind = Literal["cache", "config", "data"]

CACHE: Final = "ECHOLESS_CACHE_DIR"

NOWHERE: Final = Path(os.devnull) / "echoless"
"""Placeholder path for a user without a home folder; it never exists and cannot be made."""

_UNDER_HOME: Final[Mapping[Kind, str]] = {
    "cache": ".cache",
    "config": ".config",
    "data": ".local/share",
}
"""Where the XDG Base Directory Specification 0.8 puts them if no variable says otherwise."""

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class NotPrivate(OSError):
    """Error for a folder or file that others own or may write to, or that has no place."""


class InTheWay(OSError):
    """Error for something else in the place of a cache, such as a folder instead of a file."""


def user_folder(kind: Kind) -> Path:
    """Returns this user's folder for echoless as the platform has it, always absolute.

    A relative path in `XDG_CACHE_HOME` and similar variables is ignored, as the specification asks:
    it would name another folder in each current folder, and others could put theirs there.

    Returns:
        The folder, which may not exist; `NOWHERE` for a user without a home folder.
    """
    home = os.environ.get("HOME")
    if os.name != "posix" or not home:  # then more than two variables decide
        return _looked_up(kind)
    return _of_variables(kind, home, os.environ.get(f"XDG_{kind.upper()}_HOME"))


@lru_cache(maxsize=16)
def _of_variables(kind: Kind, home: str, chosen: str | None) -> Path:  # noqa: ARG001
    """Returns `_looked_up`, cached by the variables that decide it, as each text asks for it."""
    return _looked_up(kind)


def _looked_up(kind: Kind) -> Path:

    import platformdirs

    find: Mapping[Kind, Callable[..., str]] = {
        "cache": platformdirs.user_cache_dir,
        "config": platformdirs.user_config_dir,
        "data": platformdirs.user_data_dir,
    }
    try:
        folder = Path(find[kind]("echoless", appauthor=False))
    except RuntimeError:  # of later editions, where this user has no home folder
        return NOWHERE
    if folder.is_absolute():
        return folder
    home = expanded("~")
    return home / _UNDER_HOME[kind] / "echoless" if home.is_absolute() else NOWHERE


def cache_folder() -> Path:
    """Returns `ECHOLESS_CACHE_DIR` if set, else the user's cache folder for echoless."""
    chosen = os.environ.get(CACHE, "").strip()
    return expanded(chosen) if chosen else user_folder("cache")


def expanded(text: str) -> Path:
    """Returns a path with `~` replaced by the home folder; unchanged for a user without one."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises without a home


def insist_on_own(folder: Path) -> None:
    """Checks that a folder is this user's, and that nobody else may write to it.

    Raises:
        FileNotFoundError: The folder does not exist.
        NotPrivate: It is another user's, open to others, or not named by an absolute path.
        OSError: It cannot be looked at.
    """
    if folder.is_relative_to(NOWHERE):
        raise NotPrivate(f"this user has no home folder; set {CACHE} to a folder")
    if not folder.is_absolute():
        raise NotPrivate(f"{folder} is no absolute path, so it would be another in each folder")
    _insist(folder, folder.stat())


def make_own(folder: Path) -> None:
    """Makes a folder with its parents, mode 0700, where it is missing; then `insist_on_own`.

    Raises:
        NotPrivate: See `insist_on_own`.
        OSError: It cannot be made.
    """
    try:
        insist_on_own(folder)
    except FileNotFoundError:
        for each in (*reversed(folder.parents), folder):
            each.mkdir(mode=0o700, exist_ok=True)
        insist_on_own(folder)


def insist_on_own_file(path: Path) -> bool:
    """Checks that a path is free, or a regular file of this user that nobody else may write to.

    Returns:
        Whether there is a file.

    Raises:
        InTheWay: A folder, a link or anything else is there.
        NotPrivate: It is another user's, or open to others.
        OSError: It cannot be looked at.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise InTheWay(f"{path} is no regular file")
    _insist(path, status)
    return True


def set_aside(path: Path) -> Path:
    """Renames what lies in the way of a cache; it may be another program's, so it is not deleted.

    Returns:
        The new path, in the same folder.

    Raises:
        OSError: It cannot be renamed.
    """
    import secrets

    free = path.with_name(f"{path.name}.set-aside-{secrets.token_hex(4)}")
    path.rename(free)
    return free


def without(problem: NotPrivate) -> str:
    """Returns the sentence that says why no cache is used, the same for every cache."""
    return (
        f"Nothing is kept from run to run, nor taken from earlier ones: {problem}. "
        f"{CACHE} names another folder."
    )


def _insist(path: Path, status: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):
        return  # Windows: folders of a user's profile are closed to others by its access list
    if status.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to another user (id {status.st_uid})")
    if status.st_mode & _OTHERS_WRITE:
        raise NotPrivate(f"others may write to {path}; chmod go-w {path}")
