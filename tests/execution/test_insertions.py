"""Additions: a run that adds memories, and can be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, check, find, history, open_store, plan, undo
from echoless.core.errors import (
    DuplicateId,
    InputError,
    PlanRefused,
    StoreError,
    UndoConflict,
    UsageError,
)
from echoless.core.model import Link, Memory, fingerprint
from echoless.execution.actions import Delete, Member
from echoless.execution.insertions import Change, add, add_with, witness
from echoless.stores.base import Store
from tests.conformance.stores import simple

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
    monkeypatch.setattr("echoless.execution.recovery.put_back", lambda *_: None)
    monkeypatch.setattr("echoless.execution.recovery.recover", lambda *_: [])
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


# ------------------------------------------------------------------ what follows an addition


def linking(id_: str) -> Change:
    def becomes(there: Mapping[str, Memory]) -> list[Memory]:
        one, other = there["new"], there[id_]
        return [
            replace(one, links=(*one.links, Link(id_))),
            replace(other, links=(*other.links, Link("new"))),
        ]

    return Change(("new", id_), becomes, "alike")


def taking_the_place_of(old: Memory) -> Delete:
    member = Member(old.id, fingerprint(old), "update", 0.9, "rewritten")
    return Delete("new", fingerprint(NEW), (member,), "says it anew")


def test_links_that_follow_an_addition_are_taken_back_with_it(store: Store) -> None:
    done = add_with(store, [NEW], [linking("old")], profile="safe", why="said")
    assert done.failed == ()
    assert [m.links for m in store.get(["old"]).values()] == [(Link("new"),)]
    assert store.get(["new"])["new"].links == (Link("old"),)
    (past,) = history(store.ledger)
    assert (past.status, past.added, past.only_adds) == ("done", 1, True)
    undo(store, done.run)
    assert list(store.scan()) == [OLD]
    assert check(store).sound


def test_a_record_may_take_the_place_of_another_in_one_run(store: Store) -> None:
    done = add_with(store, [NEW], [taking_the_place_of(OLD)], profile="safe", why="said")
    assert (list(store.scan()), done.failed) == ([NEW], ())
    (past,) = history(store.ledger)
    assert (past.added, past.deleted, past.only_adds) == (1, 1, False)
    assert undo(store, "last").removed == ("new",)
    assert list(store.scan()) == [OLD]
    assert check(store).sound


@pytest.mark.parametrize("why", ["gone", "pinned", "edited"])
def test_a_deletion_that_is_refused_leaves_the_addition_and_the_old_one(
    store: Store, why: str
) -> None:
    there = {"pinned": replace(OLD, pinned=True), "edited": replace(OLD, content="Else.")}
    with store.writing():
        store.remove(["old"])
        store.put([there[why]] if why in there else [])
    planned = there["pinned"] if why == "pinned" else OLD
    done = add_with(store, [NEW], [taking_the_place_of(planned)], profile="safe", why="said")
    (left,) = done.failed
    assert {"gone": "gone", "pinned": "pinned", "edited": "changed"}[why] in left.reason
    assert {m.id for m in store.scan()} == ({"new"} if why == "gone" else {"new", "old"})
    undo(store, done.run)
    assert {m.id for m in store.scan()} == (set() if why == "gone" else {"old"})


@pytest.mark.parametrize("mangles", [True, False])
def test_a_step_that_fails_is_rolled_back_and_the_next_one_is_carried_out(
    store: Store, monkeypatch: pytest.MonkeyPatch, mangles: bool
) -> None:
    other = replace(OLD, id="other")
    with store.writing():
        store.put([other])
    kind = type(store)
    put = kind.put

    def failing(self: Store, memories: Sequence[Memory]) -> None:
        if any(m.id == "old" and m.links for m in memories):
            if not mangles:
                raise StoreError("no")
            memories = [replace(m, content="mangled") for m in memories]
        put(self, memories)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "put", failing)
    done = add_with(store, [NEW], [linking("old"), linking("other")], profile="safe", why="said")
    monkeypatch.undo()
    assert [left.ids for left in done.failed] == [("new", "old")]
    found = store.get(["old", "new", "other"])
    assert found["old"] == OLD
    assert found["new"] == replace(NEW, links=(Link("other"),))
    assert found["other"].links == (Link("new"),)
    assert check(store).sound
    undo(store, done.run)
    assert sorted(store.scan(), key=lambda m: m.id) == [OLD, other]


@pytest.mark.parametrize("arrived", [True, False])
def test_a_run_cut_off_in_a_step_keeps_the_addition_and_ends_the_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    kind = type(store)
    put = kind.put

    def dying(self: Store, memories: Sequence[Memory]) -> None:
        if arrived or not any(m.links for m in memories):
            put(self, memories)  # type: ignore[arg-type]
        if any(m.links for m in memories):
            raise _Stops

    monkeypatch.setattr(kind, "put", dying)
    monkeypatch.setattr("echoless.execution.recovery.recover", lambda *_: [])
    with pytest.raises(_Stops):
        add_with(store, [NEW], [linking("old")], profile="safe", why="said")
    monkeypatch.undo()
    assert check(store).sound
    found = store.get(["old", "new"])
    whole = type(store).__name__ == "SqliteStore"  # everything in one transaction
    assert set(found) == ({"old"} if whole else {"old", "new"})
    assert not any(m.links for m in found.values())  # both stores drop what was not committed


def test_nothing_to_add_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="nothing to add"):
        add_with(store, [], [linking("old")], profile="safe", why="said")
