"""Tables of one's own: odd types and keys, what is refused, and what never shows."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from echoless import apply, find, open_store, plan, undo
from echoless.cli.main import main
from echoless.core.errors import (
    BadRecord,
    ForeignStore,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
    UsageError,
)
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.core.timestamps import day
from echoless.ingest.guard import Guard
from echoless.stores.field_map import read_pairs
from echoless.stores.registry import mapped
from echoless_stores.sql.location import Location, driver_url
from echoless_stores.sql.row_codec import id_of, key_of
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds

ACTIONS: tuple[ActionKind, ...] = ("mark", "merge", "delete")

ODD = """
CREATE TYPE mood AS ENUM ('calm', 'loud');
CREATE TABLE odd (
  id uuid PRIMARY KEY,
  number bigint GENERATED ALWAYS AS IDENTITY,
  body text NOT NULL,
  size int GENERATED ALWAYS AS (length(body)) STORED,
  labels text[],
  at timestamptz, local timestamp, day date, hour time, span interval,
  amount numeric(12,4), ratio double precision, flag boolean, feel mood,
  raw bytea, plain json, binary_json jsonb, address inet, parts int4range, matrix int[][],
  embedding vector(3), half halfvec(2), code char(4), "Odd ""name"" %s :x" text
);
"""
ROW = """
INSERT INTO odd (id, body, labels, at, local, day, hour, span, amount, ratio, flag, feel, raw,
  plain, binary_json, address, parts, matrix, embedding, half, code, "Odd ""name"" %%s :x")
VALUES (%s, 'The gateway listens on port 8443.',
  ARRAY['a,b', 'say "hi"', '', NULL, 'back\\\\slash'],
  '2026-03-29 02:30:00.000001+05:45', '2026-03-29 02:30', '0044-03-15 BC', '23:59:59.999999',
  '1 year -2 mons 3 days 04:05:06.7', 1234.5000, 'Infinity', %s, 'loud', '\\xdeadbeef00',
  '{"b": 1,  "a": 1.00, "a": 2}', '{"k": [1, 2.50, null]}', '::1/64', '[1,7)', '{{1,2},{3,NULL}}',
  '[0.1,-1.5,3e-8]', '[0.5,65504]', 'ab', E'tab\\tand \\'quote\\'')
