"""Looks at one partition after the other, from the store to the files of its result.

All engines run this and nothing else. The report is written last and at once: a partition is
finished when it is there, and a worker that dies leaves nothing that counts.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from echoless.core.errors import EcholessError, StoreError, UsageError
from echoless.core.json_codec import memory_to_json
from echoless.core.model import digest
from echoless.core.settings import Settings
from echoless.core.threads import THREADS
from echoless.core.timestamps import now
from echoless.engines.job import JOB_FILE, Job, Partition, rules_digest
from echoless.engines.partition_files import (
    FAILURE,
    PLAN,
    REPORT,
    Failed,
    FailureKind,
    Finished,
    file_name,
    finished_of,
    report_file,
)
from echoless.engines.results import Results, open_results
from echoless.execution.plan import plan_bytes
from echoless.stores import open_store
from echoless.stores.base import Printed, Scope, Store
from echoless.workflows.audit.report import audit
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan

if sys.platform != "win32":
    import resource

LOG: Final = logging.getLogger("echoless.job")
"""Takes, at level `debug`, what became of each partition."""

_LOOKS: Final = 3
"""Times a partition is looked at while someone writes to it, before it is left for a later run."""

_SAME_AGAIN: Final = (UsageError, MemoryError, RecursionError)
"""Failures that another attempt would repeat."""

ONE_THREAD: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    THREADS: "1",
}
"""Environment of a worker: it has a core to itself; more threads would be in others' way."""


