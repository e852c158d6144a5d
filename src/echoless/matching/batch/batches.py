"""Judging many pairs: batch after batch, in one process or several, with the same verdicts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from echoless.core.model import Pair
from echoless.core.optional import lazy_module
from echoless.core.run_notes import Tally
from echoless.core.runtime import workers
from echoless.matching.base import Judge
from echoless.matching.batch.serialisation import Ruled, ruled
from echoless.matching.rule_judge import RuleJudge

if TYPE_CHECKING:
    from echoless.matching.batch import process_pool
else:
    process_pool = lazy_module("echoless.matching.batch.process_pool")

PROCESSES_FROM: Final = 20_000
"""Pairs from which other processes help. Each needs a second of its core to start, in which one
judges some five thousand pairs: of 10,000 two took two thirds more processor time for a sixth less
waiting."""

_LOAD_OF: Final = 60.0
"""Seconds of which the load of the machine is told."""

_SINCE: Final = time.perf_counter()

_LOAD: Final = Path("/proc/loadavg")

_LOOKS: Final = 9
"""Number of looks at the running threads, of which the median counts."""

_APART: Final = 0.005
"""Seconds between two of them. Together they outlast threads of BLAS that wait for work by
spinning, which a single look took for another program."""


def rulings(
    judge: Judge, batches: Iterable[Sequence[Pair]], *, pairs: int, keeping: bool, tally: Tally
) -> Generator[Ruled, None, None]:
    """Returns the verdicts on each batch, in order.

    Args:
        judge: Decides.
        batches: Asked for only as they are needed.
        pairs: How many there are in all: decides whether other processes are worth their start.
        keeping: Whether the bytes of the verdicts will be asked for.
        tally: Told if a process failed.
    """
    # another process can build this judge, and this Python start another
    divisible = bool(sys.executable) and not getattr(sys, "frozen", False)
    if (
        isinstance(judge, RuleJudge)
        and divisible
        and pairs >= PROCESSES_FROM
        and (count := _free()) > 1
    ):
        yield from process_pool.rulings_of(judge, batches, count, keeping=keeping, tally=tally)
        return
    for batch in batches:
        yield ruled(judge, batch, keeping=keeping)


def _free() -> int:
    """Processes that would find a core with nothing else to do, this one's own among them."""
    busy = _others()
    return max(1, min(workers(), round((os.cpu_count() or 1) - busy)))


def _others() -> float:
    """Cores others use: now, where the system tells, or on average over the last minute."""
    counted = [_running()]
    while counted[-1] is not None and len(counted) < _LOOKS:
        time.sleep(_APART)
        counted.append(_running())
    known = [each for each in counted if each is not None]
    if known:
        return median(known) - 1
    if not hasattr(os, "getloadavg"):
        return 0.0
    age = max(time.perf_counter() - _SINCE, _LOAD_OF)
    return max(0.0, os.getloadavg()[0] - time.process_time() / age)


def _running() -> int | None:
    """Returns the number of running threads on this machine; None without `/proc/loadavg`."""
    try:
        return max(1, int(_LOAD.read_text("ascii").split()[3].partition("/")[0]))
    except (OSError, ValueError, IndexError):
        return None
