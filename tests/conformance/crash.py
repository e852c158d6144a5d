"""Test tool that kills a process at its n-th write, to check what is left.

A child process does the work and is killed with SIGKILL right before the n-th statement SQLite
executes, the n-th exchange with a PostgreSQL server or the n-th change to the file system; the
parent then opens the store as the next user would. POSIX only (`os.fork`).
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

_FILE_CALLS: Final = ("replace", "link", "unlink", "fsync", "open", "chmod", "fdopen")


class _Countdown:
    """Counter that kills its own process at zero."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self, *_: object) -> None:
        """Counts one step."""
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Does `work` in a child that is killed before its write number `step` (from 0).

    Returns:
        True if the child was killed, False if it finished first: there are no more steps.

    Raises:
        AssertionError: The child failed by itself.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside pytest-xdist's threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            _instrument(_Countdown(step))
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, f"the work itself failed before write {step}"
    return False


def _instrument(countdown: _Countdown) -> None:
    """Counts statements and changes to the file system in this (child) process."""
    connect = sqlite3.connect

    def counted(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(countdown.step)
        return connection

    sqlite3.connect = counted  # type: ignore[assignment]
    if find_spec("apsw") is not None:
        import apsw

        def traced(*_: object) -> bool:
            countdown.step()
            return True  # go on

        apsw.connection_hooks.append(lambda db: db.set_exec_trace(traced))
    if "psycopg" in sys.modules:
        import psycopg

        wait = _counted_call(psycopg.Connection.wait, countdown)
        psycopg.Connection.wait = wait  # type: ignore[method-assign, assignment]
    for name in _FILE_CALLS:
        setattr(os, name, _counted_call(getattr(os, name), countdown))
    tempfile.mkstemp = _counted_call(tempfile.mkstemp, countdown)  # type: ignore[assignment]


def _counted_call(call: Callable[..., object], countdown: _Countdown) -> Callable[..., object]:
    """Returns a function that counts each call, then calls another function."""

    def counted(*arguments: object, **options: object) -> object:
        countdown.step()
        return call(*arguments, **options)

    return counted
