"""Tables of other programs are recognised by their columns, read, changed and put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from echoless import apply, open_store, undo
from echoless.core.profiles import ActionKind
from echoless.stores.registry import locate
from echoless.stores.sql import TableStore
from echoless.testing.stores import contents, plan_by_hand
from tests.postgres_server import Server
from tests.stores.sql import worlds
from tests.stores.sql.worlds import PAIR, TEXTS

ACTIONS: tuple[ActionKind, ...] = ("mark", "merge", "delete")


@dataclass(frozen=True)
class World:
    """A database of another program.

    Attributes:
        url: What a user types.
        rows: Reads all cells of its tables.
        count: Number of memories in it.
        pair: Texts of two memories in one namespace that say the same.
    """

    url: str
    rows: Callable[[], Any]
    count: int
    pair: tuple[str, str] = PAIR


def file_world(path: Path, count: int, *tables: str, pair: tuple[str, str] = PAIR) -> World:
    return World(str(path), lambda: worlds.rows(path, *tables), count, pair)


@contextmanager
def langgraph(folder: Path) -> Iterator[World]:
    path = folder / "graph.db"
    with worlds.langgraph_file(path) as store:
        worlds.fill_langgraph(store)
    yield file_world(path, len(TEXTS), "store")


FILES: dict[str, Callable[[Path], World]] = {
    "agno": lambda folder: file_world(
        worlds.agno(folder),
        34,
        "agno_memories",
        pair=("Anna prefers green tea in the morning.", "Der Schlüssel liegt bei Frau Köhler."),
    ),
    "mcp-memory-service": lambda folder: file_world(
        worlds.mcp_memory_service(folder),
        32,
        "memories",
        "memory_embeddings_rowids",
        "memory_embeddings_vector_chunks00",
    ),
    "claude-mem": lambda folder: file_world(worlds.claude_mem(folder), len(TEXTS), "observations"),
    "OpenMemory": lambda folder: file_world(worlds.openmemory(folder), len(TEXTS), "memories"),
    "claude-flow": lambda folder: file_world(
        worlds.scripted(folder, "claude_flow_3"), 9, "memory_entries"
    ),
    "claude-flow 2": lambda folder: file_world(
        worlds.scripted(folder, "claude_flow_2"), 10, "memory_entries"
    ),
    "memori": lambda folder: file_world(
        worlds.scripted(folder, "memori"), 9, "memori_entity_fact", "memori_entity_fact_mention"
    ),
    "Mastra": lambda folder: file_world(
        worlds.scripted(folder, "mastra"), 8, "mastra_knowledge_records"
    ),
}


@pytest.fixture(scope="module")
def filled(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The table of each program on a server, each in a database of its own, to be copied."""
    with worlds.langgraph_server(server.database("langgraph")) as store:
        worlds.fill_langgraph(store)
    folder = tmp_path_factory.mktemp("mem0")
    with worlds.mem0_on_pgvector(server.database("mem0"), folder) as memory:
        for number, text in enumerate(TEXTS):
            user = "ben" if number % 7 == 6 else "ann"
            memory.add(text, user_id=user, infer=False, metadata={"n": number})
    return {"langgraph": "store", "mem0": "mem0"}


@pytest.fixture(params=["LangGraph", "langgraph on a server", "mem0 on a server", *FILES])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    if request.param in FILES:
        yield FILES[request.param](tmp_path)
        return
    if request.param == "LangGraph":
        with langgraph(tmp_path) as made:
            yield made
        return
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    server: Server = request.getfixturevalue("server")
    program = request.param.split()[0]
    table = request.getfixturevalue("filled")[program]
    address = server.database("copy", template=program)
    conninfo = worlds.conninfo(address)
    rows = lambda: worlds.server_rows(conninfo, table)  # noqa: E731
    yield World(f"postgresql://{address}#{table}", rows, len(TEXTS))
    server.drop("copy")


def ids_of(store: TableStore, pair: tuple[str, str]) -> tuple[str, ...]:
    by_text = {memory.content: memory.id for memory in store.scan()}
    return tuple(by_text[text] for text in pair)


