"""Collections of a server: mem0 and echoless both talk to it over HTTP, on loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from qdrant_client import models

from echoless import apply, find, history, plan, undo
from echoless.cli.main import main
from echoless.core.errors import StoreError, StoreNotFound, UsageError
from echoless.core.model import Link
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.execution.recovery import recover
from echoless.ingest import Admitted, remember
from echoless.stores.base import Store
from echoless.stores.registry import open_store
from echoless_stores.qdrant.client import KEY, read_place
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.qdrant.world import TEXTS, listed, say, searched
from tests.mem0_world import DIMENSIONS, Server, opened, serving
from tests.qdrant_server import QdrantServer, serving_qdrant

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

TEA = TEXTS[0]
SAFE = resolve(Choices(profile="safe", encoder="none"))


@pytest.fixture(scope="module")
def embedder() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with serving_qdrant() as running:
        yield running


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv(KEY, raising=False)
    return tmp_path / "data" / "echoless" / "qdrant"


@pytest.fixture
def mem0(tmp_path: Path, embedder: Server, qdrant: QdrantServer) -> Iterator[Mem0]:
    host, port = qdrant.address.split(":")
    with opened(tmp_path, embedder, host=host, port=int(port)) as memory:
        yield memory


def opened_store(qdrant: QdrantServer) -> Store:
    return open_store(f"mem0://{qdrant.address}#mem0")


def points(qdrant: QdrantServer, collection: str = "mem0") -> dict[str, Any]:
    """Payloads and vectors as the server holds them."""
    found, _ = qdrant.inner.scroll(collection, limit=1000, with_vectors=True)
    return {str(each.id): (each.payload, each.vector) for each in found}


def test_mem0_stops_seeing_what_is_hidden_on_the_server_until_it_is_undone(
    mem0: Mem0, qdrant: QdrantServer, data_folder: Path
) -> None:
    first = say(mem0, TEA)
    again = say(mem0, TEA.upper(), metadata={"mood": "calm"})
    other = say(mem0, TEXTS[1])
    before = points(qdrant)
    with opened_store(qdrant) as store:
        run = apply(store, plan(find(store, settings=SAFE)))
        assert list(store.ledger.marks()) == [again]
    assert listed(mem0) == {first, other}
    assert again not in searched(mem0, TEA)
    with opened_store(qdrant) as store:
        assert {memory.id for memory in store.scan()} == {first, again, other}
        undo(store, run.id)
    assert points(qdrant) == before
    assert again in searched(mem0, TEA)
    assert [path.suffix for path in data_folder.glob("127.0.0.1*")] == [".echoless"]


@pytest.mark.parametrize("action", ["merge", "delete"])
def test_a_run_on_a_server_is_taken_back_with_all_vectors(
    mem0: Mem0, qdrant: QdrantServer, action: ActionKind
) -> None:
    words = models.SparseVector(indices=[3, 9], values=[0.25, 1.5])
    raw: dict[str, Any] = {"": [0.1 * n for n in range(DIMENSIONS)], "bm25": words}
    mem0.vector_store.client.upsert(
        "mem0",
        [
            models.PointStruct(id=n, vector=raw, payload={"data": text, "user_id": "ann"})
            for n, text in ((7, "Frida has a dog."), (8, "frida has a dog"))
        ],
    )
    before = points(qdrant)
    with opened_store(qdrant) as store:
        run = apply(store, plan_by_hand(store, [("7", "8")], action))
        assert ("8" in points(qdrant)) == (action == "merge")
        undo(store, run.id)
    assert points(qdrant) == before


def test_a_change_of_the_payload_sends_no_vector(mem0: Mem0, qdrant: QdrantServer) -> None:
    first, again = say(mem0, TEA), say(mem0, TEA.upper(), metadata={"mood": "calm"})
    qdrant.requests.clear()
    with opened_store(qdrant) as store:
        apply(store, plan_by_hand(store, [(first, again)], "merge"))
    writes = [each for each in qdrant.requests if each.startswith(("PUT", "DELETE"))]
    assert writes
    assert set(writes) == {"PUT /collections/mem0/points/payload"}


def test_a_vector_that_is_not_of_length_one_is_kept_as_it_was_written(
    mem0: Mem0, qdrant: QdrantServer
) -> None:
    say(mem0, TEA)
    with opened_store(qdrant) as store:
        (known,) = store.scan()
        data = known.vectors[0].data
        raw = replace(known.vectors[0], data=data[:4] + bytes(len(data) - 8) + b"\x00\x00\x40\x40")
        answer = remember(
            store, TEXTS[1], settings=SAFE, namespace=known.namespace, vectors=(raw,), links=0
        )
        assert isinstance(answer, Admitted)
        assert store.get([answer.id])[answer.id].vectors == (raw,)
    with opened_store(qdrant) as store:
        assert store.get([answer.id])[answer.id].vectors == (raw,)
        undo(store, answer.run)
        assert store.count() == 1


def test_all_pages_are_read_in_the_order_of_ids(qdrant: QdrantServer) -> None:
    size = models.VectorParams(size=2, distance=models.Distance.DOT)
    qdrant.inner.create_collection("notes", vectors_config={"a": size, "b": size})
    qdrant.inner.upsert(
        "notes",
        [
            models.PointStruct(
                id=n, vector={"a": [1.0, n], "b": [n, 1.0]}, payload={"text": f"Fact {n}."}
            )
            for n in range(600, 0, -1)
        ],
    )
    url = f"qdrant://{qdrant.address}?map=content:text#notes"
    with open_store(url) as store:
        assert store.url == url
        memories = list(store.scan())
        assert [memory.id for memory in memories] == [str(n) for n in range(1, 601)]
        models_named = {vector.model for memory in memories for vector in memory.vectors}
        assert models_named == {"qdrant:notes/a", "qdrant:notes/b"}


def test_a_new_collection_is_made_on_the_server_for_the_first_vectors(
    mem0: Mem0, qdrant: QdrantServer
) -> None:
    say(mem0, TEA)
    with opened_store(qdrant) as store:
        memories = list(store.scan())
    url = f"mem0://{qdrant.address}#copy"
    with open_store(url, create=True) as store, store.writing():
        assert list(store.scan()) == []
        store.put(memories)
    with open_store(url) as store:
        assert list(store.scan()) == [
            replace(memory, vectors=memory.vectors) for memory in memories
        ]


def test_links_are_looked_up_without_reading_every_vector(mem0: Mem0, qdrant: QdrantServer) -> None:
    first, again, third = (say(mem0, text) for text in TEXTS[:3])
    with opened_store(qdrant) as store:
        assert not list(store.linking([first]))
        with store.writing():
            store.put([replace(store.get([third])[third], links=(Link(again, "related"),))])
            assert list(store.linking([again])) == [third]
            assert not list(store.linking([first, third]))
        run = apply(store, plan_by_hand(store, [(first, again)], "delete"))
        assert store.get([third])[third].links == (Link(first, "related"),)
        undo(store, run.id)
        assert store.get([third])[third].links == (Link(again, "related"),)


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_server_that_fails_in_the_middle_leaves_what_can_be_undone(
    mem0: Mem0, qdrant: QdrantServer, allowed: int
) -> None:
    ids = [say(mem0, f"{TEA} Note {n}.") for n in range(6)]
    before = points(qdrant)
    with opened_store(qdrant) as store:
        asked = plan_by_hand(store, [(ids[0], ids[1]), (ids[2], ids[3], ids[4])], "delete")
        qdrant.fails_after = allowed
        with suppress(StoreError):
            apply(store, asked)
        qdrant.fails_after = None
    with opened_store(qdrant) as store:
        with store.writing():
            recover(store)
        for past in history(store.ledger):
            if store.ledger.done_actions(past.id):
                undo(store, past.id)
    assert points(qdrant) == before


def test_a_missing_collection_or_server_is_one_clear_sentence(
    mem0: Mem0, qdrant: QdrantServer
) -> None:
    with pytest.raises(StoreNotFound, match=r"has no collection 'notes'. It has: mem0"):
        open_store(f"mem0://{qdrant.address}#notes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreError, match=f"No Qdrant server answers at http://127.0.0.1:{port}"):
        open_store(f"mem0://127.0.0.1:{port}#mem0")


def test_the_key_comes_from_the_environment_and_stands_nowhere_else(
    mem0: Mem0,
    qdrant: QdrantServer,
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say(mem0, TEA)
    say(mem0, TEA.upper())
    qdrant.key = "s3cret-key"
    with pytest.raises(StoreError, match=f"refuses the key.*{KEY}"):
        opened_store(qdrant)
    monkeypatch.setenv(KEY, qdrant.key)
    target = tmp_path / "plan.json"
    url = f"mem0://{qdrant.address}"
    arguments = ["dedup", url, "--encoder", "none", "--plan", str(target)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    done_too = CliRunner().invoke(main, ["apply", url, str(target)])
    assert done_too.exit_code == 0, done_too.output
    everywhere = [done.output, done_too.output, json.dumps(json.loads(target.read_text()))]
    files = [path.read_bytes() for path in data_folder.rglob("*") if path.is_file()]
    assert not any(qdrant.key in text for text in everywhere)
    assert not any(qdrant.key.encode() in data for data in files)
    assert "1 memory hidden" in done_too.output


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("ann:secret@host:6333#mem0", "takes no user name and no key"),
        ("https://ann:secret@host#mem0", "takes no user name and no key"),
        ("https://host:6333?api_key=secret#mem0", "the key of a server goes into the variable"),
        ("https://host:99999#mem0", "no valid port"),
    ],
)
def test_a_url_with_a_key_is_refused_without_repeating_it(location: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
        open_store(f"mem0://{location}")
    assert "secret" not in str(refusal.value)


def test_a_key_is_never_sent_unencrypted_over_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret")
    with pytest.raises(UsageError, match=r"unencrypted to http://qdrant.example:6333"):
        open_store("mem0://qdrant.example:6333#mem0")
    assert read_place("https://qdrant.example#mem0").key() == "secret"
    assert read_place("[::1]:6333#mem0").key() == "secret"


@pytest.mark.parametrize(
    ("location", "server", "collection"),
    [
        ("host:6333#mem0", "http://host:6333", "mem0"),
        ("127.0.0.1:6333", "http://127.0.0.1:6333", ""),
        ("https://x.cloud.example#m", "https://x.cloud.example:6333", "m"),
        ("https://x.example:443/qdrant/#m", "https://x.example:443/qdrant", "m"),
        ("http://[::1]:7000?map=content:a#m", "http://[::1]:7000", "m"),
    ],
)
def test_a_location_of_a_server_is_read_and_written_again(
    location: str, server: str, collection: str
) -> None:
    place = read_place(location)
    assert (place.folder, place.server, place.collection) == (None, server, collection)
    assert read_place(str(place)) == place
