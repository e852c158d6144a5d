"""A store of LangGraph behind the guard, with the real library: alone, and in a compiled graph."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from echoless import apply, find, plan, undo
from echoless.core.settings import Choices, Settings, resolve
from echoless.ingest import Admitted, AlreadyKnown, Updates
from echoless_stores.agents.langgraph import GuardedStore, Put, meets
from echoless_stores.live.langgraph import LangGraphStore

PORT = "The gateway listens on port 8443."
AGAIN = "the gateway listens on port 8443"
OTHER_PORT = "The gateway listens on port 8444."
TEA = "Anna drinks green tea at four o'clock."
USER = ("users", "ann")


def words() -> Settings:
    """By words only: no model is loaded."""
    return resolve(Choices(encoder="none"))


@pytest.fixture(params=["memory", "sqlite"])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as made:
        made.setup()
        yield made


@pytest.fixture
def store(inner: BaseStore, tmp_path: Path) -> Iterator[GuardedStore]:
    with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as guarded:
        yield guarded


def kinds(store: GuardedStore) -> list[str]:
    return [type(put.answer).__name__ for put in store.answers]


def keys(store: BaseStore) -> list[str]:
    return sorted(item.key for item in store.search((), limit=100))


# ------------------------------------------------------------------ what is new, known, updated


def test_what_is_new_is_stored_as_it_was_given(store: GuardedStore, inner: BaseStore) -> None:
    value = {"mood": "calm", "text": PORT, "n": [1, {"a": None}]}
    store.put(USER, "k1", value)
    found = inner.get(USER, "k1")
    assert found is not None
    assert found.value == value
    assert store.get(USER, "k1") == found
    (put,) = store.answers
    assert (put.namespace, put.key) == (USER, "k1")
    assert isinstance(put.answer, Admitted)
    assert put.answer.id == "users.ann/k1"


def test_a_known_text_is_stored_once_and_its_key_answers_with_what_it_was_given(
    store: GuardedStore, inner: BaseStore
) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": AGAIN, "source": "chat"})
    assert kinds(store) == ["Admitted", "AlreadyKnown"]
    assert keys(inner) == keys(store) == ["k1"]
    found = store.get(USER, "k2")
    assert found is not None
    assert (found.key, found.namespace) == ("k2", USER)
    assert found.value == {"text": AGAIN, "source": "chat"}
    assert found.created_at.tzinfo is not None
    answer = store.answers[-1].answer
    assert isinstance(answer, AlreadyKnown)
    assert (answer.survivor, answer.confirmations) == ("users.ann/k1", 1)


def test_a_value_that_differs_is_stored_beside_the_older_one(
    store: GuardedStore, inner: BaseStore
) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": OTHER_PORT})
    assert kinds(store) == ["Admitted", "Updates"]
    assert keys(inner) == ["k1", "k2"]


def test_namespaces_are_never_compared(store: GuardedStore, inner: BaseStore) -> None:
    store.put(USER, "k", {"text": PORT})
    store.put(("users", "bob"), "k", {"text": PORT})
    store.put(("users",), "k", {"text": PORT})
    assert len(keys(inner)) == 3


def test_a_put_under_a_key_that_is_there_is_its_owner_s_update(
    store: GuardedStore, inner: BaseStore
) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": TEA})
    store.put(USER, "k2", {"text": PORT})
    found = inner.get(USER, "k2")
    assert found is not None
    assert found.value == {"text": PORT}
    assert len(store.answers) == 2
    store.put(USER, "k3", {"text": TEA})  # the older text is gone: this is new again
    assert kinds(store)[-1] == "Admitted"


def test_what_has_no_text_passes_and_is_counted(store: GuardedStore, inner: BaseStore) -> None:
    for key, value in {"a": {"n": 1}, "b": {"n": 1}, "c": {"text": " "}, "d": {"text": 3}}.items():
        store.put(USER, key, value)
    store.put(USER, "e", {"text": "nul \0 inside"})
    assert keys(inner) == ["a", "b", "c", "d", "e"]
    assert (store.unguarded, list(store.answers)) == (5, [])


def test_a_value_echoless_wrote_itself_passes(store: GuardedStore, inner: BaseStore) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": PORT, "echoless": {"tags": ["a"]}})
    assert keys(inner) == ["k1", "k2"]


# ------------------------------------------------------------------ known keys


def test_when_the_memory_goes_what_leaned_on_it_is_stored(
    store: GuardedStore, inner: BaseStore
) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": PORT, "source": "chat"})
    store.put(USER, "k3", {"text": AGAIN})
    store.delete(USER, "k1")
    assert store.get(USER, "k1") is None
    assert keys(inner) == ["k2"]
    found = inner.get(USER, "k2")
    assert found is not None
    assert found.value == {"text": PORT, "source": "chat"}
    store.delete(USER, "k2")
    assert keys(inner) == ["k3"]


def test_when_the_memory_says_something_else_what_leaned_on_it_is_stored(
    store: GuardedStore, inner: BaseStore
) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": PORT})
    store.put(USER, "k1", {"text": PORT, "more": 1})
    assert keys(inner) == ["k1"]
    store.put(USER, "k1", {"text": TEA})
    assert keys(inner) == ["k1", "k2"]
    store.put(USER, "k3", {"text": PORT})
    assert kinds(store)[-1] == "AlreadyKnown"


def test_a_known_key_can_be_removed_and_put_anew(store: GuardedStore, inner: BaseStore) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(USER, "k2", {"text": PORT})
    store.delete(USER, "k2")
    assert store.get(USER, "k2") is None
    store.put(USER, "k2", {"text": TEA})
    assert keys(inner) == ["k1", "k2"]
    store.put(USER, "k3", {"text": PORT})
    store.put(USER, "k3", {"n": 1})
    found = store.get(USER, "k3")
    assert found is not None
    assert found.value == {"n": 1}


def test_known_keys_outlive_the_process_where_the_lineage_has_a_file(
    inner: BaseStore, tmp_path: Path
) -> None:
    lineage = tmp_path / "lineage"
    with GuardedStore(inner, lineage=lineage, settings=words()) as first:
        first.put(USER, "k1", {"text": PORT})
        first.put(USER, "k2", {"text": PORT})
        second = GuardedStore(inner, lineage=lineage, settings=words())  # another process
        assert second.get(USER, "k2") is not None
        second.close()
    with GuardedStore(inner, lineage=lineage, settings=words()) as again:
        found = again.get(USER, "k2")
        assert found is not None
        assert found.value == {"text": PORT}
        again.put(USER, "k3", {"text": PORT})
        assert kinds(again) == ["AlreadyKnown"]


def test_what_leans_on_what_another_client_removed_is_stored_with_the_next_put(
    inner: BaseStore, tmp_path: Path
) -> None:
    lineage = tmp_path / "lineage"
    with GuardedStore(inner, lineage=lineage, settings=words()) as first:
        first.put(USER, "k1", {"text": PORT})
        first.put(USER, "k2", {"text": PORT})
    inner.delete(USER, "k1")
    with GuardedStore(inner, lineage=lineage, settings=words()) as again:
        again.put(USER, "k3", {"text": TEA})
    assert keys(inner) == ["k2", "k3"]


# ------------------------------------------------------------------ search


def test_a_filter_finds_a_known_key_by_what_only_its_own_value_says(store: GuardedStore) -> None:
    store.put(USER, "k1", {"text": PORT, "topic": "net"})
    store.put(USER, "k2", {"text": PORT, "topic": "ops"})
    store.put(("other",), "k3", {"text": PORT, "topic": "ops"})
    for wanted, expected in (("net", ["k1"]), ("ops", ["k2", "k3"]), ("tea", [])):
        found = store.search((), filter={"topic": wanted})
        assert sorted(item.key for item in found) == expected
    assert [item.key for item in store.search(USER, filter={"topic": "ops"})] == ["k2"]
    assert [item.key for item in store.search(USER, filter={"topic": {"$ne": "x"}})] == ["k1"]


def test_known_keys_come_behind_what_is_stored_page_by_page(store: GuardedStore) -> None:
    for number in range(3):
        store.put(
            USER, f"k{number}", {"text": f"Service {number} listens on port {number}.", "a": 1}
        )
    store.put(USER, "known", {"text": "Service 0 listens on port 0.", "a": 1, "b": 1})
    store.put(USER, "last", {"text": "Service 1 listens on port 1.", "b": 1})
    pages = [store.search(USER, filter={"b": 1}, limit=1, offset=at) for at in range(3)]
    assert [[item.key for item in page] for page in pages] == [["known"], ["last"], []]
    assert len(store.search(USER, filter={"a": 1}, limit=10)) == 3


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"b": None}, True),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        ({"a": 1}, {"a": {"b": 1}}, False),
        ({"a": 2}, {"a": {"$gt": 1, "$lte": 2}}, True),
        ({"a": 2}, {"a": {"$gte": 3}}, False),
        ({"a": 2}, {"a": {"$lt": "x"}}, False),
        ({"a": 2}, {"a": {"$eq": 2}}, True),
        ({"a": 2}, {"a": {"$ne": 2}}, False),
        ({"a": 2}, {"a": {"$in": [2]}}, False),
    ],
)
def test_filters_mean_what_the_library_documents(
    value: dict[str, object], wanted: dict[str, object], expected: bool
) -> None:
    assert meets(value, wanted) is expected


def test_an_updated_memory_is_hidden_on_request_and_shown_again_by_undo(
    inner: BaseStore, tmp_path: Path
) -> None:
    lineage = tmp_path / "lineage"
    with GuardedStore(inner, lineage=lineage, settings=words(), supersede=True) as store:
        store.put(USER, "k1", {"text": PORT})
        store.put(USER, "k2", {"text": OTHER_PORT})
        store.put(USER, "k3", {"text": TEA})
        answer = store.answers[1].answer
        assert isinstance(answer, Updates)
        assert keys(inner) == ["k1", "k2", "k3"]
        assert keys(store) == ["k2", "k3"]
        assert len(store.search(USER, limit=2)) == 2
        assert len(store.search(USER, limit=2, offset=1)) == 1
        assert store.get(USER, "k1") is not None
        undo(store.memories, answer.hidden)
        assert keys(store) == ["k1", "k2", "k3"]


def test_repetitions_that_were_there_before_are_found_and_hidden_from_searches(
    inner: BaseStore, tmp_path: Path
) -> None:
    inner.put(USER, "k1", {"text": PORT})
    inner.put(USER, "k2", {"text": AGAIN})
    with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as store:
        run = apply(store.memories, plan(find(store.memories, encoder="none")))
        assert len(keys(store)) == 1
        store.put(USER, "k3", {"text": PORT})
        answer = store.answers[-1].answer
        assert isinstance(answer, AlreadyKnown)
        assert str(answer.survivor).rpartition("/")[2] in keys(store)
        undo(store.memories, run.id)
        assert keys(store) == ["k1", "k2"]


def test_an_admission_can_be_taken_back(store: GuardedStore, inner: BaseStore) -> None:
    store.put(USER, "k1", {"text": PORT})
    answer = store.answers[-1].answer
    assert isinstance(answer, Admitted)
    undo(store.memories, answer.run)
    assert keys(inner) == []
    store.put(USER, "k1", {"text": PORT})
    assert keys(inner) == ["k1"]


# ------------------------------------------------------------------ what passes through


def test_a_batch_reads_first_and_then_writes_the_last_of_each_key(store: GuardedStore) -> None:
    store.put(USER, "k0", {"text": TEA})
    results = store.batch(
        [
            GetOp(USER, "k0"),
            PutOp(USER, "k1", {"text": PORT}),
            PutOp(USER, "k1", None),
            PutOp(USER, "k2", None),
            PutOp(USER, "k2", {"text": PORT}),
            PutOp(USER, "k3", {"text": PORT}),
            SearchOp(USER),
        ]
    )
    assert results[0] is not None
    assert results[1:6] == [None] * 5
    assert [item.key for item in results[6]] == ["k0"]  # type: ignore[union-attr]
    assert keys(store) == ["k0", "k2"]
    assert store.get(USER, "k3") is not None


def test_namespaces_are_listed_as_the_store_inside_lists_them(store: GuardedStore) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.put(("users", "bob"), "k1", {"text": PORT})
    assert store.list_namespaces(prefix=("users",)) == [("users", "ann"), ("users", "bob")]
    assert store.list_namespaces(max_depth=1) == [("users",)]


def test_time_to_live_reaches_the_store_inside(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(path, ttl={"default_ttl": 10.0}) as inner:
        inner.setup()
        with GuardedStore(inner, lineage=None, settings=words()) as store:
            store.put(USER, "k1", {"text": PORT}, ttl=3)
            store.put(USER, "k2", {"text": TEA})
            store.put(USER, "k3", {"text": PORT}, ttl=5)
            store.delete(USER, "k1")
            rows = inner.conn.execute("SELECT key, ttl_minutes FROM store ORDER BY key").fetchall()
            assert rows == [("k2", 10.0), ("k3", 5.0)]


def test_what_to_index_reaches_the_store_inside() -> None:
    seen: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.append(list(texts))
        return [[float("tea" in text), 1.0] for text in texts]

    inner = InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["text"]})
    with GuardedStore(inner, lineage=None, settings=words()) as store:
        store.put(USER, "k1", {"text": PORT, "topic": "net"}, index=["topic"])
        store.put(USER, "k2", {"text": TEA, "topic": "tea"})
        store.put(USER, "k3", {"text": "The office closes at six."}, index=False)
        assert seen == [["net"], [TEA]]
        assert store.search(USER, query="tea", limit=1)[0].key == "k2"


GARDEN = "The garden needs water every day in May."


def _by_topic(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.0] if "garden" in text else [0.0, 1.0] for text in texts]


def searchable() -> InMemoryStore:
    """A store that finds what speaks of the garden by meaning, and one item of another topic."""
    inner = InMemoryStore(index={"dims": 2, "embed": _by_topic, "fields": ["text"]})
    inner.put(("u",), "other", {"text": "The choir sings on Tuesdays."})
    return inner


@pytest.mark.parametrize("index", [False, ["title"], ["tex"]])
def test_a_memory_that_no_search_finds_stands_for_none_that_is_to_be_found(
    index: Literal[False] | list[str],
) -> None:
    inner = searchable()
    value = {"text": GARDEN, "title": "Notes of May", "tex": "Notes"}
    inner.put(("u",), "unfound", value, index=index)
    with GuardedStore(inner, lineage=None) as store:
        store.put(("u",), "found", {"text": GARDEN})
        first, *_ = store.search(("u",), query="garden")
        assert (first.key, first.score) == ("found", pytest.approx(1.0))
        store.put(("u",), "again", {"text": GARDEN})
        assert isinstance(store.answers[-1].answer, AlreadyKnown)
        store.put(("u",), "unfound too", {"text": GARDEN}, index=False)
        assert isinstance(store.answers[-1].answer, AlreadyKnown)


def test_what_is_rewritten_stays_in_the_index_as_it_was_or_out_of_it() -> None:
    inner = searchable()
    inner.put(("u",), "out", {"text": GARDEN}, index=False)
    inner.put(("u",), "by title", {"text": "Tea at four.", "title": "garden"}, index=["title"])
    before = {item.key: item.score for item in inner.search(("u",), query="garden")}
    store = LangGraphStore(inner)
    memories = store.get(["u/out", "u/by title"]).values()
    with store.writing():
        store.put([replace(memory, metadata={"seen": 1}) for memory in memories])
    assert {item.key: item.score for item in inner.search(("u",), query="garden")} == before


def test_a_store_without_time_to_live_refuses_it_as_before() -> None:
    with GuardedStore(InMemoryStore(), lineage=None, settings=words()) as store:
        with pytest.raises(NotImplementedError, match="TTL"):
            store.put(USER, "k1", {"text": PORT}, ttl=1)


def test_errors_of_the_store_inside_come_out_as_they_are() -> None:
    class Broken(InMemoryStore):
        def batch(self, ops: object) -> list[object]:  # type: ignore[override]
            raise KeyError("gone")

    with GuardedStore(Broken(), lineage=None, settings=words()) as store:
        with pytest.raises(KeyError):
            store.get(USER, "k1")
        with pytest.raises(KeyError):
            store.put(USER, "k1", {"n": 1})


# ------------------------------------------------------------------ what one asked for


def test_each_answer_is_told(inner: BaseStore, tmp_path: Path) -> None:
    told: list[Put] = []
    with GuardedStore(inner, lineage=None, settings=words(), on_answer=told.append) as store:
        store.put(USER, "k1", {"text": PORT})
        store.put(USER, "k2", {"text": PORT})
        assert told == list(store.answers)
    assert [put.key for put in told] == ["k1", "k2"]


def test_what_a_boot_file_says_is_not_stored_and_its_key_answers(tmp_path: Path) -> None:
    boot = tmp_path / "AGENTS.md"
    boot.write_text(f"- {PORT}\n")
    with GuardedStore(InMemoryStore(), lineage=None, settings=words(), boot=[boot]) as store:
        store.put(USER, "k1", {"text": PORT})
        assert keys(store) == []
        found = store.get(USER, "k1")
        assert found is not None
        assert found.value == {"text": PORT}


def test_what_a_search_handed_out_confirms_nothing(store: GuardedStore) -> None:
    store.put(USER, "k1", {"text": PORT})
    store.search(USER, query="port")
    store.put(USER, "k2", {"text": PORT})
    answer = store.answers[-1].answer
    assert isinstance(answer, AlreadyKnown)
    assert (answer.source, answer.confirmations) == ("recalled", 0)


@pytest.mark.parametrize(("recheck", "expected"), [(0.0, "AlreadyKnown"), (1000.0, "Admitted")])
def test_what_other_clients_wrote_is_seen_after_a_while(
    inner: BaseStore, recheck: float, expected: str
) -> None:
    with GuardedStore(inner, lineage=None, settings=words(), recheck=recheck) as store:
        store.put(USER, "k1", {"text": TEA})
        inner.put(USER, "k2", {"text": PORT})
        store.put(USER, "k3", {"text": PORT})
        assert kinds(store) == ["Admitted", expected]


def test_threads_that_put_one_text_store_it_once(inner: BaseStore, tmp_path: Path) -> None:
    texts = [f"The service {name} runs in zone {at}." for at, name in enumerate("abcd")]
    with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as store:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda at: store.put(USER, f"k{at}", {"text": texts[at % 4]}), range(32)))
        assert len(keys(inner)) == 4
        assert all(store.get(USER, f"k{at}") is not None for at in range(32))


# ------------------------------------------------------------------ asynchronous


def test_asynchronously_as_synchronously(inner: BaseStore, tmp_path: Path) -> None:
    async def work() -> None:
        with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as store:
            await store.aput(USER, "k1", {"text": PORT, "topic": "net"})
            await store.aput(USER, "k2", {"text": PORT, "topic": "ops"})
            found = await store.aget(USER, "k2")
            assert found is not None
            assert found.value == {"text": PORT, "topic": "ops"}
            assert [item.key for item in await store.asearch(USER)] == ["k1"]
            ops = await store.asearch(USER, filter={"topic": "ops"})
            assert [item.key for item in ops] == ["k2"]
            assert await store.alist_namespaces() == [USER]
            await asyncio.gather(*(store.aput(USER, f"n{n}", {"text": TEA}) for n in range(8)))
            await store.adelete(USER, "k1")
            assert len(await store.asearch(USER)) == 2

    asyncio.run(work())


def test_a_store_that_lives_on_an_event_loop(tmp_path: Path) -> None:
    async def work() -> None:
        path = str(tmp_path / "store.db")
        async with AsyncSqliteStore.from_conn_string(path) as inner:
            await inner.setup()
            with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as store:
                await store.aput(USER, "k1", {"text": PORT})
                await store.aput(USER, "k2", {"text": AGAIN})
                assert kinds(store) == ["Admitted", "AlreadyKnown"]
                assert len(await inner.asearch(USER)) == 1
                await asyncio.to_thread(store.put, USER, "k3", {"text": TEA})
                assert len(await inner.asearch(USER)) == 2
                with pytest.raises(asyncio.InvalidStateError):
                    store.put(USER, "k4", {"text": TEA})

    asyncio.run(work())


def test_an_embedder_that_only_works_asynchronously() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return [[float("tea" in text), 1.0] for text in texts]

    async def work() -> None:
        inner = InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["text"]})
        with GuardedStore(inner, lineage=None, settings=words()) as store:
            await store.aput(USER, "k1", {"text": PORT})
            await store.aput(USER, "k2", {"text": TEA})
            found = await store.asearch(USER, query="tea", limit=1)
            assert found[0].key == "k2"

    asyncio.run(work())


def test_many_at_once_leave_the_threads_of_the_loop_to_the_store_inside() -> None:
    """Its embedder runs in them; were they all waiting for a turn, none would ever come."""

    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    async def work() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        inner = InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["text"]})
        with GuardedStore(inner, lineage=None, settings=words()) as store:
            puts = [store.aput(USER, f"k{n}", {"text": f"Fact {n} of all."}) for n in range(12)]
            searches = [store.asearch(USER, query="fact") for _ in range(12)]
            async with asyncio.timeout(60):
                await asyncio.gather(*puts, *searches)
            assert len(await store.asearch(USER, limit=50)) == 12

    asyncio.run(work())


def test_a_synchronous_put_that_would_wait_for_its_own_loop_is_refused() -> None:
    started, go_on = threading.Event(), threading.Event()

    class Slow(InMemoryStore):
        async def abatch(self, ops: object) -> list[object]:  # type: ignore[override]
            started.set()
            while not go_on.is_set():
                await asyncio.sleep(0)
            return await super().abatch(ops)  # type: ignore[arg-type, return-value]

    async def work() -> None:
        with GuardedStore(Slow(), lineage=None, settings=words()) as store:
            task = asyncio.create_task(store.aput(USER, "k1", {"text": PORT}))
            while not started.is_set():
                await asyncio.sleep(0)
            with pytest.raises(asyncio.InvalidStateError, match="aput"):
                store.put(USER, "k2", {"text": TEA})
            go_on.set()
            await task
            store.put(USER, "k2", {"text": TEA})
            assert keys(store) == ["k1", "k2"]

    asyncio.run(work())


# ------------------------------------------------------------------ in a graph


class State(TypedDict):
    said: list[str]


def listen(state: State, runtime: Runtime[None]) -> State:
    """A node that writes what it heard, under keys of its own."""
    assert runtime.store is not None
    for at, text in enumerate(state["said"]):
        runtime.store.put(("memories", "ann"), f"{len(state['said'])}-{at}", {"text": text})
    return state


async def alisten(state: State, runtime: Runtime[None]) -> State:
    assert runtime.store is not None
    for at, text in enumerate(state["said"]):
        await runtime.store.aput(("memories", "ann"), f"{len(state['said'])}-{at}", {"text": text})
    return state


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_compiled_graph_remembers_each_fact_once(
    inner: BaseStore, tmp_path: Path, asynchronous: bool
) -> None:
    with GuardedStore(inner, lineage=tmp_path / "lineage", settings=words()) as store:
        graph = StateGraph(State)
        graph.add_node("listen", alisten if asynchronous else listen)
        graph.add_edge(START, "listen")
        graph.add_edge("listen", END)
        compiled = graph.compile(store=store)
        for said in ([PORT, TEA], [AGAIN, OTHER_PORT, TEA]):
            if asynchronous:
                asyncio.run(compiled.ainvoke({"said": said}))
            else:
                compiled.invoke({"said": said})
        texts = sorted(item.value["text"] for item in inner.search(("memories",)))
        assert texts == sorted([PORT, TEA, OTHER_PORT])
        assert kinds(store) == ["Admitted", "Admitted", "AlreadyKnown", "Updates", "AlreadyKnown"]


def test_an_item_that_expires_makes_no_permanent_text_known(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(path, ttl={}) as inner:
        inner.setup()
        inner.put(USER, "theirs", {"text": PORT}, ttl=1)
        with GuardedStore(inner, lineage=None, settings=words()) as store:
            store.put(USER, "k1", {"text": PORT})
            store.put(USER, "k2", {"text": PORT})
            store.put(USER, "k3", {"text": PORT}, ttl=9)
            inner.conn.execute("UPDATE store SET expires_at = '2001-01-01' WHERE key = 'theirs'")
            assert inner.sweep_ttl() == 1
            keys = [key for (key,) in inner.conn.execute("SELECT key FROM store ORDER BY key")]
            assert keys == ["k1"]
            assert store.get(USER, "k2") is not None


def test_an_item_of_an_asynchronous_store_that_expires_makes_no_text_known(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as inner:
            await inner.setup()
            await inner.aput(USER, "theirs", {"text": PORT}, ttl=1)
            with GuardedStore(inner, lineage=None, settings=words()) as store:
                await store.aput(USER, "k1", {"text": PORT})
                await store.aput(USER, "k2", {"text": PORT})
            return [item.key for item in await inner.asearch(USER)]

    assert sorted(asyncio.run(work())) == ["k1", "theirs"]
