"""Work in a thread of its own, with progress and cancellation, while other calls go on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Final, Protocol, TypeVar

from anyio import from_thread, to_thread

T = TypeVar("T")

INTERVAL: Final = 0.1
"""Seconds between two messages of one stage; a new stage is told at once."""


class ProgressSink(Protocol):
    """Progress messages to a client; they do nothing where the client did not ask."""

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Coroutine[object, object, None]:
        """Sends one message; `progress` only ever grows."""
        ...


class ProgressReporter:
    """Receives the library's signs of progress, in the thread that works.

    Each is a place where a cancelled call ends: the exception it raises goes through the engine
    like any failure, so that transactions roll back and what was begun is brought to an end.
    """

    def __init__(self, reports: ProgressSink | None) -> None:
        self._reports = reports
        self._stage = ""
        self._earlier = 0
        self._highest = -1.0
        self._at = 0.0

    def __call__(self, stage: str, done: int, whole: int) -> None:
        """Reports progress in the form of `find`; `whole` is 0 where it is not known."""
        from_thread.check_cancelled()
        if self._reports is None:
            return
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


async def in_thread(
    work: Callable[[ProgressReporter], T], reports: ProgressSink | None = None
) -> T:
    """Runs some work in a thread without holding up other calls.

    A cancelled call waits until the work has come to its next sign of progress, so that nothing
    goes on writing behind its back.

    Args:
        work: Given the reporter to hand to the library.
        reports: Where progress goes.
    """
    return await to_thread.run_sync(work, ProgressReporter(reports))
