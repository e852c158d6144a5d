from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.errors import StoreError
from echoless.core.settings import Choices, resolve
from echoless.execution.integrity import check
from echoless.ingest import Admitted, remember
from echoless.stores.base import Store
from echoless.stores.mcp_memory.observations import Graph
from echoless.stores.mcp_memory.store import ATTEMPTS, McpMemoryStore
from echoless.stores.registry import locate
from tests.conformance.stores import contents, plan_by_hand
from tests.stores.mcp_memory.graphs import files, written

FILES = files()


def made(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return f"mcp-memory:///{path}"


def ids_of(store: Store, *texts: str) -> tuple[str, ...]:
    by_text = {memory.content: memory.id for memory in store.scan()}
    return tuple(by_text[text] for text in texts)


def observations(path: Path, entity: str) -> list[object]:
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())
    return next(list(line["observations"]) for line in lines if line.get("name") == entity)


@pytest.mark.parametrize(("name", "data"), FILES, ids=[name for name, _ in FILES])
def test_a_file_is_recognised_and_what_is_hidden_comes_back_byte_for_byte(
    tmp_path: Path, name: str, data: bytes
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data)
    assert locate(path)[0] == "mcp-memory"
    with open_store(path) as store:
        before = list(store.scan())
        by_entity: dict[str, list[str]] = {}
        for memory in before:
            by_entity.setdefault(memory.namespace, []).append(memory.id)
        groups = [tuple(reversed(ids)) for ids in by_entity.values() if len(ids) > 1]
        if not groups:
            return
        run = apply(store, plan_by_hand(store, groups, "mark"))
        assert [memory.id for memory in store.scan()] == [memory.id for memory in before]
        for survivor, *_ in groups:
            memory = store.get([survivor])[survivor]
            assert observations(path, memory.namespace) == [memory.content]
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
        assert [row["type"] for row in rows].count("relation") == data.count(b'relationType"')
        assert not check(store).problems
        undo(store, run.id)
    assert path.read_bytes() == data
    assert not path.with_name("memory.jsonl.hidden").exists()


def test_equal_texts_of_two_entities_are_two_memories_and_stay(tmp_path: Path) -> None:
    url = made(
        tmp_path / "memory.jsonl",
        written([("Ann", "person", ["Likes tea"]), ("Ben", "person", ["Likes tea"])]),
    )
    with open_store(url) as store:
        found = find(store, encoder="none")
        assert [(m.namespace, m.type) for m in store.scan()] == [
            ("Ann", "person"),
            ("Ben", "person"),
        ]
        assert len({memory.id for memory in store.scan()}) == 2
        assert not found.groups


def test_ids_survive_a_rewrite_and_copies_are_numbered(tmp_path: Path) -> None:
    entities = [("Ann", "person", ["Likes tea", "Likes tea", "Lives in Oslo"])]
    url = made(tmp_path / "memory.jsonl", written(entities, style="spaced"))
    with open_store(url) as store:
        ids = [memory.id for memory in store.scan()]
        assert ids[1] == f"{ids[0]}-2"
        made(tmp_path / "memory.jsonl", written(entities))
        assert [memory.id for memory in store.scan()] == ids


def test_a_hidden_copy_keeps_its_id_apart_from_the_one_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written([("Ann", "person", ["Likes tea", "Likes tea"])]))
    with open_store(url) as store:
        first, second = (memory.id for memory in store.scan())
        run = apply(store, plan_by_hand(store, [(second, first)], "mark"))
    with open_store(url) as store:
        assert list(store.ledger.marks()) == [first]
        assert [memory.id for memory in store.scan()] == [first, second]
        assert observations(path, "Ann") == ["Likes tea"]
        undo(store, run.id)
        assert observations(path, "Ann") == ["Likes tea", "Likes tea"]


def test_a_deleted_copy_leaves_the_id_of_the_other_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, data := written([("Ann", "person", ["Likes tea", "Likes tea"])]))
    with open_store(url) as store:
        first, second = (memory.id for memory in store.scan())
        run = apply(store, plan_by_hand(store, [(second, first)], "delete"))
    with open_store(url) as store:
        assert [memory.id for memory in store.scan()] == [second]
        undo(store, run.id)
        assert path.read_bytes() == data


def test_a_new_memory_of_a_new_entity_is_taken_back_to_the_last_byte(tmp_path: Path) -> None:
    relations = [("Ann", "Ann", "knows")]
    for style in ("server", "ended", "crlf"):
        data = written([("Ann", "person", ["Likes tea"])], relations, style)
        path = tmp_path / f"{style}.jsonl"
        url = made(path, data)
        settings = resolve(Choices(profile="safe", encoder="none"))
        with open_store(url) as store:
            answer = remember(
                store, "Owns the greenhouse.", namespace="Ben", type="person", settings=settings
            )
            assert isinstance(answer, Admitted)
            kinds = [json.loads(line) for line in path.read_bytes().splitlines()]
            assert [row.get("name") for row in kinds] == ["Ann", "Ben", None]
            assert observations(path, "Ben") == ["Owns the greenhouse."]
            undo(store, answer.run)
        assert path.read_bytes() == data


