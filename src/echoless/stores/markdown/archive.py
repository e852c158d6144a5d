"""Hidden memories outside of their place: as entries of an archive file.

An entry stands between two comments with the same digest, so that a person can read it, and an
edited one is seen to be edited.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.groups import grouped
from echoless.core.json_codec import json_object
from echoless.core.model import Json
from echoless.stores.markdown.document import front_lines, split_lines
from echoless.stores.markdown.presets import ARCHIVE

_START: Final = re.compile(r"<!-- echoless hid (\{.*\}) -->\s*")
_OPEN: Final = "open"

HEADER: Final = (
    "Memories that echoless hid, with their place and the memory that stands for them. "
    "`echoless undo` puts them back.\n"
)


@dataclass(frozen=True, slots=True)
class ArchivedMemory:
    """Lines of a hidden memory.

    Attributes:
        id: Of the memory.
        text: Its lines.
        start: Index of its first line in the file it was read from, the comment included.
        end: Index after its last line.
    """

    id: str
    text: str
    start: int
    end: int


def archive_of(path: str) -> str:
    """Returns the archive of the bullets of a file.

    The second suffix keeps agents from loading it: they look for `CLAUDE.md` in any folder.
    """
    return f"{ARCHIVE}/{path}.md"


def entry(id_: str, text: str, about: Mapping[str, Json], end: str) -> str:
    """Returns an entry of an archive.

    Args:
        id_: Of the memory.
        text: Its lines.
        about: What else a reader should know.
        end: The line end of the file.
    """
    data: dict[str, Json] = {"id": id_, **about}
    if not text.endswith(("\n", "\r")):
        data[_OPEN] = True
        text += end
    written = json.dumps(data, ensure_ascii=False).replace("-->", "--\\u003e")
    written = re.sub("[\u2028\u2029\x85]", lambda m: f"\\u{ord(m.group()):04x}", written)
    return f"<!-- echoless hid {written} -->{end}{text}{_tail(id_)}{end}"


def _tail(id_: str) -> str:
    written = json.dumps(id_).replace("-->", "--\\u003e")
    return f"<!-- echoless end {written} -->"


def entries(lines: Sequence[str]) -> list[ArchivedMemory]:
    """Returns the entries of an archive, in order; one without its end is left out."""
    read: list[ArchivedMemory] = []
    stripped = ((line.strip(), at) for at, line in enumerate(lines))
    ends = grouped(each for each in stripped if each[0].startswith("<!-- echoless end "))
    at = 0
    while at < len(lines):
        data = _about(lines[at])
        if data is not None:
            own = ends.get(_tail(str(data["id"])), [])
            nearest = bisect_right(own, at)
            if nearest < len(own):
                read.append(_entry(data, lines, at, own[nearest]))
                at = own[nearest]
        at += 1
    return read


def _about(line: str) -> Mapping[str, Json] | None:
    matched = _START.fullmatch(line)
    data = json_object(matched and matched.group(1))
    return data if isinstance(data.get("id"), str) else None


def _entry(data: Mapping[str, Json], lines: Sequence[str], start: int, stop: int) -> ArchivedMemory:
    text = "".join(lines[start + 1 : stop])
    if data.get(_OPEN):
        text = text.removesuffix("\n").removesuffix("\r")
    return ArchivedMemory(str(data["id"]), text, start, stop + 1)


def with_entries(text: str | None, new: Iterable[str], end: str) -> str:
    """Returns the text of an archive with more entries at its end, a blank line before each.

    Where the last line has no end, that of the blank line ends it: `without` tells by this.
    """
    text = HEADER.replace("\n", end) if text is None else text
    return text + "".join(end + each for each in new)


def without(text: str, gone: Iterable[ArchivedMemory]) -> str | None:
    """Returns the text of an archive without some entries; None where nothing of worth is left.

    Of no worth is front matter that another program gave it.
    """
    lines = split_lines(text)
    for each in sorted(gone, key=lambda one: -one.start):
        start, stop = each.start, each.end
        apart = not start or not lines[start - 1].strip("\r\n")
        if apart:
            start = max(0, start - 1)  # the blank line that came with it
        elif stop == len(lines):
            lines[start - 1] = lines[start - 1].rstrip("\r\n")  # it had no end before
        elif not lines[stop].strip("\r\n"):
            stop += 1  # the next one now stands as this one did
        del lines[start:stop]
    left = "".join(lines)
    return None if "".join(lines[front_lines(lines) :]).strip() == HEADER.strip() else left