"""


@pytest.fixture
def server_table(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("action", ACTIONS)
def test_a_row_of_every_type_comes_back_exactly(
    database: str, server_table: psycopg.Connection, action: ActionKind
) -> None:
    server_table.execute(ODD)
    for number in range(3):
        id_ = f"00000000-0000-4000-8000-00000000000{number}"
        server_table.execute(ROW, (id_, number == 1))
    server_table.execute("UPDATE odd SET labels = '{new}', at = NULL WHERE number = 2")
    before = worlds.server_rows(worlds.conninfo(database), "odd")
    maps = "&map=content:body&map=tags:labels&map=created_at:at&map=metadata:binary_json"
    url = f"postgresql://{database}{maps}#odd"
    with open_store(url) as store:
        ids = [memory.id for memory in store.scan()]
        memory = store.get(ids)[ids[0]]
        assert memory.tags[:2] == ("a,b", 'say "hi"')
        assert memory.metadata == {"k": [1, 2.5, None]}
        assert memory.vectors[0].dimensions == 3
        assert memory.extra['Odd "name" %s :x'] == "tab\tand 'quote'"
        run = apply(store, plan_by_hand(store, [tuple(ids)], action))
        assert not run.refused
        if action == "merge":
            assert "new" in store.get(ids[:1])[ids[0]].tags
    with open_store(url) as store:
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), "odd") == before


def odd_file(folder: Path) -> Path:
    """A file with a row for each storage class, in columns of other types."""
    path = folder / "odd.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            'CREATE TABLE "my notes" (key TEXT PRIMARY KEY, text, n INTEGER, r REAL, b BLOB, any,'
            ' "a?b:c#d" TEXT, twice AS (n * 2))'
        )
        rows = [
            ("k-0", "Same text here.", 1, 1.5, b"\0\xff", b"bytes", "x"),
            ("k-1", "Same text here.", 2**63 - 1, -0.0, "text in a blob", 1, None),
            ("k/2", "Same text here.", "no number", 1e308, None, "1", ""),
            ("k-3", None, None, None, None, None, None),
            (None, "No key.", None, None, None, None, None),
            ("k-4", b"Bytes for a text.", None, None, None, None, None),
        ]
        names = '(key, text, n, r, b, any, "a?b:c#d")'
        db.executemany(f'INSERT INTO "my notes" {names} VALUES (?, ?, ?, ?, ?, ?, ?)', rows)
        db.execute("UPDATE \"my notes\" SET any = CAST(x'ff41fe' AS TEXT) WHERE key = 'k-0'")
    return path


@pytest.mark.parametrize("action", ACTIONS)
def test_a_row_of_every_storage_class_comes_back_exactly(
    tmp_path: Path, action: ActionKind
) -> None:
    path = odd_file(tmp_path)
    before = worlds.rows(path, '"my notes"')
    with open_store(f"sql:///{path}?map=importance:n#my notes") as store:
        assert [memory.id for memory in store.scan()] == ["k-0", "k-1", "k/2"]
        assert any("no usable key: 1." in remark for remark in store.remarks())
        assert any("no text: 2." in remark for remark in store.remarks())
        assert any("'n' cannot be read in 2 rows" in remark for remark in store.remarks())
        run = apply(store, plan_by_hand(store, [("k-0", "k-1")], action))
        assert not run.refused
        undo(store, run.id)
    assert worlds.rows(path, '"my notes"') == before


def test_duplicates_are_found_applied_and_undone_by_the_usual_road(tmp_path: Path) -> None:
    path = odd_file(tmp_path)
    with open_store(f"sql:///{path}#my notes") as store:
        run = apply(store, plan(find(store, encoder="none")))
        assert run.counts["mark"] == 2
        undo(store, run.id)
        assert store.ledger.marks() == {}


def test_a_key_of_several_columns_is_one_id(
    database: str, server_table: psycopg.Connection
) -> None:
    server_table.execute("CREATE TABLE pairs (a text, b int, content text, PRIMARY KEY (a, b))")
    for a in ("x/y", "x\\", "x"):
        server_table.execute("INSERT INTO pairs VALUES (%s, 1, 'The same.')", (a,))
    before = worlds.server_rows(worlds.conninfo(database), "pairs")
    with open_store(f"postgresql://{database}#pairs") as store:
        ids = [memory.id for memory in store.scan()]
        assert ids == ["x/1", "x\\/y/1", "x\\\\/1"]
        assert store.get([*ids, "x/y/1", "x", "x/one"]).keys() == set(ids)
        run = apply(store, plan_by_hand(store, [tuple(ids)], "delete"))
        assert store.count() == 1
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), "pairs") == before


@pytest.mark.parametrize(
    "key", [("a", "b"), ("a/b", "c"), ("a", "b/c"), ("a\\", "b"), ("\\/", "/"), ("", "b")]
)
def test_an_id_gives_its_key_back(key: tuple[str, str]) -> None:
    made = id_of(key)
    assert made is not None
    assert key_of(made, 2) == key


def test_the_columns_of_owners_make_the_namespace(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE m (id INTEGER PRIMARY KEY, text, user, agent)")
        db.executemany(
            "INSERT INTO m (text, user, agent) VALUES ('The same text.', ?, ?)",
            [("ann", None), ("ann", "p&q"), ("ann", None), (None, None)],
        )
    with open_store(f"sql:///{path}?map=namespace:user,agent#m") as store:
        assert store.namespaces() == {"": 1, "agent=p%26q&user=ann": 1, "user=ann": 2}
        assert len(find(store, encoder="none").groups) == 1, "owners are never mixed"


@pytest.mark.parametrize("action", ACTIONS)
def test_rows_that_go_with_a_row_come_back_with_it(
    database: str, server_table: psycopg.Connection, action: ActionKind
) -> None:
    """LangGraph's `store_vectors` goes by ON DELETE CASCADE; other references hold a row fast."""
    with worlds.langgraph_server(database, indexed=True) as graph:
        worlds.fill_langgraph(graph)
    tables = ("store", "store_vectors")
    before = worlds.server_rows(worlds.conninfo(database), *tables)
    assert len(before["store_vectors"]) >= len(worlds.TEXTS)
    with open_store(f"postgresql://{database}#store") as store:
        by_text = {memory.content: memory.id for memory in store.scan()}
        ids = tuple(by_text[text] for text in worlds.PAIR)
        run = apply(store, plan_by_hand(store, [ids], action))
        after = worlds.server_rows(worlds.conninfo(database), *tables)
        assert (len(after["store_vectors"]) < len(before["store_vectors"])) == (action == "delete")
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), *tables) == before


