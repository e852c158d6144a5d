"""What the sidecar knows of the files: where hidden and removed memories belong.

A file and what was taken out of it form one virtual text. A slot is a place in it: it names the
line of the visible file before which its lines belong, as of the last write, beside a digest of
every visible line then. Where someone edited the file since, a comparison of the two lists of
digests moves each slot to the same gap.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import SequenceMatcher
from types import NoneType
from typing import Any, Final, Literal, TypeVar, cast

from echoless.core.model import Json, JsonObject, canonical
from echoless.stores.ledger import Mark
from echoless.stores.markdown.document import Kind

Place = Literal["archive", "comment", "removed"]

_WIDTH: Final = 8
_LARGEST_COMPARED: Final = 20_000
"""Lines; of a larger edited part only the beginning and end are compared."""


@dataclass(frozen=True, slots=True)
class HiddenSlot:
    """A place in the virtual text of a file whose lines are not visible there.

    Attributes:
        id: Of the memory.
        natural: The id its text gives it.
        where: In the archive, in a comment at its place, or removed.
        at: Index of the line of the visible file before which its lines belong.
        kind: What it is; `line` for a line of an index, whose memory is a file.
        namespace: Of the memory.
        before: Blank lines and headings that left with it, above.
        after: Blank lines that left with it, below.
        digest: Of its lines.
        mark: The mark it is hidden by; None where it is removed.
    """

    id: str
    natural: str
    where: Place
    at: int
    kind: Kind | Literal["line"]
    namespace: str
    before: str
    after: str
    digest: str
    mark: Mark | None = None


@dataclass(slots=True)
class FileState:
    """Recorded state of one file.

    Attributes:
        lines: Digests of the visible lines as of the last write, joined.
        slots: In the order of the virtual text.
        names: Id of a memory by the id its text gives it, where the two differ.
        added: Memories that were put in together, with the lines above and below that came along.
        ended: Digest of the last line, where it got its end only because something followed.
    """

    lines: str = ""
    slots: list[HiddenSlot] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    added: list[Insert] = field(default_factory=list)
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Insert:
    """Memories that were put into a file in one place.

    Attributes:
        ids: Their ids, in order.
        before: Lines that came above the first.
        after: Lines that came below the last.
    """

    ids: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A memory file in the archive.

    Attributes:
        path: Where it is, relative to the folder.
        digest: Of its text.
        mark: The mark it is hidden by.
    """

    path: str
    digest: str
    mark: Mark


@dataclass(slots=True)
class State:
    """What is known of all files.

    Attributes:
        token: Changes with every write; the record of an unfinished write names the one to come.
        files: By path.
        moved: Memory files in the archive, by id.
    """

    token: str = ""
    files: dict[str, FileState] = field(default_factory=dict)
    moved: dict[str, Moved] = field(default_factory=dict)

    @classmethod
    def parse(cls, written: str | None) -> State:
        """Reads what `text` wrote; an empty state where there is nothing.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: It has another form.
        """
        if not written:
            return cls()
        data = json.loads(written)
        return cls(
            str(data["token"]),
            {path: _file(each) for path, each in data["files"].items()},
            {
                id_: _checked(Moved(each["path"], each["digest"], _checked(Mark(**each["mark"]))))
                for id_, each in data["moved"].items()
            },
        )

    @property
    def paths(self) -> Iterator[str]:
        """Yields the paths of all files it speaks of."""
        yield from self.files
        for id_, each in self.moved.items():
            yield from (id_, each.path)

    @property
    def text(self) -> str:
        """Returns the state as JSON."""
        files: dict[str, Json] = {
            path: {
                "lines": each.lines,
                "slots": [_plain(slot) for slot in each.slots],
                "names": each.names,
                "added": [_plain(group) for group in each.added],
                "ended": each.ended,
            }
            for path, each in self.files.items()
            if each.slots or each.names or each.added or each.ended
        }
        moved: dict[str, Json] = {id_: _plain(each) for id_, each in self.moved.items()}
        return canonical({"token": self.token, "files": files, "moved": moved})

    def marks(self) -> dict[str, Mark]:
        """Returns the marks that files in the archive and hidden lines stand for, by hidden id."""
        marks = {id_: each.mark for id_, each in self.moved.items()}
        for each in self.files.values():
            for slot in each.slots:
                if slot.mark is not None and slot.kind != "line":
                    marks[slot.id] = slot.mark
        return marks


