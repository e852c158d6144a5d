"""Pairs that may say the same, as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from echoless.cli.differences import word_difference
from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Span,
    count,
    dim,
    flat,
    number,
    quoted,
    say,
    strong,
)
from echoless.cli.options import command_line
from echoless.cli.shown_groups import skipped_blocks
from echoless.consolidating import Advice, Consolidation, Offer
from echoless.masked import learn
from echoless.model import verdict_name

LEGEND: Final = say(
    "Differences: ", Span("only in the first", "old"), " ", Span("only in the second", "new"), "."
)


def consolidation_blocks(found: Consolidation, store: str) -> Iterator[Block]:
    """All pairs, what was left out, and what to do next.

    Args:
        found: What is offered.
        store: The store as it was typed, for lines to copy.
    """
    yield Heading(_title(found))
    if not found.pairs:
        yield say(_nothing(found))
    else:
        yield LEGEND
    for at, each in enumerate(found.pairs, 1):
        yield from offer_blocks(each, label=f"{at}. ")
        yield Gap()
    yield from skipped_blocks(found.findings.tally)
    yield from _counts(found)
    if found.pairs:
        yield from _next(found, store)


def _title(found: Consolidation) -> str:
    when = "" if found.window is None else f", of the last {found.window:g} hours"
    return f"Pairs that may say the same in {found.url}{when}"


def _nothing(found: Consolidation) -> str:
    if found.left_out:
        return f"{count(found.left_out, 'pair')} left out by --limit 0."
    return "No two memories are near enough to look at."


def offer_blocks(offer: Offer, *, label: str = "") -> Iterator[Block]:
    """One pair: the verdict, its evidence, both texts, and what had better be done."""
    a, b, evidence = offer.a, offer.b, offer.verdict.evidence
    yield say(
        label,
        strong(f"{a.id} and {b.id}"),
        f"  {verdict_name(offer.verdict)}  {offer.similarity:.3f} {offer.how}",
    )
    learn((a, b))
    yield say(quoted(evidence.line()), level=1)
    yield say(strong(a.id), dim(_made(a.created_at)), level=1)
    yield say(flat(a.content), level=2)
    yield say(strong(b.id), dim(_made(b.created_at)), level=1)
    if a.content == b.content:
        yield say(dim("the same text"), level=2)
    else:
        yield say(*word_difference(flat(a.content), flat(b.content)), level=2)
    yield say(*_advised(offer), level=1)


def _made(time: str | None) -> str:
    return f"  {time}" if time else ""


_ADVICE: Final[dict[Advice, str]] = {
    "merge": "merge",
    "look": "look",
    "keep_both": "keep both",
}


def _advised(offer: Offer) -> Iterable[str | Span]:
    word = strong(_ADVICE[offer.advice])
    if offer.keep is None:
        return (strong("no merge"), f": {offer.why}")
    if offer.advice == "merge":
        return (word, f": keep {offer.keep} ({offer.why})")
    return (word, f"; if they are one, keep {offer.keep} ({offer.why})")


def _counts(found: Consolidation) -> Iterator[Block]:
    told = ", ".join(f"{number(n)} {name}" for name, n in found.verdicts.items())
    yield say(strong(f"{count(found.total, 'pair')}" + (f": {told}." if told else ".")))
    if found.pairs and found.left_out:
        yield say(f"{number(found.left_out)} more, less close; --limit N shows them.")


def _next(found: Consolidation, store: str) -> Iterator[Block]:
    mergeable = (each for each in found.pairs if each.keep is not None)
    shown = next(mergeable, found.pairs[0])
    keep, remove = shown.keep or shown.a.id, shown.remove or shown.b.id
    again = command_line("consolidate", store)
    yield say("Nothing was written. Go on, pair by pair or with one of them:")
    yield say(f"{again} --interactive", level=1)
    yield say(f"{again} --merge {command_words(keep, remove)}", level=1)
    yield say(f"{again} --keep-both {command_words(keep, remove)}", level=1)


def command_words(*words: str) -> str:
    """Words of a command line, quoted where a shell needs it."""
    return command_line(*words).removeprefix("echoless ")
