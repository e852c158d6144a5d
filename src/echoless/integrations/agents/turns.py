"""Lock for one writer at a time, in threads and on event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_POLL: Final = 0.05


class Turns:
    """Lock of the writers; none waits for an event loop it keeps from running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def mine(self, loop: asyncio.AbstractEventLoop | None = None) -> Iterator[None]:
        """Waits for the turn, and holds it.

        Args:
            loop: The event loop the writer's work needs; None for a writer that works by itself.

        Raises:
            InvalidStateError: The caller runs on the very loop that a writer before it needs.
        """
        while not self._lock.acquire(timeout=_POLL):
            if loop is None and self._loop is not None and _running() is self._loop:
                raise asyncio.InvalidStateError(
                    "An asynchronous put is under way on this event loop, and a synchronous one "
                    "would wait for it for ever. Use `await store.aput(...)` here."
                )
        self._loop = loop
        try:
            yield
        finally:
            self._loop = None
            self._lock.release()


def _running() -> asyncio.AbstractEventLoop | None:
    """Returns the event loop the caller runs on, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
