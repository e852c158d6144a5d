"""Store in a folder or file of Markdown: `markdown:///PATH?scope=…&preset=NAME`.

Files change by whole lines and only where a memory does: everything else stays to the byte. Hidden
memories leave their files for `.echoless-archive/`. Lineage, places and the
record of an unfinished write lie beside the folder or file: `NAME.echoless`, `NAME.echoless-files`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import ForeignStore, StoreError, StoreNotFound
from echoless.core.failures import kind_of
from echoless.core.model import Memory
from echoless.core.text import unreadable
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Scope, StoreKind
from echoless.stores.files import make_file, speaking_of
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.markdown import commit, file_memory
from echoless.stores.markdown.presets import (
    ARCHIVE,
    INDEX,
    PLAIN,
    SUFFIXES,
    MarkdownUrl,
    Preset,
    is_dated_list,
    is_markdown,
    is_read_folder,
    preset_named,
    preset_of_file,
    preset_of_folder,
)
from echoless.stores.markdown.state import State
from echoless.stores.markdown.store_files import Session, budget_remark, has_imports, import_remarks
from echoless.stores.markdown.topics import FileMemories, on_demand
from echoless.stores.markdown.tree import LARGEST, Tree, has_notes, listing_of
from echoless.stores.markdown.unit_memory import UnitReading
from echoless.stores.markdown.units import UnitMemories
from echoless.stores.sidecar import BesideSidecar, JoinedLedger, Sidecar, lost

_FACT: Final = "markdown"
_FOREIGN: Final = ("chroma.sqlite3", "memory_index")
"""Names in folders of other stores, which may hold notes too."""


class MarkdownStore(StoreKind, BesideSidecar):
    """Memories in files of Markdown.

    Attributes:
        root: The folder or file, behind any symbolic link.
    """

    summary: ClassVar[str] = "a folder or file of Markdown: notes, rules and memories of agents"
    capabilities = Capabilities(transactions=True, hides=True, sectioned=True)
    """Namespaces are headings, files or folders, and no users."""

    _sidecar: Sidecar

    def __init__(self, location: MarkdownUrl) -> None:
        """Reads the files; use `open` or `create`."""
        path = Path(os.path.abspath(location.path)).resolve()  # noqa: PTH100 - of `..` too
        single = path.is_file()
        self.root, self._location = path, location
        self._root, only = (path.parent, path.name) if single else (path, "")
        self.url = location.url(location.path)
        preset = _preset(location, path)
        scope = location.scope or preset.scope
        self._tree = Tree(self._root, preset, only)
        self._reading = UnitReading(preset, scope, single, _new_file(preset, path))
        self._of_files = preset.grain == "file" and not single  # else a bullet or block is one
        self._record = commit.record_of(path)
        self._staging = False
        self._named: dict[str, str] = {}
        self._notes: list[str] = []
        self._remarks: list[str] = []
        self._state_text: str | None = None
        self._side: UnitMemories | FileMemories | None = None
        super().__init__(Sidecar(path))
        self._load()

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing folder or file."""
        parsed = MarkdownUrl.parse(location)
        if not parsed.path.exists():
            raise StoreNotFound(f"{parsed.path} does not exist. Check the path.")
        if parsed.path.is_file() and not (is_markdown(parsed.path) or is_dated_list(parsed.path)):
            raise ForeignStore(
                f"{parsed.path} is no Markdown: its name ends in none of {', '.join(SUFFIXES)}."
            )
        return cls(parsed)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a folder or file, or makes an empty one: a file where the name ends in `.md`.

        A new folder gets an index, `MEMORY.md`, where its preset has one.
        """
        parsed = MarkdownUrl.parse(location)
        path = parsed.path
        if not path.exists():
            if is_markdown(path):
                make_file(path)
            else:
                with speaking_of(path):
                    path.mkdir(mode=0o700)
                preset = preset_named(parsed.preset) if parsed.preset else None
                if preset is not None and preset.index:
                    make_file(path / INDEX)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether it is a Markdown file, or a folder with some and of no other store."""
        if path.is_file():
            return is_markdown(path) or is_dated_list(path)
        if not path.is_dir() or any((path / name).exists() for name in _FOREIGN):
            return False
        try:
            if any(each.suffix == ".lance" for each in path.iterdir()):
                return False
            return has_notes(path)
        except (OSError, ForeignStore):
            return False

    # ------------------------------------------------------------------ reading

    @property
    def self_contained(self) -> bool:
        """Returns whether no link and no import leads to another file."""
        return not (self._tree.listing.links or has_imports(self._session))

    @property
    def preset(self) -> Preset:
        """Returns the preset the files are read by."""
        return self._reading.preset

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger in the sidecar, with the marks that hidden files and lines show."""
        database = self._sidecar.ledger.database
        return JoinedLedger(database, self._joined_marks, self._renamed)

    def _renamed(self, memory: Memory) -> Memory:
        return self._memories.renamed(memory)

    def _joined_marks(self, own: Mapping[str, Mark]) -> Mapping[str, Mark]:
        """Returns the marks of the sidecar and of the files; a newer survivor in the files counts.

        Files change before the ledger has their marks; a program stopped in between shows so.
        """
        hidden = self._state().marks()
        newer = {i for i, m in hidden.items() if i not in own or own[i].survivor != m.survivor}
        return {**own, **{id_: hidden[id_] for id_ in newer}}

    def _state(self) -> State:
        written = self._sidecar.ledger.fact(_FACT)
        if self._staging or (self._side is not None and written == self._state_text):
            return self._session.state
        return self._parsed(written)

    def _parsed(self, written: str | None) -> State:
        """Reads what the sidecar knows of the files.

        Raises:
            ForeignStore: It names a file that this store cannot have written.
            LedgerDamaged: It has another form.
        """
        try:
            state = State.parse(written)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            place = self.root.with_name(self._sidecar.name)
            raise lost(place, ForeignStore(f"the fact {_FACT!r}: {problem!r}")) from problem
        for path in state.paths:
            self._tree.check(path, self.ledger_file)
        return state

    def _pending(self) -> commit.Pending | None:
        """Returns the record of a write that is under way or was stopped, of own files alone."""
        pending = commit.read_pending(self._record)
        for path in pending.before if pending else ():
            self._tree.place(path, self._record)
        return pending

    @property
    def _known_token(self) -> str:
        """Returns the token of the last write whose state arrived in the sidecar."""
        return self._parsed(self._sidecar.ledger.fact(_FACT)).token

    @property
    def _memories(self) -> UnitMemories | FileMemories:
        assert self._side is not None
        return self._side

    def _load(self) -> None:
        """Reads what changed since the last time."""
        pending = self._pending()
        written = self._sidecar.ledger.fact(_FACT)
        state = self._parsed(written)
        undone = pending is not None and pending.token != state.token
        changed = self._tree.refresh(pending.before if pending and undone else {})
        if changed or self._side is None or written != self._state_text:
            self._side = None  # until all was read
            self._session = Session(self._tree, state, self._reading)
            # bullets that were hidden when the files were read as notes come back as bullets
            bullets = state.marks().keys() - state.moved.keys()
            self._of_files &= all(each.startswith(f"{self.preset.index}#") for each in bullets)
            kind = FileMemories if self._of_files else UnitMemories
            self._side = kind(self._session)
            self._state_text = written

    def _fresh(self) -> None:
        if not self._staging:
            self._load()

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, file by file, hidden ones in their old places."""
        self._fresh()
        every = (self._memories.memory(id_) for id_ in [*self._memories.ids()])
        yield from scope.narrow(memory for memory in every if memory is not None)
        self._remarks = self._odd()

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns copies by id, from the files as they are now."""
        self._fresh()
        read = ((id_, self._memories.memory(id_)) for id_ in sorted(set(ids)))
        return {id_: memory for id_, memory in read if memory is not None}

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        self._fresh()
        if scope == ALL:
            return sum(1 for _ in self._memories.ids())
        return sum(1 for _ in self.scan(scope))

    def remarks(self) -> Sequence[str]:
        """Returns what the last complete `scan` found odd, one sentence each."""
        return tuple(self._remarks)

    def unloaded(self) -> Sequence[tuple[str, int]]:
        """Returns the remarks on what Claude Code does not load, each with how many memories."""
        self._fresh()
        memories = self._memories
        return memories.unloaded() if isinstance(memories, FileMemories) else ()

    def _odd(self) -> list[str]:
        tree, listing = self._tree, self._tree.listing
        scopes = {
            "heading": " What different headings say is reported, never hidden (?scope=file hides "
            "it where headings limit nothing).",
            "file": " What different files say is reported, never hidden (?scope=folder does).",
        }
        one = self._of_files or (self._tree.only and self._reading.scope == "file")
        more = "" if one else scopes.get(self._reading.scope, "")
        more += budget_remark(self._session)
        said = [f"Read as {self.preset.name}: {self.preset.says}.{more}"]
        if isinstance(self._memories, FileMemories):
            said += self._memories.remarks()
        else:
            said += import_remarks(self._session)
        said += [
            f"{each} leads out of {self._root}; it is not followed." for each in listing.outside
        ]
        inside = [each for each in listing.inside if self.preset.reads(each)]
        said += [
            f"{each} is a link to a file of this folder; that is read once." for each in inside
        ]
        said += [f"{each} is a link that leads to no file." for each in listing.nowhere]
        said += [
            f"{files.shown(each)} is not read: its name is not UTF-8. Rename it."
            for each in listing.unnamed
        ]
        said += [
            f"{each} is larger than {LARGEST // 1024 // 1024} MB; it is not read. Divide it."
            for each in tree.too_large
        ]
        if tree.no_text:
            said.append(
                f"Files that are not read: {len(tree.no_text):,}. They are not UTF-8 (perhaps "
                f"UTF-16), so convert {', '.join(tree.no_text)}."
            )
        return said

    def passed_over(self) -> tuple[str, int, int]:
        """Returns how many files are read, and how many cannot be.

        A file of plain text counts where one of that name would be read if it ended in `.md`.
        """
        self._fresh()
        tree, listing = self._tree, self._tree.listing
        passed = {*tree.no_text, *tree.too_large, *listing.unnamed, *listing.outside}
        for folder, folders, names in os.walk("" if tree.only else self._root):
            folders[:] = filter(is_read_folder, folders)
            below = Path(folder).relative_to(self._root)
            plain = (below / name for name in names if name.lower().endswith(PLAIN))
            passed |= {
                str(path) for path in plain if self.preset.reads(path.with_suffix(".md").as_posix())
            }
        return "file", len(tree.paths), len(passed)

    def integrity(self) -> list[str]:
        """Returns what is wrong with the ledger, and which links of notes lead to hidden ones."""
        self._fresh()
        memories = self._memories
        links = memories.links_to_hidden() if isinstance(memories, FileMemories) else ()
        return [*super().integrity(), *links]

    def text_files(self) -> tuple[Path, ...]:
        """Returns the files that are read, and those of the archive."""
        self._fresh()
        files = [self._root / path for path in self._tree.listing.paths]
        if kind_of(folder := self._root / ARCHIVE) == "folder":
            files += [path for path in folder.rglob("*") if kind_of(path) == "file"]
        return tuple(sorted({*files}))

    def place(self, id_: str) -> tuple[Path, int] | None:
        """Returns the file and the line of a visible memory, as the store was named."""
        self._fresh()
        place = self._memories.place(id_)
        if place is None:
            return None
        named = self._location.path
        return (named if named.is_file() else named / place[0]), place[1] + 1

    def protected(self, memory: Memory) -> str | None:
        """Returns why a memory is never hidden: code, tables and introductions to lists."""
        return self._memories.protected(memory.id)

    def keeps_text(self, memory: Memory) -> str | None:
        """Returns why a text may not change: code and tables; links lead to a changed note too."""
        return None if isinstance(self._memories, FileMemories) else self.protected(memory)

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory in the form in which these files would return it."""
        self._fresh()
        if not isinstance(self._memories, FileMemories):
            return self._memories.shaped(memory)
        path = file_memory.free_path(memory, partial(self._is_taken, memory.content))
        self._named[path] = memory.content
        return on_demand(file_memory.shaped(replace(memory, id=path)))

    def _is_taken(self, content: str, path: str) -> bool:
        """Checks whether a path is, was or is about to be that of another note.

        One of which the ledger has an image may come back by an undo.
        """
        if self._named.get(path, content) != content or self.ledger.runs_touching(path):
            return True
        known = {each.casefold() for each in self._memories.ids()}
        return path in known or self._tree.text(path) is not None

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],  # noqa: ARG002
        new: Memory,
        *,
        at: str | None,  # noqa: ARG002
        removed: bool,  # noqa: ARG002
    ) -> Memory:
        """Returns a survivor with the fields it takes over, as far as Markdown can hold them."""
        return self._memories.united(old, new)

    def linking(self, ids: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Returns nothing: these memories have no links."""
        return ()

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with super()._locked():
            yield
            self._load()  # the sidecar is closed again

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._settle()
        self._load()
        try:
            yield
        finally:
            self._settle()

    def _settle(self) -> None:
        """Ends the last write: takes it back where its state did not arrive."""
        pending = self._pending()
        if pending is None:
            return
        if pending.token == self._known_token:
            if not self._sidecar.ledger.database.in_transaction:  # else a part of a larger write
                commit.drop(self._record, self._tree.place, pending)
            return
        for path in commit.take_back(self._tree.place, self._record, pending):
            self._notes.append(
                f"{path} was edited after an unfinished write of echoless, so it stays as it is; "
                f"what it was before that write is in {path.name}.before."
            )

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the files in which a write was stopped in the middle."""
        pending = self._pending()
        own: tuple[Path, ...] = ()
        if pending and pending.token != self._known_token:
            own = (self.root,)
        return (*own, *super().unfinished())

    def leftovers(self) -> list[Path]:
        """Returns drafts of stopped writers, and the record of a write that is done."""
        pending = self._pending()
        done = [self._record] if pending and pending.token == self._known_token else []
        folders = {(self._root / path).parent for path in self._tree.paths}
        folders |= {self._root, self._root / ARCHIVE}
        drafts = {each for folder in folders for each in commit.drafts_in(folder)}
        return [*done, *sorted(drafts), *files.drafts_of(self._record)]

    def remove_leftovers(self) -> list[Path]:
        """Removes what `leftovers` returns; called inside `writing()`."""
        self._must_write()
        gone = self.leftovers()
        self._settle()
        for path in gone:
            with speaking_of(path):
                path.unlink(missing_ok=True)
        return gone

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""
        super().take_back()
        if self._pending() is not None:
            with self.writing():
                pass

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Stages changes and writes all files together at the end; on failure nothing changes."""
        self._must_write()
        if self._staging:
            yield
            return
        self._settle()
        self._load()
        self._staging = True
        try:
            yield
            self._write()
        finally:
            self._staging = False
            self._tree.unstage()
            self._side = None
            self._load()

    def _write(self) -> None:
        """Writes the staged files, and their state to the sidecar."""
        changes = self._tree.changes()
        state = self._session.state
        if not changes and state.text == self._parsed(self._state_text).text:
            return
        state.token = os.urandom(8).hex()
        self._notes += self._session.notes
        if changes:
            place, earlier = self._tree.place, self._pending()
            commit.carry_out(place, self._record, state.token, changes, earlier)
        with self.ledger.transaction():
            self.ledger.set_fact(_FACT, state.text)
        self._settle()

    def scrub(self, ids: Collection[str], /) -> None:
        """Drops the places of memories, which hold lines of an index or a section."""
        super().scrub(ids)
        with self.transaction():
            for file in self._session.state.files.values():
                file.slots = [slot for slot in file.slots if slot.id not in ids]

    def notes(self) -> Sequence[str]:
        """Returns what writes met since the store was opened, one sentence each."""
        return tuple(self._notes)

    def put(self, memories: Sequence[Memory]) -> None:
        """Changes or adds memories; a removed one goes back to its old place.

        Raises:
            StoreError: A file cannot hold a memory unchanged; the message names the cause.
        """
        with self.transaction():
            for memory in memories:
                if problem := unreadable(memory.content):
                    raise StoreError(f"{memory.id!r} has {problem}. Nothing was written.")
            self._memories.put(memories)
            for memory in memories:
                if (written := self._memories.memory(memory.id)) != memory:
                    raise refusal(memory, written)

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories."""
        with self.transaction():
            self._memories.remove(sorted(set(ids)))

    def hide(self, marks: Sequence[Mark]) -> None:
        """Moves memories to the archive."""
        with self.transaction():
            self._memories.hide(marks)

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts hidden memories back in their places."""
        with self.transaction():
            self._memories.unhide(sorted(set(ids)))


def _new_file(preset: Preset, path: Path) -> str:
    """Returns where new bullets go: the usual file, or the first of the folder where it lacks."""
    if path.is_file() or kind_of(path / preset.new_file) == "file":
        return preset.new_file
    names = [name for name in listing_of(path).paths if "/" not in name and preset.reads(name)]
    return min(names, key=lambda name: (name.startswith("."), name), default=preset.new_file)


def _preset(location: MarkdownUrl, path: Path) -> Preset:
    if location.preset:
        return preset_named(location.preset)
    return (
        preset_of_file(path) if path.is_file() else preset_of_folder(path, listing_of(path).paths)
    )


def refusal(memory: Memory, present: Memory | None) -> StoreError:
    """Returns the error for a memory that a file cannot hold unchanged."""
    fields: tuple[tuple[str, Callable[[Memory], object]], ...] = (
        ("text", lambda m: m.content),
        ("namespace", lambda m: m.namespace),
        ("type", lambda m: m.type),
        ("tags", lambda m: m.tags),
        ("time of creation", lambda m: m.created_at),
        ("metadata", lambda m: m.metadata),
    )
    what = "other fields"
    if present is not None:
        what = next((name for name, of in fields if of(memory) != of(present)), what)
    return StoreError(
        f"{memory.id!r} was not written: Markdown does not hold its {what} as it is. Nothing was "
        "written; a sqlite: or jsonl: store holds every field."
    )
