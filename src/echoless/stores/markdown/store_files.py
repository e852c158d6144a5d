"""Files of a store with their state, as they are and as a transaction is to leave them.

Imports of other files (`@path/to/file`) in rules: followed to be reported, not read as memories.

Form: code.claude.com/docs/en/memory; an import is no part of code, is relative to its file, and may
import others.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Final

from echoless.core.failures import kind_of
from echoless.core.groups import grouped
from echoless.core.model import Json
from echoless.stores.files import read_bytes
from echoless.stores.markdown import archive
from echoless.stores.markdown.archive import ArchivedMemory, archive_of
from echoless.stores.markdown.document import DIVIDER, front_lines, read, split_lines
from echoless.stores.markdown.presets import FOLLOWING, agents_of
from echoless.stores.markdown.state import HiddenSlot, State
from echoless.stores.markdown.tree import LARGEST, Tree
from echoless.stores.markdown.unit_memory import UnitReading
from echoless.stores.markdown.virtual import VirtualFile


class Session:
    """Texts and state, read once and changed in memory until `flush`."""

    def __init__(self, tree: Tree, state: State, reading: UnitReading) -> None:
        """Joins them.

        Args:
            tree: The files.
            state: Recorded state of the files.
            reading: How units are read.
        """
        self.tree = tree
        self.state = state
        self.reading = reading
        self.notes: list[str] = []
        self._virtual: dict[str, VirtualFile] = {}
        self._touched: set[str] = set()
        self._archives: dict[str, tuple[str | None, Mapping[str, ArchivedMemory]]] = {}

    @cached_property
    def own_agents(self) -> Mapping[str, frozenset[str]]:
        """Returns which agents load each file, or a link to it, without an import."""
        tree, agents = self.tree, defaultdict[str, frozenset[str]](frozenset)
        for path in filter(None, (*tree.paths, self.reading.preset.index)):
            lines = split_lines(tree.text(path) or "")
            agents[path] = agents_of(tree.root, path, "".join(lines[: front_lines(lines)]))
        for link in tree.listing.inside:
            path = _relative(tree.root, _real_path(tree.root / link))
            agents[path] |= agents_of(tree.root, link, "")
        return agents

    @cached_property
    def own_titles(self) -> AbstractSet[str]:
        """Returns the titles of files that an agent loads by itself.

        They name the project, and no part of it; also above a copy of such a file.
        """
        always = [p for p, e in self.own_agents.items() if any(":" not in each for each in e)]
        read = {*self.tree.paths, self.reading.preset.index}
        documents = [self.virtual(path).document for path in always if path in read]
        return {each.headings[0].path[0] for each in documents if each.titled}

    @cached_property
    def agents(self) -> Mapping[str, frozenset[str]]:
        """Returns which agents load each file by themselves, imported files included."""
        agents = defaultdict(frozenset[str], self.own_agents)
        root, matches = self.tree.root, [*_imports(self, self.importing)]
        for path, _, real in matches * _HOPS:
            agents[_relative(root, real)] |= {e for e in agents[path] if e.startswith(FOLLOWING)}
        return agents

    @property
    def importing(self) -> Sequence[str]:
        """Returns the files whose imports an agent follows."""
        own, paths = self.own_agents, self.tree.paths
        return [each for each in paths if any(e.startswith(FOLLOWING) for e in own[each])]

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """Returns one file for all that an agent always loads together, by each of these files."""
        agents = self.agents
        homes = {path: path for path in agents}
        for agent in sorted({each for some in agents.values() for each in some if ":" not in each}):
            joined = {homes[path] for path, some in agents.items() if agent in some}
            homes |= {path: min(joined) for path, home in homes.items() if home in joined}
        return homes

    def virtual(self, path: str) -> VirtualFile:
        """Returns a file with its slots; an empty file if there is none."""
        if path not in self._virtual:
            text = self.tree.text(path) or ""
            state, preset = self.state.files.get(path), self.reading.preset
            self._virtual[path] = VirtualFile(path, text, state, preset)
        return self._virtual[path]

    def paths(self) -> list[str]:
        """Returns the files with units or slots, sorted."""
        slots = {path for path, each in self.state.files.items() if each.slots}
        return sorted(
            {*self.tree.paths, *slots, *self._touched} - {*self.tree.too_large, *self.tree.no_text}
        )

    def touch(self, path: str) -> VirtualFile:
        """Returns a file that is about to be changed."""
        self._touched.add(path)
        virtual = self.virtual(path)
        virtual.begin()
        return virtual

    def flush(self, *, remove_empty: bool = False) -> None:
        """Hands the changed texts to the tree, and what is known of them to the state.

        Args:
            remove_empty: Whether a file in which nothing is left goes.
        """
        for path in sorted(self._touched):
            virtual = self._virtual[path]
            self.state.files[path] = virtual.sealed()
            gone = remove_empty and not virtual.text
            self.tree.stage(path, None if gone else virtual.text)
        self._touched.clear()

    # ------------------------------------------------------------------ hidden lines

    def archived(self, path: str) -> Mapping[str, ArchivedMemory]:
        """Returns the entries in the archive of a file by id; read again where its text changed."""
        text = self.tree.text(archive_of(path))
        if path not in self._archives or self._archives[path][0] != text:
            entries = reversed(archive.entries(split_lines(text or "")))  # the first one counts
            self._archives[path] = text, {each.id: each for each in entries}
        return self._archives[path][1]

    def to_archive(self, path: str, leaving: Iterable[tuple[HiddenSlot, str]]) -> None:
        """Appends lines to the archive of a file."""
        end = self.virtual(path).end
        made = [archive.entry(slot.id, text, about(slot), end) for slot, text in leaving]
        text = archive.with_entries(self.tree.text(archive_of(path)), made, end)
        self.tree.stage(archive_of(path), text, path)

    def from_archive(self, path: str, gone: Iterable[ArchivedMemory]) -> None:
        """Takes entries out of the archive of a file."""
        if entries := list(gone):
            text = archive.without(self.tree.text(archive_of(path)) or "", entries)
            self.tree.stage(archive_of(path), text, path)

    def missing(self, path: str, id_: str) -> None:
        """Notes that the lines of a hidden memory are gone."""
        self.notes.append(
            f"{id_} is in conflict: it was hidden in {self.tree.root / path}, and somebody took it "
            "away from there. It cannot be put back; everything else is as it was."
        )


def about(slot: HiddenSlot) -> Mapping[str, Json]:
    """Returns what a person may want to know of a hidden memory."""
    mark = slot.mark
    place: dict[str, Json] = {"place": slot.namespace} if slot.namespace else {}
    return place if mark is None else {**place, "survivor": mark.survivor, "run": mark.run}


def by_path(items: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yields paths with the ids that belong to them, sorted by path."""
    yield from sorted(grouped(items).items())


