"""One file with what was taken out of it: units with ids, cut out and put back to the byte."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final

from echoless.core.text import content_key, normalise
from echoless.stores.ledger import Mark
from echoless.stores.markdown.document import (
    DIVIDER,
    Document,
    MarkdownUnit,
    is_blank,
    is_divider,
    mark_like,
    mark_of,
    read,
    read_entries,
    split_lines,
)
from echoless.stores.markdown.presets import ENTRY_FILES, Preset
from echoless.stores.markdown.state import (
    NOWHERE,
    FileState,
    HiddenSlot,
    Insert,
    digest_of,
    digest_of_lines,
)
from echoless.stores.markdown.unit_memory import written

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


@dataclass(slots=True, eq=False)
class VisibleLine:
    """A visible line.

    Attributes:
        text: The line with its end.
        id: The memory that begins here, while the file is changed.
        slots: What is hidden between this line and the one above, in order.
    """

    text: str
    id: str = ""
    slots: list[HiddenSlot] = field(default_factory=list)


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
        self._dated = not preset.by_file
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        lines = split_lines(text.removeprefix("\ufeff"))
        self._rows = [
            *map(VisibleLine, lines),
            VisibleLine(""),
        ]  # the last one stands for the end of the file
        self._state = state or FileState()
        self._changing = False
        self._last_added = Insert((), "", "")
        self.lost: list[HiddenSlot] = []
        """Slots whose place is not known any more."""
        edited = self._state.lines != digest_of_lines(lines)
        for slot in self._state.slots:
            if not edited and slot.at != NOWHERE:
                self._rows[min(slot.at, len(lines))].slots.append(slot)
            else:
                self.lost.append(slot)
        self._forget()

    def _forget(self) -> None:
        self._lines: list[str] | None = None
        self._document: Document | None = None
        self._placed: dict[str, PlacedUnit] | None = None
        self._slots: dict[str, HiddenSlot] | None = None
        self._all: list[HiddenSlot] | None = None

    @property
    def lines(self) -> list[str]:
        """Returns the visible lines, each with its end."""
        if self._lines is None:
            self._lines = [row.text for row in self._rows[:-1]]
        return self._lines

    @property
    def text(self) -> str:
        """Returns the text of the file."""
        return self._mark + "".join(self.lines)

    @property
    def end(self) -> str:
        """Returns the line end of the file."""
        return "\r\n" if self._rows[0].text.endswith("\r\n") else "\n"

    @property
    def document(self) -> Document:
        """Returns the units of the visible text."""
        if self._document is None:
            self._document = self.divided(self.lines)
        return self._document

    def divided(self, lines: Sequence[str]) -> Document:
        """Divides lines as those of this file are divided."""
        return read_entries(lines) if self.has_entries else read(lines, dated=self._dated)

    @cached_property
    def has_entries(self) -> bool:
        """Returns whether the file holds entries with a line between them, or held some."""
        if self._preset.grain == "entry" or self.path not in ENTRY_FILES:
            return self._preset.grain == "entry"
        cut = (line for each in self.all_slots for line in split_lines(each.before + each.after))
        return any(map(is_divider, chain(self.lines, cut)))

    @property
    def placed(self) -> dict[str, PlacedUnit]:
        """Returns the visible units by id, in the order of the file.

        Copies of one text are numbered; a number that is taken is not given again.
        """
        if self._placed is None:
            reserved = {*self._state.names.values(), *(slot.id for slot in self.all_slots)}
            placed: dict[str, PlacedUnit] = {}
            for natural, unit in self._numbered():
                id_ = self._public(natural, placed, reserved)
                placed[id_] = PlacedUnit(id_, natural, unit)
            self._placed = placed
        return self._placed

    def _public(self, natural: str, placed: Collection[str], reserved: Collection[str]) -> str:
        """Returns the id a memory has, by the id its text gives it."""
        named = self._state.names.get(natural)
        if named is not None and named not in placed:
            return named
        id_, number = natural, 1
        while id_ in placed or id_ in reserved:
            number += 1
            id_ = f"{natural}+{number}"
        return id_

    def _numbered(self) -> Iterator[tuple[str, MarkdownUnit]]:
        """Yields the units with the ids their texts give: path, digest, and number of the copy."""
        taken = {slot.natural for slot in self.all_slots}
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
        if not self._changing:
            self._changing = True
            for id_, placed in self.placed.items():
                self._rows[placed.unit.start].id = id_

    def sealed(self) -> FileState:
        """Ends a change: returns the state to keep with the text as it is now."""
        named = {n: id_ for n, u in self._numbered() if (id_ := self._rows[u.start].id)}
        self._state.names = {natural: id_ for natural, id_ in named.items() if natural != id_}
        self._changing = False
        for row in self._rows:
            row.id = ""
        self._forget()
        placed = [replace(each, at=at) for at, row in enumerate(self._rows) for each in row.slots]
        lost = [replace(each, at=NOWHERE) for each in self.lost]
        return replace(self._state, lines=digest_of_lines(self.lines), slots=[*placed, *lost])

    def anchor(self, start: int, id_: str) -> None:
        """Says which memory begins at a line."""
        self._rows[start].id = id_

    @property
    def all_slots(self) -> Sequence[HiddenSlot]:
        """Returns all slots in the order of the file, those without a place last."""
        if self._all is None:
            self._all = [*chain(*(row.slots for row in self._rows if row.slots)), *self.lost]
        return self._all

    @property
    def slots(self) -> dict[str, HiddenSlot]:
        """Returns the slots of memories by id; lines of an index are not among them."""
        if self._slots is None:
            self._slots = {slot.id: slot for slot in self.all_slots if slot.kind != "line"}
        return self._slots

    def ids_in_order(self) -> Iterator[str]:
        """Yields the ids of visible units and slots in the order of the virtual text."""
        starts = {placed.unit.start: id_ for id_, placed in self.placed.items()}
        for at, row in enumerate(self._rows):
            yield from (slot.id for slot in row.slots if slot.kind != "line")
            if at in starts:
                yield starts[at]
        yield from (slot.id for slot in self.lost if slot.kind != "line")

    # ------------------------------------------------------------------ lines

    def replace(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replaces lines; slots between them move above the first."""
        old, rows = self._rows[start:end], [*map(VisibleLine, new)]
        rows[0].id, rows[0].slots = old[0].id, [slot for row in old for slot in row.slots]
        self._rows[start:end] = rows
        self._forget()

    def insert(self, at: int, new: Sequence[str]) -> None:
        """Inserts lines above a line, and above what is hidden there."""
        self._rows[at:at] = map(VisibleLine, new)
        self._forget()

    # ------------------------------------------------------------------ cutting out

    def _around(self, unit: MarkdownUnit, front: int) -> tuple[int, int]:
        """Returns the range of lines to remove with a unit, so that its neighbours stay separated.

        Blank lines below go along where there are some above, or nothing; with an entry, the line
        between it and the next one, or the one before.

        Args:
            unit: The unit.
            front: Number of lines of the front matter.
        """
        rows, last, start, below = self._rows, len(self._rows) - 1, unit.start, unit.end
        above = self.has_entries or start == front or is_blank(rows[start - 1].text)
        while below < last and is_blank(rows[below].text):
            below += 1
        if self.has_entries:
            if below < last:
                below += 1  # the line between two entries goes with the one above it
            elif start and is_divider(rows[start - 1].text):
                start -= 1
        divided = any(row.slots for row in rows[start + 1 : below])
        return (start, below) if above and not divided else (unit.start, unit.end)

    def without(self, unit: MarkdownUnit) -> Document:
        """Returns how the file would be divided without a unit."""
        start, end = self._around(unit, self.document.front)
        return self.divided(self.lines[:start] + self.lines[end:])

    def cut(
        self,
        units: Iterable[PlacedUnit],
        address: Callable[[MarkdownUnit], str],
        marks: Mapping[str, Mark] | None = None,
    ) -> list[tuple[HiddenSlot, str]]:
        """Takes units out of the file and puts slots in their places, the last one first.

        Args:
            units: The units.
            address: Returns where a unit stands.
            marks: Why they are hidden; None to remove them, with what came along when they were
                added.

        Returns:
            The slots, each with the lines that left.
        """
        gone, front = [], self.document.front
        for placed in sorted(units, key=lambda each: -each.unit.start):
            unit = placed.unit
            extent = self._extent_of_added(placed) if marks is None else None
            start, end = extent or self._around(unit, front)
            lines = [row.text for row in self._rows[start:end]]
            slot = HiddenSlot(
                id=placed.id,
                natural=placed.natural,
                kind=unit.kind,
                namespace=address(unit),
                before="".join(lines[: unit.start - start]),
                after="".join(lines[unit.end - start :]),
                digest=digest_of("".join(lines)),
                mark=(marks or {}).get(placed.id),
            )
            self.cut_lines(start, end, slot)
            if marks is None:
                self.unend()
            gone.append((slot, "".join(lines)))
        return gone

    def cut_lines(self, start: int, end: int, slot: HiddenSlot) -> None:
        """Takes lines out of the file and puts a slot in their place."""
        first, *others = (row.slots for row in self._rows[start:end])
        del self._rows[start:end]
        self._rows[start].slots[:0] = [*first, slot, *chain(*others)]
        self._forget()

    def put_back(self, texts: Mapping[str, str]) -> None:
        """Puts the lines of slots that have a place back, and drops the slots.

        Args:
            texts: Lines of each slot, with those that left together with them, by `natural`.
        """
        rows: list[VisibleLine] = []
        last = self._rows[-1]
        for row in self._rows:
            waiting: list[HiddenSlot] = []
            for slot in row.slots:
                if slot.natural not in texts:
                    waiting.append(slot)
                    continue
                new = [*map(VisibleLine, split_lines(texts[slot.natural]))]
                if rows:
                    self._end_line(rows[-1])
                if row is not last and not new[-1].text.endswith(("\n", "\r")):
                    new[-1].text += self.end
                if slot.kind != "line":
                    new[len(split_lines(slot.before))].id = slot.id
                new[0].slots, waiting = waiting, []
                rows += new
            row.slots = waiting
            rows.append(row)
        self._rows = rows
        self._forget()

    def _end_line(self, row: VisibleLine) -> None:
        """Ends a last line, and remembers that it had no end."""
        if not row.text.endswith(("\n", "\r")):
            self._state.ended = digest_of(row.text)
            row.text += self.end
            self._forget()

    def unend(self) -> None:
        """Takes the end of the last line away where it had none before something followed."""
        bare = self._rows[-2].text.rstrip("\r\n") if len(self._rows) > 1 else ""
        if bare and self._state.ended == digest_of(bare):
            self._rows[-2].text, self._state.ended = bare, ""
            self._forget()

    def exchange(self, old: HiddenSlot, new: HiddenSlot | None = None) -> None:
        """Puts a slot in the place of another, or drops it."""
        for slots in (self.lost, *(row.slots for row in self._rows)):
            if old in slots:
                at = slots.index(old)
                slots[at : at + 1] = [new] if new else []
        self._forget()

    # ------------------------------------------------------------------ new units

    def add(
        self, headings: tuple[str, ...], contents: Sequence[str], *, raw: bool = False
    ) -> list[int]:
        """Inserts units at the end of a section, which is made where it is missing.

        Args:
            headings: Path of the section.
            contents: Text of each unit.
            raw: Whether the texts are lines that stood in the file before, with marks of lists.

        Returns:
            Index of the first line of each.
        """
        at, above, mark = self._place_for(headings)
        if at:
            self._end_line(self._rows[at - 1])
        last = self._rows[at - 1].text if at else ""
        if above and not (is_blank(above[0]) or is_divider(above[0]) or is_blank(last)):
            above = [self.end, *above]  # a new section
        new = [*above]
        starts: list[int] = []
        for content in contents:
            lines = split_lines(content) if raw else written(content, mark, self.end)
            last = new[-1] if new else last
            if self.has_entries and starts:
                new.append(DIVIDER + self.end)
            elif raw and not (is_blank(last) or (mark_of(last) and mark_of(lines[0]))):
                new.append(self.end)
            starts.append(at + len(new))
            new += [*lines[:-1], lines[-1].rstrip("\r\n") + self.end]
        apart = (above or raw) and at < len(self.lines) and not is_blank(self.lines[at])
        below = [self.end] * bool(apart)
        self.insert(at, [*new, *below])
        self._last_added = Insert((), "".join(above), "".join(below))
        return starts

    def append(self, lines: Sequence[str]) -> None:
        """Inserts lines at the end, before blank lines there."""
        at = len(self.lines)
        while at and is_blank(self.lines[at - 1]):
            at -= 1
        if at:
            self._end_line(self._rows[at - 1])
        self.insert(at, lines)

    def remember_added(self, ids: Sequence[str]) -> None:
        """Records the memories of the last `add`, so that they can leave without a trace."""
        earlier = [group for group in self._state.added if not set(ids) & set(group.ids)]
        self._state.added = [*earlier, replace(self._last_added, ids=tuple(ids))]

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
                return last.end, [], mark_like(self.lines[last.start])
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

    def _extent_of_added(self, placed: PlacedUnit) -> tuple[int, int] | None:
        """Returns the lines to take out with the last unit of an addition, and what came along.

        Returns None for another unit.
        """
        unit = placed.unit
        group = next((each for each in self._state.added if placed.id in each.ids), None)
        left = {*group.ids} - {placed.id} if group else set[str]()
        if group is None or any(row.id in left for row in self._rows):
            return None
        above, below = split_lines(group.before), split_lines(group.after)
        start, end = unit.start - len(above), unit.end + len(below)
        lines = [*above, *self.lines[unit.start : unit.end], *below]
        if start >= 0 and self.lines[start:end] == lines:
            others = [each for each in self.placed.values() if each.unit.start != unit.start]
            heads = any(not (is_blank(line) or is_divider(line)) for line in above)
            section = unit.headings
            if not heads or not any(e.unit.headings[: len(section)] == section for e in others):
                return start, end
        return unit.start, unit.end
