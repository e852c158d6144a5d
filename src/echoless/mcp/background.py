"""Work in threads, while other calls go on: with progress and cancellation, and the write guard.

The guard has a thread of its own, to which its store's connection belongs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, Unpack

from anyio import from_thread, to_thread

from echoless.core.errors import StoreReplaced
from echoless.core.model import Memory

if TYPE_CHECKING:
    from echoless.ingest.guard import Guard
    from echoless.ingest.outcomes import Remembered
    from echoless.ingest.request import Details
    from echoless.stores import Store

_WAITING: Final = 1_000
"""Texts noted before the guard is opened; the guard has a bound of its own."""


class GuardThread:
    """Stores texts for any thread, one at a time. Opened by the first text."""

    def __init__(self, opened: Callable[[], Store], guarded: Callable[[Store], Guard]) -> None:
        """Prepares; nothing is opened.

        Args:
            opened: Opens the store.
            guarded: Makes the guard of it.
        """
        self._opened, self._new_guard = opened, guarded
        self._thread: ThreadPoolExecutor | None = None
        self._store: Store | None = None
        self._guard: Guard | None = None
        self._waiting: deque[Memory] = deque(maxlen=_WAITING)
        self._lock = threading.Lock()

    def remember(self, text: str, **details: Unpack[Details]) -> Remembered:
        """Does as `Guard.remember`; blocks the calling thread."""
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="remembering")
            thread = self._thread
        return thread.submit(lambda: self._remembered(text, **details)).result()

    def _remembered(self, text: str, **details: Unpack[Details]) -> Remembered:
        """Hands a text to the guard, in the guard's thread."""
        try:
            return self._current().remember(text, **details)
        except StoreReplaced:  # somebody put another file in its place: that one is the store now
            self._guard = None  # what it knows is of the old one
            self._close()
            return self._current().remember(text, **details)

    def note_recalled(self, memories: Iterable[Memory]) -> None:
        """Does as `Guard.note_recalled`; waits for nothing, and opens nothing."""
        with self._lock:
            self._waiting.extend(memories)

    def close(self) -> None:
        """Closes guard and store. May be called twice."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.submit(self._close).result()
            thread.shutdown()

    def _current(self) -> Guard:
        """Returns the guard, updated with all texts that were read meanwhile."""
        if self._guard is None:
            store = self._opened()
            try:
                self._guard = self._new_guard(store)
            except BaseException:
                store.close()
                raise
            self._store = store
        with self._lock:
            noted = list(self._waiting)
            self._waiting.clear()
        self._guard.note_recalled(noted)
        return self._guard

    def _close(self) -> None:
        """Closes guard and store, in the guard's thread."""
        try:
            if self._guard is not None:
                self._guard.close()
        finally:
            if self._store is not None:
                self._store.close()
            self._guard = self._store = None


T = TypeVar("T")

INTERVAL: Final = 0.1
"""Seconds between two messages of one stage; a new stage is told at once."""


class ProgressSink(Protocol):
    """Progress messages to a client; they do nothing where the client did not ask."""

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Coroutine[object, object, None]:
        """Sends one message; `progress` only ever grows."""


class ProgressReporter:
    """Receives the library's signs of progress, in the thread that works.

    Each is a place where a cancelled call ends: the exception it raises goes through the engine
    like any failure, so that transactions roll back and what was begun is brought to an end.
    """

    def __init__(self, reports: ProgressSink) -> None:
        self._reports = reports
        self._stage = ""
        self._earlier = 0
        self._highest = -1.0
        self._at = 0.0

    def __call__(self, stage: str, done: int, whole: int) -> None:
        """Reports progress in the form of `find`; `whole` is 0 where it is not known."""
        from_thread.check_cancelled()
        fresh = stage != self._stage
        if fresh:
            self._earlier += bool(self._stage)
            self._stage = stage
        elif monotonic() - self._at < INTERVAL:
            return
        value = self._earlier + (min(done / whole, 0.999) if whole else 0.0)
        if value > self._highest:
            self._highest, self._at = value, monotonic()
            message = f"{stage}: {done:,}" + (f" of {whole:,}" if whole else "")
            from_thread.run(partial(self._reports.report_progress, value, None, message))

    def actions(self, done: int, whole: int) -> None:
        """Reports progress in the form of `apply`."""
        self("writing", done, whole)


async def in_thread(work: Callable[[ProgressReporter], T], reports: ProgressSink) -> T:
    """Runs some work in a thread without holding up other calls.

    A cancelled call waits until the work has come to its next sign of progress, so that nothing
    goes on writing behind its back.

    Args:
        work: Given the reporter to hand to the library.
        reports: Where progress goes.
    """
    return await to_thread.run_sync(work, ProgressReporter(reports))
