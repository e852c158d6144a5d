"""Groups, plans and runs as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from echoless.core.document import (
    Block,
    Box,
    Gap,
    Heading,
    Quote,
    Repeat,
    TextPair,
    command,
    count,
    dim,
    flat,
    legend,
    more,
    names,
    number,
    quoted,
    say,
    short_time,
    strong,
)
from echoless.core.masking import learn
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.execution.actions import BY_CHAIN, Action, Edit, Member

LEGEND: Final = legend("removed words", "added words")
_SIGNS: Final[Mapping[str | None, str]] = {"duplicate": "=", "subsumes": "<", "update": "<"}
"""What stands before the verdict on a member: it says the same, or less or older values."""


def group_blocks(
    groups: Iterable[Action],
    memories: Mapping[str, Memory],
    *,
    members: int | None = None,
    explained: bool = False,
    repeat: Repeat | None = None,
) -> Iterator[Block]:
    """Yields groups with survivor, reason, members, and how each member differs.

    Args:
        groups: Of a plan, or of a report in the same form.
        memories: By id.
        members: How many of each group are shown; all by default.
        explained: Whether the rule and the similarity of each verdict are shown.
        repeat: How a reader sees more; None where there is no way.
    """
    for at, group in enumerate(groups, 1):
        blocks = _group(at, group, memories, members, repeat, explained=explained)
        yield Box(tuple(blocks))


def _group(
    at: int,
    group: Action,
    memories: Mapping[str, Memory],
    members: int | None,
    repeat: Repeat | None,
    *,
    explained: bool,
) -> Iterator[Block]:
    """Yields one group."""
    survivor, why = group.survivor, group.why and f"  ({quoted(group.why)})"
    if isinstance(group, Edit):
        yield say(f"{at}. ", strong(f"edit {survivor}"), why)
        learn(memories.get(id_) for id_ in group.ids)
        for member in group.members:
            yield say(strong("- "), flat(member.preview), level=1)
            if member.sentence:
                yield say(strong("= "), flat(member.sentence), level=1)
        return
    yield say(f"{at}. ", strong(f"keep {survivor}"), why)
    if survivor in memories:
        yield quote(survivor, memories)
    shown = group.members[:members]
    for member in shown:
        yield from _member(member, survivor, memories, explained=explained)
    if len(shown) < len(group.members):
        whole = len(group.members)
        yield more(whole - len(shown), repeat and repeat("--members", whole), level=1)
    if group.rewrite is not None:
        yield say(strong("new text"), dim(f"  by {group.rewrite.by}"), level=1)
        yield say(flat(group.rewrite.content), level=2)
    if group.gains:
        yield say(dim(f"{survivor} takes over: {', '.join(group.gains)}"), level=1)


def _member(
    member: Member, survivor: str, memories: Mapping[str, Memory], *, explained: bool
) -> Iterator[Block]:
    """Yields one memory behind a survivor: the verdict, then the words that differ."""
    learn((memories.get(survivor), memories.get(member.id)))
    yield say(strong(member.id), verdict_clause(member.verdict, member.sentence), level=1)
    if explained:
        yield evidence_line(member.verdict, member.similarity, member.evidence, level=2)
    yield TextPair(quote(member.id, memories), quote(survivor, memories), new_above=True)


def quote(id_: str, memories: Mapping[str, Memory], *, level: int = 1) -> Quote:
    """Returns the text of a memory with its date and its namespace."""
    memory = memories.get(id_)
    if memory is None:
        return Quote(None, id_, level=level)
    pinned = "pinned" if memory.pinned else ""
    facts = (short_time(memory.created_at or ""), memory.namespace, pinned)
    return Quote(memory.content, id_, tuple(filter(None, facts)), level)


def verdict_clause(verdict: str | None, sentence: str) -> str:
    """Returns what stands behind the id of a member: a sign and the verdict for a person.

    Args:
        verdict: Its name; None where there is only a chain of others between the two.
        sentence: The verdict as a clause; empty where only its name is known.
    """
    return f"  {_SIGNS.get(verdict, '~')} {quoted(sentence or plain_verdict(verdict))}"


def plain_verdict(verdict: str | None) -> str:
    """Returns a verdict that lets a memory stand behind another, in plain words."""
    plain = {"duplicate": "the same", "subsumes": "says less", "update": "an older value"}
    return BY_CHAIN if verdict is None else plain.get(verdict, verdict)


def evidence_line(
    verdict: str | None, similarity: float | None, evidence: str | None, *, level: int
) -> Block:
    """Returns the name, the similarity and the rule of a verdict, for who asked for them."""
    measured = "" if similarity is None else f" {similarity:.3f}"
    why = f": {quoted(evidence)}" if evidence else ""
    return say(dim(f"{verdict or 'by a chain'}{measured}{why}"), level=level)


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
    url: str,
    actions: Sequence[Action],
    memories: Mapping[str, Memory],
    *,
    top: int | None = None,
    explained: bool = False,
    repeat: Repeat | None = None,
    remarks: Iterable[Block] = (),
) -> Iterator[Block]:
    """Yields the groups of a plan, the largest first.

    Args:
        url: Of the store.
        actions: Of the plan.
        memories: By id.
        top: Groups to show; all if None.
        explained: Whether the rule and the similarity of each verdict are shown.
        repeat: How a reader sees more; None where there is no way.
        remarks: On the run that made the plan; they come first.
    """
    yield Heading(f"Plan for {url}")
    yield from remarks
    if not actions:
        yield say("Nothing is said twice; there is nothing to do.")
        yield Gap()
        return
    shown = actions[:top]
    if shown:
        yield LEGEND
        yield Gap()
    older = [action for action in shown if action.is_update]
    edits = [action for action in shown if isinstance(action, Edit)]
    same = shown[len(older) : len(shown) - len(edits)]
    for title, part in (("Out of date", older), ("The same", same), ("Said again in notes", edits)):
        if part and (older or edits):
            yield Heading(title)
        yield from group_blocks(part, memories, explained=explained, repeat=repeat)
    if len(shown) < len(actions):
        left = count(len(actions) - len(shown), "more group")
        line = repeat and repeat("--top", len(actions))
        yield command(line, before=f"{left}: ", level=0) if line else say(f"{left}.")
        yield Gap()
