"""A narrow scan of the embedded store chooses as `Scope.narrow` would and loads only that."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless.core.model import EMPTY, Link, Memory, Vector
from echoless.stores.base import Scope
from echoless.stores.sqlite import SqliteStore
from echoless.stores.sqlite_tables import MemoryRows

TIMES = [
    None,
    "2026-01-31",
    "2026-01-31T08:00:00Z",
    "2026-01-31T10:00:00+02:00",
    "2026-02-01 00:00:00.5",
    "1769846400",
    "1769846400123",
    "yesterday",
    "",
]

told = st.lists(
    st.builds(
        Memory,
        id=st.uuids().map(str),
        content=st.sampled_from(["one", "two"]),
        namespace=st.sampled_from(["", "a", "b", "it's", "a\0b", "東京"]),
        created_at=st.sampled_from(TIMES),
        tags=st.sampled_from([(), ("x",), ("x", "y")]),
        links=st.sampled_from([(), (Link("m", "similar", {"n": 1}),)]),
        metadata=st.sampled_from([{}, {"k": [1]}]),
        vectors=st.sampled_from(
            [(), (Vector("m", b"\0\0\x80?"),), (Vector("m", b"1234"), Vector("n", b"12345678"))]
        ),
    ),
    max_size=12,
    unique_by=lambda memory: memory.id,
)
scopes = st.builds(
    Scope,
    st.sampled_from([None, "", "a", "c"]),
    st.sampled_from([None, "2026-01-31T08:00:00Z", "2026-02-01", "1769846400.5"]),
    st.sampled_from([None, 1, 3, 100]),
    st.one_of(
        st.none(),
        st.frozensets(st.sampled_from(["", "a", "b", "it's", "a\0b", "a\0c", "東京", "\ud800"])),
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(told, scopes)
def test_a_scope_chooses_as_it_would_among_loaded_memories(
    tmp_path: Path, memories: list[Memory], scope: Scope
) -> None:
    path = tmp_path / "store.db"
    path.unlink(missing_ok=True)
    with SqliteStore.create(str(path)) as store:
        with store.writing():
            store.put(memories)
        every = list(store.scan())
        assert every == memories
        assert list(store.scan(scope)) == list(scope.narrow(every))
        assert store.count(scope) == len(list(scope.narrow(every)))


def test_thousands_of_namespaces_are_looked_up_by_the_index_in_few_statements(
    tmp_path: Path,
) -> None:
    with SqliteStore.create(str(tmp_path / "store.db")) as store:
        with store.writing():
            store.put([Memory(id=f"m-{n:03}", content="x", namespace=f"n{n}") for n in range(300)])
        two = Scope(among=frozenset({"n7", "n9"}))
        many = Scope(among=frozenset({"n9", "n7", *(f"absent {n}" for n in range(1_200))}))
        statements: list[str] = []
        connection = store._database.connection
        connection.set_trace_callback(statements.append)
        for scope, number in ((two, 1), (many, 4)):
            assert [memory.id for memory in store.scan(scope)] == ["m-007", "m-009"]
            assert len(statements) == number
            connection.set_trace_callback(None)
            for statement in statements:
                steps = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
                assert not [row[3] for row in steps if row[3].startswith("SCAN")], statement[:80]
            statements.clear()
            connection.set_trace_callback(statements.append)
        assert store.count(many) == 2


def test_only_the_chosen_records_are_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = MemoryRows._memory

    def counted(self: MemoryRows, row: tuple[object, ...], vectors: tuple[Vector, ...]) -> Memory:
        made = whole(self, row, vectors)
        read.append(made.id)
        return made

    with SqliteStore.create(str(tmp_path / "store.db")) as store:
        with store.writing():
            store.put([Memory(id=f"m-{n}", content="x", created_at=f"202{n}") for n in range(9)])
        monkeypatch.setattr(MemoryRows, "_memory", counted)
        assert store.count(Scope(limit=3)) == 3
        assert read == []
        found = [m.id for m in store.scan(Scope(limit=3))]
    assert len(found) == 3
    assert read == found


def test_what_comes_again_is_held_once(tmp_path: Path) -> None:
    with SqliteStore.create(str(tmp_path / "store.db")) as store:
        with store.writing():
            store.put(
                [
                    Memory(id=str(n), content="x", namespace="ops", type="fact", tags=("a", "b"))
                    for n in range(2)
                ]
            )
        one, other = store.scan()
    assert one.namespace is other.namespace
    assert one.tags is other.tags
    assert one.metadata is other.metadata is one.extra is EMPTY
    assert dict(one.native) == {"seq": 1}
    assert len(one.native) == 1
    assert one.native.get("raw") is None


def _of_384(count: int) -> list[Memory]:
    """Memories with a vector as long as those of small models."""
    data = bytes(range(256)) * 6
    return [Memory(id=f"m-{n:03}", content="x", vectors=(Vector("m", data),)) for n in range(count)]


def test_vectors_lie_side_by_side_in_their_pages(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore.create(str(path)) as store, store.writing():
        store.put(_of_384(400))
    assert path.stat().st_size < 2 * 400 * 1536


def test_equal_times_and_numbers_are_one_object_and_keep_their_type_and_sign(
    tmp_path: Path,
) -> None:
    values: list[float | None] = [0.25, 0.25, 1, 1.0, 1, 0.0, -0.0, None]
    made = [
        Memory(id=f"{at}", content="x", created_at=day, updated_at=day, importance=value)
        for at, value in enumerate(values)
        for day in ["2026-01-31T08:00:00Z"]
    ]
    with SqliteStore.create(str(tmp_path / "store.db")) as store:
        with store.writing():
            store.put(made)
        read = list(store.scan())
    assert len({id(memory.created_at) for memory in read}) == 1
    assert len({id(memory.updated_at) for memory in read}) == 1
    assert read[0].importance is read[1].importance
    assert list(map(repr, (memory.importance for memory in read))) == list(map(repr, values))


def test_a_memory_that_was_read_takes_little_more_than_its_text(tmp_path: Path) -> None:
    count, text = 5_000, "x" * 100
    made = [
        Memory(id=f"m-{at:05}", content=text, created_at=TIMES[2], importance=0.25)
        for at in range(count)
    ]
    with SqliteStore.create(str(tmp_path / "store.db")) as store:
        with store.writing():
            store.put(made)
        tracemalloc.start()
        read = list(store.scan())
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(read) == count
    assert size / count - len(text) < 435  # 390; 480 with a time and a number for each
