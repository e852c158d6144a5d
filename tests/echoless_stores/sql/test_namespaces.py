"""Namespaces that the database looks up, against those that are read from every row."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, tzinfo
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from echoless import apply, find, open_store, plan, undo
from echoless.core.model import Memory
from echoless.core.settings import Choices, resolve
from echoless.stores.base import Scope, Store
from echoless_stores.sql import namespace_conditions
from echoless_stores.sql import table as tables
from echoless_stores.sql.namespace_conditions import NamespaceConditions
from echoless_stores.sql.row_codec import Codec
from echoless_stores.sql.store import TableStore
from echoless_stores.sql.table import Row
from tests.postgres_server import Server

SETTINGS = resolve(Choices(profile="safe", encoder="none"))
NAMES = (
    "ann", "", "Ann", "ann ", "it's", 'say "x"', "a\\b", "100%", "a_b", "東京", "\U0001f600", "é",
    "e\u0301", "null", "NULL", "1", "01", "1.0", "1.5", "-0.0", "0.0", "1e5", "100000.0", "true",
    "inf", "nan", "[1]", "{}", "a&b=c", "user_id=ann", "x" * 3_000, "\n", "\t ann", "😀'; --",
)  # fmt: skip


def agrees(store: Store, more: Sequence[str] = ()) -> None:
    """Checks that every way to ask for namespaces says what reading of everything says."""
    everything = list(store.scan())
    numbers = Counter(memory.namespace for memory in everything)
    assert dict(store.namespaces()) == dict(sorted(numbers.items()))
    names = sorted({*numbers, *more})
    some = [names, names[::2], names[1::2], names[::3], [""], *([name] for name in names[::5])]
    for among in map(frozenset, some):
        scope = Scope(among=among)
        wanted = [memory.id for memory in scope.narrow(everything)]
        assert [memory.id for memory in store.scan(scope)] == wanted, among
        assert store.count(scope) == len(wanted), among


# ------------------------------------------------------------------ SQLite

TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)
CELLS = st.one_of(
    st.none(),
    st.sampled_from(NAMES),
    TEXTS,
    TEXTS.map(lambda text: f"a\0{text}"),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.binary(max_size=3),
)
COLUMNS = ("TEXT", "", "INTEGER", "REAL", "NUMERIC", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM")


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(CELLS, max_size=12), column=st.sampled_from(COLUMNS), indexed=st.booleans())
def test_whatever_a_cell_of_sqlite_holds_its_namespace_is_found(
    tmp_path: Path, cells: list[object], column: str, *, indexed: bool
) -> None:
    path = tmp_path / "any.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT, namespace {column})")
        if indexed:
            db.execute("CREATE INDEX by_namespace ON notes(namespace)")
        texts = ("a text", "", None, b"bytes", 7)
        for at, cell in enumerate(cells):
            text = "a text" if at % 3 else texts[at % len(texts)]
            db.execute("INSERT INTO notes (content, namespace) VALUES (?, ?)", (text, cell))
    with open_store(f"sql:///{path}#notes") as store:
        agrees(store, ("absent", "\udcff", "\ud800", "7", "7.0"))


def test_texts_of_sqlite_that_are_no_utf8_and_foreign_rules_of_order_are_read_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.create_collation("LOCALIZED", lambda a, b: (a > b) - (a < b))
        db.execute(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT,"
            " namespace TEXT COLLATE LOCALIZED)"
        )
        for cell in (
            "CAST(x'ff41' AS TEXT)",
            "CAST(x'c3a4' AS TEXT)",
            "'ann'",
            "CAST(x'00' AS TEXT)",
        ):
            db.execute(f"INSERT INTO notes (content, namespace) VALUES ('a text', {cell})")
    with open_store(f"sql:///{path}#notes") as store:
        assert store.namespaces() == {"\0": 1, "ann": 1, "ä": 1, "\udcffA": 1}
        agrees(store, ("\udcc3\udca4",))


OWNERS = (None, "", "ann", "a&b=c", "a b/ü", 5, b"\1", "100%25")


def test_a_namespace_of_several_columns_is_found_by_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "labels.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content, who, bot)")
        for who in OWNERS:
            for bot in OWNERS:
                db.execute("INSERT INTO notes (content, who, bot) VALUES ('x', ?, ?)", (who, bot))
    with open_store(f"sql:///{path}?map=namespace:who,bot#notes") as store:
        agrees(store, ("who=ann&bot=ann", "who=", "who=a%zz", "who=%FF", "bot=ann&who=ann", "ann"))
        assert len(store.namespaces()) == 36
        monkeypatch.setattr(namespace_conditions, "_MOST_VALUES", 3)
        agrees(store)  # more values than a statement may name


def test_rows_without_a_key_of_their_own_keep_their_ids_in_a_scope(tmp_path: Path) -> None:
    path = tmp_path / "keyless.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (content, namespace)")
        rows = [("same", "ann"), ("same", "ben"), ("same", "ann"), ("other", None)]
        db.executemany("INSERT INTO notes VALUES (?, ?)", rows)
    with open_store(f"sql:///{path}#notes") as store:
        agrees(store)


# ------------------------------------------------------------------ PostgreSQL


@pytest.fixture(scope="module")
def home(server: Server) -> Iterator[str]:
    """A database for the tests of this file."""
    yield server.database("namespaces")
    server.drop("namespaces")


@pytest.fixture(autouse=True)
def lineage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def fill(server: Server, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
    """Makes a table of PostgreSQL."""
    name = sql.Identifier(table)
    with psycopg.connect(server.conninfo("namespaces")) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} (id serial PRIMARY KEY, {})").format(
            name, sql.SQL(columns)
        ))  # fmt: skip
        names = [each.split()[0] for each in columns.split(", ")]
        insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            name,
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join([sql.Placeholder()] * len(names)),
        )
        connection.cursor().executemany(insert, rows)


@pytest.mark.parametrize("type_", ["text", "varchar(3000)", "char(3000)", "jsonb", "json"])
def test_whatever_a_cell_of_postgresql_holds_its_namespace_is_found(
    server: Server, home: str, type_: str
) -> None:
    table, is_json = f"cells_{type_.partition('(')[0]}", "json" in type_
    cells = [json.dumps(name) if is_json else name for name in (*NAMES, "ann")]
    rows = [("a text", cell) for cell in (*cells, None)] + [("", cells[0]), (None, cells[1])]
    fill(server, table, f"content text, namespace {type_}", rows)
    with open_store(f"postgresql://{home}#{table}") as store:
        assert isinstance(store, TableStore)
        assert NamespaceConditions(store.layout).exist
        agrees(store, ("a\0b", "\ud800", "absent"))


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("integer", [1, -5, None]),
        ("double precision", [1.0, 1e100, 0.1, -0.0, None]),
        ("boolean", [True, False, None]),
        ("uuid", ["6B0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11", None]),
        ("timestamptz", ["2026-01-01 01:00+02", None]),
    ],
)
def test_columns_of_other_types_are_looked_up_as_they_are_read(
    server: Server, home: str, type_: str, values: Sequence[object]
) -> None:
    table = f"typed_{type_.partition(' ')[0]}"
    fill(server, table, f"content text, namespace {type_}", [("x", value) for value in values])
    with open_store(f"postgresql://{home}#{table}") as store:
        agrees(store, ("", "1", "1.0", "t", "true", "6B0a5f3e-6f0c-4c58-9d0f-3a1f0c1f7e11"))


DEEP = "[" * 1_200 + "]" * 1_200
OWNED = (
    "{}", "[]", "null", "7", '"text"', '["user_id"]', '{"user_id": null}', '{"user_id": ""}',
    '{"user_id": "ann"}', '{"user_id": "ann", "agent_id": "pia"}', '{"user_id": 5}',
    '{"user_id": "5"}', '{"user_id": 5.50}', '{"user_id": 5.5}', '{"user_id": 1e2}',
    '{"user_id": true}', '{"user_id": "true"}', '{"user_id": ["ann"]}', '{"user_id": {"a": 1}}',
    '{"user_id": "it\'s \\"a\\" \\\\ b"}', '{"user_id": "東京 & = %"}', '{"agent_id": "ann"}',
    f'{{"user_id": "ann", "deep": {DEEP}}}', f'{{"user_id": "ann", "huge": {"9" * 5_000}}}',
)  # fmt: skip


@pytest.mark.parametrize("type_", ["jsonb", "json"])
def test_whatever_json_holds_the_namespace_inside_of_it_is_found(
    server: Server, home: str, type_: str
) -> None:
    table, texts = f"owned_{type_}", ('""', "7", "null", '{"data": 1}', "[]", '"another"')
    rows = [(owned.replace("{", '{"data": "a text", ', 1).replace(", }", "}"),) for owned in OWNED]
    rows += [(f'{{"user_id": "ann", "data": {text}}}',) for text in texts]
    fill(server, table, f"payload {type_}", rows)
    fields = ("content:payload->data", "namespace:payload->user_id,payload->agent_id")
    base, _, host = home.partition("?host=")
    url = f"postgresql://{base}?host={host}&map={'&map='.join(fields)}#{table}"
    with open_store(url) as store:
        assert isinstance(store, TableStore)
        assert NamespaceConditions(store.layout).exist == (type_ == "jsonb")
        agrees(store, ("user_id=absent", "user_id=5.50", "agent_id=pia&user_id=ann"))
        assert store.count() >= 17, "all objects but those Python may refuse"


def test_hidden_rows_count_as_they_are_read(server: Server, home: str) -> None:
    flags = [None, "", "0", " f ", "No", "yes", "1", "\u00a0false"]
    rows = [("x", f"n{at % 3}", flag) for at, flag in enumerate([*flags, *flags])]
    fill(server, "flagged", "content text, namespace text, archived text", rows)
    base, _, host = home.partition("?host=")
    with open_store(f"postgresql://{base}?host={host}&hide=archived#flagged") as store:
        agrees(store)
        assert store.count() == 12


# ------------------------------------------------------------------ what it costs


def read_rows(patch: pytest.MonkeyPatch) -> list[Row]:
    """Collects every row from which an id is read."""
    rows: list[Row] = []
    id_of = Codec.id
    patch.setattr(Codec, "id", lambda codec, row: rows.append(row) or id_of(codec, row))  # type: ignore[func-returns-value]
    return rows


def no_memories(patch: pytest.MonkeyPatch) -> None:
    """Lets no memory be made of a row."""

    def refused(*_: object, **__: object) -> Memory:
        raise AssertionError("a memory was made")

    patch.setattr(Codec, "decode", refused)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_scope_reads_the_rows_of_its_namespaces_alone(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(f"text {at}", f"user {at % 50}") for at in range(500)]
    if kind == "sqlite":
        with closing(sqlite3.connect(tmp_path / "many.db")) as db, db:
            db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT, namespace TEXT)")
            db.executemany("INSERT INTO notes (content, namespace) VALUES (?, ?)", rows)
        url = f"sql:///{tmp_path}/many.db#notes"
    else:
        home = request.getfixturevalue("home")
        fill(request.getfixturevalue("server"), "many", "content text, namespace text", rows)
        url = f"postgresql://{home}#many"
    with open_store(url) as store, monkeypatch.context() as patch:
        read = read_rows(patch)
        two = Scope(among=frozenset({"user 7", "user 9"}))
        assert len(list(store.scan(two))) == len(read) == 20
        no_memories(patch)
        read.clear()
        assert store.count(two) == 20
        assert len(store.namespaces()) == 50
        assert read == [], "the database counts"


# ------------------------------------------------------------------ moved and dated rows


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_namespaces_hold_moved_memories_too(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rows = [("The gateway listens on port 8443.", name) for name in ("ann", "ann", "ben", None)]
    if kind == "sqlite":
        with closing(sqlite3.connect(tmp_path / "moved.db")) as db, db:
            db.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, namespace TEXT)")
            db.executemany(
                "INSERT INTO notes VALUES (?, ?, ?)",
                [(f"n{at}", *row) for at, row in enumerate(rows)],
            )
        url = f"sql:///{tmp_path}/moved.db?hide=move#notes"
    else:
        base, _, host = request.getfixturevalue("home").partition("?host=")
        fill(request.getfixturevalue("server"), "moved", "content text, namespace text", rows)
        url = f"postgresql://{base}?host={host}&hide=move#moved"
    with open_store(url) as store:
        done = apply(store, plan(find(store, SETTINGS)))
        assert len(store.ledger.marks()) == 1
        agrees(store)
        undo(store, done.id)
        agrees(store)


def test_a_date_that_hides_a_row_of_mem0_counts_when_it_has_come(
    server: Server, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = {"data": "a text", "user_id": "ann", "expiration_date": "2999-01-01"}
    rows = [(json.dumps(payload), None), ('{"data": "another", "user_id": "ann"}', None)]
    fill(server, "dated", "payload jsonb, vector vector(2)", rows)
    with open_store(f"postgresql://{home}#dated") as store:
        agrees(store)
        assert store.count() == 2

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Later:
                return cls(3000, 1, 1, tzinfo=tz)

        monkeypatch.setattr(tables, "datetime", Later)
        agrees(store)
        assert store.count() == 1
