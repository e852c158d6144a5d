"""Connection over HTTP with a time limit for each request, and a bound of their number."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """Closes a connection whose request is not whole after some seconds.

    uvicorn bounds the time between requests, not that within one, so a client that sends a header
    a minute would hold its place for ever. The clock runs from the first moment to the last byte
    of a request and starts again with the next one; an answer may take as long as it likes.

    Where more than `most` are open, the one that waits longest for its request gives its place to
    the new one: whoever only holds connections open keeps nobody out.
    """

    seconds: ClassVar[float] = 10.0
    """What a request may take to come in: 4 MiB over a slow line, and no more."""

    most: ClassVar[int] = 64
    """Connections open at a time."""

    crowded: bool = False
    """Whether this connection is one too many, and every other one is being answered."""

    since: float = 0.0
    """When something came last, by the clock of the loop."""

    _clock: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Returns whether no whole request is here, so that nothing is being answered."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock."""
        super().connection_made(transport)
        self.since = self.loop.time()
        every = [each for each in self.connections if isinstance(each, TimedProtocol)]
        places = [each for each in every if not each.transport.is_closing()]
        waiting = [each for each in places if each is not self and each.waits]
        self.crowded = len(places) > self.most and not waiting
        if len(places) > self.most and waiting:
            oldest = min(waiting, key=lambda each: each.since)
            self.connections.discard(oldest)  # uvicorn counts these: its place is free at once
            oldest.transport.abort()
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the clock with the end of a request, and starts it with the next one."""
        self.since = self.loop.time()
        super().data_received(data)
        if self.waits:
            self._start()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(self.seconds, self._too_slow)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        self._clock = None
        self.transport.close()


def timed_protocol(seconds: float, most: int) -> type[TimedProtocol]:
    """Returns the protocol with other limits.

    Args:
        seconds: What a request may take to come in.
        most: Connections open at a time.
    """
    return type("TimedProtocol", (TimedProtocol,), {"seconds": seconds, "most": most})


def head_size(scope: Scope) -> int:
    """Returns the bytes of the first line and the headers of a request, about."""
    line = len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(value) + 4 for name, value in scope["headers"])
