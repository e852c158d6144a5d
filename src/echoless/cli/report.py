"""The report of `audit` and the preview of `dedup`, as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from echoless.actions import Action, Member
from echoless.auditing import Report, Share, held_by_kind
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
from echoless.model import Judged, Memory, Update
from echoless.pipeline import Findings
from echoless.planning import Plan
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


def audit_blocks(
    report: Report, plan: Plan, *, top: int, members: int, pairs: int
) -> Iterator[Block]:
    """The whole report.

    Args:
        report: The figures.
        plan: A plan of its findings, for groups as a plan shows them.
        top: Largest groups to show.
        members: Members of each of them to show.
        pairs: Pairs of each kind that look alike and stay apart to show.
    """
    yield from _summary(report)
    yield from _largest(report.findings, plan, top, members)
    yield from _apart(report.findings, pairs)
    yield from _parts("By namespace", "namespace", report.by_namespace)
    yield from _parts("Growth by month of creation", "month", report.by_month)
    yield from skipped_blocks(report.findings.tally)


def second_look_blocks(second: SecondLook | None) -> Iterator[Block]:
    """What the full judge would hold back; nothing where it judged in the first place."""
    if second is None or not second.merges:
        return
    yield Heading("Second look")
    for line in second.lines():
        yield say(line.removeprefix("Second look: "))
    yield Gap()


def _summary(report: Report) -> Iterator[Block]:
    found = report.findings
    counts = found.counts
    yield Heading(f"Audit of {found.url}")
    yield say(
        strong(count(counts["redundant"], "redundant copy", "redundant copies")),
        f" in {count(counts['groups'], 'group')} among ",
        f"{count(counts['total'], 'memory', 'memories')}: ",
        f"{percent(found.ratio)} of what is visible.",
    )
    yield Gap()
    rows = [
        ("memories", number(counts["total"])),
        ("groups that say the same", number(counts["groups"])),
        ("memories in them (k each)", number(counts["participants"])),
        ("redundant copies (k-1 each)", number(counts["redundant"])),
        ("share of visible memories", percent(found.ratio)),
        ("hidden by earlier runs", number(len(found.marked))),
        ("estimated tokens, all visible", number(report.tokens)),
        ("estimated tokens wasted in recall", number(report.wasted_tokens)),
        ("pairs compared", number(counts["candidates"])),
        ("pairs beyond the budget, not compared", number(counts["left_out"])),
        ("pairs alike but kept apart", number(counts["held"])),
    ]
    yield Table(("figure", "value"), tuple(rows), frozenset({1}))
    yield say(f"Profile {found.settings.profile.name}.")
    yield Gap()


def _largest(found: Findings, plan: Plan, top: int, members: int) -> Iterator[Block]:
    if not plan.actions:
        yield say("Nothing is said twice.")
        yield Gap()
        return
    shown = plan.actions[:top]
    yield Heading(f"Largest groups ({number(len(shown))} of {number(len(plan.actions))})")
    if shown:
        yield LEGEND
    yield from group_blocks(shown, found.memories, members=members)


def _apart(found: Findings, pairs: int) -> Iterator[Block]:
    for kind, held in held_by_kind(found).items():
        if not held:
            continue
        title, meaning = HELD[kind]
        yield Heading(f"{title}: {number(len(held))}")
        yield say(f"Not duplicates: {meaning}.")
        closest = sorted(held, key=lambda j: (-j.verdict.evidence.similarity, j.a, j.b))
        for judged in closest[:pairs]:
            yield from _pair(judged, found.memories)
        if len(held) > pairs:
            yield say(dim(f"{number(len(held) - pairs)} more; --pairs and --json show them."))
        yield Gap()


def _pair(judged: Judged, memories: Mapping[str, Memory]) -> Iterator[Block]:
    a, b, verdict = judged.a, judged.b, judged.verdict
    if isinstance(verdict, Update) and verdict.newer == "a":
        a, b = b, a
    evidence = verdict.evidence
    yield say(
        strong(a), " and ", strong(b), f"  {evidence.similarity:.3f}  {evidence.line()}", level=1
    )
    yield say(*word_difference(flat(memories[a].content), flat(memories[b].content)), level=2)


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


def group_blocks(
    actions: Iterable[Action],
    memories: Mapping[str, Memory],
    *,
    first: int = 1,
    members: int | None = None,
) -> Iterator[Block]:
    """Groups with survivor, reason, members and evidence.

    Args:
        actions: One for each group.
        memories: By id.
        first: Number of the first group.
        members: How many of each group are shown; all by default.
    """
    for at, action in enumerate(actions, first):
        survivor = memories[action.survivor]
        yield say(f"{at}. ", strong(f"keep {action.survivor}"), f"  ({action.why})")
        yield say(flat(survivor.content), level=1)
        shown = action.members[:members]
        for member in shown:
            yield from member_blocks(member, survivor, memories[member.id])
        if len(shown) < len(action.members):
            left = number(len(action.members) - len(shown))
            yield say(dim(f"{left} more; --members and --json show them."), level=1)
        if action.rewrite is not None:
            yield say(strong("new text"), dim(f"  by {action.rewrite.by}"), level=1)
            yield say(flat(action.rewrite.content), level=2)
        if action.gains:
            yield say(dim(f"{action.survivor} takes over: {', '.join(action.gains)}"), level=1)
        yield Gap()


def member_blocks(
    member: Member, survivor: Memory, memory: Memory, *, label: str = ""
) -> Iterator[Block]:
    """One memory behind a survivor: evidence, then the words that differ."""
    similarity = "" if member.similarity is None else f"  {member.similarity:.3f}"
    verdict = member.verdict or "by a chain"
    yield say(f"{label}", strong(member.id), f"  {verdict}{similarity}  {member.evidence}", level=1)
    if survivor.content == memory.content:
        yield say(dim("the same text"), level=2)
    else:
        yield say(*word_difference(flat(survivor.content), flat(memory.content)), level=2)


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
