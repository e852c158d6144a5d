"""Thousands that say one thing give one group, by verdicts as many as there are memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.pair_scores import DenseMemories, Measured, PairSignals, gathered
from echoless.clustering.assign import stranded
from echoless.clustering.grouping import Bonds, gather
from echoless.core.model import Distinct, Duplicate, Evidence, Judged, Subsumes
from echoless.workflows.dedupe.dense_blocks import judge_in_turn

TOLD = Evidence("test", "lexical", 0.95)


def crowd(
    size: int, most: int, classes: Sequence[int] | None = None
) -> tuple[PairSignals, Sequence[int]]:
    """Signals as a search leaves them: each memory with its first partners of its class."""
    classes = classes or [0] * size
    ids = [f"m-{at:04d}" for at in range(size)]
    keys, crowded = [], np.zeros(size, dtype=bool)
    for at in range(size):
        before = [b for b in range(at) if classes[b] == classes[at]][:most]
        keys += [b * size + at for b in before]
        crowded[at] = len(before) >= most
    measured = Measured("lexical", np.array(keys, dtype=np.int64), np.full(len(keys), 0.95))
    return gathered(ids, [measured], DenseMemories(np.arange(size), crowded, crowded)), classes


class Judge:
    """Says duplicate but where it was told otherwise, and remembers what it was asked."""

    def __init__(self, other: Mapping[tuple[str, str], object] | None = None) -> None:
        self.other = other or {}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, some: Iterable[tuple[str, str]]) -> list[Judged]:
        return list(self._each(some))

    def _each(self, some: Iterable[tuple[str, str]]) -> Iterator[Judged]:
        for a, b in some:
            self.asked.append((a, b))
            yield Judged(a, b, self.other.get((a, b), Duplicate(TOLD)))  # type: ignore[arg-type]


def test_in_a_crowd_that_says_one_thing_each_memory_is_judged_about_once() -> None:
    signals, _ = crowd(2_000, 30)
    judge = Judge()
    judged, spared = judge_in_turn(signals, judge)
    assert len(judge.asked) == len(judged) <= 2_000 + 30 * 29 // 2
    (group,) = gather("star", Bonds(judged, {}), signals.ids, set())
    assert len(group.members) == 1_999
    assert spared.keys() < set(signals.ids)
    assert sum(spared.values()) == len(signals) - len(judged)


def test_without_crowds_every_pair_is_judged() -> None:
    signals, _ = crowd(20, 30)
    judge = Judge()
    judged, spared = judge_in_turn(signals, judge)
    assert len(judged) == 20 * 19 // 2
    assert judge.asked == list(signals)
    assert not spared


@given(st.data())
def test_the_stars_are_those_of_all_pairs(data: st.DataObject) -> None:
    size, most = 24, 3
    classes = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    signals, _ = crowd(size, most, classes)
    refused = data.draw(st.sets(st.sampled_from(sorted(signals)))) if len(signals) else set()
    other = dict.fromkeys(refused, Distinct(TOLD))
    turns, every = Judge(other), Judge(other)
    judged, _ = judge_in_turn(signals, turns)
    assert len(set(turns.asked)) == len(turns.asked)
    told = [[(j.a, j.b) for j in judged]]
    assert told[0] == sorted(told[0])
    found = gather("star", Bonds(judged, {}), signals.ids, set())
    assert found == gather("star", Bonds(every(signals), {}), signals.ids, set())


@given(st.permutations(range(12)), st.integers(2, 5))
def test_a_crowd_is_one_group_in_whatever_order_its_survivors_are_chosen(
    order: list[int], most: int
) -> None:
    signals, _ = crowd(12, most)
    judge = Judge()
    judged, _ = judge_in_turn(signals, judge)
    chosen = [signals.ids[at] for at in order]
    for _ in range(3):
        groups = gather("star", Bonds(judged, {}), chosen, set())
        for centre, others in stranded(signals, judged, groups, {}).items():
            judged += judge((min(i, centre), max(i, centre)) for i in others)
    (group,) = groups
    assert group.survivor == chosen[0]
    assert len(group.members) == 11


@pytest.mark.parametrize("copies", [{}, {"m-0050": ("m-0050", "m-0050-again")}])
def test_members_left_behind_are_taken_to_the_survivor_theirs_stands_behind(
    copies: Mapping[str, Sequence[str]],
) -> None:
    signals, _ = crowd(100, 5)
    more = {(id_, "m-0099"): Subsumes(TOLD, "b") for id_ in signals.ids}
    judge = Judge(more)
    judged, _ = judge_in_turn(signals, judge)
    order = sorted({*signals.ids, *(i for ids in copies.values() for i in ids)})
    for _ in range(3):
        groups = gather("star", Bonds(judged, copies), order, set())
        for centre, others in stranded(signals, judged, groups, copies).items():
            judged += judge((min(i, centre), max(i, centre)) for i in others)
    (group,) = groups
    assert group.survivor == "m-0099", "it says more than all the others"
    assert len(group.members) == len(order) - 1
    assert len(judge.asked) < 4 * len(signals.ids)