def test_a_row_others_refer_to_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE m (id INTEGER PRIMARY KEY, text, n DEFAULT 7)")
        db.execute("CREATE TABLE cites (who INTEGER REFERENCES m (id), page)")
        db.execute("CREATE TABLE parts (of INTEGER REFERENCES m ON DELETE CASCADE, part)")
        same = "INSERT INTO m VALUES (?, 'The same text.', NULL)"
        db.executemany(same, [(1,), (2,), (3,)])
        db.execute("INSERT INTO cites VALUES (2, 7)")
        db.executemany("INSERT INTO parts VALUES (?, ?)", [(3, b"x"), (3, 1.5), (2, None)])
    before = worlds.rows(path, "m", "cites", "parts")
    with open_store(f"sql:///{path}#m") as store:
        made = plan(find(store, encoder="none"), action="delete")
        run = apply(store, made)
        assert "2" in store.get(["2"]), "a row of cites refers to it"
        assert "3" not in store.get(["3"])
        undo(store, run.id)
    assert worlds.rows(path, "m", "cites", "parts") == before


def test_a_view_and_a_table_without_a_key_are_read_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE bare (content TEXT)")
        db.executemany("INSERT INTO bare VALUES (?)", [("A fact.",), ("A fact.",), ("Another.",)])
        db.execute("CREATE VIEW seen AS SELECT content FROM bare")
    for table, why in (("bare", "no primary key"), ("seen", "is a view")):
        with open_store(f"sql:///{path}#{table}") as store:
            ids = [memory.id for memory in store.scan()]
            assert len(set(ids)) == 3
            assert store.get(ids[:2]).keys() == set(ids[:2])
            with pytest.raises(StoreReadOnly, match=why), store.writing():
                raise AssertionError("it was opened for writing")
    assert not list(tmp_path.glob("*.echoless"))


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE one (id INTEGER PRIMARY KEY, note TEXT)")
        db.execute("CREATE TABLE two (id INTEGER PRIMARY KEY, note TEXT)")
    for location, error, words in (
        ("", UsageError, "Which table.*one, two"),
        ("#three", StoreNotFound, "no table 'three'.*one, two"),
        ("#one", UsageError, "id, note.*map=content:note#one"),
        ("?map=content:text#one", UsageError, "'text', which one does not have.*id, note"),
        ("?map=content:note&map=id:note#one", UsageError, "column 'note' to 'content' and to 'id'"),
        ("?map=content:note&hide=gone#one", UsageError, "hide=gone.*id, note"),
        ("?hidden=note#one", UsageError, "'hidden'.*hide, ledger, map, model"),
    ):
        with pytest.raises(error, match=words):
            open_store(f"sql:///{path}{location}")
    with pytest.raises(StoreNotFound):
        open_store(f"sql:///{tmp_path}/none.db#one")
    with pytest.raises(UsageError, match="'mysql' are not supported"):
        open_store("sql:///mysql://host/db#one")
    with pytest.raises(ForeignStore):
        (tmp_path / "text.db").write_text("no database")
        open_store(f"sql:///{tmp_path}/text.db")


