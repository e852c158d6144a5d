"""Pairs come to the judge in an order in which texts are read once."""

from __future__ import annotations

import itertools
import random
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from echoless.matching.runner import _Measured, _together

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


names_of = st.sampled_from(["exact", "lexical", "semantic"])
measured = st.dictionaries(names_of, st.floats(0, 1), min_size=1)


@given(
    st.lists(st.tuples(st.tuples(ids, ids), measured), unique_by=lambda each: each[0]), st.data()
)
def test_similarities_in_arrays_are_those_of_the_mappings(
    told: list[tuple[tuple[str, str], dict[str, float]]], data: st.DataObject
) -> None:
    signals = dict(told)
    apart = set(data.draw(st.lists(st.sampled_from(sorted(signals))))) if signals else set()
    held = _Measured(signals, apart)
    assert held.pairs == sorted(signals.keys() - apart)
    for at, pair in enumerate(held.pairs):
        assert list(held.at(at).items()) == list(signals[pair].items())


def test_a_pair_that_waits_for_its_verdict_takes_less_than_two_hundred_bytes() -> None:
    count = 20_000
    names = [f"m-{at:06}" for at in range(count + 1)]
    signals = {
        pair: {"lexical": at / count, "semantic": at / (count + 1)}
        for at, pair in enumerate(itertools.pairwise(names))
    }
    tracemalloc.start()
    held = _Measured(signals, set())
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held.pairs) == count
    assert size < 200 * count
