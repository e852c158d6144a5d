"""Pairs taken over from an earlier look: the same as a look at everything, for less."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.blocking.known_pairs import Look, matched, packed, rising, unpacked
from echoless.blocking.vector_join.exact_join import (
    Join,
    JoinWork,
    KnownHits,
    product_pairs,
    renewed_pairs,
    row_norms,
)

LOOK = Look(
    basis="model@1 8 0.8",
    prints=[bytes([number]) * 16 for number in range(9)],
    one=np.array([0, 2]),
    other=np.array([3, 8]),
    similarity=np.array([0.9, 0.8125]),
    cut=np.arange(9) == 8,
)


@given(st.lists(st.integers(0, 30), max_size=7, unique=True), st.sets(st.integers(0, 6)))
def test_a_longest_rising_sequence_is_chosen(values: list[int], gone: set[int]) -> None:
    places = np.array([-1 if at in gone else value for at, value in enumerate(values)], np.int64)
    left = [value for value in places.tolist() if value >= 0]
    chosen = places[rising(places)].tolist()
    some = (each for size in range(8) for each in combinations(left, size))
    longest = max(len(each) for each in some if sorted(each) == list(each))
    assert chosen == sorted(chosen)
    assert len(chosen) == longest
    assert all(value >= 0 for value in chosen)


def test_equal_memories_are_matched_in_their_order_and_each_once() -> None:
    before, now = [b"a", b"b", b"a", b"a"], [b"a", b"c", b"a"]
    assert matched(before, now).tolist() == [0, -1, 2, -1]


def test_memories_that_changed_moved_or_had_all_partners_are_asked_for() -> None:
    now = [LOOK.prints[4], *LOOK.prints[:4], b"n" * 16, *LOOK.prints[5:]]
    known = LOOK.known_among(now)
    assert np.flatnonzero(known.asked).tolist() == [0, 5, 9]  # moved ahead, new, cut
    assert (known.one.tolist(), known.other.tolist()) == ([1], [4])
    assert known.hold("another model 8 0.8") is False


def test_a_look_comes_back_from_its_bytes_and_a_damaged_one_does_not() -> None:
    data = packed(LOOK)
    again = unpacked(data)
    assert again is not None
    assert (again.basis, list(again.prints)) == (LOOK.basis, list(LOOK.prints))
    for name in ("one", "other", "similarity", "cut"):
        assert (getattr(again, name) == getattr(LOOK, name)).all()
    assert unpacked(data[:-1]) is None
    assert unpacked(b"") is None


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 40),
    asked=st.sets(st.integers(0, 39), max_size=8),
    most=st.sampled_from([None, 1, 3]),
)
def test_a_join_with_known_hits_gives_the_hits_of_a_whole_join(
    seed: int, count: int, asked: set[int], most: int | None
) -> None:
    rows = np.random.default_rng(seed).integers(-2, 3, (count, 4)).astype(np.float32)
    rows[~rows.any(axis=1)] = 1.0
    join = Join(rows, row_norms(rows), 0.7, inclusive=True)
    wanted = np.array(sorted(each for each in asked if each < count), dtype=np.int64)
    whole, all_pairs = JoinWork(), _joined(product_pairs(join, None, JoinWork()))
    others = ~(np.isin(all_pairs[0], wanted) | np.isin(all_pairs[1], wanted))
    known = KnownHits((all_pairs[0][others], all_pairs[1][others], all_pairs[2][others]), wanted)
    work = JoinWork()
    renewed = _joined(renewed_pairs(join, known, most, work))
    for left, right in zip(renewed, _joined(product_pairs(join, most, whole)), strict=True):
        assert left.tolist() == right.tolist()
    assert work.compared == count * len(wanted)
    assert most is None or work.crowded == whole.crowded


def _joined(hits: object) -> tuple[np.ndarray, ...]:
    """All hits by rising j, then i."""
    parts = list(hits)  # type: ignore[call-overload]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0)
    one, other, cosine = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((one, other))
    return one[order], other[order], cosine[order]
