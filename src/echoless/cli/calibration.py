"""The command calibrate: learns what an encoder's cosines mean from a person's answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    count_option,
    encoder_option,
    examples,
    gathered,
    json_option,
    namespace_option,
    no_cache_option,
    settings_for,
    store_argument,
)
from echoless.cli.terminal_review import read_key
from echoless.core.commands import command_line
from echoless.core.document import Block, Gap, Heading, count, dim, flat, names, number, say, strong
from echoless.core.errors import InputError, StoreError, UsageError
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices
from echoless.execution.plan_blocks import skipped_blocks
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.vector_cache import open_cache
from echoless.stores import open_store
from echoless.stores.files import open_file
from echoless.workflows.calibration.labels_file import Label, read_labels
from echoless.workflows.calibration.session import QUESTIONS, Asked, Calibrated, Reply, calibrate

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
@gathered("choices", Choices, "encoder", "cache", "namespace")
def calibrate_command(
    *,
    store: str,
    questions: int,
    answers: Path | None,
    choices: Choices,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Learn what the cosines of an encoder mean, from the memories of STORE and your answers.

    Shows pairs that only meaning can decide, closest to even odds first, and asks whether they
    state the same. What is learned, and every answer, is kept in your data folder for this model:
    the detector then begins looking where it should, and the judge merges more or less readily, as
    you do. A second call goes on where the first one stopped. Nothing in STORE is written.
    """
    given = () if answers is None else _read_answers(answers)
    ask = _ask if answers is None and questions else None
    if ask is not None and (as_json or not render.is_interactive()):
        raise UsageError(
            "There is nobody to ask here. Give --answers FILE with answers, or --questions 0; "
            "with --json the latter lists the pairs to answer under `ask`."
        )
    with open_store(store) as opened:
        tally = Tally()
        settings = settings_for(opened, choices)
        result = calibrate(
            opened,
            _encoder(settings.encoder),
            ask=ask,
            questions=questions,
            labels=given,
            namespace=settings.namespace,
            cache=open_cache(settings.cache),
            save=not dry_run,
            tally=tally,
        )
    if as_json:
        render.show_json(result.to_json())
        return
    render.show(_blocks(result, store, settings.encoder))
    render.show(skipped_blocks(tally))


def _read_answers(path: Path) -> list[Label]:
    """Reads a file of answers.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with open_file(path) as lines:
            return read_labels(lines, str(path))
    except StoreError as problem:
        raise InputError(f"{str(path)!r} cannot be read ({problem}). Check the path.") from problem


def _encoder(name: str) -> Encoder:
    """Opens an encoder.

    Raises:
        UsageError: It makes no vectors.
    """
    encoder = open_encoder(name)
    if encoder is None:
        raise UsageError(
            f"The encoder {name!r} makes no vectors here, so there is nothing to calibrate. Name "
            "one with --encoder; `echoless encoders` lists them."
        )
    return encoder


def _ask(asked: Asked) -> Reply:
    """Shows a pair and asks until the answer is one of the letters."""
    blocks: list[Block] = [Gap(), Heading(f"Pair {asked.number} of at most {asked.of}")]
    for memory in (asked.pair.a, asked.pair.b):
        blocks += [say(strong(memory.id), level=1), say(flat(memory.content), level=2)]
    render.show(blocks)
    while True:
        typed = read_key(QUESTION)
        if typed is None:
            return "quit"
        reply = _REPLIES.get(typed.lower())
        if reply is not None:
            return reply
        render.show([say("Please type y, n, s or q. Nothing was noted.")])


# ------------------------------------------------------------------ the report


def _blocks(result: Calibrated, store: str, encoder: str) -> Iterator[Block]:
    """Yields the evidence, the learned values, and the next commands."""
    yield Gap()
    yield Heading(f"Calibration of {result.model}")
    yield from _evidence(result)
    yield say(strong(_even_odds(result)))
    if result.shift is not None:
        even = 1 / (1 + math.exp(-result.shift))
        yield say(
            f"The decision is shifted by {result.shift:+.2f}: what it called even odds counts as "
            f"{even:.2f} from now on."
        )
    before, now = (count(pairs, "pair") for pairs in result.proposed)
    old = f"{result.before.cosine:.3f} ({flat(result.before.source, 60)})"
    if result.point is None:
        yield say(f"The detector goes on looking from {old}: {before}.")
    else:
        yield say(
            f"The detector looks from {result.point.cosine:.3f}: {now} of these memories. "
            f"Before: {old}, {before}."
        )
    yield say("Nothing was kept." if result.saved is None else f"Kept in {result.saved}.")
    if not result.usable and result.more:
        line = command_line("calibrate", store, "--encoder", encoder)
        yield say(f"`{line}` goes on from here." if result.saved else f"Next: {line}")
    if not result.usable and result.ask:
        pairs = (f"{pair.a.id} / {pair.b.id}" for pair in result.ask)
        yield say(dim(f"Worth an answer: {names(pairs)}."))


def _evidence(result: Calibrated) -> Iterator[Block]:
    """Yields the memories, pairs and answers that were learned from."""
    same = sum(answer.same for answer in result.answers)
    earlier = len(result.answers) - result.new
    yield say(
        f"{count(result.memories, 'memory', 'memories')}, {count(result.pairs, 'pair')} within a "
        f"namespace; languages it reads: {', '.join(result.languages) or 'none'}."
    )
    if result.left_out:
        yield say(
            f"{count(result.left_out, 'memory', 'memories')} left out: in a language the model "
            "does not read, or that too few memories have."
        )
    certain = number(sum(result.derived))
    yield say(
        f"{certain} certain pairs of their own ({number(result.derived[0])} the same in another "
        f"dressing, {number(result.derived[1])} strangers)."
    )
    if result.answers:
        before = f" ({number(earlier)} of earlier sessions)" if earlier else ""
        different = number(len(result.answers) - same)
        yield say(f"Answers: {number(same)} the same, {different} different{before}.")
    if result.unused:
        yield say(
            f"{count(result.unused, 'answer')} not used: the words decide the pair, or it is long."
        )


def _even_odds(result: Calibrated) -> str:
    """Returns at which cosine the odds are even, and whether that is certain enough to use."""
    if not result.answers:
        return "No answers yet: where the odds are even is not known; the decision stays."
    answers = count(len(result.answers), "answer")
    more = f": answer {result.more} more" if result.more else ""
    odds = result.odds
    if odds is None:
        return f"{answers}: {result.problem}{more}."
    interval = f"90 % interval {odds.low:.3f} to {odds.high:.3f}"
    estimate = f"{answers}: even odds at {odds.even:.3f}, {interval}"
    if result.usable:
        return f"{estimate}: good enough to use."
    return f"{estimate}, but {result.problem}{more}."
