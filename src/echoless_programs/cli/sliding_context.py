"""The commands of sliding-context, with its flags, lines and exit codes."""

from __future__ import annotations

import json
import sys

import click

from echoless.cli import render
from echoless.cli.options import examples, writing
from echoless.core.errors import InputError
from echoless.core.model import Json
from echoless.core.rendering import reason
from echoless_programs.cli.program import ending, takes
from echoless_programs.sliding_context import CaptureArgs, CleanupArgs, Turn, run_cleanup
from echoless_programs.sliding_context.arguments import CAPTURE_FLAGS, CLEANUP_FLAGS
from echoless_programs.sliding_context.connections import WHO
from echoless_programs.sliding_context.turn_capture import run_capture


@click.group(WHO)
def sliding_context_command() -> None:
    """Work on the LanceDB table in which sliding-context keeps its summaries.

    These commands end with 0 when all was done, 1 when something failed or was refused, and 2 when
    the call is wrong.
    """


@sliding_context_command.command(
    "cleanup",
    epilog=examples(
        "echoless sliding-context cleanup --db-path ~/.openclaw/sliding-context/lancedb --dry-run",
        "echoless sliding-context cleanup --db-path ~/.openclaw/sliding-context/lancedb",
        "echoless sliding-context cleanup --db-path lancedb --no-llm --similarity 0.9",
    ),
)
@takes("args", CleanupArgs, CLEANUP_FLAGS)
@ending(WHO)
def cleanup_command(*, args: CleanupArgs) -> int:
    """Merge entries that say the same, after a backup.

    Entries of one session type and channel whose vectors are alike become one: the most recent one
    stays, with a text that holds what all of them say, and the others are removed. A text that
    loses a figure or a file name is not taken; all distinct sentences take its place. Every run can
    be taken back with `echoless undo`.
    """
    with writing(f"lancedb:///{args.db_path}"):
        done = run_cleanup(args, say=lambda line: click.echo(reason(line)), warn=render.note)
    return done.exit_code


@sliding_context_command.command(
    "capture",
    epilog=examples(
        "echoless sliding-context capture --db-path ~/.openclaw/sliding-context/lancedb "
        "< turn.json",
        "echoless sliding-context capture --db-path lancedb --locale en --no-llm < turn.json",
    ),
)
@takes("args", CaptureArgs, CAPTURE_FLAGS)
@ending(WHO)
def capture_command(*, args: CaptureArgs) -> int:
    """Keep one turn, read as JSON from standard input, and print what became of it as JSON.

    The turn is an object with `messages` (role and content, as chat programs write them) and, as
    far as known, sessionKey, sessionType, channel, topics, hasDecision, hasToolCalls, sessionFile,
    messageRange and telegramMessageIds. The model sees the last three entries of the same privacy
    class and answers NEW, UPDATE or SKIP; what it answers is checked before anything is written.
    Where it fails, the turn is summed up by rule. Every run can be taken back with `echoless undo`.
    """
    try:
        data: Json = json.load(sys.stdin)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"Standard input is no JSON ({problem}).") from problem
    turn = Turn.from_json(data)
    with writing(f"lancedb:///{args.db_path}"):
        done = run_capture(args, turn, warn=render.note)
    render.show_json(done.to_json())
    return done.exit_code
