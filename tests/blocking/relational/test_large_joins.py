"""Joins on files give the pairs and the similarities of those in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless import Memory, open_store
from echoless.blocking import pair_budget
from echoless.blocking.candidates import Preference, candidates, open_vectors
from echoless.blocking.detectors import lexical
from echoless.blocking.relational import large_joins, wording
from echoless.blocking.relational.engines import DuckDbEngine
from echoless.blocking.relational.large_joins import LargeJoins, joins_for
from echoless.blocking.text_join import approximate_tfidf_join
from echoless.blocking.top_k import kept_partners
from echoless.core.errors import MissingExtra
from echoless.core.model import Vector
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.workflows.dedupe.pipeline import find, plan
from tests.blocking.relational.equal_joins import (
    check_texts,
    texts,
)

SMALL = LargeJoins(block=40)


@settings(max_examples=8)
@given(
    seed=st.integers(0, 9_999),
    count=st.integers(0, 150),
    words=st.integers(3, 80),
    crowd=st.integers(0, 120),
    most=st.sampled_from([1, 4, 30]),
)
def test_texts_have_the_pairs_of_the_join_in_memory(
    seed: int, count: int, words: int, crowd: int, most: int
) -> None:
    check_texts(texts(seed, count, words, crowd), SMALL, most)


def test_words_of_very_many_texts_are_read_as_far_as_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joins = LargeJoins(block=100)
    monkeypatch.setattr(approximate_tfidf_join, "POSTINGS", 50)
    monkeypatch.setattr(wording, "POSTINGS", 50)
    pairs = check_texts(texts(2, 400, 40, 300), joins, 5)
    assert pairs.cut > 300


def test_texts_without_n_grams_give_no_pair() -> None:
    assert len(check_texts(["", " "], SMALL, 4).one) == 0


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(31, 34), st.sampled_from([0.5, 0.6, 0.9, 0.95])),
        unique_by=lambda pair: pair[:2],
        max_size=80,
    ),
    st.integers(0, 80),
    st.integers(1, 6),
)
def test_partners_chosen_from_parts_are_those_chosen_from_the_whole(
    pairs: list[tuple[int, int, float]], cut: int, most: int
) -> None:
    def chosen(some: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
        one, other, similarity = (np.array(column) for column in zip(*some, strict=True))
        keep = kept_partners(one, other, similarity, most)
        return [pair for pair, wanted in zip(some, keep.tolist(), strict=True) if wanted]

    parts = [chosen(part) for part in (pairs[:cut], pairs[cut:]) if part]
    merged = chosen([pair for part in parts for pair in part]) if pairs else []
    assert sorted(merged) == sorted(chosen(pairs) if pairs else [])


def stored(count: int, seed: int, dimensions: int) -> Iterator[Memory]:
    """Yields memories of which one in ten nearly repeats another, in words and in vector."""
    random = np.random.default_rng(seed)
    words = random.integers(0, count, (count, 9))
    rows = random.standard_normal((count, dimensions), dtype=np.float32)
    again = random.permutation(count)[: count // 5].reshape(-1, 2)
    words[again[:, 0]], rows[again[:, 0]] = words[again[:, 1]], rows[again[:, 1]]
    rows[again[:, 0]] += 0.1 * random.standard_normal((len(again), dimensions), dtype=np.float32)
    repeated = set(again[:, 0].tolist())
    for number, chosen in enumerate(words.tolist()):
        content = " ".join(
            "".join(chr(97 + int(digit)) for digit in f"{word:05d}") for word in chosen
        )
        content = f"**{content.upper()}**." if number in repeated else content
        vector = Vector("drawn@1", rows[number].astype("<f4").tobytes())
        yield Memory(id=f"{number:06d}", content=content, vectors=(vector,))


def told(tally: Tally) -> tuple[object, ...]:
    """Returns what a run reports beside its pairs."""
    return tally.skipped, tuple(tally.lasting)


def chosen_settings() -> Settings:
    return replace(resolve(Choices(profile="safe", encoder="stored"), proposed="safe"), cache=False)


def test_a_plan_is_the_same_whether_partitions_are_joined_in_memory_or_on_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "EXACT_UP_TO", 1)
    monkeypatch.setattr(pair_budget, "WHOLE_UP_TO", 1)
    with open_store(f"sqlite:///{tmp_path / 'memories.db'}", create=True) as store:
        with store.writing():
            store.put([*stored(300, 5, 64)])
        usual = find(store, chosen_settings())
        joins = LargeJoins(folder=tmp_path / "joins", block=40)
        on_files = find(store, chosen_settings(), joins=joins)
        assert len(usual.groups) > 10
        assert on_files.groups == usual.groups
        assert on_files.judged == usual.judged
        assert told(on_files.tally) == told(usual.tally)
        assert plan(on_files).digest == plan(usual).digest
        assert list((tmp_path / "joins").iterdir()) == []


def test_a_large_partition_has_the_candidates_of_the_joins_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lexical, "EXACT_UP_TO", 5_000)
    memories = {memory.id: memory for memory in stored(5_200, 6, 64)}
    copies = {id_: (id_,) for id_ in memories}
    placed: list[int] = []
    place = DuckDbEngine.place_clues

    def counted(self: DuckDbEngine, clues: Path, into: Path, block: int) -> None:
        placed.append(1)
        place(self, clues, into, block)

    monkeypatch.setattr(DuckDbEngine, "place_clues", counted)
    signals = []
    for joins in (None, LargeJoins(least=5_000)):
        tally = Tally()
        given = chosen_settings()
        vectoriser = open_vectors(given, tally, lambda *_: None)
        found = candidates(
            memories, copies, given, tally, lambda *_: None, vectoriser, Preference(), joins
        )
        signals.append((list(found.signals.items()), found.left_out, found.notes, told(tally)))
    assert len(placed) == 1
    assert signals[0] == signals[1]
    assert len(signals[0][0]) > 500


def test_joins_on_files_begin_where_memory_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_joins, "memory_of_machine", lambda: 7_600_000_000)
    assert joins_for(999_999) is None
    joins = joins_for(1_000_000)
    assert joins is not None
    assert joins.least == 1_000_000


def test_without_the_extra_all_stays_in_memory_and_an_engine_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("echoless.core.optional.is_installed", lambda _name: False)
    monkeypatch.setattr(large_joins, "is_installed", lambda _name: False)
    assert joins_for(1 << 40) is None
    with pytest.raises(MissingExtra, match=r"echoless\[scale\]"):
        DuckDbEngine()
