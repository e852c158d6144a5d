"""Law 5: undo restores records byte for byte, or refuses where someone edited since."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, find, history, plan, undo
from echoless.core.errors import InputError, UndoConflict, UsageError
from echoless.execution.insertions import add
from echoless.execution.rollback import would_undo
from tests.conformance.stores import plan_by_hand, simple
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, picture, quick, safe, world

ACTIONS = st.sampled_from(["mark", "merge", "delete"])


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(), actions=st.lists(ACTIONS, min_size=1, max_size=3))
def test_runs_undone_from_the_last_to_the_first_give_back_every_byte(
    kind: str, told: list[Memory], actions: list[str]
) -> None:
    with world(kind, told) as store:
        pictures, runs = [], []
        for action, threshold in zip(actions, ("0.9", "0.5", "0.2"), strict=False):
            pictures.append(picture(store))
            preview = plan(find(store, safe(action=action, threshold=(threshold,))))
            runs.append(apply(store, preview))
        for before, run in reversed(list(zip(pictures, runs, strict=True))):
            if run.counts["groups"]:
                assert undo(store, run.id).exact
            assert picture(store) == before
        assert store.ledger.marks() == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["merge", "delete"])
def test_an_edit_since_is_a_conflict_that_names_the_record(kind: str, action: str) -> None:
    told = [simple(1, tags=("a",)), simple(2, tags=("b",)), simple(3)]
    with world(kind, told) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], action))
        with store.writing():
            store.put([replace(store.get(["m-1"])["m-1"], content="Edited by a person.")])
        after = picture(store)
        for going_back in (undo, would_undo):
            with pytest.raises(UndoConflict, match="'m-1' was changed since"):
                going_back(store, run.id)
        assert picture(store) == after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_what_an_undo_would_do_is_what_it_does(kind: str, action: str) -> None:
    with world(kind, [simple(1, tags=("a",)), simple(2, tags=("b",)), simple(3)]) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], action))
        before = picture(store)
        expected = would_undo(store, run.id)
        assert would_undo(store, "last") == expected
        assert picture(store) == before
        assert undo(store, run.id) == expected
        with pytest.raises(UsageError, match="undone before"):
            would_undo(store, run.id)


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_undo_would_remove_is_what_was_added(kind: str) -> None:
    with world(kind, [simple(1)]) as store:
        run = add(store, [simple(2)], profile="safe", why="a test")
        expected = would_undo(store, run)
        assert expected.removed == ("m-2",)
        assert undo(store, run) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_id_that_was_taken_again_is_a_conflict(kind: str) -> None:
    with world(kind, [simple(1), simple(2)]) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
        with store.writing():
            store.put([simple(2, "Something else entirely.")])
        with pytest.raises(UndoConflict, match="'m-2' was changed since"):
            undo(store, run.id)
        assert store.get(["m-2"])["m-2"].content == "Something else entirely."


@pytest.mark.parametrize("kind", KINDS)
def test_a_conflict_with_a_later_run_names_that_run(kind: str) -> None:
    told = [simple(n, tags=(str(n),)) for n in range(1, 4)]
    with world(kind, told) as store:
        first = apply(store, plan_by_hand(store, [("m-1", "m-2")], "merge"))
        second = apply(store, plan_by_hand(store, [("m-1", "m-3")], "merge"))
        with pytest.raises(UndoConflict, match=second.id):
            undo(store, first.id)


@pytest.mark.parametrize("kind", KINDS)
def test_recalls_since_the_run_are_kept(kind: str) -> None:
    told = [simple(1, access_count=1), simple(2, access_count=10)]
    with world(kind, told) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "merge"))
        merged = store.get(["m-1"])["m-1"]
        assert merged.access_count == 11
        with store.writing():
            store.put([replace(merged, access_count=14, last_accessed="2026-09-09T00:00:00Z")])
        undo(store, run.id)
        restored = store.get(["m-1"])["m-1"]
        assert restored == replace(told[0], access_count=4, last_accessed="2026-09-09T00:00:00Z")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_undone_once_and_must_exist(kind: str) -> None:
    with world(kind, [simple(1), simple(2)]) as store:
        with pytest.raises(InputError, match="no run to undo"):
            undo(store, "last")
        with pytest.raises(InputError, match="no run 'run-x'"):
            undo(store, "run-x")
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
        assert undo(store, "last").shown == ("m-2",)
        with pytest.raises(UsageError, match="undone before"):
            undo(store, run.id)
        assert [r.status for r in history(store.ledger)] == ["undone"]
