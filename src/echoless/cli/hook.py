"""The command for shell hooks and session-end scripts: one memory a line on standard input."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.options import (
    encoder_option,
    examples,
    no_cache_option,
    settings_for,
    store_argument,
    writing,
)
from echoless.errors import InputError
from echoless.intake import FORMATS, Format, read_entries, read_texts, summary, take_in
from echoless.profiles import PROFILES
from echoless.remembering import Guard
from echoless.remembering.wish import ORIGINS, Details, Origin
from echoless.settings import Choices
from echoless.stores import open_store

_FILE = click.Path(path_type=Path, dir_okay=False)


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
@click.option(
    "--boot",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="A file the agent reads at its start: what it says is known. May be given several times.",
)
@click.option(
    "--recalled",
    type=_FILE,
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
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    help="Way of deduplicating; the store proposes one.",
)
@encoder_option
@click.option(
    "--no-semantic",
    "semantic",
    flag_value=False,
    default=None,
    type=bool,
    help="Compare by words only.",
)
@no_cache_option
def hook_command(
    *,
    store: str,
    form: Format,
    namespace: str,
    origin: Origin,
    review: bool,
    boot: tuple[Path, ...],
    recalled: Path | None,
    batch: str | None,
    as_json: bool,
    create: bool,
    dry_run: bool,
    profile: str | None,
    encoder: str | None,
    semantic: bool | None,
    cache: bool | None,
) -> int:
    """Remember each line of standard input in STORE, unless it is known.

    What came of a line is printed as one JSON object with its number, as soon as it is done; a
    summary goes to standard error. A line that cannot be read or stored is told and the others go
    on: the exit code is then 3. Killed at any moment, the
    command can be run again with the same input: nothing is stored twice.
    """
    choices = Choices(profile=profile, encoder=encoder, semantic=semantic, cache=cache)
    details: Details = {
        "namespace": namespace,
        "origin": origin,
        "unsure": "review" if review else "admit",
        "dry_run": dry_run,
    }
    handed = _texts(recalled) if recalled else []
    outcomes: Counter[str] = Counter()
    with open_store(store, create=create and not dry_run) as opened, writing(store):
        settings = settings_for(opened, choices)
        with Guard(opened, settings, boot=boot, recalled=handed) as guard:
            entries = read_entries(sys.stdin.buffer, form)
            for line, outcome in take_in(guard, entries, details, batch=batch):
                told = {"line": line, **outcome.to_json()}
                outcomes[str(told["answer"])] += 1
                click.echo(render.json_line(told))
    render.note(json.dumps(outcomes) if as_json else summary(outcomes))
    return InputError.exit_code if outcomes["failed"] else 0


def _texts(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            return read_texts(stream)
    except OSError as problem:
        raise InputError(f"{path} cannot be read ({problem.strerror}).") from problem
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from problem
