"""Items and decisions of a review as blocks: texts, differences, and the effect of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Span,
    Style,
    command,
    count,
    dim,
    flat,
    legend,
    number,
    say,
    short_time,
    strong,
)
from echoless.core.masking import learn
from echoless.core.model import Memory, verdict_name
from echoless.core.text_difference import alike, changed_ranges
from echoless.core.timestamps import instant
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import skipped_blocks, verdict_clause
from echoless.workflows.review.answers import StandingDecision, answer_words
from echoless.workflows.review.items import CLASSES, ItemKind, ReviewItem, facts_of
from echoless.workflows.review.session import ReviewSession

_NOUNS: Final[dict[ItemKind, str]] = {
    "conflict": "conflict",
    "newer": "newer value",
    "same": "group",
    "claim": "claim",
    "unsure": "unsure pair",
}
"""Kinds of item in words, each for one item."""

_MEMBERS: Final = 20
"""Memories of one item that its card shows at most."""

_LISTED: Final = 10
"""Questions, and decisions, that a list shows at most."""

_KEY: Final = 12
"""Characters of a key that are shown."""


def counted(session: ReviewSession) -> str:
    """Returns how many items of which kind a review has."""
    counts = ((sum(session.counts(kind).values()), noun) for kind, noun in _NOUNS.items())
    return ", ".join(count(amount, noun) for amount, noun in counts if amount)


def _card_blocks(item: ReviewItem) -> Iterator[Block]:
    """Yields an item with its key, each memory at the number that keeps it."""
    learn(item.memories)
    about = f": {CLASSES[item.group_class].lower()}" if item.group_class else ""
    about += f", in {item.namespace}" if item.namespace else ""
    yield Gap()
    yield Heading(f"{item.key[:_KEY]}  {_NOUNS[item.kind].capitalize()}{about}")
    pairs = zip(item.memories, item.compared_with(item.survivor), strict=True)
    for at, (memory, other) in enumerate(pairs, 1):
        if at <= _MEMBERS or memory.id == item.survivor:
            yield from _member_blocks(item, memory, other, at)
    if len(item.ids) > _MEMBERS:
        yield say(dim(f"{number(len(item.ids) - _MEMBERS)} more."), level=1)


def list_blocks(
    session: ReviewSession, made: Sequence[StandingDecision], store: str
) -> Iterator[Block]:
    """Yields what is open, then what was decided, each with the key that `--decide` takes.

    Args:
        session: The review.
        made: All decisions, latest first.
        store: The store as it was typed, for lines to copy.
    """
    items = [item for item in session.items.values() if session.state(item.key) == "open"]
    yield Heading(f"Open in {session.findings.url}: {count(len(items), 'question')}")
    yield legend("goes", "stays", title="Marks")
    for item in items[:_LISTED]:
        yield from _card_blocks(item)
    yield Gap()
    if len(items) > _LISTED:
        yield say(dim(f"{number(len(items) - _LISTED)} more; --json lists all."))
    yield from skipped_blocks(session.findings.tally)
    if session.note:
        yield say(session.note)
    standing = [each for each in made if each.worth != "done"]
    yield Heading(f"Decided: {count(len(made), 'answer')}")
    for each in standing[:_LISTED]:
        yield from _decision_blocks(each)
    if len(standing) > _LISTED:
        yield say(dim(f"{number(len(standing) - _LISTED)} more; --json lists all."))
    if done := len(made) - len(standing):
        yield say(dim(f"{count(done, 'accepted answer')} applied; `echoless undo` goes back."))
    yield from _ways(items, standing, store)


def _decision_blocks(each: StandingDecision) -> Iterator[Block]:
    """Yields a decision: its key, how and when it came about, its memories, and its worth."""
    answer = each.answer
    about = (answer_words(answer), each.origin, answer.at and f"on {short_time(answer.at)}")
    yield say(strong(each.key[:_KEY]), f"  {' '.join(filter(None, about))}")
    for id_, text in each.texts.items():
        stays = "keep " if id_ == answer.survivor else ""
        yield say(strong(f"{stays}{id_}"), f"  {'(gone)' if text is None else flat(text)}", level=1)
    if answer.text is not None:
        yield say(strong("new text"), f"  {flat(answer.text)}", level=1)
    if each.worth in {"changed", "gone"}:
        changed = "A text changed since" if each.worth == "changed" else "A memory is gone"
        yield say(f"{changed}, so this does not count any more.", level=1)
    if not each.own:
        yield say("Kept by the store's own program; it cannot be taken back here.", level=1)


def _ways(
    items: Sequence[ReviewItem], standing: Sequence[StandingDecision], store: str
) -> Iterator[Block]:
    """Yields the commands to go on with."""
    lines = [command_line("review", store)] if items else []
    if items:
        word = "accept" if items[0].survivor else "different"
        lines.append(command_line("review", store, "--decide", f"{items[0].key[:_KEY]}={word}"))
    if own := next((each for each in standing if each.own), None):
        lines.append(command_line("review", store, "--decide", f"{own.key[:_KEY]}=open"))
    if any(each.answer.choice == "accept" and each.worth == "holds" for each in standing):
        lines.append(command_line("review", store, "--apply"))
    if lines:
        yield say("Nothing was written. Go on with one of these:")
        yield from map(command, lines)


def _member_blocks(item: ReviewItem, memory: Memory, other: Memory, at: int) -> Iterator[Block]:
    """Yields a memory, with the words marked that the other one does not have."""
    survivor = item.survivor
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