def test_a_field_without_a_column_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = odd_file(tmp_path)
    before = worlds.rows(path, '"my notes"')
    with open_store(f"sql:///{path}#my notes") as store, store.writing():
        memory = store.get(["k-0"])["k-0"]
        for change in ({"tags": ("a",)}, {"pinned": True}, {"metadata": {"a": 1}}):
            with pytest.raises(StoreError, match=f"{next(iter(change))!r} of 'k-0' has no place"):
                store.put([replace(memory, **change)])
        with pytest.raises(BadRecord, match="empty"):
            store.put([replace(memory, content="")])
    assert worlds.rows(path, '"my notes"') == before


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = worlds.openmemory(tmp_path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises((ForeignStore, StoreError)):
        with open_store(f"sql:///{path}#memories") as store:
            list(store.scan())


# ------------------------------------------------------------------ addresses and passwords


def test_a_password_is_nowhere(database: str, server_table: psycopg.Connection) -> None:
    server_table.execute("CREATE TABLE notes (id int PRIMARY KEY, content text)")
    with_secret = database.replace("postgres@", "postgres:hunter2@")
    with open_store(f"postgresql://{with_secret}#notes") as store:
        assert "hunter2" not in store.url
        made = plan_by_hand(store, [], "mark")
        assert "hunter2" not in made.url
        assert "hunter2" not in repr(vars(store))
    for url in (
        "postgresql://ann:hunter2@localhost:1/db#notes",
        "postgresql://ann:hunter2@[::1/db#notes",
        f"postgresql://{with_secret}#none",
        f"postgresql://{database}&password=hunter2#none",
    ):
        with pytest.raises((StoreNotFound, UsageError)) as caught:
            open_store(url)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("sqlite:///agent.db#notes", "sql:///agent.db#notes"),
        ("agent.db?map=content:a->b#n", "sql:///agent.db?map=content:a->b#n"),
        ("postgresql+psycopg://u:p@h:5/d?sslmode=require#s.t", None),
        ("postgres://u@h/d?hide=gone&map=content:x#t", None),
    ],
)
def test_an_address_has_one_form(typed: str, canonical: str | None) -> None:
    read = Location.parse(typed)
    assert canonical is None or read.url == canonical
    again = Location.parse(read.url.removeprefix("sql:///"))
    assert (again.url, again.secret) == (read.url, None)
    assert again.sidecar_base == read.sidecar_base


def test_a_map_of_the_command_line_joins_that_of_the_address() -> None:
    field_map = read_pairs(["tags=labels"])
    url = mapped("postgresql://u@h/d?map=content:x#t", field_map)
    assert Location.parse(url).map.columns == {"content": "x", "tags": "labels"}
    url = mapped("sql:///a.db?map=content:x#t", field_map)
    assert Location.parse(url.removeprefix("sql:///")).map.columns == {
        "content": "x",
        "tags": "labels",
    }


def test_a_map_keeps_the_password_for_the_server_alone() -> None:
    url = mapped("postgresql://u:p%40w@h/d#t", read_pairs(["content=x"]))
    read = Location.parse(url)
    assert read.secret == "p@w"
    assert "p%40w" not in read.url


def test_no_command_prints_a_password(database: str, server_table: psycopg.Connection) -> None:
    server_table.execute("CREATE TABLE notes (id int PRIMARY KEY, body text)")
    server_table.execute("INSERT INTO notes VALUES (1, 'The same.'), (2, 'The same.')")
    url = f"postgresql://{database.replace('postgres@', 'postgres:hunter2@')}#notes"
    said = ""
    for command in (
        ["audit", url, "--map", "content=body", "--encoder", "none"],
        ["dedup", url, "--map", "content=body", "--encoder", "none", "--apply"],
        ["history", url],
        ["history", url, "--json"],
        ["check", url],
        ["undo", url, "run-none"],
        ["audit", url.replace("#notes", "#none")],
    ):
        result = CliRunner().invoke(main, command)
        said += result.output
    assert "notes" in said
    assert "hunter2" not in said


