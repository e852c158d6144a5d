"""Makes the plan of a store in other processes, partition by partition: on this machine or by Ray.

Memories of two namespaces never meet, so a partition is some namespaces of one store, and the plans
of all partitions together are the plan of one process, action by action. Workers only read. The
process that began the run joins their plans; it alone writes (ADR 0042).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from itertools import chain, islice
from multiprocessing import connection, get_context
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from echoless.blocking.candidates import open_vectors
from echoless.core.errors import EcholessError, PlanRefused, UsageError
from echoless.core.groups import ClaimPair
from echoless.core.model import Json, Memory, digest
from echoless.core.optional import require_module
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.core.threads import THREADS, blas, workers
from echoless.core.versions import STAGES, edition
from echoless.execution.actions import Action
from echoless.execution.plan import Plan, PlanBasis, make_plan
from echoless.matching.pair_model.network import learned
from echoless.matching.runner import left_off
from echoless.stores import absolute_url, open_store
from echoless.stores.base import Store, check_namespace
from echoless.workflows.dedupe.findings import TOTALS
from echoless.workflows.dedupe.pipeline import find, plan

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

MEMORIES: Final = 2_000
"""Memories of a partition of several namespaces, at most.

It takes some seconds: long enough that starting a process weighs little, short enough that a lost
worker loses little."""

NAMESPACES: Final = 2_000
"""Namespaces of a partition, at most: a store is asked for all of them at once."""

ATTEMPTS: Final = 3
"""Times a partition is tried whose worker is lost."""

_HANDED_OUT: Final = 1_000
"""Partitions that Ray knows of at a time: it looks at all of them each time one ends."""

_PATIENCE: Final = 10.0
"""Seconds that the head of a cluster may take to answer."""

_LOST: Final = "The process that worked on it ended without an answer"

Partition: TypeAlias = tuple[str, ...]
"""Names of its namespaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What all partitions of a run have in common; an engine takes it to the workers.

    Attributes:
        url: URL of the store, with its password if it has one; it is written nowhere.
        identity: Identity of the store.
        settings: Of the run.
        basis: What else a plan depends on, as the process has it that began the run; see `basis`.
    """

    url: str
    identity: str
    settings: Settings
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """The plan of one partition, and what a report says of it.

    Attributes:
        actions: Of its plan, in their order.
        counts: As `Findings.counts`.
        marked: Survivor by hidden memory, from earlier runs.
        claims: Claims of notes that repeat or contradict another one.
        tally: What was skipped, and why.
    """

    actions: tuple[Action, ...]
    counts: Mapping[str, int]
    marked: Mapping[str, str]
    claims: tuple[ClaimPair, ...]
    tally: Tally


@dataclass(frozen=True, slots=True)
class NotDone:
    """A partition without a plan.

    Attributes:
        namespaces: Its namespaces.
        reason: Why, as a sentence.
    """

    namespaces: Partition
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedPlan:
    """The plan of a store from those of its partitions, and what a report says of the run.

    Attributes:
        plan: Of all partitions that were done.
        settings: Of the run.
        partitions: How many there were.
        not_done: Those without a plan, by their first namespace.
        counts: As `Findings.counts`, summed.
        marked: Survivor by hidden memory, from earlier runs.
        claims: Claims of notes that repeat or contradict another one.
        tally: What was skipped, and why.
        memories: Those of the plan that are shown, by id.
    """

    plan: Plan
    settings: Settings
    partitions: int
    not_done: tuple[NotDone, ...]
    counts: Mapping[str, int]
    marked: Mapping[str, str]
    claims: tuple[ClaimPair, ...]
    tally: Tally
    memories: Mapping[str, Memory] = field(default_factory=dict)

    @property
    def off(self) -> str:
        """Returns what the run did without, as a sentence; see `matching.runner.left_off`."""
        return left_off(self.settings)

    @property
    def unasked(self) -> int:
        """Returns how many pairs the pair model was not asked about because of the budget."""
        return self.counts.get("unasked", 0)

    def to_json(self) -> dict[str, Json]:
        """Returns the answer of `dedup --engine --json`, without what was written."""
        return {
            "store": self.plan.url,
            "profile": self.plan.profile,
            "partitions": self.partitions,
            "not_done": [
                {"namespaces": list(each.namespaces), "reason": each.reason}
                for each in self.not_done
            ],
            "counts": dict(self.counts),
            "skipped": dict(self.tally.counts),
        }


# ------------------------------------------------------------------ one partition


def partition_plan(task: Task, partition: Partition) -> PartitionPlan:
    """Returns the plan of one partition, as `find` and `plan` make it; writes nothing.

    Raises:
        UsageError: The store is another one here, or this process would plan otherwise.
        StoreError: The store cannot be reached or read.
    """
    with open_store(task.url) as store:
        if store.identity != task.identity:
            raise UsageError(
                "The worker sees another store at this address. Give an address that names the "
                "same store on all machines."
            )
        if basis(task.settings) != task.basis:
            raise UsageError(
                "The worker has other versions of echoless, Python, numpy or the models, so it "
                "could give another plan. Install the same on all machines."
            )
        findings = find(store, task.settings, within=partition)
        return PartitionPlan(
            actions=plan(findings).actions,
            counts=findings.counts,
            marked=dict(findings.marked),
            claims=findings.claims,
            tally=findings.tally,
        )


def basis(settings: Settings) -> str:
    """Returns a digest of all that a plan depends on, apart from the memories."""
    vectors = open_vectors(settings, lambda _stage, _done, _all: None)
    libraries = [f"{name} {version(name)}" for name in ("numpy", "rapidfuzz")]
    model = "" if vectors is None else vectors.basis
    return digest([settings.digest, *map(edition, STAGES), *libraries, model, learned()])


def cut(sizes: Mapping[str, int], memories: int = MEMORIES) -> list[Partition]:
    """Returns namespaces as partitions, the largest namespaces first; none is cut.

    Args:
        sizes: Memories by namespace.
        memories: Memories of a partition of several namespaces, at most.
    """
    partitions: list[Partition] = []
    names: list[str] = []
    held = 0
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if names and (held + sizes[name] > memories or len(names) >= NAMESPACES):
            partitions.append(tuple(names))
            names, held = [], 0
        names.append(name)
        held += sizes[name]
    return [*partitions, tuple(names)] if names else partitions


# ------------------------------------------------------------------ all partitions


def plan_by_engine(
    store: Store,
    url: str,
    settings: Settings,
    engine: str,
    *,
    memories: int = MEMORIES,
    progress: Progress | None = None,
) -> PartitionedPlan:
    """Returns the plan of a store, made by an engine; reads only.

    A partition whose worker is lost is tried again. One that fails is named in `not_done`; the
    others stand.

    Args:
        store: Open.
        url: Its URL as workers open it, with its password if it has one.
        settings: Of the run.
        engine: `processes`, `ray`, or `ray=ADDRESS` of a cluster.
        memories: Memories of a partition of several namespaces, at most.
        progress: Told how many partitions of how many have ended.

    Raises:
        UsageError: The engine is unknown or not there, or the work cannot be cut by namespace.
        MissingExtra: Ray is not installed.
        PlanRefused: No partition could be done.
    """
    name, _, address = engine.partition("=")
    if name not in ("processes", "ray") or (address and name != "ray"):
        raise UsageError(f"Unknown engine {engine!r}. Known: processes, ray, ray=ADDRESS.")
    _check_divisible(settings)
    check_namespace(store, settings.namespace)
    sizes = store.namespaces()
    if settings.namespace is not None:
        sizes = {settings.namespace: sizes[settings.namespace]}
    partitions = cut(sizes, memories)
    task = Task(
        url=absolute_url(url), identity=store.identity, settings=settings, basis=basis(settings)
    )
    outcomes = (
        _by_ray(task, partitions, address) if name == "ray" else _by_processes(task, partitions)
    )
    tell = progress or (lambda _stage, _done, _all: None)
    tell("partitions", 0, len(partitions))
    ended: dict[Partition, PartitionPlan | NotDone] = {}
    for partition, outcome in outcomes:
        ended[partition] = outcome
        tell("partitions", len(ended), len(partitions))
    made = _joined(store, settings, [ended[each] for each in partitions])
    if partitions and len(made.not_done) == len(partitions):
        raise PlanRefused(f"No partition could be done. {made.not_done[0].reason}")
    return made


def _check_divisible(settings: Settings) -> None:
    """Refuses settings under which namespaces do not stand for themselves.

    Raises:
        UsageError: They do not; the message names the setting.
    """
    profile, whole = settings.profile, ""
    if "namespace" not in profile.partition:
        whole = f"The profile {profile.name!r} compares memories of several namespaces"
    elif settings.limit is not None:
        whole = "The setting limit counts memories of all namespaces"
    elif settings.verifier != "none":
        whole = "--verifier asks a fixed number of questions a run"
    if whole:
        raise UsageError(f"{whole}, so the work cannot be cut by namespace. Leave out --engine.")


def _joined(
    store: Store, settings: Settings, ended: Sequence[PartitionPlan | NotDone]
) -> PartitionedPlan:
    """Returns the plan of a store from what became of its partitions."""
    done = [each for each in ended if isinstance(each, PartitionPlan)]
    tally = Tally()
    counts = Counter(dict.fromkeys(TOTALS, 0))
    groups: dict[str, list[Action]] = {}
    for part in done:
        counts.update(part.counts)
        tally.join(part.tally)
        for action in part.actions:  # a group may need two: one marks, one deletes
            groups.setdefault(action.survivor, []).append(action)
    largest_first = sorted(
        groups.values(), key=lambda own: (-sum(len(a.members) for a in own), own[0].survivor)
    )
    made_for = PlanBasis(
        store=store.identity, url=store.url, profile=settings.profile.name, settings=settings.digest
    )
    empty = make_plan(
        (), dict[str, Memory]().__getitem__, made_for, action=settings.profile.action, reasons={}
    )
    return PartitionedPlan(
        plan=replace(empty, actions=tuple(chain.from_iterable(largest_first))),
        settings=settings,
        partitions=len(ended),
        not_done=tuple(each for each in ended if isinstance(each, NotDone)),
        counts=counts,
        marked={id_: to for part in done for id_, to in part.marked.items()},
        claims=tuple(chain.from_iterable(part.claims for part in done)),
        tally=tally,
    )


# ------------------------------------------------------------------ engines


def _outcome(task: Task, partition: Partition) -> PartitionPlan | NotDone:
    """Returns what becomes of a partition in this process, which is a worker with one core."""
    os.environ[THREADS] = "1"
    try:
        with blas().limit(limits=1, user_api="blas"):
            return partition_plan(task, partition)
    except Exception as problem:  # noqa: BLE001 - the edge of a worker: others go on
        own = isinstance(problem, EcholessError)
        return NotDone(partition, str(problem) if own else f"{type(problem).__name__}: {problem}")


Outcomes: TypeAlias = Iterator[tuple[Partition, PartitionPlan | NotDone]]


def _by_processes(task: Task, partitions: Iterable[Partition]) -> Outcomes:
    """Yields what becomes of each partition in a process of its own, as many at a time as cores."""
    context = get_context("spawn")
    waiting = deque((partition, 1) for partition in partitions)
    running: dict[Connection, tuple[SpawnProcess, Partition, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers():
                partition, attempt = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_answer, args=(sender, task, partition))
                process.start()
                sender.close()  # so that the end of the process is the end of the pipe
                running[receiver] = process, partition, attempt
            ready = connection.wait(list(running))
            for receiver in [each for each in running if each in ready]:
                process, partition, attempt = running.pop(receiver)
                try:
                    yield partition, receiver.recv()
                except (EOFError, OSError):  # killed before, or in the middle of its answer
                    if attempt < ATTEMPTS:
                        waiting.append((partition, attempt + 1))
                    else:
                        yield partition, NotDone(partition, f"{_LOST}.")
                process.join()
    finally:
        for process, _, _ in running.values():
            process.kill()


def _answer(sender: Connection, task: Task, partition: Partition) -> None:
    """Sends what becomes of a partition; the process that began the run handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sender.send(_outcome(task, partition))


