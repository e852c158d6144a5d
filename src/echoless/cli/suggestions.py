"""Pairs that may say the same as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from echoless.cli.typed_command import with_option
from echoless.core.commands import command_line
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Span,
    command,
    count,
    difference,
    dim,
    flat,
    number,
    quoted,
    say,
    short_time,
    strong,
)
from echoless.core.model import Memory, verdict_name
from echoless.core.secret_masking import learn
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import evidence_line, more, skipped_blocks
from echoless.workflows.consolidation.pairs import Consolidation, Offer

_VERDICTS: Final[Mapping[str, str]] = {
    "duplicate": "the same",
    "subsumes": "one says more",
    "update": "newer value",
    "contradiction": "contradiction",
    "unsure": "unsure",
    "sibling": "another thing",
    "related": "one topic",
}
"""Verdicts of pairs in words, those to merge first."""

LEGEND: Final = say(
    "Differences: ", Span("only in the first", "old"), " ", Span("only in the second", "new"), "."
)


def consolidation_blocks(
    offered: Consolidation, store: str, *, explained: bool = False
) -> Iterator[Block]:
    """Yields all pairs, what was left out, and what to do next.

    Args:
        offered: The pairs.
        store: The store as it was typed, for lines to copy.
        explained: Whether the rule and the similarity of each verdict are shown.
    """
    when = "" if offered.window is None else f", of the last {offered.window:g} hours"
    yield Heading(f"Pairs that may say the same in {offered.url}{when}")
    if offered.pairs:
        yield LEGEND
        yield Gap()
    elif offered.left_out:
        yield say(f"{count(offered.left_out, 'pair')} left out by --limit 0.")
    else:
        yield say("No two memories are near enough to look at.")
    for at, each in enumerate(offered.pairs, 1):
        yield from offer_blocks(each, label=f"{at}. ", explained=explained)
        yield Gap()
    yield from skipped_blocks(offered.findings.tally)
    verdicts = ", ".join(
        f"{words}: {number(offered.verdicts[name])}"
        for name, words in _VERDICTS.items()
        if name in offered.verdicts
    )
    listed = f" ({verdicts})." if verdicts else "."
    yield say(strong(f"{count(offered.total, 'pair')}{listed}"))
    if not offered.pairs:
        return
    if offered.left_out:
        yield more(offered.left_out, with_option("--limit", offered.total))
    yield say("Nothing was written. Go on, pair by pair or with one of them:")
    for words in _ways(offered.pairs):
        yield command(command_line("consolidate", store, *words))


def _ways(pairs: Sequence[Offer]) -> Iterator[tuple[str, ...]]:
    """Yields options to go on with: a merge of two that say the same, two others that stay.

    Where nothing says the same, no merge is proposed, and the other way around.
    """
    yield ("--interactive",)
    for each in pairs:
        if each.advice == "merge" and each.keep is not None and each.remove is not None:
            yield ("--merge", each.keep, each.remove)
            break
    for advice in ("keep_both", "look"):
        if apart := next((each for each in pairs if each.advice == advice), None):
            yield ("--keep-both", apart.a.id, apart.b.id)
            break


def offer_blocks(offer: Offer, *, label: str = "", explained: bool = False) -> Iterator[Block]:
    """Yields one pair: the verdict, both texts, and the advice."""
    a, b = offer.a, offer.b
    learn((a, b))
    clause = quoted(sentence(offer.verdict, a.id, b.id))
    yield say(label, strong(f"{a.id} and {b.id}"), f"  {clause}")
    if explained:
        evidence = offer.verdict.evidence
        yield evidence_line(
            verdict_name(offer.verdict), evidence.similarity, evidence.line(), level=1
        )
    yield say(strong(a.id), _time(a), level=1)
    yield say(flat(a.content), level=2)
    yield say(strong(b.id), _time(b), level=1)
    if a.content != b.content:
        yield say(*difference(flat(a.content), flat(b.content)), level=2)
    advice = strong(offer.advice.replace("_", " "))
    if offer.keep is None:
        yield say(strong("no merge"), f": {offer.why}", level=1)
    elif offer.advice == "merge":
        yield say(advice, f": keep {offer.keep} ({offer.why})", level=1)
    else:
        yield say(advice, f"; if they are one, keep {offer.keep} ({offer.why})", level=1)


def _time(memory: Memory) -> Span:
    return dim(f"  {short_time(memory.created_at)}" if memory.created_at else "")
