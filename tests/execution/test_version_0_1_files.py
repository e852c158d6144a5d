"""Plans and ledgers that version 0.1 wrote are read, carried out and undone, and still count.

How the files were made stands in `tests/fixtures/v0_1/README.md`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from echoless import (
    Choices,
    Store,
    apply,
    audit,
    check,
    consolidate,
    export,
    find,
    history,
    import_into,
    open_store,
    plan,
    read_plan,
    resolve,
    undo,
)
from echoless.core.errors import PlanForeign, PlanUsed, UndoConflict
from tests.fixtures.v0_1.dump import statements

FIXTURES = Path(__file__).parent.parent / "fixtures" / "v0_1"
SETTINGS = resolve(Choices(semantic=False))


@dataclass(frozen=True)
class World:
    """One store of 0.1 in a folder of the test.

    Attributes:
        name: Of its fixtures.
        path: The store.
    """

    name: str
    path: Path

    def open(self) -> Store:
        """Opens it with today's code."""
        return open_store(self.path)

    def records(self) -> str:
        """Returns the records as they lie in the file."""
        if self.name == "notes":
            return self.path.read_text(encoding="utf-8")
        return "".join(
            line for line in lines_of(self.path) if line.startswith("INSERT INTO memories VALUES")
        )

    def imported(self) -> str:
        """Returns the records before any run of 0.1."""
        name = "memories.jsonl" if self.name == "notes" else "agent.imported.sql"
        return (FIXTURES / name).read_text(encoding="utf-8")

    def plan_file(self, which: str) -> Path:
        """Returns a plan file that 0.1 wrote."""
        return FIXTURES / f"{self.name}.{which}.json"

    def told(self) -> list[dict[str, object]]:
        """Returns what `history --json` of 0.1 said."""
        runs = json.loads((FIXTURES / f"{self.name}.history.json").read_text(encoding="utf-8"))
        return list(runs["runs"])


def lines_of(path: Path) -> list[str]:
    """Returns an SQLite file as SQL text."""
    with closing(sqlite3.connect(path)) as db:
        return [f"{statement};\n" for statement in statements(db)]


def made(path: Path, text: str) -> None:
    """Makes an SQLite file from SQL text."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA foreign_keys = OFF; BEGIN; {text} COMMIT;")


@pytest.fixture(params=["agent", "notes"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A store of 0.1: SQLite with its own ledger, or JSONL with a ledger beside it."""
    text = (FIXTURES / f"{request.param}.sql").read_text(encoding="utf-8")
    if request.param == "agent":
        path = tmp_path / "agent.db"
        made(path, text)
    else:
        path = tmp_path / "notes.jsonl"
        path.write_bytes((FIXTURES / "notes.jsonl").read_bytes())
        made(tmp_path / "notes.jsonl.echoless", text)
    return World(request.param, path)


def test_the_fixture_is_the_file_of_0_1_again(world: World) -> None:
    file = world.path if world.name == "agent" else world.path.with_name("notes.jsonl.echoless")
    assert "".join(lines_of(file)) == (FIXTURES / f"{world.name}.sql").read_text(encoding="utf-8")


def test_the_history_is_what_0_1_said(world: World) -> None:
    names = ("id", "started_at", "status", "profile", "plan", "refused", "groups", "planned")
    with world.open() as store:
        runs = history(store.ledger)
        assert check(store).sound
    assert [[getattr(run, name) for name in names] for run in runs] == [
        [run[name] for name in names] for run in world.told()
    ]
    assert [run.status for run in runs] == ["done", "undone", "done", "done"]


def test_its_marks_count_in_an_audit(world: World) -> None:
    with world.open() as store:
        assert {m.duplicate: m.survivor for m in store.ledger.marks().values()} == {"m-02": "m-01"}
        findings = find(store, SETTINGS)
    assert audit(findings).marked == 1
    # m-02 is hidden, m-08 is gone, m-04 and m-05 are kept apart
    assert [each.ids for each in plan(findings).actions] == [("m-10", "m-11")]


