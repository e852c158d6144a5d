"""Each input in a process of its own: forked, bounded in time and memory, watched to its end."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, NoReturn

from benchmarks.fuzz.canaries import STAMP, plant, special
from benchmarks.fuzz.doors import drive, frame_of
from benchmarks.fuzz.model import Door, Files, Outcome, Target, Wrong

SECONDS: Final = 10
"""Wall time of one door after which it hangs."""

MEGABYTES: Final = 1_000
"""Growth of resident memory, in 10^6 bytes, above which an input takes too much."""

_ROOM: Final = 3 * 2**30
"""Bytes of address space a child may take beyond its parent: what asks for more is told no."""


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder, in memory where the system has such a place."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="echoless-fuzz-", dir=memory if memory.is_dir() else None
    ) as name:
        yield Path(name)


def put(files: Files, place: Path) -> None:
    """Write the files of a case."""
    for name, data in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not special(path, data):
            path.write_bytes(data)
            os.utime(path, (STAMP, STAMP))


def taken(place: Path) -> dict[str, bytes]:
    """The files of a case, but for locks."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


@contextmanager
def inside(place: Path, target: Target) -> Iterator[None]:
    """The current folder, with caches and a home of its own."""
    here, before = Path.cwd(), dict(os.environ)
    os.chdir(place)
    os.environ.update(
        ECHOLESS_CACHE_DIR=str(place / "cache"),
        HOME=str(place / "home"),
        **(target.environment or {}),
    )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.chdir(here)


def made(target: Target, *, apart: bool = False) -> dict[str, bytes]:
    """A valid case of a target.

    Args:
        target: Which one.
        apart: Make it in a child, so that no thread of a library is left here.

    Raises:
        RuntimeError: The child failed.
    """
    with folder() as place:
        if not apart:
            with inside(place, target):
                target.make(place)
            return taken(place)
        child = _fork()
        if child == 0:
            _make_and_leave(place, target)
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError(f"The valid case of {target.name} could not be made.")
        return taken(place)


def _make_and_leave(place: Path, target: Target) -> NoReturn:
    code = 70
    try:
        with inside(place, target):
            target.make(place)
        code = 0
    except BaseException:  # noqa: BLE001 - a child ends here, whatever happens
        traceback.print_exc()
    finally:
        os._exit(code)


def try_twice(files: Files, target: Target, doors: Sequence[Door]) -> Outcome:
    """The same, but a hang has to be seen twice: once may be the machine's fault, not ours."""
    outcome = try_out(files, target, doors)
    hangs = {wrong.door for wrong in outcome.wrong if wrong.fault == "hang"}
    if not hangs:
        return outcome
    again = try_out(files, target, [door for door in doors if door.name in hangs] or doors)
    others = tuple(wrong for wrong in outcome.wrong if wrong.fault != "hang")
    return replace(outcome, wrong=(*others, *again.wrong))


def try_out(
    files: Files,
    target: Target,
    doors: Sequence[Door],
    *,
    seconds: int = SECONDS,
    megabytes: int = MEGABYTES,
) -> Outcome:
    """Bring one case in by some doors, in a child.

    Args:
        files: The case.
        target: Whose case it is.
        doors: Those that read before those that write.
        seconds: Wall time of one door after which it hangs.
        megabytes: Growth of resident memory above which it takes too much, in 10^6 bytes.
    """
    with folder() as place:
        put(files, place)
        plant(place)
        report = Path(f"{place}.report")
        start = time.perf_counter()
        child = _fork()
        if child == 0:
            _be_child(place, target, doors, report, seconds)
        _, status, usage = os.wait4(child, 0)
        took = time.perf_counter() - start
        with suppress(ProcessLookupError):  # helpers the child left behind
            os.killpg(child, signal.SIGKILL)
        lines = report.read_text("utf-8").splitlines() if report.exists() else []
        report.unlink(missing_ok=True)
    unit = 1 if sys.platform == "darwin" else 1024
    peak_mb, cpu = usage.ru_maxrss * unit / 1e6, usage.ru_utime + usage.ru_stime
    wrong, codes = _judged(lines, os.waitstatus_to_exitcode(status), f"more than {seconds} s")
    if target.aborts and wrong and wrong[-1].error == signal.Signals.SIGABRT.name:
        codes[-signal.SIGABRT] += 1
        wrong.pop()
    if peak_mb - _held_mb(lines) > megabytes:
        door = wrong[-1].door if wrong else "any"
        wrong.append(Wrong("memory", door, f"more than {megabytes} MB", "", f"{peak_mb:.0f} MB"))
    return Outcome(tuple(wrong), took, cpu, peak_mb, codes)


