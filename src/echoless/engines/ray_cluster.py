"""Engine of a Ray cluster: actors of one core each hold the store and the models.

An actor has one partition at a time and none in its queue. Ray answers in a millisecond, so a queue
would gain nothing; it would keep small partitions waiting behind a large one, and a lost actor
takes answers with it that were given but not yet sent, so what stood in its queue could not be
told from what it was lost to.

Neither actors nor calls are repeated by Ray: `job_run` counts the attempts.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.core.runtime import workers
from echoless.core.versions import __version__
from echoless.engines.engine import lost
from echoless.engines.job import Partition
from echoless.engines.partition_files import Failed, Finished
from echoless.engines.partition_worker import Task, run_partition
from echoless.engines.workers import ONE_THREAD, Workers

if TYPE_CHECKING:
    import ray
    from ray import exceptions
else:
    ray = lazy_module("ray")
    exceptions = lazy_module("ray.exceptions")

LOG: Final = logging.getLogger("echoless.job")

_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to the makers of Ray
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # lines of the cluster, which Ray prints to our output
    "RAY_worker_niceness": "0",  # of a Ray of our own: as the processes of the engine 'local'
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a warning of Ray about its own future
}
"""Environment in which Ray is imported; what the user has set stays."""

_OBJECTS: Final = 128 * 1024 * 1024
"""Bytes of the object store of a Ray of our own: only results pass through it."""

_SHORT_PATH: Final = "/tmp" if os.name == "posix" else None  # noqa: S108 - a folder is made in it
"""Where a Ray of our own has its files: the path of a socket may have no more than 103 bytes."""

_PATIENCE: Final = 30.0
"""Seconds without any free core, after which a warning says what is waited for."""

_STARTS: Final = 3
"""Actors that may end in a row before they have begun, besides one for each worker."""


class PartitionActor:
    """Runs partitions in a process of the cluster."""

    def version(self) -> str:
        """Returns the version of echoless there."""
        return __version__

    def run(self, task: Task, partition: Partition) -> Finished | Failed:
        """Runs a partition; a refusal says which worker it came from."""
        made = run_partition(task, partition)
        if isinstance(made, Failed) and made.kind == "refused" and made.worker not in made.reason:
            return replace(made, reason=f"{made.reason} (Said by the worker {made.worker}.)")
        return made


class RayEngine:
    """Runs partitions on a Ray cluster, or on a Ray of this machine that ends with the engine."""

    def __init__(self, wanted: Workers) -> None:
        """Connects to the cluster.

        Args:
            wanted: `address` is `auto`, `HOST:PORT` or `ray://HOST:PORT`; `local` starts a Ray on
                this machine, and so does None, unless this process is connected to one already.
                `count` is by default the cores of the cluster.

        Raises:
            MissingExtra: Ray is not installed.
            UsageError: The cluster cannot be reached, or has another Ray or Python.
        """
        require_module("ray", "The engine 'ray'", "ray")
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        self._own = not ray.is_initialized()
        if not self._own and wanted.address is not None:
            raise UsageError(
                "This process is connected to a Ray cluster already. Leave out the address to use "
                "that one."
            )
        self._address = "local" if wanted.address is None else wanted.address
        self._folder: TemporaryDirectory[str] | None = None
        if self._own:
            self._connect(wanted.count or workers())
        self._count = wanted.count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._actor = ray.remote(PartitionActor).options(
            num_cpus=1, max_restarts=0, max_task_retries=0, runtime_env={"env_vars": ONE_THREAD}
        )
        self._idle: list[ray.actor.ActorHandle] = []
        self._starting: dict[ray.ObjectRef, ray.actor.ActorHandle] = {}
        self._busy: dict[ray.ObjectRef, tuple[ray.actor.ActorHandle, Partition]] = {}
        self._failed_starts = 0

    def run(
        self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
    ) -> Iterator[Finished | Failed]:
        """Yields the result of each partition, in the order of their ends; see `Engine.run`."""
        waiting, unread = deque[Partition](), iter(partitions)
        limit = 1 if alone else self._count
        try:
            while True:
                while len(self._busy) + len(waiting) < limit:
                    partition = next(unread, None)
                    if partition is None:
                        break
                    waiting.append(partition)
                self._give(task, waiting)
                if not self._busy and not waiting:
                    return
                ref = self._ended()
                if ref in self._busy:
                    yield self._outcome(ref)
                else:
                    self._started(ref)
        finally:  # left early: what still runs must not answer the next run
            for actor, _ in self._busy.values():
                ray.kill(actor)
            self._busy.clear()

    def _give(self, task: Task, waiting: deque[Partition]) -> None:
        """Gives partitions to idle actors, and starts actors for the rest.

        The address of the store may hold a password. It goes with each call, from here to the
        actor; what an actor is made with is kept by the cluster.
        """
        while waiting and self._idle:
            actor, partition = self._idle.pop(), waiting.popleft()
            self._busy[actor.run.remote(task, partition)] = actor, partition
        for _ in range(len(waiting) - len(self._starting)):
            actor = self._actor.remote()
            self._starting[actor.version.remote()] = actor

    def _ended(self) -> ray.ObjectRef:
        """Waits until an actor has answered; returns the reference to the answer."""
        refs = [*self._busy, *self._starting]
        answered, _ = ray.wait(refs, num_returns=1, timeout=_PATIENCE)
        if not answered:
            if not self._busy:
                LOG.warning("No core of the Ray cluster %s is free; waiting.", self._address)
            answered, _ = ray.wait(refs, num_returns=1)
        return answered[0]

    def _started(self, ref: ray.ObjectRef) -> None:
        """Takes an actor that has started into service.

        Raises:
            UsageError: The cluster has another version of echoless, or actors end as soon as they
                start.
        """
        actor = self._starting.pop(ref)
        try:
            version = ray.get(ref)
        except exceptions.RayError as problem:
            self._failed_starts += 1
            if self._failed_starts < _STARTS + self._count:
                return
            why = str(problem).strip().rpartition("\n")[2].strip()
            raise UsageError(
                f"No worker starts on the Ray cluster {self._address}: {why} Install the same "
                "echoless on all its machines."
            ) from problem
        if version != __version__:
            raise UsageError(
                f"A machine of the Ray cluster {self._address} has echoless {version}, and this "
                f"one {__version__}. Install the same on all machines."
            )
        self._failed_starts = 0
        self._idle.append(actor)

    def _outcome(self, ref: ray.ObjectRef) -> Finished | Failed:
        """Returns the answer of an actor; a lost actor is given up."""
        actor, partition = self._busy.pop(ref)
        try:
            made: Finished | Failed = ray.get(ref)
        except exceptions.RayTaskError as problem:  # the actor lives on
            self._idle.append(actor)
            cause = problem.cause
            reason = f"{type(cause).__name__}: {cause}"
            return Failed(number=partition.number, reason=reason)
        except exceptions.RayError as problem:
            LOG.debug("partition %d: %s", partition.number, problem)
            ray.kill(actor)  # it may only be out of reach: nothing is done twice
            return lost(partition)
        self._idle.append(actor)
        return made

    def close(self) -> None:
        """Ends the actors, and what the engine started of Ray."""
        for actor in (*self._idle, *self._starting.values()):
            ray.kill(actor)
        self._idle.clear()
        self._starting.clear()
        if self._own:
            self._disconnect()

    def _connect(self, cores: int) -> None:
        """Connects this process to the cluster, or starts a Ray on this machine.

        Raises:
            UsageError: It cannot be reached, or refuses.
        """
        check_reachable(self._address)
        options: dict[str, object] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        if self._address == "local":
            self._folder = TemporaryDirectory(
                prefix="ray-", dir=_SHORT_PATH, ignore_cleanup_errors=True
            )
            options |= {"num_cpus": cores, "include_dashboard": False}
            options |= {"object_store_memory": _OBJECTS, "_temp_dir": self._folder.name}
        try:
            _join(self._address, options)
        except (OSError, RuntimeError, ValueError, ImportError, SystemExit) as problem:
            self._disconnect()
            no_answer = isinstance(problem, SystemExit)
            why = "it does not answer." if no_answer else " ".join(str(problem).split())
            raise UsageError(
                f"Ray cannot work with {self._address}: {why} A cluster takes only a Ray and a "
                "Python of its own versions. HOST:PORT (6379) is for a machine of the cluster, "
                "ray://HOST:PORT (10001) for any other; `ray status` shows whether it runs."
            ) from problem

    def _disconnect(self) -> None:
        """Leaves the cluster; a Ray of this machine ends, and its files go."""
        ray.shutdown()
        self._own = False
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _join(address: str, options: dict[str, object]) -> None:
    """Joins a cluster, at the second try over `ray://`.

    There the cluster starts a server for each client. On a busy machine one start in ten hung
    (Ray 2.60: the server is forked beside threads of gRPC), and Ray gives it up after 30 seconds.
    """
    try:
        ray.init(address, **options)
    except ConnectionError:
        if "://" not in address:
            raise
        ray.init(address, **options)


_SECONDS: Final = 5.0
"""For the connection, and for the first bytes of the server."""

_DEFAULT_PORT: Final = {"ray": 10001}
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS: Final = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What a client of gRPC sends first, and an empty frame of settings (RFC 9113, 3.4 and 6.5)."""


