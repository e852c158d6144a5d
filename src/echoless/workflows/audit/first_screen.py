"""The first screen of an audit: what is out of date, what is said twice, and what to type next.

It has a line for each memory, which a terminal cuts at its edge, and says in each title how much is
left out. `report_blocks` has the whole report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Extent,
    Gap,
    command,
    count,
    cut,
    flat,
    number,
    percent,
    quoted,
    say,
    strong,
)
from echoless.core.secret_masking import learn
from echoless.stores.base import Store
from echoless.workflows.audit.between import Between, SharedPair, Whereabouts
from echoless.workflows.audit.namespace_report import ReportedPair
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_blocks import HELD, answer_blocks, held_pairs
from echoless.workflows.audit.staleness import Sign

_MADE_UP: Final = re.compile(r"(?:[a-z]{1,4}-)?[0-9a-f-]{10,}")
"""Ids that say nothing to a person: digests and UUIDs."""
_PRINT: Final = re.compile(r"(?<=.)#[0-9a-f]{8,}(?:-\d+)?$")
"""What tells the lines of one file apart in their ids."""
_WORDS: Final = {"update": "replaced by", "contradiction": "or", "subsumes": "but"}
"""What stands before the second memory of a pair; `and` for any other kind."""
_VALUES: Final = re.compile(r"(?:may not both be true: (?=.* or )|(?=was ))(.*)")
"""A reason that names both values."""
_STALE: Final = 5
"""Memories that may be stale that are shown."""
_NOTES: Final = 1
"""Notes of the run that are shown."""

_Item: TypeAlias = Sequence[Block]


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
    screen = _Screen(report, extent, between or Between(), store)
    yield from answer_blocks(report)
    yield Gap()
    yield from _part("Out of date", "pair", *screen.pairs("update"))
    copies = count(report.counts["redundant"], "redundant copy", "redundant copies")
    yield from _part("The same", "group", *screen.groups(), more=f", {copies}")
    yield from _part("Said in several namespaces", "group", *screen.shared())
    for kind in list(HELD)[1:]:
        yield from _part(HELD[kind][0], "pair", *screen.pairs(kind))
    yield from _part("Much in common", "pair", *screen.overlaps())
    yield from _part("One sentence, other values", "series", *screen.series())
    yield from _part("May be stale", "memory", *screen.stale())
    yield from list(_part("Noted", "line", *screen.remarks()))[:-1]
    if report.groups:
        yield command(command_line("dedup", name), before="Preview a plan:    ", level=0)
    if report.groups or report.held:
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


class _Screen:
    """The items of each part of the screen, and how many there are."""

    def __init__(self, report: Report, extent: Extent, between: Between, store: Store) -> None:
        self._report, self._extent, self._between = report, extent, between
        self._held = {kind: self._once(pairs) for kind, pairs in held_pairs(report).items()}
        self._stale: dict[str, Sign] = {}
        for sign in report.stale.signs if report.stale else ():
            self._stale.setdefault(sign.id, sign)
        ids = list(dict.fromkeys(self._ids()))
        self._memories = store.get(ids)
        learn(self._memories.get(id_) for id_ in ids)

    def _most(self, kind: str) -> int:
        """Returns how many pairs of a kind are shown."""
        most = self._extent.pairs
        return most if kind in {"update", "contradiction"} else -(-most // 3)

    def _once(self, pairs: Sequence[ReportedPair]) -> Sequence[ReportedPair]:
        """Returns the pairs without those that say of a copy what another says of its survivor."""
        behind, once = self._report.behind, dict[frozenset[str], ReportedPair]()
        for pair in pairs:
            once.setdefault(frozenset(behind.get(id_, id_) for id_ in pair.ids), pair)
        return list(once.values())

    def _ids(self) -> Iterator[str]:
        """Yields the memories that are shown."""
        for kind, pairs in self._held.items():
            for pair in pairs[: self._most(kind)]:
                yield from (pair.a, pair.b)
        for group in self._report.groups[: self._extent.top]:
            yield from group.ids[: self._extent.members + 1]
        for overlap in self._report.overlaps[: self._most("near")]:
            yield from (overlap.a, overlap.b)
        for series in self._report.series[: self._most("near")]:
            yield series.newest or series.members[0]
        yield from islice(self._stale, _STALE)

    def _line(
        self, which: str | Whereabouts, before: str = "", behind: str = "", *, level: int = 1
    ) -> Block:
        """Returns a memory in one line: its name, or its subject where the name says nothing."""
        place = self._memories.get(which) if isinstance(which, str) else which
        id_ = which if isinstance(which, str) else which.id
        namespace = "" if place is None else place.namespace
        text = "(no longer in the store)" if place is None else flat(place.content)
        shown = namespace if namespace and _MADE_UP.fullmatch(id_) else _PRINT.sub("", id_)
        return cut(before, strong(shown), f"{behind}: {text}", level=level)

    def pairs(self, kind: str) -> tuple[Sequence[_Item], int]:
        """Returns the pairs of one kind, two lines each."""
        across = [pair for pair in self._between.pairs if pair.verdict == kind]
        all_: list[ReportedPair | SharedPair] = [*self._held.get(kind, ()), *across]
        items = []
        for pair in all_[: self._most(kind)]:
            values = _VALUES.fullmatch(quoted(pair.sentence)) if kind in _WORDS else None
            behind = f" ({values[1]})" if values else ""
            second = self._line(pair.b, f"{_WORDS.get(kind, 'and')} ", behind, level=2)
            items.append((self._line(pair.a), second))
        return items, len(all_) + (self._report.near_left_out if kind == "near" else 0)

    def groups(self) -> tuple[Sequence[_Item], int]:
        """Returns the largest groups: the survivor and the first of the others."""
        groups = self._report.groups
        some = ((g.survivor, [(m.id, m.verdict) for m in g.members]) for g in groups)
        return [self._group(*each) for each in islice(some, self._extent.top)], len(groups)

    def shared(self) -> tuple[Sequence[_Item], int]:
        """Returns the largest groups across namespaces, which no plan touches."""
        groups = self._between.groups
        some = ((g.first, [(m.memory, m.verdict) for m in g.members]) for g in groups)
        return [self._group(*each) for each in islice(some, self._most("near"))], len(groups)

    def _group(
        self, first: str | Whereabouts, members: Sequence[tuple[str | Whereabouts, str | None]]
    ) -> _Item:
        """Returns a group in some lines."""
        some = members[: self._extent.members]
        signs = ("= " if verdict == "duplicate" else "< " for _, verdict in some)
        lines = [self._line(m, sign, level=2) for (m, _), sign in zip(some, signs, strict=True)]
        left = len(members) - len(some)
        more = [say(f"{number(left)} more", level=2)] if left else []
        return [self._line(first), *lines, *more]

    def overlaps(self) -> tuple[Sequence[_Item], int]:
        """Returns the notes that stay apart though most of one is in the other."""
        overlaps = self._report.overlaps
        items = [
            (
                self._line(each.a),
                self._line(each.b, "and ", f" ({percent(each.largest)} of one)", level=2),
            )
            for each in overlaps[: self._most("near")]
        ]
        return items, len(overlaps)

    def series(self) -> tuple[Sequence[_Item], int]:
        """Returns the newest of each series."""
        series = self._report.series
        items = [
            (self._line(s.newest or s.members[0], behind=f" ({number(len(s.members))} times)"),)
            for s in series[: self._most("near")]
        ]
        return items, len(series)

    def stale(self) -> tuple[Sequence[_Item], int]:
        """Returns what may be stale, a line for a memory."""
        some = islice(self._stale.items(), _STALE)
        items = [(self._line(id_, behind=f" ({quoted(sign.sentence)})"),) for id_, sign in some]
        return items, len(self._stale)

    def remarks(self) -> tuple[Sequence[_Item], int]:
        """Returns what was skipped, and the notes of the run."""
        tally = self._report.tally
        lines = [*tally.notes]
        lines += [f"{reason}: {number(len(ids))}" for reason, ids in tally.skipped.items()]
        lines += filter(None, (self._report.reused, *self._between.tally.notes))
        return [(cut(quoted(line), level=1),) for line in lines[:_NOTES]], len(lines)
