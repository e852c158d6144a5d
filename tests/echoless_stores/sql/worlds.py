"""Databases of other programs, written by those programs where they can be installed here."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from langgraph.store.base import BaseStore
from psycopg import sql

from tests import mem0_world
from tests.conformance.encoders import WordBag

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sql"

PAIR = ("The gateway listens on port 8443.", "The gateway service listens on port 8443.")
"""Two texts that say the same, first in each of the worlds made here."""

TEXTS = (
    *PAIR,
    "Anna prefers green tea in the morning.",
    'She said: "Café, bitte" — and a \\ backslash, a \' quote.',
    "Die Rechnung geht an Frau Köhler in Zürich.",
    "東京の事務所は三階にあります。 \U0001f600",
    "Two\nlines\tand a tab.",
    *(f"Room {number} of the archive holds the files of {1980 + number}." for number in range(27)),
)


def rows(path: Path, *tables: str) -> dict[str, list[Any]]:
    """Returns all cells of tables with their storage class and number, sorted."""
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        found = {}
        for table in tables:
            names = [row[1].decode() for row in db.execute(f"PRAGMA table_info({table})")]
            cells = ", ".join(f'typeof("{name}"), "{name}"' for name in names)
            found[table] = sorted(db.execute(f"SELECT rowid, {cells} FROM {table}").fetchall())
        return found


def server_rows(conninfo: str, *tables: str) -> dict[str, list[Any]]:
    """Returns all rows of tables as the server writes them, sorted."""
    with psycopg.connect(conninfo) as connection:
        return {
            table: sorted(
                connection.execute(
                    sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(*table.split(".")))
                ).fetchall()
            )
            for table in tables
        }


def ledger_rows(connection: psycopg.Connection, schema: str) -> dict[str, bytes]:
    """Returns every row of a ledger as the server holds it, by table; nothing without a ledger."""
    found = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (schema,)
    )
    held = {}
    for (table,) in found.fetchall():
        query = sql.SQL("SELECT t.*, xmin, ctid FROM {} t").format(sql.Identifier(schema, table))
        held[table] = repr(connection.execute(query).fetchall()).encode()
    return held


def conninfo(address: str) -> str:
    """Returns what psycopg takes for an address of the fixture `database`."""
    host = address.partition("?host=")[2]
    return f"host={host} user=postgres dbname={name_of(address)}"


def name_of(address: str) -> str:
    """Returns the database of an address of the fixture `database`."""
    return address.removeprefix("postgres@/").partition("?host=")[0]


# ------------------------------------------------------------------ of real programs


def agno(folder: Path) -> Path:
    """The file agno wrote."""
    return Path(shutil.copy(FIXTURES / "agno.db", folder / "agno.db"))


def mcp_memory_service(folder: Path) -> Path:
    """The file mcp-memory-service wrote."""
    path = folder / "memory.db"
    path.write_bytes(gzip.decompress((FIXTURES / "mcp_memory_service.db.gz").read_bytes()))
    return path


def scripted(folder: Path, name: str) -> Path:
    """A file made by a script of the tables that a program wrote; its first line names it."""
    path = folder / f"{name}.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FIXTURES / f"{name}.sql").read_text("utf-8"))
    return path


def scripted_server(address: str, name: str) -> None:
    """Makes the tables that a program wrote to a server, by a script whose first line names it."""
    with psycopg.connect(conninfo(address)) as connection:
        connection.execute((FIXTURES / f"{name}.sql").read_bytes())


def fill_langgraph(store: BaseStore) -> None:
    """Puts items: two of one user first, LangMem's form among them, and one without a text."""
    for number, text in enumerate(TEXTS):
        user = "ben" if number % 7 == 6 else "ann"
        kinds = (
            {"text": text, "n": number},
            {"content": text, "when": [1, 2.5, None]},
            {"kind": "Memory", "content": {"content": text}},
        )
        store.put(("users", user), f"k{number:02d}", kinds[0 if number < 2 else number % 3])
    store.put(("users", "ann"), "settings", {"theme": "dark"})


