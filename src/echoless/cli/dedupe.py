"""The command dedup: shows a preview, writes a plan, or acts at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    again,
    check_delete,
    check_texts,
    count_option,
    examples,
    explain_option,
    finding_options,
    gathered,
    json_option,
    mapping_options,
    plan_option,
    setting_option,
    settings_for,
    share,
    store_argument,
    texts_option,
    writing,
)
from echoless.cli.outcome import (
    exit_code,
    hidden_already,
    preview_end,
    preview_start,
    say_notes,
    written_blocks,
    written_json,
)
from echoless.cli.progress import Bar
from echoless.core.destination import command_line
from echoless.core.document import Block, Gap, command, count, names, quoted, say, strong
from echoless.core.errors import PlanRefused, PlanTooLarge, UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.masking import learn
from echoless.core.model import Json
from echoless.core.settings import Choices, Settings
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan, write_plan
from echoless.execution.plan_blocks import plan_blocks
from echoless.stores import Store, open_store
from echoless.stores.hidden_records import seen_elsewhere
from echoless.workflows.audit.report import findings_json
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.partitions import PartitionedPlan, plan_by_engine
from echoless.workflows.dedupe.pipeline import find, plan
from echoless.workflows.dedupe.secret_masking import answer_texts, ids_in

_NOT_DONE: Final = 5
"""Most partitions without a plan that are named; `--json` has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked for on the command line.

    Attributes:
        store: The store as it was typed.
        choices: Settings that were chosen.
        action: What happens to duplicates; the profile's action if None.
        engine: What makes the plan partition by partition; None for this process.
        plan_file: File to write the plan to, or None.
        now: Whether to carry the plan out at once.
        with_updates: Whether out-of-date memories go behind the newer ones.
        most_hidden: Largest share that a plan may hide, 0 to 1; None for any.
        top: Most groups to print.
        explain: Whether the rule and the similarity of each verdict are printed.
        as_json: Whether to print JSON.
        texts: Whether to add the texts of the memories that the JSON names.
    """

    store: str
    choices: Choices
    action: str | None
    engine: str | None
    plan_file: Path | None
    now: bool
    with_updates: bool
    most_hidden: float | None
    top: int
    explain: bool
    as_json: bool
    texts: bool

    def check(self) -> None:
        """Checks that the options go together, before the long work.

        Raises:
            UsageError: They do not.
        """
        check_texts(wanted=self.texts, as_json=self.as_json)
        if self.now and self.plan_file:
            raise UsageError("--plan writes a plan for later and --apply acts now. Choose one.")
        if self.engine and (self.with_updates or self.texts):
            option = "--with-updates" if self.with_updates else "--texts"
            raise UsageError(f"--engine makes a plan in other processes; leave out {option}.")
        if (path := self.plan_file) and path.exists():
            raise UsageError(f"{path} exists. Give the plan another name, or remove it first.")

    def find(self, store: Store, settings: Settings) -> Findings | PartitionedPlan:
        """Returns what the store says twice; by an engine, the plan with the memories it shows."""
        with Bar(quiet=self.as_json) as bar:
            if not self.engine:
                return find(store, settings, progress=bar)
            made = plan_by_engine(store, self.store, settings, self.engine, progress=bar)
        shown = {id_ for action in made.plan.actions[: self.top] for id_ in action.ids}
        return replace(made, memories=store.get(shown))

    def plan(self, findings: Findings | PartitionedPlan) -> Plan:
        """Returns the plan, with the out-of-date memories that go or stay where it is asked for."""
        if isinstance(findings, PartitionedPlan):
            return findings.plan
        if not self.with_updates:
            return plan(findings)
        from echoless.workflows.dedupe import updates

        replaced = updates.out_of_date(findings)
        for older, (newer, why) in replaced.left.items():
            learn(findings.memories[id_] for id_ in (older, newer))
            findings.tally.note(f"{older} is out of date beside {newer} and stays: {why}.")
        return plan(findings, updates=replaced)

    def check_share(self, findings: Findings | PartitionedPlan, made: Plan) -> None:
        """Checks that not more is hidden than was allowed, where no person looks at the groups.

        Raises:
            PlanTooLarge: More would be hidden.
        """
        visible = findings.counts["total"] - len(findings.marked)
        share = sum(len(action.members) for action in made.actions) / max(visible, 1)
        limit = 1.0 if self.most_hidden is None else self.most_hidden
        if (self.now or self.plan_file) and share > limit:
            raise PlanTooLarge(
                f"The plan would hide {share:.2%} of the visible memories, more than "
                f"--most-hidden {100 * limit:g}% allows. Nothing was written. Look at the "
                "groups without --apply and --plan, or raise the limit."
            )


@click.command(
    "dedup",
    cls=SettingsCommand,
    epilog=examples(
        "echoless dedup agent.db",
        "echoless dedup agent.db --plan tidy.json && echoless apply agent.db tidy.json",
        "echoless dedup agent.db --with-updates",
        "echoless dedup agent.db --apply --action merge --threshold semantic=0.9",
        "echoless dedup postgresql://agent@db/memory#notes --engine ray=head:6379 --plan tidy.json",
    ),
)
@store_argument
@mapping_options
@finding_options
@setting_option("action")
@click.option(
    "--engine",
    metavar="ENGINE",
    help="Make the plan namespace by namespace in other processes: `processes` on this machine, "
    "`ray`, or `ray=ADDRESS` of a cluster. Exit code 5 where a part could not be done.",
)
@plan_option
@click.option("--apply", "now", is_flag=True, help="Make the plan and carry it out at once.")
@click.option(
    "--with-updates",
    is_flag=True,
    help="Also hide an out-of-date memory behind the one with the newer value, if no other fact is "
    "lost.",
)
@click.option(
    "--most-hidden",
    metavar="SHARE",
    callback=share,
    help="Write nothing with --apply or --plan if more than SHARE of the visible memories "
    "would be hidden (10% or 0.1); the exit code is 5.",
)
@count_option(
    "--top", default=10, explained="Print the N largest groups. The plan always holds all."
)
@explain_option
@json_option
@texts_option
@gathered("request", _Request)
@uncollected()
def dedup_command(*, request: _Request) -> int:
    """Show what would be hidden in STORE, and why. Writes only with --apply.

    Without --apply this is a dry run: it prints the plan, group by group, with the memory that
    stays visible, the reason, and the evidence for each duplicate. Duplicates are hidden behind
    their survivor; every record stays in the store, and `echoless undo` takes everything back.
    """
    request.check()
    choices = replace(request.choices, action=request.action)
    with open_store(request.store) as opened:
        settings = settings_for(opened, choices)
        if request.now or request.plan_file:
            check_delete(settings, request.action)
        findings = request.find(opened, settings)
        made, run = request.plan(findings), None
        request.check_share(findings, made)
        if request.plan_file:
            write_plan(made, request.plan_file)
        if request.now and made.actions:
            with Bar(quiet=request.as_json) as bar, writing(request.store):
                run = apply(opened, made, progress=bar.actions)
            say_notes(opened)
        counts, run_id = (made.counts, "") if run is None else (run.counts, run.id)
        warnings = (
            seen_elsewhere(opened, counts, run_id),
            hidden_already(opened, request.store, findings),
        )
    notes = [warning for warning in warnings if warning]
    if request.as_json:
        _show_json(request, findings, made, run, notes)
    else:
        render.show(_preview(request, findings, made))
        _show_outcome(request, made, run)
        render.note(*notes)
    left = isinstance(findings, PartitionedPlan) and findings.not_done
    return PlanRefused.exit_code if left else exit_code(run)


def _preview(
    request: _Request, findings: Findings | PartitionedPlan, made: Plan
) -> Iterator[Block]:
    """Yields the plan for a person, and what it leaves out."""

    def repeat(name: str, value: int) -> str:
        option = (name, str(value))
        return again(*option) or command_line("dedup", request.store, *option)

    yield from plan_blocks(
        made.url,
        made.actions,
        findings.memories,
        top=request.top,
        explained=request.explain,
        repeat=repeat,
        remarks=(*_not_done(findings), *preview_start(findings)),
    )
    yield from preview_end(findings, made, request.store)


def _not_done(made: Findings | PartitionedPlan) -> Iterator[Block]:
    """Yields which partitions have no plan, and why."""
    if isinstance(made, Findings) or not made.not_done:
        return
    left, whole = len(made.not_done), count(made.partitions, "partition")
    yield say(strong(f"{left:,} of {whole} could not be done. Their memories are not in the plan:"))
    for each in made.not_done[:_NOT_DONE]:
        listed = names(map(repr, each.namespaces))
        yield say(f"namespaces {listed}: {quoted(each.reason)}", level=1)
    if left > _NOT_DONE:
        yield say(f"and {left - _NOT_DONE:,} more; --json names all of them", level=1)
    yield Gap()


def _show_json(
    request: _Request,
    findings: Findings | PartitionedPlan,
    made: Plan,
    run: Run | None,
    notes: Sequence[str],
) -> None:
    """Prints the findings, the plan and the run as JSON."""
    data: dict[str, Json] = {
        **(findings_json(findings) if isinstance(findings, Findings) else findings.to_json()),
        "plan": made.id if request.plan_file or run else None,
        "applied": None if run is None else run.id,
        **written_json(run, request.plan_file, request.store),
        "notes": [*findings.tally.notes, *notes],
    }
    if isinstance(findings, Findings):
        learn(map(findings.memories.get, ids_in(data)))
    if request.with_updates:
        older = (action for action in made.actions if action.is_update)
        data["out_of_date"] = {m.id: action.survivor for action in older for m in action.members}
    if request.texts:
        texts = findings.memories
        data["texts"] = answer_texts(data, lambda ids: {i: texts[i] for i in ids & texts.keys()})
    render.show_json(data)


def _show_outcome(request: _Request, made: Plan, run: Run | None) -> None:
    """Prints what was written, or the commands that would write."""
    if run is not None:
        render.show([Gap()])
    render.show(written_blocks(run, request.plan_file, request.store))
    if run is None and request.plan_file is None and made.actions:
        ways = (("--apply",), ("--plan", "plan.json"))
        lines = [again(*way) or command_line("dedup", request.store, *way) for way in ways]
        lines += [] if request.engine else [command_line("review", request.store)]
        render.show([say("Nothing was written. Go on with one of these:"), *map(command, lines)])
