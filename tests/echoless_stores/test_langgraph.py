"""Stores of LangGraph as objects, with the real library: in memory and in SQLite."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from echoless import apply, find, plan, undo
from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import VOLATILE, Memory
from echoless.core.settings import Choices, resolve
from echoless.execution.insertions import add
from echoless.ingest import Admitted, Guard
from echoless.stores.base import Scope, Store
from echoless_stores.live.langgraph import (
    LangGraphStore,
    id_of,
    labels_of,
    namespace_of,
    place_of,
)
from tests.conformance.stores import FULL, StoreConformance, contents

NOTES = ("notes",)


class _Conformance(StoreConformance):
    """An item needs a namespace and holds no vectors; the library cannot tell that it is new."""

    def kept(self, memory: Memory) -> Memory:
        namespace = memory.namespace or "notes"
        id_ = id_of(labels_of(namespace), memory.id)
        stamped = {VOLATILE: ["created_at", "updated_at"]}
        return replace(memory, id=id_, namespace=namespace, vectors=(), native=stamped)

    def named(self, id_: str) -> str:
        return self.kept(FULL).id if id_ in {FULL.id, self.kept(FULL).id} else f"notes/{id_}"

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)

    def test_a_missing_store_is_not_made_by_reading(self, tmp_path: Path) -> None:
        with self.open(tmp_path) as store:
            assert list(store.scan()) == []
        assert not (tmp_path / "lineage").exists()


class TestInMemory(_Conformance):
    @pytest.fixture(autouse=True)
    def _inner(self) -> None:
        self.inner = InMemoryStore()

    def open(self, folder: Path, *, create: bool = False) -> Store:
        return LangGraphStore(self.inner, lineage=folder / "lineage")

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        items = self.inner.search((), limit=1000)
        return {**contents(folder), "items": pickle.dumps([item.dict() for item in items])}


class TestInSqlite(_Conformance):
    @pytest.fixture(autouse=True)
    def _inner(self, tmp_path: Path) -> Iterator[None]:
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as self.inner:
            self.inner.setup()
            yield

    def open(self, folder: Path, *, create: bool = False) -> Store:
        return LangGraphStore(self.inner, lineage=folder / "lineage")


# ------------------------------------------------------------------ others' items

TEA = "Anna drinks green tea at four o'clock."


@pytest.fixture(params=["memory", "sqlite"])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as made:
        made.setup()
        yield made


@pytest.mark.parametrize(
    ("labels", "key", "expected"),
    [
        (("users", "ann"), "profile", "users.ann/profile"),
        (("a.b", "c/d", "e\\"), "k/1.2\\", "a\\.b.c\\/d.e\\\\/k/1.2\\"),
        (("x",), "", "x/"),
    ],
)
def test_an_id_is_the_namespace_and_the_key_and_leads_back(
    labels: tuple[str, ...], key: str, expected: str
) -> None:
    assert id_of(labels, key) == expected
    assert place_of(expected) == (labels, key)
    assert labels_of(namespace_of(labels)) == labels


def test_an_id_without_a_slash_is_none_of_this_store() -> None:
    assert place_of("profile") is None


def test_an_item_is_a_memory_where_it_has_a_text(inner: BaseStore) -> None:
    inner.put(NOTES, "k1", {"text": TEA, "mood": "calm", "n": 3})
    inner.put(NOTES, "k2", {"count": 7})
    inner.put(("notes", "deep"), "k1", {"text": "Another fact."})
    with LangGraphStore(inner) as store:
        first, deep = store.scan()
        assert (first.id, first.content, first.namespace) == (
            "notes.deep/k1",
            "Another fact.",
            "notes.deep",
        )
        assert (deep.id, deep.metadata) == ("notes/k1", {"mood": "calm", "n": 3})
        assert first.created_at is not None
        assert ": 1. They are no memories" in store.remarks()[0]


def test_a_namespace_inside_of_another_is_read_and_counted_once(inner: BaseStore) -> None:
    for labels in (("home",), ("home", "ann"), ("home", "ann", "work")):
        inner.put(labels, "k", {"text": "Green tea at four."})
        inner.put(labels, "settings", {"theme": "dark"})
    with LangGraphStore(inner) as store:
        some = Scope(among=frozenset({"home", "home.ann", "absent"}))
        assert [memory.namespace for memory in store.scan(some)] == ["home.ann", "home"]
        (remark,) = store.remarks()
        assert "no JSON: 2." in remark
        assert store.count(Scope("home")) == 1


def test_a_text_may_lie_inside_or_be_read_by_a_function(inner: BaseStore) -> None:
    inner.put(NOTES, "k1", {"content": {"content": TEA, "kind": "habit"}})
    inner.put(NOTES, "k2", {"first": "Anna", "last": "Lee"})
    with LangGraphStore(inner, text_key="content.content") as store:
        (found,) = store.scan()
        assert (found.content, found.metadata) == (TEA, {"content": {"kind": "habit"}})
    read = LangGraphStore(
        inner,
        text_key=lambda value: f"{value['first']} {value['last']}" if "first" in value else None,
    )
    with read as store:
        (found,) = store.scan()
        assert found.content == "Anna Lee"
        with store.writing(), pytest.raises(StoreError, match="read by a function"):
            store.put([replace(found, content="Bob Lee")])


def test_an_addition_is_undone_and_leaves_the_value_of_the_owner(inner: BaseStore) -> None:
    inner.put(NOTES, "k1", {"text": TEA, "mood": "calm"})
    with LangGraphStore(inner) as store:
        run = add(
            store,
            [Memory(id="notes/k2", content="New.", namespace="notes", metadata={"a": 1})],
            profile="safe",
            why="said",
        )
        found = inner.get(NOTES, "k2")
        assert found is not None
        assert found.value == {"text": "New.", "a": 1}
        undo(store, run)
    assert [item.key for item in inner.search(())] == ["k1"]
    assert inner.search(())[0].value == {"text": TEA, "mood": "calm"}


def test_a_repetition_is_found_merged_and_undone_with_its_time_of_creation(
    inner: BaseStore,
) -> None:
    inner.put(NOTES, "k1", {"text": TEA, "mood": "calm"})
    inner.put(NOTES, "k2", {"text": TEA, "source": "chat"})
    with LangGraphStore(inner) as store:
        before = list(store.scan())
        run = apply(store, plan(find(store, encoder="none"), action="delete"))
        assert run.counts["delete"] == 1
        (left,) = store.scan()
        assert {"mood", "source"} <= left.metadata.keys()
        assert left.created_at == min(m.created_at or "" for m in before)
        undo(store, run.id)
        assert list(store.scan()) == before


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (Memory(id="k1", content="x", namespace="notes"), "is no id for the namespace"),
        (Memory(id="other/k1", content="x", namespace="notes"), "is no id for the namespace"),
        (Memory(id="/k1", content="x"), "takes no item in the namespace"),
        (Memory(id="langgraph/k", content="x", namespace="langgraph"), "takes no item in the"),
    ],
)
def test_what_the_library_would_refuse_is_refused_with_its_id(memory: Memory, message: str) -> None:
    with LangGraphStore(InMemoryStore()) as store, store.writing():
        with pytest.raises(BadRecord, match=message):
            store.put([memory])


def test_reading_does_not_lengthen_the_life_of_an_item(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    ttl = {"default_ttl": 10, "refresh_on_read": True}
    with SqliteStore.from_conn_string(str(path), ttl=ttl) as inner:
        inner.setup()
        inner.put(NOTES, "k1", {"text": TEA})
        inner.conn.execute("UPDATE store SET expires_at = '2100-01-01 00:00:00'")
        with LangGraphStore(inner) as store:
            list(store.scan())
            store.get(["notes/k1"])
        assert inner.conn.execute("SELECT expires_at FROM store").fetchall() == [
            ("2100-01-01 00:00:00",)
        ]


def test_what_the_library_raises_is_an_error_of_ours() -> None:
    class Broken(InMemoryStore):
        def batch(self, ops: object) -> list[object]:  # type: ignore[override]
            raise KeyError("gone")

    with LangGraphStore(Broken()) as store, pytest.raises(StoreError, match="LangGraph failed"):
        list(store.scan())


# ------------------------------------------------------------------ behind the guard


def test_a_new_memory_gets_an_id_of_the_store_and_the_library_s_own_stamp(inner: BaseStore) -> None:
    settings = resolve(Choices(encoder="none"))
    with LangGraphStore(inner) as store, Guard(store, settings) as guard:
        answer = guard.remember(TEA, namespace="users.ann", key="request-1", tags=["tea"])
        assert isinstance(answer, Admitted)
        assert answer.id.startswith("users.ann/m-")
        assert guard.remember(TEA, namespace="users.ann", key="request-1") == answer
        old = guard.remember("An old fact.", namespace="users.ann", created_at="2020-01-01")
        assert isinstance(old, Admitted)
        found = store.get([answer.id, old.id])
    assert found[old.id].created_at == "2020-01-01"
    item = inner.get(("users", "ann"), answer.id.partition("/")[2])
    assert item is not None
    assert item.value == {"text": TEA, "echoless": {"tags": ["tea"]}}
    assert found[answer.id].created_at == item.created_at.isoformat()


def test_a_namespace_the_library_refuses_is_refused_before_anything_is_written(
    inner: BaseStore,
) -> None:
    with LangGraphStore(inner) as store, Guard(store, resolve(Choices(encoder="none"))) as guard:
        with pytest.raises(BadRecord, match="takes no item in the namespace"):
            guard.remember(TEA)
        assert store.ledger.is_empty()


def test_what_was_written_through_the_store_is_told_and_all_is_read_again_after_a_while() -> None:
    with LangGraphStore(InMemoryStore(), recheck=1000) as store, store.writing():
        first, ids = store.changes("")
        assert ids is None
        assert store.changes(first) == (first, set())
        store.put([Memory(id="notes/a", content=TEA, namespace="notes")])
        store.remove(["notes/b"])
        second, ids = store.changes(first)
        assert ids == {"notes/a", "notes/b"}
        assert store.changes(second) == (second, set())
        assert store.changes("another object's:3")[1] is None
    with LangGraphStore(InMemoryStore(), recheck=0) as store:
        token, _ = store.changes("")
        assert store.changes(token)[1] is None
        token, _ = store.changes("")
        with store.still():
            assert store.changes(token) == (token, set())
