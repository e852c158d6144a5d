"""The commands `jobs`: one deduplication over many processes or machines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import (
    SettingsCommand,
    check_delete,
    complete_path,
    examples,
    finding_options,
    gathered,
    json_option,
    mapping_options,
    setting_option,
    settings_for,
    store_argument,
    writing,
)
from echoless.cli.progress import Bar
from echoless.core.choices import Choices
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Gap,
    Table,
    command,
    count,
    number,
    say,
    short_time,
    strong,
)
from echoless.core.errors import (
    EcholessError,
    InputError,
    PlanRefused,
    UndoConflict,
    UsageError,
)
from echoless.core.model import Json, digest
from echoless.core.optional import lazy_module
from echoless.core.own_folders import user_folder
from echoless.core.settings import Settings, layered
from echoless.core.settings_file import config_folder
from echoless.engines.job import JOB_FILE
from echoless.engines.job_apply import JobRuns, apply_job, undo_job
from echoless.engines.job_run import (
    JobOutcome,
    OpenJob,
    failed_partitions,
    finished_partitions,
    open_job,
    plan_digest,
    read_job,
    run_job,
)
from echoless.engines.registry import ENGINES, open_engine
from echoless.engines.results import POSTGRES, open_results
from echoless.execution.actions import achieved
from echoless.stores import open_store
from echoless.stores.base import Store
from echoless.workflows.audit.report import share_limit

if TYPE_CHECKING:
    from echoless.engines import postgres_session, postgres_worker
else:  # only jobs in Postgres need its driver
    postgres_session = lazy_module("echoless.engines.postgres_session")
    postgres_worker = lazy_module("echoless.engines.postgres_worker")

_NAMED: Final = 5
"""Failed partitions that are named; `jobs show --json` has all."""

job_argument = click.argument("job", metavar="JOB")
store_option = click.option(
    "--store",
    metavar="STORE",
    shell_complete=complete_path,
    help="The store of the job, where it lies elsewhere now or the job was made by somebody else.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What was asked of an engine on the command line.

    Attributes:
        store: The store as it was typed.
        choices: Settings that were chosen.
        action: What happens to duplicates, as a person named it, or None.
        engine: Name of the engine.
        processes: Number of worker processes; None lets the engine choose.
        results: Place of the results; None for the user's own folder.
        now: Whether to carry the plans out at once.
        most_hidden: Largest share that the plans may hide, as it was typed; None for any.
        rate: Memories changed a second, at most; None for as fast as it goes.
        as_json: Whether to print JSON.
    """

    store: str
    choices: Choices
    action: str | None
    engine: str
    processes: int | None
    results: str | None
    now: bool
    most_hidden: str | None
    rate: float | None
    as_json: bool


def _own_place(store: Store, settings: Settings, request: _Request) -> str:
    """Returns where the results of a store and settings lie unless a place is named.

    It is the same each time: a folder of the user, or the store's own database for workers that may
    be on other machines.
    """
    name = digest([store.identity, settings.digest])[:16]
    if request.engine != "local" and request.store.partition("://")[0] in POSTGRES:
        return postgres_session.address_beside(request.store, name)
    return str(_own_jobs() / name)


def _name(opened: OpenJob) -> str:
    """Returns how a person names a job: as `jobs list` shows it, or the place of its results."""
    place = opened.results.place
    return Path(place).name if place.startswith(f"{_own_jobs()}{os.sep}") else place


def _note(opened: OpenJob) -> Path:
    """Returns the file that is there if this user made a job: a digest of its path and content."""
    place = Path("/", opened.results.place, JOB_FILE)
    name = f"{place.parent.resolve() / place.name}\0{json.dumps(opened.job.to_json())}"
    return config_folder() / "jobs" / digest(name)


def _is_own(opened: OpenJob) -> bool:
    """Returns whether this user made a job: it lies in their own folder, or was noted when made."""
    within = Path(opened.results.place).resolve().parent == _own_jobs().resolve()
    return within or _note(opened).is_file()


def _address(opened: OpenJob, store: str | None, doing: str) -> str:
    """Returns the address of the store of a job, which a stranger's job does not choose.

    Args:
        opened: The job.
        store: As a person named it, or None.
        doing: The command, for the message.

    Raises:
        InputError: Nobody but the job names it, and somebody else made the job.
    """
    if store is None and not _is_own(opened):
        again = command_line("jobs", doing, _name(opened), "--store", opened.job.store)
        raise InputError(
            f"You did not make the job at {opened.results.place} on this machine, or it was edited "
            "since, so the store it names was not opened and got no password. If that is your "
            f"store, say so: {again}"
        )
    return store or opened.job.store


def _own_jobs() -> Path:
    """Returns the folder of the user's jobs; it may not exist."""
    return user_folder("data") / "jobs"


