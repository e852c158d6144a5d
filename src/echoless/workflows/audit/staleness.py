"""Finds signs that a memory wants a look: files that are gone, deadlines that passed, orders.

A note can order an agent to break its rules, hold characters that nobody sees, or a password. And a
note about work that is finished is read in each session as if it were not.

A sign is read from a memory alone, so that the report of an audit holds as long as its memories do.
`stale` looks at the day and at the files. Nothing is hidden because of a sign.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Final
from unicodedata import category
from urllib.parse import unquote

from echoless.core.groups import grouped
from echoless.core.model import FILE, Json, Memory
from echoless.core.own_folders import expanded
from echoless.core.run_notes import Tally
from echoless.core.secrets import secrets_in
from echoless.core.text import count, lazy_pattern, words
from echoless.core.timestamps import day, day_named
from echoless.stores.base import Store
from echoless.stores.ledger import FORGOTTEN
from echoless.stores.reading import visible_memories
from echoless.stores.registry import locate

_OF_TEXT: Final[Mapping[str, str]] = {
    "order": "orders an agent:",
    "unseen": "holds what nobody sees:",
    "secret": "holds",
    "finished": "says itself that it is over:",
}
"""What a sign says of a memory, by kind; in the order of a report."""
KINDS: Final[Mapping[str, str]] = {
    "path": "names a file that is not there:",
    "link": "links to what is not there:",
    "deadline": "names a day that has passed:",
    **_OF_TEXT,
    "forgotten": "says again what was to be forgotten on",
    "never_read": "was never read since",
}
"""What a sign says of a memory, by kind; in the order of a report."""

HISTORY: Final = ""
"""Stands among the files that were looked for where Git was asked. No such file is there, so what
was printed is not taken over: a commit changes it."""
UNSAID: Final = (
    "Git does not say which files {} had: its history is cut, or takes too long. A file that a "
    "memory names is told as gone if its folder is there. `git fetch --unshallow` mends a cut."
)
UNREAD_DAYS: Final = 30
"""Days after which a memory that nothing reads is told: an agent had time to meet it."""

_PATH: Final = lazy_pattern(
    r"`((?![^`]*(?:YYYY|XXX|NNN|path/to|[._-]log\b))(?:~?/|\.{1,2}/)?"
    r"(?:(?!(?:example|foo|bar)\b)[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,5})[.,;:]?`"
)
"""A path to a file with a suffix, and no placeholder; a name without a folder may lie anywhere."""
_CHANGED: Final = lazy_pattern(
    r"\b(?:creat|add(?!r)|todo|to be|will|would|should|propos|plann|plans? to\b|renam|remov|delet"
    r"|mov|replac|supersed|deprecat|obsolete|generat|(?:git)?ignor|produc|output|writ|wrote|écri"
    r"|update|log|sav|example|e\.g\.|erstell|anleg|umbenannt|gelöscht|entfern|verschob)"
    r"|→|->|\[ \]|~~",
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
_PERHAPS: Final = lazy_pattern(
    r"[^\n.;!?\[]{0,20}\b(?:if present|if it exists|falls vorhanden|si existe)\b", re.IGNORECASE
)
"""Words right behind a link by which its file need not be there."""
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
_OVER: Final = frozenset(
    [
        "done",
        "finished",
        "complete",
        "completed",
        "shipped",
        "executed",
        "paid",
        "submitted",
        "expired",
        "missed",
        "erledigt",
        "bezahlt",
        "abgegeben",
        "abgelaufen",
    ]
)
_TICKED: Final = ("was due", "were due", "[x]", "\u2705", "~~")
"""Words by which a text says itself that the deadline is behind it."""

_HIDDEN_FROM = r"(?:without (?:telling|informing|asking)|(?:do not|don't|never) (?:tell|inform))"
_OWN = r"(?:~/\.ssh|id_rsa|\.env|credentials|api keys?|private keys?|passwords|tokens|secrets)"
_SIGN: Final = lazy_pattern(
    r"(?P<order>"
    r"\b(?:ignore|disregard|forget|override|bypass)(?: (?:all|any|your|the|my|of|these))*"
    r" (?:previous|prior|earlier|above|preceding|system|safety|other)"
    r" (?:instructions?|rules?|prompts?|guidelines?|directions?|messages?|policies)\b"
    rf"|\b{_HIDDEN_FROM} the user\b"
    r"|\b(?:send|post|upload|forward|e?mail|leak|exfiltrate|copy)\b[^.\n`\"]{0,60}?"
    rf"(?<!\w){_OWN}(?!\w)[^.\n`\"]{{0,60}}?\b(?:to|at) (?:https?://|[\w.-]{{1,40}}@)"
    r"|\b(?:ignoriere|missachte|vergiss)(?: (?:alle|die|deine))*"
    r" (?:vorherigen|bisherigen|obigen|früheren) (?:anweisungen|regeln|befehle)\b"
    r"|\b(?:ignora|olvida)(?: (?:todas|las|tus))* (?:instrucciones|reglas)"
    r" (?:anteriores|previas)\b"
    r"|\b(?:ignorez?|oubliez?)(?: (?:toutes|les|tes|vos))* (?:instructions|règles|consignes)"
    r" (?:précédentes|antérieures)\b"
    r"|忽略(?:之前|以上|先前|前面)的?(?:所有|全部)?(?:指令|指示|规则|说明)"
    r"|(?:以前|これまで|上記|前)の(?:全ての|すべての)?(?:指示|命令|ルール)を(?:無視|忘れ))"
    r"|(?P<finished>(?:^|\n)[#>*_ ~-]{0,8}status[*_ ]{0,4}[:：][*_ ]{0,4}"
    r"(?:done|completed?|closed|resolved|superseded|retired|obsolete|deprecated|archived"
    r"|cancell?ed|erledigt|abgeschlossen|veraltet|terminado|terminé|已完成|完了)\b"
    r"|(?:^|\n)(?:> ?)?(?:\*\*(?:\u2705 ?)?|\u2705 ?)(?:resolved|superseded|erledigt|已解决|已完成)"
    r"[*_ ]{0,3}[(（]"
    r"|\b(?-i:SUPERSEDED|RETIRED|OBSOLETE|DEPRECATED|COMPLETED?|RESOLVED|CANCELLED|ARCHIVED"
    r"|HISTORICAL(?=[*_]{0,3}(?: ?[:.\u2013\u2014(]| -|\s*(?:\n|\Z)))|ERLEDIGT|VERALTET)\b)",
    re.IGNORECASE,
)
"""Words that would have an agent leave its rules, hide something from its user, or send secrets;
and what a note says of itself: a field `status`, or a word in capitals. In 11,987 memories of ten
public repositories no order was told, and 42 that are finished."""
_NUMBERED: Final = lazy_pattern(r"\b[A-Z]{1,6}-?\d+[ :]{1,3}\Z")
_FENCED: Final = lazy_pattern(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", re.MULTILINE | re.DOTALL)
"""A name of something else before a word, and code, whose links and paths are examples."""
_QUOTES: Final = frozenset("\"'`“„«「『(")
_HEAD: Final = 240
"""Characters of a text, after its description, in which it says that it is finished."""
_SHOWN: Final = 60
_JOINERS: Final = frozenset("\u00ad\u200c\u200d\u200e\u200f")
"""Soft hyphens, joiners and marks of direction, which ordinary texts have."""


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

    def at(self, text: str) -> int:
        """Returns where a text says it, in characters; -1 where that is not known."""
        if self.kind == "secret":
            return next((each.start for each in secrets_in(text)), -1)
        said = f"`{self.what}" if self.kind == "path" else self.what
        return -1 if self.kind in {"forgotten", "never_read"} else text.find(said)

    @property
    def is_rooted(self) -> bool:
        """Checks whether it is a path that does not begin in the folder of the memory."""
        return self.what.startswith(("/", "~"))

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
        own = () if _is_of_a_day(memory) else _signs(memory.content)
        for kind, what in dict.fromkeys((*own, *cautions(memory))):
            yield Sign(memory.id, kind, what)
        if counts and not memory.access_count and memory.created_at and not memory.pinned:
            yield Sign(memory.id, "never_read", day(memory.created_at))


def _is_of_a_day(memory: Memory) -> bool:
    """Checks whether it is a line of a note of a day: it tells what was so then, and is no task."""
    named = day_named(memory.native.get(FILE))
    return named is not None and named == memory.created_at


def _signs(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and words of what hangs on the day or on files."""
    text = _FENCED.sub("", text) if "```" in text or "~~~" in text else text
    for line in text.splitlines() if "`" in text and "/" in text else ():
        paths = _PATH.findall(line) if "`" in line else ()
        if paths and not _CHANGED.search(_PATH.sub("", line)):
            yield from (("path", path) for path in paths)
    for match in _LINK.finditer(text) if "](" in text else ():
        coded = text.count("`", text.rfind("\n", 0, match.start()) + 1, match.start()) % 2
        if not coded and not _PERHAPS.match(text, match.end()):
            yield "link", unquote(match[1])
    named = [match for match in _DEADLINE.finditer(text) if match.lastgroup] if "20" in text else ()
    over = (named and {*words(text.casefold())} & _OVER) or any(each in text for each in _TICKED)
    for deadline in () if over else map(_date, named):
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


