"""mem0's memories in a folder of Qdrant: written, searched and listed by mem0 itself."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from echoless import apply, find, history, plan, undo
from echoless.core.errors import ForeignStore, StoreError, StoreLocked, StoreNotFound, UsageError
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.execution.actions import Rewrite
from echoless.execution.recovery import recover
from echoless.stores.base import Store
from echoless.stores.expiration import HIDDEN_SINCE
from echoless.stores.registry import open_store
from tests.conformance.crash import killed_at
from tests.conformance.stores import contents, plan_by_hand
from tests.echoless_stores.qdrant.counting import CALLS, Counted
from tests.echoless_stores.qdrant.world import TEXTS, fill, listed, rows, say, searched
from tests.mem0_world import DIMENSIONS, Server, opened, serving

TEA = TEXTS[0]
SAFE = resolve(Choices(profile="safe", encoder="none"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: Server) -> tuple[Path, list[str]]:
    """A folder in which mem0 stored 32 memories, and one of them in other capitals."""
    folder = tmp_path_factory.mktemp("mem0")
    with opened(folder, server) as mem0:
        ids = fill(mem0)
        ids.append(say(mem0, TEA.upper().replace("'", "’"), metadata={"mood": "calm"}))
    return folder, ids


@pytest.fixture
def home(tmp_path: Path, made: tuple[Path, list[str]]) -> Path:
    shutil.copytree(made[0], tmp_path / "home")
    return tmp_path / "home"


def opened_store(home: Path) -> Store:
    return open_store(f"mem0:///{home / 'qdrant'}")


def upsert(home: Path, *points: models.PointStruct, collection: str = "mem0") -> None:
    """Writes points as another program does."""
    client = QdrantClient(path=str(home / "qdrant"))
    client.upsert(collection, list(points))
    client.close()


def payload(text: str = TEA, **more: Any) -> dict[str, Any]:
    return {"data": text, "user_id": "ann", "created_at": "2026-01-01T00:00:00+00:00", **more}


# ------------------------------------------------------------------ reading


def test_every_memory_of_mem0_is_read_with_its_owners_its_times_and_its_metadata(
    home: Path, made: tuple[Path, list[str]]
) -> None:
    stored = rows(home / "qdrant")
    before = contents(home)
    with opened_store(home) as store:
        memories = {memory.id: memory for memory in store.scan()}
        assert store.namespaces()["user_id=ann"] == 9
        assert not store.remarks()  # type: ignore[attr-defined]
    assert contents(home) == before
    assert memories.keys() == set(made[1])
    for id_, (fields, vector) in stored.items():
        memory = memories[id_]
        assert memory.content == fields["data"]
        assert memory.created_at == fields["created_at"]
        assert len(memory.vectors[0].data) == 4 * len(vector[""]) == 4 * DIMENSIONS
        core = {"data", "hash", "text_lemmatized", "created_at", "updated_at"}
        rest = {k: v for k, v in fields.items() if k not in core and not k.endswith("_id")}
        assert memory.metadata == rest


@pytest.mark.parametrize("number", range(33))
def test_a_memory_that_is_put_back_as_it_was_read_changes_nothing(
    home: Path, made: tuple[Path, list[str]], number: int
) -> None:
    id_ = made[1][number]
    before = rows(home / "qdrant")
    with opened_store(home) as store, store.writing():
        memory = store.get([id_])[id_]
        store.put([memory])
        assert rows(home / "qdrant") == before
        store.remove([id_])
        assert id_ not in rows(home / "qdrant")
        store.put([memory])
    assert rows(home / "qdrant") == before


def test_points_without_a_text_or_with_a_day_are_passed_over_and_counted(home: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    vector = [0.5] * DIMENSIONS
    upsert(
        home,
        models.PointStruct(id=1, vector=vector, payload={"user_id": "ann", "type": "identity"}),
        models.PointStruct(id=2, vector=vector, payload={"data": ["no", "text"]}),
        models.PointStruct(id=3, vector=vector, payload=payload(expiration_date=tomorrow)),
        models.PointStruct(id=4, vector=vector, payload=payload(expiration_date="2020-01-01")),
        models.PointStruct(id=5, vector=vector, payload=payload(expiration_date="soon")),
        models.PointStruct(id=6, vector=vector, payload=payload(created_at=[1], user_id=7)),
    )
    with opened_store(home) as store:
        read = {memory.id: memory for memory in store.scan()}
        remarks = store.remarks()  # type: ignore[attr-defined]
    assert {"5", "6"} < read.keys()
    assert not {"1", "2", "3", "4"} & read.keys()
    assert read["6"].namespace == "user_id=7"
    assert (read["6"].created_at, read["6"].metadata) == (None, {"created_at": [1]})
    assert "passed over: 2." in remarks[0]
    assert "passed over: 2." in remarks[1]


def test_a_folder_a_program_has_open_is_read_and_not_written(home: Path, server: Server) -> None:
    with opened(home, server) as mem0:
        new = say(mem0, "Dora sings in the choir.")
        with opened_store(home) as store:
            assert new in store.get([new])
            with pytest.raises(StoreLocked, match="open and holds its lock"):
                apply(store, plan(find(store, settings=SAFE)))
    with opened_store(home) as store:
        assert store.ledger.marks() == {}


# ------------------------------------------------------------------ hiding


def test_what_is_hidden_is_gone_from_search_and_lists_of_mem0_until_it_is_undone(
    home: Path, server: Server, made: tuple[Path, list[str]]
) -> None:
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        assert store.capabilities.hides
        run = apply(store, plan(find(store, settings=SAFE)))
        assert run.counts["mark"] == 1
        (hidden,) = store.ledger.marks()
        assert hidden in {memory.id for memory in store.scan()}
    with opened(home, server) as mem0:
        assert hidden not in listed(mem0)
        assert len(listed(mem0)) == len(TEXTS) * 2 + 0
        assert hidden not in searched(mem0, TEA)
        assert searched(mem0, TEA)
        assert hidden in searched(mem0, TEA, show_expired=True)
        assert mem0.get(hidden)["expiration_date"] == HIDDEN_SINCE
    with opened_store(home) as store:
        undo(store, run.id)
    assert rows(home / "qdrant") == before
    with opened(home, server) as mem0:
        assert hidden in listed(mem0)
        assert hidden in searched(mem0, TEA)


@pytest.mark.parametrize("day", [None, "", "never", "2020-13-01", 7])
def test_what_stood_in_place_of_the_day_stands_there_again(home: Path, day: Any) -> None:
    upsert(
        home,
        models.PointStruct(
            id=5,
            vector=[0.5] * DIMENSIONS,
            payload=payload("Emil plays chess.", expiration_date=day),
        ),
    )
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        other = next(memory.id for memory in store.scan() if memory.id != "5")
        run = apply(store, plan_by_hand(store, [(other, "5")], "mark"))
        assert rows(home / "qdrant")["5"][0]["expiration_date"] == HIDDEN_SINCE
        undo(store, run.id)
    assert rows(home / "qdrant") == before


def test_a_hidden_memory_has_another_hash_so_that_mem0_stores_its_text_again(
    home: Path, made: tuple[Path, list[str]]
) -> None:
    survivor, hidden = made[1][0], made[1][-1]
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        run = apply(store, plan_by_hand(store, [(survivor, hidden)], "mark"))
        hashes = {id_: row[0]["hash"] for id_, row in rows(home / "qdrant").items()}
        assert hashes.pop(hidden) == f"echoless hid {before[hidden][0]['hash']}"
        assert all(hashes[id_] == before[id_][0]["hash"] for id_ in hashes)
        undo(store, run.id)
    assert rows(home / "qdrant") == before


def test_a_run_says_where_so_many_are_hidden_that_mem0_may_find_fewer(home: Path) -> None:
    upsert(
        home,
        *(
            models.PointStruct(
                id=at, vector=[0.5] * DIMENSIONS, payload=payload("Emil plays chess.")
            )
            for at in range(100, 161)
        ),
    )
    with opened_store(home) as store:
        apply(store, plan(find(store, settings=SAFE)))
        (note,) = (each for each in store.notes() if "may find fewer" in each)
    assert "(61). mem0 reads the nearest 60 records" in note
    assert "--action delete" in note


def test_a_day_someone_set_on_a_hidden_memory_stays_when_it_is_shown(
    home: Path, server: Server, made: tuple[Path, list[str]]
) -> None:
    survivor, hidden = made[1][0], made[1][-1]
    with opened_store(home) as store:
        run = apply(store, plan_by_hand(store, [(survivor, hidden)], "mark"))
    with opened(home, server) as mem0:
        mem0.update(hidden, expiration_date="2031-01-01")
    with opened_store(home) as store:
        undo(store, run.id)
    fields = rows(home / "qdrant")[hidden][0]
    assert fields["expiration_date"] == "2031-01-01"
    assert "echoless_hidden" not in fields


def test_what_another_ledger_hid_is_counted_and_not_compared(
    home: Path, made: tuple[Path, list[str]]
) -> None:
    with opened_store(home) as store:
        apply(store, plan_by_hand(store, [(made[1][0], made[1][-1])], "mark"))
    (home / "qdrant.mem0.echoless").unlink()
    with opened_store(home) as store:
        assert made[1][-1] not in {memory.id for memory in store.scan()}
        assert "hid with another ledger" in store.remarks()[0]  # type: ignore[attr-defined]


# ------------------------------------------------------------------ merging and deleting


@pytest.mark.parametrize("action", ["merge", "delete"])
def test_a_run_is_taken_back_with_dense_and_sparse_vectors(home: Path, action: ActionKind) -> None:
    words = models.SparseVector(indices=[3, 9], values=[0.25, 1.5])
    both: dict[str, Any] = {"": [0.1 * n for n in range(DIMENSIONS)], "bm25": words}
    upsert(
        home,
        models.PointStruct(id=7, vector=both, payload=payload("Frida has a dog.", hash="x")),
        models.PointStruct(id=8, vector=both, payload=payload("frida has a dog", mood="calm")),
    )
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        run = apply(store, plan_by_hand(store, [("7", "8")], action))
        now = rows(home / "qdrant")
        assert ("8" in now) == (action == "merge")
        assert now["7"][1] == before["7"][1]
        undo(store, run.id)
    assert exactly(rows(home / "qdrant")) == exactly(before)


def exactly(stored: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """Rows with vectors as float32, which is what Qdrant computes with."""
    import numpy as np

    def single(vectors: Any) -> Any:
        return {
            name: np.array(each, np.float32).tobytes() if isinstance(each, list) else each
            for name, each in (vectors if isinstance(vectors, dict) else {"bare": vectors}).items()
        }

    return {id_: (fields, single(vectors)) for id_, (fields, vectors) in stored.items()}


def test_the_hash_follows_a_new_text_and_what_was_made_of_the_old_one_goes(home: Path) -> None:
    words = models.SparseVector(indices=[3], values=[0.25])
    vector = [0.5] * DIMENSIONS
    upsert(
        home,
        models.PointStruct(
            id=7,
            vector={"": vector, "bm25": words},
            payload=payload("Frida has a dog.", hash="old", text_lemmatized="frida dog"),
        ),
        models.PointStruct(id=8, vector=vector, payload=payload("Frida's dog is Rex.")),
    )
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        own = store.get(["7"])["7"]
        new = replace(own.vectors[0], data=own.vectors[0].data[::-1])
        rewrite = Rewrite("Frida has a dog, Rex.", (new,), by="a person")
        run = apply(store, plan_by_hand(store, [("7", "8")], "merge", {"7": rewrite}))
        assert not run.refused
        assert "no sparse vector now: 1." in store.notes()[0]  # type: ignore[attr-defined]
        fields, vectors = rows(home / "qdrant")["7"]
        assert fields["hash"] == hashlib.md5(rewrite.content.encode()).hexdigest()
        assert "text_lemmatized" not in fields
        assert "bm25" not in vectors
        undo(store, run.id)
    after = rows(home / "qdrant")
    assert exactly(after)["7"] == exactly(before)["7"]


def test_a_new_text_without_its_vector_is_refused(home: Path, made: tuple[Path, list[str]]) -> None:
    survivor, other = made[1][0], made[1][-1]
    before = rows(home / "qdrant")
    with opened_store(home) as store:
        rewrite = Rewrite("Anna drinks tea.", (), by="a person")
        with store.writing(), pytest.raises(StoreError, match="has no vector"):
            store.put(
                [replace(store.get([survivor])[survivor], content=rewrite.content, vectors=())]
            )
        assert other in store.get([other])
    assert rows(home / "qdrant") == before


# ------------------------------------------------------------------ a writer that is killed


@pytest.mark.parametrize("action", ["mark", "delete"])
def test_killed_at_every_13th_write_nothing_is_lost_and_undo_is_exact(
    home: Path, tmp_path: Path, action: ActionKind, made: tuple[Path, list[str]]
) -> None:
    before = rows(home / "qdrant")
    place = tmp_path / "place"
    url = f"mem0:///{place / 'qdrant'}"
    group = (made[1][0], made[1][4], made[1][-1])
    for step in range(0, 10_000, 13):
        shutil.copytree(home, place)
        with open_store(url) as store:
            asked = plan_by_hand(store, [group], action)
        killed = killed_at(step, partial(_apply, url, asked))
        with open_store(url) as store:
            with store.writing():
                recover(store)
            for run in history(store.ledger):
                if store.ledger.done_actions(run.id):
                    undo(store, run.id)
            assert store.ledger.marks() == {}
        assert exactly(rows(place / "qdrant")) == exactly(before), step
        shutil.rmtree(place)
        for beside in tmp_path.glob("place*"):
            beside.unlink()
        if not killed:
            break
    assert not killed, "the work has no end"


def _apply(url: str, asked: Any) -> None:
    with open_store(url) as store:
        apply(store, asked)


# ------------------------------------------------------------------ what cannot be opened


def test_a_missing_folder_collection_or_map_is_one_clear_sentence(home: Path) -> None:
    folder = home / "qdrant"
    with pytest.raises(StoreNotFound, match=r"does not exist.*HOST:6333"):
        open_store(f"mem0:///{folder}-gone")
    with pytest.raises(ForeignStore, match=r"no readable meta.json"):
        open_store(f"mem0:///{home}")
    with pytest.raises(StoreNotFound, match=r"has no collection 'notes'. It has: mem0"):
        open_store(f"mem0:///{folder}#notes")
    with pytest.raises(UsageError, match="takes no map"):
        open_store(f"mem0:///{folder}?map=content:text")
    with pytest.raises(UsageError, match="which key of the payload holds the text"):
        open_store(f"qdrant:///{folder}#mem0")


def test_a_bare_path_is_known_as_mem0_s_by_its_content(home: Path, tmp_path: Path) -> None:
    with open_store(home / "qdrant") as store:
        assert store.url.startswith("mem0:///")
    client = QdrantClient(path=str(tmp_path / "other"))
    client.create_collection("docs", models.VectorParams(size=2, distance=models.Distance.DOT))
    client.upsert("docs", [models.PointStruct(id=1, vector=[1.0, 2.0], payload={"text": "Hi."})])
    client.close()
    with open_store(f"qdrant:///{tmp_path / 'other'}?map=content:text") as store:
        (memory,) = store.scan()
        assert (memory.id, memory.content) == ("1", "Hi.")
        assert not store.capabilities.hides


@pytest.mark.parametrize("length", [3, DIMENSIONS + 1])
def test_a_vector_of_another_length_is_refused_before_anything_is_written(
    home: Path, length: int, made: tuple[Path, list[str]]
) -> None:
    before = rows(home / "qdrant")
    with opened_store(home) as store, store.writing():
        first = store.get(made[1])[made[1][0]]
        odd = replace(first, id="9", vectors=(replace(first.vectors[0], data=bytes(4 * length)),))
        with pytest.raises(StoreError, match=f"{length} components"):
            store.put([replace(first, id="8"), odd])
    assert rows(home / "qdrant") == before


def test_a_row_that_asks_for_code_is_refused_and_not_run(home: Path) -> None:
    CALLS.clear()
    with sqlite3.connect(home / "qdrant" / "collection" / "mem0" / "storage.sqlite") as database:
        key = database.execute("SELECT id FROM points LIMIT 1").fetchone()[0]
        database.execute("UPDATE points SET point = ? WHERE id = ?", (pickle.dumps(Counted()), key))
    database.close()
    with opened_store(home) as store:
        with pytest.raises(ForeignStore, match="no point of Qdrant"):
            list(store.scan())
        with pytest.raises(ForeignStore, match="no point of Qdrant"):
            apply(store, plan(find(store, settings=SAFE)))
    assert CALLS == []
