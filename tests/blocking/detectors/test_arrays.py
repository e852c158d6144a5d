"""Detectors that propose arrays say the same as they say in objects; asked for less, they give the
best partners of each memory, and never the square of a class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.detectors import BulkDetector, DetectorOptions, open_detector
from echoless.core.model import Memory
from echoless.core.run_notes import Tally

NAMES = ["exact", "normalised"]


def memories(texts: Sequence[str]) -> list[Memory]:
    return [Memory(id=f"m-{at:05d}", content=text) for at, text in enumerate(texts)]


def proposed(
    name: str, told: Sequence[Memory], most: int | None = None, tally: Tally | None = None
) -> dict[tuple[int, int], float]:
    detector = open_detector(name, DetectorOptions())
    assert isinstance(detector, BulkDetector)
    found: dict[tuple[int, int], float] = {}
    for block in detector.propose(told, tally or Tally(), most):
        rows = zip(block.one.tolist(), block.other.tolist(), block.similarity.tolist(), strict=True)
        for one, other, similarity in rows:
            assert (one, other) not in found, "each pair once"
            found[one, other] = similarity
    return found


texts = st.lists(
    st.sampled_from(
        ["Port 5432", "port 5432", "- Port 5432", "**port 5432**", "Port 5433", "  ", "***"]
    ),
    max_size=60,
)


@pytest.mark.parametrize("name", NAMES)
@given(told=texts)
def test_arrays_hold_the_pairs_that_objects_tell(name: str, told: list[str]) -> None:
    given_ = memories(told)
    objects, arrays = Tally(), Tally()
    candidates = open_detector(name, DetectorOptions()).detect(given_, objects)
    as_told = {(int(c.a[2:]), int(c.b[2:])): c.similarity for c in candidates}
    assert proposed(name, given_, tally=arrays) == as_told
    assert arrays.skipped == objects.skipped


@pytest.mark.parametrize("name", NAMES)
@given(told=texts, most=st.integers(1, 5))
def test_asked_for_less_each_memory_keeps_its_first_partners(
    name: str, told: list[str], most: int
) -> None:
    given_ = memories(told)
    every, tally = proposed(name, given_), Tally()
    some = proposed(name, given_, most, tally)
    for later in range(len(told)):
        before = sorted(one for one, other in every if other == later)
        assert sorted(one for one, other in some if other == later) == before[:most]
    assert some.items() <= every.items()
    assert bool(tally.notes) == (len(some) < len(every))


@pytest.mark.parametrize("name", NAMES)
def test_a_class_of_thousands_yields_a_star_and_not_its_square(name: str) -> None:
    text = {"exact": "The port is 5432", "normalised": "**The port is 5432**"}[name]
    class_ = memories([text] * 5_000)
    assert len(proposed(name, class_, 3)) == 3 * 5_000 - 6


@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_of_a_large_class_come_in_blocks(name: str) -> None:
    detector = open_detector(name, DetectorOptions())
    assert isinstance(detector, BulkDetector)
    blocks = list(detector.propose(memories(["The port is 5432"] * 2_000), Tally()))
    assert sum(len(block.one) for block in blocks) == 2_000 * 1_999 // 2
    assert len(blocks) > 1
    assert all((block.one < block.other).all() for block in blocks)
    assert all(block.one.dtype == np.int64 for block in blocks)
