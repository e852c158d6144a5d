"""Pairs that share members, and values of one thing in their order."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from echoless import Memory
from echoless.core.groups import connected, oldest_first


class Update(NamedTuple):
    a: str
    b: str


def test_pairs_that_share_a_member_are_one_set() -> None:
    pairs = [Update("x", "y"), Update("c", "a"), Update("b", "c"), Update("b", "a")]
    for order in itertools.permutations(pairs):
        sets = {frozenset(each) for each in connected(order)}
        assert sets == {frozenset(pairs[:1]), frozenset(pairs[1:])}
    assert oldest_first(pairs[1:], {}) == ("b", "c", "a")


def test_values_no_pair_compares_are_ordered_by_time() -> None:
    memories = {
        "a": Memory(id="a", content="", created_at="2026-03-01"),
        "b": Memory(id="b", content="", created_at="2026-01-01"),
        "c": Memory(id="c", content="", created_at="2026-04-01"),
        "d": Memory(id="d", content=""),
    }
    assert oldest_first([("a", "c"), ("b", "c"), ("d", "c")], memories) == ("d", "b", "a", "c")


def test_pairs_in_a_circle_name_each_memory_once() -> None:
    assert sorted(oldest_first([("a", "b"), ("b", "c"), ("c", "a")], {})) == ["a", "b", "c"]


def test_a_chain_of_thousands_is_ordered_at_once() -> None:
    ids = [f"m-{at:05}" for at in range(5_000)]
    assert oldest_first(itertools.pairwise(reversed(ids)), {}) == tuple(reversed(ids))
