"""Suspension of Python's cycle collector for work that makes many objects and no cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def uncollected() -> Iterator[None]:
    """Runs a block without the collector of reference cycles.

    The collector would scan all objects again and again while millions of memories, facts and
    verdicts are made, which takes a tenth of the time. None of them is ever part of a cycle:
    reference counts free them at once (`tests/core/test_garbage_collection.py`). Use it around a
    whole run, not around its stages: after each stage the collector would scan everything. A
    stage that is done calls `give_back`.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def give_back() -> None:
    """Returns to the system what the allocator holds unused."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """Returns the function of the C library that returns free memory; None where there is none."""
    if sys.platform != "linux":
        return None
    import ctypes

    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim  # GNU has it, musl has not
