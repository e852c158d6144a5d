"""The Markdown files of a store: which there are, their texts, and texts that are to be written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from echoless.core.errors import ForeignStore, StoreNotFound
from echoless.core.failures import of_system
from echoless.stores.files import Snapshot, is_below, is_text, place_in, read_bytes, text_of
from echoless.stores.markdown.commit import FileChange, record_of
from echoless.stores.markdown.presets import (
    ARCHIVE,
    ARCHIVES,
    Preset,
    is_archived,
    is_markdown,
    is_read_folder,
    is_written,
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
        nowhere: Links to nothing, or in a circle.
        unnamed: Files and folders whose names are not UTF-8, which are not read.
    """

    paths: tuple[str, ...]
    outside: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """Returns the links, none of which is read or written through."""
        return (*self.outside, *self.inside, *self.nowhere)


def has_notes(folder: Path) -> bool:
    """Returns whether there is a Markdown file in a folder, or below it."""
    return any(is_text(name) and not path.is_symlink() for name, path in _entries(folder, ""))


def listing_of(folder: Path) -> Listing:
    """Lists the Markdown files of a folder and the folders below it.

    Hidden folders, `node_modules` and the archive are left out.

    Raises:
        StoreReadOnly: A folder may not be read.
    """
    listed: dict[str, list[str]] = {field.name: [] for field in fields(Listing)}
    root = folder.resolve()
    for name, path in _entries(folder, ""):
        listed[_part_of_listing(name, path, root)].append(name)
    return Listing(**{part: tuple(sorted(names)) for part, names in listed.items()})


def own_files(path: Path) -> list[Path]:
    """Returns the files of a store besides its ledger: its notes, its archive, an open write.

    Args:
        path: The folder or file; links in the folder are left out.

    Raises:
        StoreReadOnly: A folder may not be read.
    """
    folder, names = (path, listing_of(path).paths) if path.is_dir() else (path.parent, ())
    archived = sorted((folder / ARCHIVE).rglob("*"))
    return [*(folder / name for name in names), *archived, record_of(path.resolve())]


def _part_of_listing(name: str, path: Path, root: Path) -> str:
    if not is_text(name):
        return "unnamed"
    if not path.is_symlink():
        return "paths"
    if not Path(os.path.realpath(path)).is_relative_to(root):
        return "outside"
    return "inside" if path.exists() else "nowhere"


def _entries(folder: Path, above: str) -> Iterator[tuple[str, Path]]:
    """Yields the Markdown files below a folder, links to folders, and folders with odd names."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda each: each.name)
    except OSError as problem:
        raise of_system(problem, folder) from problem
    for each in entries:
        name, path = above + each.name, Path(each.path)
        if each.is_dir(follow_symlinks=False):
            if not is_text(each.name):
                yield name, path
            elif is_read_folder(each.name) and name not in ARCHIVES:
                yield from _entries(path, f"{name}/")
        elif each.is_symlink():
            if is_markdown(path) or path.is_dir():
                yield name, path
        elif is_markdown(path) and each.is_file():
            yield name, path


class Tree:
    """Texts of the files below a folder: the present ones, and the staged ones."""

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
        self.no_text: tuple[str, ...] = ()
        self._foreign: dict[str, bool] = {}

    def refresh(self, overlay: Mapping[str, bytes | None]) -> bool:
        """Lists the files again, and forgets the texts of those that changed.

        Args:
            overlay: Bytes to read in place of files that an unfinished write changed.

        Returns:
            Whether any changed.

        Raises:
            StoreNotFound: The folder or file is gone.
        """
        if self.only:
            if not self.place(self.only).is_file() and overlay.get(self.only) is None:
                raise StoreNotFound(f"There is no file {self.root / self.only}. Check the path.")
            listing = Listing((self.only,))
        else:
            listing = listing_of(self.root)
        old = {path for path in self._snapshots if path in overlay or path in self._overlay}
        old |= {
            p for p, s in self._snapshots.items() if Snapshot.of(self.root / p, linked=False) != s
        }
        changed = bool(old) or (listing, overlay) != (self.listing, self._overlay)
        for path in old:  # from here on nothing fails: a disk that did leaves all as it was
            del self._snapshots[path]
            self._bytes.pop(path, None)
            self._foreign.pop(path, None)
        self._paths, self.listing, self._overlay = None, listing, overlay
        return changed

    @property
    def paths(self) -> Mapping[str, None]:
        """Returns the paths of the store after the staged changes, in order."""
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
        read = {*chosen} - {*large}
        texts = read | ({self._preset.index} & names)
        self.no_text = tuple(name for name in sorted(texts) if self.is_foreign_text(name))
        return sorted(read - {*self.no_text})

    def is_foreign_text(self, path: str) -> bool:
        """Returns whether a file is not UTF-8; it is neither read nor written."""
        if path not in self._foreign:
            data = self._read(path) or b""
            self._foreign[path] = data.decode("utf-8", "ignore").encode("utf-8") != data
        return path not in self._staged and self._foreign[path]

    def _size(self, path: str) -> int:
        snapshot = Snapshot.of(self.root / path)
        return snapshot.size if snapshot else 0

    def check(self, path: str, source: Path | None = None) -> None:
        """Refuses a path that this store cannot have written.

        Args:
            path: Relative to the folder, perhaps from somebody else.
            source: The file it was read from.

        Raises:
            ForeignStore: It can lead out of the folder, or is not that of a note or its archive.
        """
        if is_below(path) and is_written(path, self.only):
            return
        if source is None:
            raise ForeignStore(f"{path!r} is no path of a note in {self.root}.")
        raise ForeignStore(
            f"{source} names the file {path!r}, which is no note of {self.root / self.only}. Who "
            "wrote it may want files of yours to be read or changed: nothing was. Move "
            f"{source.name} away to go on without it; if it is yours, bring it back from a copy."
        )

    def place(self, path: str, source: Path | None = None) -> Path:
        """Returns where a file lies: the one road from a path to a file.

        Args:
            path: Relative to the folder.
            source: The file it was read from.

        Raises:
            ForeignStore: See `check`; or a link, or no file, lies there.
        """
        self.check(path, source)
        return place_in(self.root, path)

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
            linked = path in self.listing.links
            place = self.root / path if linked else self.place(path)
            self._snapshots[path] = now = Snapshot.of(place, linked=False)
            if path in self._overlay:
                self._bytes[path] = self._overlay[path]
            else:
                self._bytes[path] = None if linked or not now else read_bytes(place, linked=False)
        return self._bytes[path]

    def stage(self, path: str, text: str | None, like: str = "") -> None:
        """Sets the text a file is to have.

        Args:
            path: Of the file.
            text: Its text; None to remove it.
            like: File whose permissions and time a new one takes.

        Raises:
            ForeignStore: It is no path of this store, or leads through a link.
        """
        self.place(path)
        self._staged[path] = (text, like)
        self._paths = None

    def changes(self) -> list[FileChange]:
        """Returns the changes to write, without files that already have the new bytes."""
        changes = []
        for path, (text, like) in sorted(self._staged.items()):
            before = self._read(path)
            after = None if text is None else text.encode("utf-8")
            if before != after:
                changes.append(FileChange(path, before, after, self._snapshots[path], like))
        return changes

    def unstage(self) -> None:
        """Forgets the texts that were to be written."""
        self._staged.clear()
        self._paths = None
