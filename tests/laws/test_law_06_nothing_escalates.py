"""Law 6: mark, then merge, then delete: nothing escalates by itself; only purge destroys images."""

from __future__ import annotations

import pytest
from hypothesis import given

from echoless import Memory, apply, find, history, plan, purge, undo
from echoless.core.errors import UndoConflict
from echoless.execution.actions import Delete, Mark, Merge
from tests.conformance.stores import plan_by_hand, simple
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, picture, quick, safe, world


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_the_default_marks_and_changes_no_record(kind: str, told: list[Memory]) -> None:
    with world(kind, told) as store:
        before = picture(store)
        preview = plan(find(store, safe()))
        assert all(isinstance(action, Mark) for action in preview.actions)
        apply(store, preview)
        assert picture(store) == before


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_a_merge_removes_no_record(kind: str, told: list[Memory]) -> None:
    with world(kind, told) as store:
        preview = plan(find(store, safe(action="merge")))
        assert all(isinstance(action, Merge) for action in preview.actions)
        apply(store, preview)
        assert {m.id: m.content for m in store.scan()} == {m.id: m.content for m in told}


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_marked_memories_are_never_deleted_by_a_later_run(kind: str, told: list[Memory]) -> None:
    with world(kind, told) as store:
        apply(store, plan(find(store, safe())))
        marked = set(store.ledger.marks())
        preview = plan(find(store, safe(action="delete")))
        assert all(isinstance(action, Delete) for action in preview.actions)
        apply(store, preview)
        assert marked <= {m.id for m in store.scan()}


@pytest.mark.parametrize("kind", KINDS)
def test_only_purge_destroys_images_and_then_undo_refuses(kind: str) -> None:
    told = [simple(n, tags=(str(n),)) for n in range(1, 5)]
    with world(kind, told) as store:
        marked = apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
        deleted = apply(store, plan_by_hand(store, [("m-3", "m-4")], "delete"))
        assert store.ledger.images(deleted.id)
        assert purge(store) == [deleted.id]
        assert store.ledger.images(deleted.id) == []
        with pytest.raises(UndoConflict, match="was purged"):
            undo(store, deleted.id)
        assert undo(store, marked.id).shown == ("m-2",)
        assert [r.status for r in history(store.ledger)] == ["undone", "purged"]


def test_the_ledger_cannot_be_rewritten() -> None:
    with world("sqlite", [simple(1), simple(2)]) as store:
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
        with store.writing():
            database = store.ledger.database
            for statement in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
                with pytest.raises(Exception, match="append-only"):
                    database.change(statement)
