"""A worker of the engine `postgres`: claims partitions one after the other until none is left.

`python -m echoless.engines.postgres_worker` is the worker that the engine starts on its own machine
(`postgres_engine.py`). It reads its order from standard input, where no list of processes shows
passwords, and ends when that is closed: when the process that started it is gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Final

from echoless.core.destination import command_line
from echoless.core.errors import EcholessError, InputError, StoreError
from echoless.engines.job_run import stored_job
from echoless.engines.partition_files import Failed, Finished, check_installed
from echoless.engines.partition_worker import PartitionWorker
from echoless.engines.postgres_queue import Queue
from echoless.engines.postgres_session import JobSession, PostgresResults
from echoless.stores import open_store

POLL: Final = 1.0
"""Seconds after which an idle worker looks whether another one is gone; work wakes it at once."""


@dataclass(frozen=True, slots=True)
class WorkDone:
    """Counts of the partitions of one worker.

    Attributes:
        finished: Partitions it looked at.
        unchanged: Partitions known from an earlier run.
        failed: Partitions that failed; the process that runs the job tries them again.
    """

    finished: int = 0
    unchanged: int = 0
    failed: int = 0

    def plus(self, outcome: Finished | Failed) -> WorkDone:
        """Returns this with one more partition."""
        if isinstance(outcome, Failed):
            return replace(self, failed=self.failed + 1)
        known = outcome.unchanged
        return replace(self, finished=self.finished + (not known), unchanged=self.unchanged + known)


def work(
    address: str,
    *,
    url: str | None = None,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[WorkDone], None] = lambda _done: None,
) -> WorkDone:
    """Runs partitions of a job until none is left and no process runs the job any more.

    It holds one connection. Where that is lost the worker ends, and others take over its partition.
    A partition that was lost too often waits for the process that runs the job, which records it.
    A partition it is at when it is interrupted, or told to end by SIGTERM, goes back at once.

    Args:
        address: Of the results of the job, `postgresql://USER@HOST/DB#NAME`.
        url: Of the store, where it has a password or lies elsewhere than where the job was made.
        stopped: Asked between partitions, whether to end.
        progress: Receives the counts so far after each partition.

    Raises:
        InputError: There is no job, or no such store, or only the job names a store elsewhere.
        UsageError: The address is wrong, or versions, models or store are not those of the job; no
            partition was claimed.
        StoreError: The database or the store cannot be reached, or the connection was lost.
        MissingExtra: A library is not installed.
    """
    check_installed()
    with closing(JobSession(address, reconnects=False)) as session, _ending_by_sigterm():
        results = PostgresResults(session)
        job = stored_job(results)
        if job is None:
            making = ("jobs", "dedup", "STORE", "--engine", "postgres", "--results", session.place)
            raise InputError(
                f"There is no job at {session.place}. Make it first: {command_line(*making)}"
            )
        if url is None and not session.holds(job.store):
            again = ("jobs", "work", session.place, "--store", job.store)
            raise InputError(
                f"The job at {session.place} names a store elsewhere, which was not opened and got "
                f"no password. If that is your store, say so: {command_line(*again)}"
            )
        with open_store(url or job.store) as store:
            worker, queue = PartitionWorker(job, store, results), Queue(session, job.id)
            queue.enter()
            done = WorkDone()
            for outcome in _outcomes(worker, queue, stopped):
                done = done.plus(outcome)
                progress(done)
            return done


def _outcomes(
    worker: PartitionWorker, queue: Queue, stopped: Callable[[], bool]
) -> Iterator[Finished | Failed]:
    """Yields what became of each partition this worker claimed, after it is written down."""
    while not stopped():
        partition = queue.claim()
        if partition is None:
            if queue.free_lost():
                continue
            left = queue.open()
            if not left.waiting and not left.claimed and not queue.is_run():
                return
            queue.wait(POLL)
            continue
        outcome = None
        try:
            outcome = worker.run(partition)
        finally:
            if outcome is None:  # interrupted; a lost connection has given the claim back already
                with suppress(StoreError):
                    queue.give_back(partition)
        queue.record(outcome)
        yield outcome


@contextmanager
def _ending_by_sigterm() -> Iterator[None]:
    """Makes SIGTERM end the block by `SystemExit`, so that a claim is given back.

    Whoever handles SIGTERM already, or runs this in a thread, keeps what they have.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Runs the worker of an engine; prints why it could not go on, as a JSON text.

    Returns:
        The exit code of the error, or 0.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started it
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # for what libraries print
    order = json.loads(sys.stdin.readline())
    gone = threading.Event()
    threading.Thread(target=_watch, args=(gone,), daemon=True).start()
    try:
        work(order["results"], url=order["store"], stopped=gone.is_set)
    except EcholessError as problem:
        print(json.dumps(str(problem)), file=answer, flush=True)
        return problem.exit_code
    return 0


def _watch(gone: threading.Event) -> None:
    """Waits until standard input is closed.

    Past the buffer of `sys.stdin`, whose lock would be held when this process ends.
    """
    while os.read(sys.stdin.fileno(), 1):
        pass
    gone.set()


if __name__ == "__main__":
    sys.exit(main())