# ------------------------------------------------------------------ imports of other files


_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?[\w./-]*[\w-]\.?[\w-]*)")
_CODE: Final = re.compile(r"`[^`\n]*`")
_HOPS: Final = 5
"""Longest chain of imports that is followed."""


def imports_of(text: str) -> list[str]:
    """Returns the paths a text imports: those with a folder or a suffix in them."""
    if "@" not in text:
        return []
    units = (unit for unit in read(split_lines(text)).units if unit.kind != "code")
    names = (each for unit in units for each in _IMPORT.findall(_CODE.sub("", unit.content)))
    paths = (each.rstrip(".") for each in names)
    return list(dict.fromkeys(each for each in paths if "/" in each or "." in each))


def has_imports(session: Session) -> bool:
    """Returns whether a file of rules imports another one."""
    paths = session.tree.paths if session.reading.preset.rules else session.importing
    return any(True for _ in _imports(session, paths))


def import_remarks(session: Session) -> list[str]:
    """Returns one sentence for each imported file, which says whether it is missing."""
    if not session.reading.preset.rules:
        return []
    listed = {_real_path(session.tree.root / each) for each in session.tree.paths}
    return [
        f"{path} imports @{name}{_became(real, read_here=real in listed)}"
        for path, name, real in _imports(session, session.tree.paths)
    ]


def budget_remark(session: Session) -> str:
    """Returns how full each file is of which its program takes so many characters."""
    said = ""
    for path, most in session.reading.preset.budgets.items():
        if path in session.tree.paths:
            texts = (unit.content for unit in session.virtual(path).document.units)
            share = 100 * len(f"\n{DIVIDER}\n".join(texts)) / most
            said += f" {path} takes {share:.0f} % of {most:,} characters."
    return said


def _real_path(path: Path) -> Path:
    """Returns where a path leads through all links; also of links in a circle."""
    return Path(os.path.realpath(path))


def _relative(root: Path, real: Path) -> str:
    """Returns the path of a file, relative to the folder where it is below it."""
    return str(real.relative_to(root) if real.is_relative_to(root) else real)


def _imports(session: Session, paths: Collection[str]) -> Iterator[tuple[str, str, Path]]:
    """Yields each file, an import as written in it, and the path of the import, transitively."""
    root = session.tree.root
    listed = {_real_path(root / each) for each in paths}
    waiting = [(path, session.tree.text(path) or "") for path in paths]
    seen: set[Path] = set()
    while waiting:
        path, text = waiting.pop(0)
        for name in imports_of(text):
            target = Path(name).expanduser()
            target = target if target.is_absolute() else (root / path).parent / target
            real = _real_path(target)
            yield path, name, real
            inside = real.is_relative_to(root) and kind_of(real) == "file"
            if inside and real not in listed | seen:
                seen.add(real)
                waiting.append((_relative(root, real), _text(real)))


def _became(target: Path, *, read_here: bool) -> str:
    if kind_of(target) != "file":
        return ", which does not exist."
    if read_here:
        return ", which is read as a file of this store."
    return "; what is in it is not read as memories of this store."


def _text(path: Path) -> str:
    """Returns the text of an imported file; nothing of a large one, which no agent could load."""
    if path.stat().st_size > LARGEST:
        return ""
    return read_bytes(path).decode("utf-8", "replace")
