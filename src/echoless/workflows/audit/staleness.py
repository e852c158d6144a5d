"""Finds signs that a memory may be stale: files that are gone, deadlines that passed.

A sign is read from a memory alone, so that a page of an audit holds as long as its memories do.
Whether a file exists and which day it is decides the report: `stale` looks at both, each time anew.
Nothing is hidden because of a sign.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from echoless.core.expressions import lazy_pattern
from echoless.core.model import Memory
from echoless.core.own_folders import expanded
from echoless.core.timestamps import day
from echoless.stores.base import Store

KINDS: Final[Mapping[str, str]] = {
    "path": "names a file that is gone",
    "link": "links to a note that is gone",
    "deadline": "names a day that has passed",
    "unread": "was never read",
}
"""What a sign says of a memory, by kind; in the order of a report."""

ON_DISK: Final = frozenset({"path", "link"})
"""Kinds that hang on files beside the store."""

UNREAD_DAYS: Final = 30
"""Days after which a memory that nothing reads is told: an agent had time to meet it."""

_CODE: Final = lazy_pattern(r"`([^`\s]{3,200})`")
_PATH: Final = lazy_pattern(r"(?:~?/|\.{1,2}/)?(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,5}")
"""A path to a file with a suffix; a name without a folder may lie anywhere below."""
_PLACEHOLDER: Final = lazy_pattern(
    r"YYYY|XXX|NNN|(?:^|/)(?:path/to|example|foo|bar)\b|^/tmp/|[._-]log\b"
)
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
_LINK: Final = lazy_pattern(r"(?<!!)\[[^\]\n]*\]\(<?([^)\s#?>]+\.(?:md|mdc|markdown))[#?)> ]")
_FOREIGN: Final = lazy_pattern(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
"""The scheme of an address."""
_MONTHS: Final = tuple(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"))
_NAMED: Final = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_WHOLE_DATE: Final = (
    r"(?:(?P<iso>\d{4}-\d\d-\d\d)(?!\d)|(?P<points>\d{1,2}\.\d{1,2}\.\d{4})"
    rf"|(?P<named>{_NAMED} \d{{1,2}}\w*,? \d{{4}}|\d{{1,2}}\w* {_NAMED},? \d{{4}}))"
)
_DEADLINE: Final = lazy_pattern(
    r"\b(?:(?:is |are |be )?due(?: date)?(?: on| by|:)?|deadline(?: is| was|:| on)?"
    r"|expires?(?: on)?|no later than|must (?:[\w'-]+ ){1,8}?by|spätestens(?: am| bis(?: zum)?)?"
    r"|fällig(?: am)?|Frist(?: ist| endet|:)?(?: am)?|läuft (?:am )?)[ *_`]{1,3}" + _WHOLE_DATE,
    re.IGNORECASE,
)
_OVER: Final = lazy_pattern(
    r"\b(?:done|finished|completed?|shipped|executed|paid|submitted|expired|missed|was due|were due"
    r"|erledigt|bezahlt|abgegeben|abgelaufen)\b|\[x\]|✅|~~",
    re.IGNORECASE,
)
"""Words by which a text says itself that the deadline is behind it."""
_QUOTED: Final = lazy_pattern(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|„[^“]*“|<[^>]*>")


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
        joined = {"unread": "since"}.get(self.kind, "")
        return f"{KINDS[self.kind]}{f' {joined}' if joined else ':'} {self.what}"


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
            yield Sign(memory.id, "unread", day(memory.created_at))


def _signs(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and words of what hangs on the day or on files."""
    if "`" in text and "/" in text:
        for path in _paths(text):
            yield "path", path
    for match in _LINK.finditer(text) if "](" in text else ():
        if not _FOREIGN.match(match[1]):
            yield "link", unquote(match[1])
    if not _OVER.search(text):
        for match in _DEADLINE.finditer(_QUOTED.sub(" ", text)):
            if deadline := _date(match):
                yield "deadline", deadline.isoformat()


def _paths(text: str) -> Iterator[str]:
    """Yields the paths in code spans, without those that need not be there."""
    for line in text.splitlines():
        for match in () if _CHANGED.search(line) else _CODE.finditer(line):
            path = match[1].rstrip(".,;:")
            if _PATH.fullmatch(path) and not _PLACEHOLDER.search(path):
                yield path


def _date(match: re.Match[str]) -> date | None:
    """Returns the day of a deadline; None where the calendar has no such day."""
    parts = re.findall(r"\d+|[a-z]{3}", match[match.lastgroup or 0].casefold())
    if match["named"]:  # the longer number is the year, the other one the day
        month = next(part for part in parts if part in _MONTHS)
        numbers = sorted((part for part in parts if part.isdecimal()), key=len)
        parts = [numbers[1], _MONTHS.index(month) + 1, numbers[0]]
    elif match["points"]:
        parts.reverse()
    with suppress(ValueError):
        return date(*map(int, parts))
    return None


def stale(signs: Iterable[Sign], store: Store, today: date) -> Sequence[Sign]:
    """Returns the signs that hold today, by kind; reads names of files, and nothing in them.

    Args:
        signs: Of pages of an audit.
        store: Open, the one that was audited.
        today: Decides on deadlines, and on how long a memory was not read.
    """
    known = (today - timedelta(days=UNREAD_DAYS)).isoformat()
    files = _Files(store)
    by_kind: dict[str, list[Sign]] = {kind: [] for kind in KINDS}
    for sign in signs:
        match sign.kind:
            case "path" | "link":
                holds = files.is_gone(sign)
            case "deadline":
                holds = sign.what < today.isoformat()
            case "unread":
                holds = sign.what < known
            case _:
                holds = True
        if holds:
            by_kind[sign.kind].append(sign)
    return list(chain.from_iterable(by_kind.values()))


class _Files:
    """The files beside a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._exists = cache(os.path.lexists)

    def is_gone(self, sign: Sign) -> bool:
        """Returns whether what a memory names is gone, as far as this machine can tell.

        A file counts as gone only where the folder that it lay in is there: what is said of another
        machine or another project is not known here.
        """
        if sign.what.startswith(("/", "~")):
            return self._is_gone_from(expanded(sign.what))
        place = self._store.place(sign.id) if self._store.capabilities.sectioned else None
        if place is None:
            return False
        folder = place[0].absolute().parent
        if sign.kind == "link":
            return not any(self._exists(each / sign.what) for each in (folder, _project(folder)))
        bases = dict.fromkeys((folder, _project(folder)))
        exists = any(self._exists(base / sign.what) for base in bases)
        return not exists and any(self._is_gone_from(base / sign.what) for base in bases)

    def _is_gone_from(self, path: Path) -> bool:
        """Returns whether a path does not exist, and the folder that it lay in does."""
        return not self._exists(path) and self._exists(path.parent)


@cache
def _project(folder: Path) -> Path:
    """Returns the folder of the repository around a folder; the folder itself without one."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
