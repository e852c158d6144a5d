"""The command hook: memories from standard input, one a line, for hooks of agents."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click

from echoless.cli import render
from echoless.cli.options import (
    boot_option,
    chosen,
    examples,
    gathered,
    settings_for,
    store_argument,
    writing,
)
from echoless.core.errors import ForeignStore, InputError, StoreError
from echoless.core.settings import Choices
from echoless.ingest import Guard
from echoless.ingest.guard import AT_ONCE
from echoless.ingest.request import ORIGINS, Details, Origin
from echoless.ingest.stream import FORMATS, Format, read_entries, read_texts, summary, take_in
from echoless.stores import open_store
from echoless.stores.files import open_file


@dataclass(frozen=True, slots=True)
class _Input:
    """How standard input is read, what holds for all its lines, and what the agent knows already.

    Attributes:
        form: Format of a line.
        namespace: Of lines that name none.
        origin: Where the lines come from.
        review: Hold back what may repeat something.
        batch: Name of the input, or None.
        boot: Files the agent reads at its start.
        recalled: What was just handed to it, in lines like those of the input; None if nothing.
    """

    form: Format
    namespace: str
    origin: Origin
    review: bool
    batch: str | None
    boot: tuple[Path, ...]
    recalled: Path | None

    def recalled_texts(self) -> list[str]:
        """Reads the texts that were handed to the agent.

        Raises:
            InputError: The file cannot be read.
        """
        if not self.recalled:
            return []
        try:
            with open_file(self.recalled) as stream:
                return read_texts(stream)
        except (ForeignStore, StoreError) as problem:
            raise InputError(f"A file cannot be read. {problem}") from problem
        except InputError as problem:
            raise InputError(f"{self.recalled}: {problem}") from problem


@click.command(
    "hook",
    epilog=examples(
        "echoless hook agent.db --create < facts.txt",
        "echoless hook agent.db --boot CLAUDE.md --boot MEMORY.md < session.jsonl",
        "echoless hook agent.db --batch session-42 --review < session.jsonl",
    ),
)
@store_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="text: each line is a memory. jsonl: each is an object with a text, and what else "
    "`remember` takes. auto: what begins like a JSON object is one.",
)
@click.option("--namespace", default="", metavar="NAME", help="Of lines that name none.")
@click.option(
    "--origin",
    type=click.Choice(ORIGINS),
    default="said",
    show_default=True,
    help="Where the lines come from; what is recalled came out of memory and is not stored again.",
)
@click.option(
    "--review",
    is_flag=True,
    help="Hold back what may repeat something, instead of storing it beside it.",
)
@boot_option
@click.option(
    "--recalled",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What was just handed to the agent, in lines like those of the input: to say it again is "
    "no news.",
)
@click.option(
    "--batch",
    metavar="NAME",
    help="A name for this input, such as the id of a session: sent again under it, it changes and "
    "counts nothing.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Make the summary a JSON object too; what is printed for a line always is one.",
)
@click.option("--create", is_flag=True, help="Make STORE if it does not exist.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@chosen(
    ("profile", "Way of deduplicating; the store proposes one."),
    "encoder",
    ("semantic", "Compare by words only."),
    "cache",
)
@gathered("lines", _Input)
def hook_command(
    *, store: str, lines: _Input, as_json: bool, create: bool, dry_run: bool, choices: Choices
) -> int:
    """Remember each line of standard input in STORE, unless it is known.

    What came of a line is printed as one JSON object with its number, as soon as it is done; a
    summary goes to standard error. A line that cannot be read or stored is told and the others go
    on: the exit code is then 3. Killed at any moment, the
    command can be run again with the same input: nothing is stored twice.
    """
    details: Details = {
        "namespace": lines.namespace,
        "origin": lines.origin,
        "unsure": "review" if lines.review else "admit",
        "dry_run": dry_run,
    }
    recalled = lines.recalled_texts()
    outcomes: Counter[str] = Counter()
    with open_store(store, create=create and not dry_run) as opened, writing(store):
        settings = settings_for(opened, choices)
        with Guard(opened, settings, boot=lines.boot, recalled=recalled) as guard:
            entries = read_entries(sys.stdin.buffer, lines.form)
            at_once = _at_once(sys.stdin.buffer)
            for line, outcome in take_in(
                guard, entries, details, batch=lines.batch, at_once=at_once
            ):
                answer = {"line": line, **outcome.to_json()}
                outcomes[str(answer["answer"])] += 1
                click.echo(render.json_line(answer))
    render.note(json.dumps(outcomes) if as_json else summary(outcomes))
    return InputError.exit_code if outcomes["failed"] else 0


def _at_once(stream: BinaryIO) -> int:
    """Returns how many lines are written together: several of a file, one of a pipe."""
    try:
        in_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # it is no file of the system
        return 1
    return AT_ONCE if in_file else 1
