"""Runs a command in a child process whose file calls fail, or which dies at one of them."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

CHANGING: Final = frozenset("cwsnt")
"""Letters of the calls that change files or make changes durable; see `shim.c`."""

SECONDS: Final = 60
"""A command that takes longer hangs."""

_LIBRARY: Final = "ECHOLESS_FAULTS_LIBRARY"


class How(IntEnum):
    """What happens at a call; the numbers are those of `shim.c`."""

    OFF = 0
    COUNT = 1
    FAIL = 2
    FAIL_ON = 3
    KILL = 4
    TEAR = 5
    SHORT = 6


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        how: What happens.
        at: Number of the call it happens at, from 0.
        error: The errno of a failure, else 0.
        only: Letters of the calls that `FAIL_ON` fails.
    """

    how: How
    at: int = 0
    error: int = 0
    only: str = ""

    def __str__(self) -> str:
        """As printed beside a failure, so that it can be repeated."""
        name = self.how.name.lower().replace("_", " ")
        return (
            f"{name} {os.strerror(self.error)!r} at {self.at}"
            if self.error
            else (f"{name} at {self.at}")
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Exit code; None if a signal ended it.
        signal: The signal that ended it, else 0.
        said: What it printed, output and errors together.
        kinds: One letter for each watched call, where they were counted.
    """

    code: int | None
    signal: int
    said: str
    kinds: str = ""

    @property
    def killed(self) -> bool:
        """Whether the fault killed it."""
        return self.signal == signal.SIGKILL


def start_again_with_shim(arguments: Sequence[str]) -> None:
    """Replaces this process by one that has the layer below it; returns where it is there already.

    Raises:
        SystemExit: There is no compiler for it, or the system is not Linux.
    """
    made_before = os.environ.get(_LIBRARY)
    if made_before:
        atexit.register(shutil.rmtree, Path(made_before).parent, ignore_errors=True)
        return
    if sys.platform != "linux":
        sys.exit("The layer that injects faults needs Linux (LD_PRELOAD).")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("The layer that injects faults needs a C compiler: apt-get install gcc libc6-dev")
    made = Path(tempfile.mkdtemp(prefix="echoless-faults-"), "shim.so")  # ours alone: 0700, new
    source = Path(__file__).with_name("shim.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", str(made), str(source), "-ldl"], check=True
    )
    environment = {**os.environ, "LD_PRELOAD": str(made), _LIBRARY: str(made)}
    os.execve(sys.executable, [sys.executable, *arguments], environment)


@cache
def _shim() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.faults_calls.restype = ctypes.c_long
    library.faults_kinds.restype = ctypes.c_char_p
    library.faults_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_char_p]
    return library


def run(
    work: Callable[[], int],
    *,
    roots: Sequence[Path],
    scratch: Path,
    fault: Fault | None = None,
    trace: Path | None = None,
) -> Ended:
    """Does some work in a child process, with a fault or with its calls counted.

    Args:
        work: Gives the exit code.
        roots: Calls on files below these folders count.
        scratch: A folder outside of them, for what the child prints.
        fault: What happens; None counts.
        trace: Where to write all changes to files, see `power.py`.
    """
    out, kinds = scratch / "said", scratch / "kinds"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries that warn of forks: nothing of theirs runs yet
        child = os.fork()
    if child == 0:
        _be_the_child(work, roots, out, kinds, fault, trace)
    status = _wait(child)
    said = out.read_text("utf-8", "replace") if out.exists() else ""
    if os.WIFSIGNALED(status):
        return Ended(None, os.WTERMSIG(status), said)
    letters = kinds.read_text("ascii") if fault is None else ""
    return Ended(os.WEXITSTATUS(status), 0, said, letters)


def _wait(child: int) -> int:
    """Waits for a child and ends it when it hangs."""
    ends = time.monotonic() + SECONDS
    pause = 0.0005
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > ends:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGABRT)
            return os.waitpid(child, 0)[1]
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


def _be_the_child(
    work: Callable[[], int],
    roots: Sequence[Path],
    out: Path,
    kinds: Path,
    fault: Fault | None,
    trace: Path | None,
) -> NoReturn:
    code = 70
    try:
        for name, number in ((out, 1), (out, 2)):
            handle = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (number == 1) * os.O_TRUNC
            )
            os.dup2(handle, number)
        shim = _shim()
        for root in roots:
            shim.faults_watch(str(root).encode())
        if trace is not None:
            shim.faults_trace(os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
        if fault is None:
            shim.faults_arm(How.COUNT, 0, 0, None)
        else:
            shim.faults_arm(fault.how, fault.at, fault.error, fault.only.encode())
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        letters = b"" if fault else _shim().faults_kinds()[: _shim().faults_calls()]
        _shim().faults_off()
        if fault is None:
            kinds.write_bytes(letters)
        os._exit(code)