def _by_ray(task: Task, partitions: Iterable[Partition], address: str) -> Outcomes:
    """Yields what becomes of each partition as a task of Ray, which tries lost ones again.

    Args:
        task: Of the run.
        partitions: All of it.
        address: Of a cluster; empty for that of `RAY_ADDRESS`, else Ray on this machine.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: The cluster cannot be reached.
    """
    require_module("ray", "The engine 'ray'", "ray")
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else its maker is told of the run
    if address == "local" and "ray" not in sys.modules:
        # else it writes a token that every user of the machine may read to the home folder
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    ray = import_module("ray")
    began = not ray.is_initialized()
    if began:
        _connect(ray, address)
    try:
        run = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_outcome)
        waiting, running = iter(partitions), dict[Any, Partition]()
        while True:
            some = islice(waiting, _HANDED_OUT - len(running))
            running.update((run.remote(task, partition), partition) for partition in some)
            if not running:
                return
            (ended,), _ = ray.wait(list(running))
            partition = running.pop(ended)
            try:
                yield partition, ray.get(ended)
            except ray.exceptions.RayError as problem:
                why = " ".join(str(problem).split())
                yield partition, NotDone(partition, f"{_LOST}. Ray says: {why}")
    finally:
        if began:
            ray.shutdown()


def _connect(ray: ModuleType, address: str) -> None:
    """Connects this process to a cluster, or starts Ray on this machine.

    Raises:
        UsageError: The cluster cannot be reached.
    """
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        if port.isdecimal():  # where nobody answers Ray waits for minutes
            socket.create_connection((host, int(port)), _PATIENCE).close()
        # Ray has its workers import from the current folder, too; this one they import from anyway
        with chdir(Path(str(ray.__file__)).parents[1]):
            ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="warning")
    except (
        *(OSError, OverflowError, RuntimeError, ValueError),
        ray.exceptions.RayError,
    ) as problem:
        raise UsageError(f"Ray cannot be reached at {address!r}: {problem}") from problem
