"""What a run did, for every command that carries out a plan."""

from __future__ import annotations

from collections.abc import Iterator

from echoless.applying import Run
from echoless.cli import render
from echoless.cli.document import Block, count, say, strong
from echoless.cli.options import command_line
from echoless.cli.shown_groups import achieved
from echoless.errors import PlanRefused
from echoless.model import Json
from echoless.stores.base import Reports, Store


def exit_code(run: Run | None) -> int:
    """0 if all was done, 5 if a part was refused."""
    return PlanRefused.exit_code if run is not None and run.refused else 0


def undo_line(store: str, run: Run) -> str:
    """The command that takes a run back."""
    return command_line("undo", store, run.id)


def say_notes(store: Store) -> None:
    """Say on standard error what a write left behind beside the store."""
    if isinstance(store, Reports):
        for sentence in store.notes():
            render.note(sentence)


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
