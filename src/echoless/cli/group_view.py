"""Groups of a report or a plan as blocks, and the preview of a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Span,
    count,
    difference,
    dim,
    flat,
    names,
    number,
    quoted,
    say,
    strong,
)
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.secret_masking import learn
from echoless.execution.actions import Rewrite
from echoless.execution.plan import BY_CHAIN, Plan
from echoless.workflows.dedupe.findings import Findings

LEGEND: Final = say(
    "Differences: ",
    Span("only in the survivor", "old"),
    " ",
    Span("only in this memory", "new"),
    ", as words.",
)
DONE: Final[Mapping[str, str]] = {"mark": "hidden", "merge": "merged", "delete": "deleted"}


class ShownMember(Protocol):
    """One memory behind a survivor: of a plan, or of a report."""

    @property
    def id(self) -> str:
        """Id of the memory."""

    @property
    def verdict(self) -> str | None:
        """Direct verdict with the survivor; None in a transitive group without one."""

    @property
    def similarity(self) -> float | None:
        """Similarity with the survivor, 0 to 1; None where nothing measured it."""

    @property
    def evidence(self) -> str | None:
        """Reason of the verdict in one line; None without a verdict."""


class ShownGroup(Protocol):
    """Memories that say the same: of a plan, or of a report."""

    @property
    def survivor(self) -> str:
        """Id of the memory that stays visible."""

    @property
    def members(self) -> Sequence[ShownMember]:
        """The other memories."""

    @property
    def why(self) -> str:
        """Reason for the choice of the survivor."""

    @property
    def gains(self) -> Collection[str]:
        """Fields that the survivor takes over from the others."""

    @property
    def rewrite(self) -> Rewrite | None:
        """New text of the survivor, if it gets one."""


def group_blocks(
    groups: Iterable[ShownGroup],
    memories: Mapping[str, Memory],
    *,
    first: int = 1,
    members: int | None = None,
    options: bool = True,
) -> Iterator[Block]:
    """Yields groups with survivor, reason, members and evidence.

    Args:
        groups: Of a plan or a report.
        memories: By id.
        first: Number of the first group.
        members: How many of each group are shown; all by default.
        options: Whether the reader can give options of the command line.
    """
    for at, group in enumerate(groups, first):
        yield say(f"{at}. ", strong(f"keep {group.survivor}"), f"  ({group.why})")
        yield say(text_of(memories, group.survivor), level=1)
        shown = group.members[:members]
        for member in shown:
            yield from member_blocks(member, group.survivor, memories)
        if len(shown) < len(group.members):
            yield more(len(group.members) - len(shown), "--members" if options else "", level=1)
        if group.rewrite is not None:
            yield say(strong("new text"), dim(f"  by {group.rewrite.by}"), level=1)
            yield say(flat(group.rewrite.content), level=2)
        if group.gains:
            yield say(dim(f"{group.survivor} takes over: {', '.join(group.gains)}"), level=1)
        yield Gap()


def more(left: int, option: str, *, level: int = 0) -> Block:
    """Returns how many are not shown, and which option shows them, if there is one."""
    shows = f"; {option} and --json show them" if option else ""
    return say(dim(f"{number(left)} more{shows}."), level=level)


def member_blocks(
    member: ShownMember, survivor: str, memories: Mapping[str, Memory], *, label: str = ""
) -> Iterator[Block]:
    """Yields one memory behind a survivor: the evidence, then the words that differ."""
    similarity = "" if member.similarity is None else f"  {member.similarity:.3f}"
    learn((memories.get(survivor), memories.get(member.id)))
    verdict, evidence = member.verdict or "by a chain", quoted(member.evidence or BY_CHAIN)
    yield say(f"{label}", strong(member.id), f"  {verdict}{similarity}  {evidence}", level=1)
    contents = {memories[id_].content if id_ in memories else "" for id_ in (survivor, member.id)}
    if len(contents) == 1:
        yield say(dim("the same text"), level=2)
    else:
        texts = (text_of(memories, survivor), text_of(memories, member.id))
        yield say(*difference(*texts), level=2)


def text_of(memories: Mapping[str, Memory], id_: str) -> str:
    """Returns the text of a memory in one line; empty for one that is gone meanwhile."""
    return flat(memories[id_].content) if id_ in memories else ""


def skipped_blocks(tally: Tally) -> Iterator[Block]:
    """Yields what was left out and why, then the notes of the run."""
    if not tally.skipped and not tally.notes:
        return
    yield Heading("Skipped and noted")
    for reason, ids in tally.skipped.items():
        yield say(strong(reason), f": {number(len(ids))} ({names(ids)})", level=1)
    for sentence in tally.notes:
        yield say(quoted(sentence), level=1)
    yield Gap()


def plan_blocks(findings: Findings, plan: Plan, top: int | None) -> Iterator[Block]:
    """Yields the preview of `dedup`.

    Args:
        findings: What the plan was made from.
        plan: The plan.
        top: Largest groups to show; all if None.
    """
    yield Heading(f"Plan for {findings.url}")
    if not plan.actions:
        yield say("Nothing is said twice; there is nothing to do.")
    else:
        shown = plan.actions[:top]
        if shown:
            yield LEGEND
        yield from group_blocks(shown, findings.memories)
        if len(shown) < len(plan.actions):
            yield say(
                dim(f"{count(len(plan.actions) - len(shown), 'more group')}; --top shows them.")
            )
    yield from skipped_blocks(findings.tally)
    yield say(strong(promise(plan.counts)))
    held = findings.counts["held"]
    if held:
        yield say(
            f"{count(held, 'pair')} that look alike stay apart (updates, contradictions, siblings, "
            "unsure); `echoless audit` lists them."
        )
    if findings.overlaps:
        yield say(
            f"{count(len(findings.overlaps), 'pair')} of notes have most of one in the other and "
            "stay apart; `echoless audit` shows the passages."
        )


def promise(counts: Mapping[str, int]) -> str:
    """Returns what a plan would do, in one sentence."""
    parts = [
        f"{count(counts[kind], 'memory', 'memories')} would be {done}"
        for kind, done in DONE.items()
        if counts[kind]
    ]
    total = count(counts["groups"], "group")
    return f"{total}: {', '.join(parts)}." if parts else f"{total}: nothing would change."


def achieved(counts: Mapping[str, int]) -> str:
    """Returns what a run did, in one sentence."""
    parts = [
        f"{count(counts[kind], 'memory', 'memories')} {done}"
        for kind, done in DONE.items()
        if counts[kind]
    ]
    return f"{', '.join(parts) or 'nothing changed'} in {count(counts['groups'], 'group')}."
