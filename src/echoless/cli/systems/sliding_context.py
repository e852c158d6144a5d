"""The commands of sliding-context: its flags, its lines, its exit codes."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import click

from echoless.cli import render
from echoless.cli.options import examples, writing
from echoless.cli.render import show_json
from echoless.errors import EcholessError, InputError, UsageError
from echoless.model import Json
from echoless.systems.sliding_context import arguments
from echoless.systems.sliding_context.arguments import CleanupArgs
from echoless.systems.sliding_context.capturing import run_capture
from echoless.systems.sliding_context.cleanup import run_cleanup
from echoless.systems.sliding_context.turns import Turn


@click.group("sliding-context")
def sliding_context_command() -> None:
    """Work on the LanceDB table in which sliding-context keeps its summaries.

    These commands end with 0 when all was done, 1 when something failed or was refused, and 2 when
    the call is wrong.
    """


def _cleanup(**flags: object) -> int:
    """Merge entries that say the same, after a backup.

    Entries of one session type and channel whose vectors are alike become one: the most recent one
    stays, with a text that holds what all of them say, and the others are removed. A text that
    loses a figure or a file name is not taken; all distinct sentences take its place. Every run can
    be taken back with `echoless undo`.
    """
    try:
        args: CleanupArgs = arguments.made(**flags)  # type: ignore[arg-type]
        with writing(f"lancedb:///{args.db_path}"):
            return run_cleanup(args, say=_say, warn=_warn).exit_code
    except EcholessError as problem:
        _warn(f"Error: {problem}")
        return 2 if isinstance(problem, UsageError) else 1


def _capture(**flags: object) -> int:
    """Keep one turn, read as JSON from standard input, and print what became of it as JSON.

    The turn is an object with `messages` (role and content, as chat programs write them) and, as
    far as known, sessionKey, sessionType, channel, topics, hasDecision, hasToolCalls, sessionFile,
    messageRange and telegramMessageIds. The model sees the last three entries of the same privacy
    class and answers NEW, UPDATE or SKIP; what it answers is checked before anything is written.
    Where it fails, the turn is summed up by rule. Every run can be taken back with `echoless undo`.
    """
    try:
        args = arguments.capture_made(**flags)  # type: ignore[arg-type]
        turn = Turn.from_json(_turn(sys.stdin))
        with writing(f"lancedb:///{args.db_path}"):
            done = run_capture(args, turn, warn=_warn)
    except EcholessError as problem:
        _warn(f"Error: {problem}")
        return 2 if isinstance(problem, UsageError) else 1
    show_json(done.to_json())
    return done.exit_code


def _turn(stream: TextIO) -> Json:
    try:
        found: Json = json.load(stream)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"Standard input is no JSON ({problem}).") from problem
    return found


def _say(line: str) -> None:
    click.echo(render.reason(line))


def _warn(line: str) -> None:
    click.echo(render.reason(line), err=True)


sliding_context_command.add_command(
    click.Command(
        "cleanup",
        callback=_cleanup,
        params=list(arguments.OPTIONS),
        help=_cleanup.__doc__,
        epilog=examples(
            "echoless sliding-context cleanup --db-path ~/.openclaw/sliding-context/lancedb "
            "--dry-run",
            "echoless sliding-context cleanup --db-path ~/.openclaw/sliding-context/lancedb",
            "echoless sliding-context cleanup --db-path lancedb --no-llm --similarity 0.9",
        ),
    )
)

sliding_context_command.add_command(
    click.Command(
        "capture",
        callback=_capture,
        params=list(arguments.CAPTURE_OPTIONS),
        help=_capture.__doc__,
        epilog=examples(
            "echoless sliding-context capture --db-path ~/.openclaw/sliding-context/lancedb "
            "< turn.json",
            "echoless sliding-context capture --db-path lancedb --locale en --no-llm < turn.json",
        ),
    )
)
