"""The report of `audit` and the preview of `dedup`, as blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from echoless.actions import Rewrite
from echoless.auditing import Report
from echoless.cli.differences import word_difference
from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Span,
    Table,
    count,
    dim,
    flat,
    names,
    number,
    percent,
    say,
    strong,
)
from echoless.findings import Findings
from echoless.model import Memory
from echoless.pages import HELD_KINDS, Share, ToldGroup, ToldPair
from echoless.planning import BY_CHAIN, Plan, gains
from echoless.profiles import ActionKind
from echoless.stores.base import Unites
from echoless.tally import Tally

if TYPE_CHECKING:
    from echoless.second_look import SecondLook

LEGEND: Final = say(
    "Differences: ",
    Span("only in the survivor", "old"),
    " ",
    Span("only in this memory", "new"),
    ", as words.",
)
HELD: Final[Mapping[str, tuple[str, str]]] = {
    "contradiction": ("Contradictions", "both cannot be true, and nothing says which is newer"),
    "update": ("Updates", "the same attribute with a newer value, older one first"),
    "sibling": ("Siblings", "one pattern, different things; both are true"),
    "unsure": ("Unsure, for a person to look at", "never acted on by itself"),
}
DONE: Final[Mapping[str, str]] = {"mark": "hidden", "merge": "merged", "delete": "deleted"}


# ------------------------------------------------------------------ audit


def shown_ids(report: Report, *, top: int, pairs: int) -> set[str]:
    """Memories whose texts a report shows: see `audit_blocks`."""
    groups = {id_ for g in report.groups[:top] for id_ in (g.survivor, *(m.id for m in g.members))}
    held = (pair for some in _held_by_kind(report).values() for pair in some[:pairs])
    return groups.union(*(pair.ids for pair in held))


def audit_blocks(
    report: Report,
    memories: Mapping[str, Memory],
    *,
    top: int,
    members: int,
    pairs: int,
    rules: Unites | None = None,
) -> Iterator[Block]:
    """The whole report.

    Args:
        report: The figures.
        memories: By id, those of `shown_ids`; what is gone since shows no text.
        top: Largest groups to show.
        members: Members of each of them to show.
        pairs: Pairs of each kind that look alike and stay apart to show.
        rules: The store's own rules of merging, where it has some.
    """
    yield from _summary(report)
    yield from _largest(report, memories, top, members, rules)
    yield from _apart(report, memories, pairs)
    yield from _parts("By namespace", "namespace", report.by_namespace)
    yield from _parts("Growth by month of creation", "month", report.by_month)
    yield from skipped_blocks(report.tally)


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
    yield Gap()


def _largest(
    report: Report,
    memories: Mapping[str, Memory],
    top: int,
    members: int,
    rules: Unites | None,
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
    yield from group_blocks(there, memories, members=members)


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


def _apart(report: Report, memories: Mapping[str, Memory], pairs: int) -> Iterator[Block]:
    for kind, held in _held_by_kind(report).items():
        if not held:
            continue
        title, meaning = HELD[kind]
        yield Heading(f"{title}: {number(len(held))}")
        yield say(f"Not duplicates: {meaning}.")
        for pair in held[:pairs]:
            yield from _pair(pair, memories)
        if len(held) > pairs:
            yield say(dim(f"{number(len(held) - pairs)} more; --pairs and --json show them."))
        yield Gap()


def _held_by_kind(report: Report) -> dict[str, list[ToldPair]]:
    """Held pairs by verdict, worst first, the closest of each first."""
    found: dict[str, list[ToldPair]] = {kind: [] for kind in HELD_KINDS}
    for pair in sorted(report.held, key=lambda p: (-p.similarity, p.ids)):
        found.get(pair.verdict, []).append(pair)
    return found


def _pair(pair: ToldPair, memories: Mapping[str, Memory]) -> Iterator[Block]:
    yield say(
        strong(pair.a),
        " and ",
        strong(pair.b),
        f"  {pair.similarity:.3f}  {pair.evidence}",
        level=1,
    )
    yield say(*word_difference(_text(memories, pair.a), _text(memories, pair.b)), level=2)


def _text(memories: Mapping[str, Memory], id_: str) -> str:
    """The text of a memory in one line; one that is gone meanwhile has none."""
    return flat(memories[id_].content) if id_ in memories else ""


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


def skipped_blocks(tally: Tally) -> Iterator[Block]:
    """What was left out, and why."""
    if not tally.skipped and not tally.notes:
        return
    yield Heading("Skipped and noted")
    for reason, ids in tally.skipped.items():
        yield say(strong(reason), f": {number(len(ids))} ({names(ids)})", level=1)
    for sentence in tally.notes:
        yield say(sentence, level=1)
    yield Gap()


# ------------------------------------------------------------------ groups and plans


class ShownMember(Protocol):
    """One memory behind a survivor: of a plan, or of a report."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def verdict(self) -> str | None: ...  # noqa: D102

    @property
    def similarity(self) -> float | None: ...  # noqa: D102

    @property
    def evidence(self) -> str | None: ...  # noqa: D102


