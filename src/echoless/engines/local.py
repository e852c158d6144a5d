"""Engine of this machine: one process for each core, by loky."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice

from loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from echoless.core.errors import UsageError
from echoless.core.threads import workers
from echoless.engines.engine import lost
from echoless.engines.job import Partition
from echoless.engines.partition_files import Failed, Finished
from echoless.engines.partition_worker import ONE_THREAD, Task, run_partition


class LocalEngine:
    """Runs partitions in processes of this machine.

    A process that ends early takes down the pool of loky, so its other partitions come back as
    lost too; a new pool takes the next ones.
    """

    def __init__(self, processes: int | None) -> None:
        """Takes the number of processes; by default one for each core."""
        self._count = processes or workers()
        self._size = self._count
        self._pool: ProcessPoolExecutor | None = None

    def run(
        self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
    ) -> Iterator[Finished | Failed]:
        """Yields the result of each partition, in the order of their ends; see `Engine.run`."""
        size = 1 if alone else self._count
        if size != self._size:
            self.close()
            self._size = size
        waiting = iter(partitions)
        running: dict[Future[Finished | Failed], Partition] = {}
        while True:
            for partition in islice(waiting, self._size - len(running)):
                running[self._submitted(task, partition)] = partition
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                partition = running.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    self.close()
                    outcome = lost(partition)
                yield outcome

    def _submitted(self, task: Task, partition: Partition) -> Future[Finished | Failed]:
        """Gives a partition to a free process; starts processes where there are none."""
        for _ in range(2):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    max_workers=self._size, env=dict(ONE_THREAD), initializer=_start
                )
            try:
                future: Future[Finished | Failed] = self._pool.submit(
                    run_partition, task, partition
                )
            except BrokenProcessPool:
                self.close()
            else:
                return future
        raise UsageError("No process can be started on this machine.")

    def close(self) -> None:
        """Ends the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


def _start() -> None:
    """Makes a worker process ignore SIGINT; the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
