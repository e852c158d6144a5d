"""The first screen of an audit: what is not loaded, out of date or said twice, and what to type.

It has a line for each memory, which a terminal cuts at its edge, and says in each title how much is
left out. What has one cause is one item: a block pasted into two files, what two notes both say,
files of one folder that are gone.
`report_blocks` has the whole report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, repeat
from posixpath import basename, dirname
from typing import Final, TypeAlias, TypeVar

from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Extent,
    Gap,
    command,
    count,
    cut,
    flat,
    names,
    number,
    quoted,
    say,
    strong,
)
from echoless.core.groups import grouped
from echoless.core.masking import learn
from echoless.core.model import FIRST_LINE, Memory, line_of
from echoless.core.secrets import from_line
from echoless.core.text import token_estimate
from echoless.stores.base import Store
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_blocks import HELD, answer_blocks, sign_sentence
from echoless.workflows.audit.report_parts import ReportedClaims, ReportedGroup, ReportedPair
from echoless.workflows.audit.staleness import Sign

_MADE_UP: Final = re.compile(r"(?:[a-z]{1,4}-)?[0-9a-f-]{10,}")
"""Ids that say nothing to a person: digests and UUIDs."""
_PRINT: Final = re.compile(r"(?<=.)#[0-9a-f]{8,}(?:-\d+)?$")
"""What tells the lines of one file apart in their ids."""
_WORDS: Final = {"update": "replaced by", "contradiction": "or"}
"""What stands before the second memory of a pair; `and` for any other kind."""
_VALUES: Final = re.compile(r"(?:may not both be true: (?=.* or )|(?=was ))(.*)")
"""A reason that names both values."""
_STALE: Final = 5
"""Maximum number of memories listed under each of these."""
_NAMED: Final = 10
"""Maximum number of memories that are named in one line."""
_FINISHED: Final = "Finished"
_SIGNS: Final[Mapping[tuple[str, ...], str]] = {
    ("order", "unseen"): "Orders an agent, or hides something",
    ("secret",): "Holds a secret",
    ("forgotten",): "Was to be forgotten",
    ("path", "link", "deadline"): "May be stale",
    ("finished",): _FINISHED,
    ("never_read",): "Never read",
}
"""Titles of what wants a look by itself, by kinds of signs."""
_URGENT: Final = frozenset([*_SIGNS][:3])
"""Kinds that come before what memories say of each other."""
_NOTES: Final = 1
"""Notes of the run that are shown."""

_Item: TypeAlias = Sequence[Block]
_T = TypeVar("_T")


def first_screen(
    store: Store, report: Report, extent: Extent, name: str, between: Between | None = None
) -> Iterator[Block]:
    """Yields the first screen.

    Args:
        store: Open, the one that was audited.
        report: The figures.
        extent: How many groups, members and pairs are shown; of pairs that are neither out of date
            nor in conflict a third.
        name: The store, as a person typed it.
        between: What several of its namespaces say, where that was looked at.
    """
    screen = Screen(report, extent, between or Between(), store)
    yield from answer_blocks(report)
    yield Gap()
    yield from screen.unloaded()
    yield from screen.signs(_URGENT)
    yield from screen.compared()
    yield from screen.signs(_SIGNS.keys() - _URGENT)
    yield from list(_part("Noted", "line", *screen.remarks()))[:-1]
    if report.groups:
        yield command(command_line("dedup", name), before="Preview a plan:    ", level=0)
    if report.groups or report.held or report.claims:
        yield command(command_line("review", name), before="Decide one by one: ", level=0)
    yield command(command_line("audit", name, "--explain"), before="See all of it:     ", level=0)


def _part(
    title: str, noun: str, items: Sequence[_Item], whole: int, *, more: str = ""
) -> Iterator[Block]:
    """Yields some of the items of one kind under a title that counts all; nothing for none."""
    if not whole:
        return
    some = "" if len(items) == whole else f"{number(len(items))} of "
    many = {"series": "series", "memory": "memories"}.get(noun)
    yield say(strong(title), f"  {some}{count(whole, noun, many)}{more}")
    for item in items:
        yield from item
    yield Gap()


def _items(blocks: Sequence[Sequence[_T]], item: Callable[[Sequence[_T]], _Item]) -> list[_Item]:
    """Returns an item for each block, and an empty one for each other finding that it tells."""
    return [*map(item, blocks), *repeat((), sum(map(len, blocks)) - len(blocks))]


def _listed(listed: bool, items: Sequence[_Item], whole: int) -> tuple[Sequence[_Item], int]:
    """Returns items as they are, or an empty one for each, so that they are counted only."""
    return (items if listed else [()] * whole), whole


def _others(block: Sequence[object], noun: str, where: str) -> Iterator[Block]:
    """Yields how many more findings of a block there are."""
    if block[1:]:
        yield say(f"and {count(len(block) - 1, f'more {noun}')} of the same {where}", level=2)


def _of_causes(signs: Iterable[Sign]) -> Sequence[Sequence[Sign]]:
    """Returns the first signs, with a path that is gone the others of its folder.

    Two notes name one folder if they lie beside each other, or the path does not hang on that.
    """
    causes = grouped(
        ((dirname(s.what), "" if s.is_rooted else dirname(s.id)) if s.kind == "path" else s.id, s)
        for s in signs
    )
    return [*islice(causes.values(), _STALE)]


class Screen:
    """The items of each part of the screen, and how many there are."""

    def __init__(self, report: Report, extent: Extent, between: Between, store: Store) -> None:
        self._report, self._extent, self._between = report, extent, between
        self._unloaded = [each for each, _ in store.unloaded()]
        self._held = {kind: self._once(pairs) for kind, pairs in report.by_kind.items()}
        self._repeated: dict[str, list[ReportedClaims]] = {kind: [] for kind in ("", *HELD)}
        for claims in report.claims:
            kind = claims.pair.verdict
            self._repeated[kind if kind in HELD else ""].append(claims)
        self._signs: dict[str, dict[str, Sign]] = {title: {} for title in _SIGNS.values()}
        for sign in report.stale or ():
            title = next(title for kinds, title in _SIGNS.items() if sign.kind in kinds)
            self._signs[title].setdefault(sign.id, sign)
        ids = list(dict.fromkeys(self._ids()))
        self._memories = store.get(ids)
        learn(self._memories.get(id_) for id_ in ids)

    def unloaded(self) -> Iterator[Block]:
        """Yields what the store's own program does not load."""
        lines = [(cut(quoted(line), level=1),) for line in self._unloaded]
        yield from _part("Not loaded", "line", lines, len(lines))

    def signs(self, some: AbstractSet[tuple[str, ...]] = frozenset()) -> Iterator[Block]:
        """Yields what wants a look by itself, a line for a memory: all kinds, or some."""
        for kinds, title in _SIGNS.items():
            signs = self._signs[title] if not some or kinds in some else {}
            if title == _FINISHED and len(signs) > 1 and all(id_.endswith(".md") for id_ in signs):
                # by their names: to archive them is one decision
                left = f" and {number(len(signs) - _NAMED)} more" if len(signs) > _NAMED else ""
                texts = (self._memories[id_].content for id_ in signs if id_ in self._memories)
                tokens = f", {count(sum(map(token_estimate, texts)), 'token')}"
                named = say(quoted(", ".join(islice(signs, _NAMED)) + left), level=1)
                whole = [(named,), *repeat((), len(signs) - 1)]
                yield from _part(title, "memory", whole, len(signs), more=tokens)
                continue
            items = _items(_of_causes(signs.values()), self._signs_of)
            yield from _part(title, "memory", items, len(signs))

    def compared(
        self, kinds: Iterable[str] = tuple(HELD)[1:], *, again: bool = True
    ) -> Iterator[Block]:
        """Yields the parts for which memories are compared, of pairs some kinds.

        Args:
            kinds: Of pairs that are neither copies nor out of date, as in `HELD`.
            again: Whether what files, headings and notes repeat is listed, or counted only.
        """
        yield from _part("Out of date", "pair", *self.pairs("update"))
        copies = self._report.counts["redundant"]
        more = f", {count(copies, 'redundant copy', 'redundant copies')}"
        yield from _part("The same", "group", *self.groups(self._report.groups), more=more)
        several = _listed(again, *self.groups(self._between.groups))
        yield from _part("Said in several files or headings", "group", *several)
        for kind in kinds:
            yield from _part(HELD[kind][0], "pair", *self.pairs(kind))
        yield from _part("Said again in notes", "claim", *_listed(again, *self.claims()))
        yield from _part("One sentence, other values", "series", *self.series())

    def _most(self, kind: str) -> int:
        """Returns how many pairs of a kind are shown."""
        most = self._extent.pairs
        return most if kind in {"update", "contradiction"} else -(-most // 3)

    def _once(self, pairs: Sequence[ReportedPair]) -> Sequence[ReportedPair]:
        """Removes pairs that repeat another pair once copies stand behind their survivor."""
        behind, once = self._report.behind, dict[frozenset[str], ReportedPair]()
        for pair in pairs:
            once.setdefault(frozenset(behind.get(id_, id_) for id_ in pair.ids), pair)
        return list(once.values())

    def _ids(self) -> Iterator[str]:
        """Yields the memories that are shown."""
        for kind, pairs in self._held.items():
            for pair in pairs[: self._most(kind)]:
                yield from (pair.a, pair.b)
        for first, *_ in self._blocks(self._report.groups):
            yield from first.ids[: self._extent.members + 1]
        for kind, claims in self._repeated.items():
            shown = claims[: self._most(kind)]
            shown = shown if kind in HELD else [each[0] for each in self._notes_alike()]
            yield from (id_ for each in shown for id_ in each.pair.ids)
        for series in self._report.series[: self._most("near")]:
            yield series.newest or series.members[0]
        for title, signs in self._signs.items():
            causes = (each[0].id for each in _of_causes(signs.values()))
            yield from signs if title == _FINISHED else causes

    def _signs_of(self, signs: Sequence[Sign]) -> _Item:
        """Returns the first memory that gives a sign, from there on, and how many more do."""
        sign, *more = signs
        memory = self._memories.get(sign.id)
        at = -1 if memory is None else sign.at(memory.content)
        alike = sum((s.id, s.kind) == (sign.id, sign.kind) for s in self._report.stale or ()) - 1
        further = f", and {number(alike)} more" if alike else ""
        line = self._line(sign.id, behind=f" ({sign_sentence(sign)}{further})", at=at)
        named = dict.fromkeys(f"{basename(s.what)} in {_PRINT.sub('', s.id)}" for s in more)
        folder = quoted(f"and of the same folder: {names(named)}")
        return (line, cut(folder, level=2)) if more else (line,)

    def _line(
        self, id_: str, before: str = "", behind: str = "", *, at: int = -1, level: int = 1
    ) -> Block:
        """Returns a memory in one line: its name, or its subject where the name says nothing.

        From a place in its text on, where one is given, with the line of its file.
        """
        memory = self._between.places.get(id_) or self._memories.get(id_)
        id_ = id_ if memory is None else memory.id
        namespace = "" if memory is None else memory.namespace
        text = "(no longer in the store)" if memory is None else memory.content
        shown = namespace if namespace and _MADE_UP.fullmatch(id_) else _PRINT.sub("", id_)
        if at >= 0 and isinstance(memory, Memory):
            text = from_line(text, at)
            shown += f" line {line_of(memory, at)}" if FIRST_LINE in memory.native else ""
        return cut(before, strong(shown), f"{behind}: {flat(text)}", level=level)

    def pairs(self, kind: str) -> tuple[Sequence[_Item], int]:
        """Returns the pairs of one kind, two lines each."""
        across = [pair for pair in self._between.pairs if pair.verdict == kind]
        all_ = [*self._held.get(kind, ()), *across]
        claims = self._repeated[kind]
        items = [self._claims([each]) for each in claims[: self._most(kind)]]
        for pair in all_[: self._most(kind)]:
            values = _VALUES.fullmatch(quoted(pair.sentence)) if kind in _WORDS else None
            behind = f" ({values[1]})" if values else ""
            second = self._line(pair.b, f"{_WORDS.get(kind, 'and')} ", behind, level=2)
            items.append((self._line(pair.a), second))
        near = self._report.near_left_out if kind == "near" else 0
        return items, len(claims) + len(all_) + near

    def groups(self, groups: Sequence[ReportedGroup]) -> tuple[Sequence[_Item], int]:
        """Returns the largest groups: the survivor and the first of the others."""
        return _items(self._blocks(groups), self._group), len(groups)

    def _blocks(self, groups: Sequence[ReportedGroup]) -> Sequence[Sequence[ReportedGroup]]:
        """Returns the largest groups, with each the others of the same files: a pasted block."""
        blocks = grouped((self._place(group), group) for group in groups)
        return [*islice(blocks.values(), self._extent.top)]

    def _place(self, group: ReportedGroup) -> frozenset[str]:
        """Returns the files of a group; its own name where all lies in one."""
        places = [self._between.places.get(id_) for id_ in group.ids]
        ids = [p.id if p else id_ for p, id_ in zip(places, group.ids, strict=True)]
        files = frozenset(_PRINT.sub("", id_) for id_ in ids)
        return files if len(files) > 1 else frozenset([group.survivor])

    def _group(self, groups: Sequence[ReportedGroup]) -> _Item:
        """Returns a group in some lines, and how many more lie in the same files."""
        group = groups[0]
        some = group.members[: self._extent.members]
        signs = ("= " if member.verdict == "duplicate" else "< " for member in some)
        lines = [self._line(m.id, sign, level=2) for m, sign in zip(some, signs, strict=True)]
        left = len(group.members) - len(some)
        more = [say(f"{number(left)} more", level=2)] if left else []
        return [self._line(group.survivor), *lines, *more, *_others(groups, "group", "files")]

    def claims(self) -> tuple[Sequence[_Item], int]:
        """Returns the claims of notes that say again what another one says."""
        return _items(self._notes_alike(), self._claims), len(self._repeated[""])

    def _notes_alike(self) -> Sequence[Sequence[ReportedClaims]]:
        """Returns the first claims that are said again, with each the others of the same notes."""
        notes = grouped((frozenset(each.pair.ids), each) for each in self._repeated[""])
        return [*islice(notes.values(), self._extent.pairs)]

    def _claims(self, claims: Sequence[ReportedClaims]) -> _Item:
        """Returns two claims with their places, and how many more two notes have."""
        first = claims[0]
        pair = first.pair
        word = _WORDS.get(pair.verdict, "and")
        return (
            self._claim(pair.a, first.line_a, first.offsets_a),
            self._claim(pair.b, first.line_b, first.offsets_b, f"{word} ", level=2),
            *_others(claims, "claim", "notes"),
        )

    def _claim(
        self, id_: str, line: int, offsets: tuple[int, int], before: str = "", *, level: int = 1
    ) -> Block:
        """Returns a claim in one line, with the line of its file."""
        memory = self._memories.get(id_)
        text = "(no longer in the store)" if memory is None else memory.content[slice(*offsets)]
        shown = _PRINT.sub("", id_)
        return cut(before, strong(f"{shown} line {line}"), f": {flat(text)}", level=level)

    def series(self) -> tuple[Sequence[_Item], int]:
        """Returns the newest of each series."""
        series = self._report.series
        items = [
            (self._line(s.newest or s.members[0], behind=f" ({number(len(s.members))} times)"),)
            for s in series[: self._most("near")]
        ]
        return items, len(series)

    def remarks(self) -> tuple[Sequence[_Item], int]:
        """Returns what was skipped, and the notes of the run."""
        tally = self._report.tally
        lines = [note for note in tally.notes if note not in self._unloaded]
        lines += [f"{reason}: {number(len(ids))}" for reason, ids in tally.skipped.items()]
        lines += self._between.tally.notes
        return [(cut(quoted(line), level=1),) for line in lines[:_NOTES]], len(lines)
