"""Suspension of Python's cycle collector for work that makes many objects and no cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import ctypes
else:
    ctypes = lazy_module("ctypes")  # a command on a small store does without

_cycles: Final = Event()


@contextmanager
def uncollected() -> Iterator[None]:
    """Runs a block without the collector of reference cycles.

    The collector would scan all objects again and again while millions of memories, facts and
    verdicts are made, which takes a tenth of the time. None of them is ever part of a cycle:
    reference counts free them at once (`tests/core/test_garbage_collection.py`). Use it around a
    whole run, not around its stages: after each stage the collector would scan everything. What
    makes cycles all the same calls `note_cycles`, and a stage that is done calls `give_back`.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def note_cycles() -> None:
    """Requests a collection at the next `give_back`, because a library left reference cycles.

    A compiler of kernels leaves them: after the first use of a kernel its arguments, half a
    gigabyte of vectors, lived to the end of the run, beside 100 MB of its own.
    """
    _cycles.set()


def give_back() -> None:
    """Frees cycles that were noted, and returns to the system what the allocator holds unused."""
    if _cycles.is_set():
        _cycles.clear()
        gc.collect()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """Returns the function of the C library that returns free memory; None where there is none."""
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim  # GNU has it, musl has not
