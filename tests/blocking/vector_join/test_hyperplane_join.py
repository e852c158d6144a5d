"""Random hyperplanes: what they promise, and that what they find is exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import Hits, pairs_above
from echoless.blocking.vector_join.hyperplane_join import MOST_TABLES, layout, pairs_sharing


def pairs(hits: list[Hits]) -> dict[tuple[int, int], float]:
    return {
        (int(i), int(j)): float(c) for a, b, cs in hits for i, j, c in zip(a, b, cs, strict=True)
    }


def planted(count: int, dimensions: int, cosine: float, seed: int = 1) -> NDArray[np.float32]:
    """Random rows; each odd one lies at the cosine to the even one before it."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, dimensions))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    base, other = rows[::2], rows[1::2]
    other = other - np.sum(base * other, axis=1)[:, None] * base
    other /= np.linalg.norm(other, axis=1)[:, None]
    rows[1::2] = cosine * base + np.sqrt(1 - cosine**2) * other
    return rows.astype(np.float32)


@pytest.mark.parametrize(("threshold", "tables"), [(0.95, 13), (0.90, 21), (0.85, 30), (0.80, 40)])
def test_eight_bits_need_so_many_tables(threshold: float, tables: int) -> None:
    made = layout(threshold, 8)
    assert made is not None
    assert (made.bits, made.tables) == (8, tables)
    assert made.expected_recall >= 0.999


def test_one_table_less_would_not_do() -> None:
    made = layout(0.9, 8)
    assert made is not None
    together = (1 - np.arccos(0.9) / np.pi) ** 8
    assert 1 - (1 - together) ** (made.tables - 1) < 0.999


def test_a_low_threshold_has_no_layout() -> None:
    assert layout(0.6, 8) is None
    assert layout(0.0, 8) is None


def test_more_bits_need_more_tables() -> None:
    few, many = layout(0.95, 8), layout(0.95, 12)
    assert few is not None
    assert many is not None
    assert few.tables < many.tables <= MOST_TABLES


def test_at_a_threshold_of_one_equal_rows_meet() -> None:
    made = layout(1.0, 8)
    assert made is not None
    assert made.tables == 1
    rows = np.repeat(planted(300, 6, 0.9), 2, axis=0)
    assert len(pairs(list(pairs_sharing(rows, 1.0, made)))) == 300


@pytest.mark.parametrize("cosine", [0.85, 0.95])
def test_the_pairs_at_the_threshold_are_found_with_their_exact_cosine(cosine: float) -> None:
    rows = planted(4_000, 48, cosine + 1e-4)
    made = layout(cosine, 8)
    assert made is not None
    exact = pairs(list(pairs_above(rows, cosine)))
    found = pairs(list(pairs_sharing(rows, cosine, made)))
    assert found.items() <= exact.items()
    assert len(found) >= 0.995 * len(exact)
    assert len(exact) >= 2_000


def test_each_pair_comes_once() -> None:
    rows = planted(1_000, 16, 0.97)
    made = layout(0.8, 4)
    assert made is not None
    hits = list(pairs_sharing(rows, 0.8, made))
    assert sum(len(i) for i, _, _ in hits) == len(pairs(hits))


def test_crowded_buckets_fall_back_on_every_pair() -> None:
    rows = np.repeat(planted(2, 8, 0.5), 400, axis=0)
    made = layout(0.95, 8)
    assert made is not None
    assert pairs(list(pairs_sharing(rows, 0.95, made))) == pairs(list(pairs_above(rows, 0.95)))


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = planted(1_200, 24, 0.9)
    made = layout(0.9, 8)
    assert made is not None
    order = np.random.default_rng(3).permutation(len(rows))
    one = pairs(list(pairs_sharing(rows, 0.9, made)))
    other = pairs(list(pairs_sharing(rows[order], 0.9, made)))
    back = {(int(order[i]), int(order[j])): c for (i, j), c in other.items()}
    assert {(min(p), max(p)): c for p, c in back.items()} == one


def test_a_zero_row_is_refused() -> None:
    rows = planted(100, 8, 0.9)
    rows[7] = 0
    made = layout(0.9, 8)
    assert made is not None
    with pytest.raises(ValueError, match="zero or not finite"):
        list(pairs_sharing(rows, 0.9, made))
