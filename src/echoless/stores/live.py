"""The base of stores over a live object: one writer at a time, lineage at a chosen path."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from typing import ClassVar, Final

from echoless.core.errors import EcholessError, StoreError, UsageError
from echoless.core.model import Memory
from echoless.core.sqlite import Database
from echoless.core.timestamps import instant, now
from echoless.stores.base import ALL, OwnerView, Scope
from echoless.stores.field_map import Hiding
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.sidecar import BesideSidecar, MemorySidecar, Sidecar

RECHECK: Final = 60.0
"""Seconds, by default, after which other clients' changes are looked for."""

_REMEMBERED: Final = 100_000
"""Number of changes that are remembered individually."""

_MINUTE: Final = 60 * 10**9

STAMPED: Final = ("created_at", "updated_at")
"""Times the libraries themselves set when they write a record."""


class Touched:
    """The ids of the memories written through one object, in order."""

    def __init__(self, recheck: float) -> None:
        self._recheck = recheck
        self._begin()
        self._still = 0

    def _begin(self) -> None:
        """Forgets all changes, so that everything is read again."""
        self._epoch, self._read = uuid.uuid4().hex, monotonic()
        self._ids: list[str] = []

    def note(self, ids: Iterable[str]) -> None:
        """Adds changes."""
        self._ids += ids

    def since(self, token: str) -> tuple[str, Collection[str] | None]:
        """Returns the changes since a state, as `Changes.changes` does."""
        epoch, _, number = token.partition(":")
        known = epoch == self._epoch and len(self._ids) < _REMEMBERED
        if known and (self._still or monotonic() - self._read < self._recheck):
            return f"{self._epoch}:{len(self._ids)}", set(self._ids[int(number) :])
        self._begin()
        return f"{self._epoch}:0", None

    @contextmanager
    def still(self) -> Iterator[None]:
        """Prevents that everything is read again inside the block."""
        self._still += 1
        try:
            yield
        finally:
            self._still -= 1


class LiveStore(MovesHidden):
    """Memories in an object that the caller made.

    The object stays the caller's: closing the store closes the lineage only. Writers of one process
    wait for each other; writers of several processes do so where they share a lineage file.
    """

    passed: ClassVar[str]
    """Sentence on what the last scan passed over, with `{}` for the number."""

    _sidecar: Sidecar | MemorySidecar

    def __init__(
        self, library: str, lineage: str | Path | None, recheck: float, hide: Hiding
    ) -> None:
        """Opens the lineage.

        Args:
            library: Name of the library in messages, such as `LangGraph`.
            lineage: File of the lineage, made by the first write; None keeps it in memory, where it
                ends with this object.
            recheck: Seconds after which an index of the store reads all of it again, at least 0:
                the libraries do not report what other clients change. What is written through this
                object is known at once.
            hide: How memories are hidden; see the store.

        Raises:
            UsageError: They are to be hidden from the library, and no file would remember it.
        """
        if hide == self.way and lineage is None:
            raise UsageError(
                f"hide={hide!r} needs lineage=PATH: what is hidden from {library} must be known "
                "when this process has ended."
            )
        path = None if lineage is None else Path(lineage)
        super().__init__(MemorySidecar() if path is None else Sidecar(path, path=path))
        self._asked = hide
        self.owner_reads = f"searches of {library}"
        self._library = library
        self.url = f"{library.lower()}:///{path or ''}"
        self._passed = 0
        self._touched = Touched(recheck)

    def remarks(self) -> tuple[str, ...]:
        """Returns how many records the last scan passed over."""
        passed = (self.passed.format(self._passed),) if self._passed else ()
        return (*passed, *super().remarks())

    @property
    def database(self) -> Database:
        """Returns the database of the lineage, for tables beside those of the ledger."""
        return self._sidecar.database

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        """Yields all memories of one namespace or of all, in any order, and counts what is none."""
        raise NotImplementedError

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the memories the library shows, sorted by id: the libraries keep no order."""
        self._passed = 0
        names = scope.names
        memories = (
            self._memories(None)
            if names is None  # a library may give memories of other namespaces beside those of one
            else (m for name in sorted(names) for m in self._memories(name) if m.namespace == name)
        )
        yield from scope.narrow(sorted(memories, key=lambda m: m.id))

    def sample(self) -> Iterator[Memory]:
        """Yields memories as the library gives them, page by page."""
        return self._memories(None)

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the key by which a scan sorts: the id alone."""
        return 0, memory.id

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds memories; a memory hidden from the library stays hidden."""
        self._must_write()
        with self.noting([memory.id for memory in memories]):
            super().put(memories)

    def _seen_view(self, sentence: str) -> OwnerView:
        """Returns what is said while the library shows all; such a store has no URL to name."""
        return OwnerView(
            sentence, way=f"Open the store with hide={self.way!r} to hide from them too."
        )

    # ------------------------------------------------------------------ what changed

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns what changed through this object; None after `recheck` seconds."""
        return self._touched.since(since)

    @contextmanager
    def noting(self, ids: Iterable[str]) -> Iterator[None]:
        """Notes which memories the block changes, once it ends or fails."""
        try:
            yield
        finally:
            self._touched.note(ids)

    def still(self) -> AbstractContextManager[None]:
        """Returns a context in which changes of other clients are not looked for."""
        return self._touched.still()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raises anything the library raises inside the block as an error of echoless."""
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
    """Checks whether a time lies within a minute of now, as the library's own stamp would."""
    moment, present = instant(time), instant(now())
    return moment is not None and present is not None and abs(moment - present) < _MINUTE


# ------------------------------------------------------------------ memories in a list


class MemoryList(BesideSidecar):
    """Memories that lie in no store, each id once; no file is touched."""

    url = "list:"

    def __init__(self, memories: Iterable[Memory]) -> None:
        """Takes the memories, in any order; the lineage is empty."""
        super().__init__(MemorySidecar())
        self._memories = {memory.id: memory for memory in memories}

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of the list."""
        return scope.narrow(self._memories.values())

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns memories by id; unknown ids are left out."""
        return {id_: self._memories[id_] for id_ in ids if id_ in self._memories}

    def put(self, memories: Sequence[Memory]) -> None:
        """Puts memories into the list, new ones at its end."""
        self._must_write()
        self._memories |= {memory.id: memory for memory in memories}

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories; unknown ids are ignored."""
        self._must_write()
        for id_ in ids:
            self._memories.pop(id_, None)
