"""mem0's memories in Chroma, with the map of that name: written and searched by mem0 itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.errors import StoreError
from echoless.core.settings import Choices, resolve
from echoless.execution.actions import Rewrite
from echoless.stores.base import Store
from echoless.stores.expiration import HIDDEN_SINCE
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.chroma_folders import held
from tests.echoless_stores.qdrant.world import listed, say, searched
from tests.mem0_world import Server, configured, serving

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

SAFE = resolve(Choices(profile="safe", encoder="none"))
TEA = "Anna drinks green tea at four o'clock."


@contextmanager
def opened(folder: Path, server: Server) -> Iterator[Mem0]:
    config = {"collection_name": "mem0", "path": str(folder / "chroma")}
    from mem0 import Memory  # noqa: F401 - it must be loaded before its Chroma

    with configured(folder, server, {"provider": "chroma", "config": config}) as mem0:
        yield mem0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: Server) -> tuple[Path, list[str]]:
    with opened(tmp_path, server) as mem0:
        ids = [
            say(mem0, TEA),
            say(mem0, TEA.upper(), metadata={"mood": "calm"}),
            say(mem0, TEA, agent_id="pia", user_id="ann"),
            say(mem0, "The gateway listens on port 8443."),
            say(mem0, TEA, expiration_date="2090-01-01"),
        ]
    return tmp_path, ids


def opened_store(folder: Path, *, mapped: bool = True) -> Store:
    return open_store(f"chroma:///{folder / 'chroma'}{'?map=mem0' * mapped}#mem0")


def test_mem0_stops_seeing_what_is_hidden_until_it_is_undone(
    home: tuple[Path, list[str]], server: Server
) -> None:
    folder, ids = home
    before = held(folder / "chroma", "mem0")
    with opened_store(folder) as store:
        assert store.capabilities.hides
        assert store.namespaces() == {"agent_id=pia&user_id=ann": 1, "user_id=ann": 3}
        assert "'expiration_date', passed over: 1." in store.remarks()[0]  # type: ignore[attr-defined]
        run = apply(store, plan(find(store, settings=SAFE)))
        assert list(store.ledger.marks()) == [ids[1]]
    assert held(folder / "chroma", "mem0")[ids[1]][1]["expiration_date"] == HIDDEN_SINCE
    with opened(folder, server) as mem0:
        assert ids[1] not in listed(mem0)
        assert ids[1] not in searched(mem0, TEA)
        assert ids[0] in searched(mem0, TEA)
        assert mem0.get(ids[1])["memory"] == TEA.upper()
    with opened_store(folder, mapped=False) as store:  # the map is remembered
        assert store.capabilities.hides
        undo(store, run.id)
    assert held(folder / "chroma", "mem0") == before
    with opened(folder, server) as mem0:
        assert ids[1] in searched(mem0, TEA)


def test_the_hash_follows_a_new_text_until_it_is_undone(home: tuple[Path, list[str]]) -> None:
    folder, ids = home
    before = held(folder / "chroma", "mem0")
    with opened_store(folder) as store:
        vectors = store.get([ids[3]])[ids[3]].vectors
        rewrite = Rewrite("Anna drinks green tea at four.", vectors, by="a person")
        run = apply(store, plan_by_hand(store, [(ids[0], ids[1])], "merge", {ids[0]: rewrite}))
        fields = held(folder / "chroma", "mem0")[ids[0]][1]
        assert fields["data"] == rewrite.content
        assert fields["hash"] == hashlib.md5(rewrite.content.encode()).hexdigest()
        assert "text_lemmatized" not in fields
        undo(store, run.id)
    assert held(folder / "chroma", "mem0") == before


def test_a_namespace_without_owners_is_refused(home: tuple[Path, list[str]]) -> None:
    folder, ids = home
    before = held(folder / "chroma", "mem0")
    with opened_store(folder) as store, store.writing():
        memory = store.get(ids)[ids[0]]
        with pytest.raises(StoreError, match="none of mem0"):
            store.put([replace(memory, namespace="notes")])
        store.put([replace(memory, namespace="run_id=r1")])
        assert store.get(ids)[ids[0]].namespace == "run_id=r1"
        store.put([memory])
    assert held(folder / "chroma", "mem0") == before
