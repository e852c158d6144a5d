"""Looks through folders within bounds: how deep, how many names, one file system, no links.

What is passed over is counted under a reason (law 9). Nothing is opened but folders.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from echoless.core.groups import grouped
from echoless.stores.places import ENVIRONMENT_MARK, PASSED_OVER, StorePlace

MOST_DEPTH: Final = 8
"""Largest depth of folders in a search."""

MOST_NAMES: Final = 50_000
"""Largest number of names in a search below one folder; names near the top come first."""

UNREADABLE: Final = "not readable"
LINK: Final = "links, not followed"
DEVICE: Final = "on another file system"
DEEP: Final = f"deeper than {MOST_DEPTH} folders"
MANY: Final = f"not looked at: more than {MOST_NAMES:,} names in one place"
BY_NAME: Final = "passed over by name (node_modules, .git, Python environments, caches)"


@dataclass(slots=True)
class Passed:
    """What was passed over.

    Attributes:
        counts: Files and folders by reason.
        notes: Sentences about the search as a whole.
    """

    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def skip(self, reason: str, times: int = 1) -> None:
        """Counts what was passed over for a reason."""
        self.counts[reason] += times

    def note(self, sentence: str) -> None:
        """Adds a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def matches_below(
    folder: Path, places: Sequence[StorePlace], passed: Passed, *, most: int = MOST_NAMES
) -> Iterator[tuple[Path, StorePlace]]:
    """Yields what the table describes below a folder, with its row, level by level, names sorted.

    Folders that are links, on another file system, unreadable or too deep are counted and not
    entered, and neither are folders that match.

    Args:
        folder: Where to look.
        places: The table.
        passed: Takes what is passed over.
        most: Names that are looked at.
    """
    named = ((PurePosixPath(place.path).name, place) for place in places)
    by_tail = grouped((name[max(name.rfind("*"), 0) :], place) for name, place in named)
    try:
        device = folder.stat().st_dev
    except OSError:
        passed.skip(UNREADABLE)
        return
    waiting: deque[tuple[Path, tuple[str, ...]]] = deque([(folder, ())])
    left = most
    while waiting:
        current, parts = waiting.popleft()
        entries = _entries(current, passed)
        if any(entry.name == ENVIRONMENT_MARK for entry in entries):
            passed.skip(BY_NAME)
            continue
        if len(entries) > left:
            passed.skip(MANY, len(entries) - left + len(waiting))
            passed.note(
                f"{folder} holds more than {most:,} files and folders; name a folder inside it."
            )
            entries, waiting = entries[:left], deque()
        left -= len(entries)
        for entry in entries:
            below = (*parts, entry.name)
            place = _place(by_tail, below)
            entering = _is_entered(entry, device, passed)
            if place is not None and not entry.is_symlink():
                path = current / entry.name
                yield [path, *path.parents][place.up], place
            elif entering and len(below) > MOST_DEPTH:
                passed.skip(DEEP)
            elif entering:
                waiting.append((current / entry.name, below))


def _entries(folder: Path, passed: Passed) -> list[os.DirEntry[str]]:
    """Returns the entries of a folder by name; none where it cannot be read, which is counted."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        passed.skip(UNREADABLE)
        return []


def _is_entered(entry: os.DirEntry[str], device: int, passed: Passed) -> bool:
    """Returns whether an entry is a folder to look through; counts those that are not."""
    try:
        if entry.is_symlink():
            passed.skip(LINK)
            return False
        if not entry.is_dir(follow_symlinks=False):
            return False
        if entry.name in PASSED_OVER:
            passed.skip(BY_NAME)
            return False
        if entry.stat(follow_symlinks=False).st_dev != device:
            passed.skip(DEVICE)
            return False
    except OSError:
        passed.skip(UNREADABLE)
        return False
    return True


def _place(rows: Mapping[str, Sequence[StorePlace]], parts: tuple[str, ...]) -> StorePlace | None:
    """Returns the first row that the end of a path matches, exact names before patterns."""
    name = parts[-1]
    suffix = "*" + name[name.rfind(".") :] if "." in name else "*"
    for key in (name, suffix, "*"):
        for place in rows.get(key, ()):
            pattern = PurePosixPath(place.path).parts
            tail = parts[-len(pattern) :]
            if len(tail) == len(pattern) and all(map(fnmatchcase, tail, pattern)):
                return place
    return None


def expanded_pattern(base: Path, pattern: str, passed: Passed) -> Iterator[Path]:
    """Yields existing paths that a pattern describes, sorted; a `*` looks into one folder.

    Args:
        base: Folder that the pattern begins in.
        pattern: With `/`; empty for the base itself.
        passed: Takes folders that cannot be read, and names beyond the limit.
    """
    first, _, rest = pattern.partition("/")
    if not first:
        if _exists(base, passed):
            yield base
        return
    if "*" not in first:
        yield from expanded_pattern(base / first, rest, passed)
        return
    if not _exists(base, passed) or not base.is_dir():
        return
    entries = _entries(base, passed)
    if len(entries) > MOST_NAMES:
        passed.skip(MANY, len(entries) - MOST_NAMES)
    for entry in entries[:MOST_NAMES]:
        if fnmatchcase(entry.name, first):
            yield from expanded_pattern(base / entry.name, rest, passed)


def _exists(path: Path, passed: Passed) -> bool:
    """Checks whether a path exists; a path without permission is counted."""
    try:
        path.lstat()
    except PermissionError:
        passed.skip(UNREADABLE)
        return False
    except (OSError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class PathSize:
    """What a file or folder takes.

    Attributes:
        size: Bytes of the files in it.
        changed: Time of the last change of one of them, in seconds since 1970; None without files.
        complete: Whether all were counted.
    """

    size: int
    changed: float | None
    complete: bool


def extent_of(path: Path, *, most: int = 10_000) -> PathSize:
    """Returns size and last change of a file, or of the files below a folder; follows no links.

    Args:
        path: The file or folder.
        most: Names that are looked at.

    Raises:
        OSError: It cannot be looked at.
    """
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        return PathSize(status.st_size, status.st_mtime, complete=True)
    size, changed, complete = 0, None, True
    waiting = [path]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    most -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                        continue
                    own = entry.stat(follow_symlinks=False)
                    size += own.st_size
                    changed = max(changed or 0.0, own.st_mtime)
        except OSError:
            complete = False
        if most < 0:
            return PathSize(size, changed, complete=False)
    return PathSize(size, changed, complete)
