"""Finds signs that a memory may be stale: files that are gone, deadlines that passed.

A sign is read from a memory alone, so that a page of an audit holds as long as its memories do.
Whether a file exists and which day it is decides the report: `stale` looks at both, and says for
how long its answer holds. Nothing is hidden because of a sign.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from echoless.core.expressions import lazy_pattern
from echoless.core.model import Json, Memory
from echoless.core.own_folders import expanded
from echoless.core.timestamps import day
from echoless.stores.base import Store
from echoless.stores.registry import locate

KINDS: Final[Mapping[str, str]] = {
    "path": "names a file that is gone:",
    "link": "links to a note that is gone:",
    "deadline": "names a day that has passed:",
    "never_read": "was never read since",
}
"""What a sign says of a memory, by kind; in the order of a report."""

UNREAD_DAYS: Final = 30
"""Days after which a memory that nothing reads is told: an agent had time to meet it."""

_PATH: Final = lazy_pattern(
    r"`((?![^`]*(?:YYYY|XXX|NNN|path/to|[._-]log\b))(?:~?/|\.{1,2}/)?"
    r"(?:(?!(?:example|foo|bar)\b)[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,5})[.,;:]?`"
)
"""A path to a file with a suffix, and no placeholder; a name without a folder may lie anywhere."""
_CHANGED: Final = lazy_pattern(
    r"\b(?:creat|add(?!r)|todo|to be|will|would|should|propos|plan|renam|remov|delet|mov|replac"
    r"|supersed|deprecat|obsolete|generat|gitignor|produc|output|writ|wrote|écri|update|log|sav|example"
    r"|e\.g\.|erstell|anleg|umbenannt|gelöscht|entfern|verschob)|→|->|\[ \]|~~",
    re.IGNORECASE,
)
"""Words of a line by which a file need not be there: it is planned, made at times, or was moved.

In 110 public repositories with notes of agents most false alarms stood in such lines. With these
left out 14 of 16 paths, 2 of 2 links and 11 of 13 deadlines were rightly told. Relative days
(`yesterday`) were no sign: 5 of 20 in notes without a time, as most are rules or templates."""
_LINK: Final = lazy_pattern(
    r"(?<!!)\[[^\[\]\n]*\]\(<?(?![A-Za-z][\w+.-]+:)([^()\s#?>]+\.(?:md|mdc|markdown))[#?)> ]"
)
"""A link to a note, which is no address. Here and below, what has an end is not read past its next
beginning: beginnings without an end made the search grow with the square of a text."""
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_NAMED: Final = rf"(?:{_MONTHS.replace(' ', '|')})[a-z]*\.?"
_SPACES: Final = str.maketrans(".,-", "   ")
_DEADLINE: Final = lazy_pattern(
    r"`[^`]*`|\"[^\"]*\"|“[^“”]*”|„[^„“]*“|<[^<>]*>"  # what is quoted is no deadline
    r"|\b(?:(?:is |are |be )?due(?: date)?(?: on| by|:)?|deadline(?: is| was|:| on)?"
    r"|expires?(?: on)?|no later than|must (?:[\w'-]+ ){1,8}?by|spätestens(?: am| bis(?: zum)?)?"
    r"|fällig(?: am)?|Frist(?: ist| endet|:)?(?: am)?|läuft (?:am )?)[ *_`]{1,3}"
    r"(?:(?P<iso>\d{4}-\d\d-\d\d)(?!\d)|(?P<points>\d{1,2}\.\d{1,2}\.\d{4})"
    rf"|(?P<named>{_NAMED} \d{{1,2}}\w*,? \d{{4}}|\d{{1,2}}\w* {_NAMED},? \d{{4}}))",
    re.IGNORECASE,
)
_OVER: Final = lazy_pattern(
    r"\b(?:done|finished|completed?|shipped|executed|paid|submitted|expired|missed|was due|were due"
    r"|erledigt|bezahlt|abgegeben|abgelaufen)\b|\[x\]|✅|~~",
    re.IGNORECASE,
)
"""Words by which a text says itself that the deadline is behind it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What in a memory may be stale, whatever the day and the files beside the store.

    Attributes:
        id: The memory.
        kind: One of `KINDS`.
        what: The path, the link, the deadline (`YYYY-MM-DD`), or the day since which
            nothing read the memory.
    """

    id: str
    kind: str
    what: str

    @property
    def sentence(self) -> str:
        """Returns what may be stale, as a clause for a person."""
        return f"{KINDS[self.kind]} {self.what}"

    @property
    def last_day(self) -> str:
        """Returns the last day on which it is not stale; empty where files decide."""
        if self.kind != "never_read":
            return self.what if self.kind == "deadline" else ""
        with suppress(ValueError, OverflowError):
            return (date.fromisoformat(self.what) + timedelta(days=UNREAD_DAYS)).isoformat()
        return date.max.isoformat()  # no day of a calendar


def signs_of(memories: Iterable[Memory]) -> Iterator[Sign]:
    """Yields the signs in memories of one namespace, in their order.

    Args:
        memories: Visible ones. Where none was ever read, the store counts no reads.
    """
    some = list(memories)
    counts = any(memory.access_count for memory in some)
    for memory in some:
        for kind, what in dict.fromkeys(_signs(memory.content)):
            yield Sign(memory.id, kind, what)
        if counts and not memory.access_count and memory.created_at and not memory.pinned:
            yield Sign(memory.id, "never_read", day(memory.created_at))


def _signs(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and words of what hangs on the day or on files."""
    for line in text.splitlines() if "`" in text and "/" in text else ():
        paths = _PATH.findall(line) if "`" in line else ()
        if paths and not _CHANGED.search(line):
            yield from (("path", path) for path in paths)
    for match in _LINK.finditer(text) if "](" in text else ():
        yield "link", unquote(match[1])
    named = [match for match in _DEADLINE.finditer(text) if match.lastgroup] if "20" in text else ()
    for deadline in map(_date, named) if named and not _OVER.search(text) else ():
        if deadline:
            yield "deadline", deadline.isoformat()