@contextmanager
def langgraph_file(path: Path) -> Iterator[BaseStore]:
    """A store of LangGraph in an SQLite file."""
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        yield store


@contextmanager
def langgraph_server(address: str, *, indexed: bool = False) -> Iterator[BaseStore]:
    """A store of LangGraph on a server, with vectors by pgvector if `indexed`."""
    from langgraph.store.postgres import PostgresStore

    index = {"dims": 8, "embed": _embedded} if indexed else None
    with PostgresStore.from_conn_string(conninfo(address), index=index) as store:  # type: ignore[arg-type]
        store.setup()
        yield store


def _embedded(texts: Sequence[str]) -> list[list[float]]:
    return [row.tolist() for row in WordBag(dimensions=8).encode(list(texts))]


@contextmanager
def mem0_on_pgvector(address: str, folder: Path) -> Iterator[Mem0]:
    """mem0 with its vectors in PostgreSQL, and embedder and model on loopback."""
    from mem0 import Memory

    with mem0_world.serving() as server:
        api = {"api_key": "none", "openai_base_url": server.url}
        memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "pgvector",
                    "config": {
                        "connection_string": conninfo(address),
                        "collection_name": "mem0",
                        "embedding_model_dims": mem0_world.DIMENSIONS,
                    },
                },
                "embedder": {"provider": "openai", "config": {"model": "m", **api}},
                "llm": {"provider": "openai", "config": {"model": "m", **api}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        try:
            yield memory
        finally:
            memory.close()
            memory.vector_store.connection_pool.close()


# ------------------------------------------------------------------ by their schemas


def claude_mem(folder: Path) -> Path:
    """A file with the observations of claude-mem 13.25: old rows have `text`, new ones more."""
    path = folder / "claude-mem.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT,"
            " memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,"
            " type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,"
            " concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,"
            " discovery_tokens INTEGER DEFAULT 0, created_at TEXT NOT NULL,"
            " created_at_epoch INTEGER NOT NULL)"
        )
        for number, text in enumerate(TEXTS):
            old = number % 3 == 2
            db.execute(
                "INSERT INTO observations (memory_session_id, project, text, type, title, facts,"
                " narrative, concepts, created_at, created_at_epoch)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    "s-1",
                    "wiki" if number % 7 == 6 else "shop",
                    text if old else None,
                    "discovery" if number % 2 else "feature",
                    f"Note {number}",
                    None if old else json.dumps([f"fact {number}"]),
                    None if old else text,
                    json.dumps(["how-it-works", f"c{number % 3}"]),
                    f"2025-10-{number % 27 + 1:02d}T00:00:00.000Z",
                    1_760_000_000_000 + number,
                ),
            )
    return path


def openmemory(folder: Path) -> Path:
    """A file with the memories of OpenMemory (CaviraOSS)."""
    path = folder / "openmemory.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE memories (id text primary key, user_id text, segment integer default 0,"
            " content text not null, simhash text, primary_sector text not null, tags text,"
            " meta text, created_at integer, updated_at integer, last_seen_at integer,"
            " salience real, decay_lambda real, version integer default 1, mean_dim integer,"
            " mean_vec blob, compressed_vec blob, feedback_score real default 0)"
        )
        for number, text in enumerate(TEXTS):
            db.execute(
                "INSERT INTO memories (id, user_id, content, simhash, primary_sector, tags, meta,"
                " created_at, updated_at, last_seen_at, salience, decay_lambda, mean_dim, mean_vec)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    f"00000000-0000-4000-8000-{number:012d}",
                    "ben" if number % 7 == 6 else "ann",
                    text,
                    f"{number:016x}",
                    "semantic" if number % 2 else "episodic",
                    json.dumps(["home"]) if number % 3 else None,
                    json.dumps({"source": "chat", "n": number}) if number % 4 else None,
                    1_760_000_000_000 + number,
                    1_760_000_000_500 + number,
                    1_760_000_001_000 + number,
                    0.5 + number / 100,
                    0.02,
                    2,
                    bytes([number, 0, 255, 1, 2, 3, 4, 5]),
                ),
            )
    return path
