"""A job: the store, the settings, and the partitions its work is cut into."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Final

from echoless.core.destination import without_password
from echoless.core.errors import InputError, UsageError
from echoless.core.model import Json, digest
from echoless.core.settings import LENIENT, Choices, Settings, choices_of, resolve
from echoless.core.timestamps import now
from echoless.stores.base import Store, check_namespace
from echoless.workflows.audit.incremental import rules_of

FORMAT: Final = 1
"""Of the file of a job; raised when an older echoless would misread it."""

JOB_FILE: Final = "job.json"
"""Name of that file among the results."""

MEMORIES: Final = 2_000
"""Memories of a partition that is made of several namespaces, at most.

A partition costs some seconds: long enough that opening a store and writing a result weigh little,
short enough that a lost worker loses little."""

NAMESPACES: Final = 2_000
"""Namespaces of one partition, at most: a store is asked for all of them at once."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Namespaces that one worker searches together.

    Attributes:
        number: Its place in the job, from 0.
        namespaces: Names, sorted; no namespace is in two partitions.
        memories: Their memories when the job was made.
    """

    number: int
    namespaces: tuple[str, ...]
    memories: int


_TEXTS: Final = ("id", "store", "identity", "profile", "settings", "rules", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all workers of a job must agree on.

    Attributes:
        id: Unique.
        store: URL of the store, without its password.
        identity: Identity of the store.
        choices: Settings that were chosen.
        profile: The profile the store proposes.
        settings: Digest of the settings they make.
        rules: Digest of everything else a result depends on: versions, models, libraries.
        created_at: When it was made.
    """

    id: str
    store: str
    identity: str
    choices: Choices
    profile: str
    settings: str
    rules: str
    created_at: str

    def resolved(self) -> Settings:
        """Returns the settings of the job.

        Caches of a user are left alone: they would make a result depend on where it is made, and
        results are kept by partition.

        Raises:
            UsageError: The settings are not those of the job: another echoless made it.
        """
        settings = replace(resolve(self.choices, proposed=self.profile), cache=False)
        if settings.digest != self.settings:
            raise UsageError(
                f"{self.id} was made with other settings than this echoless reads from it. Use "
                "the echoless that made it, or make a new job."
            )
        return settings

    def to_json(self) -> dict[str, Json]:
        """Returns the content of the file of a job."""
        chosen = {name: value for name, value in asdict(self.choices).items() if value is not None}
        listed = {n: list(v) if isinstance(v, tuple) else v for n, v in chosen.items()}
        return {"echoless_job": FORMAT, **asdict(self), "choices": listed}

    @classmethod
    def from_json(cls, data: Mapping[str, Json], place: str) -> Job:
        """Returns a job from what `to_json` gave.

        Args:
            data: The object.
            place: Where it was read, for messages.

        Raises:
            InputError: It is no job, or one of another format.
        """
        if data.get("echoless_job") != FORMAT:
            raise InputError(f"{place} holds no job that this echoless can read.")
        chosen = data.get("choices")
        texts = {name: data.get(name) for name in _TEXTS}
        if not isinstance(chosen, Mapping) or not all(isinstance(t, str) for t in texts.values()):
            raise InputError(f"The job in {place} is damaged. Make a new one.")
        choices = choices_of(chosen, place)
        if choices.threshold is not None:  # as it was chosen: it has to fit the profile
            exact = (each.removeprefix(LENIENT) for each in choices.threshold)
            choices = replace(choices, threshold=tuple(exact))
        return cls(choices=choices, **{name: str(text) for name, text in texts.items()})


def make_job(store: Store, choices: Choices) -> Job:
    """Returns a job over a store; writes nothing.

    Args:
        store: Open.
        choices: Settings of the run, with those of files and the environment.

    Raises:
        UsageError: A setting is wrong, or its result would depend on how the work is cut.
    """
    settings = replace(resolve(choices, proposed=store.profile), cache=False)
    _check_divisible(settings)
    check_namespace(store, settings.namespace)
    return Job(
        id=f"job-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}",
        store=without_password(store.url),
        identity=store.identity,
        choices=choices,
        profile=store.profile,
        settings=settings.digest,
        rules=rules_digest(settings),
        created_at=now(),
    )


def _check_divisible(settings: Settings) -> None:
    """Refuses settings under which namespaces do not stand for themselves.

    Raises:
        UsageError: They do not; the message names the setting.
    """
    profile = settings.profile
    if "namespace" not in profile.partition:
        raise UsageError(
            f"The profile {profile.name!r} compares memories of several namespaces, so its work "
            "cannot be cut by namespace. Run `echoless dedup` without --engine."
        )
    if settings.limit is not None:
        raise UsageError("The setting limit counts memories of all namespaces; leave it out here.")
    if settings.verifier != "none":
        raise UsageError(
            "--verifier asks a fixed number of questions a run; leave it out with --engine. "
            "`echoless review` shows the unsure pairs to a person."
        )


def rules_digest(settings: Settings) -> str:
    """Returns a digest of all that a result depends on, apart from the store and its settings."""
    return digest(rules_of(settings))


def partitions_of(
    sizes: Mapping[str, int], *, memories: int = MEMORIES, first: int = 0
) -> list[Partition]:
    """Returns partitions of namespaces, the largest first.

    Args:
        sizes: Memories by namespace.
        memories: Memories of a partition of several namespaces, at most.
        first: Number of the first partition.
    """
    partitions: list[Partition] = []
    names: list[str] = []
    held = 0

    def close() -> None:
        nonlocal names, held
        if names:
            partitions.append(Partition(first + len(partitions), tuple(sorted(names)), held))
        names, held = [], 0

    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if held + sizes[name] > memories or len(names) >= NAMESPACES:
            close()
        names.append(name)
        held += sizes[name]
    close()
    return partitions


def refreshed(known: Sequence[Partition], sizes: Mapping[str, int]) -> list[Partition]:
    """Returns the partitions of a job whose store has changed: a namespace keeps its partition.

    Args:
        known: Those of the job so far.
        sizes: Memories by namespace, as they are now.

    Returns:
        The known ones with their present sizes, then partitions of the new namespaces.
    """
    placed = {name for partition in known for name in partition.namespaces}
    resized = [
        replace(each, memories=sum(sizes.get(name, 0) for name in each.namespaces))
        for each in known
    ]
    new = {name: size for name, size in sizes.items() if name not in placed}
    first = max((partition.number for partition in known), default=-1) + 1
    return [*resized, *partitions_of(new, first=first)]


def packed_partitions(partitions: Iterable[Partition]) -> bytes:
    """Returns the file of partitions: one JSON line each."""
    lines = (json.dumps([p.number, p.memories, p.namespaces]) for p in partitions)
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def unpacked_partitions(data: bytes, place: str) -> list[Partition]:
    """Returns the partitions of a file that `packed_partitions` gave.

    Raises:
        InputError: The file is damaged.
    """
    try:
        rows = map(json.loads, data.decode("ascii").splitlines())
        # `int` and `str.__str__` refuse lists and objects
        return [Partition(int(n), tuple(map(str.__str__, names)), int(m)) for n, m, names in rows]
    except (ValueError, TypeError, OverflowError, RecursionError) as problem:
        raise InputError(f"The list of partitions in {place} is damaged ({problem}).") from problem
