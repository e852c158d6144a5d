from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from echoless.blocking import top_k
from echoless.blocking.pair_scores import DENSE
from echoless.blocking.vector_join.exact_join import (
    Join,
    JoinWork,
    pairs_above,
    product_pairs,
    row_norms,
)
from echoless.blocking.vector_join.self_join import copies_of, each_once, similar_pairs

Pairs = dict[tuple[int, int], float]


def pairs(hits) -> Pairs:  # type: ignore[no-untyped-def]
    found: Pairs = {}
    for i, j, cosine in hits:
        for one, other, value in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
            assert one < other
            assert (one, other) not in found
            found[one, other] = value
    return found


def rows_at(count: int, dimensions: int, cosine: float, seed: int = 1) -> NDArray[np.float32]:
    """Random rows of odd lengths; each odd one lies at the cosine to the even one before it."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, dimensions))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    base, other = rows[::2], rows[1::2]
    other = other - np.sum(base * other, axis=1)[:, None] * base
    other /= np.linalg.norm(other, axis=1)[:, None]
    rows[1::2] = cosine * base + np.sqrt(1 - cosine**2) * other
    return (rows * random.uniform(0.5, 2.0, (count, 1))).astype(np.float32)


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_threshold_itself_counts_only_where_it_is_to(inclusive: bool) -> None:
    rows = np.zeros((3, 64), dtype=np.float32)
    rows[0, 0] = 1
    rows[1, :6] = (19, 6, 1, 1, 1, 0)  # a cosine of 0.95 with the first
    rows[2, 9] = 1
    found = pairs(similar_pairs(rows, 0.95, inclusive=inclusive))
    assert found == ({(0, 1): 0.95} if inclusive else {})


def test_equal_rows_are_all_paired_or_as_a_star() -> None:
    rows = np.repeat(rows_at(6, 64, 0.5), 50, axis=0)
    assert pairs(similar_pairs(rows, 0.9)) == pairs(pairs_above(rows, 0.9))
    star = pairs(similar_pairs(rows, 0.9, most=10))
    assert set(star) >= {(i - i % 50, i) for i in range(300) if i % 50}
    assert len(star) <= 300 * 10


def test_of_a_crowd_each_row_keeps_the_first_and_the_closest() -> None:
    random = np.random.default_rng(3)
    one = random.standard_normal(64)
    rows = (one + 0.05 * random.standard_normal((600, 64))).astype(np.float32)
    work = JoinWork()
    by_row: dict[int, list[int]] = {}
    for i, j in pairs(similar_pairs(rows, 0.8, most=8, work=work)):
        by_row.setdefault(j, []).append(i)
    assert all(set(range(4)) <= set(by_row[j]) for j in range(10, len(rows)))
    assert max(map(len, by_row.values())) <= 8
    assert work.crowded >= len(rows) - 20


def test_rows_may_be_mapped_from_a_file(tmp_path: Path) -> None:
    rows = rows_at(500, 64, 0.96)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert pairs(similar_pairs(mapped, 0.95)) == pairs(similar_pairs(rows, 0.95))


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.integers(1, 6))
def test_partners_are_kept_by_the_rule(seed: int, size: int, most: int) -> None:
    random = np.random.default_rng(seed)
    one, other = np.triu_indices(size, k=1)
    similarity = np.round(random.uniform(0.5, 1.0, len(one)), 1)
    kept = top_k.kept_partners(top_k.Pairs(one, other, similarity), most)
    for row in range(size):
        at = np.flatnonzero(other == row)
        mine = list(zip(one[at].tolist(), similarity[at].tolist(), strict=True))
        first = [i for i, s in mine if s >= DENSE][: (most + 1) // 2] if len(mine) > most else []
        rest = sorted((-s, i) for i, s in mine if i not in first)[: most - len(first)]
        assert set(one[at][kept[at]].tolist()) == {*first, *(i for _, i in rest)}


def test_a_zero_row_is_refused() -> None:
    rows = rows_at(100, 64, 0.9)
    rows[7] = 0
    with pytest.raises(ValueError, match="zero or not finite"):
        list(similar_pairs(rows, 0.9))


def test_equal_rows_that_are_mapped_from_a_file_do_not_come_into_memory(tmp_path: Path) -> None:
    rows = np.repeat(rows_at(60, 64, 0.95), 9, axis=0)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    copies = copies_of(mapped)
    assert copies is not None
    once = each_once(mapped, copies)
    assert isinstance(once, np.memmap)
    assert np.array_equal(once, rows[::9])
    assert pairs(similar_pairs(mapped, 0.9, most=5)) == pairs(similar_pairs(rows, 0.9, most=5))


def test_of_a_crowd_the_same_partners_are_kept_over_many_tiles_as_in_one() -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((900, 64))
    rows[:600] = rows[:1] + 0.4 * random.standard_normal((600, 64))
    rows = rows[random.permutation(len(rows))].astype(np.float32)
    join = Join(rows, row_norms(rows), 0.8, inclusive=True, budget=1 << 20)
    kept = pairs(product_pairs(join, 30, JoinWork()))
    assert kept == pairs(similar_pairs(rows, 0.8, most=30))
    assert len(kept) > 10_000
