"""The adapter of llm-memory's file, with the real sqlite-vec."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, check, find, history, open_store, plan, remember, undo
from echoless.core.errors import BadRecord, ForeignStore, StoreError, StoreLocked
from echoless.core.model import Link, Memory, Vector
from echoless.core.settings import Choices, resolve
from echoless.execution.plan import Plan
from echoless.ingest.outcomes import AlreadyKnown
from echoless_programs.stores.llm_memory import LlmMemoryStore
from echoless_programs.stores.llm_memory.store import open_with_vectors
from tests.conformance.crash import killed_at
from tests.conformance.stores import FULL, StoreConformance, fill, plan_by_hand, simple, state

STRIDE = 7
"""Every so many writes the process is killed; 1 takes a minute and finds the same."""

ROW = struct.pack("<384f", *(0.1 * n for n in range(384)))


class TestLlmMemory(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"llm-memory:///{folder}/llm_memory.db"

    def kept(self, memory: Memory) -> Memory:
        """Its namespaces have a pattern, its vectors one model, its links other memories."""
        return replace(
            memory,
            namespace="work/tokyo" if memory.id == FULL.id else memory.namespace or "default",
            links=() if memory.id == FULL.id else memory.links,
            vectors=tuple(Vector("llm-memory", ROW) for _ in memory.vectors),
        )


def told() -> list[Memory]:
    made = [simple(n, namespace="proj", vectors=(Vector("llm-memory", ROW),)) for n in range(1, 5)]
    return [
        replace(made[0], tags=("a",)),
        replace(made[1], tags=("b",), metadata={"only": "here"}, links=(Link("m-4", "child"),)),
        replace(made[2], links=(Link("m-2"),)),
        made[3],
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(f"llm-memory:///{tmp_path}/llm_memory.db", told())
    return tmp_path / "llm_memory.db"


def test_a_bare_path_is_recognised_by_its_tables(path: Path, tmp_path: Path) -> None:
    with open_store(path) as store:
        assert isinstance(store, LlmMemoryStore)
        assert store.profile == "llm-memory"
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT)")
    db.close()
    assert not LlmMemoryStore.recognises(other)
    with pytest.raises(ForeignStore, match="not of llm-memory"):
        open_store(f"llm-memory:///{other}")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"namespace": ""}, "namespace"),
        ({"namespace": "Work Notes"}, "namespace"),
        ({"metadata": {"echoless": 1}}, "metadata"),
        ({"vectors": (Vector("another", ROW),)}, "vectors"),
        ({"vectors": (Vector("llm-memory", ROW[:8]),)}, "vectors"),
        ({"links": (Link("nowhere"),)}, "links"),
        ({"links": (Link("m-2", data={"colour": "red"}),)}, "links"),
        ({"links": (Link("m-2"), Link("m-2", data={"strength": 0.5}))}, "links"),
    ],
)
def test_what_has_no_place_is_refused_by_id_and_field(
    path: Path, change: dict[str, object], field: str
) -> None:
    with open_store(path) as store, store.writing():
        before = state(store)
        new = replace(simple(9, namespace="proj"), **change)  # type: ignore[arg-type]
        with pytest.raises(StoreError, match=f"{field}.*'m-9'"):
            store.put([new])
        assert state(store) == before


def test_a_damaged_record_is_named(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE memories SET metadata = '[1' WHERE id = 'm-2'")
    db.commit()
    db.close()
    with open_store(path) as store, pytest.raises(BadRecord, match="'m-2'"):
        list(store.scan())


def test_a_file_someone_else_writes_is_reported_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless_programs.stores.llm_memory.store.BUSY_TIMEOUT_SECONDS", 0.05)
    other = open_with_vectors(path)
    other.connection.execute("BEGIN IMMEDIATE")
    with open_store(path) as store:
        before = state(store)
        with store.writing(), pytest.raises(StoreLocked):
            store.remove(["m-1"])
        assert state(store) == before
    other.connection.execute("ROLLBACK")
    other.close()


def test_a_value_that_stays_keeps_its_bytes(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute(
        """UPDATE memories SET metadata = '{ "b":1, "a" : 2 }', tags = NULL WHERE id='m-2'"""
    )
    db.commit()
    with open_store(path) as store, store.writing():
        memory = store.get(["m-2"])["m-2"]
        store.put([replace(memory, access_count=9)])
    db = sqlite3.connect(path)
    row = db.execute("SELECT metadata, tags, access_count FROM memories WHERE id='m-2'").fetchone()
    assert row == ('{ "b":1, "a" : 2 }', None, 9)
    db.close()


def test_a_memory_that_expires_hides_none_that_stays(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE memories SET content = 'Anna is allergic to penicillin', namespace = 'proj'")
    db.execute("UPDATE memories SET expires_at = '2031-01-01T00:00:00+00:00' WHERE id != 'm-2'")
    db.commit()
    db.close()
    settings = resolve(Choices(semantic=False))
    with open_store(path) as store:
        apply(store, plan(find(store, settings)))
        assert store.ledger.marks().keys() == {memory.id for memory in store.scan()} - {"m-2"}
        known = remember(
            store, "Anna is allergic to penicillin", settings=settings, namespace="proj"
        )
        assert isinstance(known, AlreadyKnown)
        assert known.survivor == "m-2"


def test_killed_at_every_7th_write_nothing_is_lost_and_undo_is_exact(
    path: Path, tmp_path: Path
) -> None:
    with open_store(path) as store:
        before = state(store)
    points = 0
    for step in range(0, 10_000, STRIDE):
        place = tmp_path / "crash"
        place.mkdir()
        url = f"llm-memory:///{shutil.copy(path, place)}"
        with open_store(url) as store:
            plan = plan_by_hand(store, [("m-1", "m-2")], "delete")
        killed = killed_at(step, lambda plan=plan, url=url: _apply(url, plan))
        _recovers(url, before, done=None if killed else True)
        shutil.rmtree(place)
        if not killed:
            break
        points += 1
    assert not killed, "the work has no end"
    assert points * STRIDE > 100


def _apply(url: str, plan: Plan) -> None:
    with open_store(url) as store:
        apply(store, plan)


def _recovers(url: str, before: object, *, done: bool | None) -> None:
    with open_store(url) as store:
        check(store)
        assert check(store).sound
        ids = [memory.id for memory in store.scan()]
        assert ids in (["m-1", "m-2", "m-3", "m-4"], ["m-1", "m-3", "m-4"])
        assert done is None or len(ids) == 3
        standing = [run.id for run in history(store.ledger) if run.status == "done"]
        assert bool(standing) == (len(ids) == 3)
        if standing:
            undo(store, standing[-1])
        assert state(store) == before


def test_a_file_in_wal_mode_is_read_and_written(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.close()
    with open_store(path) as store:
        before = state(store)
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
        assert [memory.id for memory in store.scan()] == ["m-1", "m-3", "m-4"]
        undo(store, run.id)
        assert state(store) == before
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
