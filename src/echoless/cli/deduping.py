"""The command dedup: preview, plan file, review, or all at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from echoless.applying import Run, apply
from echoless.auditing import findings_json
from echoless.cli import render
from echoless.cli.document import Gap, say
from echoless.cli.options import (
    command_line,
    examples,
    finding_options,
    json_option,
    mapping_options,
    settings_for,
    store_argument,
    writing,
)
from echoless.cli.outcome import (
    exit_code,
    hidden_already,
    run_blocks,
    run_json,
    say_notes,
    seen_elsewhere,
    undo_line,
)
from echoless.cli.progress import Bar
from echoless.cli.review import review_findings
from echoless.cli.shown_groups import plan_blocks
from echoless.errors import UsageError
from echoless.findings import Findings
from echoless.masked import learn
from echoless.model import Json
from echoless.pipeline import find, plan
from echoless.planning import Plan, write_plan
from echoless.profiles import ACTIONS
from echoless.settings import Choices
from echoless.stores import Store, open_store
from echoless.uncollected import uncollected


@click.command(
    "dedup",
    epilog=examples(
        "echoless dedup agent.db",
        "echoless dedup agent.db --plan tidy.json && echoless apply agent.db tidy.json",
        "echoless dedup agent.db --interactive",
        "echoless dedup agent.db --apply --action merge --threshold semantic=0.9",
    ),
)
@store_argument
@mapping_options
@finding_options
@click.option(
    "--action",
    type=click.Choice(ACTIONS),
    help="What happens to duplicates: mark hides them, merge also gives their metadata to the "
    "survivor, delete also removes them. The profile's by default, and never delete unless asked.",
)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the plan to a new FILE for `echoless apply`.",
)
@click.option("--apply", "now", is_flag=True, help="Make the plan and carry it out at once.")
@click.option(
    "--interactive",
    "-i",
    is_flag=True,
    help="Decide group by group; nothing is written before a last question.",
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print the N largest groups (all by default). The plan always holds all.",
)
@json_option
@uncollected()
def dedup_command(
    *,
    store: str,
    choices: Choices,
    action: str | None,
    plan_file: Path | None,
    now: bool,
    interactive: bool,
    top: int | None,
    as_json: bool,
) -> int:
    """Show what would be hidden in STORE, and why. Writes only with --apply or after a review.

    Without --apply this is a dry run: it prints the plan, group by group, with the memory that
    stays visible, the reason, and the evidence for each duplicate. Duplicates are hidden behind
    their survivor; every record stays in the store, and `echoless undo` takes everything back.
    """
    _check(plan_file, now=now, interactive=interactive, as_json=as_json)
    chosen = replace(choices, action=action)
    with open_store(store) as opened:
        with Bar(quiet=as_json) as bar:
            findings = find(opened, settings_for(opened, chosen), progress=bar)
        if now or interactive or plan_file:
            _check_delete(findings, action)
        if interactive and render.is_interactive():
            return review_findings(opened, store, findings, plan_file)
        if interactive:
            render.note("There is no terminal to ask on, so this is a dry run: nothing is written.")
        made = plan(findings)
        run = _write(opened, store, made, plan_file, now=now, quiet=as_json)
        notes = _notes(opened, store, findings, made, run)
    if as_json:
        learn(findings.memories[id_] for id_ in _named(findings))
        told = _json(findings, made, plan_file, run, store)
        render.show_json({**told, "notes": [*findings.tally.notes, *notes]})
    else:
        render.show(plan_blocks(findings, made, top))
        _say_how_it_went(store, made, plan_file, run)
        for sentence in notes:
            render.note(sentence)
    return exit_code(run)


def _check(plan_file: Path | None, *, now: bool, interactive: bool, as_json: bool) -> None:
    """Refuse what does not go together before the long work, not after it."""
    if now and plan_file:
        raise UsageError("--plan writes a plan for later and --apply acts now. Choose one.")
    if interactive and (now or as_json):
        other = "--apply" if now else "--json"
        raise UsageError(f"--interactive asks before it writes; leave out {other}.")
    if plan_file and plan_file.exists():
        raise UsageError(f"{plan_file} exists. Give the plan another name, or remove it first.")


def _check_delete(findings: Findings, action: str | None) -> None:
    """Nothing escalates by itself: a profile or a file may propose to delete, a person asks."""
    if findings.settings.profile.action == "delete" and action is None:
        raise UsageError(
            "The settings propose to delete duplicates. Say so with --action delete, or hide them "
            "with --action mark."
        )


def _write(
    opened: Store, store: str, made: Plan, plan_file: Path | None, *, now: bool, quiet: bool
) -> Run | None:
    if plan_file:
        write_plan(made, plan_file)
    if not now or not made.actions:
        return None
    with Bar(quiet=quiet) as bar, writing(store):
        run = apply(opened, made, progress=bar.actions)
    say_notes(opened)
    return run


def _notes(opened: Store, store: str, findings: Findings, made: Plan, run: Run | None) -> list[str]:
    """What a reader of the counts alone would get wrong, one sentence each."""
    elsewhere = (
        seen_elsewhere(opened, made.counts)
        if run is None
        else seen_elsewhere(opened, run.counts, run.id)
    )
    told = (elsewhere, hidden_already(opened, store, findings))
    return [sentence for sentence in told if sentence]


def _named(findings: Findings) -> set[str]:
    """Memories whose words reasons quote."""
    groups = {each.id for group in findings.groups for each in group.members}
    pairs = {id_ for each in findings.held for id_ in (each.a, each.b)}
    return groups.union(pairs, (group.survivor for group in findings.groups))


def _json(
    findings: Findings, made: Plan, plan_file: Path | None, run: Run | None, store: str
) -> dict[str, Json]:
    return {
        **findings_json(findings),
        "plan": made.id if plan_file or run else None,
        "plan_file": None if plan_file is None else str(plan_file),
        "applied": None if run is None else run.id,
        "run": None if run is None else run_json(run, store),
        "undo": None if run is None else undo_line(store, run),
    }


def _say_how_it_went(store: str, made: Plan, plan_file: Path | None, run: Run | None) -> None:
    if run is not None:
        render.show([Gap(), *run_blocks(run, store)])
    elif plan_file is not None:
        line = command_line("apply", store, str(plan_file))
        render.show([say(f"The plan is in {plan_file}; nothing else was written. Next: {line}")])
    elif made.actions:
        again = command_line("dedup", store)
        render.show(
            [
                say("Nothing was written. Go on, with the same options, by one of:"),
                say(f"{again} --apply", level=1),
                say(f"{again} --plan FILE", level=1),
                say(f"{again} --interactive", level=1),
            ]
        )
