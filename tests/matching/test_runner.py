"""Pairs come to the judge in an order in which texts are read once."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from echoless.matching.runner import _together

Pairs = list[tuple[str, str]]

ids = st.integers(0, 30).map(lambda number: f"m-{number:02}")
pairs = st.lists(
    st.tuples(ids, ids).filter(lambda pair: pair[0] < pair[1]), unique=True, max_size=60
).map(sorted)


@given(pairs, st.randoms(use_true_random=False))
def test_every_pair_that_is_left_comes_once(wanted: Pairs, chance: random.Random) -> None:
    left = sorted(chance.sample(range(len(wanted)), chance.randint(0, len(wanted))))
    assert sorted(_together(wanted, left)) == left


@given(pairs)
def test_texts_that_hang_together_come_together(wanted: Pairs) -> None:
    order = [wanted[at] for at in _together(wanted, range(len(wanted)))]
    component: dict[str, set[str]] = {}
    for one, other in wanted:
        whole = component.get(one, {one}) | component.get(other, {other})
        component.update(dict.fromkeys(whole, whole))
    names = [min(component[one]) for one, _ in order]
    changes = sum(name != after for name, after in itertools.pairwise(names))
    assert changes == max(0, len(set(names)) - 1)


def test_texts_in_a_long_row_are_read_once_though_their_ids_are_in_no_order() -> None:
    names = [f"m-{number:04}" for number in range(1_000)]
    random.Random(5).shuffle(names)
    row = itertools.pairwise(names)
    wanted = sorted((min(pair), max(pair)) for pair in row)
    order = [wanted[at] for at in _together(wanted, range(len(wanted)))]
    met, read = set[str](), 0
    for before, pair in zip([("", ""), *order], order, strict=False):
        read += len({*pair} - {*before})
        met |= {*pair}
    assert read <= len(met) + 2