def check_reachable(address: str) -> None:
    """Checks that a server of a Ray cluster answers at an address.

    Args:
        address: As for `ray.init`; `auto` and `local` are left to Ray.

    Raises:
        UsageError: It has no such form, or nothing of Ray answers there.
    """
    if address in {"auto", "local"}:
        return
    host, port = _host_and_port(address)
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            speaks = bool(os.environ.get("RAY_USE_TLS")) or _speaks_grpc(connection)
    except OSError as problem:
        raise UsageError(
            f"No Ray cluster answers at {address} ({problem.strerror or problem}). Check that it "
            f"runs (`ray status` on its head), and that this machine may reach port {port} "
            f"of {host}."
        ) from problem
    if not speaks:
        raise UsageError(
            f"What answers at {address} is no Ray cluster. Its port is 6379 as HOST:PORT, or 10001 "
            "as ray://HOST:PORT, unless it was started with others."
        )


def _host_and_port(address: str) -> tuple[str, int]:
    """Returns host and port of an address.

    Raises:
        UsageError: It has none.
    """
    scheme, _, place = address.rpartition("://")
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORT.get(scheme)
    except ValueError:
        host, port = None, None
    if not host or not port or scheme not in {"", "ray"}:
        raise UsageError(
            f"{address!r} is no address of a Ray cluster. Use auto, HOST:PORT, ray://HOST:PORT, or "
            "leave out --address for a Ray on this machine."
        )
    return host, port


def _speaks_grpc(connection: socket.socket) -> bool:
    """Returns whether a server answers as gRPC does: by a frame of settings."""
    connection.sendall(_PREFACE + _SETTINGS)
    answer = b""
    while len(answer) < len(_SETTINGS):
        got = connection.recv(len(_SETTINGS) - len(answer))
        if not got:
            return False
        answer += got
    return answer[3] == _SETTINGS[3]
