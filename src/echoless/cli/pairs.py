"""The command judge: reads pairs of texts and prints one verdict a line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    asking_options,
    count_option,
    encoder_option,
    examples,
    gathered,
    no_cache_option,
    setting_option,
)
from echoless.core.document import Gap, count, flat, quoted, say, strong
from echoless.core.errors import InputError, StoreError
from echoless.core.model import verdict_name
from echoless.core.run_notes import Tally
from echoless.core.secret_masking import learn
from echoless.core.settings import Choices, layered, resolve
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import evidence_line
from echoless.stores.files import open_file
from echoless.workflows.pairs.judge_pairs import BATCH, Ruling, judge_pairs, read_questions

NAMED: Final = 10
"""Bad lines named one by one with --skip-bad; all are counted."""

_TEXT: Final = 200
"""Characters shown of a text."""


@click.command(
    "judge",
    epilog=examples(
        "echoless judge pairs.jsonl",
        "echoless judge pairs.jsonl --json > verdicts.jsonl",
        "echoless judge - --json --batch 1",
    ),
)
@click.argument("pairs", metavar="PAIRS.jsonl")
@setting_option(
    "profile",
    explained="Way of deduplicating, safe by default. `echoless profiles` explains them.",
)
@encoder_option
@no_cache_option
@setting_option("verifier")
@setting_option("questions")
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
@gathered("choices", Choices, "profile", "encoder", "cache", "verifier", "questions")
def judge_command(
    *,
    pairs: str,
    choices: Choices,
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
    tally, bad = Tally(), _BadLines()
    with _opened(pairs) as lines:
        name = "standard input" if pairs == "-" else pairs
        asked = read_questions(lines, name, skip=bad.skip if skip_bad else None)
        settings = resolve(layered(choices.over(asking)))
        rulings = judge_pairs(asked, settings, tally=tally, batch=batch)
        if as_json:
            for ruling in rulings:
                learn((ruling.question.a, ruling.question.b))
                click.echo(render.json_line(ruling.to_json()))
        else:
            _show(rulings)
    bad.report()
    # what was fallen back on stands beside the output: it must not end up among the answers
    for reason, ids in tally.counts.items():
        render.note(f"{reason}: {ids:,}")
    for note in tally.notes:
        render.note(note)


@contextmanager
def _opened(pairs: str) -> Iterator[BinaryIO]:
    """Opens a file of pairs, or standard input for `-`.

    Raises:
        InputError: The file cannot be opened.
    """
    if pairs == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_file(Path(pairs)))
        except (StoreError, ValueError) as problem:
            raise InputError(f"{pairs!r} cannot be read: {problem} Check the path.") from problem
        yield file


class _BadLines:
    """Number of lines passed over; the first ones are named as they come."""

    def __init__(self) -> None:
        self._number = 0

    def skip(self, problem: InputError) -> None:
        self._number += 1
        if self._number <= NAMED:
            render.note(f"Passed over: {problem}")

    def report(self) -> None:
        if self._number:
            render.note(f"{count(self._number, 'bad line')} passed over.")


def _show(rulings: Iterator[Ruling]) -> None:
    """Prints each pair with its verdict, then how many got which verdict."""
    verdicts: Counter[str] = Counter()
    merged = 0
    for ruling in rulings:
        question, verdict = ruling.question, verdict_name(ruling.verdict)
        verdicts[verdict] += 1
        merged += ruling.merge
        learn((question.a, question.b))
        merge = "; would be merged" if ruling.merge else ""
        result = f"  {quoted(sentence(ruling.verdict, 'a', 'b'))}{merge}"
        render.show(
            [
                say(strong(flat(question.id, _TEXT)), result),
                evidence_line(verdict, ruling.similarity, ruling.evidence, level=1),
                say("a: ", flat(question.a.content, _TEXT), level=1),
                say("b: ", flat(question.b.content, _TEXT), level=1),
                Gap(),
            ]
        )
    total = count(sum(verdicts.values()), "pair")
    parts = [f"{number:,} {name}" for name, number in sorted(verdicts.items())]
    listed = f": {', '.join(parts)}; {merged:,} would be merged" if parts else ""
    render.show([say(strong(f"{total}{listed}."))])
