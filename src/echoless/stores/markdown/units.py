"""Memories that are bullets and blocks of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import FIRST_LINE, IN_FORCE, Memory, Promise
from echoless.core.text import count
from echoless.stores.ledger import Mark
from echoless.stores.markdown import front_matter
from echoless.stores.markdown.archive import archive_of
from echoless.stores.markdown.document import Kind, MarkdownUnit, is_blank, split_lines
from echoless.stores.markdown.presets import SUFFIXES, with_narrower
from echoless.stores.markdown.state import HiddenSlot, digest_of
from echoless.stores.markdown.store_files import Session, by_path
from echoless.stores.markdown.unit_memory import promised, protection, united
from echoless.stores.markdown.virtual import PlacedUnit, VirtualFile


class UnitMemories:
    """Memories in bullets and blocks, hidden ones included."""

    def __init__(self, session: Session) -> None:
        """Takes the files."""
        self._session = session
        self._paths: dict[str, str] | None = None
        self._promises: dict[str, Promise] = {}

    def forget(self) -> None:
        """Forgets what was read; called after each change."""
        self._paths = None

    # ------------------------------------------------------------------ reading

    def _files(self) -> Sequence[str]:
        """Returns the files that are read, sorted."""
        return self._session.paths()

    def _is_memory(self, unit: MarkdownUnit) -> bool:
        return self._session.reading.is_memory(unit)

    @property
    def _path_by_id(self) -> dict[str, str]:
        """Returns the file of each memory and each slot, in the order of a scan.

        Raises:
            BadRecord: A file holds a merge conflict.
        """
        if self._paths is None:
            paths: dict[str, str] = {}  # kept when all were read: a disk may fail at any
            for path in self._files():
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
        for id_, path in self._path_by_id.items():
            virtual = self._session.virtual(path)
            placed = virtual.placed.get(id_)
            if placed is not None:
                if self._is_memory(placed.unit):
                    yield id_
            elif self._archived(path, virtual.slots[id_]) is not None:
                yield id_

    def __contains__(self, id_: str) -> bool:
        """Returns whether it is the id of a unit, visible, hidden or removed."""
        return id_ in self._path_by_id

    def place(self, id_: str) -> tuple[str, int] | None:
        """Returns the file of a visible memory, and the index of its first line."""
        path = self._path_by_id.get(id_)
        placed = None if path is None else self._session.virtual(path).placed.get(id_)
        return None if path is None or placed is None else (path, placed.unit.start)

    def memory(self, id_: str) -> Memory | None:
        """Returns a memory, visible or hidden, or None."""
        path = self._path_by_id.get(id_)
        if path is None:
            return None
        virtual = self._session.virtual(path)
        placed = virtual.placed.get(id_)
        if placed is not None:
            return self._visible(virtual, placed)
        raw = self._archived(path, virtual.slots[id_])
        if raw is None:
            return None
        slot, reading = virtual.slots[id_], self._session.reading
        namespace = self._namespace(path, reading.headings(path, slot.namespace))
        return reading.memory(id_, namespace, path, _kind(slot), raw, self._promise(path))

    def _archived(self, path: str, slot: HiddenSlot) -> str | None:
        """Returns the lines of a hidden unit; None where it is removed, or they are gone."""
        entry = self._session.archived(path).get(slot.id) if slot.mark else None
        if entry is None:
            return None
        if digest_of(entry.text) != slot.digest:
            return entry.text
        return entry.text[len(slot.before) : len(entry.text) - len(slot.after)]

    def _visible(self, virtual: VirtualFile, placed: PlacedUnit) -> Memory | None:
        unit, reading = placed.unit, self._session.reading
        if not self._is_memory(unit):
            return None
        path, promise = virtual.path, self._promise(virtual.path)
        namespace = self._namespace(path, unit.headings)
        raw = "".join(virtual.lines[unit.start : unit.end])
        titles = int(virtual.document.titled and {*unit.headings[:1]} <= self._session.own_titles)
        above = reading.above(path, unit.headings[titles:]) + ([unit.lead] if unit.lead else [])
        made = reading.memory(placed.id, namespace, path, unit.kind, raw, promise, above)
        return replace(made, native={**made.native, FIRST_LINE: unit.start + 1})

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
        if path is None or placed is None:
            return None
        return protection(placed.unit.kind) or self._joining(path, placed)

    def _joining(self, path: str, placed: PlacedUnit) -> str | None:
        """Returns why a unit stays that keeps an indented block below it from what is above."""
        virtual = self._session.virtual(path)
        below = next((line for line in virtual.lines[placed.unit.end :] if not is_blank(line)), "")
        if not below[:1].isspace():
            return None
        same = _picture(virtual.without(placed.unit).units) == self._beside(path, {placed.id})
        return None if same else "without it the block below would belong to what is above"

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
                gone = self._cut_out(path, visible, wanted)
                self._session.to_archive(path, reversed(gone))
        self._session.flush()
        self.forget()

    def _beside(self, path: str, without: set[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Returns texts and headings of the visible units of a file, without some."""
        placed = self._session.virtual(path).placed.values()
        return _picture(each.unit for each in placed if each.id not in without)

    def _cut_out(
        self, path: str, units: list[PlacedUnit], marks: Mapping[str, Mark] | None
    ) -> list[tuple[HiddenSlot, str]]:
        """Cuts units out; see `VirtualFile.cut`.

        Raises:
            StoreError: What stays would be divided otherwise.
        """
        before = self._beside(path, {each.id for each in units})
        virtual = self._session.touch(path)
        address = partial(self._session.reading.address, path)
        gone = virtual.cut(units, lambda unit: address(unit.headings), marks)
        if _picture(virtual.document.units) != before:
            raise StoreError(
                f"{', '.join(each.id for each in units)} cannot leave {path} together: what stands "
                "beside them would be read otherwise. Nothing was changed. Decide on them one by "
                "one: echoless review."
            )
        return gone

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts hidden units back in their places."""
        wanted = set(ids)
        known = [(path, id_) for id_, path in self._path_by_id.items() if id_ in wanted]
        for path, some in by_path(known):
            slots = self._session.virtual(path).slots
            if hidden := [slots[i] for i in some if i in slots and slots[i].mark]:
                self._show_in(path, hidden)
        self._session.flush()
        self.forget()

    def _show_in(self, path: str, slots: list[HiddenSlot]) -> None:
        session, virtual = self._session, self._session.touch(path)
        listed = session.archived(path)
        entries = {slot.id: listed[slot.id] for slot in slots if slot.id in listed}
        texts = {slot.natural: entries[slot.id].text for slot in slots if slot.id in entries}
        raws = {slot.id: self._archived(path, slot) or "" for slot in slots}
        for slot in slots:
            if not raws[slot.id].strip():
                session.missing(path, slot.id)
                virtual.exchange(slot)
            elif digest_of(texts[slot.natural]) != slot.digest:
                session.notes.append(
                    f"{slot.id} was edited in {session.tree.root / archive_of(path)} while it was "
                    "hidden; it was put back as it is there."
                )
        self._put_back(path, slots, texts, raws)
        session.from_archive(path, entries.values())

    def _put_back(
        self, path: str, slots: list[HiddenSlot], texts: Mapping[str, str], raws: Mapping[str, str]
    ) -> None:
        """Puts units back: in their places, or at the ends of their sections without one.

        Args:
            path: Of their file.
            slots: Their slots.
            texts: All lines that left with each, by `natural`.
            raws: Lines of each, by id.
        """
        virtual = self._session.touch(path)
        virtual.put_back(texts)
        lost = [slot for slot in slots if slot in virtual.lost]
        groups: dict[tuple[str, ...], list[str]] = {}
        for slot in lost:
            virtual.exchange(slot)
            headings = self._session.reading.headings(path, slot.namespace)
            groups.setdefault(headings, []).append(slot.id)
        for headings, ids in groups.items():
            starts = virtual.add(headings, [raws[id_] for id_ in ids], raw=True)
            for start, id_ in zip(starts, ids, strict=True):
                virtual.anchor(start, id_)
        if lost:
            what = count(len(lost), "memory", "memories")
            self._session.notes.append(
                f"{self._session.tree.root / path} was edited since, so {what} came back at the "
                "end of the section, not in place."
            )

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Changes units, puts removed ones back, and adds new ones."""
        known, by_id = self._path_by_id, {memory.id: memory for memory in memories}
        new = [memory for memory in memories if memory.id not in known]
        for path, ids in by_path((known[id_], id_) for id_ in by_id if id_ in known):
            slots = self._session.virtual(path).slots
            gone = [slots[id_] for id_ in ids if id_ in slots]
            self._edit(path, [by_id[id_] for id_ in ids if id_ not in slots])
            new += self._return(path, gone, by_id)
        self._add(new)
        self._session.flush()
        self.forget()

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

    def _return(
        self, path: str, slots: list[HiddenSlot], memories: Mapping[str, Memory]
    ) -> list[Memory]:
        """Puts removed units back in their places; hidden ones must stay as they are.

        Returns:
            Memories that are to stand elsewhere.
        """
        reading, elsewhere, texts, raws = self._session.reading, [], {}, {}
        for slot in slots:
            memory, present = memories[slot.id], self.memory(slot.id)
            if present == memory:
                continue
            if present is not None:
                raise StoreError(
                    f"{memory.id} is hidden, so it cannot be changed. Undo the run that hid it "
                    "first; nothing was written."
                )
            virtual = self._session.touch(path)
            place = path, reading.headings(path, slot.namespace)
            same = self._namespace(*place) == memory.namespace
            if not same or reading.chosen(memory) not in {None, place}:
                virtual.exchange(slot)
                elsewhere.append(memory)
                continue
            lines = self._as_before(memory, path, _kind(slot))
            if lines is None:
                lines = ["- " + "\n  ".join(reading.new_lines(memory)) + virtual.end]
            raws[slot.id] = "".join(lines)
            texts[slot.natural] = slot.before + raws[slot.id] + slot.after
        if texts:
            self._put_back(path, [slot for slot in slots if slot.id in raws], texts, raws)
        return elsewhere

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
            starts = virtual.add(headings, ["\n".join(reading.new_lines(m)) for m in some])
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
            hidden = [slot for i in some if (slot := virtual.slots.get(i)) and slot.mark]
            for slot in hidden:
                self._session.touch(path).exchange(slot, replace(slot, mark=None))
            listed = self._session.archived(path)
            gone = [listed[slot.id] for slot in hidden if slot.id in listed]
            self._session.from_archive(path, gone)
            if visible:
                self._cut_out(path, visible, None)
        self._session.flush(remove_empty=not self._session.tree.only)
        self.forget()


def _kind(slot: HiddenSlot) -> Kind:
    return "bullet" if slot.kind == "line" else slot.kind


def _picture(units: Iterable[MarkdownUnit]) -> list[tuple[str, tuple[str, ...]]]:
    """Returns texts and headings of units."""
    return [(unit.content, unit.headings) for unit in units]
