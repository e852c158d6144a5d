"""What a run did, for every command that carries out a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from echoless.applying import Run
from echoless.cli import render
from echoless.cli.document import Block, count, say, strong
from echoless.cli.options import command_line
from echoless.cli.shown_groups import achieved
from echoless.errors import PlanRefused
from echoless.findings import Findings
from echoless.model import Json
from echoless.stores.base import HidesMarked, Reports, Store, Transaction

_RUNS: Final = 3
"""Runs that are named."""


def exit_code(run: Run | None) -> int:
    """0 if all was done, 5 if a part was refused."""
    return PlanRefused.exit_code if run is not None and run.refused else 0


def undo_line(store: str, run: Run) -> str:
    """The command that takes a run back."""
    return command_line("undo", store, run.id)


def say_notes(store: Store, run: Run | None = None) -> None:
    """Say on standard error what a write left behind, beside the store or in others' sight.

    Args:
        store: The store.
        run: What was carried out, where it may have hidden memories.
    """
    for sentence in store.notes() if isinstance(store, Reports) else ():
        render.note(sentence)
    elsewhere = None if run is None else seen_elsewhere(store, run.counts, run.id)
    if elsewhere:
        render.note(elsewhere)


def seen_elsewhere(store: Store, counts: Mapping[str, int], run: str = "") -> str | None:
    """What to say of memories that only echoless hides, or None where nobody else reads them.

    Args:
        store: Where they are.
        counts: Of a plan or a run; memories that are merged stay in the store too.
        run: The run that hid them; empty for a plan.
    """
    own = isinstance(store, Transaction) and store.holds_ledger
    hidden = counts["mark"] + counts["merge"]
    if not hidden or isinstance(store, HidesMarked) or own:
        return None
    others = f"other programs that read {store.url} go on seeing them"
    if not run:
        return (
            f"Marks hide memories from echoless alone: {others}. --action delete takes them out of "
            "the store; `echoless undo` brings them back from there too."
        )
    return (
        f"They are hidden from echoless alone: {others}. To take them out of "
        f"the store: `{_undoing(store.url, run)}`, and then again with --action delete."
    )


def hidden_already(store: Store, typed: str, found: Findings) -> str | None:
    """Why a plan to delete leaves out what stands hidden; None where nothing does.

    Args:
        store: The store.
        typed: Its name, as it was typed.
        found: What was found in it.
    """
    marks = store.ledger.marks()
    standing = [marks[id_] for id_ in found.marked if id_ in marks]
    if not standing or found.settings.profile.action != "delete":
        return None
    runs = sorted({mark.run for mark in standing if mark.run}, reverse=True)
    many = count(len(standing), "memory", "memories")
    told = f"Hidden already, and left in the store by --action delete: {many}."
    if not runs:
        return told
    shown = "; ".join(f"`{_undoing(typed, run)}`" for run in runs[:_RUNS])
    more = f" and {len(runs) - _RUNS} more (`echoless history`)" if len(runs) > _RUNS else ""
    return f"{told} To delete such too, undo first {shown}{more}, and give this command again."


def _undoing(store: str, run: str) -> str:
    """The command that shows the memories of a run again, so that they are found again."""
    return command_line("undo", store, run, "--no-keep-both")


def run_json(run: Run, store: str) -> dict[str, Json]:
    """A run as in `--json`."""
    return {
        "run": run.id,
        "plan": run.plan,
        "counts": dict(run.counts),
        "refused": [
            {"survivor": r.survivor, "ids": list(r.ids), "reason": r.reason} for r in run.refused
        ],
        "recovered": list(run.recovered),
        "undo": undo_line(store, run),
    }


def run_blocks(run: Run, store: str) -> Iterator[Block]:
    """A run for a person."""
    for earlier in run.recovered:
        yield say(f"An interrupted run was brought to an end first: {earlier}.")
    yield say(strong(f"Done: {achieved(run.counts)}"))
    if run.refused:
        yield say(strong(f"{count(len(run.refused), 'group')} refused; their records stay:"))
    for refusal in run.refused:
        yield say(f"{', '.join(refusal.ids)}: {refusal.reason}", level=1)
    yield say(f"Run {run.id}. Back: {undo_line(store, run)}")
