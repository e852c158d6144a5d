"""One item of a review as blocks: its texts, their differences, and the effect of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    MemoryText,
    Paragraph,
    difference,
    dim,
    flat,
    legend,
    number,
    say,
    short_time,
    strong,
)
from echoless.core.model import Memory, verdict_name
from echoless.core.secret_masking import learn
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import verdict_clause
from echoless.workflows.review.items import CLASSES, ItemKind, ReviewItem, facts_of
from echoless.workflows.review.session import Filter, ReviewSession

NOUNS: Final[dict[ItemKind, str]] = {
    "same": "group",
    "newer": "newer value",
    "unsure": "unsure pair",
}
"""Kinds of item in words, each for one item."""

_MEMBERS: Final = 20
"""Memories of one item that its card compares at most."""


def card_blocks(
    session: ReviewSession, item: ReviewItem, wanted: Filter, survivor: str, text: str | None
) -> Iterator[Block]:
    """Yields an item as a person is asked about it.

    Args:
        session: The review.
        item: What is asked.
        wanted: What the review shows now.
        survivor: The memory that would stay; empty where a person has to choose.
        text: New text of the survivor, if there is one.
    """
    learn(session.memory(id_) for id_ in item.ids)
    yield Gap()
    yield Heading(_title(session, item, wanted))
    shown = session.memory(survivor or item.ids[0])
    if survivor:
        yield say(strong(f"keep {survivor}"), f"  ({item.reason(survivor)})")
    else:
        yield say("[1] ", strong(shown.id), f"  {item.why}")
    yield MemoryText(shown.content)
    yield _facts(shown)
    others = [(at, id_) for at, id_ in enumerate(numbered(item), 1) if id_ != shown.id]
    for at, id_ in others[:_MEMBERS]:
        yield from _member_blocks(session, item, id_, shown, label=f"[{at}] ")
    if len(others) > _MEMBERS:
        yield say(dim(f"{number(len(others) - _MEMBERS)} more; f shows all texts."), level=1)
    if survivor and text is not None:
        yield say(strong("new text of "), strong(survivor), dim("  by you"))
        yield say(*difference(_line(shown.content), _line(text)), level=1)


def numbered(item: ReviewItem) -> tuple[str, ...]:
    """Returns the memories that a number chooses as the survivor, from 1 on.

    The proposed survivor of a group or chain has no number, as `accept` keeps it.
    """
    return item.others if item.kind != "unsure" else item.ids


def text_blocks(session: ReviewSession, item: ReviewItem) -> Iterator[Block]:
    """Yields the texts of an item, each whole and by itself."""
    for id_ in item.ids:
        yield say(strong(id_))
        yield MemoryText(session.memory(id_).content)


def effect_blocks(session: ReviewSession, item: ReviewItem, survivor: str) -> Iterator[Block]:
    """Yields who would go behind another survivor, and who would stay and why.

    Raises:
        UsageError: That memory may not be the survivor.
    """
    regrouped = session.going(item.key, survivor)
    going = ", ".join(member.id for member in regrouped.group.members)
    yield say(strong(f"{survivor} would stay"), f", {going} would go behind it.")
    for id_, why in regrouped.left_out.items():
        yield say(f"{id_} {why}: left out, it stays visible.", level=1)


def _title(session: ReviewSession, item: ReviewItem, wanted: Filter) -> str:
    """Returns the kind and the place of an item, and the class of a group."""
    counts = session.counts(item.kind)
    whole = sum(counts.values())
    place = (
        f"{NOUNS[item.kind].capitalize()} {number(whole - counts['open'] + 1)} of {number(whole)}"
    )
    if item.group_class:
        place += f": {CLASSES[item.group_class].lower()}"
    if item.namespace:
        place += f", in {item.namespace}"
    narrowed = [f"/{wanted.words}"] if wanted.words else []
    narrowed += [f"namespace:{wanted.namespace}"] if wanted.namespace is not None else []
    return place + (f" (filter {' '.join(narrowed)})" if narrowed else "")


def _member_blocks(
    session: ReviewSession, item: ReviewItem, id_: str, shown: Memory, *, label: str
) -> Iterator[Block]:
    """Yields a member of an item, with its differences from the memory that is shown whole."""
    memory = session.memory(id_)
    judged = item.verdicts.get(id_)
    verdict = None if judged is None else verdict_name(judged.verdict)
    clause = "" if judged is None else sentence(judged.verdict, judged.a, judged.b)
    yield say(label, strong(id_), verdict_clause(verdict, clause), level=1)
    if memory.content != shown.content:
        yield say(*difference(_line(shown.content), _line(memory.content)), level=2)
    yield _facts(memory, level=2)


def _line(text: str) -> str:
    """Returns a whole text on one line, its secrets masked."""
    return flat(text, len(text) + 1)


def _facts(memory: Memory, *, level: int = 1) -> Paragraph:
    """Returns when a memory was made, and what else is known about it."""
    parts = (short_time(memory.created_at or ""), *facts_of(memory))
    return say(dim(" · ".join(filter(None, parts))), level=level)


LEGEND: Final = legend("only there", "only here", title="Differences from the text above")
