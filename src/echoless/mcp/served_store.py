"""State that the tools of one server share: the store, the settings, the plans, the guard."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final, Self, TypeVar

from anyio import Lock

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.plugins import text_destination
from echoless.core.settings import Choices, Settings, layered, resolve
from echoless.mcp.background import GuardThread, ProgressReporter, ProgressSink, in_thread
from echoless.stores import Store, open_store

CAPACITY: Final = 64
"""Plans kept at a time; a new one takes the place of the oldest."""

MINUTES: Final = 30
"""How long a plan is kept: long enough to look at it, short enough that the store is still like
it. Records that changed meanwhile are refused by the plan itself."""

ALONE: Final = "Give plan_id alone to act, or leave it out to look. Nothing was written."
"""Told where a plan id came with other arguments."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A plan with the tool and the client it belongs to, and the end of its time."""

    tool: str
    client: str
    until: float
    content: object


class Plans:
    """Plans by id: a bounded number, for a limited time, each handed out once. Thread-safe."""

    def __init__(
        self,
        *,
        capacity: int = CAPACITY,
        minutes: float = MINUTES,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Starts without plans.

        Args:
            capacity: At most so many, at least 1.
            minutes: How long each is kept.
            clock: Seconds.
        """
        self._capacity = capacity
        self._seconds = minutes * 60
        self._clock = clock
        self._plans: OrderedDict[str, _Pending] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def minutes(self) -> int:
        """Returns how long a plan is kept."""
        return round(self._seconds / 60)

    def __len__(self) -> int:
        return len(self._plans)

    def keep(self, plan_id: str, tool: str, content: object, *, client: str = "") -> str:
        """Keeps a plan.

        Args:
            plan_id: Its id.
            tool: Name of the tool that made the plan and alone may use it.
            client: The client that saw the plan and alone may use it.
            content: The data the tool needs to carry it out.

        Returns:
            Its id.
        """
        with self._lock:
            self._forget_old()
            self._plans[plan_id] = _Pending(tool, client, self._clock() + self._seconds, content)
            while len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
        return plan_id

    def take(self, plan_id: str, tool: str, kind: type[T], *, client: str = "") -> T:
        """Returns a plan and removes it.

        Args:
            plan_id: Its id.
            tool: The tool that asks.
            kind: Type of its content.
            client: The client that asks.

        Raises:
            UsageError: It is not here, any more or at all, or is another tool's or client's.
        """
        with self._lock:
            self._forget_old()
            plan = self._plans.get(plan_id)
            if plan is None or plan.client != client:
                raise UsageError(
                    f"There is no plan {plan_id!r} here; nothing was written. A plan is used once "
                    f"and kept for {self.minutes} minutes, the latest {self._capacity} of them, "
                    f"for the client it was shown. Call "
                    f"{tool} without plan_id for a new preview."
                )
            if plan.tool != tool or not isinstance(plan.content, kind):
                raise UsageError(
                    f"The plan {plan_id!r} is one of {plan.tool}; nothing was written. Give it to "
                    "that tool."
                )
            del self._plans[plan_id]
            return plan.content

    def _forget_old(self) -> None:
        """Removes the plans whose time is up."""
        now = self._clock()
        for plan_id in [id_ for id_, each in self._plans.items() if each.until <= now]:
            del self._plans[plan_id]


class ToolsOfStore:
    """Tools of one store."""

    def __init__(self, served: ServedStore) -> None:
        """Works on the store that is served."""
        self._served = served


@dataclass(slots=True)
class ServedStore:
    """One store, served.

    A connection to SQLite belongs to the thread that opened it, so each call opens the store for
    itself; that also shows it what others wrote meanwhile.

    Attributes:
        url: Address of the store, as typed.
        choices: Settings of the server, over environment and file, which are read once: what is
            told at the start about where texts go holds until the end.
        boot: Files that an agent reads at its start; their texts count as known.
        read_only: Whether nothing may be written.
        tools: Names of the tools that are offered; all by default.
        plans: Previews that wait for their second call.
        writer: Held by the one call that writes; others wait their turn.
    """

    url: str
    choices: Choices = field(default_factory=Choices)
    boot: tuple[Path, ...] = ()
    read_only: bool = False
    tools: frozenset[str] | None = None
    plans: Plans = field(default_factory=Plans)
    writer: Lock = field(default_factory=Lock)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _guard_thread: GuardThread | None = None

    def __post_init__(self) -> None:
        self.choices = layered(self.choices)

    def opened(self) -> Store:
        """Opens the store for the calling thread, which closes it."""
        return open_store(self.url)

    def settings(self, store: Store, choices: Choices | None = None) -> Settings:
        """Returns the settings of a call: its own choices over the server's."""
        return resolve((choices or Choices()).over(self.choices), proposed=store.profile)

    def must_write(self) -> None:
        """Refuses to write where the server only reads.

        Raises:
            UsageError: The server only reads.
        """
        if self.read_only:
            raise UsageError(
                "This server was started with --read-only, so nothing was written. Tell the person "
                "what you would change."
            )

    def offers(self, *names: str) -> bool:
        """Returns whether all of some tools are offered, as far as the person chose tools."""
        return self.tools is None or self.tools.issuperset(names)

    async def read(self, work: Callable[[Store, ProgressReporter], T], reports: ProgressSink) -> T:
        """Runs work on the store in a thread.

        Args:
            work: What is done with the store, which is opened for it and closed after it.
            reports: Takes reports of progress.
        """

        def opened(progress: ProgressReporter) -> T:
            with self.opened() as store:
                return work(store, progress)

        return await in_thread(opened, reports)

    async def write(self, work: Callable[[Store, ProgressReporter], T], reports: ProgressSink) -> T:
        """Runs some work on the store, in a thread, as the one writer of this server.

        What another process holds is waited for by the store.

        Raises:
            UsageError: The server only reads.
        """
        self.must_write()
        async with self.writer:
            return await self.read(work, reports)

    @property
    def open_world(self) -> bool:
        """Returns whether texts may go to a server of a provider or of an unknown plug-in."""
        return bool(self.destinations)

    @property
    def destinations(self) -> tuple[str, ...]:
        """Returns where texts may go, one sentence each; empty if they stay on this machine."""
        named = {"encoder": self.choices.encoder or "", "verifier": self.choices.verifier or ""}
        sentences = (text_destination(spec, role) for role, spec in named.items())
        return tuple(filter(None, sentences))

    @property
    def guard(self) -> GuardThread:
        """Returns the write guard."""
        with self._opening:
            if self._guard_thread is None:
                from echoless.ingest import guard as ingest_guard

                self._guard_thread = GuardThread(
                    self.opened,
                    lambda store: ingest_guard.Guard(store, self.settings(store), boot=self.boot),
                )
            return self._guard_thread

    def recalled(self, memories: Iterable[Memory]) -> None:
        """Notes memories that were just handed to the agent: storing them again is nothing new."""
        if not self.read_only:
            self.guard.note_recalled(memories)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._guard_thread is not None:
            self._guard_thread.close()
