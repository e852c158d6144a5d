"""The command calibrate: pairs of one's own memories, a few dozen answers, a scale for a model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from echoless.calibrating import QUESTIONS, Asked, Calibrated, Reply, calibrate
from echoless.cli import render
from echoless.cli.document import Block, Gap, Heading, count, dim, flat, names, number, say, strong
from echoless.cli.options import (
    command_line,
    count_option,
    encoder_option,
    examples,
    json_option,
    namespace_option,
    no_cache_option,
    settings_for,
    store_argument,
)
from echoless.cli.shown_groups import skipped_blocks
from echoless.errors import InputError, UsageError
from echoless.settings import Choices, Settings
from echoless.stores import open_store
from echoless.tally import Tally
from echoless.teaching import Told, read_told
from echoless.vectors.base import Encoder
from echoless.vectors.cache import open_cache
from echoless.vectors.registry import open_encoder

QUESTION: Final = "Do they state the same, one perhaps more?  [y]es  [n]o  [s]kip  [q]uit: "
_REPLIES: Final[dict[str, Reply]] = {
    "y": "same",
    "yes": "same",
    "n": "different",
    "no": "different",
    "s": "skip",
    "q": "quit",
}


@click.command(
    "calibrate",
    epilog=examples(
        "echoless calibrate agent.db --encoder sentence-transformers:/models/gte-small",
        "echoless calibrate agent.db --encoder openai:text-embedding-3-small --questions 60",
        "echoless calibrate agent.db --encoder use --answers answers.jsonl --json",
        "echoless calibrate agent.db --encoder use --questions 0 --dry-run",
    ),
)
@store_argument
@encoder_option
@count_option(
    "--questions",
    default=QUESTIONS,
    explained="Ask at most N questions; 0 learns only what the memories tell by themselves.",
)
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help='Take answers from FILE and ask nothing: JSON Lines such as {"a": "m-1", "b": "m-2", '
    '"same": true}.',
)
@namespace_option
@no_cache_option
@click.option("--dry-run", is_flag=True, help="Keep nothing, answers included.")
@json_option
def calibrate_command(
    *,
    store: str,
    encoder: str | None,
    questions: int,
    answers: Path | None,
    namespace: str | None,
    cache: bool | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Learn what the cosines of an encoder mean, from the memories of STORE and your answers.

    Shows pairs that only meaning can decide, closest to even odds first, and asks whether they
    state the same. What is learned, and every answer, is kept in your data folder for this model:
    the detector then begins looking where it should, and the judge merges more or less readily, as
    you do. A second call goes on where the first one stopped. Nothing in STORE is written.
    """
    told = () if answers is None else _read(answers)
    ask = _ask if answers is None and questions else None
    _check(asks=ask is not None, as_json=as_json)
    with open_store(store) as opened:
        tally = Tally()
        settings = settings_for(opened, Choices(encoder=encoder, cache=cache, namespace=namespace))
        found = calibrate(
            opened,
            _encoder(settings),
            ask=ask,
            questions=questions,
            told=told,
            namespace=settings.namespace,
            cache=open_cache(settings.cache),
            save=not dry_run,
            tally=tally,
        )
    if as_json:
        render.show_json(found.to_json())
        return
    render.show(_blocks(found, store, settings.encoder))
    render.show(skipped_blocks(tally))


def _check(*, asks: bool, as_json: bool) -> None:
    if asks and (as_json or not render.is_interactive()):
        raise UsageError(
            "There is nobody to ask here. Give --answers FILE with answers, or --questions 0; "
            "with --json the latter lists the pairs to answer under `ask`."
        )


def _read(path: Path) -> list[Told]:
    try:
        with path.open("rb") as lines:
            return read_told(lines, str(path))
    except OSError as problem:
        raise InputError(
            f"{str(path)!r} cannot be read ({problem.strerror}). Check the path."
        ) from problem


def _encoder(settings: Settings) -> Encoder:
    made = open_encoder(settings.encoder)
    if made is None:
        raise UsageError(
            f"The encoder {settings.encoder!r} makes no vectors here, so there is nothing to "
            "calibrate. Name one with --encoder; `echoless encoders` lists them."
        )
    return made


