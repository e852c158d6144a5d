"""Actions carried out one by one: what fails is rolled back and told, the rest goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from echoless import apply, history, open_store, undo
from echoless.errors import StoreError
from echoless.model import Link
from echoless.stores import Store
from echoless.testing.stores import fill, plan_by_hand, simple, state


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
    assert run.counts == {"groups": 2, "mark": 0, "merge": 0, "delete": 2}
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
