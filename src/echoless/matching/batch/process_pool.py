"""Judges in several processes at once; the verdicts come in the order of the batches.

The processes are those of `loky`. (The pool of `multiprocessing` imports the caller's script once
more in each process; a script that applies a plan must not run twice.) They get nothing but texts
and times. When a process fails, this one judges what is left, and the report says so.
"""

from __future__ import annotations

import gc
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Final, TypeAlias

from loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from echoless.core.model import Memory, Pair
from echoless.core.run_notes import Tally
from echoless.matching.batch.serialisation import Ruled, packed, ruled, unpacked_all
from echoless.matching.rule_judge import RuleJudge

Row: TypeAlias = tuple[int, str | None, int, str | None, dict[str, float]]
"""A pair: for each memory the place of its text and when it was made, and what was measured."""

_AHEAD: Final = 2
"""Batches a process may be ahead of the one whose turn it is: bounds what waits in memory."""

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
    """Yields the verdicts on each batch, in order; see `batches.rulings`.

    Args:
        judge: Judges where a process failed.
        batches: Asked for only as they are needed.
        count: Processes.
        keeping: Whether the bytes of the verdicts will be asked for.
        tally: Told if a process failed.
    """
    executor = executor_of(count)
    waiting: deque[tuple[Sequence[Pair], Future[list[bytes]] | None]] = deque()
    broken = False

    def answer() -> Ruled:
        nonlocal broken
        batch, asked = waiting.popleft()
        if asked is not None:
            try:
                return _ruled(batch, asked.result())
            except (BrokenProcessPool, OSError, ValueError):
                if not broken:
                    tally.note(LOST, passing=True)
                broken = True
        return ruled(judge, batch, keeping=keeping)

    try:
        for batch in batches:
            asked = None if broken else _submitted(executor, batch)
            waiting.append((batch, asked))
            if len(waiting) >= count * _AHEAD:
                yield answer()
        while waiting:
            yield answer()
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def executor_of(count: int) -> ProcessPoolExecutor:
    """Returns an executor of so many processes; they start when the first batch is submitted."""
    return ProcessPoolExecutor(max_workers=count, env=dict(_ONE_THREAD), initializer=_start)


def judged(texts: Sequence[str], rows: Sequence[Row]) -> list[bytes]:
    """Returns the verdicts on a batch as bytes. Runs in the other processes.

    Args:
        texts: Of the batch, each once.
        rows: The pairs, with places in `texts`.
    """
    pairs = [
        Pair(
            Memory(id="a", content=texts[a], created_at=made_a),
            Memory(id="b", content=texts[b], created_at=made_b),
            signals,
        )
        for a, made_a, b, made_b, signals in rows
    ]
    return [packed(verdict) for verdict in _judge().judge_all(pairs)]


@cache
def _judge() -> RuleJudge:
    """Returns the judge of this process."""
    return RuleJudge()


def _start() -> None:
    """Makes a worker process ignore SIGINT, which the parent handles, and collect no garbage."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _submitted(executor: ProcessPoolExecutor, batch: Sequence[Pair]) -> Future[list[bytes]] | None:
    """Returns what a process will say of a batch; None if no process is left."""
    places: dict[str, int] = {}
    rows: list[Row] = []
    for pair in batch:
        a, b = (places.setdefault(m.content, len(places)) for m in (pair.a, pair.b))
        rows.append((a, pair.a.created_at, b, pair.b.created_at, dict(pair.signals)))
    try:
        future: Future[list[bytes]] = executor.submit(judged, list(places), rows)
    except BrokenProcessPool:
        return None
    return future


def _ruled(batch: Sequence[Pair], answers: Sequence[bytes]) -> Ruled:
    verdicts = unpacked_all(answers, batch)
    whole = [verdict for verdict in verdicts if verdict is not None]
    if len(whole) < len(verdicts):
        raise ValueError("a verdict could not be read")
    return Ruled(whole, answers)