def test_a_table_of_a_known_program_is_read_without_a_map(world: World) -> None:
    before = world.rows()
    with open_store(world.url) as store:
        assert isinstance(store, TableStore)
        assert store.layout.preset
        memories = list(store.scan())
        assert len(memories) == store.count() == world.count
        assert all(memory.content and memory.namespace for memory in memories)
        assert all(memory.created_at for memory in memories)
        assert store.get([m.id for m in memories]) == {m.id: m for m in memories}
    assert world.rows() == before


@pytest.mark.parametrize("action", ACTIONS)
def test_an_undo_gives_every_cell_back(world: World, action: ActionKind) -> None:
    before = world.rows()
    with open_store(world.url) as store:
        assert isinstance(store, TableStore)
        run = apply(store, plan_by_hand(store, [ids_of(store, world.pair)], action))
        assert run.counts[action] == 1
        assert not run.refused
        assert store.count() == world.count - (action == "delete")
    with open_store(world.url) as store:
        undo(store, run.id)
        assert store.count() == world.count
    assert world.rows() == before


def test_reading_changes_not_one_byte_of_a_file(tmp_path: Path) -> None:
    made = FILES["mcp-memory-service"](tmp_path)
    before = contents(tmp_path)
    with open_store(made.url) as store:
        list(store.scan())
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", FILES)
def test_a_bare_path_of_a_known_program_opens_as_sql(name: str, tmp_path: Path) -> None:
    assert locate(FILES[name](tmp_path).url)[0] == "sql"


def test_a_bare_path_of_echoless_opens_as_before(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/agent.db", create=True).close()
    assert locate(tmp_path / "agent.db")[0] == "sqlite"
    open_store(f"recall:///{tmp_path}/recall.db", create=True).close()
    assert locate(tmp_path / "recall.db")[0] == "recall"
    open_store(f"llm-memory:///{tmp_path}/llm.db", create=True).close()
    assert locate(tmp_path / "llm.db")[0] == "llm-memory"


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("claude-flow", "SELECT content FROM memory_entries WHERE status = 'active'"),
        ("Mastra", "SELECT text FROM mastra_knowledge_records WHERE deletedAt IS NULL"),
    ],
)
def test_a_marked_row_is_none_that_its_program_reads(name: str, seen: str, tmp_path: Path) -> None:
    made = FILES[name](tmp_path)
    with open_store(made.url) as store:
        assert isinstance(store, TableStore)
        survivor = ids_of(store, PAIR)[0]
        apply(store, plan_by_hand(store, [ids_of(store, PAIR)], "mark"))
        with closing(sqlite3.connect(made.url)) as database:
            read = [text for (text,) in database.execute(seen)]
        assert len(read) == made.count - 1
        assert store.get([survivor])[survivor].content in read
        assert store.count() == made.count


def test_a_fact_of_memori_leaves_with_its_mentions_and_comes_back(tmp_path: Path) -> None:
    made = FILES["memori"](tmp_path)
    before = made.rows()
    url = f"sql:///{made.url}?hide=move#memori_entity_fact"
    with open_store(url) as store:
        assert isinstance(store, TableStore)
        run = apply(store, plan_by_hand(store, [ids_of(store, PAIR)], "mark"))
    assert [len(each) for each in made.rows().values()] == [made.count - 1] * 2
    with open_store(url) as store:
        undo(store, run.id)
    assert made.rows() == before


def test_a_new_text_of_a_fact_of_memori_gets_the_hash_of_its_program(tmp_path: Path) -> None:
    made = FILES["memori"](tmp_path)
    with open_store(made.url) as store:
        first = next(iter(store.scan()))
        with store.writing(), store.transaction():
            store.put([replace(first, content="Port 8443!")])
    with closing(sqlite3.connect(made.url)) as database:
        query = "SELECT uniq FROM memori_entity_fact WHERE content = 'Port 8443!'"
        assert database.execute(query).fetchall() == [(sha256(b"port8443").hexdigest(),)]
