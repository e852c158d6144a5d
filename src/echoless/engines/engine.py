"""Contract of an engine: it decides where partitions run, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from echoless.engines.job import Partition
from echoless.engines.partition_files import Failed, Finished
from echoless.engines.partition_worker import Task


def lost(partition: Partition) -> Failed:
    """Returns the outcome of a partition whose worker was killed, or ran out of memory."""
    reason = "The process that worked on it ended without an answer."
    return Failed(number=partition.number, reason=reason, kind="lost")


class Engine(Protocol):
    """Runs `PartitionWorker.run` somewhere, once for each partition it is given.

    An engine holds back what waits: it reads the partitions as workers become free. A worker that
    is lost is replaced, and what it worked on comes back as `Failed` of the kind `lost`;
    `job_run` decides whether to try again.
    """

    def run(
        self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
    ) -> Iterator[Finished | Failed]:
        """Yields the result of each partition, in the order in which the partitions end.

        Args:
            task: For every worker.
            partitions: Read as workers become free.
            alone: One partition at a time: then a lost worker tells which one it was lost to.

        Raises:
            UsageError: The workers cannot be reached.
        """
        ...

    def close(self) -> None:
        """Ends the workers."""
        ...