def _share(outcome: JobOutcome) -> float:
    """Returns the share of memories that the plans hide, 0 to 1."""
    return outcome.redundant / outcome.memories if outcome.memories else 0.0


def _is_whole(runs: JobRuns) -> bool:
    return not runs.refused and not runs.failed


def _outcome_blocks(opened: OpenJob, outcome: JobOutcome) -> Iterator[Block]:
    """Yields what became of the partitions, for a person."""
    partitions = count(len(opened.partitions), "partition")
    looked, known = number(outcome.finished), number(outcome.unchanged)
    yield say(
        strong(f"{opened.job.id}: {partitions}, {count(outcome.memories, 'memory', 'memories')}.")
    )
    yield say(f"{looked} looked at, {known} unchanged since an earlier run.", level=1)
    if outcome.groups:
        groups = count(outcome.groups, "group")
        repeated = count(outcome.redundant, "memory", "memories")
        yield say(f"{groups} say the same; their plans hide {repeated}.", level=1)
    else:
        yield say("Nothing is said twice.", level=1)
    if outcome.attempts > len(outcome.failed):
        again = count(outcome.attempts - len(outcome.failed), "attempt")
        yield say(f"{again} failed and went well later.", level=1)
    if outcome.failed:
        failed = count(len(outcome.failed), "partition")
        yield say(strong(f"{failed} failed each time; the others are complete:"))
    yield from _first_of([f"{each.number}: {each.reason}" for each in outcome.failed])
    notes = outcome.notes.most_common()
    yield from _first_of([f"{said} ({count(times, 'partition')})" for said, times in notes])
    yield say(f"Results: {opened.results.place}", level=1)


def _first_of(sentences: Sequence[str]) -> Iterator[Block]:
    """Yields the first few sentences, and how many more there are."""
    for sentence in sentences[:_NAMED]:
        yield say(sentence, level=1)
    if len(sentences) > _NAMED:
        yield say(f"and {number(len(sentences) - _NAMED)} more", level=1)


def _next_blocks(
    opened: OpenJob, outcome: JobOutcome, runs: JobRuns | None, store: str
) -> Iterator[Block]:
    """Yields what was written, or the commands that would write."""
    yield Gap()
    named = () if _is_own(opened) else ("--store", store)
    if runs is not None:
        yield from _runs_blocks(opened, runs, named)
    elif outcome.planned:
        yield say("Nothing was written to the store. Next:")
        yield command(command_line("jobs", "show", _name(opened)))
        yield command(command_line("jobs", "apply", _name(opened), *named))
    if outcome.failed:
        yield say("The same command tries the failed partitions again.")


def _runs_blocks(opened: OpenJob, runs: JobRuns, named: Sequence[str]) -> Iterator[Block]:
    """Yields what became of the plans of a job.

    Args:
        opened: The job.
        runs: Results of the plans.
        named: Words that name the store, where the job does not.
    """
    yield say(strong(f"Done: {achieved(runs.counts)}"))
    if runs.used:
        yield say(f"{count(runs.used, 'plan')} carried out before.", level=1)
    if runs.refused:
        yield say(f"{count(runs.refused, 'group')} refused, as a record changed.", level=1)
    yield from _first_of([f"partition {at}: {reason}" for at, reason in runs.failed.items()])
    if runs.runs:
        yield say(f"{count(len(runs.runs), 'run')}. To take all of them back:")
        yield command(command_line("jobs", "undo", _name(opened), *named))


def _outcome_json(opened: OpenJob, outcome: JobOutcome) -> dict[str, Json]:
    """Returns a job with the results of its partitions, as in `--json`."""
    return {
        **_job_json(opened),
        "finished": outcome.finished,
        "failed": [
            {"partition": each.number, "reason": each.reason, "attempts": each.attempts}
            for each in outcome.failed
        ],
        "memories": outcome.memories,
        "groups": outcome.groups,
        "redundant": outcome.redundant,
        "notes": dict(outcome.notes),
    }


def _job_json(opened: OpenJob) -> dict[str, Json]:
    job = opened.job
    return {
        "job": job.id,
        "store": job.store,
        "results": opened.results.place,
        "created_at": job.created_at,
        "partitions": len(opened.partitions),
    }


def _runs_json(runs: JobRuns) -> dict[str, Json]:
    return {
        "runs": list(runs.runs),
        "counts": dict(runs.counts),
        "refused": runs.refused,
        "used": runs.used,
        "failed": {str(at): reason for at, reason in runs.failed.items()},
    }


# ------------------------------------------------------------------ jobs


