"""Use of compiled kernels, and number of threads.

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

from echoless.core.errors import UsageError

COMPILED: Final = "ECHOLESS_COMPILED"
"""Environment: `0` leaves the compiler aside."""

THREADS: Final = "ECHOLESS_THREADS"
"""Environment: threads to use, instead of the cores this process may run on."""

MISSING: Final = "numba is not installed; pip install 'echoless[fast]' makes this faster"
"""For a note where the slower way was taken."""


def compiled() -> bool:
    """Returns whether numba is installed and wanted, without importing it."""
    return os.environ.get(COMPILED, "").strip() != "0" and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


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
