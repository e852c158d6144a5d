"""Notes of shodh-memory: `shodh:///path`, the folder of one project.

The library has no update and gives each note an id of its own. A memory here keeps one lasting id:
that of its first record, which every record written in its place carries in its metadata. A memory
is changed by writing a new record, reading it back, and only then removing the old one. While both
exist, the old one is the memory: a crash in between changes nothing, and the next writer removes
the new one, which is called a stray.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import ForeignStore, StoreError, StoreNotFound
from echoless.core.model import Memory, identical
from echoless.core.timestamps import instant
from echoless.stores.base import Capabilities, Scope, StoreKind
from echoless.stores.field_map import Hiding, MappedUrl, read_path
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.sidecar import Sidecar
from echoless_programs.stores.program_file import differing
from echoless_programs.stores.shodh.library import OpenLibrary
from echoless_programs.stores.shodh.notes import ShodhNote, note, writing

_MARKER: Final = Path("memories", "CURRENT")
"""File with the name of the engine's current state, in every version accepted."""


class ShodhStore(StoreKind, MovesHidden):
    """Memories of one project of shodh-memory, opened through the library."""

    summary: ClassVar[str] = "a project of shodh-memory (wt-memory); lineage in a sidecar"
    capabilities = Capabilities(hides=True, exclusive=True)
    profile: Final = "wt-memory"
    unrestored: Final = (
        "shodh-memory gives every note it takes a new id and a new time of creation. What was put "
        "back has its lasting id and its true time in the metadata, as echoless.replaces and "
        "echoless.created_at."
    )

    remains: Final = "shodh-memory keeps them in its files until it compacts these."

    owner_reads = "recalls of shodh-memory"

    def __init__(self, path: Path, hide: Hiding = "") -> None:
        """Opens the engine; use `open` or `create`."""
        self._path = path
        self._location = MappedUrl(path, hide=hide)
        self._asked = hide
        self.url = f"shodh:///{self._location}"
        self._engine = OpenLibrary(path)
        try:
            super().__init__(Sidecar(path))
            self._notes: dict[str, ShodhNote] = {}
            self._strays: tuple[ShodhNote, ...] = ()
            self._reload()
        except BaseException:
            self._engine.close()
            raise

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing store: `PATH` or `PATH?hide=move`."""
        path = read_path(location).path
        if not cls.recognises(path) and (path.is_dir() or not path.exists()):
            what = "is not a store of shodh-memory" if path.exists() else "does not exist"
            raise StoreNotFound(f"{path} {what}. Check the path.")
        return cls.create(location)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a store, or creates an empty one."""
        asked = read_path(location)
        path = asked.path
        if path.exists() and not path.is_dir():
            raise ForeignStore(f"{path} is a file; a store of shodh-memory is a folder.")
        return cls(path, asked.hide)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for the folders the library makes."""
        return (path / _MARKER).is_file() and (path / "memory_index").is_dir()

    # ------------------------------------------------------------------ reading

    def _reload(self) -> None:
        """Reads notes by lasting id, and strays: records of a change that was not finished.

        Two notes may claim one id where another program copied a note with its metadata; the older
        record keeps it, and the other has the library's own id.
        """
        notes = {n.key: n for n in map(note, self._engine.notes())}
        strays: list[ShodhNote] = []
        claims: list[tuple[bool, int, str]] = []
        for key in sorted(notes):
            each = notes[key]
            replaced = notes.get(each.supersedes or "")
            if replaced is not None and replaced.memory.id == each.memory.id:
                strays.append(each)
            else:
                claims.append((key != each.memory.id, instant(each.written) or 0, key))
        self._notes, self._strays = {}, tuple(strays)
        for _, _, key in sorted(claims):
            each = notes[key]
            if each.memory.id in self._notes:
                each = replace(each, memory=replace(each.memory, id=key))
            self._notes[each.memory.id] = each

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the notes in the scope, in the order in which they were first written."""
        self._reload()
        yield from scope.narrow(sorted((n.memory for n in self._notes.values()), key=_place))

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of notes by id."""
        result: dict[str, Memory] = {}
        for id_ in sorted(set(ids)):
            known = self._notes.get(id_)
            record = self._engine.note(known.key) if known else None
            if record is not None:
                result[id_] = replace(note(record).memory, id=id_)
        return result

    def integrity(self) -> list[str]:
        """Returns the records an interrupted change left behind; the next write removes them."""
        self._reload()
        return [
            f"The record {stray.key!r} was written in place of {stray.supersedes!r}, which still "
            "stands; it does not count as a memory, and the next write removes it."
            for stray in self._strays
        ]

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these.

        What was read last is current: no other process can open the store meanwhile.
        """
        linked = {
            id_
            for id_, known in self._notes.items()
            if any(link.target in ids for link in known.memory.links)
        }
        return linked | self.moved_linking(ids)

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the place, by which a scan sorts."""
        return _place(memory)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._reload()
        # a stray goes only while the record it was to replace is still there
        strays = [s for s in self._strays if s.supersedes and self._engine.note(s.supersedes)]
        for stray in strays:
            self._engine.forget(stray.key)
        if strays:
            self._reload()
        yield
        self._engine.flush()

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the sidecar where a write was stopped, and the folder where strays are left."""
        return (*super().unfinished(), *((self._path,) if self._strays else ()))

    def take_back(self) -> None:
        """Undoes stopped writes to the sidecar, and removes strays."""
        super().take_back()
        with self.writing():
            pass  # every write begins with that

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Rewrites memories; a memory that is already equal stays untouched.

        Raises:
            StoreError: The library did not take or keep one, or did not remove the old record. Of
                that memory the old record stands.
        """
        self._must_write()
        for memory in memories:
            present = self.own_get([memory.id]).get(memory.id)
            if not identical(present, memory):
                self._replace(memory, self._notes.get(memory.id) if present else None)

    def _replace(self, memory: Memory, old: ShodhNote | None) -> None:
        """Writes a new record of a memory, and then removes the old one."""
        before = {n.key for n in (*self._notes.values(), *self._strays)}
        new = self._write(memory, old, before)
        if old is not None and old.key != new.key:
            self._engine.flush()  # the new record is on the disk before the old one goes
            if not self._removed(old):
                self._withdraw(new, before)
                raise StoreError(
                    f"shodh-memory did not remove {memory.id!r} (record {old.key}): it is still "
                    "there. It stays as it was; nothing is lost. Try again."
                )
        self._notes = {i: n for i, n in self._notes.items() if n.key != new.key}
        self._notes[memory.id] = new

    def _removed(self, old: ShodhNote) -> bool:
        """Removes a record and returns whether it is gone."""
        try:
            return self._engine.forget(old.key)
        except StoreError:
            return False

    def _write(self, memory: Memory, old: ShodhNote | None, before: set[str]) -> ShodhNote:
        """Writes a record and checks that it reads back as the memory.

        Its place is the memory's own, else that of the record it replaces; a new one comes last.
        """
        place = memory.native.get("at", old.memory.native.get("at") if old else None)
        written = writing(
            memory,
            self._engine.module,
            place=place if isinstance(place, str) else None,
            supersedes=old.key if old else None,
        )
        new = self._remember(memory, written, before)
        if not identical(new.memory, memory):
            self._withdraw(new, before)
            lost = ", ".join(differing(memory, new.memory))
            raise StoreError(
                f"shodh-memory did not keep {memory.id!r} as written: {lost} reads back "
                "differently. The new record was removed again; nothing was changed."
            )
        return new

    def _remember(
        self, memory: Memory, written: Mapping[str, object], before: set[str]
    ) -> ShodhNote:
        """Adds a record and reads it back."""
        try:
            key = self._engine.remember(memory.content, memory.type or "Context", **written)
            record = self._engine.note(key)
        except StoreError as problem:
            raise StoreError(f"{memory.id!r} could not be written: {problem}") from problem
        if record is None:
            raise StoreError(
                f"shodh-memory said it took {memory.id!r}, and a fresh read does not find it. "
                "Nothing was removed; try again."
            )
        try:
            return note(record)
        except BaseException:
            if key not in before:
                self._engine.forget(key)
            raise

    def _withdraw(self, new: ShodhNote, before: set[str]) -> None:
        """Removes a new record, but never a record that existed before.

        If it does not go it is a stray, which counts for nothing and goes with the next write.
        """
        if new.key not in before:
            self._removed(new)

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes memories; each is gone when a fresh read no longer finds it.

        Raises:
            StoreError: A memory is still in the store; the message names it.
        """
        self._must_write()
        for id_ in sorted(set(ids)):
            known = self._notes.get(id_)
            if known is None:
                continue
            if not self._removed(known):
                raise StoreError(
                    f"shodh-memory did not remove {id_!r} (record {known.key}): it is still there. "
                    "Try again."
                )
            del self._notes[id_]

    # ------------------------------------------------------------------ merging

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,  # noqa: ARG002 - times alone are not worth a new record
        removed: bool,  # noqa: ARG002
    ) -> Memory:
        """Returns the survivor to write, or the former one if nothing would be lost.

        Tags are a set to wt-memory: they are united and sorted by code point. Entities are united,
        the survivor's first. The ids of the duplicates are kept with the note.

        A new record gets a new id of the library, which whoever noted the old one does not know. It
        is written only for what would be lost otherwise: a tag, an entity, a metadata key or field
        the survivor lacks, counts, an importance. Times alone are not worth it; the lineage keeps
        them.
        """
        extra = {key: value for key, value in new.extra.items() if key != "replaces"}
        entities = _texts((old, *members), "entities")
        if entities:
            extra["entities"] = list(entities)
        tags = old.tags if set(new.tags) == set(old.tags) else tuple(sorted(set(new.tags)))
        survivor = replace(new, tags=tags, extra=extra)
        as_before = replace(
            survivor,
            created_at=old.created_at,
            updated_at=old.updated_at,
            last_accessed=old.last_accessed,
        )
        if as_before == replace(old, extra={k: v for k, v in old.extra.items() if k != "replaces"}):
            return old
        ids = list(_texts([old], "replaces"))
        for member in members:
            ids += [member.id, *_texts([member], "replaces")]
        extra["replaces"] = [id_ for id_ in dict.fromkeys(ids) if id_ != old.id]
        return replace(survivor, extra=extra)

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Closes the engine and the sidecar."""
        self._engine.close()
        super().close()


def _place(memory: Memory) -> tuple[int, str]:
    """Returns a sort key for the order in which memories were first written."""
    at = memory.native.get("at")
    return (instant(at) if isinstance(at, str) else None) or 0, memory.id


def _texts(memories: Iterable[Memory], key: str) -> tuple[str, ...]:
    """Returns the texts of a list in `extra`, each once, in order."""
    texts: dict[str, None] = {}
    for memory in memories:
        value = memory.extra.get(key)
        if isinstance(value, list | tuple):
            texts.update({text: None for text in value if isinstance(text, str)})
    return tuple(texts)
