"""Rows of terms: the same numbers however they are made, and the memory that making them takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless.blocking.text_join import tfidf_rows
from echoless.blocking.text_join.shingling import Runs, starts_of
from echoless.blocking.text_join.tfidf_rows import Numbering, gram_rows, held_by, rows_and_clues
from echoless.core.threads import THREADS
from tests.blocking.text_join.test_text_joins import sentences

MOST_BYTES = 1_900
"""Of one of 20,000 texts, at the peak, by one thread: 1,750 measured. Most of it is the work on one
batch."""


def _numbers(values: NDArray[np.uint64]) -> list[int]:
    names = Numbering()
    parts = np.array_split(values, 7)
    numbers = [number for part in parts for number in names.numbers(part).tolist()]
    assert names.values()[numbers].tolist() == values.tolist()
    assert len(names.values()) == names.known == len(set(values.tolist()))
    return numbers


def test_equal_values_of_several_batches_have_one_number() -> None:
    random_ = np.random.default_rng(1)
    few = random_.integers(1, 1 << 63, 60_000).astype(np.uint64)
    values = np.concatenate([few, random_.choice(few, 40_000)])
    assert len(set(_numbers(values))) == len(set(values.tolist()))


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

    rows_and_clues(iter(texts), 3)  # fills the cache of words
    tracemalloc.start()
    rows_and_clues(iter(texts), 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES * len(texts)
