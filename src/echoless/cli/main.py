"""The command `echoless`: its help and the table of its commands."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final, NoReturn

import click

from echoless.cli.command_group import Families, LazyGroup, run_group
from echoless.cli.options import CommandState
from echoless.cli.progress import LEVELS, VARIABLE, set_log_level

FAMILIES: Final[Families] = {
    "Look (nothing is written)": {
        "doctor": ("doctor", "What is wrong with the memory of an agent, and what to do."),
        "discover": ("discovery", "Which memory stores there are, and where."),
        "audit": ("audit", "How much of a store is repetition, where, and since when."),
        "compare": ("compare", "What was lost, changed or added between two states."),
        "list": ("reading", "The memories of a store: name, day, size, how each begins."),
        "search": ("reading", "Search; duplicates fold under the memory that stands for them."),
        "show": ("reading", "Everything about a memory, its history and its duplicates."),
        "judge": ("pairs", "What two texts are to each other, pair by pair."),
        "explain": ("pairs", "Why two texts are, or are not, the same: what would change it."),
    },
    "Remember": {
        "remember": ("ingest", "Add a text, unless a memory says it already."),
        "hook": ("hook", "Remember each line of standard input, unless it is known."),
    },
    "Act": {
        "dedup": ("dedupe", "Preview what would be hidden and why; with --apply, hide it."),
        "tend": ("tend", "Plan for what changed since last time; by hand, hook or timer."),
        "review": ("review", "Decide on duplicates: by page or by words."),
        "apply": ("execution", "Carry out a plan that --plan wrote."),
    },
    "Serve": {
        "mcp": ("server", "Serve a store to agents over the Model Context Protocol."),
        "claude-hook": ("claude_hook", "Answer a hook of Claude Code: what its memory repeats."),
    },
    "Change by hand": {
        "edit": ("forget", "Change the text of one memory; can be undone."),
        "forget": ("forget", "Remove memories for good, and hold them when they come back."),
    },
    "Go back": {
        "undo": ("execution", "Take a run back: every record as it was."),
        "history": ("execution", "Runs of a store, or all of one run."),
        "check": ("execution", "Finish or roll back what was interrupted; test the store."),
        "purge": ("execution", "Destroy the images that make undo possible. For good."),
    },
    "Move": {
        "import": ("transfer", "Copy memories and lineage into a store."),
        "export": ("transfer", "Write a store to a JSONL or SQLite file."),
        "backup": ("transfer", "Make a complete copy, compared record by record."),
    },
    "About": {
        "stores": ("catalogue", "Kinds of store that can be opened."),
        "encoders": ("catalogue", "Sources of vectors, and which are usable here."),
        "profiles": ("catalogue", "Ways of deduplicating."),
        "schema": ("catalogue", "JSON Schemas of what commands print with --json."),
        "demo": ("catalogue", "The whole road on 1,200 sample memories, undone at the end."),
    },
}

_EPILOG: Final = """
Examples:

\b
  echoless audit memories.jsonl
  echoless import memories.jsonl agent.db
  echoless dedup agent.db                      what would happen, and why
  echoless review agent.db                     decide in a page, or by words
  echoless dedup agent.db --apply              hide duplicates; every record stays
  echoless undo agent.db                       as it was
  echoless audit agent.db --fail-over 5%       for a nightly job

Exit codes:

\b
   0  done
   1  something failed, or `check` found something it could not mend
   2  the call is wrong: an option, a threshold, a namespace
   3  the data cannot be read as memories, or something named is not there
   4  the store is locked, read-only or full
   5  the plan, or a part of it, was refused
   6  undo would overwrite a later edit
   7  an optional library is missing
   8  the embedding model, the language model or the verifier failed
   9  `remember`: held back, nothing was stored
  10  `audit --fail-over`, `doctor --fail-under`, `compare --fail-on`: more than was allowed
 130  interrupted
"""


_NEW_OBJECTS: Final = 100_000
"""New objects after which Python looks for cycles among them. Its default of 700 is for programs
with few objects: among the millions of a large store it took a tenth of a run."""


class _Main(LazyGroup):
    families: ClassVar[Families] = FAMILIES


@click.group(
    cls=_Main,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--debug",
    is_flag=True,
    envvar="ECHOLESS_DEBUG",
    show_envvar=True,
    help="Show the traceback of an error.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS, case_sensitive=False),
    envvar=VARIABLE,
    show_envvar=True,
    help="Print log lines from this level on standard error. By default info where that is no "
    "terminal, with lines of progress; else warning, as there is a progress bar.",
)
@click.version_option(
    None,
    "-V",
    "--version",
    package_name="echoless",
    message="echoless %(version)s",
    help="Print the version.",
)
@click.pass_context
def main(ctx: click.Context, debug: bool, log_level: str | None) -> object:
    """Find what the memory of an agent says twice, say why, hide it, undo everything.

    A STORE is a path (agent.db, memories.jsonl), recognised by its content, or a URL
    (sqlite:///agent.db). Nothing is written unless --apply, `apply` or a yes in the review asks for
    it; duplicates are hidden, not removed, unless --action says otherwise; whatever was written can
    be undone. Every command has --json and its own --help; those for other programs' memories speak
    as these programs do, and mcp speaks its protocol.

    Without a command it is `doctor` in a folder with memories, and else this help.
    """
    ctx.ensure_object(CommandState).debug = debug
    set_log_level(log_level)
    if ctx.invoked_subcommand is not None:
        return None
    from echoless.workflows.discovery.search import discover

    doctor = main.get_command(ctx, "doctor") if discover([Path.cwd()]).stores else None
    if doctor is None:
        click.echo(ctx.get_help())
        return None
    return doctor.invoke(doctor.make_context("doctor", [], parent=ctx))


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and ends the process with its exit code.

    Args:
        arguments: Instead of those of the process.
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    # The threads of numpy's BLAS wait actively for .03 s once it is loaded and after each product;
    # 4 makes them sleep at once: .05 s less of the processor for the shortest command.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # Other processes, such as workers, would import modules of the current folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    # Python looks for cycles once more as it ends, which takes .03 s after the shortest command.
    atexit.register(gc.freeze)
    run_group(main, arguments)
