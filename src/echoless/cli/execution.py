"""The commands apply, undo, history, check and purge, which carry out plans and take runs back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import examples, json_option, store_argument, writing
from echoless.cli.outcome import exit_code, run_blocks, run_json, say_notes
from echoless.cli.progress import Bar
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Table,
    command,
    count,
    names,
    number,
    quoted,
    records_in,
    say,
    short_time,
    strong,
    texts_in,
)
from echoless.core.errors import EcholessError, InputError, StoreUnfinished, UsageError
from echoless.core.model import Json
from echoless.core.sqlite import take_back
from echoless.core.timestamps import instant
from echoless.execution.executor import apply
from echoless.execution.integrity import Health, check, stopped
from echoless.execution.plan import read_plan
from echoless.execution.plan_blocks import evidence_line, plain_verdict
from echoless.execution.recovery import ADD
from echoless.execution.rollback import STANDING, WIDEST, PastRun, history, purge, undo
from echoless.stores import Store, open_store
from echoless.stores.ledger import Event
from echoless.workflows.dedupe.secret_masking import learn_run

_DOES: Final = {
    "mark": "hide behind",
    "merge": "merge into",
    "delete": "delete behind",
    "edit": "take claims out of",
}
"""Kinds of action in words."""

# ------------------------------------------------------------------ apply and undo


@click.command("apply", epilog=examples("echoless apply agent.db tidy.json"))
@store_argument
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path))
@json_option
def apply_command(*, store: str, plan_file: Path, as_json: bool) -> int:
    """Carry out the PLAN that `dedup --plan` wrote for STORE. A plan is used once.

    A group with a record that changed since the plan was made is refused and reported; the others
    are carried out, and the exit code is 5.
    """
    made = read_plan(plan_file)
    with open_store(store) as opened, Bar(quiet=as_json) as bar, writing(store):
        run = apply(opened, made, progress=bar.actions)
        say_notes(opened, run)
    render.show_answer(run_json(run, store), run_blocks(run, store), as_json=as_json)
    return exit_code(run)


@click.command(
    "undo",
    epilog=examples(
        "echoless undo agent.db",
        "echoless undo agent.db run-20260131-101500-1a2b3c --keep-both",
    ),
)
@store_argument
@click.argument("run", metavar="[RUN]", default="last")
@click.option(
    "--keep-both/--no-keep-both",
    default=None,
    help="Whether to remember the pairs of the run as different, so that they are not proposed "
    "again. By default only runs of wt-memory, Recall, llm-memory, ego-mcp and sliding-context.",
)
@json_option
def undo_command(*, store: str, run: str, keep_both: bool | None, as_json: bool) -> None:
    """Undo a RUN of STORE: every record as it was, byte for byte.

    RUN is an id. By default, and for `last`, it is the latest run that did more than add memories.
    Each record is read back and compared. Refused, with the names of the records, where one was
    edited since.
    """
    with open_store(store) as opened, writing(store):
        done = undo(opened, run, keep_both=keep_both)
        say_notes(opened)
    if as_json:
        names_shown = ("run", "shown", "restored", "removed", "kept", "exact")
        unrestored = {"unrestored": done.unrestored} if done.unrestored else {}
        render.show_json({**{name: getattr(done, name) for name in names_shown}, **unrestored})
        return
    counts = (
        (len(done.shown), "memory is visible again", "memories are visible again"),
        (len(done.restored), "record put back", "records put back"),
        (len(done.removed), "addition taken out again", "additions taken out again"),
    )
    parts = ", ".join(count(*each) for each in counts if each[0])
    render.show([say(strong(f"Undone: {done.run}." + (f" {parts}." if parts else "")))])
    if done.exact:
        exact = "Each record was read back: it is exactly as it was before the run."
        render.show([say(exact)])
    elif done.differing and not done.unrestored:
        render.show([say(f"Not as before the run, as edited since: {names(done.differing)}.")])
    if done.unrestored:
        render.show([say(done.unrestored)])
    if done.kept:
        render.show([say(f"Remembered as different: {count(done.kept, 'pair')}.")])
    if done.narrowed:
        large = count(done.narrowed, "group")
        only = f"Of {large} with more than {WIDEST} memories only pairs with the survivor."
        render.show([say(only)])


# ------------------------------------------------------------------ history


@click.command(
    "history", epilog=examples("echoless history agent.db", "echoless history agent.db last")
)
@store_argument
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="List each addition by itself.")
@json_option
def history_command(*, store: str, run: str | None, every: bool, as_json: bool) -> None:
    """List the runs of STORE, oldest first; with a RUN, all it did and why.

    Additions that follow each other are one line, with the first run and their number. RUN may be
    `last`: the latest run that did more than add memories, the one that `undo` takes back.
    """
    with open_store(store) as opened:
        runs = history(opened.ledger)
        decided = bool(opened.ledger.reviews() or opened.ledger.own_kept())
        chosen = None if run is None else _named(runs, run, store)
        events = [] if chosen is None else list(opened.ledger.events(chosen.id))
        if chosen is not None:
            learn_run(opened, chosen.id, [_event_json(event) for event in events])
    if as_json:
        listed = [asdict(r) for r in runs]
        render.show_json(
            {"runs": listed}
            if chosen is None
            else {**asdict(chosen), "events": [_event_json(e) for e in events]}
        )
    elif chosen is None:
        render.show(_runs_blocks(runs, store, every=every))
        if decided:
            line = command_line("review", store, "--list")
            render.show([command(line, before="What people decided beside these runs: ", level=0)])
    else:
        render.show(_run_blocks(chosen, events))


def _named(runs: list[PastRun], name: str, store: str) -> PastRun:
    """Returns the run with an id, or for `last` the latest that did more than add memories.

    Raises:
        InputError: There is none.
    """
    if name == "last" and runs:
        return next((run for run in reversed(runs) if not run.only_adds), runs[-1])
    for run in runs:
        if run.id == name:
            return run
    raise InputError(
        f"There is no run {name!r} in {without_password(store)}. "
        + (f"It has: {names(r.id for r in runs)}." if runs else "It has had none yet.")
    )


def _event_json(event: Event) -> dict[str, Json]:
    return {"at": event.at, "event": event.kind, **event.data}


def _runs_blocks(runs: list[PastRun], store: str, *, every: bool) -> Iterator[Block]:
    """Yields a table of runs; additions that follow each other are one row unless `every`."""
    if not runs:
        yield say(f"Nothing was ever changed or added in {without_password(store)}.")
        return

    def row_key(numbered: tuple[int, PastRun]) -> tuple[str, str] | int:
        place, run = numbered
        folds = run.only_adds and run.status == "done" and not every
        return (run.status, run.profile) if folds else place

    rows, folded = [], False
    for _, numbered in groupby(enumerate(runs), row_key):
        first, *others = (run for _, run in numbered)
        folded = folded or bool(others)
        did = _did([first, *others])
        rows.append((first.id, short_time(first.started_at), first.status, first.profile, did))
    yield Table(("run", "started", "status", "profile", "did"), tuple(rows))
    yield Gap()
    if folded:
        yield say("Additions that follow each other are one line, with the first run. All runs:")
        yield command(command_line("history", store, "--all"))
    standing = [run.id for run in runs if run.status in STANDING]
    yield say("What a run did" + (", and how to take it back:" if standing else ":"))
    yield command(command_line("history", store, (standing or [runs[-1].id])[-1]))
    if standing:
        yield command(command_line("undo", store, standing[-1]))


def _did(runs: list[PastRun]) -> str:
    """Returns what some runs did, in words."""
    first = runs[0]
    counts = {
        "added": sum(run.added for run in runs),
        "hidden": first.marked,
        "merged": first.merged,
        "deleted": first.deleted,
        "edited": first.edited,
        "refused": first.refused,
    }
    words = ", ".join(f"{number(amount)} {word}" for word, amount in counts.items() if amount)
    return (words or "nothing") + (f" in {number(len(runs))} runs" if len(runs) > 1 else "")


def _run_blocks(run: PastRun, events: list[Event]) -> Iterator[Block]:
    """Yields one run with all events of the run."""
    yield Heading(run.id)
    interrupted = ""
    if run.status == "partly done":
        planned = "" if run.planned is None else f" of {number(run.planned)}"
        interrupted = f" (interrupted, {number(run.groups)}{planned} groups stand)"
    status = f"{run.status}{interrupted}, started {short_time(run.started_at)}"
    yield say(f"{status}, profile {run.profile}, plan {run.plan}")
    for event in events:
        yield from _event_blocks(event)


def _event_blocks(event: Event) -> Iterator[Block]:
    data = event.data
    match event.kind:
        case "action_started":
            action = f"{_DOES.get(str(data['kind']), data['kind'])} {data['survivor']}"
            if not data["survivor"]:
                action = "forget"
            if data["kind"] == ADD:
                action = f"add {', '.join(texts_in(data['added'])) or 'links'}"
            yield say(strong(action), f"  ({data['why']})")
            for member in records_in(data["members"]):
                yield from _member_blocks(member)
            for each in records_in(data["conflicts"]):
                lost = f"{each['key']}: kept {each['kept']!r}, {each['id']} had {each['lost']!r}"
                yield say(quoted(lost), level=1)
        case "action_refused":
            ids = ", ".join(texts_in(data["ids"]))
            yield say(strong("refused"), f"  {ids}: {data['reason']}")
        case "action_done" | "run_started":
            pass
        case _:
            yield say(f"{short_time(event.at)}  {event.kind.replace('_', ' ')}")


def _member_blocks(member: Mapping[str, Json]) -> Iterator[Block]:
    """Yields a memory of a group with the verdict and the evidence that were recorded."""
    verdict, similarity = member["verdict"], member["similarity"]
    name = str(verdict) if verdict else None
    if not (name or member["evidence"]):  # forgotten: nothing is told of it
        yield say(strong(str(member["id"])), level=1)
        return
    yield say(strong(str(member["id"])), f"  {plain_verdict(name)}", level=1)
    measured = float(similarity) if isinstance(similarity, int | float) else None
    yield evidence_line(name, measured, str(member["evidence"] or ""), level=2)


# ------------------------------------------------------------------ check


@click.command("check", epilog=examples("echoless check agent.db --dry-run"))
@store_argument
@click.option("--dry-run", is_flag=True, help="Only report; mend nothing.")
@json_option
def check_command(*, store: str, dry_run: bool, as_json: bool) -> int:
    """Test STORE and its lineage; finish or roll back what was interrupted.

    A memory hidden behind one that is gone is shown again. Exit code 1 if something is left that
    could not be mended.
    """
    health = _checked(store, mend=not dry_run)
    if as_json:
        render.show_json({"sound": health.sound, **asdict(health)})
        return 0 if health.sound else EcholessError.exit_code
    memories = "memories that cannot be read"
    if health.memories is not None:
        memories = count(health.memories, "memory", "memories")
    lineage = "a ledger that cannot be read whole"
    if health.marks is not None and health.runs is not None:
        lineage = f"{number(health.marks)} hidden, {count(health.runs, 'run')}"
    render.show([say(f"{without_password(store)}: {memories}, {lineage}.")])
    for problem in health.problems:
        label = strong("mended: " if problem.mended else "problem: ")
        render.show([say(label, problem.says, level=1)])
    sentence = "Everything is in order." if health.sound else "Something is left to mend."
    render.show([say(strong(sentence))])
    return 0 if health.sound else EcholessError.exit_code


def _checked(store: str, *, mend: bool) -> Health:
    """Checks a store; a stopped write of which no copy can be made is taken back before."""
    try:
        with open_store(store) as opened, writing(store):
            return check(opened, mend=mend)
    except StoreUnfinished as problem:
        if not mend:
            return Health(None, None, None, (stopped(problem.path, mended=False),))
        take_back(problem.path)
        health = _checked(store, mend=True)
        return replace(health, problems=(stopped(problem.path, mended=True), *health.problems))


# ------------------------------------------------------------------ purge


@click.command(
    "purge",
    epilog=examples(
        "echoless purge agent.db --before 2026-01-01",
        "echoless purge agent.db run-20260131-101500-1a2b3c --yes",
    ),
)
@store_argument
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("--before", metavar="TIME", help="Only runs that started before this time.")
@click.option("--yes", is_flag=True, help="Do not ask, for scripts.")
@json_option
def purge_command(
    *, store: str, runs: tuple[str, ...], before: str | None, yes: bool, as_json: bool
) -> None:
    """Destroy what undo needs of RUNs of STORE. This is the one step that cannot be undone.

    Name runs, or give --before, or both. Runs that only hid memories keep no images; there is
    nothing to purge, and they can always be undone. Caches that quote words of memories go too.
    """
    if not runs and before is None:
        raise UsageError("Name the runs to purge, or give --before TIME.")
    with open_store(store) as opened:
        chosen = _with_images(opened, runs, before, store)
        if chosen and not yes:
            warning = (
                f"This destroys the images of {count(len(chosen), 'run')} ({names(chosen)}). They "
                "can never be undone after it: it is the one step that cannot be undone."
            )
            if as_json or not render.is_interactive():
                raise UsageError(f"{warning} To do it without being asked, add --yes.")
            render.show([say(warning)])
            if not render.agreed(f"Purge {without_password(store)}? [y/N] "):
                raise UsageError("Nothing was purged.")
        with writing(store):
            purged = purge(opened, chosen, before=before) if chosen else []
    nothing = "Nothing was purged: no such run holds images."
    said = f"Purged {count(len(purged), 'run')}: {', '.join(purged)}." if purged else nothing
    render.show_answer({"purged": list(purged)}, [say(said)], as_json=as_json)


def _with_images(store: Store, runs: tuple[str, ...], before: str | None, typed: str) -> list[str]:
    """Returns the ids of the runs to purge: those that were named and still hold images.

    Args:
        store: Open.
        runs: Ids, or none for all runs.
        before: Only runs that started before this time, or None.
        typed: The store as it was typed.
    """
    limit = instant(before)
    if before is not None and limit is None:
        raise UsageError(f"--before {before!r} is not a time. Write it like 2026-01-31.")
    known = history(store.ledger)
    named = [_named(known, run, typed) for run in runs] or known
    return [
        run.id
        for run in named
        if (limit is None or (instant(run.started_at) or 0) < limit)
        and store.ledger.has_images(run.id)
    ]
