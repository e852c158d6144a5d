"""Two commands as two real processes, forked from one that has everything imported.

Without the start of an interpreter commands of some ten milliseconds meet inside their writes, not
before them. POSIX only (`os.fork`).
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from echoless.cli.main import main as command_line
from echoless.cli.main import run

LIMIT: Final = 60.0
"""Seconds two commands may take together; then they hang."""

KILLED: Final = -signal.SIGKILL

_POLL: Final = 0.0005

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Start:
    """One command of a race.

    Attributes:
        words: What is typed after `echoless`.
        wait: Seconds from the common start.
        kill: Seconds of its life after which it gets SIGKILL; None lets it live.
    """

    words: Sequence[str]
    wait: float = 0.0
    kill: float | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended.

    Attributes:
        code: Its exit code, or -9 if it was killed; None if it hung.
        said: Its standard output.
        complained: Its standard error.
        seconds: From its own start to its end.
    """

    code: int | None
    said: str
    complained: str
    seconds: float


def warm(folder: Path) -> None:
    """Run each command once in this process, so that its children need not import anything.

    Args:
        folder: Empty; some files are left in it.
    """
    first, second = str(folder / "warm.db"), str(folder / "warm.jsonl")
    plan = str(folder / "warm.json")
    text = "The warehouse in Leeds opens at seven."
    for words in (
        ("remember", first, text, "--create", "--encoder", "none"),
        ("remember", first, "Nina feeds the cat on Sundays.", "--encoder", "none"),
        ("remember", first, text, "--force", "--encoder", "none"),
        ("dedup", first, "--set", "semantic=no", "--plan", plan),
        ("apply", first, plan),
        ("undo", first, "last"),
        ("check", first),
        ("export", first, second),
        ("import", second, str(folder / "other.jsonl")),
        ("backup", second, str(folder / "backup.db")),
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command_line.main(list(words), standalone_mode=False)


def together(folder: Path, said: Path, starts: Sequence[Start]) -> list[End]:
    """Run commands in a folder, each as a process of its own, and wait for all.

    Args:
        folder: Where they run.
        said: Another folder, for what they print.
        starts: The commands.
    """
    ready, go = os.pipe(), os.pipe()
    children = [_spawn(folder, said / str(n), s, ready, go) for n, s in enumerate(starts)]
    for _ in children:
        os.read(ready[0], 1)
    zero = time.monotonic() + 0.002
    os.write(go[1], struct.pack("d", zero) * len(children))
    for end in (*ready, *go):
        os.close(end)
    codes: list[int | None] = [None] * len(starts)
    seconds = [0.0] * len(starts)
    waiting = set(range(len(starts)))
    while waiting:
        now = time.monotonic() - zero
        for n in sorted(waiting):
            lived = now - starts[n].wait
            kill = LIMIT if (given := starts[n].kill) is None else given
            if lived >= kill:
                os.kill(children[n], signal.SIGKILL)
                pid, status = os.waitpid(children[n], 0)
            else:
                pid, status = os.waitpid(children[n], os.WNOHANG)
            if pid:
                waiting.discard(n)
                hung = kill == LIMIT and os.WIFSIGNALED(status)
                codes[n] = None if hung else os.waitstatus_to_exitcode(status)
                seconds[n] = lived
        time.sleep(_POLL)
    return [
        End(code, _read(said / str(n) / "out"), _read(said / str(n) / "err"), took)
        for n, (code, took) in enumerate(zip(codes, seconds, strict=True))
    ]


def _read(path: Path) -> str:
    return path.read_text("utf-8", errors="replace") if path.exists() else ""


def _fork() -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # numpy's threads, which do not work now
        return os.fork()


Pipe = tuple[int, int]


def _spawn(folder: Path, said: Path, start: Start, ready: Pipe, go: Pipe) -> int:
    said.mkdir(parents=True, exist_ok=True)
    child = _fork()
    if child == 0:
        _live(folder, said, start, ready, go)
    return child


def _live(folder: Path, said: Path, start: Start, ready: Pipe, go: Pipe) -> NoReturn:
    """Be the command: its own folder, its own streams, and the door of the real program.

    All are forked before any may begin: forking takes longer than what their starts lie apart.
    """
    code = 70
    try:
        os.chdir(folder)
        for number, name in ((0, os.devnull), (1, str(said / "out")), (2, str(said / "err"))):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            handle = os.open(name, flags, 0o600)
            os.dup2(handle, number)
            os.close(handle)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.environ["ECHOLESS_CACHE_DIR"] = str(said / "cache")
        os.write(ready[1], b".")
        (zero,) = struct.unpack("d", os.read(go[0], 8))
        time.sleep(max(0.0, zero + start.wait - time.monotonic()))
        run(list(start.words))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - told to the parent, which calls it a fault
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def apart(work: Callable[[], T], folder: Path) -> T:
    """What `work` returns, done in a process of its own: what a library starts there stays there.

    Args:
        work: Returns something that can be pickled.
        folder: For the answer.

    Raises:
        RuntimeError: It failed; the message holds its traceback.
    """
    answer = folder / "answer.pickle"
    answer.unlink(missing_ok=True)
    child = _fork()
    if child == 0:
        try:
            pickled = pickle.dumps((True, work()))
        except BaseException:  # noqa: BLE001 - told to the parent
            pickled = pickle.dumps((False, traceback.format_exc()))
        with contextlib.suppress(OSError):
            answer.write_bytes(pickled)
        os._exit(0)
    os.waitpid(child, 0)
    if not answer.exists():
        raise RuntimeError("The process that looked at the store died.")
    good, value = pickle.loads(answer.read_bytes())
    if not good:
        raise RuntimeError(str(value))
    result: T = value
    return result
