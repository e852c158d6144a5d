"""One item of a review as blocks: its texts, their differences, and the effect of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    MemoryText,
    Span,
    Style,
    count,
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
from echoless.core.text_difference import alike, changed_ranges
from echoless.core.timestamps import instant
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import verdict_clause
from echoless.workflows.review.items import CLASSES, ItemKind, ReviewItem, facts_of
from echoless.workflows.review.session import Filter, ReviewSession

NOUNS: Final[dict[ItemKind, str]] = {
    "conflict": "conflict",
    "newer": "newer value",
    "same": "group",
    "unsure": "unsure pair",
}
"""Kinds of item in words, each for one item."""

_MEMBERS: Final = 20
"""Memories of one item that its card shows at most."""

LEGEND: Final = legend("goes", "stays", title="Marks")


def counted(session: ReviewSession) -> str:
    """Returns how many items of which kind a review has."""
    counts = ((sum(session.counts(kind).values()), noun) for kind, noun in NOUNS.items())
    return ", ".join(count(amount, noun) for amount, noun in counts if amount)


def card_blocks(
    session: ReviewSession, item: ReviewItem, wanted: Filter, survivor: str, text: str | None
) -> Iterator[Block]:
    """Yields an item as a person is asked about it, each memory at the number that keeps it.

    Args:
        session: The review.
        item: What is asked.
        wanted: What the review shows now.
        survivor: The memory that would stay; empty where a person has to choose.
        text: New text of the survivor, if there is one.
    """
    learn(item.memories)
    yield Gap()
    yield Heading(_title(session, item, wanted))
    pairs = zip(item.memories, item.compared_with(survivor), strict=True)
    for at, (memory, other) in enumerate(pairs, 1):
        if at <= _MEMBERS or memory.id == survivor:
            yield from _member_blocks(item, memory, other, survivor, at)
    if len(item.ids) > _MEMBERS:
        yield say(dim(f"{number(len(item.ids) - _MEMBERS)} more; f shows all texts."), level=1)
    if survivor and text is not None:
        yield say(strong("new text of "), strong(survivor), dim("  by you"))
        yield say(flat(text, len(text) + 1), level=1)


def text_blocks(session: ReviewSession, item: ReviewItem) -> Iterator[Block]:
    """Yields the texts of an item, each whole and by itself."""
    for id_ in item.ids:
        yield say(strong(id_))
        yield MemoryText(session.memory(id_).content)


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
    item: ReviewItem, memory: Memory, other: Memory, survivor: str, at: int
) -> Iterator[Block]:
    """Yields a memory, with the words marked that the other one does not have."""
    goes = survivor and memory.id != survivor
    judged = item.verdicts.get(memory.id)
    clause = "" if judged is None else sentence(judged.verdict, judged.a, judged.b)
    if memory.id == survivor:
        about = f"  stays ({item.reason(survivor)})"
    elif at == 1 and not survivor:
        about = ""
    else:
        verdict = None if judged is None else verdict_name(judged.verdict)
        about = ("  goes" if goes else "") + verdict_clause(verdict, clause)
    yield say(f"[{at}] ", strong(memory.id), about)
    style: Style = "old" if goes else "new" if survivor else "strong"
    yield say(*_marked(memory.content, other.content, style), level=1)
    time = short_time(memory.created_at or "") if instant(memory.created_at) else ""
    if facts := [part for part in (time, *facts_of(memory)) if part]:
        yield say(dim(" · ".join(facts)), level=1)


def _marked(text: str, other: str, style: Style) -> Iterator[Span]:
    """Yields a text on one line, its secrets masked, with the words that only it has marked.

    Where little is common nothing is marked, as nearly all would be.
    """
    shown, beside = (flat(each, len(each) + 1) for each in (text, other))
    at = 0
    for start, end in changed_ranges(shown, beside).old if alike(shown, beside) else ():
        yield from (Span(shown[at:start]), Span(shown[start:end], style))
        at = end
    yield Span(shown[at:])