def test_the_server_is_told_to_reread_and_a_write_of_its_own_is_never_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written([("Ann", "person", ["Likes tea", "likes tea"])]))
    other = written([("Ann", "person", ["Likes tea", "likes tea", "Moved to Bergen"])])
    with open_store(url) as store:
        ids = ids_of(store, "Likes tea", "likes tea")
        by_hand = plan_by_hand(store, [ids], "mark")
        with monkeypatch.context() as patch:
            from echoless.stores import files as module

            original = module._take_over

            def between(handle: int, file: Path) -> None:
                if file == path:
                    path.write_bytes(other)
                original(handle, file)

            patch.setattr(module, "_take_over", between)
            with pytest.raises(StoreError, match="changed by another program"):
                apply(store, by_hand)
        assert path.read_bytes() == other
        assert not store.ledger.marks()
        path.write_bytes(b"")  # as the server leaves it for a moment when it writes
        with store.writing():
            assert not store.ledger.marks()
        path.write_bytes(other)
        assert len(list(store.scan())) == 3
        run = apply(store, plan_by_hand(store, [ids], "mark"))
        assert store.capabilities.hides
        assert any("without a restart" in note for note in store.notes())
        undo(store, run.id)
    assert path.read_bytes() == other


def test_reading_leaves_no_file_and_changes_no_byte(tmp_path: Path) -> None:
    made(tmp_path / "memory.jsonl", files()[7][1])
    before = contents(tmp_path)
    with open_store(tmp_path / "memory.jsonl") as store:
        plan(find(store, encoder="none"))
    assert contents(tmp_path) == before


# ------------------------------------------------------------------ while the server writes


def between_read_and_write(
    monkeypatch: pytest.MonkeyPatch, writes: Iterable[Callable[[], object]]
) -> None:
    """Have the owner write after a transaction has read the file, each time that it is to write."""
    waiting, original = iter(writes), Graph.lines

    def lines(self: Graph) -> list[str]:
        next(waiting, lambda: None)()
        return original(self)

    monkeypatch.setattr(Graph, "lines", lines)


def adding(path: Path, number: int) -> Callable[[], object]:
    """The write of an owner that adds an entity at the top, and an observation to the last one."""

    def write() -> None:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows[-1]["observations"].append(f"Was seen on day {number}")
        new = {"type": "entity", "name": f"N{number}", "entityType": "n", "observations": ["New"]}
        path.write_text("\n".join(json.dumps(row) for row in (new, *rows)))

    return write


@pytest.mark.parametrize("action", ["mark", "delete"])
@pytest.mark.parametrize("times", [1, ATTEMPTS - 1])
def test_a_plan_gets_through_while_the_server_writes_other_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, action: str
) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written([("Ann", "person", ["Likes tea", "likes tea"]), ("Ben", "p", ["x"])]))
    with open_store(url) as store:
        by_hand = plan_by_hand(store, [ids_of(store, "Likes tea", "likes tea")], action)
        writes = [adding(path, number) for number in range(times)]
        with monkeypatch.context() as patch:
            between_read_and_write(patch, writes)
            run = apply(store, by_hand)
        assert run.refused == ()
        assert observations(path, "Ann") == ["Likes tea"]
        days = [f"Was seen on day {number}" for number in range(times)]
        assert observations(path, "Ben") == ["x", *days]
        assert all(observations(path, f"N{number}") == ["New"] for number in range(times))
        undo(store, run.id)
        assert observations(path, "Ann") == ["Likes tea", "likes tea"]
        assert observations(path, "Ben") == ["x", *days]


def test_a_memory_of_the_plan_that_the_server_changed_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written([("Ann", "person", ["Likes tea", "likes tea"])]))
    other = written([("Ann", "person", ["Likes coffee", "likes tea"])])
    with open_store(url) as store:
        by_hand = plan_by_hand(store, [ids_of(store, "Likes tea", "likes tea")], "mark")
        gone = by_hand.actions[0].survivor
        with monkeypatch.context() as patch:
            between_read_and_write(patch, [lambda: path.write_bytes(other)])
            with pytest.raises(StoreError, match=f"meanwhile, and '{gone}' with it"):
                apply(store, by_hand)
        assert path.read_bytes() == other
        assert not store.ledger.marks()


def test_a_server_that_writes_each_time_loses_nothing_and_the_next_plan_gets_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written([("Ann", "person", ["Likes tea", "likes tea"]), ("Ben", "p", ["x"])]))
    with open_store(url) as store:
        ids = ids_of(store, "Likes tea", "likes tea")
        by_hand = plan_by_hand(store, [ids], "mark")
        with monkeypatch.context() as patch:
            always = (adding(path, number) for number in count())
            between_read_and_write(patch, always)
            with pytest.raises(StoreError, match="changed by another program"):
                apply(store, by_hand)
        assert observations(path, "Ann") == ["Likes tea", "likes tea"]
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [ids], "mark"))
        assert run.refused == ()
        assert observations(path, "Ann") == ["Likes tea"]


def test_a_file_that_is_read_while_the_server_writes_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server empties the file first, and its lines come piece by piece."""
    path = tmp_path / "memory.jsonl"
    data = written([("Ann", "person", ["Likes tea", "likes tea"]), ("Ben", "p", ["x"])])
    url = made(path, data)
    pieces = [b"", data + b"\n", data]
    with open_store(url) as store:
        by_hand = plan_by_hand(store, [ids_of(store, "Likes tea", "likes tea")], "mark")
        with monkeypatch.context() as patch:
            cut = [lambda: path.write_bytes(data[:30])]
            between_read_and_write(patch, cut)
            original = McpMemoryStore._reload

            def reload(self: McpMemoryStore) -> None:
                try:
                    original(self)
                finally:
                    if self._staging and pieces:
                        path.write_bytes(pieces.pop(0))

            patch.setattr(McpMemoryStore, "_reload", reload)
            assert apply(store, by_hand).refused == ()
        assert observations(path, "Ann") == ["Likes tea"]
        assert observations(path, "Ben") == ["x"]
