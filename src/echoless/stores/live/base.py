"""What stores over a live object have in common: one writer at a time, lineage at a chosen path."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from echoless.database import BUSY_TIMEOUT_SECONDS
from echoless.errors import EcholessError, StoreError, StoreLocked
from echoless.model import Memory
from echoless.stores.base import ALL, Scope
from echoless.stores.files import exclusive
from echoless.stores.sidecar import BesideSidecar, MemorySidecar, Sidecar

STAMPED: Final = ("created_at", "updated_at")
"""Times the libraries give a record themselves when they write it."""


class LiveStore(BesideSidecar):
    """Memories an object holds that the caller made.

    The object stays the caller's: closing the store closes the lineage only. Writers of one process
    wait for each other; writers of several do so where they share a lineage file.
    """

    holds_ledger: Final = False
    profile: Final = "safe"

    def __init__(self, library: str, lineage: str | Path | None) -> None:
        """Open the lineage.

        Args:
            library: For messages, such as `LangGraph`.
            lineage: File of the lineage, made by the first write; None keeps it in memory, where it
                ends with this object.
        """
        self._path = None if lineage is None else Path(lineage)
        self._sidecar = Sidecar(self._path, path=self._path) if self._path else MemorySidecar()
        self._library = library
        self.url = f"{library.lower()}:///{self._path or ''}"
        self._writing = False
        self._lock = threading.RLock()
        self._passed = 0

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
