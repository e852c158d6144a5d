"""The commands about pairs of texts: judge, a verdict a line, and explain, one pair in full."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    asking_options,
    complete_path,
    encoder_option,
    examples,
    gathered,
    json_option,
    no_cache_option,
    setting_option,
)
from echoless.core.destination import command_line, without_password
from echoless.core.document import Block, Gap, Heading, count, flat, quoted, say, strong
from echoless.core.errors import InputError, StoreError, UsageError
from echoless.core.masking import OUTPUT, learn
from echoless.core.model import Memory, Subsumes, Verdict, merges, verdict_name
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, layered, resolve
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan_blocks import evidence_line
from echoless.matching.explanation import Explanation
from echoless.stores import open_store
from echoless.stores.base import in_contexts
from echoless.stores.files import open_file
from echoless.workflows import item_lists
from echoless.workflows.pairs import (
    Ruling,
    explain_memories,
    explanation_json,
    judge_pairs,
    read_questions,
)

_MOST = 6
"""Most words shown; `--json` has all."""


@click.command(
    "explain",
    epilog=examples(
        'echoless explain "The demo is at 2 pm." "The demo starts at 14:00."',
        "echoless explain m-17 m-42 --store agent.db",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--store",
    metavar="STORE",
    shell_complete=complete_path,
    help="A and B are ids of memories in this store.",
)
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
    pair = judged = (Memory(id="a", content=a), Memory(id="b", content=b))
    if store is not None:
        with open_store(store) as opened:
            memories = opened.get({a, b})
            read = in_contexts(opened, memories)
        for id_ in (a, b):
            if id_ not in memories:
                raise InputError(
                    f"There is no memory {id_!r} in {without_password(store)}. "
                    f"Look with `{command_line('search', store, 'WORDS')}`."
                )
        pair, judged = (memories[a], memories[b]), (read[a], read[b])
    explanation = explain_memories(*judged, settings=settings, tally=tally)
    learn(pair)
    render.show_answer(explanation_json(explanation), _blocks(pair, explanation), as_json=as_json)
    render.note(*tally.notes)


def _blocks(pair: tuple[Memory, Memory], explanation: Explanation) -> Iterator[Block]:
    """Yields the verdict, its evidence, and the differences that would change the verdict."""
    verdict = explanation.verdict
    yield say(strong(quoted(sentence(verdict, "a", "b"))))
    yield say(_outcome(verdict), level=1)
    evidence = verdict.evidence
    yield evidence_line(verdict_name(verdict), None, evidence.line(), level=1)
    yield say("a: ", flat(pair[0].content, 400), level=1)
    yield say("b: ", flat(pair[1].content, 400), level=1)
    yield Gap()
    yield from _compared(explanation)
    if explanation.against:
        yield Heading("What forbids a merge")
        for rule, difference in explanation.against:
            left, right = _joined(difference.a), _joined(difference.b)
            yield say(quoted(f"{rule} ({difference.kind.value}): {left} | {right}"), level=1)
        yield Gap()
    if explanation.reading is not None:
        reading = explanation.reading
        yield Heading("What the pair model says, 0 to 1")
        yield say(
            f"both say the same: {reading.same:.2f} (merged from {reading.merge_from:.2f})", level=1
        )
        yield say(f"a says all of b: {reading.a_holds_b:.2f}", level=1)
        yield say(f"b says all of a: {reading.b_holds_a:.2f}", level=1)
        conflict = f"may not both be true: {reading.conflict:.2f}"
        yield say(f"{conflict} (reported from {reading.conflict_from:.2f})", level=1)
        if reading.replaces is not None:
            replaces = f"the newer replaces the older: {reading.replaces:.2f}"
            yield say(f"{replaces} (an update from {reading.replaced_from:.2f})", level=1)
        for each in reading.words[:_MOST]:
            left_out = f"both say the same, without {each.word} in {each.side}: {each.same:.2f}"
            yield say(quoted(left_out), level=1)
        yield Gap()
    yield Heading("What would change it")
    for change in explanation.would_change:
        yield say(quoted(change), level=1)


def _outcome(verdict: Verdict) -> str:
    """Returns what would become of the two in a store."""
    if not merges(verdict):
        return "In a store both stay visible."
    if isinstance(verdict, Subsumes):
        more, less = ("a", "b") if verdict.superset == "a" else ("b", "a")
        return f"In a store {less} would be hidden behind {more}."
    return "In a store one would be hidden behind the other."


def _joined(words: Iterable[str]) -> str:
    return " ".join(words) or "-"


def _compared(explanation: Explanation) -> Iterator[Block]:
    """Yields what both say, what only one says, and how the values of each kind compare."""
    yield Heading("Compared")
    same = f"{count(len(explanation.shared), 'word')} the same: {_joined(explanation.shared)}"
    yield say(quoted(same), level=1)
    yield say(quoted(f"only in a: {_joined(explanation.only_a)}"), level=1)
    yield say(quoted(f"only in b: {_joined(explanation.only_b)}"), level=1)
    for values in explanation.values:
        left, right = _joined(values.a), _joined(values.b)
        line = f"{values.kind.value} {values.relation.value}: {left} | {right}"
        yield say(quoted(line), level=1)
    yield Gap()


_TEXT: Final = 200
"""Characters shown of a text."""


@click.command(
    "judge",
    cls=SettingsCommand,
    epilog=examples(
        "echoless judge pairs.jsonl",
        "echoless judge pairs.jsonl --json > verdicts.jsonl",
        "echoless judge --serve",
    ),
)
@click.argument("pairs", metavar="PAIRS.jsonl", required=False, shell_complete=complete_path)
@setting_option(
    "profile",
    explained="Way of deduplicating, safe by default. `echoless profiles` explains them.",
)
@encoder_option
@no_cache_option
@setting_option("verifier")
@asking_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object a line (see docs/cli.md) and nothing else.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Answer requests of a program, a JSON object a line, until standard input ends.",
)
@gathered("choices", Choices, "profile", "encoder", "cache", "verifier")
def judge_command(
    *, pairs: str | None, choices: Choices, asking: Choices, as_json: bool, serve: bool
) -> None:
    """Say what the two texts of each pair are to each other. Reads only.

    PAIRS.jsonl holds one JSON object a line, with "a" and "b" and, if you like, an "id" (else the
    number of the line). Each side is a text, or a memory as a JSON Lines store holds it; - reads
    standard input. Answers come in the order of the lines, as they are judged. A line that holds no
    pair ends the command with exit code 3, after the answers to the lines before it.

    With --serve other programs judge pairs and fold lists (see docs/lists.md); without caches.
    """
    if serve:
        if pairs is not None or replace(choices, encoder=None, cache=None) != Choices():
            raise UsageError("--serve reads standard input and takes no file and only --encoder.")
        _serve(choices.encoder or item_lists.ENCODER)
        return
    if pairs is None:
        raise UsageError("Name a file of pairs, or - for standard input.")
    tally = Tally()
    with ExitStack() as stack:
        name = "standard input" if pairs == "-" else pairs
        asked = read_questions(_opened(pairs, stack), name)
        settings = resolve(layered(choices.over(asking)))
        rulings = judge_pairs(asked, settings, tally=tally)
        if as_json:
            for ruling in rulings:
                learn((ruling.question.a, ruling.question.b))
                click.echo(render.json_line(ruling.to_json()))
        else:
            _show(rulings)
    # what was fallen back on stands beside the output: it must not end up among the answers
    render.note(*(f"{reason}: {ids:,}" for reason, ids in tally.counts.items()), *tally.notes)


def _serve(encoder: str) -> None:
    """Answers each line of standard input by a line, until it ends."""
    for line in sys.stdin.buffer:
        if line.strip():
            OUTPUT.begin(shown=OUTPUT.shown)
            click.echo(render.json_line(item_lists.answer(line, encoder)))


def _opened(pairs: str, stack: ExitStack) -> BinaryIO:
    """Opens a file of pairs until a stack is left, or standard input for `-`.

    Raises:
        InputError: The file cannot be opened.
    """
    try:
        return sys.stdin.buffer if pairs == "-" else stack.enter_context(open_file(Path(pairs)))
    except (StoreError, ValueError) as problem:
        raise InputError(f"{pairs!r} cannot be read: {problem} Check the path.") from problem


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
