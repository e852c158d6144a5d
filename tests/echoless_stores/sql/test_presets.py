"""Tables of other programs are recognised by their columns, read, changed and put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

from echoless import apply, open_store, undo
from echoless.core.profiles import ActionKind
from echoless.stores.registry import locate
from echoless_stores.sql import TableStore
from tests.conformance.stores import contents, plan_by_hand
from tests.echoless_stores.sql import worlds
from tests.echoless_stores.sql.worlds import PAIR, TEXTS
from tests.postgres_server import Server

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
    "MemPalace": lambda folder: file_world(worlds.scripted(folder, "mempalace"), 9, "documents"),
}

SERVERS: dict[str, tuple[int, tuple[str, ...]]] = {
    "hindsight": (8, ("memory_units", "memory_links", "invalidated_memory_units")),
    "honcho": (8, ("documents",)),
    "langgraph": (len(TEXTS), ("store",)),
    "mastra_server": (8, ("mastra_knowledge_records",)),
    "mem0": (len(TEXTS), ("mem0",)),
}
"""Number of memories and tables of each program on a server, that of the memories first."""


@pytest.fixture(scope="module")
def filled(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The tables of each program on a server, each in a database of its own, to be copied."""
    for name in SERVERS.keys() - {"langgraph", "mem0"}:
        worlds.scripted_server(server.database(name), name)
    with worlds.langgraph_server(server.database("langgraph")) as store:
        worlds.fill_langgraph(store)
    folder = tmp_path_factory.mktemp("mem0")
    with worlds.mem0_on_pgvector(server.database("mem0"), folder) as memory:
        for number, text in enumerate(TEXTS):
            user = "ben" if number % 7 == 6 else "ann"
            memory.add(text, user_id=user, infer=False, metadata={"n": number})
    return server


@contextmanager
def on_a_server(server: Server, name: str) -> Iterator[World]:
    count, tables = SERVERS[name]
    address = server.database("copy", template=name)
    conninfo = worlds.conninfo(address)
    rows = lambda: worlds.server_rows(conninfo, *tables)  # noqa: E731
    try:
        yield World(f"postgresql://{address}#{tables[0]}", rows, count)
    finally:
        server.drop("copy")


@pytest.fixture(params=["LangGraph", *(f"{name} on a server" for name in SERVERS), *FILES])
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
    with on_a_server(request.getfixturevalue("filled"), request.param.split()[0]) as made:
        yield made


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


MOVING = {
    "honcho": "SELECT content FROM documents WHERE deleted_at IS NULL",
    "hindsight": "SELECT text FROM memory_units",
}


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_row_that_leaves_a_server_comes_back_whole(
    filled: Server, name: str, action: ActionKind
) -> None:
    with on_a_server(filled, name) as made:
        before = made.rows()
        url = made.url.replace("#", "&hide=move#")
        with open_store(url) as store:
            assert isinstance(store, TableStore)
            run = apply(store, plan_by_hand(store, [ids_of(store, PAIR)], action))
            with psycopg.connect(worlds.conninfo(made.url.split("//")[1].split("#")[0])) as other:
                read = [text for (text,) in other.execute(MOVING[name]).fetchall()]
            assert len(read) == made.count - 1
            assert PAIR[1] not in read
        with open_store(url) as store:
            undo(store, run.id)
        assert made.rows() == before


def test_what_honcho_deletes_and_takes_out_later_is_passed_over(filled: Server) -> None:
    with on_a_server(filled, "honcho") as made, open_store(made.url) as store:
        assert isinstance(store, TableStore)
        assert len(list(store.scan())) == made.count
        assert "deleted by the program of the table: 1" in store.remarks()[0]
        assert store.namespaces() == {
            "level=deductive&observed=ann&observer=bot&session=s1&workspace=acme": 1,
            "level=explicit&observed=ann&observer=bot&session=s1&workspace=acme": 5,
            "level=explicit&observed=ann&observer=bot&session=s2&workspace=acme": 1,
            "level=explicit&observed=ben&observer=bot&session=s1&workspace=acme": 1,
        }


def test_sessions_of_honcho_are_compared_where_the_map_leaves_them_out(filled: Server) -> None:
    with on_a_server(filled, "honcho") as made:
        names = "namespace:workspace_name,observer,observed,level"
        with open_store(made.url.replace("#", f"&map={names}#")) as store:
            assert dict(store.namespaces()) == {
                "level=deductive&observed=ann&observer=bot&workspace_name=acme": 1,
                "level=explicit&observed=ann&observer=bot&workspace_name=acme": 6,
                "level=explicit&observed=ben&observer=bot&workspace_name=acme": 1,
            }


def test_a_bank_its_kinds_of_facts_and_tags_keep_memories_of_hindsight_apart(
    filled: Server,
) -> None:
    with on_a_server(filled, "hindsight") as made, open_store(made.url) as store:
        assert dict(store.namespaces()) == {
            "bank=ann&fact_type=world&tags=%7B%7D": 5,
            "bank=ann&fact_type=world&tags=%7Bhome%7D": 2,
            "bank=ben&fact_type=world&tags=%7B%7D": 1,
        }
        first = next(memory for memory in store.scan() if memory.content == PAIR[1])
        assert (first.metadata, first.tags) == ({"n": "1"}, ())
        assert [vector.dimensions for vector in first.vectors] == [8]


def test_wings_and_rooms_keep_drawers_apart(tmp_path: Path) -> None:
    with open_store(FILES["MemPalace"](tmp_path).url) as store:
        assert dict(store.namespaces()) == {
            "collection=1&room=home&wing=ann": 7,
            "collection=1&room=home&wing=ben": 1,
            "collection=1&room=kitchen&wing=ann": 1,
        }
