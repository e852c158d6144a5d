"""Law 18: no answer gives a value that the store knows to be old."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import (
    Admitted,
    AlreadyKnown,
    Guard,
    Memory,
    Updates,
    apply,
    import_into,
    keep_both,
    open_store,
    search,
    undo,
)
from echoless.core.settings import Choices, resolve
from echoless.stores import Store
from echoless.stores.reading import ValuesInForce
from tests.conformance.stores import plan_by_hand
from tests.laws.worlds import KINDS, open_world

WORDS = resolve(Choices(encoder="none"))

DAYS = ("2026-11-21T09:00:00Z", "2026-11-28T09:00:00Z", "2026-12-05T09:00:00Z")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with open_world(request.param, [], tmp_path) as opened:
        yield opened


def remember(store: Store, *texts: str, days: tuple[str, ...] = DAYS, force: bool = False) -> str:
    """Remembers texts as m-0, m-1, ... on the days; returns the run of the last one."""
    run, first = "", store.count()
    with Guard(store, WORDS) as guard:
        for place, (text, day) in enumerate(zip(texts, days, strict=False), first):
            answer = guard.remember(text, created_at=day, id=f"m-{place}", force=force)
            assert isinstance(answer, Admitted | Updates), answer
            run = answer.run
    return run


def found(store: Store, query: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Returns the hits of a search by words, each with its older values and when they ended."""
    hits = search(store, query, mode="text").hits
    told = [[(old.memory.id, (old.until or "")[:10]) for old in hit.older] for hit in hits]
    return [(hit.memory.id, older) for hit, older in zip(hits, told, strict=True)]


@pytest.mark.parametrize(
    ("old", "new", "query"),
    [
        ("Standup is on Tuesdays.", "Standup is on Wednesdays.", "Tuesdays"),
        ("The gateway listens on port 8080.", "The gateway listens on port 8443.", "8080"),
        ("Das Standup ist dienstags.", "Das Standup ist mittwochs.", "dienstags"),
        ("Le serveur a 16 Go de mémoire.", "Le serveur a 32 Go de mémoire.", "16 Go"),
        ("El servidor tiene 16 GB de memoria.", "El servidor tiene 32 GB de memoria.", "16 GB"),
        ("検証サーバーのメモリは16 GBです。", "検証サーバーのメモリは32 GBです。", "メモリは16"),
        ("测试服务器有16 GB的内存。", "测试服务器有32 GB的内存。", "服务器有16"),
    ],
)
def test_words_of_the_old_value_find_the_value_in_force(
    store: Store, old: str, new: str, query: str
) -> None:
    remember(store, old, new)
    assert found(store, query) == [("m-1", [("m-0", "2026-11-28")])]


def test_of_a_chain_the_newest_is_told_at_the_better_place_with_the_days_of_the_others(
    store: Store,
) -> None:
    remember(store, *(f"Standup is on {day}." for day in ("Mondays", "Tuesdays", "Fridays")))
    remember(store, "On Tuesdays lunch is served late, and on Tuesdays only.")
    told = [("m-1", "2026-12-05"), ("m-0", "2026-11-28")]
    assert found(store, "Mondays") == found(store, "Fridays") == [("m-2", told)]
    assert found(store, "standup Tuesdays") == [("m-2", told), ("m-3", [])]


def test_an_undo_of_the_newer_one_brings_the_older_one_back(store: Store) -> None:
    run = remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    undo(store, run)
    assert found(store, "standup") == [("m-0", [])]


def test_a_pair_that_a_person_keeps_both_of_are_two_hits(store: Store) -> None:
    remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    keep_both(store, [("m-0", "m-1")])
    assert found(store, "Tuesdays") == [("m-0", [])]


def test_a_rewritten_text_is_no_longer_the_older_one(store: Store) -> None:
    remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    (old,) = store.get(["m-0"]).values()
    with store.writing():
        store.put([Memory(id=old.id, content="Yoga is on Tuesdays.", created_at=old.created_at)])
    assert found(store, "Tuesdays") == [("m-0", [])]


@pytest.mark.parametrize(
    "new",
    [
        "Standup will be on Wednesdays.",
        "Standup in Berlin is on Wednesdays.",
        "Standup is on Wednesdays until the end of May.",
    ],
)
def test_a_plan_another_place_and_a_passing_value_replace_nothing(store: Store, new: str) -> None:
    remember(store, "Standup is on Tuesdays.", new)
    assert ("m-0", []) in found(store, "Tuesdays")


