"""Report of `audit` as blocks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Table,
    count,
    difference,
    flat,
    number,
    percent,
    quoted,
    say,
    strong,
)
from echoless.cli.group_view import (
    LEGEND,
    ShownMember,
    evidence_line,
    group_blocks,
    more,
    off_blocks,
    skipped_blocks,
    text_of,
)
from echoless.core.model import Memory
from echoless.core.overlaps import SharedPassage
from echoless.core.profiles import ACTIONS
from echoless.core.secret_masking import learn
from echoless.execution.actions import Rewrite
from echoless.execution.plan import gains
from echoless.stores.base import Store
from echoless.workflows.audit.namespace_report import Share
from echoless.workflows.audit.report import Report
from echoless.workflows.pairs.threshold_comparison import ThresholdComparison

_MARKER: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+")
"""What a list item begins with."""

_MOST_PARTS: Final = 12
"""Namespaces or months that are all listed; of more, those with redundant copies."""

HELD: Final[Mapping[str, tuple[str, str]]] = {
    "contradiction": ("Contradictions", "not both can be true, and nothing says which is newer"),
    "update": ("Updates", "the second memory has a newer value of the same thing"),
    "sibling": ("Siblings", "one pattern, different things; both can be true"),
    "unsure": ("Unsure", "a person has to look; nothing is done about them"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of a report is shown.

    Attributes:
        top: Largest groups.
        members: Members of each of these groups.
        pairs: Pairs of each kind that look alike and stay apart.
        explain: Whether the rule and the similarity of each verdict are shown.
        options: Whether the reader can give options of the command line to see more.
    """

    top: int
    members: int
    pairs: int
    explain: bool = False
    options: bool = True

    def option(self, name: str, value: int) -> tuple[str, int] | None:
        """Returns an option that shows all, where the reader can give one."""
        return (name, value) if self.options else None


def audit_blocks(store: Store, report: Report, extent: Extent) -> list[Block]:
    """Returns the whole report, with texts as they are now.

    Args:
        store: Open, the one that was audited; a memory that is gone since shows no text.
        report: The figures.
        extent: How much of it is shown.
    """
    groups = report.groups[: extent.top]
    held = (pair for pairs in report.held_by_kind.values() for pair in pairs[: extent.pairs])
    series = report.series[: extent.pairs]
    overlaps = report.overlaps[: extent.pairs]
    # all members of the groups: the report says what survivors take over from them
    ids = {id_ for group in groups for id_ in (group.survivor, *(m.id for m in group.members))}
    ids.update(id_ for pair in held for id_ in pair.ids)
    ids.update(id_ for each in series for id_ in (each.newest, each.members[0]))
    ids.update(id_ for each in overlaps for id_ in (each.a, each.b))
    memories = store.get(ids - {""})
    return [
        *_summary(report),
        *_largest(report, memories, store, extent),
        *_apart(report, memories, extent),
        *_overlaps(report, memories, extent),
        *_series(report, memories, extent),
        *_parts("By namespace", "namespace", report.by_namespace),
        *_parts("Growth by month of creation", "month", report.by_month),
        *skipped_blocks(report.tally),
    ]


def comparison_blocks(second: ThresholdComparison | None) -> Iterator[Block]:
    """Yields what the full judge would hold back; nothing where it judged in the first place."""
    if second is None or not second.merges:
        return
    yield Heading("Second look")
    for line in (second.summary, *second.example_lines()):
        yield say(line)
    yield Gap()


def answer_blocks(report: Report) -> Iterator[Block]:
    """Yields what the audit did without, if anything, then how much is repetition."""
    yield from off_blocks(report.off)
    copies, inside, whole = report.answer.partition(" in ")
    yield say(strong(copies), inside + whole)


