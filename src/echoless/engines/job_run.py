"""Runs a job to its end: what is left, on an engine, with failures tried again and recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from echoless.core.errors import InputError, UsageError
from echoless.core.model import digest
from echoless.core.settings import Choices
from echoless.engines.engine import Engine
from echoless.engines.job import (
    JOB_FILE,
    MEMORIES,
    Job,
    Partition,
    make_job,
    packed_partitions,
    partitions_of,
    refreshed,
    unpacked_partitions,
)
from echoless.engines.partition_files import (
    FAILURE,
    REPORT,
    Failed,
    Finished,
    check_installed,
    failed_of,
    failure_file,
    file_name,
    finished_of,
    numbers_of,
)
from echoless.engines.partition_worker import Task
from echoless.engines.results import Results
from echoless.stores import absolute_url
from echoless.stores.base import Store

PARTITIONS_FILE: Final = "partitions.jsonl"

ATTEMPTS: Final = 3
"""Times a partition is tried before it is recorded as failed."""

Progress = Callable[[int, int], None]

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job with its place.

    Attributes:
        job: The job.
        partitions: All of it, by number.
        results: Where its files are.
    """

    job: Job
    partitions: tuple[Partition, ...]
    results: Results


@dataclass(slots=True)
class JobOutcome:
    """What became of the partitions of a job in one run.

    Attributes:
        finished: Partitions looked at.
        unchanged: Partitions known from an earlier run.
        failed: Those that failed each time.
        attempts: Failed attempts, with those of partitions that succeeded later.
        memories: Memories of finished and unchanged partitions.
        groups: Their groups.
        redundant: Memories their plans hide or remove.
        planned: Partitions with something to do.
        notes: Sentences about the run, with the number of partitions that told them.
    """

    finished: int = 0
    unchanged: int = 0
    failed: list[Failed] = field(default_factory=list)
    attempts: int = 0
    memories: int = 0
    groups: int = 0
    redundant: int = 0
    planned: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Finished) -> None:
        """Counts a partition with its result."""
        self.unchanged += outcome.unchanged
        self.finished += not outcome.unchanged
        self.memories += outcome.memories
        self.groups += outcome.groups
        self.redundant += outcome.redundant
        self.planned += bool(outcome.plan)
        self.notes.update(outcome.notes)


def open_job(
    store: Store, choices: Choices, results: Results, *, memories: int = MEMORIES
) -> OpenJob:
    """Returns the job that lies at a place, brought up to the store, or makes one there.

    Args:
        store: Open.
        choices: Settings of the run, with those of files and the environment.
        results: Where the job lies, or will lie.
        memories: Memories of a partition of several namespaces, at most; for a new job.

    Raises:
        UsageError: Another job lies there, or a setting is wrong.
        InputError: What lies there is damaged.
        MissingExtra: The library for Parquet is not installed.
        StoreError: The place cannot be reached.
    """
    check_installed()
    new = make_job(store, choices)
    known = read_job(results)
    within = new.resolved().namespace
    sizes = store.namespaces()
    sizes = sizes if within is None else {within: sizes[within]}
    if known is None:
        opened = OpenJob(new, tuple(partitions_of(sizes, memories=memories)), results)
        results.write(PARTITIONS_FILE, packed_partitions(opened.partitions))
        results.write(JOB_FILE, json.dumps(new.to_json()).encode("ascii"))
        return opened
    _check_same(known.job, new, results.place)
    opened = replace(known, partitions=tuple(refreshed(known.partitions, sizes)))
    if opened.partitions != known.partitions:
        results.write(PARTITIONS_FILE, packed_partitions(opened.partitions))
    return opened


def _check_same(known: Job, new: Job, place: str) -> None:
    """Checks that a new job may continue the job at the same place.

    Raises:
        UsageError: Another job lies there.
    """
    for part, what in (("identity", "another store"), ("settings", "other settings")):
        if getattr(known, part) != getattr(new, part):
            raise UsageError(
                f"{place} holds {known.id}, which is for {what}. Give this job another --results."
            )
    if known.rules != new.rules:
        raise UsageError(
            f"{place} holds {known.id}, which was made with other versions of echoless, Python, "
            "numpy or the models. Install those again, or give this job another --results."
        )


