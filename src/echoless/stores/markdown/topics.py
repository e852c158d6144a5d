"""Memories that are files of their own, with a line each in an index, or other lines of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

from echoless.core.errors import BadRecord, StoreError
from echoless.core.groups import grouped
from echoless.core.model import IN_FORCE, Memory
from echoless.core.text import count
from echoless.stores.ledger import Mark
from echoless.stores.markdown import file_memory
from echoless.stores.markdown.document import MarkdownUnit, is_blank, read, split_lines
from echoless.stores.markdown.file_memory import IndexLine
from echoless.stores.markdown.presets import ARCHIVE
from echoless.stores.markdown.state import HiddenSlot, Moved
from echoless.stores.markdown.store_files import Session
from echoless.stores.markdown.units import UnitMemories
from echoless.stores.markdown.virtual import VirtualFile


def on_demand(memory: Memory) -> Memory:
    """Returns a memory as one that no agent loads by itself."""
    return replace(memory, promise=replace(memory.promise, readers=frozenset()))


T = TypeVar("T")


class IndexMemories(UnitMemories):
    """Units of an index that lead to no file: Claude Code loads the first ones at every start."""

    def __init__(self, session: Session, index: str, leading: Callable[[], AbstractSet[int]]):
        """Takes the files.

        Args:
            session: The files.
            index: Path of the index; empty for none.
            leading: Returns the lines of it that lead to files.
        """
        super().__init__(session)
        self._index, self._leading = index, leading
        self._promises = {index: IN_FORCE}

    def _files(self) -> Sequence[str]:
        return [self._index] if self._index else []

    def memory(self, id_: str) -> Memory | None:
        """Returns a memory, visible or hidden, or None."""
        memory, place = super().memory(id_), self.place(id_)
        loaded = place is not None and place[1] < file_memory.INDEX_LINES
        return memory if memory is None or loaded else on_demand(memory)

    def _is_memory(self, unit: MarkdownUnit) -> bool:
        return self._leading().isdisjoint(range(unit.start, unit.end))


class FileMemories:
    """Topic files as memories, those in the archive included, and what else the index says."""

    def __init__(self, session: Session) -> None:
        """Takes the files."""
        self._session = session
        index = session.reading.preset.index
        # one whose lines are in the archive cannot be left out: they belong back into it
        needed = (
            index in session.state.files or not index or not session.tree.is_foreign_text(index)
        )
        self._index = index if needed else ""
        self._lines: tuple[Sequence[str], Mapping[str, Sequence[IndexLine]], AbstractSet[int]] = (
            [],
            {},
            set(),
        )
        self._units = IndexMemories(session, self._index, lambda: self._listed()[1])
        self._links: tuple[Mapping[str, None], Mapping[str, Sequence[str]]] = ({}, {})
        self.problems: dict[str, str] = {}
        """Why the front matter of a file cannot be read, by its path, of those that were read."""

    def _touch(self) -> VirtualFile:
        """Returns the index, which is about to be changed."""
        self._units.forget()
        return self._session.touch(self._index)

    def _listed(self) -> tuple[Mapping[str, Sequence[IndexLine]], AbstractSet[int]]:
        """Returns the index lines of each file, and all lines that lead to files or name some."""
        lines = self._session.virtual(self._index).lines
        if self._lines[0] is not lines:
            files = (*self._session.tree.paths, *self._session.state.moved)
            listed = grouped((each.path, each) for each in file_memory.index_lines(lines, files))
            leading = {each.at for some in listed.values() for each in some}
            self._lines = (lines, listed, leading.union(file_memory.naming(lines, files)))
        return self._lines[1:]

    # ------------------------------------------------------------------ reading

    def ids(self) -> Iterator[str]:
        """Yields the ids of all memories, sorted."""
        tree = self._session.tree
        moved = {i for i, m in self._session.state.moved.items() if tree.text(m.path) is not None}
        yield from sorted({*tree.paths, *moved})
        yield from self._units.ids()

    def memory(self, id_: str) -> Memory | None:
        """Returns a memory, visible or hidden, or None.

        Raises:
            BadRecord: Its file holds a merge conflict.
        """
        text = self._text(id_)
        if text is None:
            return self._units.memory(id_)
        if "<<<<<<< " in text and (at := read(split_lines(text)).conflict) is not None:
            raise BadRecord(
                f"Line {at + 1} of {self._session.tree.root / id_} begins a merge conflict. "
                "Resolve it, then try again."
            )
        memory, problem = file_memory.memory(id_, text)
        if problem:
            self.problems[id_] = problem
        lines = self._lines_of(id_)
        native = {**memory.native, "index": lines} if lines else memory.native
        return on_demand(replace(memory, native=native))

    def place(self, id_: str) -> tuple[str, int] | None:
        """Returns the file of a visible memory, and the index of its first line."""
        return (id_, 0) if id_ in self._session.tree.paths else self._units.place(id_)

    def _text(self, id_: str) -> str | None:
        """Returns the text of a memory file, wherever it is."""
        tree = self._session.tree
        if id_ in self._session.state.moved and id_ not in tree.paths:
            return tree.text(self._session.state.moved[id_].path)
        return tree.text(id_) if id_ in tree.paths else None

    def _lines_of(self, id_: str) -> list[str]:
        """Returns the lines of the index that lead to a file, hidden ones included."""
        if not self._index:
            return []
        virtual = self._session.virtual(self._index)
        texts = ["".join(virtual.lines[a:b]) for a, b in self._ranges(virtual, id_)]
        return texts + [slot.before for slot in self._slots(virtual, id_)]

    def _ranges(self, virtual: VirtualFile, id_: str) -> list[tuple[int, int]]:
        """Returns the lines of the index that lead to a file, with what is indented below them."""
        ranges = []
        for each in self._listed()[0].get(id_, ()):
            end, width = each.at + 1, _indent(virtual.lines[each.at])
            while end < len(virtual.lines) and not is_blank(virtual.lines[end]):
                if _indent(virtual.lines[end]) <= width:
                    break
                end += 1
            ranges.append((each.at, end))
        return ranges

    def _slots(self, virtual: VirtualFile, id_: str) -> list[HiddenSlot]:
        return [slot for slot in virtual.all_slots if slot.id == id_]

    def protected(self, id_: str) -> str | None:
        """Returns why a file is not hidden: links of other notes would lead to nothing."""
        if own := self._units.protected(id_):
            return own
        number = len(self._linked().get(id_, ()))
        return f"{count(number, 'note')} link{'s' if number == 1 else ''} to it" if number else None

    def _linked(self) -> Mapping[str, Sequence[str]]:
        """Returns, for each note, the notes that link to it; read again when files change."""
        tree = self._session.tree
        if self._links[0] is not tree.paths:
            texts = {path: tree.text(path) or "" for path in tree.paths}
            hidden = {i: self._text(i) or "" for i in self._session.state.moved if i not in texts}
            self._links = (tree.paths, file_memory.linked(texts, hidden))
        return self._links[1]

    def links_to_hidden(self) -> Iterator[str]:
        """Yields a sentence for each hidden note that visible notes link to."""
        for id_, notes in sorted(self._linked().items()):
            if id_ not in self._session.tree.paths:
                yield f"{id_} is hidden, and a link to it leads nowhere: in {', '.join(notes)}."

    def united(self, old: Memory, new: Memory) -> Memory:
        """Returns a survivor with what a file can take over: all that its front matter holds."""
        text = self._text(old.id)
        if text is None:
            return self._units.united(old, new)
        metadata = dict(new.metadata)
        nested = metadata.get("metadata")
        if "metadata" not in old.metadata and isinstance(nested, Mapping):
            # the type of a duplicate, which is not to become that of the survivor
            metadata["metadata"] = {k: v for k, v in nested.items() if k != "type"}
        survivor = replace(old, tags=new.tags, created_at=new.created_at, metadata=metadata)
        try:
            changed = file_memory.changed(text, old, survivor)
        except StoreError:
            return old
        return survivor if file_memory.memory(old.id, changed)[0] == survivor else old

    def renamed(self, memory: Memory) -> Memory:
        """Returns a memory of a run under another `scope=` with the namespace it has now."""
        return self._units.renamed(memory) if memory.id in self._units else memory

    # ------------------------------------------------------------------ hiding

    def hide(self, marks: Sequence[Mark]) -> None:
        """Moves files to the archive, without files that are in it already."""
        session = self._session
        self._units.hide(marks)
        for mark in marks:
            id_ = mark.duplicate
            text = session.tree.text(id_) if id_ in session.tree.paths else None
            if text is None or id_ in session.state.moved:
                continue
            place = self._free(id_)
            session.tree.stage(place, text, like=id_)
            session.tree.stage(id_, None)
            session.state.moved[id_] = Moved(place, mark)
            self._take_lines(id_, mark)
        session.flush()

    def _free(self, id_: str) -> str:
        """Returns a path in the archive that nothing has yet."""
        path = PurePosixPath(ARCHIVE, id_)
        number, place = 1, str(path)
        while self._session.tree.text(place) is not None:
            number += 1
            place = str(path.with_stem(f"{path.stem}-{number}"))
        return place

    def _take_lines(self, id_: str, mark: Mark | None) -> None:
        """Takes the lines of a file out of the index."""
        if not self._index or self._session.tree.text(self._index) is None:
            return
        ranges = self._ranges(self._session.virtual(self._index), id_)
        if not ranges:
            return
        virtual = self._touch()
        for part, (start, end) in sorted(enumerate(ranges, 1), reverse=True):
            text = "".join(virtual.lines[start:end])
            slot = HiddenSlot(id_, f"{id_} {part}", "line", "", text, mark=mark)
            virtual.cut_lines(start, end, slot)
        virtual.unend()

    def unhide(self, ids: Iterable[str]) -> None:
        """Moves files back from the archive, with their lines in the index."""
        session, ids = self._session, [*ids]
        self._units.unhide(ids)
        for id_ in ids:
            moved = session.state.moved.get(id_)
            if moved is None:
                continue
            text = session.tree.text(moved.path)
            if text is None:
                session.missing(moved.path, id_)
            elif session.tree.text(id_) is not None:
                session.notes.append(
                    f"{id_} is in conflict: it exists again, so the hidden one stays in "
                    f"{session.tree.root / moved.path}. Compare the two and remove one."
                )
            else:
                session.tree.stage(id_, text, like=moved.path)
                session.tree.stage(moved.path, None)
                self._return_lines(id_)
            del session.state.moved[id_]
            self._replace_slots(id_, lambda _: None)  # of a file that did not come back
        session.flush()

    def _return_lines(self, id_: str) -> bool:
        """Puts the lines of a file back into the index; returns whether there are some."""
        slots = self._slots(self._session.virtual(self._index), id_) if self._index else []
        if not slots:
            return False
        virtual = self._touch()
        virtual.put_back({slot.natural: slot.before for slot in slots})
        lost = [slot for slot in slots if slot in virtual.lost]
        for slot in lost:
            virtual.exchange(slot)
            virtual.append([slot.before.rstrip("\r\n") + virtual.end])
        if lost:
            place = self._session.tree.root / self._index
            self._session.notes.append(f"{place} was edited since, so the line of {id_} is last.")
        return True

    def _replace_slots(self, id_: str, new: Callable[[HiddenSlot], HiddenSlot | None]) -> None:
        """Puts others in the place of the slots of a hidden file, or drops them."""
        slots = self._slots(self._session.virtual(self._index), id_) if self._index else []
        for slot in slots:
            if slot.mark is not None:
                self._touch().exchange(slot, new(slot))

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Changes files, puts removed ones back, and makes new ones."""
        session, units = self._session, self._units
        units.put([memory for memory in memories if memory.id in units])
        for memory in (each for each in memories if each.id not in units):
            text = self._text(memory.id)
            if text is None:
                self._make(memory)
                continue
            old, _ = file_memory.memory(memory.id, text)
            if old != memory:
                moved = session.state.moved.get(memory.id)
                session.tree.stage(
                    moved.path if moved else memory.id, self._changed(text, old, memory)
                )
        session.flush()

    def _changed(self, text: str, old: Memory, new: Memory) -> str:
        """Returns the text of a file that is to say something else."""
        raw = new.native.get("raw")
        if isinstance(raw, str) and file_memory.memory(new.id, raw)[0] == new:
            return raw
        try:
            return file_memory.changed(text, old, new)
        except StoreError as problem:
            raise StoreError(f"{new.id} was not changed. {problem} Nothing was written.") from None

    def _make(self, memory: Memory) -> None:
        """Makes a file, or puts a removed one back, with its lines in the index."""
        session = self._session
        path = file_memory.path_of(memory.id)
        like = next(iter(session.tree.paths), self._index)
        blank = Memory(id=memory.id, content="")
        session.tree.stage(path, self._changed("", blank, memory), like)
        if not self._index or session.tree.text(self._index) is None:
            return
        if not self._return_lines(memory.id) and "raw" not in memory.native:
            virtual = self._touch()
            virtual.append([file_memory.index_line(memory) + virtual.end])

    def remove(self, ids: Iterable[str]) -> None:
        """Removes files, and their lines in the index, whose places stay known."""
        session, ids = self._session, [*ids]
        self._units.remove(ids)
        for id_ in ids:
            moved = session.state.moved.pop(id_, None)
            if moved is not None:
                session.tree.stage(moved.path, None)
                self._replace_slots(id_, lambda slot: replace(slot, mark=None))
            elif id_ in session.tree.paths:
                session.tree.stage(id_, None)
                self._take_lines(id_, None)
        session.flush()

    def unloaded(self) -> list[tuple[str, int]]:
        """Returns what Claude Code does not load, and how many memories each sentence is about."""
        return self._of_index(file_memory.unloaded)

    def _of_index(self, remarks: Callable[[str, Sequence[str]], list[T]]) -> list[T]:
        tree = self._session.tree
        text = tree.text(self._index) if self._index else None
        return [] if text is None else remarks(text, [*tree.paths])

    def remarks(self) -> list[str]:
        """Returns how full the index is, and what is odd in the files, one sentence each."""
        said = [each for each, _ in self.unloaded()] + self._of_index(file_memory.index_remarks)
        said += [
            f"The front matter of {path} cannot be read ({why}); its text is compared, its fields "
            "are not read."
            for path, why in sorted(self.problems.items())
        ]
        if visible := self._linked().keys() & self._session.tree.paths.keys():
            said.append(f"Other notes link to {count(len(visible), 'note')}: never hidden.")
        return said


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))
