"""The report of `audit`, as blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from echoless.actions import Rewrite
from echoless.auditing import Report
from echoless.cli.differences import word_difference
from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Table,
    count,
    flat,
    number,
    percent,
    quoted,
    say,
    strong,
)
from echoless.cli.shown_groups import (
    LEGEND,
    ShownMember,
    group_blocks,
    more,
    skipped_blocks,
    text_of,
)
from echoless.masked import learn
from echoless.model import Memory
from echoless.pages import Share, ToldGroup, ToldPair
from echoless.planning import gains
from echoless.profiles import ActionKind
from echoless.stores.base import Store, Unites

if TYPE_CHECKING:
    from echoless.second_look import SecondLook

HELD: Final[Mapping[str, tuple[str, str]]] = {
    "contradiction": ("Contradictions", "both cannot be true, and nothing says which is newer"),
    "update": ("Updates", "the same attribute with a newer value, older one first"),
    "sibling": ("Siblings", "one pattern, different things; both are true"),
    "unsure": ("Unsure, for a person to look at", "never acted on by itself"),
}


def audit_blocks(
    store: Store, report: Report, *, top: int, members: int, pairs: int, options: bool = True
) -> list[Block]:
    """The whole report, with texts as they are now.

    Args:
        store: Open, the one that was audited; a memory that is gone since shows no text.
        report: The figures.
        top: Largest groups to show.
        members: Members of each of them to show.
        pairs: Pairs of each kind that look alike and stay apart to show.
        options: Whether who reads this can give options of the command line.
    """
    memories = store.get(_shown_ids(report, top, pairs))
    rules = store if isinstance(store, Unites) else None
    return [
        *_summary(report),
        *_largest(report, memories, top, members, rules, options=options),
        *_apart(report, memories, pairs, options=options),
        *_series(report, memories, pairs, options=options),
        *_parts("By namespace", "namespace", report.by_namespace),
        *_parts("Growth by month of creation", "month", report.by_month),
        *skipped_blocks(report.tally),
    ]


def _shown_ids(report: Report, top: int, pairs: int) -> set[str]:
    """Memories whose texts are shown, and all members of the groups: what survivors take over."""
    groups = {id_ for g in report.groups[:top] for id_ in (g.survivor, *(m.id for m in g.members))}
    held = (pair for some in report.held_by_kind.values() for pair in some[:pairs])
    series = (id_ for each in report.series[:pairs] for id_ in (each.newest, each.members[0]))
    return groups.union(series, *(pair.ids for pair in held)) - {""}


def second_look_blocks(second: SecondLook | None) -> Iterator[Block]:
    """What the full judge would hold back; nothing where it judged in the first place."""
    if second is None or not second.merges:
        return
    yield Heading("Second look")
    for line in second.lines():
        yield say(line.removeprefix("Second look: "))
    yield Gap()


def _summary(report: Report) -> Iterator[Block]:
    counts = report.counts
    yield Heading(f"Audit of {report.url}")
    yield say(
        strong(count(counts["redundant"], "redundant copy", "redundant copies")),
        f" in {count(counts['groups'], 'group')} among ",
        f"{count(counts['total'], 'memory', 'memories')}: ",
        f"{percent(report.ratio)} of what is visible.",
    )
    yield Gap()
    rows = [
        ("memories", number(counts["total"])),
        ("groups that say the same", number(counts["groups"])),
        ("memories in them (k each)", number(counts["participants"])),
        ("redundant copies (k-1 each)", number(counts["redundant"])),
        ("share of visible memories", percent(report.ratio)),
        ("hidden by earlier runs", number(report.marked)),
        ("estimated tokens, all visible", number(report.tokens)),
        ("estimated tokens wasted in recall", number(report.wasted_tokens)),
        ("pairs compared", number(counts["candidates"])),
        ("pairs beyond the budget, not compared", number(counts["left_out"])),
        ("pairs alike but kept apart", number(counts["held"])),
    ]
    yield Table(("figure", "value"), tuple(rows), frozenset({1}))
    yield say(f"Profile {report.profile}.")
    if report.taken_over:
        yield say(
            f"Nothing changed in {number(report.taken_over)} of "
            f"{count(len(report.pages), 'namespace')} since an earlier audit, which is taken over."
        )
    yield Gap()


def _largest(
    report: Report,
    memories: Mapping[str, Memory],
    top: int,
    members: int,
    rules: Unites | None,
    *,
    options: bool,
) -> Iterator[Block]:
    if not report.groups:
        yield say("Nothing is said twice.")
        yield Gap()
        return
    shown = report.groups[:top]
    yield Heading(f"Largest groups ({number(len(shown))} of {number(len(report.groups))})")
    if shown:
        yield LEGEND
    action = cast("ActionKind", report.action)
    there = (_of_report(group, memories, action, rules) for group in shown)
    yield from group_blocks(there, memories, members=members, options=options)


@dataclass(frozen=True, slots=True)
class _Reported:
    """A group of a report, as groups are shown."""

    survivor: str
    members: Sequence[ShownMember]
    why: str
    gains: Collection[str]
    rewrite: Rewrite | None = None


def _of_report(
    group: ToldGroup, memories: Mapping[str, Memory], action: ActionKind, rules: Unites | None
) -> _Reported:
    behind = [memories[member.id] for member in group.members if member.id in memories]
    kept = memories.get(group.survivor)
    takes = [] if kept is None else list(gains(kept, behind, action, rules))
    return _Reported(group.survivor, group.members, group.why, takes)


def _apart(
    report: Report, memories: Mapping[str, Memory], pairs: int, *, options: bool
) -> Iterator[Block]:
    for kind, held in report.held_by_kind.items():
        title, meaning = HELD[kind]
        yield Heading(f"{title}: {number(len(held))}")
        yield say(f"Not duplicates: {meaning}.")
        for pair in held[:pairs]:
            yield from _pair(pair, memories)
        if len(held) > pairs:
            yield more(len(held) - pairs, "--pairs" if options else "")
        yield Gap()


def _series(
    report: Report, memories: Mapping[str, Memory], pairs: int, *, options: bool
) -> Iterator[Block]:
    """One line for each sentence that was written again and again with other figures."""
    if not report.series:
        return
    yield Heading(f"Series: {number(len(report.series))}")
    yield say("Not duplicates: one sentence with other figures, written again and again.")
    for each in report.series[:pairs]:
        shown = each.newest or each.members[0]
        learn((memories.get(shown),))
        how = "keep the newest, " if each.newest else "such as "
        yield say(f"{count(len(each.members), 'memory', 'memories')}; {how}", strong(shown))
        if shown in memories:
            yield say(flat(memories[shown].content), level=1)
    if len(report.series) > pairs:
        yield more(len(report.series) - pairs, "--pairs" if options else "")
    yield Gap()


def _pair(pair: ToldPair, memories: Mapping[str, Memory]) -> Iterator[Block]:
    learn((memories.get(pair.a), memories.get(pair.b)))
    yield say(
        strong(pair.a),
        " and ",
        strong(pair.b),
        f"  {pair.similarity:.3f}  {quoted(pair.evidence)}",
        level=1,
    )
    yield say(*word_difference(text_of(memories, pair.a), text_of(memories, pair.b)), level=2)


def _parts(title: str, column: str, shares: Mapping[str, Share]) -> Iterator[Block]:
    if not shares:
        return
    yield Heading(title)
    rows = (
        (name or "(none)", number(s.total), number(s.redundant), percent(s.ratio))
        for name, s in shares.items()
    )
    yield Table((column, "memories", "redundant", "share"), tuple(rows), frozenset({1, 2, 3}))
    yield Gap()
