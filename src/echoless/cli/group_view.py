"""Groups of a report or a plan as blocks, and the preview of a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Span,
    command,
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
from echoless.cli.typed_command import again
from echoless.core.commands import command_line
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.secret_masking import learn
from echoless.execution.actions import Rewrite, promise
from echoless.execution.plan import BY_CHAIN, Plan
from echoless.workflows.dedupe.findings import Findings, unasked_note

LEGEND: Final = say(
    "Differences: ",
    Span("only in the memory that stays", "old"),
    " ",
    Span("only in the other one", "new"),
    ".",
)
_SIGNS: Final[Mapping[str | None, str]] = {"duplicate": "=", "subsumes": "<"}
"""What stands before the verdict on a member: it says the same, or less than the survivor."""


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

    @property
    def sentence(self) -> str:
        """The verdict as a clause for a person; empty where only its name is known."""


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
    explained: bool = False,
) -> Iterator[Block]:
    """Yields groups with survivor, reason, members, and how each member differs.

    Args:
        groups: Of a plan or a report.
        memories: By id.
        first: Number of the first group.
        members: How many of each group are shown; all by default.
        options: Whether the reader can give options of the command line.
        explained: Whether the rule and the similarity of each verdict are shown.
    """
    for at, group in enumerate(groups, first):
        yield say(f"{at}. ", strong(f"keep {group.survivor}"), f"  ({group.why})")
        yield say(text_of(memories, group.survivor), level=1)
        shown = group.members[:members]
        for member in shown:
            yield from member_blocks(member, group.survivor, memories, explained=explained)
        if len(shown) < len(group.members):
            option = ("--members", len(group.members)) if options else None
            yield more(len(group.members) - len(shown), option, level=1)
        if group.rewrite is not None:
            yield say(strong("new text"), dim(f"  by {group.rewrite.by}"), level=1)
            yield say(flat(group.rewrite.content), level=2)
        if group.gains:
            yield say(dim(f"{group.survivor} takes over: {', '.join(group.gains)}"), level=1)
        yield Gap()


def more(left: int, option: tuple[str, int] | None = None, *, level: int = 0) -> Block:
    """Returns how many are not shown, and the command that shows them.

    Args:
        left: How many.
        option: Name and value of the option that shows them all; None where there is none.
        level: Of the paragraph.
    """
    if option is None:
        return say(dim(f"{number(left)} more."), level=level)
    name, value = option
    shows = again(name, str(value)) or f"{name} {value}"
    return command(shows, before=f"{number(left)} more: ", level=level)


def member_blocks(
    member: ShownMember,
    survivor: str,
    memories: Mapping[str, Memory],
    *,
    label: str = "",
    explained: bool = False,
) -> Iterator[Block]:
    """Yields one memory behind a survivor: the verdict, then the words that differ.

    Args:
        member: The memory.
        survivor: Id of the one that stays.
        memories: By id.
        label: What stands before the id.
        explained: Whether the rule and the similarity of the verdict follow.
    """
    learn((memories.get(survivor), memories.get(member.id)))
    clause = verdict_clause(member.verdict, member.sentence)
    yield say(label, strong(member.id), clause, level=1)
    if explained:
        yield evidence_line(member.verdict, member.similarity, member.evidence, level=2)
    contents = {memories[id_].content if id_ in memories else "" for id_ in (survivor, member.id)}
    if len(contents) > 1:
        texts = (text_of(memories, survivor), text_of(memories, member.id))
        yield say(*difference(*texts), level=2)


def verdict_clause(verdict: str | None, sentence: str) -> str:
    """Returns what stands behind the id of a member: a sign and the verdict for a person.

    Args:
        verdict: Its name; None where there is only a chain of others between the two.
        sentence: The verdict as a clause; empty where only its name is known.
    """
    return f"  {_SIGNS.get(verdict, '~')} {quoted(sentence or plain_verdict(verdict))}"


def plain_verdict(verdict: str | None) -> str:
    """Returns a verdict that lets a memory stand behind another, in plain words."""
    match verdict:
        case "duplicate":
            return "the same"
        case "subsumes":
            return "says less"
        case None:
            return BY_CHAIN
        case _:
            return verdict


def evidence_line(
    verdict: str | None, similarity: float | None, evidence: str | None, *, level: int
) -> Block:
    """Returns the name, the similarity and the rule of a verdict, for who asked for them."""
    measured = "" if similarity is None else f" {similarity:.3f}"
    why = f": {quoted(evidence)}" if evidence else ""
    return say(dim(f"{verdict or 'by a chain'}{measured}{why}"), level=level)


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


def off_blocks(off: str) -> Iterator[Block]:
    """Yields what a run did without, before its answer; nothing where that is empty."""
    if off:
        yield say(strong("This answer is not complete. "), off)
        yield Gap()


def plan_blocks(
    findings: Findings,
    plan: Plan,
    store: str,
    *,
    top: int | None = None,
    explained: bool = False,
) -> Iterator[Block]:
    """Yields the preview of a plan.

    Args:
        findings: What the plan was made from.
        plan: The plan.
        store: The store as it was typed, for lines to copy.
        top: Largest groups to show; all if None.
        explained: Whether the rule and the similarity of each verdict are shown.
    """
    yield Heading(f"Plan for {findings.url}")
    if unasked := unasked_note(findings.unasked):
        yield say(unasked)
        yield Gap()
    yield from off_blocks(findings.off)
    if not plan.actions:
        yield say("Nothing is said twice; there is nothing to do.")
    else:
        shown = plan.actions[:top]
        if shown:
            yield LEGEND
            yield Gap()
        yield from group_blocks(shown, findings.memories, explained=explained)
        if len(shown) < len(plan.actions):
            yield from _other_groups(len(plan.actions), len(shown), store)
    yield from skipped_blocks(findings.tally)
    yield say(strong(promise(plan.counts)))
    held, overlaps = findings.counts["held"], len(findings.overlaps)
    if held:
        yield say(f"{count(held, 'pair')} look alike and stay apart.")
    if overlaps:
        yield say(f"{count(overlaps, 'pair')} of notes have much in common and stay apart.")
    if held or overlaps:
        yield command(command_line("audit", store), before="To see them: ")


def _other_groups(total: int, shown: int, store: str) -> Iterator[Block]:
    """Yields how many groups are not shown, and the command that shows them."""
    left = count(total - shown, "more group")
    option = ("--top", str(total))
    line = again(*option) or command_line("dedup", store, *option)
    yield command(line, before=f"{left}: ", level=0)
    yield Gap()
