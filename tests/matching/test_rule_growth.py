"""The work for a pair grows with its length, not with the square of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from benchmarks.judge_growth import PIECES, pairs, without_encoder

import echoless
from echoless.workflows.pairs.judge_pairs import judge_pairs

PACKAGE = os.path.dirname(echoless.__file__)
"""Only its lines count, as a process does other things meanwhile, such as clearing up."""


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of echoless the work runs through."""
    lines = 0

    def local(_frame: FrameType, event: str, _argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return local

    earlier = sys.gettrace()
    sys.settrace(lambda frame, *_: local if frame.f_code.co_filename.startswith(PACKAGE) else None)
    try:
        work()
    finally:
        sys.settrace(earlier)
    return lines


@pytest.mark.parametrize("pattern", ["e\u0301()", *PIECES[::4], "A[", "a (A) ", "1. \u3001"])
def test_twice_the_length_is_about_twice_the_work(pattern: str) -> None:
    """F8: 5,000 brackets made the judge walk back to the beginning 5,000 times."""
    settings = without_encoder()

    def work(length: int) -> int:
        return lines_of(lambda: list(judge_pairs(list(pairs(pattern, length))[:1], settings)))

    work(2_500)
    assert work(2_400) < 3 * work(1_200) + 20_000
