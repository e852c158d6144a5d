"""The command judge: pairs of texts in, one verdict a line out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import click

from echoless.cli import render
from echoless.cli.document import Block, Gap, count, dim, flat, quoted, say, strong
from echoless.cli.options import (
    asking_options,
    count_option,
    encoder_option,
    examples,
    no_cache_option,
    questions_option,
    verifier_option,
)
from echoless.errors import InputError
from echoless.judging import BATCH, Ruling, judge_pairs, read_questions
from echoless.masked import learn
from echoless.model import verdict_name
from echoless.profiles import PROFILES
from echoless.settings import Choices, layered, resolve
from echoless.tally import Tally

NAMED: Final = 10
"""Bad lines named one by one with --skip-bad; all are counted."""

_TEXT: Final = 200


@click.command(
    "judge",
    epilog=examples(
        "echoless judge pairs.jsonl",
        "echoless judge pairs.jsonl --json > verdicts.jsonl",
        "echoless judge - --json --batch 1",
    ),
)
@click.argument("pairs", metavar="PAIRS.jsonl")
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    help="Way of deduplicating, safe by default. `echoless profiles` explains them.",
)
@encoder_option
@no_cache_option
@verifier_option
@questions_option
@asking_options
@count_option(
    "--batch",
    default=BATCH,
    least=1,
    explained="Judge N pairs at a time. With 1 each line is answered before the next one is read.",
)
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Pass over lines that hold no pair; they are counted on standard error.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object a line (see docs/cli.md) and nothing else.",
)
def judge_command(
    *,
    pairs: str,
    profile: str | None,
    encoder: str | None,
    cache: bool | None,
    verifier: str | None,
    questions: int | None,
    asking: Choices,
    batch: int,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Say what the two texts of each pair are to each other. Reads only.

    PAIRS.jsonl holds one JSON object a line, with "a" and "b" and, if you like, an "id" (else the
    number of the line). Each side is a text, or a memory as a JSON Lines store holds it; - reads
    standard input. Answers come in the order of the lines, as they are judged. A line that holds no
    pair ends the command with exit code 3, after the answers to the lines before it.
    """
    choices = Choices(
        profile=profile, encoder=encoder, cache=cache, verifier=verifier, questions=questions
    ).over(asking)
    tally, bad = Tally(), _BadLines()
    with _opened(pairs) as lines:
        asked = read_questions(lines, _name(pairs), skip=bad.skip if skip_bad else None)
        rulings = judge_pairs(asked, resolve(layered(choices)), tally=tally, batch=batch)
        if as_json:
            for ruling in rulings:
                learn((ruling.question.a, ruling.question.b))
                click.echo(render.json_line(ruling.to_json()))
        else:
            _show(rulings)
    bad.report()
    _notes(tally)


def _name(pairs: str) -> str:
    return "standard input" if pairs == "-" else pairs


@contextmanager
def _opened(pairs: str) -> Iterator[BinaryIO]:
    if pairs == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(pairs).open("rb")  # noqa: SIM115 - the error of opening is not that of reading
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise InputError(f"{pairs!r} cannot be read ({why}). Check the path.") from problem
    with file:
        yield file


class _BadLines:
    """Counts lines passed over; the first ones are named as they come."""

    def __init__(self) -> None:
        self._number = 0

    def skip(self, problem: InputError) -> None:
        self._number += 1
        if self._number <= NAMED:
            render.note(f"Passed over: {problem}")

    def report(self) -> None:
        if self._number:
            render.note(f"{count(self._number, 'bad line')} passed over.")


def _notes(tally: Tally) -> None:
    """What was fallen back on, beside the output: it must not end up among the answers."""
    for reason, ids in tally.counts.items():
        render.note(f"{reason}: {ids:,}")
    for sentence in tally.notes:
        render.note(sentence)


def _show(rulings: Iterator[Ruling]) -> None:
    verdicts: Counter[str] = Counter()
    merged = 0
    for ruling in rulings:
        verdicts[verdict_name(ruling.verdict)] += 1
        merged += ruling.merge
        render.show(_blocks(ruling))
    total = count(sum(verdicts.values()), "pair")
    parts = [f"{number:,} {name}" for name, number in sorted(verdicts.items())]
    listed = f": {', '.join(parts)}; {merged:,} would be merged" if parts else ""
    render.show([say(strong(f"{total}{listed}."))])


def _blocks(ruling: Ruling) -> Iterator[Block]:
    question = ruling.question
    learn((question.a, question.b))
    side = f" ({_sides(ruling)})" if _sides(ruling) else ""
    merge = ", would be merged" if ruling.merge else ""
    name = verdict_name(ruling.verdict)
    yield say(strong(flat(question.id, _TEXT)), f"  {name}{side}  {ruling.similarity:.3f}{merge}")
    yield say(dim(quoted(ruling.evidence)), level=1)
    yield say("a: ", flat(question.a.content, _TEXT), level=1)
    yield say("b: ", flat(question.b.content, _TEXT), level=1)
    yield Gap()


def _sides(ruling: Ruling) -> str:
    if ruling.superset:
        return f"{ruling.superset} says more"
    return f"{ruling.newer} is newer" if ruling.newer else ""
