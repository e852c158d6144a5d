"""The self-join: whatever way it goes, what it says of itself holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from echoless.blocking.similarities import DENSE, SEEN_ENOUGH
from echoless.blocking.top_k import kept_partners
from echoless.blocking.vector_join.equal_rows import copies_of, each_once
from echoless.blocking.vector_join.exact_join import Join, JoinWork, pairs_above, row_norms
from echoless.blocking.vector_join.hyperplane_join import layout_for, planes_for
from echoless.blocking.vector_join.planner import Choice, Method, choose, similar_pairs
from echoless.blocking.vector_join.prefix_join import PrefixSieve, Steps, laid_out
from echoless.blocking.vector_join.projections import (
    Directions,
    Frame,
    cut,
    random_planes,
    widest_angle,
)
from echoless.core.runtime import COMPILED, compiled

Pairs = dict[tuple[int, int], float]

WAYS: tuple[Method, ...] = ("product", "prefix", "bands")


@pytest.fixture(params=["1", "0"], ids=["compiled", "plain"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setenv(COMPILED, request.param)
    assert compiled() == (request.param == "1")
    return request.param == "1"


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


def way(method: Method, rows: NDArray[np.float32], threshold: float, *, planes: int = 12) -> Choice:
    """A way, whether it pays for these rows or not; `planes` of `prefix`."""
    dimensions = rows.shape[1]
    units = (rows / row_norms(rows)[:, None]).astype(np.float32)
    centre = units.mean(axis=0)
    origin = np.zeros(dimensions, dtype=np.float32)
    if method == "prefix":
        frame = Frame(centre, Directions(units, centre).even(planes))
        return Choice(method, 1.0, 0.0, sieve=PrefixSieve(frame))
    angle = widest_angle(threshold, 1.0)
    if method == "bands":
        layout = layout_for(1.0 - angle / np.pi, 6, 0.9999, 256)
        assert layout is not None
        planes = planes_for(layout)
        frame = Frame(origin, random_planes(planes, dimensions))
        return Choice(
            method, layout.expected_recall, 0.0, layout=layout, frame=frame,
            most_bits=cut(256, angle, 1e-9),
        )  # fmt: skip
    return Choice(method, 1.0, 0.0)


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize(("dimensions", "cosine"), [(64, 0.95), (130, 0.8)])
def test_every_way_finds_the_pairs_of_the_double_loop(
    kernels: bool, method: Method, dimensions: int, cosine: float
) -> None:
    rows = rows_at(600, dimensions, cosine + 1e-4)
    found = pairs(similar_pairs(rows, cosine, choice=way(method, rows, cosine)))
    exact = pairs(pairs_above(rows, cosine))
    assert len(exact) >= 300
    if method in {"product", "prefix"}:
        assert found == exact
    else:
        assert found.items() <= exact.items()
        assert len(found) >= 0.995 * len(exact)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 200),
    st.integers(64, 140),
    st.floats(0.3, 1.0),
    st.floats(0.0, 3.0),
    st.sampled_from([0.0, 1e-3, 0.05, 0.3]),
)
def test_the_bound_misses_no_pair_however_the_rows_lie(
    seed: int, count: int, dimensions: int, threshold: float, shared: float, noise: float
) -> None:
    random = np.random.default_rng(seed)
    base = random.standard_normal((max(1, count // 7), dimensions))
    rows = base[random.integers(0, len(base), count)]
    rows = rows + noise * random.standard_normal(rows.shape) + shared * base[0]
    rows = rows.astype(np.float32)
    exact = pairs(pairs_above(rows, threshold))
    for planes in (4, 12, 64):
        choice = way("prefix", rows, threshold, planes=planes)
        assert pairs(similar_pairs(rows, threshold, choice=choice)) == exact


def test_coordinates_that_are_zero_or_integers_do_not_escape_the_bound() -> None:
    random = np.random.default_rng(5)
    rows = random.integers(-1, 2, (400, 96)).astype(np.float32)
    rows[:, 0] = 1.0
    rows[200:] = rows[:200]
    rows[200:, 5] += 1.0
    exact = pairs(pairs_above(rows, 0.93))
    assert len(exact) >= 200
    assert pairs(similar_pairs(rows, 0.93, choice=way("prefix", rows, 0.93))) == exact


def test_one_row_far_out_and_rows_all_alike_do_not_escape_the_bound() -> None:
    rows = rows_at(300, 96, 0.96)
    rows -= rows.mean(axis=0)
    rows[7] = 1000 * (rows[:5].sum(axis=0) - 3 * rows[20])
    for some in (rows, np.repeat(rows[:1], 40, axis=0), np.repeat(rows[:2], 3, axis=0)):
        exact = pairs(pairs_above(some, 0.95))
        assert exact
        assert pairs(similar_pairs(some, 0.95, choice=way("prefix", some, 0.95))) == exact


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_threshold_itself_counts_only_where_it_is_to(kernels: bool, inclusive: bool) -> None:
    rows = np.zeros((3, 64), dtype=np.float32)
    rows[0, 0] = 1
    rows[1, :6] = (19, 6, 1, 1, 1, 0)  # a cosine of 0.95 with the first
    rows[2, 9] = 1
    for method in WAYS:
        choice = way(method, rows, 0.95)
        found = pairs(similar_pairs(rows, 0.95, inclusive=inclusive, choice=choice))
        assert found == ({(0, 1): 0.95} if inclusive else {})


@pytest.mark.parametrize("planes", [16, 40, 64, 96, 128, 384])
def test_however_many_coordinates_there_are_no_pair_is_lost(planes: int) -> None:
    rows = rows_at(1_500, 384, 0.96)
    choice = way("prefix", rows, 0.95, planes=planes)
    work = JoinWork()
    found = pairs(similar_pairs(rows, 0.95, choice=choice, work=work))
    assert len(found) >= 700
    assert found == pairs(pairs_above(rows, 0.95))
    if planes >= 40:
        assert work.verified <= work.compared / 100


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 127), st.integers(0, 3_000), st.booleans())
def test_rows_pass_up_to_a_distance_in_steps_and_hardly_beyond(
    seed: int, widest: int, most: int, signed: bool
) -> None:
    random = np.random.default_rng(seed)
    whole = random.integers(-widest if signed else widest - 1, widest + 1, (40, 8)).astype(np.int8)
    laid = laid_out(Steps(whole, most))
    cells = laid.tiles[0][:, :40]
    passes = cells[0] + laid.queries[:40, 1:] @ cells[1:] >= laid.queries[:40, :1]
    wide = whole.astype(np.int64)
    apart = ((wide[:, None] - wide) ** 2).sum(axis=2)
    assert passes[apart <= most].all()
    assert not passes[apart > most + 2].any()


def test_few_rows_are_compared_in_full_and_many_by_what_costs_less() -> None:
    few, many = rows_at(2_000, 384, 0.9), rows_at(70_000, 384, 0.9)
    assert choose(Join(few, row_norms(few), 0.95)).method == "product"
    join = Join(many, row_norms(many), 0.95)
    assert choose(join, exact=True).method == "prefix"
    chosen = choose(join)
    assert chosen.method == "bands"
    assert chosen.expected_recall >= 0.9999
    assert "0.9999" in chosen.line()


def test_where_kernels_are_loaded_fewer_rows_are_worth_them_but_only_an_exact_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rows_at(13_000, 384, 0.9)
    join = Join(rows, row_norms(rows), 0.95)
    monkeypatch.setitem(
        sys.modules, "echoless.blocking.vector_join.bit_kernels", ModuleType("loaded")
    )
    loaded = choose(join)
    assert loaded.exact
    assert loaded.method != "product"
    monkeypatch.delitem(sys.modules, "echoless.blocking.vector_join.bit_kernels")
    assert choose(join).method == "product"


def test_the_exact_way_stays_exact_where_bits_tell_nothing() -> None:
    rows = rows_at(30_000, 64, 0.9)
    assert choose(Join(rows, row_norms(rows), 0.2), exact=True).method == "product"


def test_directions_are_weighed_by_rows_they_were_not_fitted_to() -> None:
    rows = rows_at(20_000, 384, 0.9)  # in all directions: none of them tells more than others
    chosen = choose(Join(rows, row_norms(rows), 0.8), exact=True)
    work = JoinWork()
    list(similar_pairs(rows, 0.8, choice=chosen, work=work))
    assert work.verified <= work.compared / 1_000


def test_the_choice_does_not_hang_on_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_at(40_000, 128, 0.9)
    join = Join(rows, row_norms(rows), 0.95)
    first = choose(join)
    monkeypatch.setenv(COMPILED, "0")
    again = choose(join)
    assert (first.method, first.layout) == (again.method, again.layout)


@pytest.mark.parametrize("exact", [True, False])
def test_bits_leave_little_to_be_compared_in_full(exact: bool) -> None:
    rows = rows_at(20_000, 128, 0.96)
    join = Join(rows, row_norms(rows), 0.95)
    choice = choose(join, exact=exact)
    if choice.method == "product" or choice.exact != exact:
        choice = way("prefix" if exact else "bands", rows, 0.95, planes=48)
    work = JoinWork()
    found = pairs(similar_pairs(rows, 0.95, choice=choice, work=work))
    assert len(found) >= 0.999 * 10_000
    look_alikes = work.compared / 1_000 if exact else 3 * len(found)
    assert work.verified <= look_alikes, "more was compared in full than a few look-alikes"
    assert work.compared <= len(rows) * (len(rows) - 1) // 2


# ------------------------------------------------------------------ crowds


@pytest.mark.parametrize("method", WAYS)
def test_equal_rows_are_all_paired_or_as_a_star(kernels: bool, method: Method) -> None:
    rows = np.repeat(rows_at(6, 64, 0.5), 50, axis=0)
    choice = way(method, rows, 0.9)
    assert pairs(similar_pairs(rows, 0.9, choice=choice)) == pairs(pairs_above(rows, 0.9))
    star = pairs(similar_pairs(rows, 0.9, choice=choice, most=10))
    assert set(star) >= {(i - i % 50, i) for i in range(300) if i % 50}
    assert len(star) <= 300 * 10


@pytest.mark.parametrize("threshold", [0.8, 0.95])
def test_what_is_kept_of_a_crowd_does_not_hang_on_the_way(kernels: bool, threshold: float) -> None:
    random = np.random.default_rng(0)
    base = random.standard_normal((20, 64))
    rows = random.standard_normal((2_600, 20)) @ base
    one = random.standard_normal((1, 20)) @ base
    rows[:1_700] = one + 0.2 * random.standard_normal((1_700, 20)) @ base
    rows = rows[random.permutation(len(rows))].astype(np.float32)
    methods: tuple[Method, ...] = ("product", "prefix")
    told = [
        pairs(similar_pairs(rows, threshold, choice=way(each, rows, threshold), most=30))
        for each in methods
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 20_000


@pytest.mark.parametrize("method", WAYS)
def test_of_a_crowd_each_row_keeps_the_first_and_the_closest(kernels: bool, method: Method) -> None:
    random = np.random.default_rng(3)
    one = random.standard_normal(64)
    rows = (one + 0.05 * random.standard_normal((3_000, 64))).astype(np.float32)
    if not kernels:
        rows = rows[:600]
    work = JoinWork()
    found = pairs(similar_pairs(rows, 0.8, choice=way(method, rows, 0.8), most=8, work=work))
    by_row: dict[int, list[int]] = {}
    for i, j in found:
        by_row.setdefault(j, []).append(i)
    assert all(set(range(4)) <= set(by_row[j]) for j in range(10, len(rows)))
    assert max(map(len, by_row.values())) <= 8
    assert work.crowded >= len(rows) - 20
    if kernels and method != "product":
        assert work.verified <= 2 * SEEN_ENOUGH * len(rows), "no row looks at a whole crowd"


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.integers(1, 6))
def test_partners_are_kept_by_the_rule(seed: int, size: int, most: int) -> None:
    random = np.random.default_rng(seed)
    one, other = np.triu_indices(size, k=1)
    similarity = np.round(random.uniform(0.5, 1.0, len(one)), 1)
    kept = kept_partners(one, other, similarity, most)
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


def test_rows_may_be_mapped_from_a_file(tmp_path, kernels: bool) -> None:  # type: ignore[no-untyped-def]
    rows = rows_at(500, 64, 0.96)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for method in WAYS:
        choice = way(method, rows, 0.95)
        assert pairs(similar_pairs(mapped, 0.95, choice=choice)) == pairs(
            similar_pairs(rows, 0.95, choice=choice)
        )


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


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_number_of_threads_changes_nothing(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_at(5_000, 64, 0.92)
    choices = {method: way(method, rows, 0.9) for method in WAYS}

    def found() -> dict[str, list[list[int]]]:
        return {
            method: [hits[0].tolist() for hits in similar_pairs(rows, 0.9, choice=choice)]
            for method, choice in choices.items()
        }

    before = found()
    monkeypatch.setenv("ECHOLESS_THREADS", threads)
    assert found() == before


def test_a_compiler_that_may_not_use_wide_registers_finds_the_same_pairs(tmp_path: Path) -> None:
    rows = rows_at(1_000, 384, 0.96)
    np.save(tmp_path / "rows.npy", rows)
    work = JoinWork()
    choice = way("prefix", rows, 0.95, planes=48)
    expected = pairs(similar_pairs(rows, 0.95, choice=choice, work=work))
    code = (
        "import sys\n"
        "import numpy as np\n"
        "from tests.blocking.vector_join.test_planner import (\n"
        "    JoinWork, pairs, similar_pairs, way)\n"
        "rows, work = np.load(sys.argv[1]), JoinWork()\n"
        "choice = way('prefix', rows, 0.95, planes=48)\n"
        "found = pairs(similar_pairs(rows, 0.95, choice=choice, work=work))\n"
        "print(len(found), sum(found.values()), work.verified)\n"
    )
    environment = {**os.environ, "NUMBA_ENABLE_AVX": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "rows.npy"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert told == [str(len(expected)), str(sum(expected.values())), str(work.verified)]
    assert len(expected) >= 450


def test_a_second_process_finds_the_kernels_compiled(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from echoless.blocking.vector_join.bit_kernels import scan\n"
        "from echoless.blocking.vector_join.prefix_join import PrefixSieve\n"
        "from echoless.blocking.vector_join.projections import Frame, random_planes\n"
        "from echoless.blocking.vector_join.planner import Choice, similar_pairs\n"
        "rows = np.eye(64, dtype=np.float32)\n"
        "frame = Frame(np.zeros(64, dtype=np.float32), random_planes(12, 64))\n"
        "choice = Choice('prefix', 1.0, 0.0, sieve=PrefixSieve(frame))\n"
        "list(similar_pairs(rows, 0.9, choice=choice))\n"
        "print(sum(scan.stats.cache_misses.values()), sum(scan.stats.cache_hits.values()))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert told == [["1", "0"], ["0", "1"]]
