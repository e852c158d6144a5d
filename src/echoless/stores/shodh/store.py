"""Notes of shodh-memory: `shodh:///path`, the folder of one project.

The library has no update and gives ids of its own. A memory here keeps one lasting id: that of its
first record, which every record written in its place carries in its metadata. To change a memory is
to write a new record, read it back, and only then remove the old one. While both stand, the old one
is the memory: a crash in between changes nothing, and the next writer takes the new one away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.codec import field_to_json
from echoless.errors import ForeignStore, StoreError, StoreNotFound
from echoless.model import Memory, identical
from echoless.stores.base import ALL, Scope
from echoless.stores.files import exclusive
from echoless.stores.shodh.library import Engine
from echoless.stores.shodh.record import Note, note, writing
from echoless.stores.shodh.survivor import survivor
from echoless.stores.sidecar import BesideSidecar, Sidecar
from echoless.times import instant

_MARKER: Final = Path("memories", "CURRENT")
"""Where the library's engine keeps the name of its current state, in every version accepted."""

_COMPARED: Final = (
    "content",
    "namespace",
    "type",
    "tags",
    "importance",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed",
    "provenance",
    "links",
    "pinned",
    "metadata",
    "vectors",
    "extra",
)


class ShodhStore(BesideSidecar):
    """Memories of one project of shodh-memory, opened through the library."""

    summary: ClassVar[str] = "a project of shodh-memory (wt-memory); lineage in a sidecar"
    holds_ledger: Final = False
    exclusive: Final = True
    profile: Final = "wt-memory"
    unrestored: Final = (
        "shodh-memory gives every note it takes a new id and a new time of creation. What was put "
        "back has its lasting id and its true time in the metadata, as echoless.replaces and "
        "echoless.created_at."
    )

    def __init__(self, path: Path) -> None:
        """Open the engine; use `open` or `create`."""
        self._path = path
        self.url = f"shodh:///{path}"
        self._writing = False
        self._engine = Engine(path)
        try:
            self._sidecar = Sidecar(path)
            self._notes: dict[str, Note] = {}
            self._strays: tuple[Note, ...] = ()
            self._reload()
        except BaseException:
            self._engine.close()
            raise

    @classmethod
    def open(cls, location: str) -> Self:
        """Open an existing store."""
        path = Path(location)
        if path.exists() and not path.is_dir():
            raise ForeignStore(f"{path} is a file; a store of shodh-memory is a folder.")
        if not cls.recognises(path):
            what = "is not a store of shodh-memory" if path.exists() else "does not exist"
            raise StoreNotFound(f"{path} {what}. Check the path.")
        return cls(path)

    @classmethod
    def create(cls, location: str) -> Self:
        """Open a store, or make an empty one."""
        path = Path(location)
        if path.exists() and not path.is_dir():
            raise ForeignStore(f"{path} is a file; a store of shodh-memory is a folder.")
        return cls(path)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """The folders the library makes are there."""
        return (path / _MARKER).is_file() and (path / "memory_index").is_dir()

    # ------------------------------------------------------------------ reading

    def _reload(self) -> None:
        self._notes, self._strays = _by_lasting_id([note(r) for r in self._engine.notes()])

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, in the order in which they were first written."""
        self._reload()
        yield from scope.narrow(sorted((n.memory for n in self._notes.values()), key=_place))

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id."""
        found: dict[str, Memory] = {}
        for id_ in sorted(set(ids)):
            known = self._notes.get(id_)
            record = self._engine.note(known.key) if known else None
            if record is not None:
                found[id_] = replace(note(record).memory, id=id_)
        return found

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        return sum(1 for _ in self.scan(scope))

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace; the library itself knows only one."""
        return dict(sorted(Counter(m.namespace for m in self.scan()).items()))

    def integrity(self) -> list[str]:
        """Records an interrupted change left behind; the next write takes them away."""
        self._reload()
        return [
            f"The record {stray.key!r} was written in place of {stray.supersedes!r}, which still "
            "stands; it does not count as a memory, and the next write removes it."
            for stray in self._strays
        ]

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Ids of the memories with a link to one of these; no other process can open the store."""
        return [
            id_
            for id_, known in self._notes.items()
            if any(link.target in ids for link in known.memory.links)
        ]

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock, and the sidecar open for writing."""
        if self._writing:
            yield
            return
        with exclusive(self._path), self._sidecar.writing():
            self._reload()
            self._writing = True
            try:
                self._clear_strays()
                yield
                self._engine.flush()
            finally:
                self._writing = False

    def unfinished(self) -> tuple[Path, ...]:
        """The folder too, where a record stands that was written in place of one that stands."""
        return (*super().unfinished(), *((self._path,) if self._strays else ()))

    def take_back(self) -> None:
        """Remove such records too."""
        super().take_back()
        with self.writing():
            pass  # every write begins with that

    def _clear_strays(self) -> None:
        """Remove records whose change was never finished; what they were to replace stands."""
        left = [s for s in self._strays if s.supersedes is not None and self._still(s.supersedes)]
        for stray in left:
            self._engine.forget(stray.key)
        if left:
            self._reload()

    def _still(self, key: str) -> bool:
        return self._engine.note(key) is not None

    def put(self, memories: Sequence[Memory]) -> None:
        """Write memories anew; one that is there as given stays untouched.

        Raises:
            StoreError: The library did not take or keep one, or did not remove the old record. Of
                that memory the old record stands.
        """
        self._must_write()
        for memory in memories:
            there = self.get([memory.id]).get(memory.id)
            if not identical(there, memory):
                self._replace(memory, self._notes.get(memory.id) if there else None)

    def _replace(self, memory: Memory, old: Note | None) -> None:
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

    def _removed(self, old: Note) -> bool:
        try:
            return self._engine.forget(old.key)
        except StoreError:
            return False

    def _write(self, memory: Memory, old: Note | None, before: set[str]) -> Note:
        """Write a record that reads back as the memory."""
        new = self._remember(memory, old, before)
        if not identical(new.memory, memory):
            self._withdraw(new, before)
            raise StoreError(
                f"shodh-memory did not keep {memory.id!r} as written: "
                f"{', '.join(_differing(memory, new.memory))} reads back differently. The new "
                "record was removed again; nothing was changed."
            )
        return new

    def _remember(self, memory: Memory, old: Note | None, before: set[str]) -> Note:
        told = writing(
            memory,
            self._engine.module,
            place=_told_place(memory, old),
            supersedes=old.key if old else None,
        )
        try:
            key = self._engine.remember(told.content, told.type, **told.more)
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

    def _withdraw(self, new: Note, before: set[str]) -> None:
        """Take back a record that was just written; never one that was there before.

        If it does not go it is a stray, which counts for nothing and goes with the next write.
        """
        if new.key not in before:
            self._removed(new)

    def remove(self, ids: Iterable[str]) -> None:
        """Take memories out; each is gone when a fresh read no longer finds it.

        Raises:
            StoreError: One is still there; the message names it.
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
        """What a survivor becomes here, see `survivor.survivor`."""
        return survivor(old, members, new)

    def relinked(self, new: Memory) -> Memory:
        """A memory whose links were pointed at survivors: as it is."""
        return new

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Let go of the engine and of the sidecar."""
        self._engine.close()
        self._sidecar.close()


def _place(memory: Memory) -> tuple[int, str]:
    at = memory.native.get("at")
    return (instant(at) if isinstance(at, str) else None) or 0, memory.id


def _told_place(memory: Memory, old: Note | None) -> str | None:
    """The memory's own place, else that of the record it replaces; a new one goes to the end."""
    at = memory.native.get("at", old.memory.native.get("at") if old else None)
    return at if isinstance(at, str) else None


