"""Law 19: the survivor is one that its own program still finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import lancedb
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.base import VECTOR_MIGRATIONS
from qdrant_client import QdrantClient, models

from echoless import Memory, apply, find, open_store, plan, remember, undo
from echoless.core.model import IN_FORCE, Promise, Vector
from echoless.core.settings import Choices, resolve
from echoless.ingest.outcomes import AlreadyKnown
from echoless.stores.live import MemoryList
from echoless_stores.live.langgraph import LangGraphStore
from tests.conformance.stores import state
from tests.echoless_stores.chroma_folders import Row, make, opened
from tests.echoless_stores.sql.worlds import conninfo
from tests.laws.worlds import quick, safe

FACT, OTHER = "The lift is being repaired.", "Invoices go out on Mondays."
MEANT = [1.0, 0.0]
"""Vector of the fact."""

Search = Callable[[], Sequence[str]]
"""Texts that the program of a store finds for the fact."""


@contextmanager
def _lancedb(folder: Path, lost: Sequence[float] | None) -> Iterator[tuple[str, Search]]:
    rows = [
        {"id": "a", "text": FACT, "vector": lost},
        {"id": "b", "text": FACT, "vector": MEANT},
        {"id": "c", "text": OTHER, "vector": [0.0, 1.0]},
    ]
    kinds = [("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 2))]
    table = pa.Table.from_pylist(rows, pa.schema(kinds))
    database = lancedb.connect(str(folder / "db"))
    database.create_table("facts", table, on_bad_vectors="null")

    def search() -> Sequence[str]:
        query = database.open_table("facts").search(MEANT).distance_type("cosine")  # type: ignore[attr-defined].limit(10)
        return [row["text"] for row in query.to_list()]

    yield f"lancedb:///{folder}/db?hide=move#facts", search


@contextmanager
def lancedb_without_vector(folder: Path) -> Iterator[tuple[str, Search]]:
    with _lancedb(folder, None) as made:
        yield made


@contextmanager
def lancedb_with_zeros(folder: Path) -> Iterator[tuple[str, Search]]:
    with _lancedb(folder, [0.0, 0.0]) as made:
        yield made


@contextmanager
def chroma_with_zeros(folder: Path) -> Iterator[tuple[str, Search]]:
    rows = [Row("a", FACT, [0.0, 0.0]), Row("b", FACT, MEANT), Row("c", OTHER, [0.0, 1.0])]
    make(folder / "db", "facts", rows, metadata={"hnsw:space": "cosine"})

    def search() -> Sequence[str]:
        with opened(folder / "db") as client:
            collection = client.get_collection("facts", embedding_function=None)
            return list(collection.query([MEANT], n_results=1)["documents"][0])

    yield f"chroma:///{folder}/db?hide=move#facts", search


@contextmanager
def qdrant_without_vector(folder: Path) -> Iterator[tuple[str, Search]]:
    client = QdrantClient(path=str(folder / "db"))
    of_text = {"text": models.VectorParams(size=2, distance=models.Distance.COSINE)}
    client.create_collection("facts", of_text)
    points = [
        models.PointStruct(id=1, vector={}, payload={"text": FACT}),
        models.PointStruct(id=2, vector={"text": MEANT}, payload={"text": FACT}),
        models.PointStruct(id=3, vector={"text": [0.0, 1.0]}, payload={"text": OTHER}),
    ]
    client.upsert("facts", points)
    client.close()

    def search() -> Sequence[str]:
        reader = QdrantClient(path=str(folder / "db"))
        answer = reader.query_points("facts", MEANT, using="text")
        reader.close()
        return [str((point.payload or {})["text"]) for point in answer.points]

    yield f"qdrant:///{folder}/db?map=content:text#facts", search


@contextmanager
def table_without_vector(folder: Path) -> Iterator[tuple[str, Search]]:
    path = folder / "own.db"
    vector = Vector("m", b"\0\0\x80\x3f\0\0\0\0").data
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE facts (id TEXT PRIMARY KEY, content TEXT, embedding BLOB)")
        rows = [("a", FACT, None), ("b", FACT, vector), ("c", OTHER, vector)]
        db.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)

    def search() -> Sequence[str]:
        with closing(sqlite3.connect(path)) as db:
            query = "SELECT content FROM facts WHERE embedding IS NOT NULL"
            return [text for (text,) in db.execute(query)]

    yield f"sql:///{path}?map=vectors:embedding&hide=move#facts", search


@contextmanager
def langgraph_file(folder: Path) -> Iterator[tuple[str, Search]]:
    """A file of the library with an index of vectors, made by hand: it needs an extension."""
    path = folder / "graph.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        graph = SqliteStore(db)
        graph.setup()
        for key, text in (("a", FACT), ("b", FACT), ("c", OTHER)):
            graph.put(("notes",), key, {"text": text})
        db.execute(VECTOR_MIGRATIONS[0])
        add = "INSERT INTO store_vectors (prefix, key, field_name) VALUES ('notes', ?, 'text')"
        db.executemany(add, [("b",), ("c",)])

    def search() -> Sequence[str]:
        with closing(sqlite3.connect(path)) as db:
            query = "SELECT value ->> 'text' FROM store JOIN store_vectors USING (prefix, key)"
            return [text for (text,) in db.execute(query)]

    yield f"sql:///{path}?hide=move#store", search


World = Callable[[Path], AbstractContextManager[tuple[str, Search]]]
WORLDS: tuple[World, ...] = (
    lancedb_without_vector,
    lancedb_with_zeros,
    chroma_with_zeros,
    qdrant_without_vector,
    table_without_vector,
    langgraph_file,
)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_of_equal_texts_the_one_that_the_program_finds_stays(world: World, tmp_path: Path) -> None:
    with world(tmp_path) as (url, search):
        assert FACT in search()
        with open_store(url) as store:
            findings = find(store, safe())
            (group,) = findings.groups
            assert group.survivor[-1] in {"b", "2"}
            assert findings.reasons[group.survivor].startswith("found by its program")
            before = state(store)
            run = apply(store, plan(findings))
            assert find(store, safe()).groups == ()
        assert FACT in search()
        with open_store(url) as store:
            undo(store, run.id)
            if "langgraph" not in world.__name__:
                assert state(store) == before


def _embedded(texts: Sequence[str]) -> list[list[float]]:
    return [MEANT if "lift" in text else [0.0, 1.0] for text in texts]


def test_an_item_that_was_put_without_an_index_hides_none_that_has_one(tmp_path: Path) -> None:
    inner = InMemoryStore(index={"dims": 2, "embed": _embedded, "fields": ["text"]})
    inner.put(("notes",), "a", {"text": FACT}, index=False)
    inner.put(("notes",), "b", {"text": FACT})
    inner.put(("notes",), "c", {"text": OTHER})
    with LangGraphStore(inner, lineage=tmp_path / "lineage", hide="move") as store:
        run = apply(store, plan(find(store, safe())))
        assert [mark.survivor for mark in store.ledger.marks().values()] == ["notes/b"]
        assert inner.search(("notes",), query="lift")[0].value["text"] == FACT
        undo(store, run.id)
        assert sorted(memory.id for memory in store.scan()) == ["notes/a", "notes/b", "notes/c"]


def test_the_index_of_a_live_store_in_a_file_is_read_too(tmp_path: Path) -> None:
    with (
        langgraph_file(tmp_path),
        closing(sqlite3.connect(tmp_path / "graph.db", check_same_thread=False)) as db,
    ):
        inner = SqliteStore(db)
        inner.is_setup = True  # which would load an extension
        inner.index_config = {"dims": 2, "embed": _embedded}
        with LangGraphStore(inner) as store:
            assert [group.survivor for group in find(store, safe()).groups] == ["notes/b"]


def test_a_row_of_pgvector_without_a_vector_hides_none_that_has_one(database: str) -> None:
    with psycopg.connect(conninfo(database), autocommit=True) as server:
        server.execute("CREATE EXTENSION IF NOT EXISTS vector")
        server.execute(
            "CREATE TABLE facts (id text PRIMARY KEY, content text, embedding vector(2))"
        )
        for id_, vector in (("a", None), ("b", "[1,0]"), ("c", "[0,0]")):
            server.execute("INSERT INTO facts VALUES (%s, %s, %s)", (id_, FACT, vector))
    with open_store(f"postgresql://{database}#facts") as store:
        (group,) = find(store, safe()).groups
        assert (group.survivor, [m.id for m in group.members]) == ("b", ["a", "c"])


def test_where_the_program_finds_no_copy_one_stays_and_the_text_is_known(tmp_path: Path) -> None:
    """A table whose vectors are all missing is searched by words."""
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE facts (id TEXT PRIMARY KEY, content TEXT, embedding BLOB)")
        db.executemany("INSERT INTO facts VALUES (?, ?, NULL)", [("a", FACT), ("b", FACT)])
    with open_store(f"sql:///{path}?map=vectors:embedding#facts") as store:
        apply(store, plan(find(store, safe())))
        assert {m.survivor for m in store.ledger.marks().values()} == {"a"}
        again = remember(store, FACT, settings=resolve(Choices(semantic=False)))
        assert isinstance(again, AlreadyKnown)


def test_a_pinned_copy_that_is_not_found_stays_and_hides_none_that_is() -> None:
    lost = Promise(unfound="it has no vector")
    told = [
        Memory(id="a", content=FACT, pinned=True, promise=lost),
        Memory(id="b", content=FACT),
        Memory(id="c", content=FACT, promise=lost),
    ]
    (group,) = find(MemoryList(told), safe()).groups
    assert [m.id for m in group.members] == ["c"]


def test_a_plan_is_refused_where_the_survivor_lost_its_vector_since(tmp_path: Path) -> None:
    with table_without_vector(tmp_path) as (url, _):
        with open_store(url) as store:
            made = plan(find(store, safe()))
        with closing(sqlite3.connect(tmp_path / "own.db")) as db, db:
            db.execute("UPDATE facts SET embedding = NULL WHERE id = 'b'")
            db.execute("UPDATE facts SET embedding = x'0000803f00000000' WHERE id = 'a'")
        with open_store(url) as store:
            assert apply(store, made).refused
            assert store.ledger.marks() == {}


@quick
@given(
    lost=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=7),
    order=st.sampled_from(["safe", "newest", "recall", "composite", "oldest"]),
    grouping=st.sampled_from(["star", "transitive", "closest"]),
)
def test_in_every_order_and_grouping_what_is_found_stays_found(
    lost: list[tuple[bool, bool]], order: str, grouping: str
) -> None:
    told = [
        Memory(
            id=f"m-{at}",
            content=FACT,
            importance=at / 10,
            access_count=at,
            created_at=f"2026-0{at + 1}-01",
            promise=Promise("2031-01-01" if ends else None, unfound="x" if away else ""),
        )
        for at, (away, ends) in enumerate(lost)
    ]
    findings = find(MemoryList(told), safe(survivor=order, grouping=grouping))
    by_id = {memory.id: memory.promise for memory in told}
    hidden = {m.id for group in findings.groups for m in group.members}
    for group in findings.groups:
        assert all(by_id[group.survivor].covers(by_id[m.id]) for m in group.members)
    if any(not promise.unfound for promise in by_id.values()):
        assert any(not by_id[id_].unfound for id_ in by_id.keys() - hidden)
    assert IN_FORCE.covers(Promise(unfound="x"))
    assert not Promise(unfound="x").covers(IN_FORCE)
