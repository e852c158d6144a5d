"""The commands of sliding-context: its flags, its lines, its exit codes."""

from __future__ import annotations

import click

from echoless.cli.document import visible
from echoless.cli.options import examples, writing
from echoless.errors import EcholessError, UsageError
from echoless.systems.sliding_context import arguments
from echoless.systems.sliding_context.arguments import CleanupArgs
from echoless.systems.sliding_context.cleanup import run_cleanup


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


def _say(line: str) -> None:
    click.echo(visible(line))


def _warn(line: str) -> None:
    click.echo(visible(line), err=True)


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
