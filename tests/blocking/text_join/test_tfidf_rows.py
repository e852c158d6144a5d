"""Rows of terms: the same numbers however they are made, and the memory that making them takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless.blocking.text_join import tfidf_rows
from echoless.blocking.text_join.shingling import Runs, starts_of
from echoless.blocking.text_join.tfidf_rows import Numbering, gram_rows, held_by, rows_and_clues
from echoless.core.runtime import THREADS
from tests.blocking.text_join.test_text_joins import sentences, with_compiler

MOST_BYTES = 1_600
"""Of one of 20,000 texts, at the peak, by one thread; 2,000 where terms are a list of arrays and
are counted at once, 1,320 where not. Most of it is the work on one batch."""


def _numbers(values: NDArray[np.uint64]) -> list[int]:
    names = Numbering()
    parts = np.array_split(values, 7)
    numbers = [number for part in parts for number in names.numbers(part).tolist()]
    assert names.values()[numbers].tolist() == values.tolist()
    assert len(names.values()) == names.known == len(set(values.tolist()))
    return numbers


def test_values_are_numbered_in_batches_by_loops_and_by_numpy() -> None:
    random_ = np.random.default_rng(1)
    few = random_.integers(1, 1 << 63, 60_000).astype(np.uint64)
    values = np.concatenate([few, random_.choice(few, 40_000)])  # the table grows twice
    first: dict[int, int] = {}
    wanted = [first.setdefault(value, len(first)) for value in values.tolist()]
    assert with_compiler(True, lambda: _numbers(values)) == wanted
    # without loops the values of one batch are numbered in their own order
    assert len(set(with_compiler(False, lambda: _numbers(values)))) == len(first)


def test_a_table_of_numbers_is_never_more_than_half_full() -> None:
    def work() -> None:
        names = Numbering()
        for start in range(1, 200_001, 50_000):
            names.numbers(np.arange(start, start + 50_000, dtype=np.uint64))
            assert 2 * names.known <= len(names._slots) <= 4 * (names.known + 50_000)

    with_compiler(True, work)


def test_counts_are_as_wide_as_the_widest_of_them() -> None:
    def rows(times: int) -> tfidf_rows.TermRows:
        return gram_rows(["one more text", "ab" * times, "and another"], 3)

    for times, kind in ((3, np.uint8), (400, np.uint16)):
        made = rows(times)
        assert made.counts.dtype == kind
        assert made.counts.max() in {2, times - 1, times}
        assert made.terms.dtype == np.int32
        assert len(made.terms) == len(made.counts)


def test_a_batch_of_larger_counts_widens_those_before() -> None:
    collector = tfidf_rows._Collector()
    for count in (1, 300, 2):
        runs = Runs(starts_of(np.array([1])), np.array([7], dtype=np.uint64))
        collector.add(runs, np.array([count], dtype=np.int32))
    assert collector.rows().counts.tolist() == [1, 300, 2]
    assert collector.rows().counts.dtype == np.uint16


def test_no_text_has_no_rows() -> None:
    rows, clues = rows_and_clues([], 3)
    assert rows.rows == 0
    assert len(rows.terms) == len(clues.terms) == len(clues.held) == 0


def test_rows_are_counted_in_steps_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = np.random.default_rng(3).integers(0, 40, 1_000).astype(np.int32)
    monkeypatch.setattr(tfidf_rows, "_AT_ONCE", 7)
    assert held_by(terms, 41).tolist() == np.bincount(terms, minlength=41).tolist()


def test_clues_are_numbered_anew_in_steps_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(sentences(300))
    whole = rows_and_clues(texts, 3)
    monkeypatch.setattr(tfidf_rows, "_AT_ONCE", 7)
    again = rows_and_clues(texts, 3)
    for before, now in zip(whole, again, strict=True):
        for name in before.__slots__:
            assert np.array_equal(getattr(before, name), getattr(now, name))


def test_making_rows_takes_little_more_memory_than_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(THREADS, "1")
    texts = list(sentences(20_000))

    def peak_of(work: Callable[[], object]) -> int:
        work()  # compiles
        tracemalloc.start()
        work()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak = with_compiler(True, lambda: peak_of(lambda: rows_and_clues(iter(texts), 3)))
    assert peak < MOST_BYTES * len(texts)
