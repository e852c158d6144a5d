"""Carries out the plans of a job, partition by partition, and takes them back.

Each plan is a run of its own, in the transactions of the store: it can be undone by itself, and a
job that was stopped goes on with the plans that were not used.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from echoless.core.errors import PlanError, PlanUsed, UndoConflict, UsageError
from echoless.engines.job_run import OpenJob
from echoless.engines.partition_files import PLAN, file_name, numbers_of
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan, plan_of_bytes
from echoless.execution.rollback import STANDING, history, undo
from echoless.stores.base import Scope, Store

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class JobRuns:
    """What became of the plans of a job.

    Attributes:
        runs: Ids of the runs, in their order.
        counts: Memories hidden, merged or deleted, and groups.
        refused: Groups left out because a record changed since the plan.
        used: Plans that were carried out before.
        failed: What went wrong, by number of the partition.
    """

    runs: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    used: int = 0
    failed: dict[int, str] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        """Adds a plan that was carried out."""
        self.runs.append(run.id)
        self.counts.update(run.counts)
        self.refused += len(run.refused)


def apply_job(
    store: Store,
    opened: OpenJob,
    *,
    rate: float | None = None,
    progress: Progress = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> JobRuns:
    """Carries out every plan of a job that was not used.

    It may be stopped anywhere: a plan is carried out whole or not at all where the store has
    transactions, and the next call goes on with the others. A plan that is refused or cannot be
    read is recorded, and the others go on.

    Args:
        store: The store of the job.
        opened: The job.
        rate: Memories hidden, merged or deleted a second, at most, averaged from the start; above
            0. None for as fast as it goes.
        progress: Told how many plans of how many were looked at.
        pause: Waits for some seconds.

    Raises:
        UsageError: It is another store.
        StoreError: The store is locked, read-only or full, or the results cannot be reached.
    """
    if store.identity != opened.job.identity:
        raise UsageError(
            f"{opened.job.id} was made for {opened.job.store}, not for {store.url}. Name its store."
        )
    numbers = numbers_of(opened.results.names(), PLAN)
    namespaces = {each.number: each.namespaces for each in opened.partitions}
    done, begun = JobRuns(), time.monotonic()
    progress(0, len(numbers))
    for ended, number in enumerate(numbers, 1):
        try:
            plan = _plan(opened, number)
            if plan is not None:
                scope = Scope(among=frozenset(namespaces.get(number, ())))
                done.add(apply(store, plan, job=opened.job.id, counted=scope))
        except PlanUsed:
            done.used += 1
        except PlanError as problem:
            done.failed[number] = str(problem)
        if rate is not None:
            changed = sum(count for kind, count in done.counts.items() if kind != "groups")
            early = changed / rate - (time.monotonic() - begun)
            if early > 0:
                pause(early)
        progress(ended, len(numbers))
    return done


def _plan(opened: OpenJob, number: int) -> Plan | None:
    """Returns the plan of a partition; None where it was removed meanwhile.

    Raises:
        PlanUnreadable: It is damaged.
    """
    name = file_name(number, PLAN)
    content = opened.results.read(name)
    if content is None:
        return None
    return plan_of_bytes(content, f"{opened.results.place}/{name}")


def runs_of_job(store: Store, job: str) -> list[str]:
    """Returns the runs of a job that stand, oldest first."""
    events = store.ledger.events(kind="run_started")
    own = [event.run for event in events if event.data.get("job") == job]
    standing = {*STANDING, "interrupted"}  # one that was stopped may stand once it is ended
    return [run for run in own if any(r.status in standing for r in history(store.ledger, run))]


def undo_job(
    store: Store,
    job: str,
    *,
    progress: Progress = lambda _done, _all: None,
) -> tuple[list[str], dict[str, str]]:
    """Takes back the runs of a job, the latest first.

    Args:
        store: The store of the job.
        job: Its id.
        progress: Told how many runs of how many were looked at.

    Returns:
        The runs taken back, and why others could not be, by run.

    Raises:
        StoreError: The store is locked, read-only or full.
    """
    runs = runs_of_job(store, job)[::-1]
    undone: list[str] = []
    conflicts: dict[str, str] = {}
    progress(0, len(runs))
    for ended, run in enumerate(runs, 1):
        try:
            undo(store, run)
            undone.append(run)
        except UndoConflict as problem:
            conflicts[run] = str(problem)
        progress(ended, len(runs))
    return undone, conflicts
