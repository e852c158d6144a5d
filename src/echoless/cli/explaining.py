"""The command explain: one pair, with all its verdict rests on."""

from __future__ import annotations

from collections.abc import Iterator

import click

from echoless.cli import render
from echoless.cli.document import Block, Gap, Heading, count, dim, flat, quoted, say, strong
from echoless.cli.options import encoder_option, examples, json_option, no_cache_option
from echoless.errors import InputError
from echoless.explaining import Explanation, explain_memories, explanation_json
from echoless.masked import learn
from echoless.matching.explanation import Reading
from echoless.model import Memory, Subsumes, Update, merges, verdict_name
from echoless.settings import Choices, layered, resolve
from echoless.stores import open_store
from echoless.tally import Tally

_MOST = 6
"""Words shown; `--json` has all."""


@click.command(
    "explain",
    epilog=examples(
        'echoless explain "The demo is at 2 pm." "The demo starts at 14:00."',
        "echoless explain m-17 m-42 --store agent.db",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--store", metavar="STORE", help="A and B are ids of memories in this store.")
@encoder_option
@no_cache_option
@json_option
def explain_command(
    *, a: str, b: str, store: str | None, encoder: str | None, cache: bool | None, as_json: bool
) -> None:
    """Explain what two texts are to each other. Reads only.

    Shows what both say, the values compared, what forbids a merge, what the pair model says, which
    words matter, and what would change the verdict. A and B are texts; with --store they are ids.
    """
    settings = resolve(layered(Choices(encoder=encoder, cache=cache)))
    tally = Tally()
    pair = (Memory(id="a", content=a), Memory(id="b", content=b))
    if store is not None:
        pair = _of_store(store, a, b)
    told = explain_memories(*pair, settings=settings, tally=tally)
    learn(pair)
    if as_json:
        render.show_json(explanation_json(told))
    else:
        render.show(_blocks(pair, told))
    for sentence in tally.notes:
        render.note(sentence)


def _of_store(url: str, a: str, b: str) -> tuple[Memory, Memory]:
    with open_store(url) as store:
        there = store.get({a, b})
    missing = [id_ for id_ in (a, b) if id_ not in there]
    if missing:
        raise InputError(
            f"There is no memory {missing[0]!r} in {url}. Look with `echoless search`."
        )
    return there[a], there[b]


def _blocks(pair: tuple[Memory, Memory], told: Explanation) -> Iterator[Block]:
    merge = ", would be merged" if merges(told.verdict) else ""
    yield say(strong(f"{verdict_name(told.verdict)}{_side(told)}{merge}"))
    yield say(dim(quoted(told.verdict.evidence.line())), level=1)
    yield say("a: ", flat(pair[0].content, 400), level=1)
    yield say("b: ", flat(pair[1].content, 400), level=1)
    yield Gap()
    yield Heading("Compared")
    yield from _compared(told)
    yield Gap()
    if told.against:
        yield Heading("What forbids a merge")
        for rule, difference in told.against:
            left, right = " ".join(difference.a) or "-", " ".join(difference.b) or "-"
            yield say(quoted(f"{rule} ({difference.kind.value}): {left} | {right}"), level=1)
        yield Gap()
    if told.reading is not None:
        yield from _model(told.reading)
    yield Heading("What would change it")
    for sentence in told.would_change:
        yield say(quoted(sentence), level=1)


def _model(reading: Reading) -> Iterator[Block]:
    """What the pair model says, and the words that matter."""
    yield Heading(f"Same {reading.same:.2f}, merged from {reading.merge:.2f}")
    yield say(f"a says all of b {reading.a_holds_b:.2f}", level=1)
    yield say(f"b says all of a {reading.b_holds_a:.2f}", level=1)
    yield say(f"they conflict {reading.conflict:.2f}, told from {reading.alarm:.2f}", level=1)
    for left in reading.words[:_MOST]:
        yield say(quoted(f"without {left.word} in {left.side}: {left.same:.2f}"), level=1)
    yield Gap()


def _compared(told: Explanation) -> Iterator[Block]:
    """What both say, what one of them says, and how the values of each kind stand."""
    same = f"{count(len(told.shared), 'word')} the same: {' '.join(told.shared) or '-'}"
    yield say(quoted(same), level=1)
    yield say(quoted(f"only in a: {' '.join(told.only_a) or '-'}"), level=1)
    yield say(quoted(f"only in b: {' '.join(told.only_b) or '-'}"), level=1)
    for values in told.values:
        left, right = " ".join(values.a) or "-", " ".join(values.b) or "-"
        line = f"{values.kind.value} {values.relation.value}: {left} | {right}"
        yield say(quoted(line), level=1)


def _side(told: Explanation) -> str:
    match told.verdict:
        case Subsumes(superset=side):
            return f" ({side} says more)"
        case Update(newer=side):
            return f" ({side} is newer)"
        case _:
            return ""
