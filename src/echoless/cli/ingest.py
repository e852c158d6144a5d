"""The command remember: adds one text to a store unless it is known."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Unpack

import click

from echoless.cli import render
from echoless.cli.options import (
    again,
    boot_option,
    chosen,
    count_option,
    examples,
    json_option,
    settings_for,
    store_argument,
    with_options,
    writing,
)
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import Block, command, dim, flat, quoted, say, strong
from echoless.core.errors import NEEDS_REVIEW, InputError
from echoless.core.masking import OUTPUT
from echoless.core.model import Memory
from echoless.core.settings import Choices
from echoless.ingest import Admitted, AlreadyKnown, Guard, Match, NeedsReview, Remembered, Updates
from echoless.ingest.recalled_text import read_text_file
from echoless.ingest.request import DOUBTS, ORIGINS, Details
from echoless.stores import open_store
from echoless.stores.base import new_files

_TEXT: Final = 160
"""Characters shown of a memory that is named in an answer."""

_DETAILS: Final = (
    click.option("--namespace", default="", metavar="NAME", help="Scope the text belongs to."),
    click.option("--type", default="", metavar="WORD", help="The store's word for its kind."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be given several times."),
    click.option("--importance", type=float, metavar="N", help="In the store's own unit."),
    click.option("--id", "id", metavar="ID", help="Id of the new memory; made by default."),
    click.option(
        "--key",
        metavar="NAME",
        help="Your name for this request: a retry under the same name is told what the first was "
        "told, and counts nothing.",
    ),
    click.option(
        "--origin",
        type=click.Choice(ORIGINS),
        default="said",
        show_default=True,
        help="Where the text comes from. What is recalled came out of memory: it is never stored "
        "again and confirms nothing.",
    ),
    click.option("--force", is_flag=True, help="Store it whatever it repeats."),
    click.option(
        "--supersede", is_flag=True, help="Hide the older memory if only its value goes; undoable."
    ),
    click.option(
        "--unsure",
        type=click.Choice(DOUBTS),
        default="review",
        show_default=True,
        help="What becomes of a text that may be known: held back, or stored.",
    ),
    count_option(
        "--links", default=0, explained="Link the new memory to at most N on the same matter."
    ),
    click.option("--dry-run", is_flag=True, help="Only say what would be done."),
)
"""Options named like the fields of `Details`."""


@click.command(
    "remember",
    epilog=examples(
        'echoless remember agent.db "The staging server has 16 GB of memory."',
        'echoless remember agent.db "The staging server has 32 GB of memory." --supersede',
        "echoless remember agent.db - --boot AGENTS.md --namespace work",
    ),
)
@store_argument
@click.argument("text", metavar="TEXT")
@functools.partial(with_options, options=_DETAILS)
@boot_option
@click.option(
    "--recalled",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Text that was just handed to the agent. May be given several times.",
)
@click.option("--create", is_flag=True, help="Make STORE if it does not exist.")
@chosen(("profile", "Way of deduplicating; the store proposes one."), "encoder", "cache")
@json_option
def remember_command(
    *,
    store: str,
    text: str,
    boot: tuple[Path, ...],
    recalled: tuple[Path, ...],
    create: bool,
    choices: Choices,
    as_json: bool,
    **details: Unpack[Details],
) -> int:
    """Add TEXT to STORE, unless a memory says it already. TEXT - reads standard input.

    The answer is one of four: it is stored; a memory says it already, which is counted and changes
    no record; it is stored and says another value (or more) than an older memory, which is named;
    or it may be known, and nothing is stored (exit code 9). --force stores it in any case. What is
    stored can be undone by the run that is printed.
    """
    if text == "-":
        try:
            text = sys.stdin.read()
        except UnicodeDecodeError as problem:
            raise InputError(
                "What was piped in on standard input is not UTF-8 text (byte "
                f"{problem.start + 1}). Nothing was stored; convert it first."
            ) from problem
    with open_store(store, create=create) as opened, Bar(quiet=as_json) as bar:
        guard = Guard(
            opened,
            settings_for(opened, choices),
            boot=boot,
            recalled=[read_text_file(path) for path in recalled],
            progress=lambda done, whole: bar("reading the store", done, whole),
        )
        with guard, writing(store):
            answer = guard.remember(text, **details)
            missed: tuple[Memory, ...] = ()
            if isinstance(answer, Admitted) and not details.get("namespace"):
                missed = guard.elsewhere(text)
            render.note(*filter(None, (*opened.notes(), new_files(opened))))
    if as_json:
        where = [{"id": each.id, "namespace": each.namespace} for each in missed]
        render.show_json({**answer.to_json(), **({"elsewhere": where} if where else {})})
    else:
        render.show(answer_blocks(answer, store))
        render.show(_elsewhere_blocks(answer, missed, store, text))
    return NEEDS_REVIEW if isinstance(answer, NeedsReview) else 0


def _elsewhere_blocks(
    answer: Remembered, missed: Sequence[Memory], store: str, text: str
) -> Iterator[Block]:
    """Yields memories of other namespaces with the same text, and commands to use one.

    Args:
        answer: The guard's.
        missed: Memories of other namespaces that say the text.
        store: Address of the store, as typed.
        text: The text.
    """
    if not missed or not isinstance(answer, Admitted):
        return
    yield say("Other namespaces say it already; a text is compared within its own only:")
    for memory in missed:
        yield say(f"{memory.id}  namespace {quoted(memory.namespace)}", level=1)
        yield say(dim(flat(memory.content, _TEXT)), level=2)
    yield say("To have it there instead:")
    if answer.run:
        yield command(command_line("undo", store, answer.run))
    words = ("remember", store, text, "--namespace", missed[0].namespace)
    yield command(quoted(command_line(*words)))


def answer_blocks(answer: Remembered, store: str) -> Iterator[Block]:
    """Yields the answer of the guard for a person.

    Args:
        answer: What became of the text.
        store: The store as it was typed, for lines to copy.
    """
    match answer:
        case Admitted(id=id_, run=run):
            yield say(strong(f"Stored as {id_}."), _dry(run))
            yield from _matches("On the same matter:", answer.linked)
        case AlreadyKnown():
            if answer.source == "boot file":
                sentence = f"Known: {answer.match.id} says it."
            elif answer.source == "recalled":
                sentence = f"Known: it came out of memory, {answer.survivor}."
            else:
                times = "once" if answer.confirmations == 1 else f"{answer.confirmations} times"
                sentence = f"Known: {answer.survivor} says it (said again {times})."
            yield say(strong(sentence))
            yield from _matches("", (answer.match,))
        case Updates(old=old, new=new, run=run, hidden=hidden):
            state = "hidden behind it now" if hidden else "still visible"
            stored = f"Stored as {new}. It says something newer than {old}, which is {state}."
            yield say(strong(stored), _dry(run))
            yield from _matches("The older memory:", (answer.match,))
            yield from _matches("Still older values of the same:", answer.older)
        case NeedsReview(why=why):
            yield say(strong("Not stored. "), why)
            yield from _matches("It may repeat:", answer.candidates)
    yield from _ways(answer, store)
    for note in answer.notes:
        yield say(dim(quoted(note)))


def _dry(run: str) -> str:
    return "" if run else "  (dry run)"


def _ways(answer: Remembered, store: str) -> Iterator[Block]:
    """Yields the commands that overrule an answer, or take back what was written."""
    match answer:
        case AlreadyKnown() | NeedsReview():
            yield say("To store it all the same:")
            yield command(again("--force") or command_line("remember", store, "TEXT", "--force"))
        case Updates(run=run, hidden=hidden) if hidden:
            yield say("To see the older one again, or to take the new one out as well:")
            yield command(command_line("undo", store, hidden))
            if run:
                yield command(command_line("undo", store, run))
        case Updates(old=old, new=new, run=run) if run:
            hide = ("--merge", new, old, "--action", "mark", "--apply")
            yield say("To hide the older one, or to take the new one back:")
            yield command(command_line("review", store, *hide))
            yield command(command_line("undo", store, run))
        case Admitted(run=run) if run:
            yield say("To take it back:")
            yield command(command_line("undo", store, run))
        case _:
            yield say("Nothing was written.")


def _matches(title: str, matches: Sequence[Match]) -> Iterator[Block]:
    if title and matches:
        yield say(title)
    for match in matches:
        OUTPUT.learn((match.text,))
        yield say(strong(match.id), f"  {quoted(match.sentence or match.verdict)}", level=1)
        yield say(dim(flat(match.text, _TEXT)), level=2)
