"""Table of the partitions of a job, from which workers on any number of machines claim.

A claim is a row that names its worker, and is committed at once: no transaction stays open while a
partition is worked on, so vacuum is not held back. A worker is alive while its session holds an
advisory lock of a random key. The server frees that lock when the connection ends, whatever ended
it (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS); then the claim is
free for another worker. No clock is compared. A pooler that gives one connection to several clients
in turn (pgbouncer in the mode `transaction`) breaks such locks: connect to the server itself.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from echoless.core.destination import command_line
from echoless.core.errors import StoreError, StoreLocked
from echoless.core.optional import lazy_module
from echoless.engines.job import Partition
from echoless.engines.job_run import ATTEMPTS
from echoless.engines.partition_files import Failed, Finished, finished_from_json
from echoless.engines.partition_worker import worker_name
from echoless.engines.postgres_session import JobSession

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from psycopg.rows import TupleRow
else:
    sql = lazy_module("psycopg.sql")

_OUTCOMES: Final = 500
"""Outcomes that are read at once, at most."""

_ALIVE: Final = """
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""Keys of the advisory locks that are held in this database; one of two 32-bit keys has another
`objsubid` (https://www.postgresql.org/docs/current/view-pg-locks.html)."""

_CLAIM: Final = """
WITH next AS (
    SELECT job, number FROM echoless_jobs.queue WHERE job = %s AND state = 'waiting'
    ORDER BY memories DESC, number LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE echoless_jobs.queue AS q
SET state = 'claimed', worker = %s, worker_name = %s, attempts = attempts + 1
FROM next WHERE q.job = next.job AND q.number = next.number
RETURNING q.number, q.namespaces, q.memories
"""

_GIVE_BACK: Final = """
UPDATE echoless_jobs.queue
SET state = 'waiting', worker = NULL, worker_name = NULL, attempts = attempts - 1
WHERE job = %s AND number = %s AND worker = %s AND state = 'claimed'
"""

_RECORD: Final = """
UPDATE echoless_jobs.queue SET state = 'ended', outcome = %s
WHERE job = %s AND number = %s AND worker = %s AND state = 'claimed'
"""

_DEAD: Final = f"""
SELECT DISTINCT worker FROM echoless_jobs.queue
WHERE job = %s AND state = 'claimed' AND worker NOT IN ({_ALIVE})
"""

_FREE: Final = """
UPDATE echoless_jobs.queue
SET state = CASE WHEN attempts < %s THEN 'waiting' ELSE 'ended' END
WHERE job = %s AND state = 'claimed' AND worker = ANY(%s)
"""
"""A worker that is gone never comes back under its key, so no living claim is taken away."""

_TAKE: Final = """
DELETE FROM echoless_jobs.queue WHERE job = %s AND number IN (
    SELECT number FROM echoless_jobs.queue WHERE job = %s AND state = 'ended' LIMIT %s
)
RETURNING number, attempts, worker_name, outcome
"""


@dataclass(frozen=True, slots=True)
class Open:
    """How many partitions of a job have not ended.

    Attributes:
        waiting: They wait for a worker.
        claimed: Workers are at work on them.
    """

    waiting: int
    claimed: int


class Queue:
    """The queue of one job, over the session of one worker or of the process that runs the job.

    All methods raise `StoreError` where the connection is lost.
    """

    def __init__(self, session: JobSession, job: str) -> None:
        """Takes the session, which is never opened a second time, and the id of the job."""
        self._session = session
        self._job = job
        self._key = 0

    # -------------------------------------------------------------- the process that runs the job

    def lock(self) -> None:
        """Takes the lock of the job for this session, until the session ends.

        Raises:
            StoreLocked: Another one does.
        """
        with self._session.connected() as connection:
            if not _is_locked(connection, _key_of(self._job)):
                raise StoreLocked(
                    f"{self._job} is being run by another process. Wait for it to end, or add "
                    f"workers to it: {command_line('jobs', 'work', self._session.place)}"
                )
            _listen(connection, self._job)

    def enqueue(self, partitions: Iterable[Partition]) -> set[int]:
        """Writes partitions to the queue in place of what an earlier run left there.

        What a living worker has claimed stays with it, and counts for this run too.

        Args:
            partitions: Read once; all are written in one transaction.

        Returns:
            Their numbers.
        """
        numbers = set()
        with self._session.connected() as connection, connection.transaction():
            locked = connection.execute(
                "SELECT number, state, worker FROM echoless_jobs.queue WHERE job = %s FOR UPDATE",
                (self._job,),
            ).fetchall()
            alive = _alive(connection)
            claimed = {at for at, state, worker in locked if state == "claimed" and worker in alive}
            connection.execute(
                "DELETE FROM echoless_jobs.queue WHERE job = %s AND number <> ALL(%s)",
                (self._job, list(claimed)),
            )
            columns = "job, number, memories, namespaces"
            writing = connection.cursor().copy(f"COPY echoless_jobs.queue ({columns}) FROM STDIN")
            with writing as copy:
                for each in partitions:
                    numbers.add(each.number)
                    if each.number not in claimed:
                        names = json.dumps(each.namespaces)
                        copy.write_row((self._job, each.number, each.memories, names))
            _notify(connection, _work_channel(self._job))
        return numbers

    def take_outcomes(self) -> list[Finished | Failed]:
        """Returns what became of partitions that have ended, and takes them out of the queue."""
        with self._session.connected() as connection:
            rows = connection.execute(_TAKE, (self._job, self._job, _OUTCOMES)).fetchall()
        return [
            _lost(number, attempts, worker) if outcome is None else _outcome_of(outcome)
            for number, attempts, worker, outcome in rows
        ]

    # -------------------------------------------------------------- a worker

    def enter(self) -> None:
        """Makes this session that of a worker, which is alive until it ends.

        Raises:
            StoreError: The server gave no lock.
        """
        self._key = secrets.randbits(62) + 1
        with self._session.connected() as connection:
            if not _is_locked(connection, self._key):
                raise StoreError(f"{self._session.place} gave no lock. Start the worker again.")
            _listen(connection, _work_channel(self._job))

    def claim(self) -> Partition | None:
        """Returns a partition that now belongs to this worker, a large one first; None if none.

        The attempt counts from here on, so that a partition which kills its workers is not tried
        for ever.
        """
        with self._session.connected() as connection:
            values = (self._job, self._key, worker_name())
            row = connection.execute(_CLAIM, values).fetchone()
        return None if row is None else Partition(row[0], tuple(json.loads(row[1])), row[2])

    def give_back(self, partition: Partition) -> None:
        """Gives up a claim; the attempt does not count."""
        with self._session.connected() as connection:
            connection.execute(_GIVE_BACK, (self._job, partition.number, self._key))

    def record(self, outcome: Finished | Failed) -> None:
        """Writes down what became of a partition that this worker claimed."""
        with self._session.connected() as connection, connection.transaction():
            # in ASCII: a column of text cannot hold every character
            text = json.dumps({type(outcome).__name__: asdict(outcome)})
            connection.execute(_RECORD, (text, self._job, outcome.number, self._key))
            _notify(connection, self._job)

    def is_run(self) -> bool:
        """Returns whether a process runs the job, which may add partitions."""
        with self._session.connected() as connection:
            return _key_of(self._job) in _alive(connection)

    # -------------------------------------------------------------- both

    def free_lost(self) -> bool:
        """Frees the claims of workers that are gone, for other workers to take over.

        A partition that was lost `ATTEMPTS` times has ended.

        Returns:
            Whether there were any.
        """
        with self._session.connected() as connection:
            dead = [worker for (worker,) in connection.execute(_DEAD, (self._job,))]
            if not dead:
                return False
            changed = connection.execute(_FREE, (ATTEMPTS, self._job, dead)).rowcount
            _notify(connection, _work_channel(self._job))
        return changed > 0

    def open(self) -> Open:
        """Returns how many partitions have not ended."""
        with self._session.connected() as connection:
            rows = connection.execute(
                "SELECT state, count(*) FROM echoless_jobs.queue "
                "WHERE job = %s AND state IN ('waiting', 'claimed') GROUP BY state",
                (self._job,),
            )
            counts = dict(iter(rows))
        return Open(counts.get("waiting", 0), counts.get("claimed", 0))

    def wait(self, seconds: float) -> None:
        """Waits until something changed in the queue, or so many seconds."""
        with self._session.connected() as connection:
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass


# ------------------------------------------------------------------ locks and messages


def _key_of(job: str) -> int:
    """Returns the key of the lock of whoever runs a job: 63 bits, positive."""
    return int.from_bytes(blake2b(job.encode(), digest_size=8).digest()) >> 1


def _is_locked(connection: psycopg.Connection[TupleRow], key: int) -> bool:
    """Takes a lock for the rest of the session; returns whether it was free."""
    return connection.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone() == (True,)


def _alive(connection: psycopg.Connection[TupleRow]) -> set[int]:
    """Returns the keys of all locks that are held."""
    return {key for (key,) in connection.execute(_ALIVE)}


def _work_channel(job: str) -> str:
    """Returns the channel that tells workers about new partitions."""
    return f"{job} work"


def _listen(connection: psycopg.Connection[TupleRow], channel: str) -> None:
    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))


def _notify(connection: psycopg.Connection[TupleRow], channel: str) -> None:
    connection.execute("SELECT pg_notify(%s, '')", (channel,))


# ------------------------------------------------------------------ outcomes as text


def _outcome_of(text: str) -> Finished | Failed:
    """Returns the outcome that `Queue.record` wrote."""
    ((kind, fields),) = json.loads(text).items()
    return Failed(**fields) if kind == Failed.__name__ else finished_from_json(fields)


def _lost(number: int, attempts: int, worker: str) -> Failed:
    """Returns the outcome of a partition whose workers all ended without an answer."""
    reason = f"Each of the {attempts} workers that took it ended without an answer."
    return Failed(number=number, reason=reason, kind="lasting", worker=worker, attempts=attempts)
