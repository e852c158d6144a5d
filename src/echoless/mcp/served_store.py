"""State that the tools of one server share: the store, the settings, the plans, the guard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from anyio import Lock

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.plugins import text_destination
from echoless.core.settings import Choices, Settings, layered, resolve
from echoless.mcp.background import ProgressReporter, ProgressSink, in_thread
from echoless.mcp.guard_thread import GuardThread
from echoless.mcp.pending_plans import Plans
from echoless.stores import Store, open_store
from echoless.workflows.audit.report import Report

if TYPE_CHECKING:
    from echoless.ingest import guard as ingest_guard
else:
    ingest_guard = lazy_module("echoless.ingest.guard")  # only where texts are stored

T = TypeVar("T")


@dataclass(slots=True)
class ServedStore:
    """One store, served.

    A connection to SQLite belongs to the thread that opened it, so each call opens the store for
    itself; that also shows it what others wrote meanwhile.

    Attributes:
        url: The store, as it was named.
        report: An audit of this store as Markdown.
        choices: Settings of the server, over environment and file, which are read once: what is
            told at the start about where texts go holds until the end.
        boot: Files an agent reads at its start; what stands in them is known.
        read_only: Whether nothing may be written.
        tools: Names of the tools that are offered; all by default.
        plans: Previews that wait for their second call.
        writer: Held by the one call that writes; others wait their turn.
    """

    url: str
    report: Callable[[Store, Report], str]
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

    async def write(self, work: Callable[[Store, ProgressReporter], T], reports: ProgressSink) -> T:
        """Runs some work on the store, in a thread, as the one writer of this server.

        What another process holds is waited for by the store.

        Raises:
            UsageError: The server only reads.
        """

        def opened(progress: ProgressReporter) -> T:
            with self.opened() as store:
                return work(store, progress)

        self.must_write()
        async with self.writer:
            return await in_thread(opened, reports)

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