class ShownGroup(Protocol):
    """Memories that say the same: of a plan, or of a report."""

    @property
    def survivor(self) -> str: ...  # noqa: D102

    @property
    def members(self) -> Sequence[ShownMember]: ...  # noqa: D102

    @property
    def why(self) -> str: ...  # noqa: D102

    @property
    def gains(self) -> Collection[str]: ...  # noqa: D102

    @property
    def rewrite(self) -> Rewrite | None: ...  # noqa: D102


def group_blocks(
    groups: Iterable[ShownGroup],
    memories: Mapping[str, Memory],
    *,
    first: int = 1,
    members: int | None = None,
) -> Iterator[Block]:
    """Groups with survivor, reason, members and evidence.

    Args:
        groups: Of a plan or a report.
        memories: By id.
        first: Number of the first group.
        members: How many of each group are shown; all by default.
    """
    for at, group in enumerate(groups, first):
        yield say(f"{at}. ", strong(f"keep {group.survivor}"), f"  ({group.why})")
        yield say(_text(memories, group.survivor), level=1)
        shown = group.members[:members]
        for member in shown:
            yield from member_blocks(member, group.survivor, memories)
        if len(shown) < len(group.members):
            left = number(len(group.members) - len(shown))
            yield say(dim(f"{left} more; --members and --json show them."), level=1)
        if group.rewrite is not None:
            yield say(strong("new text"), dim(f"  by {group.rewrite.by}"), level=1)
            yield say(flat(group.rewrite.content), level=2)
        if group.gains:
            yield say(dim(f"{group.survivor} takes over: {', '.join(group.gains)}"), level=1)
        yield Gap()


def member_blocks(
    member: ShownMember, survivor: str, memories: Mapping[str, Memory], *, label: str = ""
) -> Iterator[Block]:
    """One memory behind a survivor: evidence, then the words that differ."""
    similarity = "" if member.similarity is None else f"  {member.similarity:.3f}"
    verdict, evidence = member.verdict or "by a chain", member.evidence or BY_CHAIN
    yield say(f"{label}", strong(member.id), f"  {verdict}{similarity}  {evidence}", level=1)
    if _content(memories, survivor) == _content(memories, member.id):
        yield say(dim("the same text"), level=2)
    else:
        yield say(*word_difference(_text(memories, survivor), _text(memories, member.id)), level=2)


def _content(memories: Mapping[str, Memory], id_: str) -> str:
    return memories[id_].content if id_ in memories else ""


def plan_blocks(found: Findings, plan: Plan, top: int | None) -> Iterator[Block]:
    """The preview of `dedup`."""
    yield Heading(f"Plan for {found.url}")
    if not plan.actions:
        yield say("Nothing is said twice; there is nothing to do.")
    else:
        shown = plan.actions[:top]
        if shown:
            yield LEGEND
        yield from group_blocks(shown, found.memories)
        if len(shown) < len(plan.actions):
            yield say(
                dim(f"{count(len(plan.actions) - len(shown), 'more group')}; --top shows them.")
            )
    yield from skipped_blocks(found.tally)
    yield say(strong(promise(plan.counts)))
    held = found.counts["held"]
    if held:
        yield say(
            f"{count(held, 'pair')} that look alike stay apart (updates, contradictions, siblings, "
            "unsure); `echoless audit` lists them."
        )


def promise(counts: Mapping[str, int]) -> str:
    """What a plan would do, in one sentence."""
    parts = [
        f"{count(counts[kind], 'memory', 'memories')} would be {done}"
        for kind, done in DONE.items()
        if counts[kind]
    ]
    total = count(counts["groups"], "group")
    return f"{total}: {', '.join(parts)}." if parts else f"{total}: nothing would change."


def achieved(counts: Mapping[str, int]) -> str:
    """What a run did, in one sentence."""
    parts = [
        f"{count(counts[kind], 'memory', 'memories')} {done}"
        for kind, done in DONE.items()
        if counts[kind]
    ]
    return f"{', '.join(parts) or 'nothing changed'} in {count(counts['groups'], 'group')}."
