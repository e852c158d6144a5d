"""Whether kernels may be compiled, and how many threads they may use.

Loops over many bits or many short texts are compiled where numba is installed (the extra `fast`;
`docs/adr/0010-kernels.md`). Modules named `*_kernels.py` import it at their top, so they are
imported only inside a function that found `compiled()` true and has enough work for it. Everything
they do numpy does too, slower, with the same result.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import Final

from echoless.errors import UsageError

COMPILED: Final = "ECHOLESS_COMPILED"
"""Environment: `0` leaves the compiler aside."""

THREADS: Final = "ECHOLESS_THREADS"
"""Environment: threads to use, instead of the cores this process may run on."""

MISSING: Final = "numba is not installed; pip install 'echoless[fast]' makes this faster"
"""For a note where the slower way was taken."""


def compiled() -> bool:
    """Whether numba is there and wanted; nothing is imported to find out."""
    return os.environ.get(COMPILED, "").strip() != "0" and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


def workers() -> int:
    """Threads to use, at least 1: never more than the cores this process may run on.

    Raises:
        UsageError: `ECHOLESS_THREADS` is no positive whole number.
    """
    told = os.environ.get(THREADS, "").strip()
    if not told:
        return _cores()
    if not told.isdecimal() or int(told) < 1:
        raise UsageError(f"{THREADS} is {told!r}; it has to be a whole number of at least 1.")
    return min(int(told), _cores())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1  # no affinity to ask for on macOS and Windows
