"""Connection over HTTP with a time limit for each request."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """Closes a connection whose request is not whole after some seconds.

    uvicorn bounds the time between requests, not that within one, so a client that sends a header
    a minute would hold its place for ever. The clock runs from the first moment to the last byte
    of a request and starts again with the next one; an answer may take as long as it likes.
    """

    seconds: ClassVar[float] = 10.0
    """What a request may take to come in: 4 MiB over a slow line, and no more."""

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the clock with the end of a request, and starts it with the next one."""
        super().data_received(data)
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
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


def timed_protocol(seconds: float) -> type[TimedProtocol]:
    """Returns the protocol with another time limit.

    Args:
        seconds: What a request may take to come in.
    """
    return type("TimedProtocol", (TimedProtocol,), {"seconds": seconds})
