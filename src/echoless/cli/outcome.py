"""Results of a run, for every command that carries out a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.cli import render
from echoless.core.destination import command_line
from echoless.core.document import Block, Gap, command, count, say, strong
from echoless.core.errors import PlanRefused
from echoless.core.model import Json
from echoless.execution import plan_blocks
from echoless.execution.actions import promise
from echoless.execution.executor import Run
from echoless.execution.plan import Plan
from echoless.stores.base import Store, new_files
from echoless.stores.hidden_records import seen_elsewhere
from echoless.workflows.dedupe.findings import Findings, unasked_note

if TYPE_CHECKING:
    from echoless.workflows.dedupe.partitions import PartitionedPlan

_RUNS: Final = 3
"""Most runs that are named."""


def exit_code(run: Run | None) -> int:
    """Returns 0 if all was done, 5 if a part was refused."""
    return PlanRefused.exit_code if run is not None and run.refused else 0


def undo_line(store: str, run: Run) -> str:
    """Returns the command that takes a run back."""
    return command_line("undo", store, run.id)


def say_notes(store: Store, run: Run | None = None) -> None:
    """Prints, on standard error, notes of the store, its new files, and who sees hidden memories.

    Args:
        store: The store.
        run: What was carried out, where it may have hidden memories.
    """
    elsewhere = None if run is None else seen_elsewhere(store, run.counts, run.id)
    render.note(*filter(None, (*store.notes(), new_files(store), elsewhere)))


def hidden_already(store: Store, typed: str, findings: Findings | PartitionedPlan) -> str | None:
    """Returns why a plan to delete leaves out memories hidden earlier; None if there are none.

    Args:
        store: The store.
        typed: Name of the store, as typed.
        findings: What was found in it.
    """
    if findings.settings.profile.action != "delete":
        return None
    hidden = store.ledger.marks_of(findings.marked).values()
    if not hidden:
        return None
    runs = sorted({mark.run for mark in hidden if mark.run}, reverse=True)
    many = count(len(hidden), "memory", "memories")
    sentence = f"Hidden already, and left in the store by --action delete: {many}."
    if not runs:
        return sentence
    undone = (command_line("undo", typed, run, "--no-keep-both") for run in runs[:_RUNS])
    undo = "; ".join(f"`{each}`" for each in undone)
    every = command_line("history", typed)
    more = f" and {len(runs) - _RUNS} more (`{every}` names them)" if len(runs) > _RUNS else ""
    return f"{sentence} To delete such too, undo first {undo}{more}, and give this command again."


def run_json(run: Run, store: str) -> dict[str, Json]:
    """Returns a run as in `--json`."""
    return {
        "run": run.id,
        "plan": run.plan,
        "counts": dict(run.counts),
        "refused": [asdict(each) for each in run.refused],
        "recovered": list(run.recovered),
        "undo": undo_line(store, run) if any(run.counts.values()) else None,
    }


def written_json(run: Run | None, plan_file: Path | None, store: str) -> dict[str, Json]:
    """Returns what was written, as in `--json`: the file of a plan, or its run."""
    return {
        "plan_file": None if plan_file is None else str(plan_file),
        "run": None if run is None else run_json(run, store),
        "undo": None if run is None else undo_line(store, run),
    }


def written_blocks(run: Run | None, plan_file: Path | None, store: str) -> Iterator[Block]:
    """Yields what was written, and the command that goes on; nothing where nothing was."""
    if run is not None:
        yield from run_blocks(run, store)
    elif plan_file is not None:
        yield say(f"The plan is in {plan_file}; nothing else was written. Next:")
        yield command(command_line("apply", store, str(plan_file)))


def run_blocks(run: Run, store: str) -> Iterator[Block]:
    """Yields a run for a person, with the command that takes it back."""
    return run.blocks(undo_line(store, run))


def preview_start(findings: Findings | PartitionedPlan) -> Iterator[Block]:
    """Yields what a run did without, and what the pair model was not asked about."""
    yield from plan_blocks.off_blocks(findings.off)
    if unasked := unasked_note(findings.unasked):
        yield say(unasked)
        yield Gap()


def preview_end(findings: Findings | PartitionedPlan, plan: Plan, store: str) -> Iterator[Block]:
    """Yields the exclusions of a plan, the sum of its actions, and the pairs kept apart.

    Args:
        findings: What the plan was made from.
        plan: The plan.
        store: The store as it was typed, for lines to copy.
    """
    yield from plan_blocks.skipped_blocks(findings.tally)
    yield say(strong(promise(plan.counts)))
    held, claims = findings.counts["held"], len(findings.claims)
    if held:
        yield say(f"{count(held, 'pair')} look alike and stay apart.")
    if claims:
        yield say(f"{count(claims, 'claim')} of notes repeat or contradict another one.")
    if held or claims:
        yield command(command_line("audit", store), before="To see them: ")
