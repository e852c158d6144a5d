"""Several processes judge at once; the verdicts come in the order of the batches.

Each process is this Python started anew on `worker.py`. It gets nothing but texts and times. (The
pool of `multiprocessing` would import the caller's script once more in each process; a script that
applies a plan must not run twice.) A process that fails is replaced by this one, and the report
says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Lock, Semaphore, Thread
from typing import BinaryIO, Final, cast

from echoless.matching.batch.batches import Ruled, ruled
from echoless.matching.batch.serialisation import unpacked
from echoless.matching.batch.worker import Row, receive, send
from echoless.matching.rule_judge import RuleJudge
from echoless.model import Pair
from echoless.tally import Tally

_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from echoless.matching.batch.worker import main; main()"
)
_AHEAD: Final = 2
"""Batches a process may be ahead of the one whose turn it is: bounds what waits in memory."""

_LISTEN: Final = 0.5
"""Seconds between two looks whether someone pressed Ctrl-C: Windows does not break off a wait."""

_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Each process has a core; threads of a product of small matrices would only be in the way."""

LOST: Final = "A process that helped judging ended early; this one judged in its place."


def rulings_of(
    judge: RuleJudge,
    batches: Iterable[Sequence[Pair]],
    count: int,
    *,
    keeping: bool,
    tally: Tally,
) -> Iterator[Ruled]:
    """As `bulk.rulings`, by so many processes."""
    crew = _Crew(judge, batches, count, keeping=keeping, tally=tally)
    try:
        yield from crew.rulings()
    finally:
        crew.end()


class _Crew:
    """Processes, each with a thread here that serves it.

    Attributes:
        judge: Judges where a process failed.
    """

    def __init__(
        self,
        judge: RuleJudge,
        batches: Iterable[Sequence[Pair]],
        count: int,
        *,
        keeping: bool,
        tally: Tally,
    ) -> None:
        self.judge = judge
        self._keeping = keeping
        self._tally = tally
        self._batches = enumerate(batches)
        self._taking, self._judging = Lock(), Lock()
        self._room = Semaphore(count * _AHEAD)
        self._made: Queue[tuple[int, Ruled] | BaseException | None] = Queue()
        self._ended = False
        self._members = [_started() for _ in range(count)]
        for member in self._members:
            Thread(target=self._serve, args=(member,), daemon=True).start()

    def rulings(self) -> Iterator[Ruled]:
        """In order; ends when every thread has said that there is nothing more."""
        early: dict[int, Ruled] = {}
        turn, serving = 0, len(self._members)
        while serving:
            told = self._next()
            if isinstance(told, BaseException):
                raise told
            if told is None:
                serving -= 1
                continue
            early[told[0]] = told[1]
            while turn in early:
                yield early.pop(turn)
                self._room.release()
                turn += 1

    def _next(self) -> tuple[int, Ruled] | BaseException | None:
        while True:
            with suppress(Empty):
                return self._made.get(timeout=_LISTEN)

    def end(self) -> None:
        """Let all processes go, whatever they are at."""
        self._ended = True
        for member in self._members:
            member.kill()
            for pipe in (member.stdin, member.stdout):
                with suppress(OSError):
                    cast("BinaryIO", pipe).close()
            member.wait()
            self._room.release()

    def _serve(self, member: subprocess.Popen[bytes]) -> None:
        """One process from its start to the last batch. Whatever happens is told to the reader."""
        try:
            broken = False
            while (taken := self._take()) is not None:
                place, batch = taken
                found = None if broken else self._asked(member, batch)
                broken = found is None
                if found is None:
                    with self._judging:
                        found = ruled(self.judge, batch, keeping=self._keeping)
                self._made.put((place, found))
            self._made.put(None)
        except BaseException as problem:  # noqa: BLE001 - raised again where the verdicts are read
            self._made.put(problem)

    def _take(self) -> tuple[int, Sequence[Pair]] | None:
        self._room.acquire()
        with self._taking:
            taken = None if self._ended else next(self._batches, None)
        if taken is None:
            self._room.release()
        return taken

    def _asked(self, member: subprocess.Popen[bytes], batch: Sequence[Pair]) -> Ruled | None:
        """What a process says of a batch; None if it failed."""
        writing, reading = cast("BinaryIO", member.stdin), cast("BinaryIO", member.stdout)
        try:
            send(writing, _rows(batch))
            return _ruled(batch, cast("list[bytes]", receive(reading)))
        except (OSError, ValueError, EOFError):
            self._lost()
            return None

    def _lost(self) -> None:
        """Tell it once: whether a pipe broke or ended first says nothing of why a process died."""
        if not self._ended:
            self._tally.note(LOST, passing=True)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this very Python, this very package
        [sys.executable, "-c", _START, *map(str, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ONE_THREAD},
    )


def _rows(batch: Sequence[Pair]) -> tuple[list[str], list[Row]]:
    """Each text once, and the pairs by their places."""
    places: dict[str, int] = {}
    rows: list[Row] = []
    for pair in batch:
        a, b = (places.setdefault(m.content, len(places)) for m in (pair.a, pair.b))
        rows.append((a, pair.a.created_at, b, pair.b.created_at, dict(pair.signals)))
    return list(places), rows


def _ruled(batch: Sequence[Pair], told: Sequence[bytes]) -> Ruled:
    verdicts = [unpacked(data, *pair.best) for data, pair in zip(told, batch, strict=True)]
    whole = [verdict for verdict in verdicts if verdict is not None]
    if len(whole) < len(verdicts):
        raise ValueError("a verdict could not be read")
    return Ruled(whole, told)