def _resident_mb() -> float:
    """What this process holds now, in 10^6 bytes; 0 where the system does not tell."""
    statistics = Path("/proc/self/statm")
    return (
        int(statistics.read_text().split()[1]) * resource.getpagesize() / 1e6
        if statistics.exists()
        else 0.0
    )


def _held_mb(lines: Sequence[str]) -> float:
    """What a child held from its beginning, by its report."""
    return float(json.loads(lines[0])["held"]) if lines else 0.0


def _fork() -> int:
    with warnings.catch_warnings():  # Python 3.12 warns of threads: those of a library at rest
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _judged(lines: Sequence[str], code: int, too_long: str) -> tuple[list[Wrong], Counter[int]]:
    """What the report of a child and the way it ended amount to."""
    wrong: list[Wrong] = []
    codes: Counter[int] = Counter()
    door, stack, done = "", "", False
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # the stack of a child that hangs
            stack += line + "\n"
            continue
        door = event.get("door", door)
        done = done or "done" in event
        codes.update({int(k): v for k, v in event.get("codes", {}).items()})
        wrong += [Wrong(**event["wrong"])] if "wrong" in event else []
    if code == -signal.SIGALRM:
        wrong.append(Wrong("hang", door, too_long, _where(stack), stack[-1500:]))
    elif code < 0:
        wrong.append(Wrong("killed by a signal", door, signal.Signals(-code).name, _where(stack)))
    elif code != 0 or not done:
        wrong.append(Wrong("internal error", door, f"the process ended with {code}", "", stack))
    return wrong, codes


def _where(stack: str) -> str:
    """The innermost place in echoless of a stack as `faulthandler` writes it: innermost first."""
    return frame_of("\n".join(reversed(stack.splitlines())))


def _be_child(
    place: Path, target: Target, doors: Sequence[Door], report: Path, seconds: int
) -> NoReturn:
    """Everything from here on happens in the child, which never returns."""
    code = 70
    try:
        os.setpgid(0, 0)
        with report.open("w", encoding="utf-8", buffering=1) as stream:
            stream.write(json.dumps({"held": _resident_mb()}) + "\n")
            faulthandler.enable(stream)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            _bounded()
            gc.set_threshold(100_000)  # as the command line has it
            with inside(place, target):
                codes: Counter[int] = Counter()
                for door in doors:
                    stream.write(json.dumps({"door": door.name}) + "\n")
                    faulthandler.dump_traceback_later(seconds - 0.5, file=stream)
                    signal.alarm(seconds)
                    for wrong in drive([door], target, codes):
                        stream.write(json.dumps({"wrong": asdict(wrong)}) + "\n")
                stream.write(json.dumps({"done": True, "codes": codes}) + "\n")
        code = 0
    except BaseException as problem:  # noqa: BLE001 - a child ends here, whatever happens
        with suppress(BaseException):
            sys.__stderr__.write(f"fuzz: {type(problem).__name__}: {problem}\n")  # type: ignore[union-attr]
    finally:
        os._exit(code)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text("ascii").split()[0])
        room = pages * resource.getpagesize() + _ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    socket.socket.connect = _no_network  # type: ignore[method-assign, assignment]


def _no_network(self: socket.socket, address: object) -> None:  # noqa: ARG001 - socket's signature
    raise ConnectionRefusedError(111, "no network in a fuzzed process")
