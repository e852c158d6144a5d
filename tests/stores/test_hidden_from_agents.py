"""What is hidden is found by LangGraph and mem0 no more, where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from echoless import apply, undo
from echoless.core.errors import UsageError
from echoless.core.model import VOLATILE, Memory
from echoless.stores.base import Store
from echoless.stores.hidden_records import seen_elsewhere
from echoless_stores.live.langgraph import LangGraphStore, id_of, labels_of
from echoless_stores.live.mem0_store import Mem0Store
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import plan_by_hand
from tests.mem0_world import Server, opened, serving

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

STAMPED = {VOLATILE: ["created_at", "updated_at"]}


class TestLangGraph(HidingConformance):
    @pytest.fixture(autouse=True)
    def _inner(self, tmp_path: Path) -> Iterator[None]:
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as self.inner:
            self.inner.setup()
            yield

    def open(self, folder: Path, *, create: bool = False) -> Store:
        return LangGraphStore(self.inner, lineage=folder / "lineage", hide="move")

    def open_plain(self, folder: Path) -> Store:
        return LangGraphStore(self.inner, lineage=folder / "lineage")

    def kept(self, memory: Memory) -> Memory:
        namespace = memory.namespace or "notes"
        id_ = id_of(labels_of(namespace), memory.id)
        return replace(memory, id=id_, namespace=namespace, native=STAMPED)

    def named(self, id_: str) -> str:
        return f"notes/{id_}"

    def seen(self, folder: Path) -> set[str]:
        return {str(item.value["text"]) for item in self.inner.search(("notes",), limit=100)}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


class TestMem0(HidingConformance):
    @pytest.fixture(autouse=True)
    def _inner(self, tmp_path: Path, server: Server) -> Iterator[None]:
        with opened(tmp_path / "mem0", server) as self.inner:
            yield

    def open(self, folder: Path, *, create: bool = False) -> Store:
        return Mem0Store(self.inner, lineage=folder / "lineage", hide="expire")

    def open_plain(self, folder: Path) -> Store:
        return Mem0Store(self.inner, lineage=folder / "lineage")

    def kept(self, memory: Memory) -> Memory:
        return replace(
            memory,
            id=self.named(memory.id),
            namespace="user_id=ann",
            updated_at=memory.updated_at or memory.created_at,
            native=STAMPED,
        )

    def named(self, id_: str) -> str:
        return f"00000000-0000-4000-8000-{int(id_.removeprefix('m-')):012d}"

    def seen(self, folder: Path) -> set[str]:
        scope = {"user_id": "ann"}
        listed = {r["memory"] for r in self.inner.get_all(filters=scope)["results"]}
        found = self.inner.search("tea at four", filters=scope, threshold=0.0)["results"]
        assert {r["memory"] for r in found} <= listed
        return listed


def test_mem0_gets_every_record_back_as_it_was(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path / "mem0", server) as inner:
        ids = [said(inner, text) for text in ("Tea at four.", "Tea is at four.")]
        dated = said(inner, "The cat sleeps.", expiration_date="2999-01-01")
        before = payloads(inner)
        store = Mem0Store(inner, lineage=tmp_path / "lineage", hide="expire")
        run = apply(store, plan_by_hand(store, [(ids[0], ids[1], dated)], "mark"))
        assert {r["memory"] for r in found(inner)} == {"Tea at four."}
        undo(store, run.id)
        assert payloads(inner) == before
        assert {r["memory"] for r in found(inner)} == {"Tea at four.", "Tea is at four."}


def said(inner: Mem0, text: str, **more: object) -> str:
    done = inner.add([{"role": "user", "content": text}], user_id="ann", infer=False, **more)
    return str(done["results"][0]["id"])


def found(inner: Mem0) -> list[dict[str, str]]:
    search = inner.search("tea at four", filters={"user_id": "ann"}, threshold=0.0)
    results: list[dict[str, str]] = search["results"]
    return results


def payloads(inner: Mem0) -> dict[str, object]:
    rows = inner.vector_store.list(filters={"user_id": "ann"}, top_k=10)
    return {str(row.id): row.payload for row in rows[0]}


def test_hiding_from_a_library_needs_a_file_that_remembers_it() -> None:
    with pytest.raises(UsageError, match="needs lineage=PATH"):
        LangGraphStore(InMemoryStore(), hide="move")


def test_a_store_that_only_marks_says_who_still_sees_it(tmp_path: Path) -> None:
    counts = {"mark": 1, "merge": 0}
    store = LangGraphStore(InMemoryStore())
    said = seen_elsewhere(store, counts)
    assert said is not None
    assert "searches of LangGraph go on seeing them" in said
    assert "Open the store with hide='move'" in said
    store = LangGraphStore(InMemoryStore(), lineage=tmp_path / "lineage", hide="move")
    said = seen_elsewhere(store, counts)
    assert said is not None
    assert "lie in lineage and no longer in the store" in said
