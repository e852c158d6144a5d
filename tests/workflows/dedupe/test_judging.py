"""Pairs with little wording in common: the closest of a namespace are judged, the rest counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from echoless import Memory, audit, find, open_store
from echoless.blocking.pair_scores import Measured, PairSignals, gathered
from echoless.core.claims import is_long
from echoless.core.model import Vector
from echoless.core.settings import Choices, resolve
from echoless.matching.fields import fields_of
from echoless.workflows.dedupe import judging
from tests.conformance.stores import fill

WORDS = ("harbour", "invoice", "lantern", "meadow", "orchid", "quarry", "saddle", "violin")
TEXTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
        st.sampled_from(("", "one", "two")),
        st.booleans(),
    ),
    min_size=2,
    max_size=9,
)


@st.composite
def proposals(draw: st.DrawFn) -> tuple[dict[str, Memory], PairSignals]:
    """Some memories, and what one or two detectors measured of some of their pairs."""
    memories = {
        f"m-{number}": Memory(
            id=f"m-{number}", content=text + " and so on" * 100 * long, namespace=namespace
        )
        for number, (text, namespace, long) in enumerate(draw(TEXTS))
    }
    ids, size = sorted(memories), len(memories)
    every = [low * size + high for low in range(size) for high in range(low + 1, size)]
    some = st.lists(st.sampled_from(every), unique=True, min_size=1)
    found = []
    for name in draw(st.sampled_from((("semantic",), ("lexical", "semantic")))):
        keys = np.array(draw(some), dtype=np.int64)
        values = st.lists(st.sampled_from((0.5, 0.6, 0.7)), min_size=len(keys), max_size=len(keys))
        found.append(Measured(name, keys, np.array(draw(values))))
    return memories, gathered(ids, found)


def is_far(one: str, other: str) -> bool:
    """Whether two texts have little wording in common, one by one."""
    if is_long(one) or is_long(other):
        return False
    a, b = fields_of(one).sentence, fields_of(other).sentence
    if max(fuzz.ratio(one, other), fuzz.ratio(a, b)) >= 60:
        return False
    return fuzz.token_set_ratio(a, b) < 80


def plain(memories: Mapping[str, Memory], signals: PairSignals, most: int) -> set[tuple[str, str]]:
    """The pairs that stay, said in the plainest way."""
    kept = set[tuple[str, str]]()
    far: dict[str | None, list[tuple[str, str]]] = {}
    for a, b in signals:
        names = {memories[a].namespace, memories[b].namespace}
        far.setdefault(names.pop() if len(names) == 1 else None, []).append((a, b))
    for pairs in far.values():
        own = [(a, b) for a, b in pairs if is_far(memories[a].content, memories[b].content)]
        if len(pairs) <= most:
            own = []
        kept |= set(pairs) - set(own)
        for detector in ("lexical", "semantic"):
            measured = [pair for pair in own if detector in signals[pair]]
            measured.sort(key=lambda pair: (-signals[pair][detector], pair))
            kept.update(measured[:most])
    return kept


@given(proposals(), st.integers(0, 4))
def test_of_each_namespace_and_detector_the_closest_judging_stay(
    drawn: tuple[dict[str, Memory], PairSignals], most: int
) -> None:
    memories, signals = drawn
    made = judging.within_budget(signals, memories, most=most)
    assert set(made) == plain(memories, signals, most)
    assert all(made[pair] == signals[pair] for pair in made)


def sentences(count: int) -> list[Memory]:
    """Memories with no word in common, and with vectors that are close to each other."""
    source = np.random.default_rng(20261125)
    made = []
    for number in range(count):
        vector = np.array([1.0, 0.2 * source.random(), 0.2 * source.random()], dtype="<f4")
        vector /= np.linalg.norm(vector)
        text = " ".join("".join(map(chr, source.integers(97, 123, 7))) for _ in range(6))
        made.append(
            Memory(id=f"m-{number:03d}", content=text, vectors=(Vector("m@1", vector.tobytes()),))
        )
    return made


SETTINGS = resolve(Choices(encoder="stored", threshold=("semantic=0.8",)))


def test_a_run_judges_the_closest_judging_and_says_how_many_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    fill(path, sentences(20))
    with open_store(path) as store:
        whole = find(store, SETTINGS)
        monkeypatch.setattr(judging, "MOST_FAR", 50)
        some = find(store, SETTINGS)
        told = audit(some)
    assert whole.counts["candidates"] == 190
    assert whole.counts["left_out"] == 0
    assert some.counts["candidates"] == 50
    assert some.counts["left_out"] == 140
    closest = sorted(whole.judged, key=lambda j: -j.verdict.evidence.similarity)[:50]
    assert {(j.a, j.b) for j in some.judged} == {(j.a, j.b) for j in closest}
    assert told.counts["left_out"] == told.counts["unasked"] == 140
    assert told.unasked == (
        "140 pairs that are probably no copies were not checked by the pair model. "
        "--thorough checks all of them."
    )


def test_a_thorough_run_judges_every_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    fill(path, sentences(20))
    monkeypatch.setattr(judging, "MOST_FAR", 50)
    with open_store(path) as store:
        whole = find(store, replace(SETTINGS, thorough=True))
    assert (whole.counts["candidates"], whole.counts["left_out"]) == (190, 0)
    assert whole.counts["unasked"] == 0
    assert whole.settings.digest != SETTINGS.digest


def test_a_profile_that_reads_no_text_judges_every_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    fill(path, sentences(20))
    monkeypatch.setattr(judging, "MOST_FAR", 5)
    chosen = resolve(Choices(profile="ego"))
    with open_store(path) as store:
        found = find(store, chosen)
    assert found.settings.profile.judge != "full"
    assert (found.counts["candidates"], found.counts["left_out"]) == (190, 0)
