"""What records of real programs say of their end, and of their owners, and what follows of it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import chromadb
import lancedb
import pyarrow as pa
import pytest
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from qdrant_client import QdrantClient, models

from echoless import apply, check, find, open_store, plan, remember, undo
from echoless.core.model import Memory
from echoless.core.settings import Choices, Settings, resolve
from echoless.ingest.outcomes import Admitted, AlreadyKnown
from tests.echoless_stores.sql import worlds

TEXT = "Anna is allergic to penicillin"
SAME = "Anna is allergic to penicillin."


def words() -> Settings:
    return resolve(Choices(encoder="none"))


def groups(url: str) -> list[set[str]]:
    """Ids of each group of a store."""
    with open_store(url) as store:
        found = find(store, words()).groups
    return [{group.survivor, *(member.id for member in group.members)} for group in found]


def notes(url: str) -> str:
    with open_store(url) as store:
        return " ".join(find(store, words()).tally.notes)


def table(path: Path, columns: str, *rows: tuple[object, ...]) -> str:
    """A table of no known program, with an id, a text and more."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT, {columns})")
        for row in rows:
            marks = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO notes VALUES ({marks})", row)
    return f"sql:///{path}#notes"


# ------------------------------------------------------------------ LangGraph


def test_after_the_sweep_of_langgraph_a_copy_without_an_end_is_left(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore.from_conn_string(str(path), ttl={"default_ttl": 60.0}) as inner:
        inner.setup()
        inner.put(("users", "ann"), "a", {"text": TEXT}, ttl=1)
        inner.put(("users", "ann"), "b", {"text": TEXT}, ttl=None)
        inner.put(("users", "ann"), "c", {"text": SAME}, ttl=5)
        url = f"sql:///{path}?hide=move#store"
        with open_store(url) as store:
            assert isinstance(
                remember(store, SAME, namespace="users.ann", dry_run=True), AlreadyKnown
            )
            run = apply(store, plan(find(store, words())))
        inner.conn.execute(
            "UPDATE store SET expires_at = '2001-01-01 00:00:00' WHERE expires_at IS NOT NULL"
        )
        inner.sweep_ttl()
        assert [item.value for item in inner.search(("users",))] == [{"text": TEXT}]
        with open_store(url) as store:
            assert check(store).sound
            undo(store, run.id)
        assert {item.key for item in inner.search(("users",))} == {"a", "b", "c"}


def test_after_the_sweep_of_langgraph_on_a_server_a_copy_without_an_end_is_left(
    database: str,
) -> None:
    with PostgresStore.from_conn_string(worlds.conninfo(database)) as inner:
        inner.setup()
        inner.put(("users", "ann"), "a", {"text": TEXT}, ttl=1)
        inner.put(("users", "ann"), "b", {"text": SAME}, ttl=None)
        url = f"postgresql://{database}&hide=move#store"
        with open_store(url) as store:
            run = apply(store, plan(find(store, words())))
            assert [mark.survivor for mark in store.ledger.marks().values()] == ["users.ann/b"]
        assert [item.key for item in inner.search(("users",))] == ["b"]
        with open_store(url) as store:
            undo(store, run.id)
        assert {item.key for item in inner.search(("users",))} == {"a", "b"}


# ------------------------------------------------------------------ mem0


def mem0_rows(path: Path, *payloads: dict[str, object]) -> str:
    """The file that mem0 3.3 for Node keeps its vectors in."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE vectors (id TEXT PRIMARY KEY, vector BLOB NOT NULL,"
            " payload TEXT NOT NULL)"
        )
        for number, payload in enumerate(payloads):
            whole = {"data": TEXT, "hash": "x", **payload}
            row = (f"m-{number}", b"\0\0\x80?" * 4, json.dumps(whole))
            db.execute("INSERT INTO vectors VALUES (?, ?, ?)", row)
    return str(path)


def test_users_of_older_rows_of_mem0_for_node_are_never_merged(tmp_path: Path) -> None:
    url = mem0_rows(
        tmp_path / "vector_store.db",
        {"userId": "ann"},
        {"userId": "bob"},
        {"userId": "ann", "data": SAME},
        {"user_id": "ann"},
    )
    assert groups(url) == [{"m-0", "m-2"}]
    assert "'userId' are never compared" in notes(url)


def test_a_date_given_to_the_survivor_since_shows_what_it_hides_again(tmp_path: Path) -> None:
    path = tmp_path / "vector_store.db"
    url = mem0_rows(
        path,
        {"user_id": "ann", "expiration_date": "2031-01-31"},
        {"user_id": "ann"},
        {"user_id": "ann", "data": SAME, "expiration_date": "2030-01-31"},
    )
    with open_store(url) as store:
        apply(store, plan(find(store, words())))
        assert {mark.survivor for mark in store.ledger.marks().values()} == {"m-1"}
        assert check(store).problems == ()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "UPDATE vectors SET payload = json_set(payload, '$.expiration_date', '2030-06-30')"
            " WHERE id = 'm-1'"
        )
    with open_store(url) as store:
        (problem,) = check(store).problems
        assert problem.ids == ("m-0",)
        assert set(store.ledger.marks()) == {"m-2"}
        assert store.get(["m-0"])["m-0"].promise.until == "2031-01-31"


def test_a_plan_is_refused_where_the_survivor_was_given_a_date_since(tmp_path: Path) -> None:
    path = tmp_path / "vector_store.db"
    url = mem0_rows(path, {"user_id": "ann"}, {"user_id": "ann"})
    with open_store(url) as store:
        made = plan(find(store, words()))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "UPDATE vectors SET payload = json_set(payload, '$.expiration_date', '2030-06-30')"
            " WHERE id = 'm-0'"
        )
    with open_store(url) as store:
        (refusal,) = apply(store, made).refused
    assert refusal.reason == "m-1 stays in force where m-0 would expire"


def test_mem0_on_a_server_keeps_the_permanent_one_of_each_pair(
    database: str, tmp_path: Path
) -> None:
    with worlds.mem0_on_pgvector(database, tmp_path) as memory:
        for text in worlds.TEXTS[:2]:
            memory.add(text, user_id="ann", infer=False)
            (added,) = memory.add(f"{text} ", user_id="ann", infer=False)["results"]
            row = memory.vector_store.get(added["id"])
            later = {**row.payload, "expiration_date": "2031-12-31", "created_at": "2020-01-01"}
            memory.vector_store.update(added["id"], payload=later)
        with open_store(f"postgresql://{database}#mem0") as store:
            apply(store, plan(find(store, words())))
        left = memory.get_all(filters={"user_id": "ann"}, top_k=20)["results"]
        assert {each.get("expiration_date") for each in left} == {None}
        assert len(left) == 2


# ------------------------------------------------------------------ any table


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("deleted_at TEXT", "2026-01-01"),
        ("is_deleted INTEGER", 1),
        ("isArchived BOOLEAN", 1),
        ("superseded_by TEXT", "7"),
        ("status TEXT", "Archived"),
        ("state TEXT", "done"),
        ("expires_at REAL", 1_990_000_000.5),
        ("validUntil TEXT", "2031-01-01"),
        ("invalid_at TEXT", "2026-01-01"),
        ("ttl INTEGER", 3600),
        ("metadata TEXT", '{"expirationDate": "2031-01-01"}'),
    ],
)
def test_a_row_that_ends_or_is_put_away_hides_no_other_and_makes_nothing_known(
    tmp_path: Path, columns: str, value: object
) -> None:
    columns += ", links TEXT" if columns.startswith("metadata") else ", metadata TEXT"
    rows = [(1, TEXT, value, None), (2, TEXT, None, None), (3, SAME, value, None)]
    url = table(tmp_path / "n.db", columns, *rows)
    with open_store(url) as store:
        apply(store, plan(find(store, words())))
        assert {mark.survivor for mark in store.ledger.marks().values()} == {"2"}
        assert check(store).problems == ()
        with store.writing():
            store.remove(["2"])
        assert isinstance(remember(store, TEXT, settings=words()), Admitted)


MARKED = [f"[x] {TEXT}", f"- [X] {TEXT}", f"~~{TEXT}~~", f"<del>{TEXT}</del>.", f"* [-] {TEXT}"]


def _lines_of(path: Path, texts: Sequence[str]) -> str:
    lines = [json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts, 1)]
    path.write_text("\n".join(lines))
    return f"jsonl:///{path}"


def _own_file_of(path: Path, texts: Sequence[str]) -> str:
    with open_store(f"sqlite:///{path}", create=True) as store, store.writing():
        store.put([Memory(id=str(i), content=text) for i, text in enumerate(texts, 1)])
    return f"sqlite:///{path}"


def _table_of(path: Path, texts: Sequence[str]) -> str:
    return table(path, "tag TEXT", *((i, text, None) for i, text in enumerate(texts, 1)))


def _graph_of(path: Path, texts: Sequence[str]) -> str:
    entity = {"type": "entity", "name": "A", "entityType": "t", "observations": [*texts]}
    path.write_text(json.dumps(entity) + "\n")
    return f"mcp-memory:///{path}"


@pytest.mark.parametrize("made", [_lines_of, _own_file_of, _table_of, _graph_of])
@pytest.mark.parametrize("marked", MARKED)
def test_a_text_that_is_struck_out_or_done_hides_no_open_one_in_any_store(
    tmp_path: Path, made: Callable[[Path, Sequence[str]], str], marked: str
) -> None:
    for number, texts in enumerate(([marked, TEXT, SAME], [TEXT, SAME, marked])):
        url = made(tmp_path / f"{number}.db", texts)
        with open_store(url) as store:
            retired = {m.id for m in store.scan() if m.promise.retired}
            assert [store.get([id_])[id_].content for id_ in retired] == [marked]
            apply(store, plan(find(store, words())))
            marks = store.ledger.marks().values()
            assert retired.isdisjoint(mark.survivor for mark in marks)
            assert len({mark.duplicate for mark in marks} - retired) == 1
            assert check(store).problems == ()
        url = made(tmp_path / f"{number}-only.db", [marked])
        with open_store(url) as store:
            (namespace,) = store.namespaces()
            new = remember(store, TEXT, namespace=namespace, settings=words(), dry_run=True)
            assert not isinstance(new, AlreadyKnown)


def test_a_month_is_told_of_a_time_that_is_a_number(tmp_path: Path) -> None:
    now = time.time()
    url = table(tmp_path / "n.db", "created_at REAL", (1, TEXT, now - 9e6), (2, TEXT, now - 5e6))
    with open_store(url) as store:
        reasons = find(store, words()).reasons
    (reason,) = reasons.values()
    assert reason.startswith("older: 20")
    assert "." not in reason


# ------------------------------------------------------------------ owners


@pytest.mark.parametrize(
    "name",
    [
        "user_id",
        "userId",
        "tenant",
        "owner",
        "agent_id",
        "app_id",
        "run_id",
        "session",
        "thread_id",
        "project",
        "wing",
        "workspace",
        "orgId",
        "collection",
    ],
)
def test_rows_of_two_owners_are_never_merged_without_a_map(tmp_path: Path, name: str) -> None:
    rows = [(1, TEXT, "ann"), (2, TEXT, "bob"), (3, SAME, "ann"), (4, TEXT, None)]
    url = table(tmp_path / "n.db", f"{name} TEXT", *rows)
    assert groups(url) == [{"1", "3"}]
    assert f"two values of {name!r} are never compared" in notes(url)


def test_an_owner_joins_the_namespace_and_a_map_of_it_is_another_choice(tmp_path: Path) -> None:
    rows = [(1, TEXT, "shop", "ann"), (2, TEXT, "shop", "bob"), (3, TEXT, "wiki", "ann")]
    url = table(tmp_path / "n.db", "namespace TEXT, user_id TEXT", *rows, (4, SAME, "shop", "ann"))
    assert groups(url) == [{"1", "4"}]
    file = url.partition("#")[0]
    assert groups(f"{file}?map=type:user_id#notes") != []
    with open_store(f"{file}?map=namespace:namespace,user_id#notes") as store:
        assert "namespace=shop&user_id=ann" in store.namespaces()


def test_sessions_of_which_nearly_each_row_has_its_own_keep_nothing_apart(tmp_path: Path) -> None:
    rows = [(n, f"Note number {n} is about the {n} lamps", f"s-{n}") for n in range(3, 40)]
    url = table(tmp_path / "n.db", "session_id TEXT", (1, TEXT, "s-1"), (2, SAME, "s-2"), *rows)
    assert {"1", "2"} in groups(url)
    assert "'session_id' are compared, as nearly each has its own" in notes(url)


@pytest.mark.parametrize(
    ("name", "wide", "narrow"),
    [
        ("visibility", "global", "private"),
        ("scope", "team", "personal"),
        ("sharing", "org", "owner"),
        ("is_public", 1, 0),
        ("private", 0, 1),
        ("shared", 1, 0),
        ("audience", '["ann", "bob"]', '["ann"]'),
        ("acl", "ann,bob", "ann"),
        ("access_level", "everyone", "owner"),
    ],
)
def test_rows_for_more_and_for_fewer_readers_are_never_merged_without_a_map(
    tmp_path: Path, name: str, wide: str | int, narrow: str | int
) -> None:
    rows = [(1, TEXT, narrow), (2, TEXT, wide), (3, SAME, narrow), (4, SAME, wide)]
    url = table(tmp_path / "n.db", f"{name}", *rows)
    assert groups(url) == [{"1", "3"}, {"2", "4"}]
    assert f"two values of {name!r} are never compared, as they look like owners or readers" in (
        notes(url)
    )
    assert len(groups(url.replace("#", f"?map=type:{name}#"))) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("access", [7, 3]),
        ("permissions", [0o644, 0o600]),
        ("shared", [12, 40]),
        ("access", ["2026-01-01 10:00:00", "2026-01-02 10:00:00"]),
        ("access_count", [1, 2]),
        ("public_key", ["a", "b"]),
    ],
)
def test_counts_modes_and_times_tell_no_readers(
    tmp_path: Path, name: str, values: list[str | int]
) -> None:
    url = table(tmp_path / "n.db", name, (1, TEXT, values[0]), (2, TEXT, values[1]))
    assert groups(url) == [{"1", "2"}]


def test_a_scope_of_its_own_for_nearly_each_row_keeps_none_apart(tmp_path: Path) -> None:
    rows = [(n, f"Room {n} holds the files of {1980 + n}.", f"s{n}") for n in range(30)]
    url = table(tmp_path / "n.db", "scope", *rows, (30, TEXT, "x"), (31, TEXT, "y"))
    assert {"30", "31"} in groups(url)
    assert "'scope' are compared, as nearly each has its own" in notes(url)


def test_readers_in_lines_and_in_collections_keep_memories_apart(tmp_path: Path) -> None:
    audiences = ([], ["bob", "ann"], ["ann"], ["ann", "bob"])
    path = tmp_path / "m.jsonl"
    lines = [{"id": str(n), "text": TEXT, "audience": who} for n, who in enumerate(audiences)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert groups(f"jsonl:///{path}") == [{"1", "3"}]
    rows = [{"id": str(n), "text": TEXT, "is_public": n % 2 == 0} for n in range(4)]
    lancedb.connect(tmp_path / "db").create_table("notes", pa.Table.from_pylist(rows))
    assert groups(f"lancedb:///{tmp_path / 'db'}#notes") == [{"0", "2"}, {"1", "3"}]
    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    client.create_collection("notes", embedding_function=None).add(
        ids=["a", "b", "c"],
        documents=[TEXT] * 3,
        metadatas=[{"visibility": who} for who in ("private", "global", "private")],
        embeddings=[[1.0, 0.0]] * 3,
    )
    url = f"chroma:///{tmp_path / 'chroma'}"
    assert groups(url) == [{"a", "c"}]
    assert "'visibility' are never compared" in notes(url)


def test_lines_of_two_users_are_never_merged(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    lines = [
        {"id": "a", "text": TEXT, "user_id": "ann"},
        {"id": "b", "text": TEXT, "user_id": "bob"},
        {"id": "c", "text": TEXT, "metadata": {"userId": "ann"}},
        {"id": "d", "text": TEXT, "metadata": {"user": "bob"}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert groups(f"jsonl:///{path}") == [{"a", "c"}, {"b", "d"}]


def test_drawers_of_two_wings_or_rooms_of_a_collection_are_never_merged(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path / "palace"))
    drawers = client.create_collection("mempalace_drawers", embedding_function=None)
    places = [("ann", "hall"), ("bob", "hall"), ("ann", "attic"), ("ann", "hall")]
    drawers.add(
        ids=["a", "b", "c", "d"],
        documents=[TEXT] * 4,
        metadatas=[{"wing": wing, "room": room} for wing, room in places],
        embeddings=[[1.0, 0.0]] * 4,
    )
    url = f"chroma:///{tmp_path / 'palace'}"
    assert groups(url) == [{"a", "d"}]
    assert "'room', 'wing' are never compared" in notes(url)


def test_rows_of_two_users_of_a_lance_table_are_never_merged(tmp_path: Path) -> None:
    rows = [{"id": str(at), "text": TEXT, "user_id": who} for at, who in enumerate("abab")]
    lancedb.connect(tmp_path / "db").create_table("notes", pa.Table.from_pylist(rows))
    url = f"lancedb:///{tmp_path / 'db'}#notes"
    assert groups(url) == [{"0", "2"}, {"1", "3"}]
    assert "'user_id' are never compared" in notes(url)


def test_points_of_two_tenants_are_never_merged(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path / "points"))
    client.create_collection(
        "notes", vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE)
    )
    client.upsert(
        "notes",
        [
            models.PointStruct(id=at, vector=[1.0, 0.0], payload={"text": TEXT, "tenantId": owner})
            for at, owner in enumerate(["ann", "bob", "ann"], 1)
        ],
    )
    client.close()
    assert groups(f"qdrant:///{tmp_path / 'points'}?map=content:text#notes") == [{"1", "3"}]


# ------------------------------------------------------------------ fields that carry the news


def observations(path: Path, columns: str, *rows: tuple[object, ...]) -> str:
    """Observations of claude-mem, of whatever version has these columns."""
    names = [column.split()[0] for column in columns.split(", ")]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, type TEXT,"
            f" created_at TEXT, created_at_epoch INTEGER, {columns})"
        )
        for row in rows:
            db.execute(
                "INSERT INTO observations (project, type, created_at, created_at_epoch,"
                f" {', '.join(names)}) VALUES ('shop', 'note', '', 1782295200000,"
                f" {', '.join('?' * len(names))})",
                row,
            )
    return str(path)


def test_observations_of_one_narrative_differ_by_their_facts_and_titles(tmp_path: Path) -> None:
    said = "The service did not start because its port was taken."
    url = observations(
        tmp_path / "claude-mem.db",
        "text TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT",
        (None, "Port conflict", None, '["Port 4040 was taken by the mailer"]', said),
        (None, "Port conflict", None, '["Port 5050 was taken by the tracker"]', said),
        (None, "Login fails in Firefox", None, "[]", "A test was added."),
        (None, "Export drops the last row", None, "[]", "A test was added."),
        (None, "", None, '["Cache lives for ten minutes"]', None),
        (None, "", None, '["Cache lives for ten minutes."]', None),
        (None, "", None, "[]", None),
    )
    assert groups(url) == [{"5", "6"}]
    assert "hold no text: 1" in notes(url)


def test_the_first_tables_of_claude_mem_open(tmp_path: Path) -> None:
    url = observations(tmp_path / "claude-mem.db", "text TEXT NOT NULL", (TEXT,), (SAME,))
    assert groups(url) == [{"1", "2"}]


def test_a_deleted_row_gives_way_to_its_text_and_undo_puts_it_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    digest = hashlib.sha256(TEXT.lower().encode()).hexdigest()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE"
            " NOT NULL, content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT,"
            " created_at REAL, updated_at REAL, created_at_iso TEXT, updated_at_iso TEXT,"
            " deleted_at REAL, superseded_by TEXT)"
        )
        db.execute(
            "INSERT INTO memories (content_hash, content, tags, metadata, deleted_at)"
            " VALUES (?, ?, 'door', '{}', 1764000100.0)",
            (digest, TEXT),
        )

    def rows() -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT * FROM memories").fetchall()

    before = rows()
    with open_store(str(path)) as store:
        answer = remember(store, TEXT, settings=words())
        assert isinstance(answer, Admitted)
        assert [row[10] for row in rows()] == [None]
        undo(store, answer.run)
    assert rows() == before
