"""Work that makes many objects and no cycles, without the collector that looks for cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of cycles.

    It looks through all there is again and again while millions of memories, facts and verdicts are
    made, a tenth of the time, and none of them is ever part of a cycle: what is let go is gone at
    once (`tests/road/test_uncollected.py`). Around a whole run, not around its stages: after each
    of them it would look through everything.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
