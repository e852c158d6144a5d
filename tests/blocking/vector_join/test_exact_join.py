"""The join is exact: it gives what a plain double loop in 64 bits gives."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import BUDGET, pairs_above

THRESHOLD_VECTORS = {  # first vector (1,0,0,0,0,0): these cosines exactly
    0.99: (99, 14, 1, 1, 1, 0),
    0.97: (97, 24, 3, 2, 1, 1),
    0.96: (24, 7, 0, 0, 0, 0),
    0.95: (19, 6, 1, 1, 1, 0),
    0.90: (9, 3, 3, 1, 0, 0),
    0.85: (17, 10, 3, 1, 1, 0),
    0.80: (4, 3, 0, 0, 0, 0),
    0.60: (3, 4, 0, 0, 0, 0),
}


def joined(
    rows: NDArray[np.float32], threshold: float, *, inclusive: bool = True, budget: int = BUDGET
) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for i, j, cosine in pairs_above(rows, threshold, inclusive=inclusive, budget=budget):
        for one, other, value in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
            assert one < other
            assert (one, other) not in found
            found[one, other] = value
    return found


def plain_cosine(a: list[float], b: list[float]) -> float:
    product = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return product / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


def double_loop(rows: NDArray[np.float32]) -> dict[tuple[int, int], float]:
    lists = rows.astype(np.float64).tolist()
    return {
        (i, j): plain_cosine(lists[i], lists[j])
        for i in range(len(lists))
        for j in range(i + 1, len(lists))
    }


def rounding_is_a_toss(cosine: float) -> bool:
    """So near to half a unit of the sixth decimal that the last bit of a sum decides."""
    return abs((abs(cosine) * 1e6) % 1 - 0.5) < 1e-6


def matrix_of(numbers: list[list[int]]) -> NDArray[np.float32]:
    rows = np.array(numbers, dtype=np.float32)
    return rows[rows.any(axis=1)]


@given(
    numbers=st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=1, max_size=14),
    threshold=st.integers(-20, 100).map(lambda percent: percent / 100),
    inclusive=st.booleans(),
)
def test_the_join_finds_what_a_plain_double_loop_finds(
    numbers: list[list[int]], threshold: float, inclusive: bool
) -> None:
    rows = matrix_of(numbers)
    found = joined(rows, threshold, inclusive=inclusive)
    for pair, cosine in double_loop(rows).items():
        if rounding_is_a_toss(cosine):
            continue
        shown = round(cosine, 6)
        wanted = shown >= threshold if inclusive else shown > threshold
        assert (pair in found) == wanted
        if wanted:
            assert found[pair] == shown


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e18]))
def test_lengths_and_many_dimensions_change_nothing(seed: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    middle = random.normal(size=(1, 700))
    rows = (scale * (middle + random.normal(size=(6, 700)))).astype(np.float32)
    exact = double_loop(rows)
    limit = round(sorted(exact.values())[len(exact) // 2], 6)
    found = joined(rows, limit)
    for pair, cosine in exact.items():
        if not rounding_is_a_toss(cosine):
            assert (pair in found) == (round(cosine, 6) >= limit)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, size=(30, 6)).astype(np.float32)
    rows[:, 0] = 1
    order = random.permutation(len(rows))
    shuffled = {
        (min(order[i], order[j]), max(order[i], order[j])): cosine
        for (i, j), cosine in joined(rows[order], 0.5).items()
    }
    assert shuffled == joined(rows, 0.5)


def test_a_small_budget_gives_the_same_pairs_over_many_tiles() -> None:
    random = np.random.default_rng(5)
    rows = random.normal(size=(900, 16)).astype(np.float32)
    rows[450:] = rows[:450] + 0.05 * random.normal(size=(450, 16)).astype(np.float32)
    small = joined(rows, 0.6, budget=1)
    assert small == joined(rows, 0.6, budget=1 << 30)
    assert len(small) > 450


@pytest.mark.parametrize("cosine", sorted(THRESHOLD_VECTORS))
def test_a_cosine_equal_to_the_threshold_counts_only_where_it_is_inclusive(cosine: float) -> None:
    rows = np.array([(1, 0, 0, 0, 0, 0), THRESHOLD_VECTORS[cosine]], dtype=np.float32)
    assert joined(rows, cosine) == {(0, 1): cosine}
    assert joined(rows, cosine, inclusive=False) == {}


def test_the_cosine_is_rounded_before_it_is_compared() -> None:
    tilt = math.sqrt(1 / 0.8499996**2 - 1)
    rows = np.array([(1, 0), (1, tilt)], dtype=np.float32)
    assert plain_cosine(*rows.astype(float).tolist()) < 0.85
    assert joined(rows, 0.85) == {(0, 1): 0.85}


def test_equal_rows_have_cosine_one_and_never_more() -> None:
    rows = np.tile(np.array([[0.1, 0.2, 0.3]], dtype=np.float32), (4, 1))
    assert set(joined(rows, 1.0).values()) == {1.0}


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
def test_a_row_without_a_direction_is_refused(bad: float) -> None:
    rows = np.array([(1, 0), (bad, bad)], dtype=np.float32)
    with pytest.raises(ValueError, match="zero or not finite"):
        list(pairs_above(rows, 0.5))


def test_memory_stays_within_the_budget_even_where_every_pair_is_a_hit() -> None:
    rows = np.ones((1_500, 40), dtype=np.float32)
    budget = 2 << 20
    tracemalloc.start()
    pairs = sum(len(i) for i, _, _ in pairs_above(rows, 0.9, budget=budget))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == 1_500 * 1_499 // 2
    assert peak < 3 * budget


def test_no_rows_give_no_pairs() -> None:
    assert joined(np.empty((0, 4), dtype=np.float32), 0.5) == {}