def _date(match: re.Match[str]) -> date | None:
    """Returns the day of a deadline; None where the calendar has no such day."""
    words = match[match.lastgroup or 0].casefold().translate(_SPACES).split()
    numbers = [int("".join(filter(str.isdecimal, word)) or 0) for word in words]
    with suppress(ValueError):
        if match["named"]:
            at = numbers.index(0)
            month = _MONTHS.index(words[at][:3]) // 4 + 1
            return date(numbers[2], month, numbers[1 - at])
        return date(*(numbers if match["iso"] else reversed(numbers)))
    return None


@dataclass(frozen=True, slots=True)
class Staleness:
    """What may be stale on one day, and what that hangs on.

    Attributes:
        signs: Those that hold, by kind.
        files: Paths that were looked for, and whether each was there.
        until: Last day on which no further sign holds, `YYYY-MM-DD`.
    """

    signs: Sequence[Sign]
    files: Mapping[str, bool]
    until: str

    def to_json(self) -> dict[str, Json]:
        """Returns what may be stale, and ids of memories that were never read, by day."""
        named = [asdict(sign) for sign in self.signs if sign.kind != "never_read"]
        by_day: dict[str, list[Json]] = {}
        for sign in self.signs[len(named) :]:
            by_day.setdefault(sign.what, []).append(sign.id)
        return {"stale": named, "never_read": by_day}

    @property
    def is_fleeting(self) -> bool:
        """Returns whether another day or other files would change it."""
        return bool(self.files) or self.until < date.max.isoformat()


def stale(signs: Iterable[Sign], store: Store, today: date) -> Staleness:
    """Returns the signs that hold today; reads names of files, and nothing in them.

    Args:
        signs: Of pages of an audit.
        store: Open, the one that was audited.
        today: Decides on deadlines, and on how long a memory was not read.
    """
    files, until = _Files(store), date.max.isoformat()
    by_kind: dict[str, list[Sign]] = {kind: [] for kind in KINDS}
    for sign in signs:
        last = sign.last_day
        if last < today.isoformat() if last else files.is_gone(sign):
            by_kind[sign.kind].append(sign)
        elif last:
            until = min(until, last)
    return Staleness(list(chain.from_iterable(by_kind.values())), files.seen, until)


class _Files:
    """The files beside a store.

    Attributes:
        seen: Paths that were looked for, and whether each was there.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        path = Path(locate(store.url)[1].partition("#")[0].partition("?")[0]).absolute()
        self._opened = path if path.is_dir() else path.parent
        self.seen: dict[str, bool] = {}

    def is_gone(self, sign: Sign) -> bool:
        """Returns whether what a memory names is gone, as far as this machine can tell.

        A file counts as gone only where the folder that it lay in is there: what is said of another
        machine or another project is not known here.
        """
        place = self._store.place(sign.id) if self._store.capabilities.sectioned else None
        rooted = sign.what.startswith(("/", "~"))
        if not (place or rooted):
            return False
        folder = place[0].absolute().parent if place else self._opened
        bases = dict.fromkeys((folder, self._opened, self._project(folder)))
        whats = dict.fromkeys((expanded(sign.what), Path(sign.what.lstrip("/"))))
        paths = [base / what for base in bases for what in whats]
        if self._is_short_lived(paths[0]) or any(map(self._exists, paths)):
            return False
        return (sign.kind == "link" and not rooted) or any(map(self._is_gone_from, paths))

    def _is_short_lived(self, path: Path) -> bool:
        """Returns whether a path lies below a folder `tmp` that is not around the project."""
        project = self._project(self._opened)
        inside = path.relative_to(project) if path.is_relative_to(project) else path
        return "tmp" in inside.parts[:-1]

    def _is_gone_from(self, path: Path) -> bool:
        """Returns whether a path does not exist, and the folder that it lay in does."""
        return not self._exists(path) and self._exists(path.parent)

    def _project(self, folder: Path) -> Path:
        """Returns the folder of the repository around a folder; the folder itself without one."""
        around = (folder, *folder.parents)
        return next((each for each in around if self._exists(each / ".git")), folder)

    def _exists(self, path: Path) -> bool:
        name = os.fspath(path)
        if name not in self.seen:
            self.seen[name] = os.path.lexists(name)
        return self.seen[name]
