"""What the sidecar knows of the files: where hidden and removed memories belong.

A file and what was taken out of it form one virtual text. A slot is a place in it: it names the
line of the visible file before which its lines belong, as of the last write. Where someone edited
the file since, no place is known any more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import NoneType
from typing import Any, Final, Literal, TypeVar, cast

from echoless.core.model import canonical
from echoless.stores.ledger import Mark
from echoless.stores.markdown.document import Kind

NOWHERE: Final = -1
"""Place of a hidden memory whose file was edited since: the end of its section."""


@dataclass(frozen=True, slots=True)
class HiddenSlot:
    """A place in the virtual text of a file whose lines are not visible there.

    Attributes:
        id: Of the memory.
        natural: The id its text gives it.
        kind: What it is; `line` for a line of an index, whose memory is a file.
        namespace: Of the memory.
        before: Blank lines and headings that left with it, above; the line of an index itself.
        after: Blank lines that left with it, below.
        digest: Of its lines.
        mark: The mark it is hidden by, so that its lines are in the archive; None where it is
            removed.
        at: Index of the line of the visible file before which its lines belong, or `NOWHERE`.
    """

    id: str
    natural: str
    kind: Kind | Literal["line"]
    namespace: str
    before: str
    after: str = ""
    digest: str = ""
    mark: Mark | None = None
    at: int = NOWHERE


@dataclass(slots=True)
class FileState:
    """Recorded state of one file.

    Attributes:
        lines: Digest of the visible lines as of the last write.
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
        mark: The mark it is hidden by.
    """

    path: str
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
                id_: _checked(Moved(each["path"], _checked(Mark(**each["mark"]))))
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
        data = asdict(self)
        known = {p for p, f in self.files.items() if f.slots or f.names or f.added or f.ended}
        return canonical({**data, "files": {path: data["files"][path] for path in known}})

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
        negative = isinstance(part, int) and each.name == "at" and part < NOWHERE
        if negative or not isinstance(part, _TYPES.get(each.name, (str,))):
            raise TypeError(f"{each.name} is {part!r}")
    return value


def digest_of(text: str) -> str:
    """Returns a digest of a piece of text, 16 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_of_lines(lines: Sequence[str]) -> str:
    """Returns a digest of the lines of a file; line ends do not count."""
    return digest_of("\n".join(line.rstrip("\r\n") for line in lines))
