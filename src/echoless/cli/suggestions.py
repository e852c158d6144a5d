"""Pairs that may say the same as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Span,
    count,
    difference,
    dim,
    flat,
    number,
    quoted,
    say,
    strong,
)
from echoless.cli.group_view import skipped_blocks
from echoless.core.commands import command_line
from echoless.core.model import Memory, verdict_name
from echoless.core.secret_masking import learn
from echoless.workflows.consolidation.pairs import Consolidation, Offer

LEGEND: Final = say(
    "Differences: ", Span("only in the first", "old"), " ", Span("only in the second", "new"), "."
)


def consolidation_blocks(offered: Consolidation, store: str) -> Iterator[Block]:
    """Yields all pairs, what was left out, and what to do next.

    Args:
        offered: The pairs.
        store: The store as it was typed, for lines to copy.
    """
    when = "" if offered.window is None else f", of the last {offered.window:g} hours"
    yield Heading(f"Pairs that may say the same in {offered.url}{when}")
    if offered.pairs:
        yield LEGEND
    elif offered.left_out:
        yield say(f"{count(offered.left_out, 'pair')} left out by --limit 0.")
    else:
        yield say("No two memories are near enough to look at.")
    for at, each in enumerate(offered.pairs, 1):
        yield from offer_blocks(each, label=f"{at}. ")
        yield Gap()
    yield from skipped_blocks(offered.findings.tally)
    verdicts = ", ".join(f"{number(n)} {name}" for name, n in offered.verdicts.items())
    listed = f": {verdicts}." if verdicts else "."
    yield say(strong(f"{count(offered.total, 'pair')}{listed}"))
    if not offered.pairs:
        return
    if offered.left_out:
        yield say(f"{number(offered.left_out)} more, less close; --limit N shows them.")
    example = next((each for each in offered.pairs if each.keep is not None), offered.pairs[0])
    ids = (example.keep or example.a.id, example.remove or example.b.id)
    yield say("Nothing was written. Go on, pair by pair or with one of them:")
    for words in (("--interactive",), ("--merge", *ids), ("--keep-both", *ids)):
        yield say(command_line("consolidate", store, *words), level=1)


def offer_blocks(offer: Offer, *, label: str = "") -> Iterator[Block]:
    """Yields one pair: the verdict, its evidence, both texts, and the advice."""
    a, b, evidence = offer.a, offer.b, offer.verdict.evidence
    yield say(
        label,
        strong(f"{a.id} and {b.id}"),
        f"  {verdict_name(offer.verdict)}  {offer.similarity:.3f} {offer.how}",
    )
    learn((a, b))
    yield say(quoted(evidence.line()), level=1)
    yield say(strong(a.id), _time(a), level=1)
    yield say(flat(a.content), level=2)
    yield say(strong(b.id), _time(b), level=1)
    if a.content == b.content:
        yield say(dim("the same text"), level=2)
    else:
        yield say(*difference(flat(a.content), flat(b.content)), level=2)
    advice = strong(offer.advice.replace("_", " "))
    if offer.keep is None:
        yield say(strong("no merge"), f": {offer.why}", level=1)
    elif offer.advice == "merge":
        yield say(advice, f": keep {offer.keep} ({offer.why})", level=1)
    else:
        yield say(advice, f"; if they are one, keep {offer.keep} ({offer.why})", level=1)


def _time(memory: Memory) -> Span:
    return dim(f"  {memory.created_at}" if memory.created_at else "")
