"""The Markdown files of a store: which there are, their texts, and texts that are to be written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreNotFound
from echoless.core.failures import of_system
from echoless.stores.files import Snapshot, read_bytes, text_of
from echoless.stores.markdown.commit import Change
from echoless.stores.markdown.presets import (
    ARCHIVES,
    SUFFIXES,
    Preset,
    is_archived,
    is_read_folder,
)

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a note; a larger one is not read, and reported."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The Markdown files in a folder.

    Attributes:
        paths: Relative to it, sorted.
        outside: Links that lead out of it, which are not followed.
        inside: Links to other files of it, which are read once, under their own name.
    """

    paths: tuple[str, ...]
    outside: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


def has_notes(folder: Path) -> bool:
    """Returns whether there is a Markdown file in a folder, or below it."""
    return any(not path.is_symlink() for _, path in _entries(folder, ""))


def listing_of(folder: Path) -> Listing:
    """Lists the Markdown files of a folder and the folders below it.

    Hidden folders, `node_modules` and the archive are left out.

    Raises:
        StoreReadOnly: A folder may not be read.
    """
    paths: list[str] = []
    outside: list[str] = []
    inside: list[str] = []
    root = folder.resolve()
    for entry in _entries(folder, ""):
        name, path = entry
        if not path.is_symlink():
            paths.append(name)
        elif not path.resolve().is_relative_to(root):
            outside.append(name)
        elif path.exists():
            inside.append(name)
    return Listing(tuple(sorted(paths)), tuple(sorted(outside)), tuple(sorted(inside)))


def _entries(folder: Path, above: str) -> Iterator[tuple[str, Path]]:
    """Yields the Markdown files below a folder, and links to folders, with their relative paths."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda each: each.name)
    except OSError as problem:
        raise of_system(problem, folder) from problem
    for each in entries:
        name, path = above + each.name, Path(each.path)
        if each.is_dir(follow_symlinks=False):
            if is_read_folder(each.name) and name not in ARCHIVES:
                yield from _entries(path, f"{name}/")
        elif each.is_symlink():
            if path.suffix.lower() in SUFFIXES or each.is_dir():
                yield name, path
        elif path.suffix.lower() in SUFFIXES and each.is_file():
            yield name, path


class Tree:
    """Texts of the files below a folder, as they are and as they are to be."""

    def __init__(self, root: Path, preset: Preset, only: str = "") -> None:
        """Lists the files; texts are read when they are asked for.

        Args:
            root: The folder.
            preset: Chooses the files.
            only: The one file of the store; empty for the whole folder.
        """
        self.root = root
        self._preset = preset
        self.only = only
        self._overlay: Mapping[str, bytes | None] = {}
        self._snapshots: dict[str, Snapshot | None] = {}
        self._bytes: dict[str, bytes | None] = {}
        self._staged: dict[str, tuple[str | None, str]] = {}
        self._paths: dict[str, None] | None = None
        self.listing = Listing(())
        self.too_large: tuple[str, ...] = ()

    def refresh(self, overlay: Mapping[str, bytes | None]) -> bool:
        """Lists the files again, and forgets the texts of those that changed.

        Args:
            overlay: Bytes to read in place of files that an unfinished write changed.

        Returns:
            Whether any changed.

        Raises:
            StoreNotFound: The folder or file is gone.
        """
        old = (self.listing, dict(self._snapshots), self._overlay)
        self._paths = None
        self._overlay = overlay
        if self.only:
            if not (self.root / self.only).is_file() and overlay.get(self.only) is None:
                raise StoreNotFound(f"There is no file {self.root / self.only}. Check the path.")
            self.listing = Listing((self.only,))
        else:
            self.listing = listing_of(self.root)
        for path in [*self._snapshots]:
            now = Snapshot.of(self.root / path)
            if now != self._snapshots[path] or path in overlay or path in old[2]:
                del self._snapshots[path]
                self._bytes.pop(path, None)
        return old != (self.listing, self._snapshots, overlay)

    @property
    def paths(self) -> Mapping[str, None]:
        """Returns the files of the store, sorted, as they are to be; a set that keeps its order."""
        if self._paths is None:
            self._paths = dict.fromkeys([self.only] if self.only else self._chosen())
        return self._paths

    def _chosen(self) -> list[str]:
        names = {*self.listing.paths, *(p for p, b in self._overlay.items() if b is not None)}
        names -= {p for p, b in self._overlay.items() if b is None}
        names |= {p for p, (text, _) in self._staged.items() if text is not None}
        names -= {p for p, (text, _) in self._staged.items() if text is None}
        chosen = [n for n in names if self._preset.reads(n) and not is_archived(n)]
        large = [n for n in sorted(chosen) if n not in self._staged and self._size(n) > LARGEST]
        self.too_large = tuple(large)
        return sorted(set(chosen) - set(large))

    def _size(self, path: str) -> int:
        snapshot = Snapshot.of(self.root / path)
        return snapshot.size if snapshot else 0

    def text(self, path: str) -> str | None:
        """Returns the text of a file as it is to be, or None where there is none.

        Raises:
            ForeignStore: It is not UTF-8.
        """
        if path in self._staged:
            return self._staged[path][0]
        data = self._read(path)
        if data is None:
            return None
        advice = "Convert the file to UTF-8, or give it a name that does not end in .md."
        return text_of(data, self.root / path, advice)

    def _read(self, path: str) -> bytes | None:
        if path not in self._bytes:
            place = self.root / path
            self._snapshots[path] = Snapshot.of(place)
            if path in self._overlay:
                self._bytes[path] = self._overlay[path]
            else:
                self._bytes[path] = read_bytes(place) if self._snapshots[path] else None
        return self._bytes[path]

    def stage(self, path: str, text: str | None, like: str = "") -> None:
        """Sets the text a file is to have.

        Args:
            path: Of the file.
            text: Its text; None to remove it.
            like: File whose permissions and time a new one takes.
        """
        self._staged[path] = (text, like)
        self._paths = None

    def changes(self) -> list[Change]:
        """Returns what is to be written, as far as it differs from what is there."""
        changes = []
        for path, (text, like) in sorted(self._staged.items()):
            before = self._read(path)
            after = None if text is None else text.encode("utf-8")
            if before != after:
                changes.append(Change(path, before, after, self._snapshots[path], like))
        return changes

    def unstage(self) -> None:
        """Forgets the texts that were to be written."""
        self._staged.clear()
        self._paths = None
