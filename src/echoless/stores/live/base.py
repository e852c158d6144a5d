"""What stores over a live object have in common: one writer at a time, lineage at a chosen path."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from echoless.database import BUSY_TIMEOUT_SECONDS
from echoless.errors import EcholessError, StoreError, StoreLocked
from echoless.model import Memory
from echoless.stores.base import ALL, Scope
from echoless.stores.files import exclusive
from echoless.stores.sidecar import BesideSidecar, MemorySidecar, Sidecar
from echoless.times import instant, now

RECHECK: Final = 60.0
"""Seconds, by default, after which other clients' changes are looked for."""

_TOLD: Final = 100_000
"""Changes that are remembered one by one."""

_MINUTE: Final = 60 * 10**9

STAMPED: Final = ("created_at", "updated_at")
"""Times the libraries give a record themselves when they write it."""


class Touched:
    """Which memories were written through one object, in order."""

    def __init__(self, recheck: float) -> None:
        self._recheck = recheck
        self._begin()
        self._still = 0

    def _begin(self) -> None:
        self._epoch, self._read = uuid.uuid4().hex, monotonic()
        self._ids: list[str] = []

    def note(self, ids: Iterable[str]) -> None:
        """Take changes in."""
        self._ids += ids

    def since(self, token: str) -> tuple[str, Collection[str] | None]:
        """As `Changes.changes`."""
        epoch, _, number = token.partition(":")
        known = epoch == self._epoch and len(self._ids) < _TOLD
        if known and (self._still or monotonic() - self._read < self._recheck):
            return f"{self._epoch}:{len(self._ids)}", set(self._ids[int(number) :])
        self._begin()
        return f"{self._epoch}:0", None

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nothing is read again meanwhile."""
        self._still += 1
        try:
            yield
        finally:
            self._still -= 1


class LiveStore(BesideSidecar):
    """Memories an object holds that the caller made.

    The object stays the caller's: closing the store closes the lineage only. Writers of one process
    wait for each other; writers of several do so where they share a lineage file.
    """

    holds_ledger: Final = False
    profile: Final = "safe"

    def __init__(self, library: str, lineage: str | Path | None, recheck: float) -> None:
        """Open the lineage.

        Args:
            library: For messages, such as `LangGraph`.
            lineage: File of the lineage, made by the first write; None keeps it in memory, where it
                ends with this object.
            recheck: Seconds after which an index of the store reads all of it again, at least 0:
                the libraries do not tell what other clients change. What is written through this
                object is known at once.
        """
        self._path = None if lineage is None else Path(lineage)
        self._sidecar = Sidecar(self._path, path=self._path) if self._path else MemorySidecar()
        self._library = library
        self.url = f"{library.lower()}:///{self._path or ''}"
        self._writing = False
        self._lock = threading.RLock()
        self._passed = 0
        self._touched = Touched(recheck)

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        """All memories of one namespace or of all, in any order; what is none is counted."""
        raise NotImplementedError

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, sorted by id: the libraries keep no order of their own."""
        self._passed = 0
        told = sorted(self._memories(scope.namespace), key=lambda m: m.id)
        yield from scope.narrow(told)

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        return sum(1 for _ in self.scan(scope))

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace."""
        return dict(sorted(Counter(m.namespace for m in self.scan()).items()))

    # ------------------------------------------------------------------ what changed

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """As far as this object knows; None after `recheck` seconds, so that all is read again."""
        return self._touched.since(since)

    @contextmanager
    def noting(self, ids: Iterable[str]) -> Iterator[None]:
        """Say which memories the block changes; known once it ends, well or not."""
        try:
            yield
        finally:
            self._touched.note(ids)

    def still(self) -> AbstractContextManager[None]:
        """What other clients change meanwhile is not looked for."""
        return self._touched.still()

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock, and the lineage open for writing."""
        if not self._lock.acquire(timeout=BUSY_TIMEOUT_SECONDS):
            raise StoreLocked(
                f"Another thread writes to {self.url}. Wait for it to end and try again; nothing "
                "was changed."
            )
        with ExitStack() as stack:
            stack.callback(self._lock.release)
            if not self._writing:
                if self._path is not None:
                    stack.enter_context(exclusive(self._path))
                stack.enter_context(self._sidecar.writing())
                self._writing = True
                stack.callback(self._end_writing)
            yield

    def _end_writing(self) -> None:
        self._writing = False

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what the library raises, which may be anything, into an error of ours."""
        try:
            yield
        except EcholessError:
            raise
        except Exception as problem:
            raise StoreError(
                f"{self._library} failed ({type(problem).__name__}: {problem}). Nothing counts as "
                "changed that does not read back; try again when it works."
            ) from problem


def is_now(time: str | None) -> bool:
    """Whether a time lies within a minute of the present, so that a stamp of now tells it too."""
    moment, present = instant(time), instant(now())
    return moment is not None and present is not None and abs(moment - present) < _MINUTE
