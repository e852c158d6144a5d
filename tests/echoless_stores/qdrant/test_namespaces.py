"""Namespaces that a server of Qdrant filters by, against those that are read from every point."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from echoless import open_store
from echoless.stores.base import Scope, Store
from echoless_stores.qdrant.client import Point, ServerPoints
from echoless_stores.qdrant.store import QdrantStore
from tests.qdrant_server import QdrantServer, serving_qdrant

ODD: Sequence[Any] = (
    "ann", "", "it's", 'say "x"', "東京 \U0001f600", "a&b=c", "a\0b", "true", "True", "1", "1.5",
    "1e2", "[1]", "{}", "user_id=ann", None, True, False, 0, 1, 5, 1.5, 100.0, -3, ["ann"], ["b"],
    [1], [], {"a": 1}, {},
)  # fmt: skip


@pytest.fixture
def qdrant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with serving_qdrant() as running:
        yield running


def fill(qdrant: QdrantServer, name: str, payloads: Sequence[dict[str, Any]]) -> None:
    """Makes a collection with a point for each payload."""
    vectors = models.VectorParams(size=2, distance=models.Distance.DOT)
    qdrant.inner.create_collection(name, vectors_config=vectors)
    points = [
        models.PointStruct(id=at, vector=[1.0, float(at)], payload=payload)
        for at, payload in enumerate(payloads)
    ]
    qdrant.inner.upsert(name, points)


def agrees(store: Store, *more: str) -> None:
    """Checks that a scope reads what a reading of everything finds in it."""
    everything = list(store.scan())
    numbers = Counter(memory.namespace for memory in everything)
    assert dict(store.namespaces()) == dict(sorted(numbers.items()))
    names = sorted({*numbers, *more})
    for among in ({name} for name in names):
        wanted = [memory for memory in everything if memory.namespace in among]
        assert list(store.scan(Scope(among=frozenset(among)))) == wanted, among
        assert store.count(Scope(among=frozenset(among))) == len(wanted)
    two = Scope(among=frozenset(names[::2]))
    assert list(store.scan(two)) == list(two.narrow(everything))


def test_whatever_a_key_of_a_payload_holds_its_namespace_is_found(qdrant: QdrantServer) -> None:
    own = json.dumps({"namespace": "elsewhere"})
    payloads = [{"text": "a text", "team": each} for each in ODD]
    payloads += [{"text": "a text"}, {"text": "a text", "echoless": own}, {"team": "ann"}]
    fill(qdrant, "notes", [*payloads, {"text": "a text", "team": "ann", "echoless": own}])
    url = f"qdrant://{qdrant.address}?map=content:text&map=namespace:team#notes"
    with open_store(url) as store:
        assert isinstance(store, QdrantStore)
        assert store._layout.has_namespace
        agrees(store, "absent", "\ud800", "elsewhere", "2", "nan", "inf")


def test_whatever_the_owners_of_mem0_are_their_namespace_is_found(qdrant: QdrantServer) -> None:
    payloads = [{"data": "a text", "user_id": each} for each in ODD]
    payloads += [{"data": "a text", "user_id": "ann", "agent_id": each} for each in ODD]
    payloads += [{"data": "a text", "run_id": "r"}, {"data": "a text"}, {"user_id": "ann"}]
    fill(qdrant, "mem0", payloads)
    with open_store(f"mem0://{qdrant.address}#mem0") as store:
        agrees(store, "absent", "user_id=absent", "user_id=%ED%A0%80", "user_id=1&agent_id=2")


def test_a_namespace_inside_of_echoless_own_key_is_read_from_every_point(
    qdrant: QdrantServer,
) -> None:
    homes = [json.dumps({"namespace": name}) for name in ("ann", "ben")]
    fill(qdrant, "notes", [{"text": "a text", "echoless": home} for home in homes])
    with open_store(f"qdrant://{qdrant.address}?map=content:text#notes") as store:
        assert isinstance(store, QdrantStore)
        assert not store._layout.has_namespace
        agrees(store, "absent")


def test_a_server_sends_the_points_of_a_scope_alone_and_no_vectors_to_count(
    qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads = [{"data": f"text {at}", "user_id": f"user {at % 50}"} for at in range(500)]
    fill(qdrant, "mem0", payloads)
    sent: list[Point] = []
    scan = ServerPoints.scan

    def watched(points: ServerPoints, *given: Any, **named: Any) -> Iterator[Point]:
        for point in scan(points, *given, **named):
            sent.append(point)
            yield point

    monkeypatch.setattr(ServerPoints, "scan", watched)
    with open_store(f"mem0://{qdrant.address}#mem0") as store:
        two = Scope(among=frozenset({"user_id=user%207", "user_id=user%209"}))
        assert len(list(store.scan(two))) == len(sent) == 20
        assert all(point.dense for point in sent)
        sent.clear()
        assert store.count(two) == len(sent) == 20
        assert len(store.namespaces()) == 50
        assert not any(point.dense for point in sent)
