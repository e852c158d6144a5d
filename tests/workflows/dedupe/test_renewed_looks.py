"""Looks of which only the changed memories are asked for: the same result as from nothing."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import Findings, Memory, audit, find, open_store, plan
from echoless.blocking import candidate_cache as looks
from echoless.blocking import known_pairs, pair_budget
from echoless.blocking.vector_join.exact_join import JoinWork
from echoless.core import text_facts_cache as readings
from echoless.core.model import Vector
from echoless.core.own_folders import CACHE as FOLDER
from echoless.core.settings import Choices, Settings, resolve
from echoless.stores.base import Store
from echoless.testing.stores import fill
from echoless.workflows.audit.report import findings_json, report_json
from tests.laws.worlds import folder
from tests.workflows.store_changes import Change, changed, changes

TEXTS = [
    f"{who} keeps the {what} of the {where} team in room {room}"
    for who in ("Ada", "Ben")
    for what in ("printer", "scanner")
    for where in ("north", "south")
    for room in (14, 41)
]
MODEL = "bag-of-words@1"


def stored(threshold: float) -> Settings:
    """The default profile with stored vectors and a threshold of their cosine."""
    return resolve(Choices(encoder="stored", threshold=("lexical=0.9", f"semantic={threshold}")))


SETTINGS = [stored(0.8), stored(0.6)]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own, used for any number of memories."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    for module in (looks, readings):
        monkeypatch.setattr(module, "KEPT_FROM", 1)
    monkeypatch.setattr(pair_budget, "WHOLE_UP_TO", 3)
    return tmp_path / "cache"


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[JoinWork]:
    """The counts of each vector join since this was emptied."""
    made: list[JoinWork] = []
    begin: Callable[..., None] = JoinWork.__init__

    def counting(self: JoinWork, *values: object, **named: object) -> None:
        begin(self, *values, **named)
        made.append(self)

    monkeypatch.setattr(JoinWork, "__init__", counting)
    return made


def with_vector(memory: Memory) -> Memory:
    """The memory with a vector of its words; one in twelve texts has none."""
    words = memory.content.lower().split()
    rows = [np.frombuffer(hashlib.sha256(word.encode()).digest()[:16], np.int8) for word in words]
    total: list[float] = np.stack(rows).sum(axis=0, dtype=np.float64).tolist() if rows else []
    if not any(total) or hashlib.sha256(memory.content.encode()).digest()[0] % 12 == 0:
        return replace(memory, vectors=())
    return replace(memory, vectors=(Vector(MODEL, struct.pack("<16f", *total)),))


def put(store: Store, memories: Iterator[Memory] | list[Memory]) -> None:
    with store.writing():
        store.put([with_vector(memory) for memory in memories])


def result(found: Findings) -> object:
    """All that a run says, its plan and its report."""
    report = report_json(audit(found))
    return findings_json(found), repr(found.judged), plan(found).to_json()["actions"], report


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, [with_vector(Memory(id=f"m-{n:02}", content=t)) for n, t in enumerate(TEXTS)])
    with open_store(url) as opened:
        yield opened


def test_only_changed_memories_are_compared_by_vector(
    store: Store, compared: list[JoinWork]
) -> None:
    rows = sum(bool(memory.vectors) for memory in store.scan())
    first = find(store, SETTINGS[0])
    assert first.renewed == 0
    assert sum(work.compared for work in compared) == rows * (rows - 1) // 2
    compared.clear()
    put(store, [replace(store.get(["m-05"])["m-05"], content="Ada keeps the key of the roof")])
    second = find(store, SETTINGS[0])
    assert second.renewed == 1
    assert sum(work.compared for work in compared) == rows


def test_a_third_run_builds_on_the_second(store: Store) -> None:
    for text in ("Ada keeps the key", "Ada keeps the keys", "Ben keeps the keys"):
        put(store, [Memory(id=f"n-{text}", content=text)])
        after = find(store, SETTINGS[0])
        fresh = find(store, replace(SETTINGS[0], cache=False))
        assert findings_json(after) == findings_json(fresh)
    assert after.renewed == 1


@pytest.mark.parametrize("gone", range(1, 5))
def test_where_a_partner_goes_the_next_closest_takes_its_place(
    store: Store, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    monkeypatch.setattr(pair_budget, "PAIRS_PER_MEMORY", 2)
    monkeypatch.setattr(known_pairs, "FEW", 1)
    find(store, SETTINGS[1])
    with store.writing():
        store.remove([f"m-{gone:02}"])
    after, fresh = (find(store, replace(SETTINGS[1], cache=cache)) for cache in (True, False))
    assert (after.renewed, fresh.renewed) == (1, 0)
    assert findings_json(after) == findings_json(fresh)
    assert after.judged == fresh.judged


def test_where_much_changed_all_is_compared(store: Store, compared: list[JoinWork]) -> None:
    find(store, SETTINGS[0])
    compared.clear()
    put(store, [replace(m, content=m.content[::-1]) for m in list(store.scan())[:8]])
    assert find(store, SETTINGS[0]).renewed == 0


def test_a_damaged_look_costs_a_note_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(store, SETTINGS[0])
    put(store, [Memory(id="new", content="Cleo keeps the keys")])
    monkeypatch.setattr(known_pairs, "unpacked", lambda _data: None)
    found = find(store, SETTINGS[0])
    assert found.renewed == 0
    assert any("cache of proposals" in note for note in found.tally.notes)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=st.lists(st.tuples(changes(TEXTS), st.sampled_from(SETTINGS)), min_size=1, max_size=2),
    most=st.sampled_from([2, 30]),
    few=st.sampled_from([1, 8]),
)
def test_a_history_of_changes_gives_what_runs_from_nothing_give(
    own_cache: Path, history: list[tuple[list[Change], Settings]], most: int, few: int
) -> None:
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_budget, "PAIRS_PER_MEMORY", most)
        patch.setattr(known_pairs, "FEW", few)
        patch.setenv(FOLDER, f"{place}/kept")
        url = f"sqlite:///{place}/agent.db"
        fill(url, [with_vector(Memory(id=f"t-{n}", content=t)) for n, t in enumerate(TEXTS)])
        with open_store(url) as store:
            find(store, SETTINGS[0])
            for number, (told, chosen) in enumerate(history):
                changed(store, told)
                put(store, list(store.scan()))
                after = find(store, chosen)
                with pytest.MonkeyPatch.context() as alone:
                    alone.setenv(FOLDER, f"{place}/empty-{number}")
                    fresh = find(store, chosen)
                assert fresh.renewed == fresh.taken_over == 0
                assert result(after) == result(fresh)
