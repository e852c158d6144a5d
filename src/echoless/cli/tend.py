"""The command tend: what changed in stores since last time, and a plan for it to look at."""

from __future__ import annotations

from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    check_delete,
    complete_path,
    examples,
    finding_options,
    json_option,
    mapping_options,
    settings_for,
    writing,
)
from echoless.cli.outcome import exit_code, run_json, say_notes, undo_line
from echoless.cli.progress import Bar
from echoless.core.destination import command_line, without_password
from echoless.core.document import command, count, say
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json
from echoless.core.settings import Choices
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.stores import open_store
from echoless.workflows.maintenance import Upkeep, tend
from echoless.workflows.snapshots import keep_snapshot


@click.command(
    "tend",
    cls=SettingsCommand,
    epilog=examples(
        "echoless tend agent.db",
        "echoless tend ~/.claude/projects/app/memory CLAUDE.md --into plans",
        "echoless tend agent.db --apply",
    ),
)
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, shell_complete=complete_path)
@mapping_options
@finding_options
@click.option(
    "--into",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder for the plans; a folder of your own by default.",
)
@click.option("--apply", "now", is_flag=True, help="Carry the plan out at once, as one run.")
@click.option(
    "--snapshot",
    "snap",
    is_flag=True,
    help="Keep a copy of STORE as it is first, for `echoless compare last STORE`.",
)
@json_option
@uncollected()
def tend_command(
    *,
    stores: tuple[str, ...],
    choices: Choices,
    into: Path | None,
    now: bool,
    snap: bool,
    as_json: bool,
) -> int:
    """Look at what changed in STORE since last time, and propose what to hide.

    Copies, and out-of-date memories, go into a plan file for `echoless apply`; no memory changes
    before that, or --apply. Where nothing changed, nothing is looked at. A plan that waits is
    replaced by the next one, which holds all of it.

    A store that cannot be read is reported, the others go on, and its exit code is kept.
    """
    codes = [0]

    def answer(store: str) -> dict[str, Json]:
        tended = _tend(store, choices, into, now=now, snap=snap, quiet=as_json)
        codes.append(exit_code(tended.run))
        if not as_json:
            show_upkeep(store, tended)
        return _answer(store, tended)

    answers, failed = render.answers_of_each(stores, answer)
    if as_json:
        render.show_json({"stores": answers})
    return failed or max(codes)


def _tend(
    name: str, choices: Choices, into: Path | None, *, now: bool, snap: bool, quiet: bool
) -> Upkeep:
    """Tends one store."""
    with open_store(name) as store:
        if snap:
            keep_snapshot(store)
        settings = settings_for(store, choices)
        check_delete(settings, None)

        def carry_out(plan: Plan) -> Run:
            with writing(name):
                return apply(store, plan, progress=bar.actions)

        with Bar(quiet=quiet) as bar:
            act = carry_out if now else None
            made = tend(store, settings, into, progress=bar, carry_out=act)
        if made.run:
            say_notes(store)
        return made


def _answer(store: str, made: Upkeep) -> dict[str, Json]:
    """Returns the answer about one store, as in `--json`."""
    return {
        "store": without_password(store),
        "since": made.since,
        **made.changes,
        "looked": made.looked,
        "counts": dict(made.plan.counts) if made.plan else {},
        "held": made.held,
        "again": [*made.again],
        "plan": made.plan.id if made.plan else None,
        "plan_file": str(made.plan_file) if made.plan_file else None,
        "run": run_json(made.run, store) if made.run else None,
        "error": None,
    }


def show_upkeep(store: str, made: Upkeep) -> None:
    """Prints what changed, what is proposed, and the next command."""
    name = without_password(store)
    since = f" since {made.since}" if made.since else ""
    if not (made.looked or made.plan):
        render.show([say(f"{name}: nothing changed{since}, nothing waits.")])
        return
    changed = f"nothing changed{since}, and the plan of then still waits"
    if made.looked:
        counts = [f"{many:,} {word}" for word, many in made.changes.items() if many]
        changed = f"{', '.join(counts) or 'other settings or decisions'}{since}"
    proposed = []
    if made.plan:
        hides = sum(len(action.members) for action in made.plan.actions)
        does = "hidden" if made.run else "may go behind another"
        proposed.append(f"{count(hides, 'memory', 'memories')} {does}.")
    if made.held:
        proposed.append(f"{count(made.held, 'pair')} for a person.")
    if made.again:
        back = count(len(made.again), "memory", "memories")
        proposed.append(f"{back} back that was to be forgotten: {', '.join(made.again)}.")
    render.show([say(f"{name}: {changed}. {' '.join(proposed) or 'Nothing to propose.'}")])
    if made.run:
        before, line = "Take it back: ", undo_line(store, made.run)
    elif made.plan_file:
        before, line = "Look at the plan, then: ", command_line("apply", store, str(made.plan_file))
    elif made.held:
        before, line = "Decide: ", command_line("review", store)
    else:
        return
    render.show([command(line, before=before, level=0)])
