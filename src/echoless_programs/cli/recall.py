"""The command recall: deduplication, search and export of Recall's own database."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from echoless.cli import render
from echoless.cli.options import examples, writing
from echoless.core.errors import EcholessError, UsageError
from echoless.core.rendering import reason
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless_programs.cli.program import takes
from echoless_programs.flags import Flag, flags
from echoless_programs.recall import database_path, open_recall
from echoless_programs.recall import export as recall_export
from echoless_programs.recall import search as recall_search
from echoless_programs.recall.dedup_report import lines, report_json
from echoless_programs.recall.deduplication import (
    DedupOptions,
    execute,
    marked_entries,
    plan_dedup,
    revert,
)
from echoless_programs.stores.recall import RecallStore


@click.group("recall")
def recall_command() -> None:
    """Work on the database of Recall: $RECALL_DB_PATH, $MEM_DB_PATH, or ~/.agents/Recall/recall.db.

    Marks stand in its own table dedup_lineage, so that its own searches hide them too. Exit codes:
    0 done, 1 something failed or was refused, 2 an unknown option.
    """


database_option = click.option(
    "--db", "database", metavar="PATH", help="The database, instead of where Recall keeps it."
)


def _edge(command: Callable[..., int | None]) -> Callable[..., int]:
    """Prints the errors of a command as Recall does: on standard error, with exit code 1."""

    @functools.wraps(command)
    def guarded(**values: object) -> int:
        try:
            return command(**values) or 0
        except EcholessError as problem:
            render.note(str(problem))
            return 1

    return guarded


_PROJECT: Final = Flag("project", metavar="NAME", names=("--project", "-p"))
_TABLE: Final = Flag("table", metavar="TABLE", names=("--table", "-t"))
_DEDUP_FLAGS: Final = (
    *flags("execute delete purge_marked"),
    _TABLE,
    _PROJECT,
    *flags("threshold=T semantic guards"),
)
_SEARCH_FLAGS: Final = (
    _PROJECT,
    _TABLE,
    Flag("limit", metavar="N", names=("--limit", "-l")),
    *flags("include_duplicates"),
)


@recall_command.command(
    "dedup",
    epilog=examples(
        "echoless recall dedup",
        "echoless recall dedup --execute",
        "echoless recall dedup --table breadcrumbs --project alpha --threshold 0.97",
        "echoless recall dedup --execute --delete --purge-marked",
        "echoless recall dedup --execute --revert 12 --revert 13",
    ),
)
@_edge
@takes("options", DedupOptions, _DEDUP_FLAGS)
@click.option(
    "--revert",
    "reverted",
    multiple=True,
    metavar="ID...",
    help="Show marked rows again, by the number of their row in dedup_lineage; with --execute.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON and nothing else.")
@database_option
@click.argument("more", nargs=-1, metavar="[ID]...")
def dedup_command(
    *,
    options: DedupOptions,
    reverted: tuple[str, ...],
    as_json: bool,
    database: str | None,
    more: tuple[str, ...],
) -> int:
    """Find copies and near-copies inside each table. A dry run unless --execute is given.

    Copies are equal texts of one table, project and role; near-copies have stored vectors with a
    cosine at or above the threshold. Marked rows stay in the database and are hidden from searches;
    only --delete removes rows, and `echoless undo` puts them back.
    """
    if more and not reverted:
        raise click.UsageError(f"Got unexpected extra arguments ({' '.join(more)})")
    path = database_path(database)
    with open_recall(path, None if options.table == "all" or reverted else options.table) as store:
        if reverted:
            return _revert(store, (*reverted, *more), now=options.execute)
        return _dedup(store, options, as_json=as_json)


def _dedup(store: RecallStore, options: DedupOptions, *, as_json: bool) -> int:
    """Finds duplicates, marks them if asked, and prints the report."""
    result = plan_dedup(store, options)
    done = None
    if options.execute:
        with writing(str(store.path)):
            done = execute(store, result.plan)
    learn_held(result.findings)
    if as_json:
        render.show_json(report_json(result, done))
    else:
        for line in lines(result, done):
            click.echo(reason(line))
    for sentence in done.refused if done else ():
        render.note(sentence)
    return 1 if done and done.refused else 0


def _revert(store: RecallStore, typed: Sequence[str], *, now: bool) -> int:
    """Shows marked rows again, or only says which; `typed` holds their numbers with commas."""
    words = [each for group in typed for each in group.split(",") if each]
    for each in words:
        if not each.isdecimal():
            raise UsageError(f'Invalid --revert "{each}". Expected the number of a lineage row.')
    numbers = [int(each) for each in words]
    chosen = revert(store, numbers) if now else marked_entries(store, numbers)
    for entry in chosen:
        verb = "reverted" if now else "would revert"
        click.echo(f"{verb} #{entry.id}: {entry.duplicate} (survivor {entry.survivor})")
    if not now:
        click.echo("Re-run with --execute to revert.")
    return 0


@recall_command.command(
    "search",
    epilog=examples(
        "echoless recall search linter",
        'echoless recall search "build cache" -t breadcrumbs --include-duplicates',
    ),
)
@_edge
@click.argument("query", nargs=-1, required=True)
@takes("options", recall_search.search_text, _SEARCH_FLAGS)
@click.option("--show-provenance", is_flag=True, help="Say where each result came from.")
@database_option
def search_command(
    *,
    query: tuple[str, ...],
    options: dict[str, Any],
    show_provenance: bool,
    database: str | None,
) -> None:
    """Search all tables by words, best first. Reads only: no access is counted."""
    with open_recall(database_path(database)) as store:
        hits = recall_search.search_text(store, " ".join(query), **options)
    for line in recall_search.lines(hits, show_provenance=show_provenance):
        click.echo(reason(line))


@recall_command.command(
    "export",
    epilog=examples(
        "echoless recall export > recall.json",
        "echoless recall export --format markdown --output notes/",
        "echoless recall export --backup",
    ),
)
@_edge
@click.option(
    "--format",
    "form",
    type=click.Choice(recall_export.FORMATS),
    default="json",
    show_default=True,
    help="Embeddings are in sqlite only.",
)
@click.option(
    "--output",
    metavar="FILE|DIR/",
    help="Where to; standard output by default. sqlite needs it and overwrites nothing.",
)
@click.option("--backup", is_flag=True, help="An SQL file in ~/.agents/Recall/backups.")
@database_option
def export_command(*, form: str, output: str | None, backup: bool, database: str | None) -> None:
    """Write sessions, the five tables and dedup_lineage. Reads only."""
    if backup and output:
        raise UsageError("--backup has a place of its own. Leave out --output.")
    if form == "sqlite" and not output and not backup:
        raise UsageError("--format sqlite needs --output FILE.")
    with open_recall(database_path(database)) as store:
        written: Path | None = None
        if backup:
            written, summary = recall_export.backup(store)
        elif output:
            written, summary = recall_export.write_export(store, form, output)
        else:
            text, summary = recall_export.export(store, form)
            click.echo(text.encode("utf-8", "surrogateescape"), nl=False)
    render.note(f"{summary} to {written}" if written else summary)
