"""Engine of a Postgres database: workers on any number of machines claim partitions from a table.

This process writes the partitions to the queue, starts workers on its own machine, and reads what
became of each. `echoless jobs work ADDRESS` adds a worker on any other machine, at any time.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from echoless.core.destination import command_line
from echoless.core.errors import StoreError, UsageError
from echoless.core.threads import workers
from echoless.engines.job import Partition
from echoless.engines.job_run import ATTEMPTS
from echoless.engines.partition_files import Failed, Finished
from echoless.engines.partition_worker import ONE_THREAD, Task
from echoless.engines.postgres_queue import Queue
from echoless.engines.postgres_session import JobSession
from echoless.engines.results import POSTGRES

LOG: Final = logging.getLogger("echoless.job")

_POLL: Final = 0.5
"""Seconds between two looks at the workers; a finished partition ends the wait at once."""

_ENDING: Final = 5.0
"""Seconds a worker has to give back its partition when it is told to end."""


class PostgresEngine:
    """Runs partitions by workers that claim them from the database of the results."""

    def __init__(self, processes: int | None) -> None:
        """Takes the number of workers on this machine: by default one for each core, 0 for none."""
        self._count = workers() if processes is None else processes
        self._session: JobSession | None = None
        self._queue: Queue | None = None
        self._workers: _LocalWorkers | None = None

    def run(
        self,
        task: Task,
        partitions: Iterable[Partition],
        *,
        alone: bool = False,  # noqa: ARG002 - a claim tells which partition a worker was lost to
    ) -> Iterator[Finished | Failed]:
        """Yields the result of each partition, in the order of their ends; see `Engine.run`.

        A partition that is lost goes to another worker at once, and has ended as `lasting` after
        `ATTEMPTS` times.

        Raises:
            UsageError: The results are not in Postgres, or the workers of this machine cannot work.
            StoreLocked: Another process runs the job.
            StoreError: The connection was lost.
        """
        queue = self._opened(task)
        left = queue.enqueue(partitions)
        if self._workers is None:
            self._workers = _LocalWorkers(min(self._count, len(left)), task)
        while left:
            outcomes = [each for each in queue.take_outcomes() if each.number in left]
            for outcome in outcomes:
                left.remove(outcome.number)
                self._workers.deaths = 0
                yield outcome
            if not outcomes:
                queue.free_lost()
                self._workers.check()
                queue.wait(_POLL)

    def _opened(self, task: Task) -> Queue:
        """Returns the queue of a job, which no other process may run meanwhile."""
        if self._queue is None:
            if task.results.partition("://")[0] not in POSTGRES:
                raise UsageError(
                    "The engine 'postgres' needs a database for the results: --results "
                    "postgresql://USER@HOST/DB#NAME, with any name for the job."
                )
            self._session = JobSession(task.results, reconnects=False)
            self._queue = Queue(self._session, task.job.id)
            self._queue.lock()
            LOG.info("More workers: %s", command_line("jobs", "work", self._session.place))
        return self._queue

    def close(self) -> None:
        """Ends the workers of this machine; those elsewhere end when nothing is left."""
        if self._workers is not None:
            self._workers.close()
        if self._session is not None:
            self._session.close()
        self._session = self._queue = self._workers = None


class _LocalWorkers:
    """Processes of this machine, replaced where one was killed."""

    def __init__(self, count: int, task: Task) -> None:
        self.deaths = 0
        """Workers that ended since the last partition did."""
        self._most = ATTEMPTS * count
        self._count = count
        self._order = f"{json.dumps({'results': task.results, 'store': task.url})}\n"
        self._running: list[subprocess.Popen[str]] = []

    def check(self) -> None:
        """Starts workers where they are missing.

        Raises:
            UsageError: They cannot work on this job, or end each time before they do anything.
            StoreError: They cannot reach the store or the database.
        """
        for process in [each for each in self._running if each.poll() is not None]:
            self._running.remove(process)
            self._judge(process)
        while len(self._running) < self._count:
            self._running.append(self._started())

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "echoless.engines.postgres_worker"]
        process = subprocess.Popen(  # noqa: S603 - this program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        assert process.stdin is not None
        process.stdin.write(self._order)
        process.stdin.flush()
        return process

    def _judge(self, process: subprocess.Popen[str]) -> None:
        """Raises why a worker ended, unless another may do better in its place."""
        reason, code = _answer(process), process.returncode
        self.deaths += 1
        if code == StoreError.exit_code and self.deaths > self._most:
            raise StoreError(reason)
        if reason and code != StoreError.exit_code:
            raise UsageError(reason)
        if self.deaths > self._most:
            raise UsageError(
                f"The workers of this machine ended {self.deaths} times before they finished "
                f"anything, the last one with code {code}."
            )

    def close(self) -> None:
        """Ends the processes; a process in the middle of a partition gives it back."""
        for process in self._running:
            process.terminate()
        for process in self._running:
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
            _answer(process)
        self._running = []


def _answer(process: subprocess.Popen[str]) -> str:
    """Returns why a process could not go on; empty where it was killed or had nothing to say."""
    written, _ = process.communicate()
    try:
        reason = json.loads(written)
    except ValueError:
        return ""
    return str(reason)
