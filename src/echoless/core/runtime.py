"""Number of threads."""

from __future__ import annotations

import os
from typing import Final

from echoless.core.errors import UsageError

THREADS: Final = "ECHOLESS_THREADS"
"""Environment: threads to use, instead of the cores this process may run on."""


def workers() -> int:
    """Returns the number of threads: at least 1, at most the cores of this process.

    Raises:
        UsageError: `ECHOLESS_THREADS` is no positive whole number.
    """
    written = os.environ.get(THREADS, "").strip()
    if not written:
        return _cores()
    if not written.isdecimal() or int(written) < 1:
        raise UsageError(f"{THREADS} is {written!r}; it has to be a whole number of at least 1.")
    return min(int(written), _cores())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1  # no affinity to ask for on macOS and Windows
