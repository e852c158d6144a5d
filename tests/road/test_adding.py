"""Additions: a run that adds memories, and can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, check, find, history, open_store, plan, undo
from echoless.adding import add, witness
from echoless.errors import DuplicateId, InputError, PlanRefused, UndoConflict
from echoless.model import Link, Memory
from echoless.stores.base import Store
from echoless.testing.stores import simple

KINDS = ("agent.db", "agent.jsonl")
OLD = Memory(id="old", content="The backup runs at two in the morning.")
NEW = Memory(id="new", content="The staging server has 16 GB of memory.", tags=("infra",))


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    scheme = "sqlite" if request.param.endswith("db") else "jsonl"
    opened = open_store(f"{scheme}:///{tmp_path / request.param}", create=True)
    with opened.writing():
        opened.put([OLD])
    return opened


def test_an_added_memory_is_there_and_its_run_is_in_the_history(store: Store) -> None:
    run = add(store, [NEW], profile="safe", why="said")
    assert store.get(["new"])["new"] == NEW
    (past,) = history(store.ledger)
    assert (past.id, past.status, past.added) == (run, "done", 1)
    assert check(store).sound


def test_undo_takes_an_addition_out_again_and_leaves_the_rest(store: Store) -> None:
    run = add(store, [NEW, replace(NEW, id="second")], profile="safe", why="said")
    done = undo(store, run)
    assert done.removed == ("new", "second")
    assert [m.id for m in store.scan()] == ["old"]
    assert check(store).sound


def test_undo_of_an_addition_puts_records_back_that_changed_with_it(store: Store) -> None:
    linked = replace(OLD, links=(Link("new", "similar"),))
    run = add(store, [NEW], changed=[linked], profile="safe", why="said")
    assert store.get(["old"])["old"].links == (Link("new", "similar"),)
    undo(store, run)
    assert list(store.scan()) == [OLD]


def test_an_id_that_is_taken_is_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(DuplicateId, match="'old'"):
        add(store, [NEW, replace(NEW, id="old")], profile="safe", why="said")
    with pytest.raises(DuplicateId, match="'new'"):
        add(store, [NEW, NEW], profile="safe", why="said")
    assert [m.id for m in store.scan()] == ["old"]
    assert history(store.ledger) == []


def test_a_changed_record_that_is_gone_is_refused(store: Store) -> None:
    with pytest.raises(PlanRefused, match="'gone'"):
        add(store, [NEW], changed=[replace(OLD, id="gone")], profile="safe", why="said")
    assert [m.id for m in store.scan()] == ["old"]


def test_last_means_the_last_run_that_did_more_than_add(store: Store) -> None:
    add(store, [replace(OLD, id="twin")], profile="safe", why="said")
    with pytest.raises(InputError, match="no run to undo"):
        undo(store, "last")
    marked = apply(store, plan(find(store, encoder="none")))
    add(store, [NEW], profile="safe", why="said")
    assert undo(store, "last").run == marked.id
    assert {m.id for m in store.scan()} == {"old", "twin", "new"}


def test_an_addition_that_others_stand_behind_is_not_taken_out(store: Store) -> None:
    run = add(store, [replace(OLD, id="a-twin", pinned=True)], profile="safe", why="said")
    apply(store, plan(find(store, encoder="none")))
    assert store.ledger.marks()["old"].survivor == "a-twin"
    with pytest.raises(UndoConflict, match="stands for others"):
        undo(store, run)
    assert {m.id for m in store.scan()} == {"old", "a-twin"}


def test_an_edited_addition_is_not_taken_out(store: Store) -> None:
    run = add(store, [NEW], profile="safe", why="said")
    with store.writing():
        store.put([replace(store.get(["new"])["new"], content="Edited by its owner.")])
    with pytest.raises(UndoConflict, match="changed since"):
        undo(store, run)


class _Stops(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("arrived", [True, False])
def test_an_addition_cut_off_before_its_confirmation_is_brought_to_its_end(
    store: Store, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    kind = type(store)
    put = kind.put

    def dying(self: Store, memories: Sequence[Memory]) -> None:
        if arrived:
            put(self, memories)  # type: ignore[arg-type]
        raise _Stops

    monkeypatch.setattr(kind, "put", dying)
    monkeypatch.setattr("echoless.adding._take_back", lambda *_: None)
    monkeypatch.setattr("echoless.adding.recover", lambda *_: [])
    with pytest.raises(_Stops):
        add(store, [NEW], profile="safe", why="said")
    monkeypatch.undo()
    assert check(store).sound
    there = {m.id for m in store.scan()}
    assert there in ({"old"}, {"old", "new"})
    assert store.ledger.open_runs() == []


def test_a_record_that_reads_back_otherwise_is_taken_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(store)
    put = kind.put
    monkeypatch.setattr(
        kind,
        "put",
        lambda self, memories: put(self, [replace(m, content=m.content.upper()) for m in memories]),
    )
    with pytest.raises(PlanRefused, match="'new'"):
        add(store, [NEW], profile="safe", why="said")
    monkeypatch.undo()
    assert list(store.scan()) == [OLD]
    assert check(store).sound


def test_a_run_that_was_cut_off_is_known_without_reading_the_whole_ledger(store: Store) -> None:
    with store.writing(), store.ledger.transaction():
        store.ledger.record("run_started", "run-a", {"plan": "", "profile": "", "settings": ""})
        assert store.ledger.open_runs() == ["run-a"]
        store.ledger.record("run_finished", "run-a")
        assert store.ledger.open_runs() == []


def test_what_another_program_did_is_a_run_that_can_be_undone(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/a.db", create=True) as store:
        run = add(store, [simple(1), simple(2)], profile="safe", why="said")
        before = store.get(["m-1", "m-2"])
        with store.writing():
            store.put([simple(2, "Something else."), simple(3)])
            store.remove(["m-1"])
        ids = ["m-1", "m-2", "m-3"]
        told = {i: before.get(i) for i in ids}
        after = {i: store.get(ids).get(i) for i in ids}
        seen = witness(store, told, after, profile="safe", why="another program did it")
        assert witness(store, after, after, profile="safe", why="nothing happened") == ""
        assert [(r.id, r.added) for r in history(store.ledger)] == [(run, 2), (seen, 1)]
        done = undo(store, seen)
        assert (done.restored, done.removed) == (("m-1", "m-2"), ("m-3",))
        assert store.get(ids) == before