def test_the_same_words_of_two_days_are_two_hits(store: Store) -> None:
    remember(store, *["The deploy failed yesterday because the disk was full."] * 2)
    assert found(store, "deploy failed") == [("m-0", []), ("m-1", [])]


def test_a_value_that_is_older_than_the_one_in_force_is_told_as_such(store: Store) -> None:
    remember(
        store,
        "Standup is on Wednesdays.",
        "Standup is on Tuesdays.",
        days=(DAYS[1], DAYS[0]),
    )
    assert found(store, "Tuesdays") == [("m-0", [("m-1", "2026-11-28")])]


def test_of_values_without_a_time_the_one_that_is_remembered_is_the_newer(store: Store) -> None:
    with store.writing():
        store.put([Memory(id="m-0", content="Standup is on Tuesdays.")])
    remember(store, "Standup is on Wednesdays.", days=DAYS[1:])
    assert found(store, "Tuesdays") == [("m-1", [("m-0", "2026-11-28")])]


def test_what_is_hidden_behind_the_newer_value_is_told_as_older_and_no_duplicate(
    store: Store,
) -> None:
    with Guard(store, WORDS) as guard:
        guard.remember("Standup is on Tuesdays.", id="m-0", created_at=DAYS[0])
        guard.remember("Standup is on Wednesdays.", id="m-1", created_at=DAYS[1], supersede=True)
    assert list(store.ledger.marks()) == ["m-0"]
    assert found(store, "Tuesdays") == [("m-1", [("m-0", "2026-11-28")])]
    assert search(store, "Tuesdays").hidden == 0
    shown = search(store, "Tuesdays", include_duplicates=True).hits
    assert [(hit.memory.id, hit.survivor) for hit in shown] == [("m-0", "m-1")]


def test_a_copy_of_the_older_value_leads_to_the_newer_one_too(store: Store) -> None:
    remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    with store.writing():
        text = "As was said, standup is on Tuesdays."
        store.put([Memory(id="copy", content=text, created_at=DAYS[0])])
    apply(store, plan_by_hand(store, [("copy", "m-0")], "mark"))
    assert found(store, "said") == [("m-1", [("copy", "2026-11-28")])]


def test_an_old_value_said_again_is_known_and_told_to_be_out_of_date(store: Store) -> None:
    remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    with Guard(store, WORDS) as guard:
        answer = guard.remember("Standup is on Tuesdays.")
    assert isinstance(answer, AlreadyKnown)
    assert answer.survivor == "m-0"
    assert any("m-0 is out of date: m-1 says" in note for note in answer.notes)
    remember(store, "Standup is on Tuesdays.", days=DAYS[2:], force=True)
    assert found(store, "Wednesdays") == [("m-2", [("m-1", "2026-12-05"), ("m-0", "2026-11-28")])]


def test_a_copied_store_knows_what_is_old(store: Store, tmp_path: Path) -> None:
    remember(store, "Standup is on Tuesdays.", "Standup is on Wednesdays.")
    import_into(store, tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:
        assert found(copy, "Tuesdays") == [("m-1", [("m-0", "2026-11-28")])]


def test_a_ledger_of_an_older_version_is_searched_and_written(tmp_path: Path) -> None:
    with open_world("sqlite", [], tmp_path) as store:
        remember(store, "Standup is on Tuesdays.")
    with closing(sqlite3.connect(tmp_path / "memories.db")) as db:
        db.execute("DROP TABLE updates")
        db.execute("DELETE FROM migrations WHERE name = 'ledger/0008_updates'")
        db.commit()
    with open_store(tmp_path / "memories.db") as store:
        assert found(store, "Tuesdays") == [("m-0", [])]
        remember(store, "Standup is on Wednesdays.", days=DAYS[1:])
        assert found(store, "Tuesdays") == [("m-1", [("m-0", "2026-11-28")])]


@given(
    edges=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda e: e[0] != e[1]))
)
def test_a_circle_in_a_damaged_ledger_ends(edges: set[tuple[int, int]]) -> None:
    memories = {str(i): Memory(id=str(i), content="x", created_at=DAYS[i % 3]) for i in range(5)}
    newer: dict[str, dict[str, str | None]] = {}
    for old, new in edges:
        newer.setdefault(str(old), {})[str(new)] = DAYS[new % 3]
    known = ValuesInForce(memories, {}, newer)
    for id_ in memories:
        assert id_ not in {old.memory.id for old in known.older(id_)}
        newest = known.newest(id_)
        assert newest not in newer or known.newest(newest) in newer, "it ends where nothing follows"
