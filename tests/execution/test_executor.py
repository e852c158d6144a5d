"""Actions carried out one by one: what fails is rolled back and told, the rest goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from echoless import apply, history, open_store, undo
from echoless.core.errors import StoreError
from echoless.core.model import Link
from echoless.core.profiles import ActionKind
from echoless.stores import Capabilities, Store
from echoless.stores.ledger import Mark
from tests.conformance.stores import fill, plan_by_hand, simple, state


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterable[Store]:
    url = f"{request.param}:///{tmp_path}/memories.{request.param}"
    fill(url, [simple(n, tags=(f"t{n}",)) for n in range(1, 7)])
    with open_store(url) as opened:
        yield opened


GROUPS = [("m-1", "m-2"), ("m-3", "m-4"), ("m-5", "m-6")]


def refusing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removing m-4 fails."""
    remove = type(store).remove

    def failing(self: Store, ids: Iterable[str]) -> None:
        ids = list(ids)
        if "m-4" in ids:
            raise StoreError("m-4 cannot be removed")
        remove(self, ids)

    monkeypatch.setattr(type(store), "remove", failing)


def test_the_others_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(store)
    refusing(store, monkeypatch)
    run = apply(store, plan_by_hand(store, GROUPS, "delete"), one_by_one=True)
    assert run.counts == {"groups": 2, "mark": 0, "merge": 0, "delete": 2, "edit": 0}
    assert [(f.survivor, f.ids, f.reason) for f in run.failed] == [
        ("m-3", ("m-3", "m-4"), "m-4 cannot be removed")
    ]
    now = {m.id: m for m in store.scan()}
    assert now.keys() == {"m-1", "m-3", "m-4", "m-5"}
    assert now["m-3"].tags == ("t3",), "its survivor is as it was"
    assert now["m-1"].tags == ("t1", "t2")
    assert [past.status for past in history(store.ledger)] == ["done"]
    assert [e.data["action"] for e in store.ledger.events(run.id, "action_failed")] == [1]
    undo(store, run.id)
    assert sorted(store.scan(), key=lambda m: m.id) == [memory for memory, _ in before]


def test_without_it_a_failure_ends_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(store, monkeypatch)
    with pytest.raises(StoreError, match="m-4"):
        apply(store, plan_by_hand(store, GROUPS, "delete"))
    assert {"m-3", "m-4", "m-5", "m-6"} <= {m.id for m in store.scan()}


def test_links_a_run_moved_itself_are_no_edit(tmp_path: Path) -> None:
    url = f"jsonl:///{tmp_path}/memories.jsonl"
    fill(url, [simple(1), simple(2), simple(3, links=(Link("m-2"),)), simple(4)])
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2"), ("m-3", "m-4")], "delete"))
        assert run.refused == ()
        assert [m.id for m in store.scan()] == ["m-1", "m-3"]


class Hiding:
    """A store without transactions that hides from its clients; hiding m-4 fails once."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.hidden: set[str] = set()
        self.failed = False

    capabilities = Capabilities(hides=True)
    transaction = nullcontext

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def hide(self, marks: Sequence[Mark]) -> None:
        self.hidden.update(mark.duplicate for mark in marks)
        if "m-4" in self.hidden and not self.failed:
            self.failed = True
            raise StoreError("m-4 cannot be hidden")

    def unhide(self, ids: Iterable[str]) -> None:
        self.hidden.difference_update(ids)


@pytest.mark.parametrize(("action", "failed"), [("mark", ["m-3"]), ("merge", [])])
def test_where_hiding_fails_a_mark_is_taken_back_and_a_merge_finished(
    tmp_path: Path, action: ActionKind, failed: list[str]
) -> None:
    url = f"jsonl:///{tmp_path}/memories.jsonl"
    fill(url, [simple(n, tags=(f"t{n}",)) for n in range(1, 7)])
    with open_store(url) as inner:
        hiding = Hiding(inner)
        store = cast("Store", hiding)
        run = apply(store, plan_by_hand(store, GROUPS, action), one_by_one=True)
        assert [each.survivor for each in run.failed] == failed
        expected = {"m-2", "m-6"} if failed else {"m-2", "m-4", "m-6"}
        assert hiding.hidden == store.ledger.marks().keys() == expected
        undo(store, run.id)
        assert hiding.hidden == set()