def test_keep_both_is_remembered_until_a_text_changes(world: World) -> None:
    def offered(store: Store) -> set[tuple[str, str]]:
        return {(each.a.id, each.b.id) for each in consolidate(store, SETTINGS).pairs}

    with world.open() as store:
        assert ("m-04", "m-05") not in offered(store)
        (edited,) = store.get(["m-05"]).values()
        with store.writing():
            store.put([replace(edited, content="The user drinks her coffee black!")])
        assert ("m-04", "m-05") in offered(store)


def test_a_plan_of_0_1_is_carried_out_and_undone(world: World) -> None:
    proposed = read_plan(world.plan_file("plan"))
    assert proposed.counts == {"groups": 1, "mark": 0, "merge": 1, "delete": 0}
    before = world.records()
    with world.open() as store:
        run = apply(store, proposed)
        assert run.counts == proposed.counts
        assert not run.refused
        assert store.ledger.marks()["m-11"].survivor == "m-10"
        assert set(store.get(["m-10"])["m-10"].tags) == {"train"}
        undo(store, run.id)
    assert world.records() == before


def test_todays_plan_is_the_plan_of_0_1(world: World) -> None:
    old = read_plan(world.plan_file("plan"))
    with world.open() as store:
        settings = resolve(Choices(semantic=False, namespace="trips"))
        new = plan(find(store, settings), action="merge")
    # the reason for a survivor is worded anew
    assert [replace(a, why="") for a in new.actions] == [replace(a, why="") for a in old.actions]
    assert new.store == old.store
    assert new.counts == old.counts


def test_a_plan_of_0_1_is_refused_where_a_record_changed(world: World) -> None:
    with world.open() as store:
        (edited,) = store.get(["m-11"]).values()
        with store.writing():
            store.put([replace(edited, content="The train to Lyon leaves from platform 9")])
        run = apply(store, read_plan(world.plan_file("plan")))
        assert [refusal.survivor for refusal in run.refused] == ["m-10"]
        assert "m-11" in run.refused[0].reason
        assert "m-11" not in store.ledger.marks()


def test_a_plan_that_0_1_used_is_not_used_again(world: World) -> None:
    used = world.told()[0]
    with world.open() as store, pytest.raises(PlanUsed, match=str(used["id"])):
        apply(store, read_plan(world.plan_file("used")))


def test_a_plan_of_0_1_is_refused_by_another_store(world: World, tmp_path: Path) -> None:
    with open_store(tmp_path / "other.db", create=True) as other, pytest.raises(PlanForeign):
        apply(other, read_plan(world.plan_file("plan")))


def test_the_runs_of_0_1_are_undone_byte_for_byte(world: World) -> None:
    with world.open() as store:
        for run in reversed(world.told()):
            if run["status"] == "done":
                undo(store, str(run["id"]))
        assert {run.status for run in history(store.ledger)} == {"undone"}
        assert store.ledger.marks() == {}
        assert check(store).sound
    assert world.records() == world.imported()


def test_an_undo_of_a_run_of_0_1_is_refused_where_a_record_was_edited(world: World) -> None:
    deletion = str(world.told()[-1]["id"])
    with world.open() as store:
        (edited,) = store.get(["m-07"]).values()
        with store.writing():
            store.put([replace(edited, content="Invoices for Veloria need two VAT numbers.")])
        with pytest.raises(UndoConflict, match="m-07"):
            undo(store, deletion)
        assert "m-08" not in store.get(["m-08"])


@pytest.mark.parametrize("carry", [export, import_into])
def test_the_lineage_of_0_1_moves_to_another_store(
    world: World, tmp_path: Path, carry: Callable[..., object]
) -> None:
    target = tmp_path / "copy.db"
    with world.open() as store:
        carry(store, target)
        lineage = list(store.ledger.dump())
    with open_store(target) as copy:
        assert list(copy.ledger.dump()) == lineage
        undo(copy, str(world.told()[-1]["id"]))
        assert "m-08" in copy.get(["m-08"])