KEYS = {
    "of two columns": "CREATE TABLE parts (id INTEGER PRIMARY KEY, who, note, FOREIGN KEY (who,"
    " note) REFERENCES notes (owner, id) ON DELETE CASCADE);"
    "INSERT INTO parts VALUES (1, 'ann', 2), (2, 'ann', 3);",
    "in another case": "CREATE TABLE parts (note REFERENCES NOTES (ID) ON DELETE CASCADE);"
    "INSERT INTO parts VALUES (2), (2), (4);",
    "twice to the notes": "CREATE TABLE links (a REFERENCES notes ON DELETE CASCADE,"
    " b REFERENCES notes ON DELETE CASCADE, PRIMARY KEY (a, b)) WITHOUT ROWID;"
    "INSERT INTO links VALUES (2, 3), (3, 2), (2, 2), (2, 4), (1, 4);",
    "twice, and by number": "CREATE TABLE links (a REFERENCES notes ON DELETE CASCADE,"
    " b REFERENCES notes ON DELETE CASCADE); INSERT INTO links VALUES (2, 3), (3, 2), (1, 3);",
    "of no key": "CREATE TABLE parts (id, who, FOREIGN KEY (id, who) REFERENCES notes);",
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("action", ["mark", "delete"])
def test_rows_come_back_whatever_foreign_keys_lead_to_them(
    tmp_path: Path, key: str, action: ActionKind
) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT, body TEXT,"
            " UNIQUE (owner, id)); INSERT INTO notes (owner, body) VALUES ('ann', 'Tea is hot.'),"
            " ('ann', 'tea is hot'), ('ann', 'Tea is hot!'), ('ann', 'The lift is broken.');"
            + KEYS[key]
        )
        before = list(db.iterdump())
        with open_store(f"sql:///{path}?map=namespace:owner&hide=move#notes") as store:
            ids = [memory.id for memory in store.scan()]
            made = plan_by_hand(store, [tuple(ids[:3])], action)
            if key == "of no key":
                with pytest.raises(StoreError, match="foreign key mismatch"):
                    apply(store, made)
            else:
                run = apply(store, made)
                assert not run.refused
                assert db.execute("SELECT count(*) FROM notes").fetchone() == (2,)
                undo(store, run.id)
        assert list(db.iterdump()) == before


def test_a_foreign_key_of_two_columns_of_a_server_brings_its_rows_back(
    database: str, server_table: psycopg.Connection
) -> None:
    server_table.execute(
        "CREATE TABLE notes (id int PRIMARY KEY, owner text, body text, UNIQUE (owner, id));"
        "CREATE TABLE parts (id int PRIMARY KEY, who text, note int, FOREIGN KEY (who, note)"
        " REFERENCES notes (owner, id) ON DELETE CASCADE);"
        "INSERT INTO notes SELECT n, 'ann', 'Tea is hot.' FROM generate_series(1, 3) n;"
        "INSERT INTO parts SELECT n, 'ann', n FROM generate_series(1, 3) n"
    )
    before = worlds.server_rows(worlds.conninfo(database), "notes", "parts")
    with open_store(f"postgresql://{database}&hide=move#notes") as store:
        run = apply(store, plan_by_hand(store, [("1", "2", "3")], "mark"))
        assert server_table.execute("SELECT id FROM parts").fetchall() == [(1,)]
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), "notes", "parts") == before


def test_all_rows_of_a_table_without_a_key_come_back(
    database: str, server_table: psycopg.Connection
) -> None:
    server_table.execute(
        "CREATE TABLE notes (id int PRIMARY KEY, body text);"
        "CREATE TABLE links (a int REFERENCES notes ON DELETE CASCADE,"
        " b int REFERENCES notes ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, weight float);"
        "INSERT INTO notes SELECT n, 'Tea is hot.' FROM generate_series(1, 3) n;"
        "INSERT INTO links VALUES (1, 2, .1), (1, 2, .1), (2, 3, .3), (2, 1, NULL), (3, 1, .5)"
    )
    before = worlds.server_rows(worlds.conninfo(database), "notes", "links")
    with open_store(f"postgresql://{database}&hide=move#notes") as store:
        run = apply(store, plan_by_hand(store, [("1", "2", "3")], "mark"))
        assert server_table.execute("SELECT * FROM links").fetchall() == []
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), "notes", "links") == before


def test_a_collection_of_vecs_is_read_as_supabase_keeps_it(
    database: str, server_table: psycopg.Connection
) -> None:
    """`vecs/collection.py` of vecs 0.4.5: a table of its own schema, and all fields in JSON."""
    server_table.execute(
        "CREATE SCHEMA vecs; CREATE TABLE vecs.memories (id varchar PRIMARY KEY,"
        " vec vector(3) NOT NULL, metadata jsonb NOT NULL DEFAULT '{}');"
        "INSERT INTO vecs.memories VALUES"
        """ ('a', '[1,0,0]', '{"data": "Tea is hot.", "user_id": "ann", "n": 1}'),"""
        """ ('b', '[1,0,0]', '{"data": "Tea is hot!", "user_id": "ann"}')"""
    )
    before = worlds.server_rows(worlds.conninfo(database), "vecs.memories")
    fields = "map=content:metadata->data&map=namespace:metadata->user_id&map=metadata:metadata"
    with open_store(f"postgresql://{database}&{fields}&hide=move#vecs.memories") as store:
        first = store.get(["a"])["a"]
        assert (first.content, first.namespace, first.metadata) == ("Tea is hot.", "ann", {"n": 1})
        assert [vector.dimensions for vector in first.vectors] == [3]
        run = apply(store, plan_by_hand(store, [("a", "b")], "mark"))
        assert server_table.execute("SELECT id FROM vecs.memories").fetchall() == [("a",)]
        undo(store, run.id)
    assert worlds.server_rows(worlds.conninfo(database), "vecs.memories") == before


