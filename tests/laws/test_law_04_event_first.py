"""Law 4: event first, mutation second; a crash at any point leaves a store that `check` mends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from echoless import apply, check, history, open_store, undo
from echoless.core.errors import StoreReadOnly
from echoless.core.model import Link, Memory
from echoless.execution.plan import Plan
from echoless.execution.rollback import STANDING
from echoless.stores import Store
from tests.conformance.crash import killed_at
from tests.conformance.stores import plan_by_hand, simple
from tests.laws.worlds import KINDS, SUFFIX, open_world, picture

ACTIONS = ("mark", "merge", "delete")


def told() -> list[Memory]:
    return [
        simple(1, tags=("a",)),
        simple(2, tags=("b",), metadata={"only": "here"}, access_count=2),
        simple(3, links=(Link("m-2"), Link("m-5"))),
        simple(4, extra={"cluster": "c"}),
        simple(5, tags=("e",)),
        simple(6, tags=("f", "a")),
    ]


GROUPS = [("m-1", "m-2"), ("m-4", "m-5", "m-6")]


def told_at_length() -> list[Memory]:
    return told() + [
        simple(n, tags=(f"t{n}",), metadata={f"k{n}": n}, links=(Link(f"m-{n % 5 + 1}"),))
        for n in range(7, 10)
    ]


MANY_GROUPS = [*GROUPS, ("m-7", "m-8", "m-9")]

WORLDS = {"two groups": (told, GROUPS), "three groups": (told_at_length, MANY_GROUPS)}

POINTS = {
    ("sqlite", "mark"): 25,
    ("sqlite", "merge"): 90,
    ("sqlite", "delete"): 230,
    ("jsonl", "mark"): 30,
    ("jsonl", "merge"): 40,
    ("jsonl", "delete"): 50,
}
"""Writes a run over three groups has at least; `benchmarks.faults` has larger runs."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_at_every_write_of_apply_no_memory_is_lost_and_undo_is_exact(
    tmp_path: Path, kind: str, action: str
) -> None:
    memories, groups = WORLDS["three groups"]
    original = tmp_path / "original"
    original.mkdir()
    with open_world(kind, memories(), original) as store:
        before = picture(store)
    points = 0
    for step in range(100_000):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        url = f"{kind}:///{place}/memories.{SUFFIX[kind]}"
        with open_store(url) as store:
            plan = plan_by_hand(store, groups, action)
        killed = killed_at(step, lambda plan=plan, url=url: _apply(url, plan))
        done = None if killed else True
        _recovers(url, before, action, "three groups", expected_done=done)
        shutil.rmtree(place)
        if not killed:
            break
        points += 1
    assert not killed, "the work has no end"
    assert points >= POINTS[kind, action]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_at_every_write_of_undo_it_can_be_brought_to_its_end(
    tmp_path: Path, kind: str, action: str
) -> None:
    original = tmp_path / "original"
    original.mkdir()
    with open_world(kind, told(), original) as store:
        before = picture(store)
        run = apply(store, plan_by_hand(store, GROUPS, action)).id
    for step in range(100_000):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        url = f"{kind}:///{place}/memories.{SUFFIX[kind]}"
        killed = killed_at(step, lambda url=url: _undo(url, run))
        _recovers(url, before, action, "two groups", expected_done=None)
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"


def _apply(url: str, plan: Plan) -> None:
    with open_store(url) as store:
        apply(store, plan)


def _undo(url: str, run: str) -> None:
    with open_store(url) as store:
        undo(store, run)


def _recovers(
    url: str, before: object, action: str, size: str, *, expected_done: bool | None
) -> None:
    """After `check`, every action stands whole or not at all, and undo gives back the beginning."""
    with open_store(url) as store:
        health = check(store)
        assert health.sound, health.problems
        assert check(store).problems == ()
        standing = [run for run in history(store.ledger) if run.status in STANDING]
        if expected_done:
            assert len(standing) == 1
        _nothing_is_lost(store, action, size)
        for run in standing:
            undo(store, run.id)
        assert picture(store) == before
        assert store.ledger.marks() == {}


def _nothing_is_lost(store: Store, action: str, size: str) -> None:
    """Each memory is there, or its survivor stands with all it knew."""
    memories_told, groups = WORLDS[size]
    originals = {m.id: m for m in memories_told()}
    memories = {m.id: m for m in store.scan()}
    marks = store.ledger.marks()
    for group in groups:
        survivor = memories[group[0]]
        for member in group[1:]:
            original = originals[member]
            if member in memories:
                assert memories[member].content == original.content
                assert member not in marks or action != "delete"
            else:
                assert action == "delete"
            if member not in memories or (member in marks and action == "merge"):
                assert set(original.tags) <= set(survivor.tags)
                assert original.metadata.items() <= survivor.metadata.items()


def test_a_merge_that_changes_only_counts_is_recovered_exactly(tmp_path: Path) -> None:
    memories = [simple(1, "Told twice.", access_count=3), simple(2, "Told twice.", access_count=2)]
    original = tmp_path / "original"
    original.mkdir()
    with open_world("jsonl", memories, original) as store:
        before = picture(store)
    for step in range(10_000):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        url = f"jsonl:///{place}/memories.jsonl"
        with open_store(url) as store:
            plan = plan_by_hand(store, [("m-1", "m-2")], "merge")
        killed = killed_at(step, lambda plan=plan, url=url: _apply(url, plan))
        with open_store(url) as store:
            assert check(store).sound
            count = store.get(["m-1"])["m-1"].access_count
            assert count == (5 if store.ledger.marks() else 3)
            if store.ledger.marks():
                undo(store, "last")
            assert picture(store) == before
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"


def test_a_refused_write_is_rolled_back_and_not_taken_for_done(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"text": "Told twice."}\n{"text": "Told twice."}\n')
    with open_store(path) as store:
        ids = tuple(m.id for m in store.scan())
        with pytest.raises(StoreReadOnly, match='has no "id"'):
            apply(store, plan_by_hand(store, [ids], "merge"))
        assert store.ledger.marks() == {}
        assert [run.status for run in history(store.ledger)] == ["nothing done"]
        assert check(store).problems == ()
