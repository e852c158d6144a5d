"""mem0 as an object, with the real library: Qdrant in a folder, an embedder on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from echoless import apply, find, plan, undo
from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import VOLATILE, Memory
from echoless.core.settings import Choices, resolve
from echoless.ingest import Admitted, Guard
from echoless.stores.base import Store
from echoless.stores.scope import owned_by, owners_of
from echoless_stores.live.mem0_store import Mem0Store
from tests.conformance.stores import FULL, StoreConformance, contents
from tests.mem0_world import Server, opened, serving

if TYPE_CHECKING:
    from mem0 import Memory as Mem0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def mem0(tmp_path: Path, server: Server) -> Iterator[Mem0]:
    server.fails = False
    with opened(tmp_path / "mem0", server) as memory:
        yield memory


def uuid(id_: str) -> str:
    number = 0 if id_ == FULL.id else int(id_.removeprefix("m-"))
    return f"00000000-0000-4000-8000-{number:012d}"


class TestConformance(StoreConformance):
    """A record has a UUID and an owner; vectors are mem0's own."""

    @pytest.fixture(autouse=True)
    def _inner(self, mem0: Mem0) -> None:
        self.inner = mem0

    def open(self, folder: Path, *, create: bool = False) -> Store:
        return Mem0Store(self.inner, lineage=folder / "lineage")

    def kept(self, memory: Memory) -> Memory:
        owner = {"user_id": memory.namespace or "ann"}
        stamped = {VOLATILE: ["created_at", "updated_at"]}
        return replace(
            memory,
            id=self.named(memory.id),
            namespace=memory.namespace if "=" in memory.namespace else owned_by(owner),
            updated_at=memory.updated_at or memory.created_at,
            vectors=(),
            native=stamped,
        )

    def named(self, id_: str) -> str:
        return id_ if id_.startswith("0") else uuid(id_)

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        return {k: v for k, v in contents(folder).items() if not k.endswith("/.lock")}

    def test_a_missing_store_is_not_made_by_reading(self, tmp_path: Path) -> None:
        with self.open(tmp_path) as store:
            assert list(store.scan()) == []
        assert not (tmp_path / "lineage").exists()


# ------------------------------------------------------------------ what mem0 wrote

TEA = "Anna drinks green tea at four o'clock."


def say(mem0: Mem0, text: str, **more: object) -> str:
    done = mem0.add(
        [{"role": "user", "content": text}], **{"user_id": "ann", "infer": False, **more}
    )
    return str(done["results"][0]["id"])


@pytest.mark.parametrize(
    ("owners", "namespace"),
    [
        ({"user_id": "ann"}, "user_id=ann"),
        ({"user_id": "ann", "agent_id": "a&b=c", "run_id": None}, "agent_id=a%26b%3Dc&user_id=ann"),
        ({"user_id": "ann\ud800"}, "user_id=ann%ED%A0%80"),
    ],
)
def test_a_namespace_tells_whom_a_memory_belongs_to(
    owners: dict[str, str | None], namespace: str
) -> None:
    assert owned_by(owners) == namespace
    assert owners_of(namespace) == {name: value for name, value in owners.items() if value}


@pytest.mark.parametrize("namespace", ["", "notes", "user_id=", "color=red"])
def test_another_namespace_has_no_owners_and_takes_no_memory(mem0: Mem0, namespace: str) -> None:
    assert owners_of(namespace) == {}
    with Mem0Store(mem0) as store, store.writing(), pytest.raises(BadRecord, match="none of mem0"):
        store.put([Memory(id=uuid("m-1"), content="x", namespace=namespace)])


def test_what_mem0_added_is_read_with_its_owners_and_metadata(mem0: Mem0) -> None:
    id_ = say(mem0, TEA, agent_id="pia", metadata={"mood": "calm"})
    with Mem0Store(mem0) as store:
        (found,) = store.scan()
    assert (found.id, found.content, found.namespace) == (id_, TEA, "agent_id=pia&user_id=ann")
    assert found.metadata == {"mood": "calm", "role": "user"}
    assert found.created_at is not None


def test_what_is_past_its_day_is_passed_over_and_counted(mem0: Mem0) -> None:
    say(mem0, TEA, expiration_date="2020-01-01")
    with Mem0Store(mem0) as store:
        assert list(store.scan()) == []
        assert ": 1. They are passed over" in store.remarks()[0]


def test_a_repetition_is_removed_told_in_mem0_s_history_and_undone(mem0: Mem0) -> None:
    ids = {say(mem0, TEA, metadata={"mood": "calm"}), say(mem0, TEA, metadata={"source": "chat"})}
    with Mem0Store(mem0) as store:
        before = list(store.scan())
        run = apply(store, plan(find(store, encoder="none"), action="delete"))
        (left,) = mem0.get_all(filters={"user_id": "ann"})["results"]
        assert left["metadata"].items() >= {"mood": "calm", "source": "chat"}.items()
        (gone,) = ids - {left["id"]}
        assert [entry["event"] for entry in mem0.history(gone)] == ["ADD", "DELETE"]
        undo(store, run.id)
        assert list(store.scan()) == before
    (found,) = mem0.search("green tea four", filters={"user_id": "ann"}, top_k=1)["results"]
    assert found["memory"] == TEA


def test_a_failing_embedder_is_an_error_of_ours_and_nothing_is_written(
    mem0: Mem0, server: Server
) -> None:
    server.fails = True
    with Mem0Store(mem0) as store, store.writing():
        with pytest.raises(StoreError, match="mem0 failed"):
            store.put([Memory(id=uuid("m-1"), content=TEA, namespace="user_id=ann")])
        assert store.count() == 0


def test_an_id_qdrant_does_not_take_is_refused_in_a_sentence(mem0: Mem0) -> None:
    with Mem0Store(mem0) as store, store.writing(), pytest.raises(StoreError, match="mem0 failed"):
        store.put([Memory(id="k1", content=TEA, namespace="user_id=ann")])


def test_more_than_one_page_of_records_is_listed(
    mem0: Mem0, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless_stores.live.mem0_store._FIRST", 2)
    for number in range(5):
        say(mem0, f"Fact number {number}.")
    with Mem0Store(mem0) as store:
        assert store.count() == 5


def test_a_new_memory_gets_an_id_of_the_form_mem0_gives(mem0: Mem0) -> None:
    settings = resolve(Choices(encoder="none"))
    with Mem0Store(mem0) as store, Guard(store, settings) as guard:
        answer = guard.remember(TEA, namespace="user_id=ann", key="request-1")
        assert isinstance(answer, Admitted)
        again = guard.remember(TEA, namespace="user_id=ann", key="request-1")
        assert again == answer
        assert (
            store.shaped(Memory(id="m-1", content=TEA)).id
            == store.shaped(Memory(id="m-1", content="Other.")).id
        )
    found = mem0.get(answer.id)
    assert found["memory"] == TEA
    assert found["created_at"] == found["updated_at"]