def _summary(report: Report) -> Iterator[Block]:
    """Yields the figures of the whole store."""
    counts = report.counts
    yield Heading(f"Audit of {report.url}")
    yield from answer_blocks(report)
    if report.unasked:
        yield say(report.unasked)
    yield Gap()
    rows = [
        ("memories", number(counts["total"])),
        ("groups that say the same", number(counts["groups"])),
        ("memories in these groups", number(counts["participants"])),
        ("redundant copies, all but one of each", number(counts["redundant"])),
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


@dataclass(frozen=True, slots=True)
class _ReportedGroup:
    """A group of a report, in the form in which groups are shown."""

    survivor: str
    members: Sequence[ShownMember]
    why: str
    gains: Collection[str]
    rewrite: Rewrite | None = None


def _largest(
    report: Report, memories: Mapping[str, Memory], rules: Store | None, extent: Extent
) -> Iterator[Block]:
    """Yields the largest groups, with what each survivor takes over."""
    if not report.groups:
        yield say("Nothing is said twice.")
        yield Gap()
        return
    top = report.groups[: extent.top]
    yield Heading(f"Largest groups ({number(len(top))} of {number(len(report.groups))})")
    if top:
        yield LEGEND
        yield Gap()
    action = next(kind for kind in ACTIONS if kind == report.action)
    groups = []
    for group in top:
        survivor = memories.get(group.survivor)
        others = [memories[member.id] for member in group.members if member.id in memories]
        fields = [] if survivor is None else list(gains(survivor, others, action, rules))
        groups.append(_ReportedGroup(group.survivor, group.members, group.why, fields))
    yield from group_blocks(
        groups,
        memories,
        members=extent.members,
        options=extent.options,
        explained=extent.explain,
    )
    if len(top) < len(report.groups):
        total = len(report.groups)
        yield more(total - len(top), extent.option("--top", total))
        yield Gap()


def _apart(report: Report, memories: Mapping[str, Memory], extent: Extent) -> Iterator[Block]:
    """Yields the pairs that look alike and stay apart, by kind."""
    for kind, held in report.held_by_kind.items():
        title, meaning = HELD[kind]
        yield Heading(f"{title}: {number(len(held))}")
        yield say(f"Not duplicates: {meaning}.")
        for pair in held[: extent.pairs]:
            learn((memories.get(pair.a), memories.get(pair.b)))
            clause = f"  {quoted(pair.sentence)}"
            yield say(strong(pair.a), " and ", strong(pair.b), clause, level=1)
            if extent.explain:
                yield evidence_line(pair.verdict, pair.similarity, pair.evidence, level=2)
            texts = (text_of(memories, pair.a), text_of(memories, pair.b))
            yield say(*difference(*texts), level=2)
        if len(held) > extent.pairs:
            yield more(len(held) - extent.pairs, extent.option("--pairs", len(held)))
        yield Gap()


def _overlaps(report: Report, memories: Mapping[str, Memory], extent: Extent) -> Iterator[Block]:
    """Yields the notes that stay apart though most of one is in the other."""
    if not report.overlaps:
        return
    yield Heading(f"Notes with much in common: {number(len(report.overlaps))}")
    yield say(
        "Not merged: most of one note is in the other, but not all, or under another heading."
    )
    for each in report.overlaps[: extent.pairs]:
        learn((memories.get(each.a), memories.get(each.b)))
        shares = ((each.share_a, each.a, each.b), (each.share_b, each.b, each.a))
        told = (f"{percent(share)} of {one} is in {other}" for share, one, other in shares if share)
        yield say(strong(", ".join(told)), level=1)
        texts = memories.get(each.a), memories.get(each.b)
        for passages, title in ((each.passages, ""), (each.differing, "differs: ")):
            for passage in passages[: extent.pairs]:
                yield _shared_passage(passage, texts, title)
            if len(passages) > extent.pairs:
                yield more(len(passages) - extent.pairs, level=2)
    if len(report.overlaps) > extent.pairs:
        total = len(report.overlaps)
        yield more(total - extent.pairs, extent.option("--pairs", total))
    yield Gap()


def _shared_passage(
    passage: SharedPassage, notes: tuple[Memory | None, Memory | None], title: str
) -> Block:
    """Returns a passage of two notes, with the words that differ."""
    a, b = (
        "" if note is None else flat(_without_marker(note.content[start:end]))
        for note, (start, end) in zip(notes, (passage.a, passage.b), strict=True)
    )
    return say(title, *difference(a, b), level=2)


def _without_marker(passage: str) -> str:
    """Returns a passage without the sign of a list item before it."""
    text = passage.strip()
    marker = _MARKER.match(text)
    return text[marker.end() :] if marker else text


def _series(report: Report, memories: Mapping[str, Memory], extent: Extent) -> Iterator[Block]:
    """Yields the sentences that were written again and again with other figures."""
    if not report.series:
        return
    yield Heading(f"Series: {number(len(report.series))}")
    yield say("Not duplicates: one sentence or label with other values, written again and again.")
    for each in report.series[: extent.pairs]:
        shown = each.newest or each.members[0]
        learn((memories.get(shown),))
        how = "keep the newest, " if each.newest else "such as "
        yield say(f"{count(len(each.members), 'memory', 'memories')}; {how}", strong(shown))
        if shown in memories:
            yield say(flat(memories[shown].content), level=1)
    if len(report.series) > extent.pairs:
        total = len(report.series)
        yield more(total - extent.pairs, extent.option("--pairs", total))
    yield Gap()


def _parts(title: str, column: str, shares: Mapping[str, Share]) -> Iterator[Block]:
    """Yields a table of the share of redundant copies in each namespace or month.

    Of many, those without redundant copies are counted in one line: a document has a namespace for
    each heading.
    """
    if not shares:
        return
    yield Heading(title)
    shown = {name: s for name, s in shares.items() if s.redundant or len(shares) <= _MOST_PARTS}
    rows = (
        (name or "(none)", number(s.total), number(s.redundant), percent(s.ratio))
        for name, s in shown.items()
    )
    if shown:
        yield Table((column, "memories", "redundant", "share"), tuple(rows), frozenset({1, 2, 3}))
    if len(shown) < len(shares):
        left = count(len(shares) - len(shown), f"more {column}" if shown else column)
        yield say(f"{left} without redundant copies; --json has all of them.")
    yield Gap()