def test_an_address_of_supabase_keeps_its_user_and_shows_no_password() -> None:
    host = "aws-0-eu-central-1.pooler.supabase.com:5432"
    given = f"postgresql://postgres.abcdefghij:SECRET@{host}/postgres?sslmode=require#memories"
    read = Location.parse(given)
    assert read.table == "memories"
    assert read.url == f"postgresql://postgres.abcdefghij@{host}/postgres?sslmode=require#memories"
    assert driver_url(read) == given.replace("postgresql:", "postgresql+psycopg:").partition("#")[0]


PLAIN = {
    "a number": "id INTEGER PRIMARY KEY, body TEXT",
    "a text without rowid": "id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID --",
    "an owner": "id INTEGER PRIMARY KEY, body TEXT, namespace TEXT, tags TEXT",
}


@pytest.mark.parametrize("columns", PLAIN)
def test_a_text_is_remembered_in_a_table_without_a_time(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"CREATE TABLE notes ({PLAIN[columns]}\n);".replace(" --\n)", ""))
        words = ["remember", f"sql:///{path}#notes", "A fact of 7 cats.", "--encoder", "none"]
        answer = CliRunner().invoke(main, words)
        assert answer.exit_code == 0, answer.output
        assert db.execute("SELECT body FROM notes").fetchall() == [("A fact of 7 cats.",)]
        settings = resolve(Choices(encoder="none"))
        with (
            open_store(f"sql:///{path}#notes") as store,
            Guard(store, settings) as guard,
            pytest.raises(StoreError, match="'created_at'"),
        ):
            guard.remember("Another fact, of 8 dogs.", created_at="2026-01-31")
        assert db.execute("SELECT count(*) FROM notes").fetchone() == (1,)


def test_a_database_of_an_unknown_program_is_told_with_the_command_that_reads_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, key, value, meta)")
        db.execute("CREATE TABLE chats (id INTEGER PRIMARY KEY, said TEXT)")
        db.execute("CREATE TABLE empty (id INTEGER PRIMARY KEY, note TEXT)")
        text = "Run make check before every commit."
        meta = '{"long": "as it is, and still more of it than of the text"}'
        db.execute("INSERT INTO entries VALUES (1, 'a key', ?, ?)", (text, meta))
        db.execute("INSERT INTO chats VALUES (1, 'Hello there.')")
    command = f"echoless audit 'sql:///{path}?map=content:value#entries'"
    for address, code in ((str(path), 3), (f"sql:///{path}", 2)):
        answer = CliRunner().invoke(main, ["audit", address])
        assert answer.exit_code == code, answer.output
        assert command in answer.output
        assert (
            f"\nTo read its table chats: echoless audit 'sql:///{path}?map=content:said#chats'."
            in (answer.output)
        )
    answer = CliRunner().invoke(main, ["audit", f"sql:///{path}#chats"])
    assert f"sql:///{path}?map=content:said#chats" in answer.output
    assert CliRunner().invoke(main, command.replace("'", "").split()[1:]).exit_code == 0


def bot_file(folder: Path, unit: float = 1) -> Path:
    """A table of facts of two tenants with Unix times, one of its rows deleted."""
    path = folder / "bot.db"
    rows = [
        (1, "The printer is out of toner.", "t1", 1_767_000_000 * unit, None),
        (2, "the printer is out of toner", "t1", 1_767_086_400 * unit, None),
        (3, "The printer is out of toner", "t2", 1_767_172_800 * unit, None),
        (4, "The lift is being repaired.", "t1", 1_767_259_200 * unit, "2026-02-01"),
    ]
    with closing(sqlite3.connect(path)) as db, db:
        names = "id INTEGER PRIMARY KEY, fact TEXT, tenant TEXT, learned_at, deleted_at TEXT"
        db.execute(f"CREATE TABLE facts ({names})")
        db.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", rows)
    return path


