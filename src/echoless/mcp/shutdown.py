"""Ends a server on standard input by a signal, not only when its client goes.

Reading standard input blocks a thread that cannot be interrupted. So a pipe takes its place: what
comes in is passed on, and a signal closes the pipe, which ends every server.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_CHUNK: Final = 65_536


@contextmanager
def interruptible_input() -> Iterator[None]:
    """Lets SIGINT and SIGTERM end standard input within the block."""
    if sys.platform == "win32":  # no waiting on two pipes there; Ctrl-C interrupts
        yield
        return
    source = os.dup(0)
    reader, writer = os.pipe()
    wake, waker = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    threading.Thread(target=_pass_on, args=(source, writer, wake), daemon=True).start()

    def end(_number: int, _frame: object) -> None:
        os.write(waker, b"\0")

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        os.write(waker, b"\0")
        for number, handler in before.items():
            signal.signal(number, handler)
        os.dup2(source, 0)


def _pass_on(source: int, writer: int, wake: int) -> None:
    """Copies until the source ends, the reader goes, or `wake` has input; then closes the pipe."""
    with suppress(OSError):
        while True:
            ready, _, _ = select.select([source, wake], [], [])
            if wake in ready:
                break
            chunk = os.read(source, _CHUNK)
            if not chunk:
                break
            while chunk:
                chunk = chunk[os.write(writer, chunk) :]
    os.close(writer)