def read_job(results: Results) -> OpenJob | None:
    """Returns the job that lies at a place; None where there is none.

    Raises:
        InputError: It is damaged.
        StoreError: The place cannot be reached.
    """
    job = stored_job(results)
    if job is None:
        return None
    listed = results.read(PARTITIONS_FILE)
    if listed is None:
        raise InputError(f"{results.place} lacks {PARTITIONS_FILE}; make a new job.")
    partitions = unpacked_partitions(listed, f"{results.place}/{PARTITIONS_FILE}")
    return OpenJob(job, tuple(partitions), results)


def stored_job(results: Results) -> Job | None:
    """Returns the job that lies at a place, without its partitions; None where there is none.

    Raises:
        InputError: It is damaged.
        StoreError: The place cannot be reached.
    """
    data = results.read(JOB_FILE)
    if data is None:
        return None
    place = f"{results.place}/{JOB_FILE}"
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"The job in {place} is damaged ({problem}).") from problem
    return Job.from_json(content if isinstance(content, dict) else {}, place)


def run_job(
    opened: OpenJob,
    url: str,
    engine: Engine,
    *,
    attempts: int = ATTEMPTS,
    progress: Progress = lambda _done, _all: None,
) -> JobOutcome:
    """Runs every partition of a job, and records those that fail each time.

    A partition whose result is there and whose memories did not change costs a look at its
    fingerprint. It can be stopped anywhere and goes on there.

    Args:
        opened: The job.
        url: URL of the store, with its password if it has one.
        engine: Where the partitions run.
        attempts: Times a partition is tried, at least 1.
        progress: Told how many partitions of how many have ended.

    Raises:
        UsageError: The workers cannot be reached, or cannot work on this job.
    """
    task = Task(opened.job, absolute_url(url), opened.results.address)
    outcome, ended, whole = JobOutcome(), 0, len(opened.partitions)
    by_number = {partition.number: partition for partition in opened.partitions}
    left: Sequence[Partition] = opened.partitions
    progress(0, whole)
    for attempt in range(1, attempts + 1):
        again: list[Partition] = []
        # after the first attempt one at a time, so that a lost worker accuses no innocent one
        for made in engine.run(task, left, alone=attempt > 1):
            if isinstance(made, Finished):
                outcome.add(made)
            else:
                outcome.attempts += 1
                if made.kind == "refused":  # the worker cannot work on this job at all
                    raise UsageError(made.reason)
                if made.kind != "lasting" and attempt < attempts:
                    again.append(by_number[made.number])
                    continue
                failed = replace(made, attempts=max(made.attempts, attempt))
                outcome.failed.append(failed)
                opened.results.write(file_name(failed.number, FAILURE), failure_file(failed))
            ended += 1
            progress(ended, whole)
        left = again
        if not left:
            break
    return outcome


def finished_partitions(results: Results) -> Iterator[Finished]:
    """Yields what became of each partition with a result, by number.

    Raises:
        InputError: A report is damaged.
        StoreError: The place cannot be reached.
    """
    yield from _read_all(results, REPORT, finished_of)


def failed_partitions(results: Results) -> Iterator[Failed]:
    """Yields why partitions failed, by number.

    Raises:
        InputError: A file is damaged.
        StoreError: The place cannot be reached.
    """
    yield from _read_all(results, FAILURE, failed_of)


def _read_all(
    results: Results, ending: str, read: Callable[[bytes, str], _Read]
) -> Iterator[_Read]:
    """Yields what the files of a kind say, by number of the partition.

    Args:
        results: Of the job.
        ending: Of the names of that kind.
        read: Returns what a file says, from its content and its place.
    """
    for number in numbers_of(results.names(), ending):
        name = file_name(number, ending)
        data = results.read(name)
        if data is not None:
            yield read(data, f"{results.place}/{name}")


def plan_digest(actions: Iterable[str]) -> str:
    """Returns the digest of plans together, from the digests of their actions.

    A plan of one process over the same store has the same (`Plan.action_digests`).
    """
    return digest(sorted(actions))