@pytest.mark.parametrize("unit", [1, 1.0, 1_000, 1_000_000])
def test_the_command_told_for_an_own_table_reads_owners_times_and_deletions(
    tmp_path: Path, unit: float
) -> None:
    path = bot_file(tmp_path, unit)
    options = "map=content:fact&map=namespace:tenant&map=created_at:learned_at&hide=deleted_at"
    command = f"echoless audit 'sql:///{path}?{options}#facts'"
    told = CliRunner().invoke(main, ["audit", str(path)]).output
    assert f"To read its table facts: {command}. Guessed by name: " in told
    assert "hide=deleted_at (a mark of deletion)" in told
    (address,) = shlex.split(command)[2:]
    assert (
        "created_at    2025-12-29T09:20:00Z"
        in CliRunner().invoke(main, ["show", address, "1"]).output
    )
    with open_store(address) as store:
        found = find(store)
        assert store.namespaces() == {"t1": 2, "t2": 1}
        assert [day(memory.created_at) for memory in found.memories.values()] == [
            "2025-12-29",
            "2025-12-30",
            "2025-12-31",
        ]
        assert [[group.survivor, *(m.id for m in group.members)] for group in found.groups] == [
            ["1", "2"]
        ]


def test_usual_names_need_no_option_and_stand_beside_further_owners(tmp_path: Path) -> None:
    path = tmp_path / "usual.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, said, namespace, created_at, ts)")
        db.execute("CREATE TABLE owned (id INTEGER PRIMARY KEY, said, namespace, user_id, done)")
        for table in ("plain", "owned"):
            text = f"The lift of the {table} office is being repaired."
            db.execute(f"INSERT INTO {table} (said) VALUES (?)", (text,))
    told = CliRunner().invoke(main, ["audit", str(path)]).output
    assert f"'sql:///{path}?map=content:said#plain'" in told
    assert f"'sql:///{path}?map=content:said&map=namespace:namespace,user_id#owned'" in told


def test_columns_of_an_own_table_that_nothing_reads_are_named(tmp_path: Path) -> None:
    with open_store(f"sql:///{bot_file(tmp_path)}?map=content:fact#facts") as store:
        found = find(store)
        assert len(found.memories) == 4
        notes = " ".join(found.tally.notes)
    assert "map=created_at:learned_at in the address reads the times of creation." in notes
    assert "deleted or archived: 1. They count as memories; hide=deleted_at in the" in notes


def test_rows_of_two_tenants_of_a_server_are_in_no_group_without_a_map(
    database: str, server_table: psycopg.Connection
) -> None:
    server_table.execute("CREATE TABLE facts (id int PRIMARY KEY, content text, tenant text)")
    for number, tenant in enumerate(("t1", "t1", "t2"), 1):
        text = "The gateway listens on port 8443."
        server_table.execute("INSERT INTO facts VALUES (%s, %s, %s)", (number, text, tenant))
    with open_store(f"postgresql://{database}#facts") as store:
        found = find(store)
        (group,) = found.groups
        assert {group.survivor, *(member.id for member in group.members)} == {"1", "2"}
        assert any("'tenant' are never compared" in note for note in found.tally.notes)


def test_rows_without_a_text_are_told_with_the_place_of_the_one_they_have(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with worlds.langgraph_file(path) as graph:
        graph.put(("u",), "a", {"kind": "Fact", "content": {"memory": "Anna drinks green tea."}})
        graph.put(("u",), "b", {"fact": "The lift is being repaired."})
        graph.put(("u",), "c", {"fact": "The lift is being repaired, says Ben."})
        graph.put(("u",), "d", {"theme": "dark"})
    with open_store(path) as store:
        assert list(store.scan()) == []
        (remark,) = (each for each in store.remarks() if "map=" in each)
    assert "value->content->memory, value->fact" in remark
    assert "map=content:value->fact in the URL" in remark
    with open_store(f"sql:///{path}?map=content:value->fact#store") as store:
        assert store.count() == 2