def _file(data: Mapping[str, object]) -> FileState:
    slots = [  # written by `State.text`
        _checked(HiddenSlot(**{**each, "mark": each["mark"] and _checked(Mark(**each["mark"]))}))
        for each in cast("list[dict[str, Any]]", data["slots"])
    ]
    groups = cast("list[dict[str, list[str]]]", data["added"])
    text = str.__str__  # refuses what is none
    added = [Insert(tuple(map(text, g["ids"])), str(g["before"]), str(g["after"])) for g in groups]
    names = {name: text(id_) for name, id_ in cast("dict[str, str]", data["names"]).items()}
    return FileState(str(data["lines"]), slots, names, added, str(data["ended"]))


_Part = TypeVar("_Part", HiddenSlot, Moved, Mark)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "at": (int,),
    "mark": (Mark, NoneType),
    "similarity": (int, float, NoneType),
}
"""Types of the attributes that are no text."""


def _checked(value: _Part) -> _Part:
    """Returns a value whose attributes have the types they were written with.

    Raises:
        TypeError: One has another type.
    """
    for each in fields(value):
        part = getattr(value, each.name)
        negative = isinstance(part, int) and each.name == "at" and part < 0
        if negative or not isinstance(part, _TYPES.get(each.name, (str,))):
            raise TypeError(f"{each.name} is {part!r}")
    return value


def _plain(value: HiddenSlot | Insert | Moved | Mark) -> JsonObject:
    """Returns the attributes of a value, those of a mark inside too."""
    parts = ((each.name, getattr(value, each.name)) for each in fields(value))
    return {name: _plain(part) if isinstance(part, Mark) else part for name, part in parts}


def digest_of(text: str) -> str:
    """Returns a digest of a piece of text, 16 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digests_of(lines: Sequence[str]) -> str:
    """Returns a short digest of each line, joined; line ends do not count."""
    return "".join(digest_of(line.rstrip("\r\n"))[:_WIDTH] for line in lines)


def moved_along(state: FileState, lines: Sequence[str]) -> FileState:
    """Returns the state with its slots in the same gaps of a file that was edited since.

    Args:
        state: As of the last write.
        lines: Of the file as it is now.
    """
    now = digests_of(lines)
    if now == state.lines or not state.slots:
        return replace(state, lines=now)
    old, new = _cut(state.lines), _cut(now)
    places = _places(old, new)
    slots = [replace(slot, at=places[min(slot.at, len(old))]) for slot in state.slots]
    slots.sort(key=lambda slot: slot.at)  # stable: in one gap they stay in their order
    return replace(state, lines=now, slots=slots)


def _cut(joined: str) -> list[str]:
    return [joined[at : at + _WIDTH] for at in range(0, len(joined), _WIDTH)]


def _places(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Returns the new gap of each old one: behind the line it was behind, else before the next."""
    places = [-1] * (len(old) + 1)
    places[0] = 0
    for a, b in _matches(old, new):
        places[a + 1] = b + 1
        if places[a] < 0:
            places[a] = b
    last = 0
    for at, place in enumerate(places):
        places[at] = last = max(last, place)
    return places


def _matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the indices of lines that are in both, in order."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    yield from ((at, at) for at in range(start))
    rest = shorter - start
    end = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    if len(inner_old) + len(inner_new) <= _LARGEST_COMPARED:
        matcher = SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        for block in matcher.get_matching_blocks():
            yield from ((start + block.a + n, start + block.b + n) for n in range(block.size))
    yield from ((len(old) - n, len(new) - n) for n in range(end, 0, -1))
