"""Suspension of Python's cycle collector for work that makes many objects and no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Runs a block without the collector of reference cycles.

    The collector would scan all objects again and again while millions of memories, facts and
    verdicts are made, which takes a tenth of the time. None of them is ever part of a cycle:
    reference counts free them at once (`tests/core/test_garbage_collection.py`). Use it around a
    whole run, not around its stages: after each stage the collector would scan everything.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
