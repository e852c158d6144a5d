"""A run on a part of a store: what it finds, and what of the ledger and the store it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from echoless import apply, find, open_store, plan
from echoless.core.model import Memory
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.sqlite import in_memory
from echoless.core.text import content_key
from echoless.stores import ledger_schema
from echoless.stores.base import Scope, Store
from echoless.stores.ledger import Kept, Ledger, Mark
from echoless.stores.reading import Selection, StoreContents
from echoless.stores.sidecar import JoinedLedger
from echoless.stores.sqlite import SqliteStore
from echoless.workflows.dedupe import pipeline
from echoless.workflows.dedupe.findings import Findings
from echoless_programs.stores.recall.lineage import RecallLedger
from tests.conformance.stores import fill

SETTINGS = resolve(Choices(profile="safe", encoder="none"))
USERS = [f"user {number}" for number in range(8)]


def said(user: int, at: int, text: str) -> Memory:
    return Memory(id=f"u{user}-{at}", content=text, namespace=USERS[user])


def memories() -> Iterator[Memory]:
    for user in range(len(USERS)):
        yield said(user, 0, "The gateway listens on port 8443.")
        yield said(user, 1, "The gateway listens on  port 8443.")
        yield said(user, 2, f"Room {user} holds the files of the archive.")
        yield said(user, 3, f"Room {user} holds the files of the  archive.")
        yield said(user, 4, "Anna prefers green tea in the morning.")


@pytest.fixture
def decided(tmp_path: Path) -> str:
    """A store with marks, outdated ones among them, kept pairs, and memories that moved since."""
    url = f"sqlite:///{tmp_path}/m.db"
    fill(url, memories())
    with open_store(url) as store:
        apply(store, plan(find(store, SETTINGS, within=USERS[:4])))
        with store.writing():
            edited, moved = store.get(["u0-1", "u1-0"]).values()
            store.put([replace(edited, content="The gateway listens on port 9000.")])
            store.put([replace(moved, namespace=USERS[2])])
            keys = [content_key(each.content) for each in (said(5, 0, "x"), *list(memories())[:2])]
            with store.ledger.transaction():
                store.ledger.keep([Kept(f"u{user}-0", f"u{user}-1", *keys[1:]) for user in (4, 5)])
                store.ledger.keep([Kept("u6-0", "u6-1", keys[0], keys[0])])
    return url


def told(findings: Findings) -> Mapping[str, object]:
    """Returns all that a run says."""
    return {
        "memories": list(findings.memories.items()),
        "groups": findings.groups,
        "reasons": dict(findings.reasons),
        "judged": findings.judged,
        "marked": dict(findings.marked),
        "apart": findings.apart,
        "protected": dict(findings.protected),
        "copies": dict(findings.copies),
        "skipped": findings.tally.counts,
        "plan": plan(findings).actions,
    }


def whole(patch: pytest.MonkeyPatch) -> None:
    """Makes every run read the whole ledger."""
    reading = pipeline.read

    def whole_ledger(store: Store, selection: Selection, *given: Any) -> StoreContents:
        return reading(store, replace(selection, part=False), *given)

    patch.setattr(pipeline, "read", whole_ledger)


@pytest.mark.parametrize("within", [[user] for user in USERS] + [USERS[1:3], USERS, []])
def test_a_run_on_some_namespaces_finds_what_it_finds_with_the_whole_ledger(
    decided: str, within: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(decided) as store:
        part = told(find(store, SETTINGS, within=within))
        ids = {memory.id for memory in store.scan(Scope(among=frozenset(within)))}
        only = told(find(store, SETTINGS, only=ids))
        with monkeypatch.context() as patch:
            whole(patch)
            assert part == told(find(store, SETTINGS, within=within))
            assert only == told(find(store, SETTINGS, only=ids))


def test_a_run_on_some_namespaces_reads_of_the_ledger_what_names_their_memories(
    decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()
    rows = Ledger._rows

    def watched(ledger: Ledger, table: str, *given: object) -> list[tuple[object, ...]]:
        made = rows(ledger, table, *given)  # type: ignore[arg-type]
        read[table] += len(made)
        return made

    monkeypatch.setattr(Ledger, "_rows", watched)
    with open_store(decided) as store:
        find(store, SETTINGS, within=USERS[3:4])
        assert (read["marks"], read["kept"]) == (4, 0), "two marks, by both their sides"
        read.clear()
        find(store, SETTINGS, within=USERS[4:5])
        assert (read["marks"], read["kept"]) == (0, 2)
        read.clear()
        find(store, SETTINGS)
        assert (read["marks"], read["kept"]) == (8, 3)


def scans(store: Store, patch: pytest.MonkeyPatch) -> list[Scope]:
    """Collects what a store is asked for."""
    asked: list[Scope] = []
    scan: Callable[[SqliteStore, Scope], Iterator[Memory]] = SqliteStore.scan

    def watched(self: SqliteStore, scope: Scope) -> Iterator[Memory]:
        asked.append(scope)
        return scan(self, scope)

    patch.setattr(type(store), "scan", watched)
    return asked


def test_some_namespaces_are_read_at_once_and_with_a_limit_one_by_one(
    decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = Settings(profile=SETTINGS.profile, encoder="none", limit=1)
    with open_store(decided) as store:
        asked = scans(store, monkeypatch)
        assert len(find(store, SETTINGS, within=USERS[4:6]).memories) == 10
        assert asked == [Scope(among=frozenset(USERS[4:6]))]
        asked.clear()
        assert len(find(store, limited, within=USERS[4:6]).memories) == 2
        assert asked == [Scope(USERS[4], limit=1), Scope(USERS[5], limit=1)]


# ------------------------------------------------------------------ ledgers


def mark(duplicate: str, survivor: str) -> Mark:
    return Mark(duplicate, survivor, "r", "Duplicate", 1.0, "same")


MARKS = [mark("b", "a"), mark("c", "a"), mark("e", "d"), mark("a\N{DIGIT ONE}", "é'")]
KEPT = [Kept("a", "b", "1", "2"), Kept("b", "c", "3", "4"), Kept("d", "é'", "5", "6")]
ASKED: tuple[list[str], ...] = (
    ["a"],
    ["b"],
    ["c", "d"],
    ["é'", "x", "\ud800", "y\0"],
    [],
    ["a", "b", "c", "d", "e"],
)


def ledgers() -> Iterator[Ledger]:
    """Ledgers of all kinds that hold the same, and two more marks of their store."""
    for kind in (
        Ledger,
        lambda database: JoinedLedger(database, lambda own: {"z": mark("z", "a"), **own}),
        lambda database: RecallLedger(database, list, lambda: [Kept("a", "z", "7", "8")]),
    ):
        database = in_memory()
        ledger_schema.migrations.apply(database)
        ledger = kind(database)
        with ledger.transaction():
            ledger.mark(MARKS)
            ledger.keep(KEPT)
        yield ledger
        database.close()


def test_every_kind_of_ledger_looks_up_what_names_some_memories() -> None:
    for ledger in ledgers():
        for ids in ASKED:
            wanted = {
                id_: each
                for id_, each in ledger.marks().items()
                if id_ in ids or each.survivor in ids
            }
            assert ledger.marks_about(ids) == wanted
            assert list(ledger.marks_about(ids)) == list(wanted)
            assert ledger.marks_of(ids) == {i: m for i, m in wanted.items() if i in ids}
            pairs = [each for each in ledger.kept() if {*ids} & {each.a, each.b}]
            assert ledger.kept_of(ids) == pairs


def test_thousands_of_ids_are_looked_up_by_an_index_in_few_statements() -> None:
    database = in_memory()
    ledger_schema.migrations.apply(database)
    ledger = Ledger(database)
    with ledger.transaction():
        ledger.mark(mark(f"d{at:04d}", f"s{at:04d}") for at in range(2_000))
        ledger.keep(Kept(f"a{at:04d}", f"b{at:04d}", "1", "2") for at in range(2_000))
    statements: list[str] = []
    database.connection.set_trace_callback(statements.append)
    assert len(ledger.marks_about([f"s{at:04d}" for at in range(1_200)])) == 1_200
    assert len(ledger.kept_of([f"b{at:04d}" for at in range(1_200)])) == 1_200
    assert len(statements) == 12
    database.connection.set_trace_callback(None)
    for statement in {each.partition(" IN ")[0] for each in statements}:
        plan_of = f"EXPLAIN QUERY PLAN {statement} IN ('x', 'y')"
        steps = [str(row[3]) for row in database.connection.execute(plan_of)]
        assert not any(step.startswith("SCAN") for step in steps), (statement, steps)