def worker_name() -> str:
    """Returns the host and the process of this worker, for reports."""
    return f"{platform.node()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to begin; an engine sends it to wherever workers run.

    Attributes:
        job: The job.
        url: URL of the store, with its password if it has one; it is written nowhere.
        results: Address of the results.
    """

    job: Job
    url: str
    results: str


class PartitionWorker:
    """Runs partitions of one job in this process, with the store open and the models loaded."""

    def __init__(self, job: Job, store: Store, results: Results) -> None:
        """Checks that this process would give the results the job asks for.

        Args:
            job: The job.
            store: Open; the caller closes it.
            results: Takes the files.

        Raises:
            UsageError: Versions, models or settings differ from those the job was made with, or
                it is another store.
        """
        self._job = job
        self._store = store
        self._results = results
        self._settings = job.resolved()
        if store.identity != job.identity:
            raise UsageError(
                f"{job.id} was made for another store than the one at {job.store}. Make a new job."
            )
        if rules_digest(self._settings) != job.rules:
            raise UsageError(
                f"The worker {worker_name()} has other versions of echoless, Python, numpy or the "
                f"models than those {job.id} was made with, so it could give another plan. Install "
                "the same on all machines, or make a new job."
            )

    def run(self, partition: Partition) -> Finished | Failed:
        """Looks at a partition; never raises but for Ctrl-C and the like."""
        try:
            return self._run(partition)
        except Exception as problem:  # noqa: BLE001 - the edge of a worker: others go on
            kind: FailureKind = "lasting" if isinstance(problem, _SAME_AGAIN) else "failed"
            return _failed(partition, problem, kind)

    def _run(self, partition: Partition) -> Finished:
        """Looks at a partition, unless its result is there and nothing changed since.

        Raises:
            StoreError: Someone wrote to it all the time, or the store or the results failed.
        """
        begun = time.monotonic(), time.process_time()
        before = fingerprint(self._store, partition, self._settings)
        known = self._known(partition)
        if known is not None and known.fingerprint == before:
            # where its plan was carried out, the run was undone, if nothing has changed
            used = known.plan and self._store.ledger.run_of_plan(known.plan) is not None
            if not used:
                return replace(known, unchanged=True)
        for _ in range(_LOOKS):
            findings = find(self._store, self._settings, within=partition.namespaces)
            after = fingerprint(self._store, partition, self._settings)
            if after == before:
                return self._write(partition, findings, after, begun)
            before = after
        raise StoreError(
            f"The memories of partition {partition.number} were changed each time while they were "
            "read. Run the job again when less is written."
        )

    def _known(self, partition: Partition) -> Finished | None:
        """Returns the result of an earlier run; None where there is none that can be read."""
        name = file_name(partition.number, REPORT)
        data = self._results.read(name)
        if data is None:
            return None
        try:
            return finished_of(data, f"{self._results.place}/{name}")
        except EcholessError as problem:
            LOG.warning("%s", problem)
            return None

    def _write(
        self, partition: Partition, findings: Findings, print_: str, begun: tuple[float, float]
    ) -> Finished:
        """Writes the plan and then the report of a partition.

        Args:
            partition: The partition.
            findings: What was found in it.
            print_: Its fingerprint, before and after.
            begun: Clock and processor time when it began.
        """
        number, report, made = partition.number, audit(findings), plan(findings)
        finished = Finished(
            number=number,
            fingerprint=print_,
            memories=report.counts["total"],
            groups=report.counts["groups"],
            redundant=report.counts["redundant"],
            plan=made.id if made.actions else "",
            actions=tuple(made.action_digests),
            worker=worker_name(),
            seconds=round(time.monotonic() - begun[0], 3),
            cpu=round(time.process_time() - begun[1], 3),
            peak=peak_memory(),
            finished_at=now(),
            notes=report.told,
        )
        if made.actions:
            self._results.write(file_name(number, PLAN), plan_bytes(made))
        self._results.write(file_name(number, REPORT), report_file(finished, report.pages))
        if not made.actions:
            self._results.remove(file_name(number, PLAN))
        self._results.remove(file_name(number, FAILURE))
        return finished


_workers: dict[Task, PartitionWorker] = {}
"""Worker of this process; one at most, so that store and models stay open between partitions."""


def run_partition(task: Task, partition: Partition) -> Finished | Failed:
    """Runs one partition with the worker of this process; never raises but for Ctrl-C.

    A worker that cannot work on the job at all refuses it. One that did not reach the store or the
    results fails: that may pass.
    """
    try:
        if task not in _workers:
            results = open_results(task.results)
            _check_shared(task.job, results)
            _workers.clear()
            _workers[task] = PartitionWorker(task.job, open_store(task.url), results)
    except Exception as problem:  # noqa: BLE001 - the edge of a worker: others go on
        lasting = isinstance(problem, EcholessError) and not isinstance(problem, StoreError)
        return _failed(partition, problem, "refused" if lasting else "failed")
    return _workers[task].run(partition)


def _failed(partition: Partition, problem: Exception, kind: FailureKind) -> Failed:
    """Returns the outcome of a partition that ended with an exception."""
    reason = str(problem)
    if not isinstance(problem, EcholessError):
        LOG.error("partition %d", partition.number, exc_info=problem)
        reason = f"{type(problem).__name__}: {problem}"
    return Failed(number=partition.number, reason=reason, kind=kind, worker=worker_name())


def _check_shared(job: Job, results: Results) -> None:
    """Checks that a worker reads and writes the same results as the process that runs the job.

    Raises:
        UsageError: They are others, such as a folder of the same name on another machine.
        StoreError: The place cannot be reached.
    """
    data = results.read(JOB_FILE)
    if data is None or f'"{job.id}"'.encode("ascii") not in data:
        raise UsageError(
            f"The worker {worker_name()} does not see {job.id} at {results.place}. Give --results "
            "a folder that all machines share."
        )


def fingerprint(store: Store, partition: Partition, settings: Settings) -> str:
    """Returns a digest of all that the result of a partition depends on in the store.

    That is every field of its memories, what people and earlier runs decided about them, and the
    survivors of other namespaces that stand for some of them. Where the store digests its own rows
    (`Printed`), no other memory is made.

    Args:
        store: Open.
        partition: Names the namespaces.
        settings: Of the job; its rules and settings are compared apart.
    """
    digested = blake2b(digest_size=16)
    names, ledger = frozenset(partition.namespaces), store.ledger
    decided = ledger.has_decisions()
    if isinstance(store, Printed):
        prints = store.prints(names, None if decided else ())
        ids = prints.homes.keys()
        parts = [repr((name, prints.by_namespace[name])) for name in sorted(prints.by_namespace)]
    else:
        memories = {m.id: m for m in store.scan(Scope(since=settings.since, among=names))}
        ids = memories.keys()
        parts = [digest(memory_to_json(memories[id_])) for id_ in sorted(ids)]
    if decided:
        marks = ledger.marks_about(ids)
        parts += map(repr, marks.values())
        # a survivor that was moved to another namespace: whether its mark holds hangs on its text
        elsewhere = store.get({mark.survivor for mark in marks.values()} - ids)
        parts += [digest(memory_to_json(elsewhere[id_])) for id_ in sorted(elsewhere)]
        parts += map(repr, ledger.kept_of(ids))
        parts += sorted(ledger.sticky() & ids)
    for part in parts:
        digested.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digested.hexdigest()


def peak_memory() -> int:
    """Returns the most bytes this process has held; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
