"""Memories that are bullets and blocks of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import IN_FORCE, Memory, Promise
from echoless.core.text import unreadable
from echoless.stores.ledger import Mark
from echoless.stores.markdown import archive, front_matter
from echoless.stores.markdown.archive import ArchivedMemory
from echoless.stores.markdown.document import Kind, split_lines
from echoless.stores.markdown.presets import SUFFIXES, with_narrower
from echoless.stores.markdown.state import HiddenSlot, digest_of
from echoless.stores.markdown.store_files import Leaving, Session, about, by_path
from echoless.stores.markdown.unit_memory import promised, protection, united
from echoless.stores.markdown.virtual import PlacedUnit, VirtualFile


class UnitMemories:
    """Memories in bullets and blocks, hidden ones included."""

    def __init__(self, session: Session) -> None:
        """Takes the files."""
        self._session = session
        self._paths: dict[str, str] | None = None
        self._entries: dict[str, dict[str, list[ArchivedMemory]]] = {}
        self._promises: dict[str, Promise] = {}

    def forget(self) -> None:
        """Forgets what was read; called after each change."""
        self._paths = None
        self._entries.clear()

    # ------------------------------------------------------------------ reading

    @property
    def _path_by_id(self) -> dict[str, str]:
        """Returns the file of each memory and each slot, in the order of a scan.

        Raises:
            BadRecord: A file holds a merge conflict.
        """
        if self._paths is None:
            paths: dict[str, str] = {}  # kept when all were read: a disk may fail at any
            for path in self._session.paths():
                virtual = self._session.virtual(path)
                if virtual.document.conflict is not None:
                    raise BadRecord(
                        f"Line {virtual.document.conflict + 1} of {self._session.tree.root / path} "
                        "begins a merge conflict. Resolve it, then try again."
                    )
                paths |= dict.fromkeys(virtual.ids_in_order(), path)
            self._paths = paths
        return self._paths

    def ids(self) -> Iterator[str]:
        """Yields the ids of all memories in the order of a scan."""
        reading = self._session.reading
        for id_, path in self._path_by_id.items():
            virtual = self._session.virtual(path)
            placed = virtual.placed.get(id_)
            if placed is not None:
                if reading.is_memory(placed.unit):
                    yield id_
            elif self._entry(path, virtual.slots[id_]) is not None:
                yield id_

    def place(self, id_: str) -> tuple[str, int] | None:
        """Returns the file of a visible memory, and the index of its first line."""
        path = self._path_by_id.get(id_)
        placed = None if path is None else self._session.virtual(path).placed.get(id_)
        return None if path is None or placed is None else (path, placed.unit.start)

    def _entry(self, path: str, slot: HiddenSlot) -> ArchivedMemory | None:
        if slot.where == "removed":
            return None
        if path not in self._entries:
            self._entries[path] = self._session.archived(path)
        listed = self._entries[path].get(slot.id)
        return listed[0] if listed else None

    def memory(self, id_: str) -> Memory | None:
        """Returns a memory, visible or hidden, or None."""
        path = self._path_by_id.get(id_)
        if path is None:
            return None
        virtual = self._session.virtual(path)
        placed = virtual.placed.get(id_)
        if placed is not None:
            return self._visible(virtual, placed)
        slot = virtual.slots[id_]
        entry = self._entry(path, slot)
        if entry is None or slot.kind == "line":
            return None
        raw = entry.text
        if digest_of(raw) == slot.digest:
            raw = raw[len(slot.before) : len(raw) - len(slot.after)]
        reading, promise = self._session.reading, self._promise(path)
        namespace = self._namespace(path, reading.headings(path, slot.namespace))
        return reading.memory(id_, namespace, path, slot.kind, raw, promise)

    def _visible(self, virtual: VirtualFile, placed: PlacedUnit) -> Memory | None:
        unit, reading = placed.unit, self._session.reading
        if not reading.is_memory(unit):
            return None
        path, promise = virtual.path, self._promise(virtual.path)
        namespace = self._namespace(path, unit.headings)
        raw = "".join(virtual.lines[unit.start : unit.end])
        # the title of a file that an agent loads by itself names the project, and no part of it
        always = any(":" not in each for each in self._session.own_agents[path])
        titles = int(always and virtual.document.titled)
        above = reading.above(path, unit.headings[titles:]) + ([unit.lead] if unit.lead else [])
        return reading.memory(placed.id, namespace, path, unit.kind, raw, promise, above)

    def _namespace(self, path: str, headings: Sequence[str]) -> str:
        """Returns the scope of a unit; files that an agent always loads together have one."""
        session, by_file = self._session, self._session.reading.scope == "file"
        home = session.homes.get(path, path) if by_file else path
        return session.reading.namespace(home, headings)

    def renamed(self, memory: Memory) -> Memory:
        """Returns a memory of a run under another `scope=` with the namespace it has now."""
        reading = self._session.reading
        path = self._path_by_id.get(memory.id) or reading.place(memory.namespace, None)[0]
        virtual = self._session.virtual(path)
        placed, slot = virtual.placed.get(memory.id), virtual.slots.get(memory.id)
        headings = reading.headings(path, slot.namespace if slot else memory.namespace)
        namespace = self._namespace(path, placed.unit.headings if placed else headings)
        return replace(memory, namespace=namespace)

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory as the file it would be added to gives it back."""
        reading = self._session.reading
        made = reading.shaped(memory)
        path, headings = reading.chosen(made) or ("", ())
        promise = promised(self._promise(path), made.content)
        return replace(made, namespace=self._namespace(path, headings), promise=promise)

    def _promise(self, path: str) -> Promise:
        """Returns how long, and for whom, what a file says is in force."""
        if path not in self._promises:
            promises, tree, known = {path: IN_FORCE}, self._session.tree, self._session.agents
            loaded = with_narrower(known) if any(known.values()) else dict.fromkeys(tree.paths)
            for each, agents in loaded.items():
                lines = split_lines(tree.text(each) or "") if each in tree.paths else []
                entries = each in tree.paths and self._session.virtual(each).has_entries
                own = IN_FORCE if entries else front_matter.promise_in(lines)  # of the first entry
                promises[each] = replace(own, readers=agents)
            self._promises = promises
        return self._promises[path]

    def protected(self, id_: str) -> str | None:
        """Returns why a memory is never hidden, or None."""
        path = self._path_by_id.get(id_)
        placed = None if path is None else self._session.virtual(path).placed.get(id_)
        return None if placed is None else protection(placed.unit.kind)

    def united(self, old: Memory, new: Memory) -> Memory:
        """Returns a survivor with what a bullet can take over."""
        path = self._path_by_id.get(old.id)
        placed = None if path is None else self._session.virtual(path).placed.get(old.id)
        reading = self._session.reading
        survivor = united(reading.preset, old, new)
        if path is None or placed is None or survivor == old:
            return old
        unit = placed.unit
        lines = self._session.virtual(path).lines[unit.start : unit.end]
        raw = "".join(reading.changed(lines, unit.kind, old, survivor))
        held = reading.memory(old.id, old.namespace, path, unit.kind, raw) == survivor
        return survivor if held else old

    # ------------------------------------------------------------------ hiding

    def hide(self, marks: Sequence[Mark]) -> None:
        """Takes units out of their files; those that are hidden already are left out."""
        wanted = {mark.duplicate: mark for mark in marks}
        known = [(path, id_) for id_, path in self._path_by_id.items() if id_ in wanted]
        for path, ids in by_path(known):
            virtual = self._session.virtual(path)
            visible = [virtual.placed[id_] for id_ in ids if id_ in virtual.placed]
            if visible:
                self._hide_in(path, visible, wanted)
        self._session.flush()
        self.forget()

    def _hide_in(self, path: str, units: list[PlacedUnit], marks: dict[str, Mark]) -> None:
        """Hides units of one file, in comments where the rest would be divided otherwise."""
        before = self._picture(path, {each.id for each in units})
        where = self._session.hiding
        virtual = self._session.touch(path)
        image = virtual.image()
        leaving = self._cut_out(virtual, units, marks, in_comments=where == "comment")
        if self._picture(path, set()) != before:
            virtual.reset(image)
            leaving = self._cut_out(virtual, units, marks, in_comments=True)
            if self._picture(path, set()) != before:
                raise StoreError(
                    f"{units[0].id} cannot be taken out of {path} without changing what stands "
                    "beside it. Nothing was changed."
                )
        self._session.to_archive(path, reversed(leaving))

    def _picture(self, path: str, without: set[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Returns texts and headings of the visible units of a file."""
        units = self._session.virtual(path).placed.values()
        return [(e.unit.content, e.unit.headings) for e in units if e.id not in without]

    def _cut_out(
        self,
        virtual: VirtualFile,
        units: list[PlacedUnit],
        marks: dict[str, Mark],
        *,
        in_comments: bool,
    ) -> list[Leaving]:
        """Cuts units out, the last one first, and puts comments in their place where asked."""
        leaving = []
        parts = sorted(units, key=lambda each: -each.unit.start)
        for some in [[each] for each in parts] if in_comments else [parts]:
            with virtual.cutting():
                for placed in some:
                    start, end = virtual.around(placed.unit)
                    text = "".join(virtual.lines[start:end])
                    commented = in_comments and "-->" not in text and not virtual.has_entries
                    slot = replace(
                        self._slot(virtual, placed, start, end),
                        where="comment" if commented else "archive",
                        mark=marks[placed.id],
                    )
                    virtual.cut(start, end, slot)
                    leaving.append(Leaving(slot, text))
            if slot.where == "comment":
                new = archive.comment(slot.id, text, about(slot), virtual.end)
                virtual.stand_in(slot, new)
        return leaving

    def _slot(self, virtual: VirtualFile, placed: PlacedUnit, start: int, end: int) -> HiddenSlot:
        unit = placed.unit
        return HiddenSlot(
            id=placed.id,
            natural=placed.natural,
            where="removed",
            at=start,
            kind=unit.kind,
            namespace=self._session.reading.address(virtual.path, unit.headings),
            before="".join(virtual.lines[start : unit.start]),
            after="".join(virtual.lines[unit.end : end]),
            digest=digest_of("".join(virtual.lines[start:end])),
        )

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts hidden units back in their places."""
        wanted = set(ids)
        known = [(path, id_) for id_, path in self._path_by_id.items() if id_ in wanted]
        for path, some in by_path(known):
            virtual = self._session.virtual(path)
            slots = [virtual.slots[i] for i in some if i in virtual.slots]
            hidden = [slot for slot in slots if slot.where != "removed"]
            if hidden:
                self._show_in(path, hidden)
        self._session.flush()
        self.forget()

    def _show_in(self, path: str, slots: list[HiddenSlot]) -> None:
        session = self._session
        virtual = session.touch(path)
        gone, texts = [], {}
        listed = session.archived(path)
        for slot in slots:
            entry = next(iter(listed.get(slot.id, ())), None)
            if slot.where == "comment":  # its lines move as others are put back
                entry = session.hidden(path, slot)
            if entry is None:
                session.missing(path, slot.id)
                virtual.drop(virtual.slots[slot.id])
                continue
            texts[slot.id] = session.fetch(path, slot, entry)
            if slot.where == "archive":
                gone.append(entry)
        self._put_back(virtual, texts)
        session.from_archive(path, gone)

    def _put_back(self, virtual: VirtualFile, texts: dict[str, str]) -> None:
        """Re-inserts lines at their place, or as separate paragraphs beside edited neighbours."""
        image = virtual.image()
        before = Counter(unit.content for unit in virtual.document.units)
        own = {virtual.slots[id_].natural: text for id_, text in texts.items()}
        virtual.put_back(own)
        if virtual.edited and before - Counter(unit.content for unit in virtual.document.units):
            virtual.reset(image)
            virtual.put_back(own, apart=True)

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Changes units, puts removed ones back, and adds new ones.

        Raises:
            StoreError: A file cannot hold a memory unchanged; the message names the cause.
        """
        for memory in memories:
            if problem := unreadable(memory.content):
                raise StoreError(f"{memory.id!r} has {problem}. Nothing was written.")
        known = self._path_by_id
        elsewhere = {m.id for m in memories if m.id in known and self._left(m)}
        present = [m for m in memories if m.id in known and m.id not in elsewhere]
        by_id = {m.id: m for m in present}
        for path, ids in by_path((known[m.id], m.id) for m in present):
            own = {id_: by_id[id_] for id_ in ids}
            virtual = self._session.virtual(path)
            visible = [m for m in own.values() if m.id in virtual.placed]
            returning = [m for m in own.values() if m.id not in virtual.placed]
            self._edit(path, visible)
            self._return(path, returning)
        self._add([m for m in memories if m.id not in known or m.id in elsewhere])
        self._session.flush()
        self.forget()
        for memory in memories:
            if (written := self.memory(memory.id)) != memory:
                raise refusal(memory, written)

    def _left(self, memory: Memory) -> bool:
        """Forgets the place of a removed unit where it is to stand elsewhere now."""
        path, reading = self._path_by_id[memory.id], self._session.reading
        slot = self._session.virtual(path).slots.get(memory.id)
        if slot is None or slot.where != "removed":
            return False
        place = path, reading.headings(path, slot.namespace)
        same = self._namespace(*place) == memory.namespace
        if same and reading.chosen(memory) in {None, place}:
            return False
        self._session.touch(path).drop(slot)
        return True

    def _edit(self, path: str, memories: list[Memory]) -> None:
        """Changes visible units, each in its own lines."""
        if not memories:
            return
        virtual = self._session.touch(path)
        placed = dict(virtual.placed)
        for memory in sorted(memories, key=lambda m: -placed[m.id].unit.start):
            unit = placed[memory.id].unit
            old = self._visible(virtual, placed[memory.id])
            if old is None or old == memory:
                continue
            lines = virtual.lines[unit.start : unit.end]
            new = self._as_before(memory, path, unit.kind)
            if new is None:
                new = self._session.reading.changed(lines, unit.kind, old, memory)
            if unit.end < len(virtual.lines) and not new[-1].endswith(("\n", "\r")):
                new[-1] += virtual.end
            virtual.replace(unit.start, unit.end, new)

    def _as_before(self, memory: Memory, path: str, kind: Kind) -> list[str] | None:
        """Returns the lines a memory was read from, where they still say what it says."""
        raw = memory.native.get("raw")
        if not isinstance(raw, str) or not raw:
            return None
        now = self._session.reading.memory(memory.id, memory.namespace, path, kind, raw)
        return split_lines(raw) if now == memory else None

    def _return(self, path: str, memories: list[Memory]) -> None:
        """Puts removed units back in their places; hidden ones must stay as they are."""
        for memory in memories:
            slot = self._session.virtual(path).slots[memory.id]
            present = None if slot.where == "removed" else self.memory(memory.id)
            if present is not None:
                if present != memory:
                    raise StoreError(
                        f"{memory.id} is hidden, so it cannot be changed. Undo the run that hid "
                        "it first; nothing was written."
                    )
                continue
            virtual = self._session.touch(path)
            kind: Kind = "bullet" if slot.kind == "line" else slot.kind
            lines = self._as_before(memory, path, kind)
            if lines is None:
                new = self._session.reading.new_lines(memory)
                lines = ["- " + "\n  ".join(new) + virtual.end]
            virtual.put_back({slot.natural: slot.before + "".join(lines) + slot.after})

    def _add(self, memories: list[Memory]) -> None:
        """Adds new bullets at the ends of their sections."""
        groups: dict[tuple[str, tuple[str, ...]], list[Memory]] = {}
        reading = self._session.reading
        for memory in memories:
            place = reading.place(memory.namespace, memory.created_at)
            path, headings = reading.chosen(memory) or place
            path = self._session.tree.only or path
            groups.setdefault((path, headings), []).append(memory)
        for (path, headings), some in groups.items():
            inside = (
                path.endswith(SUFFIXES) and not path.startswith(("/", ".")) and ".." not in path
            )
            if path not in self._session.tree.paths and not inside:
                raise StoreError(
                    f"{some[0].id!r} has the namespace {some[0].namespace!r}, which names no file "
                    f"of {self._session.tree.root}. A namespace here is FILE.md > HEADING."
                )
            namespace = self._namespace(path, headings)
            if namespace != some[0].namespace:
                raise StoreError(
                    f"{some[0].id!r} has the namespace {some[0].namespace!r}, which would become "
                    f"{namespace!r} here: a namespace is FILE.md, with ?scope=heading FILE.md > "
                    "HEADING. Nothing was written; ?scope=folder takes memories without one."
                )
            virtual = self._session.touch(path)
            starts = virtual.add(headings, [reading.new_lines(m) for m in some])
            for start, memory in zip(starts, some, strict=True):
                virtual.anchor(start, memory.id)
            virtual.remember_added([m.id for m in some])

    def remove(self, ids: Iterable[str]) -> None:
        """Removes units; their places stay known."""
        wanted = set(ids)
        known = [(path, id_) for id_, path in self._path_by_id.items() if id_ in wanted]
        for path, some in by_path(known):
            virtual = self._session.virtual(path)
            visible = [virtual.placed[i] for i in some if i in virtual.placed]
            hidden = [virtual.slots[i] for i in some if i in virtual.slots]
            self._remove_hidden(path, [s for s in hidden if s.where != "removed"])
            if visible:
                self._remove_visible(path, visible)
        self._session.flush(remove_empty=not self._session.tree.only)
        self.forget()

    def _remove_hidden(self, path: str, slots: list[HiddenSlot]) -> None:
        gone = []
        for slot in slots:
            virtual = self._session.touch(path)
            entry = self._session.hidden(path, slot)
            if entry is not None and slot.where == "archive":
                gone.append(entry)
            elif entry is not None:
                virtual.replace(entry.start, entry.end, [])
            own = virtual.slots[slot.id]
            virtual.exchange(own, replace(own, where="removed", mark=None))
        self._session.from_archive(path, gone)

    def _remove_visible(self, path: str, units: list[PlacedUnit]) -> None:
        before = self._picture(path, {each.id for each in units})
        virtual = self._session.touch(path)
        with virtual.cutting():
            for placed in sorted(units, key=lambda each: -each.unit.start):
                start, end = virtual.extent_of_added(placed)
                last = end == len(virtual.lines)
                virtual.cut(start, end, self._slot(virtual, placed, start, end))
                if last:
                    virtual.unend()
        if self._picture(path, set()) != before:
            raise StoreError(
                f"{units[0].id} cannot be taken out of {path} without changing what stands beside "
                "it. Nothing was changed."
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
