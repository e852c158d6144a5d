"""Out-of-date memories behind newer ones: which go, which stay and why, and that all comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from echoless import Plan, apply, check, find, keep_both, open_store, plan, undo
from echoless.cli.main import main
from echoless.core.model import Update, later, older_and_newer
from echoless.core.settings import Choices, resolve
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.updates import OutOfDate, out_of_date

Record = Mapping[str, object]
OLD, NEW = "2026-01-05T10:00:00Z", "2026-08-12T10:00:00Z"


def record(id_: str, content: str, at: str | None = None, **fields: object) -> Record:
    return {"id": id_, "content": content, "created_at": at, "namespace": "n", **fields}


def port(id_: str, number: int, at: str, **fields: object) -> Record:
    return record(id_, f"The gateway of the office listens on port {number}.", at, **fields)


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., tuple[Path, Findings, OutOfDate]]:
    """Writes a store, and returns what is found in it."""

    def make(*records: Record) -> tuple[Path, Findings, OutOfDate]:
        path = tmp_path / "m.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        with open_store(path) as store:
            findings = find(store, resolve(Choices(encoder="none")))
        return path, findings, out_of_date(findings)

    return make


def behind(made: Plan | OutOfDate) -> dict[str, str]:
    """Survivor of each memory that goes."""
    if isinstance(made, OutOfDate):
        return {member.id: group.survivor for group in made.groups for member in group.members}
    return {member.id: action.survivor for action in made.actions for member in action.members}


def test_an_update_in_other_words_is_seen_by_a_name_that_no_third_memory_has(
    tmp_path: Path,
) -> None:
    texts = [
        "Marta signs off every release of Falcon before it ships.",
        "Rents are due on the third of the month.",
        "Our tests need Docker and about four gigabytes of memory.",
        "Priya likes her coffee black and without sugar.",
        "The printer on the second floor jams with thick paper.",
        "Nobody has to approve Falcon any more; the pipeline publishes it by itself.",
    ]
    days = [record(f"{n}", text, f"2026-03-0{n + 1}") for n, text in enumerate(texts)]
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in days))
    with open_store(path) as store:
        judged = find(store, resolve(Choices(encoder="fast"))).judged
    (update,) = (each for each in judged if isinstance(each.verdict, Update))
    assert older_and_newer(update) == ("0", "5")


def test_an_older_value_goes_behind_the_newer_one_and_comes_back(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    path, findings, updates = look(port("a", 5432, OLD), port("b", 5433, NEW))
    before = path.read_bytes()
    assert plan(findings).actions == ()
    made = plan(findings, updates=updates)
    (action,) = made.actions
    assert action.why == "was 5432, now 5433; said on 2026-08-12"
    with open_store(path) as store:
        run = apply(store, made)
        assert not run.refused
        assert {i: m.survivor for i, m in store.ledger.marks().items()} == {"a": "b"}
        assert check(store).sound
        undo(store, run.id)
        assert store.ledger.marks() == {}
    assert path.read_bytes() == before


def test_all_values_of_a_chain_and_their_copies_go_behind_the_newest(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    _, findings, updates = look(
        port("a", 5432, OLD),
        port("a2", 5432, OLD),
        port("b", 5433, "2026-03-01"),
        port("c", 5434, NEW),
        port("c2", 5434, NEW),
    )
    made = plan(findings, updates=updates, action="merge")
    assert behind(made) == {"a": "c", "a2": "c", "b": "c", "c2": "c"}
    assert [action.kind for action in made.actions] == ["mark", "merge"]


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        (
            record("a", "The gateway of the office listens on port 5432 behind nginx.", OLD),
            port("b", 5433, NEW),
            "not in the text that stays: behind, nginx",
        ),
        (port("a", 5432, OLD, pinned=True), port("b", 5433, NEW), "pinned"),
        (
            port("a", 5432, OLD),
            port("b", 5433, NEW, expires_at="2027-01-01"),
            "b would expire",
        ),
        (
            port("a", 5432, NEW),
            record("b", "The gateway of the office now listens on port 5433.", OLD),
            "its words call it the older one, and it was written later",
        ),
        (
            port("a", 5432, OLD),
            record("b", "In staging the gateway of the office listens on port 5433.", NEW),
            "only the newer one says: staging",
        ),
        (
            port("a", 5432, OLD),
            record("b", "The gateway of the office should listen on port 5433.", NEW),
            "only the newer one says: should",
        ),
        (
            record("a", "The lift of the annex takes 4 persons.", OLD),
            record("b", "Draft: the lift of the annex takes 6 persons.", NEW),
            "the newer one tells of a plan",
        ),
        (
            record("a", "Published the gateway of the office as version 3.4.1.", OLD),
            record("b", "Published the gateway of the office as version 3.4.11.", NEW),
            "both tell of what was done",
        ),
        (
            record("a", "Disk usage on the gateway at 2026-05-12: 61 %.", OLD),
            record("b", "Disk usage on the gateway at 2026-05-19: 74 %.", NEW),
            "each tells of its own day",
        ),
        (
            port("a", 5432, OLD),
            record("b", "The gateway of the office next to Bonn listens on port 5433.", NEW),
            "only the newer one says: Bonn",
        ),
    ],
)
def test_an_older_value_stays_where_more_than_the_value_would_go(
    look: Callable[..., tuple[Path, Findings, OutOfDate]], older: Record, newer: Record, why: str
) -> None:
    _, findings, updates = look(older, newer)
    assert any(isinstance(pair.verdict, Update) for pair in findings.held)
    assert plan(findings, updates=updates).actions == ()
    assert {id_: reason for id_, (_, reason) in updates.left.items()} == {"a": why}


def test_a_value_stays_where_the_one_that_it_replaced_stays(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    """Else the oldest value, which stays as it is pinned, would look like the present one."""
    _, _, updates = look(
        port("a", 5432, OLD, pinned=True), port("b", 5433, "2026-03-01"), port("c", 5434, NEW)
    )
    assert updates.groups == ()
    assert updates.left["b"][1] == "a has a still older value and stays"


def test_a_value_stays_with_what_stands_behind_it_and_was_not_compared(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    copy = record("a2", "the gateway of the office listens on port 5432", OLD)
    _, findings, updates = look(port("a", 5432, OLD), copy, port("b", 5433, NEW))
    assert behind(updates) == {"a": "b", "a2": "b"}
    held = tuple(pair for pair in findings.held if "a2" not in {pair.a, pair.b})
    updates = out_of_date(replace(findings, held=held))
    assert updates.groups == ()
    assert updates.left["a"][1] == "a2 says the same, and was not compared"


def test_values_that_were_called_different_and_those_of_others_stay(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    path, _, _ = look(port("a", 5432, OLD), port("b", 5433, NEW), port("c", 1, NEW, namespace="x"))
    with open_store(path) as store:
        keep_both(store, [("a", "b")])
        updates = out_of_date(find(store, resolve(Choices(encoder="none"))))
    assert updates.groups == ()
    assert updates.left == {}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_store_each_hidden_value_has_a_visible_newer_one_with_its_verdict(
    look: Callable[..., tuple[Path, Findings, OutOfDate]], seed: int
) -> None:
    dice = Random(seed)
    days = [f"2026-0{month}-01" for month in range(1, 10)]
    texts = [
        "The gateway of the office listens on port {}.",
        "the gateway of the office listens on port {}",
        "The gateway of the office now listens on port {}.",
        "The gateway of the office listens on port {} behind nginx.",
    ]
    records = [
        record(
            f"m-{at}",
            dice.choice(texts).format(dice.choice((5432, 5433, 5434))),
            dice.choice(days),
            pinned=dice.random() < 0.1,
        )
        for at in range(9)
    ]
    _, findings, updates = look(*records)
    made = plan(findings, updates=updates)
    gone = behind(made)
    assert not gone.keys() & set(gone.values())
    for action in made.actions:
        for member in action.members if action.is_update else ():
            memories = findings.memories
            assert later(memories[member.id], memories[action.survivor]) != "a"
            assert not memories[member.id].pinned
    for pair in findings.held:
        if isinstance(pair.verdict, Update) and older_and_newer(pair)[1] in updates.hidden:
            assert older_and_newer(pair)[0] in gone
    dice.shuffle(records)
    _, again, same = look(*records)
    assert plan(again, updates=same).digest == made.digest


def test_the_preview_shows_what_is_out_of_date_only_where_it_is_asked_for(
    look: Callable[..., tuple[Path, Findings, OutOfDate]],
) -> None:
    path, _, _ = look(
        port("a", 5432, OLD),
        port("b", 5433, NEW),
        record("c", "Lunch is at noon.", OLD),
        record("d", "Lunch is at noon!", OLD),
        record("e", "The lamp in room 12 of the annex is broken.", OLD),
        record("f", "The lamp in room 12 of the annex is not broken.", NEW),
    )

    def told(*more: str) -> str:
        answer = CliRunner().invoke(main, ["dedup", str(path), "--encoder", "none", *more])
        assert answer.exit_code == 0, answer.output
        return answer.stdout

    assert "Out of date" not in told()
    shown = told("--with-updates")
    assert shown.index("Out of date\n") < shown.index("keep b") < shown.index("keep c")
    assert json.loads(told("--with-updates", "--json"))["out_of_date"]["a"] == "b"
    too_many = ["dedup", str(path), "--with-updates", "--apply", "--most-hidden", "20%"]
    assert CliRunner().invoke(main, too_many).exit_code == 5
    assert "hidden" in told("--with-updates", "--apply")
    answer = CliRunner().invoke(main, ["show", str(path), "b"])
    assert "a  an older value" in answer.output