@click.group(
    "jobs",
    epilog=examples(
        "echoless jobs dedup agent.db",
        "echoless jobs list",
        "echoless jobs apply JOB --rate 500",
        "echoless jobs undo JOB",
    ),
)
def jobs_command() -> None:
    """Cut a deduplication into partitions; see, carry out and take back what they planned.

    A job cuts a store into partitions of namespaces. Each ends in a plan of its own. JOB is the
    folder or the address of its results, or the name `jobs list` shows.
    """


@jobs_command.command(
    "dedup",
    cls=SettingsCommand,
    epilog=examples(
        "echoless jobs dedup agent.db",
        "echoless jobs dedup agent.db --apply --rate 500",
        "echoless jobs dedup postgresql://agent@db/memory#notes --engine postgres",
    ),
)
@store_argument
@mapping_options
@finding_options
@setting_option("action")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Run the partitions on this engine.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Processes that work for the engine at a time; as many as it has cores by default. With "
    "--engine postgres 0 leaves the work to other machines.",
)
@click.option(
    "--results",
    metavar="PLACE",
    help="Folder, or postgresql://USER@HOST/DB#NAME, for the plans and reports of the partitions, "
    "which all workers must reach. The same command goes on where it stopped.",
)
@click.option("--apply", "now", is_flag=True, help="Carry the plans out at once.")
@click.option(
    "--most-hidden",
    metavar="SHARE",
    help="Write nothing with --apply if more than SHARE of the visible memories would be hidden "
    "(10% or 0.1); the exit code is 5.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="With --apply: change at most N memories a second.",
)
@json_option
@gathered("request", _Request)
def dedup_command(*, request: _Request) -> int:
    """Plan what would be hidden in STORE, partition by partition; with --apply, hide it.

    Exit code 5 where a partition failed, a group was refused, or too much would be hidden.
    """
    if request.rate is not None and not request.now:
        raise UsageError("--rate is for writing; add --apply.")
    typed = request.most_hidden
    limit = None if typed is None else share_limit(typed, "--most-hidden")
    with open_store(request.store) as store:
        asked = replace(request.choices, action=request.action)
        choices, settings = layered(asked), settings_for(store, asked)
        if request.now:
            check_delete(settings, request.action)
        place = request.results or _own_place(store, settings, request)
        opened = open_job(store, choices, open_results(place))
        if opened.job.store == without_password(store.url):
            with suppress(OSError):  # then `jobs apply` asks for the store
                note = _note(opened)
                note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                note.touch(mode=0o600)
        engine = open_engine(request.engine, request.processes)
        try:
            with Bar(quiet=request.as_json) as bar:
                outcome = run_job(
                    opened,
                    request.store,
                    engine,
                    progress=lambda done, whole: bar("partitions", done, whole),
                )
        finally:
            engine.close()
        allowed = limit is None or _share(outcome) <= limit
        runs = None
        if request.now and allowed:
            with Bar(quiet=request.as_json) as bar, writing(request.store):
                runs = apply_job(store, opened, rate=request.rate, progress=bar.actions)
    if request.as_json:
        data = _outcome_json(opened, outcome)
        data |= {"unchanged": outcome.unchanged, "attempts_failed": outcome.attempts}
        data["applied"] = None if runs is None else _runs_json(runs)
        render.show_json(data)
    else:
        render.show(_outcome_blocks(opened, outcome))
        render.show(_next_blocks(opened, outcome, runs, request.store))
    if not allowed:
        render.note(
            f"The plans would hide {_share(outcome):.2%} of the memories, more than --most-hidden "
            "allows. Nothing was changed in the store."
        )
    complete = allowed and not outcome.failed and (runs is None or _is_whole(runs))
    return 0 if complete else PlanRefused.exit_code


@jobs_command.command("list", epilog=examples("echoless jobs list --json"))
@json_option
def list_command(*, as_json: bool) -> None:
    """List the jobs in this user's folder. Jobs with --results elsewhere are not among them."""
    folder = _own_jobs()
    places = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    jobs: list[tuple[str, OpenJob]] = []
    for path in places:
        try:
            opened = read_job(open_results(str(path)))
        except EcholessError as problem:
            render.note(str(problem))
            continue
        if opened is not None:
            jobs.append((path.name, opened))
    if as_json:
        render.show_json({"jobs": [{"name": name, **_job_json(each)} for name, each in jobs]})
        return
    if not jobs:
        render.show([say("There are no jobs. `echoless jobs dedup STORE` makes one.")])
        return
    rows = tuple(
        (name, each.job.store, number(len(each.partitions)), short_time(each.job.created_at))
        for name, each in jobs
    )
    render.show([Table(("job", "store", "partitions", "made"), rows, frozenset({2}))])