def _differing(one: Memory, other: Memory) -> list[str]:
    return [n for n in _COMPARED if field_to_json(one, n) != field_to_json(other, n)]


def _by_lasting_id(notes: Sequence[Note]) -> tuple[dict[str, Note], tuple[Note, ...]]:
    """Notes by lasting id, and the strays: records of a change that was not finished.

    Two notes may claim one id where another program copied a note with its metadata; the older
    record keeps it, the other goes by the library's own id.
    """
    keys = {n.key: n for n in notes}
    strays = tuple(n for n in notes if _unfinished(n, keys))
    gone = {n.key for n in strays}
    found: dict[str, Note] = {}
    for each in sorted((n for n in notes if n.key not in gone), key=_claim):
        id_ = each.key if each.memory.id in found else each.memory.id
        found[id_] = each if id_ == each.memory.id else _renamed(each)
    return found, tuple(sorted(strays, key=lambda n: n.key))


def _unfinished(each: Note, keys: Mapping[str, Note]) -> bool:
    replaced = keys.get(each.supersedes or "")
    return replaced is not None and replaced.memory.id == each.memory.id


def _claim(each: Note) -> tuple[bool, int, str]:
    return (each.key != each.memory.id, *_written(each))


def _written(each: Note) -> tuple[int, str]:
    return instant(each.written) or 0, each.key


def _renamed(each: Note) -> Note:
    return replace(each, memory=replace(each.memory, id=each.key))