def cautions(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yields kind and words of what is to be looked at in a memory; a secret is not shown."""
    about, text = memory.metadata.get("description"), memory.content
    if isinstance(about, str):
        text = f"{about}\n{text}"
    end = len(text) - len(memory.content) + _HEAD
    for match in _SIGN.finditer(text):
        kind = match.lastgroup or ""
        itself = match.start() < end and _is_of_itself(text, match.start())
        own = kind == "order" or (itself and not _is_of_a_day(memory))
        if own and not _is_quoted(text, match.start()):
            yield kind, " ".join(match[0][:_SHOWN].split())
    flags = "\U0001f3f4" in text  # made up of signs nobody sees; a mark of byte order may begin
    unseen = [
        sign
        for sign in ("" if text.isascii() else text[1:])
        if category(sign) == "Cf" and sign not in _JOINERS and not (flags and sign > "\U000e0000")
    ]
    if unseen:
        yield "unseen", f"{count(len(unseen), 'character')} such as U+{ord(unseen[0]):04X}"
    if secrets := secrets_in(text):
        yield "secret", count(len(secrets), "password, key or token", "passwords, keys or tokens")


def _is_of_itself(text: str, at: int) -> bool:
    """Checks whether a note says itself that it is finished, and not of something it names.

    A line of a list or a log speaks of one thing among others, and so do brackets and `P10 DONE`.
    """
    before = text[:at].rpartition("\n")[2]
    inside = before.count("(") > before.count(")") or before.count("[") > before.count("]")
    whole = "\n" in text.strip() or not text[:at].strip(" #*>_~-")
    return whole and not inside and _NUMBERED.search(before) is None


def _is_quoted(text: str, at: int) -> bool:
    """Checks whether a place in a text is quoted: the text speaks of these words."""
    before = text[max(0, at - 200) : at].rpartition("\n")[2]
    return (
        (bool(before) and before[-1] in _QUOTES)
        or before.count("`") % 2 == 1
        or before.count('"') % 2 == 1
    )


def stale_json(signs: Sequence[Sign]) -> dict[str, Json]:
    """Returns what may be stale, and ids of memories that were never read, by day."""
    named = [asdict(sign) for sign in signs if sign.kind != "never_read"]
    by_day = grouped((sign.what, sign.id) for sign in signs[len(named) :])
    return {"stale": named, "never_read": by_day}


def stale(
    signs: Iterable[Sign], store: Store, today: date, tally: Tally
) -> tuple[tuple[Sign, ...], Mapping[str, bool]]:
    """Returns the signs that hold today; reads names of files, which Git tells of earlier ones too.

    Args:
        signs: Of a report.
        store: Open, the one that was audited.
        today: Decides on deadlines, and on how long a memory was not read.
        tally: Told where Git does not say what a project had.

    Returns:
        The signs by kind, and the files that were looked for: whether each is there.
    """
    files = _Files(store, tally)
    by_kind: dict[str, list[Sign]] = {kind: [] for kind in KINDS}
    for sign in signs:
        last = sign.last_day
        if last < today.isoformat() if last else sign.kind in _OF_TEXT or files.is_gone(sign):
            by_kind[sign.kind].append(sign)
    by_kind["forgotten"] += come_back(store)
    return tuple(chain.from_iterable(by_kind.values())), files.seen


def come_back(store: Store) -> Iterator[Sign]:
    """Yields the visible memories that say again what was to be forgotten."""
    if next(store.ledger.events(FORGOTTEN), None) is None:
        return
    from echoless.ingest.forgotten import ForgottenClaims  # reads facts, which few audits need here

    if claims := ForgottenClaims(store.ledger):
        for memory in visible_memories(store, Tally()):
            if said := claims.said_by(memory.content):
                yield Sign(memory.id, "forgotten", day(said.at))


class _Files:
    """The files beside a store.

    Attributes:
        seen: Files that were looked for: whether each is there.
    """

    def __init__(self, store: Store, tally: Tally) -> None:
        self._store, self._tally = store, tally
        path = Path(locate(store.url)[1].partition("#")[0].partition("?")[0]).absolute()
        self._opened = path if path.is_dir() else path.parent
        self.seen: dict[str, bool] = {}
        self._known: dict[Path, Sequence[Path]] = {}

    def is_gone(self, sign: Sign) -> bool:
        """Returns whether what a memory names is gone, as far as this machine can tell.

        Where Git knows the project, a path is gone that it had and has no more. Others are of
        another project, or made by a program. Elsewhere a file counts as gone only where the folder
        that it lay in is there: of another machine or another project nothing is known here.
        """
        place = self._store.place(sign.id) if self._store.capabilities.sectioned else None
        if not (place or sign.is_rooted):
            return False
        folder = place[0].absolute().parent if place else self._opened
        projects = self._projects(folder)
        if not (projects or sign.is_rooted):
            return False
        bases = dict.fromkeys((folder, self._opened, *projects))
        whats = dict.fromkeys((expanded(sign.what), Path(sign.what.lstrip("/"))))
        paths = [base / what for base in bases for what in whats]
        if self._is_short_lived(paths[0]) or any(map(self._exists, paths)):
            return False
        if sign.kind == "path" and not sign.is_rooted:
            self.seen[HISTORY] = True
            known = [gone for each in projects if (gone := self._removed(each)) is not None]
            if known:
                return any(os.path.normpath(path) in gone for path in paths for gone in known)
        beside = sign.kind == "link" and not sign.is_rooted and not sign.what.startswith("..")
        return beside or any(self._exists(path.parent) for path in paths)

    @cached_property
    def _removed(self) -> Callable[[Path], frozenset[str] | None]:
        from echoless.stores.revision import removed  # few audits need Git

        def asked(folder: Path) -> frozenset[str] | None:
            paths = removed(folder)
            if paths is None and self._exists(folder / ".git"):
                self._tally.note(UNSAID.format(folder))
            return paths

        return cache(asked)

    def _is_short_lived(self, path: Path) -> bool:
        """Returns whether a path lies below a folder `tmp` that is not around the project."""
        around = (*self._projects(self._opened), self._opened)
        above = (each for each in around if path.is_relative_to(each))
        return "tmp" in path.relative_to(next(above, path.anchor)).parts[:-1]

    def _projects(self, folder: Path) -> Sequence[Path]:
        """Returns the repository around a folder, or the folder itself.

        Of `projects/NAME`, where Claude Code keeps memories of other folders, these folders: none
        where this machine lacks them.
        """
        if folder not in self._known:
            around, start = (folder, *folder.parents), _as_name(folder.anchor)
            names = (
                b for a, b in pairwise(folder.parts) if a == "projects" and b.startswith(start)
            )
            if name := next(names, ""):
                self._known[folder] = [*_named(Path(folder.anchor), name.removeprefix(start))]
            else:
                roots = [each for each in around if self._exists(each / ".git")]
                roots += [each.parent for each in around if each.name == ".claude"]
                self._known[folder] = [*roots, folder][:1]
        return self._known[folder]

    def _exists(self, path: Path) -> bool:
        name = os.fspath(path)
        if name not in self.seen:
            self.seen[name] = os.path.lexists(name)
        return self.seen[name]


def _as_name(path: str) -> str:
    """Returns a path as Claude Code names its folder of a project: `/a/b.c` is `-a-b-c`."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in path)


def _named(folder: Path, name: str) -> Iterator[Path]:
    """Yields the folders below a folder whose relative paths have a name, see `_as_name`."""
    with suppress(OSError):
        for below in sorted(each for each in folder.iterdir() if each.is_dir()):
            part = _as_name(below.name)
            if name == part:
                yield below
            elif name.startswith(f"{part}-"):
                yield from _named(below, name.removeprefix(f"{part}-"))