def _ask(asked: Asked) -> Reply:
    render.show(_question(asked))
    while True:
        typed = render.ask(QUESTION)
        if typed is None:
            return "quit"
        reply = _REPLIES.get(typed.strip().lower())
        if reply is not None:
            return reply
        render.show([say("Please type y, n, s or q. Nothing was noted.")])


def _question(asked: Asked) -> Iterator[Block]:
    yield Gap()
    yield Heading(f"Pair {asked.number} of at most {asked.of}")
    for memory in (asked.pair.a, asked.pair.b):
        yield say(strong(memory.id), level=1)
        yield say(flat(memory.content), level=2)


# ------------------------------------------------------------------ the report


def _blocks(found: Calibrated, store: str, encoder: str) -> Iterator[Block]:
    yield Gap()
    yield Heading(f"Calibration of {found.model}")
    yield from _seen(found)
    yield say(strong(_sure(found)))
    yield from _shift(found)
    yield from _point(found)
    yield from _next(found, store, encoder)


def _seen(found: Calibrated) -> Iterator[Block]:
    same = sum(answer.same for answer in found.answers)
    earlier = len(found.answers) - found.new
    yield say(
        f"{count(found.memories, 'memory', 'memories')}, {count(found.pairs, 'pair')} within a "
        f"namespace; languages it reads: {', '.join(found.languages) or 'none'}."
    )
    if found.left_out:
        yield say(
            f"{count(found.left_out, 'memory', 'memories')} left out: in a language the model does "
            "not read, or that too few memories have."
        )
    yield say(
        f"{number(sum(found.derived))} certain pairs of their own ({number(found.derived[0])} the "
        f"same in another dressing, {number(found.derived[1])} strangers)."
    )
    if found.answers:
        before = f" ({number(earlier)} of earlier sessions)" if earlier else ""
        different = number(len(found.answers) - same)
        yield say(f"Answers: {number(same)} the same, {different} different{before}.")
    if found.unused:
        yield say(
            f"{count(found.unused, 'answer')} not used: the words decide the pair, or it is long."
        )


def _sure(found: Calibrated) -> str:
    if not found.answers:
        return "No answers yet: where the odds are even is not known; the decision stays."
    answers = count(len(found.answers), "answer")
    more = f": answer {found.more} more" if found.more else ""
    if found.odds is None:
        return f"{answers}: {found.problem}{more}."
    odds = found.odds
    said = (
        f"{answers}: even odds at {odds.even:.3f}, 90 % interval {odds.low:.3f} to {odds.high:.3f}"
    )
    if found.usable:
        return f"{said}: good enough to use."
    return f"{said}, but {found.problem}{more}."


def _shift(found: Calibrated) -> Iterator[Block]:
    """By how much the decision moves, in words a person can check."""
    if found.shift is None:
        return
    even = 1 / (1 + math.exp(-found.shift))
    yield say(
        f"The decision is shifted by {found.shift:+.2f}: what it called even odds counts as "
        f"{even:.2f} from now on."
    )


def _point(found: Calibrated) -> Iterator[Block]:
    before, now = found.proposed
    old = f"{found.before.cosine:.3f} ({flat(found.before.source, 60)})"
    if found.point is None:
        yield say(f"The detector goes on looking from {old}: {count(before, 'pair')}.")
        return
    yield say(
        f"The detector looks from {found.point.cosine:.3f}: {count(now, 'pair')} of these "
        f"memories. Before: {old}, {count(before, 'pair')}."
    )


def _next(found: Calibrated, store: str, encoder: str) -> Iterator[Block]:
    if found.saved is None:
        yield say("Nothing was kept.")
    else:
        yield say(f"Kept in {found.saved}.")
    if not found.usable and found.more:
        line = command_line("calibrate", store, "--encoder", encoder)
        yield say(f"`{line}` goes on from here." if found.saved else f"Next: {line}")
    if not found.usable and found.ask:
        pairs = (f"{pair.a.id} / {pair.b.id}" for pair in found.ask)
        yield say(dim(f"Worth an answer: {names(pairs)}."))
