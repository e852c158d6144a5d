"""One file with what was taken out of it: units with ids, cut out and put back to the byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from echoless.core.text import content_key, normalise
from echoless.stores.markdown.document import (
    DIVIDER,
    Document,
    MarkdownUnit,
    front_lines,
    is_blank,
    is_divider,
    read,
    read_entries,
    split_lines,
)
from echoless.stores.markdown.presets import ENTRY_FILES, Preset
from echoless.stores.markdown.state import (
    FileState,
    HiddenSlot,
    Insert,
    digest_of,
    digests_of,
    moved_along,
)

_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """A visible unit with its ids.

    Attributes:
        id: Its id.
        natural: The id its text gives it.
        unit: The unit.
    """

    id: str
    natural: str
    unit: MarkdownUnit


class VirtualFile:
    """Visible lines of a file, and the slots of its hidden lines."""

    def __init__(self, path: str, text: str, state: FileState | None, preset: Preset) -> None:
        """Reads a text.

        Args:
            path: Of the file, relative to the folder.
            text: Its text.
            state: Recorded state of the file.
            preset: Of the store.
        """
        self.path = path
        self._preset = preset
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self.lines = split_lines(text.removeprefix("\ufeff"))
        self.state = moved_along(state or FileState(), self.lines)
        self.edited = state is not None and state.lines != self.state.lines
        self._document: Document | None = None
        self._placed: dict[str, PlacedUnit] | None = None
        self._slots: dict[str, HiddenSlot] | None = None
        self._anchors: dict[int, str] | None = None
        self._last_added = Insert((), "", "")
        self._origins: list[int] = []  # of lines that are left while some are cut: where they were
        self._gaps: list[int] = []  # where there are slots then
        self._new_slots: list[HiddenSlot] = []
        if self.edited:
            self._leave_units()

    def _leave_units(self) -> None:
        """Moves slots inside an edited unit to the end of the unit."""
        units = self.document.units
        starts = [unit.start for unit in units]
        moved = []
        for slot in self.state.slots:
            at = bisect_left(starts, slot.at) - 1
            inside = at >= 0 and slot.at < units[at].end and slot.kind != "line"
            moved.append(replace(slot, at=units[at].end) if inside else slot)
        self.state.slots = sorted(moved, key=lambda slot: slot.at)
        self._slots = None

    @property
    def text(self) -> str:
        """Returns the text of the file."""
        return self._mark + "".join(self.lines)

    @property
    def end(self) -> str:
        """Returns the line end of the file."""
        return "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"

    @property
    def document(self) -> Document:
        """Returns the units of the visible text."""
        if self._document is None:
            dated = not self._preset.by_file
            entries = read_entries if self.has_entries else partial(read, dated=dated)
            self._document = entries(self.lines)
        return self._document

    @property
    def has_entries(self) -> bool:
        """Returns whether the file holds entries with a line between them, or held some."""
        if self._preset.grain == "entry" or self.path not in ENTRY_FILES:
            return self._preset.grain == "entry"
        cut = (line for slot in self.state.slots for line in split_lines(slot.before + slot.after))
        return any(map(is_divider, chain(self.lines, cut)))

    @property
    def placed(self) -> dict[str, PlacedUnit]:
        """Returns the visible units by id, in the order of the file.

        Copies of one text are numbered; a number that is taken is not given again.
        """
        if self._placed is None:
            reserved = {*self.state.names.values(), *(slot.id for slot in self.state.slots)}
            placed: dict[str, PlacedUnit] = {}
            for natural, unit in self._numbered():
                id_ = self._public(natural, placed, reserved)
                placed[id_] = PlacedUnit(id_, natural, unit)
            self._placed = placed
        return self._placed

    def _public(self, natural: str, placed: Collection[str], reserved: Collection[str]) -> str:
        """Returns the id a memory has, by the id its text gives it."""
        named = self.state.names.get(natural)
        if named is not None and named not in placed:
            return named
        id_, number = natural, 1
        while id_ in placed or id_ in reserved:
            number += 1
            id_ = f"{natural}+{number}"
        return id_

    def _numbered(self) -> Iterator[tuple[str, MarkdownUnit]]:
        """Yields the units with the ids their texts give: path, digest, and number of the copy."""
        taken = {slot.natural for slot in self.state.slots}
        numbers: dict[str, int] = {}
        for unit in self.document.units:
            first = f"{self.path}#{content_key(normalise(unit.content, html_too=False))[:_DIGITS]}"
            number = numbers.get(first, 0) + 1
            while (natural := f"{first}-{number}" if number > 1 else first) in taken:
                number += 1
            numbers[first] = number
            taken.add(natural)
            yield natural, unit

    def begin(self) -> None:
        """Begins a change in which every memory keeps its id, wherever its unit moves."""
        if self._anchors is None:
            self._anchors = {each.unit.start: id_ for id_, each in self.placed.items()}

    def settle(self) -> None:
        """Ends a change: names the units that would have another id now."""
        anchors, self._anchors = self._anchors or {}, None
        named = {n: anchors[u.start] for n, u in self._numbered() if u.start in anchors}
        self.state.names = {natural: id_ for natural, id_ in named.items() if natural != id_}
        self._forget()

    def _shift(self, at: int, change: int) -> None:
        """Moves the anchors from a line on."""
        if self._anchors is not None:
            self._anchors = {
                start + change if start >= at else start: id_
                for start, id_ in self._anchors.items()
            }

    def anchor(self, start: int, id_: str) -> None:
        """Says which memory begins at a line."""
        if self._anchors is not None:
            self._anchors[start] = id_

    @property
    def slots(self) -> dict[str, HiddenSlot]:
        """Returns the slots of memories by id; lines of an index are not among them."""
        if self._slots is None:
            self._slots = {slot.id: slot for slot in self.state.slots if slot.kind != "line"}
        return self._slots

    def sealed(self) -> FileState:
        """Returns the state to keep with the text as it is now."""
        return replace(self.state, lines=digests_of(self.lines))

    def ids_in_order(self) -> Iterator[str]:
        """Yields the ids of visible units and slots in the order of the virtual text."""
        slots = [slot for slot in self.state.slots if slot.kind != "line"]
        for id_, placed in self.placed.items():
            while slots and slots[0].at <= placed.unit.start:
                yield slots.pop(0).id
            yield id_
        yield from (slot.id for slot in slots)

    # ------------------------------------------------------------------ lines

    def replace(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replaces lines; slots behind them move along."""
        self.lines[start:end] = new
        change = len(new) - (end - start)
        self._shift(max(end, start + 1), change)
        self.state.slots = [
            replace(slot, at=slot.at + change if slot.at >= end and slot.at > start else slot.at)
            for slot in self.state.slots
        ]
        self._forget()

    def insert(self, at: int, new: Sequence[str], *, before: HiddenSlot | None = None) -> None:
        """Inserts lines in a gap.

        Args:
            at: The gap: index of the line below it.
            new: The lines.
            before: The slot in that gap the lines stand before; all of them stand before by
                default.
        """
        self.lines[at:at] = new
        slots = self.state.slots
        first = slots.index(before) if before else bisect_left(slots, at, key=lambda each: each.at)
        moved = [replace(slot, at=slot.at + len(new)) for slot in slots[first:]]
        self.state.slots = slots[:first] + moved
        self._shift(at, len(new))
        self._forget()

    def _forget(self) -> None:
        self._document = self._placed = self._slots = None

    # ------------------------------------------------------------------ cutting out

    def around(self, unit: MarkdownUnit) -> tuple[int, int]:
        """Returns the range of lines to remove with a unit, so that its neighbours stay separated.

        Blank lines below go along where there are some above, or nothing; with an entry, the line
        between it and the next one, or the one before. Called in `cutting()`.
        """
        start, end = unit.start, unit.end
        above = start == front_lines(self.lines) or is_blank(self.lines[start - 1])
        below = end
        while below < len(self.lines) and is_blank(self.lines[below]):
            below += 1
        if self.has_entries:
            above = True
            if below < len(self.lines):
                below += 1  # the line between two entries goes with the one above it
            elif start and is_divider(self.lines[start - 1]):
                start -= 1
        at = bisect_right(self._gaps, self._origins[start])
        divided = at < len(self._gaps) and self._gaps[at] <= self._origins[below - 1]
        return (start, below) if above and not divided else (unit.start, end)

    @contextmanager
    def cutting(self) -> Iterator[None]:
        """Lets lines be cut out, the last ones first; slots and memories move along at the end."""
        self._origins = [*range(len(self.lines))]
        self._gaps = sorted(slot.at for slot in self.state.slots)
        yield
        slots = sorted([*self.state.slots, *reversed(self._new_slots)], key=lambda slot: slot.at)
        self.state.slots = [replace(s, at=bisect_left(self._origins, s.at)) for s in slots]
        if anchors := self._anchors:
            self._anchors = {n: anchors[at] for n, at in enumerate(self._origins) if at in anchors}
        self._new_slots.clear()
        self._forget()

    def cut(self, start: int, end: int, slot: HiddenSlot) -> None:
        """Takes lines out of the file and puts a slot in their place; called in `cutting()`.

        Args:
            start: Index of the first line.
            end: Index after the last one.
            slot: Its place is set here.
        """
        for at in range(start, end):
            (self._anchors or {}).pop(at, None)
        del self.lines[start:end]
        del self._origins[start:end]
        insort(self._gaps, start)
        self._new_slots.append(replace(slot, at=start))
        self._forget()

    def put_back(self, texts: Mapping[str, str], *, apart: bool = False) -> None:
        """Puts the lines of slots back, and drops the slots.

        Args:
            texts: Lines of each slot, with those that left together with them, by `natural`.
            apart: Whether to put blank lines between these lines and their neighbours.
        """
        old, end, done, known = self.lines, self.end, 0, self._anchors or {}
        slots: list[HiddenSlot] = []
        anchors: dict[int, str] = {}
        self.lines = []
        for slot in [*self.state.slots, None]:
            place = min(slot.at, len(old)) if slot else len(old)
            for at in range(done, place):
                if at in known:
                    anchors[len(self.lines) + at - done] = known[at]
            self.lines += old[done:place]
            done = place
            if slot is None or slot.natural not in texts:
                slots += [replace(slot, at=len(self.lines))] if slot else []
                continue
            new, above = split_lines(texts[slot.natural]), len(split_lines(slot.before))
            if apart and place < len(old) and not is_blank(old[place]):
                new = [*new[:-1], new[-1].rstrip("\r\n") + end, end]
            if apart and self.lines and not is_blank(self.lines[-1]):
                new, above = [end, *new], above + 1
            if self.lines and not self.lines[-1].endswith(("\n", "\r")):
                self._end_line(len(self.lines) - 1)
            if new and place < len(old) and not new[-1].endswith(("\n", "\r")):
                new[-1] += end
            if slot.kind != "line":
                anchors[len(self.lines) + above] = slot.id
            self.lines += new
        self.state.slots = slots
        self._anchors = anchors if self._anchors is not None else None
        self._forget()

    def _end_line(self, at: int) -> None:
        """Ends the last line, and remembers that it had no end."""
        self.state.ended = digest_of(self.lines[at])
        self.lines[at] += self.end

    def unend(self) -> None:
        """Takes the end of the last line away where it had none before something followed."""
        if self.lines and self.state.ended == digest_of(self.lines[-1].rstrip("\r\n")):
            self.lines[-1] = self.lines[-1].rstrip("\r\n")
            self.state.ended = ""
            self._forget()

    def stand_in(self, slot: HiddenSlot, text: str) -> None:
        """Puts lines where a slot is, above it, without moving it out of its place."""
        own = next(each for each in self.state.slots if each.id == slot.id)
        self.insert(own.at, split_lines(text), before=own)

    def drop(self, slot: HiddenSlot) -> None:
        """Forgets a slot."""
        self.state.slots = [each for each in self.state.slots if each is not slot]
        self._forget()

    def exchange(self, old: HiddenSlot, new: HiddenSlot) -> None:
        """Puts a slot in the place of another."""
        self.state.slots = [new if each is old else each for each in self.state.slots]
        self._forget()

    def image(self) -> tuple[list[str], list[HiddenSlot], dict[int, str], str]:
        """Returns a copy of lines and places, for `reset`."""
        anchors = dict(self._anchors or {})
        return list(self.lines), list(self.state.slots), anchors, self.state.ended

    def reset(self, image: tuple[list[str], list[HiddenSlot], dict[int, str], str]) -> None:
        """Restores lines and places from a copy."""
        lines, slots, anchors, self.state.ended = image
        self.lines, self.state.slots, self._anchors = list(lines), list(slots), dict(anchors)
        self._forget()

    # ------------------------------------------------------------------ new units

    def add(self, headings: tuple[str, ...], chunks: Sequence[Sequence[str]]) -> list[int]:
        """Inserts new units at the end of a section, which is made where it is missing.

        Args:
            headings: Path of the section.
            chunks: Lines of each unit, without marks of a list.

        Returns:
            Index of the first line of each.
        """
        at, above, mark = self._place_for(headings)
        if at and not self.lines[at - 1].endswith(("\n", "\r")):
            self._end_line(at - 1)
        heading = above and not (is_blank(above[0]) or is_divider(above[0]))
        if heading and at and not is_blank(self.lines[at - 1]):
            above = [self.end, *above]
        new, starts = [*above], []
        for number, chunk in enumerate(chunks):
            new += [DIVIDER + self.end] * (self.has_entries and number > 0)
            starts.append(at + len(new))
            first, *rest = chunk
            new.append(mark + first + self.end)
            indent = " " * len(mark.expandtabs(4))
            new += [(indent + line if line.strip() else "") + self.end for line in rest]
        below = []
        if above and at < len(self.lines) and not is_blank(self.lines[at]):
            below = [self.end]
        self.insert(at, [*new, *below])
        self._last_added = Insert((), "".join(above), "".join(below))
        return starts

    def append(self, lines: Sequence[str]) -> None:
        """Inserts lines at the end, before blank lines there."""
        at = len(self.lines)
        while at and is_blank(self.lines[at - 1]):
            at -= 1
        if at and not self.lines[at - 1].endswith(("\n", "\r")):
            self._end_line(at - 1)
        self.insert(at, lines)

    def remember_added(self, ids: Sequence[str]) -> None:
        """Records the memories of the last `add`, so that they can leave without a trace."""
        earlier = [group for group in self.state.added if not set(ids) & set(group.ids)]
        self.state.added = [*earlier, replace(self._last_added, ids=tuple(ids))]

    def _place_for(self, headings: tuple[str, ...]) -> tuple[int, list[str], str]:
        """Returns the gap for new units, the lines to put above them, and the mark of their list.

        The lines above begin with a blank one where the section is there already.
        """
        document = self.document
        if self.has_entries:
            return len(self.lines), [DIVIDER + self.end] * bool(document.units), ""
        units = [unit for unit in document.units if unit.headings == headings]
        if units:
            last = units[-1]
            if last.kind == "bullet":
                return last.end, [], _mark(self.lines[last.start])
            return last.end, [self.end], "- "
        if not headings:
            return document.front, [self.end] * bool(document.front), "- "
        for heading in document.headings:
            if heading.path == headings:
                return heading.end, [self.end], "- "
        return self._new_section(headings)

    def _new_section(self, headings: tuple[str, ...]) -> tuple[int, list[str], str]:
        present = self.document.headings
        depth, level, at = 0, 0, len(self.lines)
        for n, heading in enumerate(present):
            shared = len(heading.path)
            if heading.path == headings[:shared] and shared > depth:
                depth, level = shared, heading.level
                later = (each.start for each in present[n + 1 :] if each.level <= heading.level)
                at = next(later, len(self.lines))
        while at and is_blank(self.lines[at - 1]) and at > self.document.front:
            at -= 1
        new: list[str] = []
        for text in headings[depth:]:
            level += 1
            new += [f"{'#' * level} {text}{self.end}", self.end]
        return at, new, "- "

    def extent_of_added(self, placed: PlacedUnit) -> tuple[int, int]:
        """Returns the lines to take out with a unit that is to leave without trace.

        Where it is the last that is left of an addition, what came along goes too.
        """
        unit = placed.unit
        for group in self.state.added:
            if placed.id not in group.ids:
                continue
            if set((self._anchors or {}).values()) & set(group.ids) - {placed.id}:
                return self.around(unit)
            above, below = split_lines(group.before), split_lines(group.after)
            start, end = unit.start - len(above), unit.end + len(below)
            as_added = self.lines[max(0, start) : unit.start] == above
            if start >= 0 and as_added and self.lines[unit.end : end] == below:
                others = [each for each in self.placed.values() if each.unit.start != unit.start]
                heads = any(not (is_blank(line) or is_divider(line)) for line in above)
                section = unit.headings
                if not heads or not any(e.unit.headings[: len(section)] == section for e in others):
                    return start, end
            return unit.start, unit.end
        return self.around(unit)


def _mark(line: str) -> str:
    """Returns the mark of a bullet with its space of one to four columns, else with one space."""
    bare = line.rstrip("\r\n")
    rest = bare.lstrip(" \t")
    mark = bare[: len(bare) - len(rest)] + rest[:1]
    space = rest[1 : len(rest) - len(rest[1:].lstrip(" \t"))]
    return mark + (space if 0 < len(space.expandtabs(4)) <= 4 else " ")