@jobs_command.command(
    "show", epilog=examples("echoless jobs show JOB", "echoless jobs show JOB --json")
)
@job_argument
@json_option
def show_command(*, job: str, as_json: bool) -> int:
    """Show what became of the partitions of JOB. Exit code 5 if one failed.

    The digest covers what all plans do: a plan of one process over the same store has the same.
    """
    opened = _opened(job)
    outcome = JobOutcome(failed=list(failed_partitions(opened.results)))
    looked_at = {failed.number for failed in outcome.failed}
    actions: list[str] = []
    seconds = 0.0
    for finished in finished_partitions(opened.results):
        outcome.add(finished)
        looked_at.add(
            finished.number
        )  # of one that failed the result of an earlier run may be there
        actions += finished.actions
        seconds += finished.seconds
    left = sum(partition.number not in looked_at for partition in opened.partitions)
    plan = plan_digest(actions)
    if as_json:
        answer = _outcome_json(opened, outcome)
        render.show_json({**answer, "left": left, "digest": plan, "seconds": round(seconds, 3)})
    else:
        render.show(_outcome_blocks(opened, outcome))
        if left > 0:
            waiting = count(left, "partition")
            render.show([say(f"{waiting} not looked at yet; the same dedup goes on.", level=1)])
        render.show([say(f"Digest of all plans: {plan}", level=1)])
    return PlanRefused.exit_code if outcome.failed else 0


@jobs_command.command(
    "apply", epilog=examples("echoless jobs apply JOB", "echoless jobs apply JOB --rate 500")
)
@job_argument
@store_option
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Change at most N memories a second.",
)
@json_option
def apply_command(*, job: str, store: str | None, rate: float | None, as_json: bool) -> int:
    """Carry out the plans of JOB that were not used. Each is a run that can be undone by itself.

    It may be interrupted; the next call goes on with the other plans.
    """
    opened = _opened(job)
    address = _address(opened, store, "apply")
    with open_store(address) as target, Bar(quiet=as_json) as bar, writing(address):
        runs = apply_job(target, opened, rate=rate, progress=bar.actions)
    data = {**_job_json(opened), **_runs_json(runs)}
    named = () if store is None else ("--store", store)
    render.show_answer(data, _runs_blocks(opened, runs, named), as_json=as_json)
    return 0 if _is_whole(runs) else PlanRefused.exit_code


@jobs_command.command("undo", epilog=examples("echoless jobs undo JOB"))
@job_argument
@store_option
@json_option
def undo_command(*, job: str, store: str | None, as_json: bool) -> int:
    """Take back every run of JOB, the latest first. Exit code 6 if one cannot be taken back."""
    opened = _opened(job)
    address = _address(opened, store, "undo")
    with open_store(address) as target, Bar(quiet=as_json) as bar, writing(address):
        undone, conflicts = undo_job(target, opened.job.id, progress=bar.actions)
    data = {**_job_json(opened), "undone": list(undone), "conflicts": dict(conflicts)}
    kept = (say(f"{run}: {reason}", level=1) for run, reason in conflicts.items())
    blocks = [say(strong(f"{count(len(undone), 'run')} taken back.")), *kept]
    render.show_answer(data, blocks, as_json=as_json)
    return UndoConflict.exit_code if conflicts else 0


@jobs_command.command(
    "work",
    epilog=examples(
        "echoless jobs work postgresql://agent@db/memory#nightly",
        "echoless jobs work postgresql://agent@db/memory#nightly --store postgresql://db/memory#notes",
    ),
)
@click.argument("address", metavar="ADDRESS")
@store_option
@json_option
def work_command(*, address: str, store: str | None, as_json: bool) -> None:
    """Work on the partitions of the job at ADDRESS, a name in a Postgres database.

    `jobs dedup --engine postgres` tells the address. Any number of workers on any machines may take
    part, and come and go; one that is killed gives its partition back. A worker ends when nothing
    is left. Passwords are taken from PGPASSWORD or the password file of PostgreSQL, as by psql.
    """
    with Bar(quiet=as_json) as bar:
        done = postgres_worker.work(
            address,
            url=store,
            progress=lambda made: bar("partitions", made.finished + made.unchanged, 0),
        )
    data = {"finished": done.finished, "unchanged": done.unchanged, "failed": done.failed}
    parts = count(done.finished, "partition")
    said = f"{parts} looked at, {number(done.unchanged)} unchanged, {number(done.failed)} failed."
    render.show_answer({**data}, [say(strong(said))], as_json=as_json)


def _opened(job: str) -> OpenJob:
    """Returns the job at a place, or of a name that `jobs list` shows.

    Raises:
        InputError: There is none.
    """
    own = _own_jobs() / job
    place = str(own) if "/" not in job and own.is_dir() else job
    opened = read_job(open_results(place))
    if opened is None:
        raise InputError(f"There is no job at {job}. `echoless jobs list` shows those there are.")
    return opened
