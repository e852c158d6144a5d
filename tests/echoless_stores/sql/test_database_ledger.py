"""The lineage of a table of PostgreSQL lies in its database, together with the records."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from echoless import Guard, Updates, apply, find, open_store, search, undo
from echoless.core.errors import (
    InputError,
    LedgerDamaged,
    StoreError,
    StoreLocked,
    StoreReadOnly,
)
from echoless.core.model import Memory
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.execution.insertions import add
from echoless.execution.integrity import check
from echoless.execution.plan import Plan
from echoless.stores.base import Store
from echoless_stores.sql import TableStore
from echoless_stores.sql.postgres_backend import CatalogueTable
from echoless_stores.sql.postgres_ledger import schema_of
from tests.conformance.crash import killed_at
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds

TEXT = "The gateway listens on port 8443."
SCHEMA = "echoless_notes"
STRIDE = 41
"""Every so many exchanges with the server a process is killed at."""

Admin = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def admin(database: str) -> Iterator[Admin]:
    """A connection of another program, to a database with a table of five notes."""
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (id text PRIMARY KEY, content text, tags text[])")
        for number in range(5):
            connection.execute(
                "INSERT INTO notes VALUES (%s, %s, %s)", (f"m-{number}", TEXT, [f"t{number}"])
            )
        yield connection


@pytest.fixture
def url(database: str, admin: Admin) -> str:
    return f"postgresql://{database}#notes"


def notes(database: str) -> Any:
    return worlds.server_rows(worlds.conninfo(database), "notes")


def schemas(admin: Admin) -> list[str]:
    rows = admin.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'echoless%'")
    return sorted(name for (name,) in rows)


def whole_plan(url: str, action: ActionKind = "mark", *, size: int = 3) -> Plan:
    with open_store(url) as store:
        ids = sorted(memory.id for memory in store.scan())
        return plan_by_hand(store, [tuple(ids[:size])], action)


def applied(url: str, action: ActionKind = "mark") -> str:
    plan = whole_plan(url, action)
    with open_store(url) as store:
        return apply(store, plan).id


def elsewhere(work: Callable[[], object], folder: Path) -> None:
    """Does work in another process with another user's folder, as on another machine."""

    def moved() -> None:
        os.environ["XDG_DATA_HOME"] = str(folder)
        work()

    assert not killed_at(1_000_000, moved)


# ------------------------------------------------------------------ one ledger for all machines


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
@pytest.mark.parametrize("hide", ["", "&hide=move"])
def test_a_run_is_undone_by_another_process_on_another_machine(
    database: str, url: str, tmp_path: Path, action: ActionKind, hide: str
) -> None:
    before = notes(database)
    run = applied(url.replace("#", f"{hide}#"), action)

    def undone() -> None:
        with open_store(url) as store:
            assert check(store).problems == ()
            undo(store, run)

    elsewhere(undone, tmp_path)
    assert notes(database) == before
    with open_store(url) as store:
        assert store.ledger.marks() == {}
        assert [e.kind for e in store.ledger.events(run)][-1] == "run_undone"
    assert not list(Path(os.environ["XDG_DATA_HOME"]).rglob("*.echoless"))
    assert not list(tmp_path.rglob("*.echoless"))


def test_a_reader_makes_no_schema_and_sees_an_empty_ledger(url: str, admin: Admin) -> None:
    with open_store(url) as store:
        assert store.ledger.is_empty()
        assert len(find(store, encoder="none").groups) == 1
        assert check(store).problems == ()
    assert schemas(admin) == []


def test_a_plan_made_on_one_machine_is_applied_on_another_before_there_is_a_ledger(
    url: str, tmp_path: Path
) -> None:
    plan = whole_plan(url)

    def carried_out() -> None:
        with open_store(url) as store:
            apply(store, plan)

    elsewhere(carried_out, tmp_path)
    with open_store(url) as store:
        assert store.identity == plan.store
        assert store.ledger.run_of_plan(plan.id)


def test_writers_of_two_processes_number_their_events_without_gaps(
    url: str, tmp_path: Path
) -> None:
    def added(name: str) -> None:
        with open_store(url) as store:
            add(store, [Memory(id=name, content=f"About {name}.")], profile="safe", why="test")

    added("here")
    elsewhere(lambda: added("there"), tmp_path)
    with open_store(url) as store, pytest.raises(InputError):
        add(store, [Memory(id="x", content="No\0text.")], profile="safe", why="test")
    added("here-again")
    with open_store(url) as store:
        numbers = [event.seq for event in store.ledger.events()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(list(store.ledger.events(kind="run_started"))) == 3


def test_a_reader_sees_all_of_a_run_or_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, put = whole_plan(url, "merge"), TableStore.put
    seen: list[tuple[int, int, int]] = []

    def state(store: Store) -> tuple[int, int, int]:
        tags = store.get(["m-0"])["m-0"].tags
        return len(store.ledger.marks()), len(list(store.ledger.events())), len(tags)

    def put_and_look(self: TableStore, memories: Any) -> None:
        put(self, memories)
        with open_store(url) as other:
            seen.append(state(other))

    monkeypatch.setattr(TableStore, "put", put_and_look)
    with open_store(url) as early, open_store(url) as store:
        apply(store, plan)
        assert set(seen) == {(0, 0, 1)}
        assert state(early)[::2] == (2, 3)


def test_one_state_is_read_whoever_writes_meanwhile(url: str, admin: Admin) -> None:
    run = applied(url)
    with open_store(url) as store, open_store(url) as other:
        with store.ledger.database.reading():
            assert len(store.ledger.marks()) == 2
            undo(other, run)
            admin.execute("INSERT INTO notes VALUES ('m-9', 'A new one.')")
            assert len(store.ledger.marks()) == 2
            assert store.count() == 5
        assert store.ledger.marks() == {}
        assert store.count() == 6


# ------------------------------------------------------------------ stopped, refused, disturbed


@pytest.mark.parametrize(("action", "hide"), [("mark", "&hide=move"), ("merge", "")])
def test_a_writer_killed_at_every_41st_exchange_leaves_a_whole_run_or_none(
    database: str, url: str, action: ActionKind, hide: str
) -> None:
    url, before = url.replace("#", f"{hide}#"), notes(database)
    kills = 0
    for step in range(len(action), 1_000, STRIDE):
        plan = whole_plan(url, action)

        def work(plan: Plan = plan) -> None:
            with open_store(url) as store:
                run = apply(store, plan)
                undo(store, run.id)

        killed = killed_at(step, work)
        kills += killed
        with open_store(url) as store:
            health = check(store)
            assert health.problems == ()
            assert store.ledger.open_runs() == []
            marks = store.ledger.marks()
            assert len(marks) in {0, 2}
            if marks:
                undo(store, next(iter(marks.values())).run)
        assert notes(database) == before
        if not killed:
            break
    assert not killed, "the work has no end"
    assert kills > 5


def test_an_action_that_the_database_refuses_is_set_aside_and_the_others_go_on(
    database: str, url: str, admin: Admin
) -> None:
    admin.execute("ALTER TABLE notes ADD CHECK (id <> 'm-2' OR tags = '{t2}')")
    before = notes(database)
    with open_store(url) as store:
        plan = plan_by_hand(store, [("m-0", "m-1"), ("m-2", "m-3")], "merge")
        run = apply(store, plan, one_by_one=True)
        assert [each.survivor for each in run.failed] == ["m-2"]
        assert set(store.ledger.marks()) == {"m-1"}
        assert store.ledger.open_runs() == []
        undo(store, run.id)
    assert notes(database) == before


def test_rows_that_other_programs_add_meanwhile_do_not_count(
    url: str, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, remove = whole_plan(url, "delete"), TableStore.remove

    def add_and_remove(self: TableStore, ids: Any) -> None:
        admin.execute("INSERT INTO notes VALUES ('other', 'Another program says this.')")
        remove(self, ids)

    monkeypatch.setattr(TableStore, "remove", add_and_remove)
    with open_store(url) as store:
        assert apply(store, plan).counts["delete"] == 2
        assert store.count() == 4


def test_a_row_that_another_program_changes_meanwhile_stops_the_run_whole(
    database: str, url: str, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, put = whole_plan(url, "merge"), TableStore.put

    def edit_and_put(self: TableStore, memories: Any) -> None:
        admin.execute("UPDATE notes SET content = 'Edited.' WHERE id = 'm-0'")
        put(self, memories)

    monkeypatch.setattr(TableStore, "put", edit_and_put)
    with open_store(url) as store, pytest.raises(StoreLocked, match="Another program changed"):
        apply(store, plan)
    with open_store(url) as store:
        assert store.ledger.is_empty()
        assert store.get(["m-0"])["m-0"].content == "Edited."


def test_a_failed_statement_that_is_passed_over_is_no_silent_loss(url: str) -> None:
    with open_store(url) as store, store.writing():
        database = store.ledger.database
        with pytest.raises(StoreError, match="takes back the whole transaction"):
            with store.ledger.transaction():
                store.ledger.set_fact("a", "b")
                with pytest.raises(StoreError, match="none"), database.speaking():
                    database.change("DELETE FROM none")
        assert store.ledger.fact("a") is None


# ------------------------------------------------------------------ the file that a URL names


def test_a_file_that_the_url_names_is_used_and_says_what_it_hides(url: str, tmp_path: Path) -> None:
    applied(url)
    with open_store(url.replace("#", f"&ledger={tmp_path}/own#")) as store:
        assert store.ledger.is_empty()
        assert f"the schema {SCHEMA}" in " ".join(store.remarks())
        with store.writing():
            store.ledger.set_fact("a", "b")
    assert (tmp_path / "own.echoless").is_file()
    with open_store(url) as store:
        assert len(store.ledger.marks()) == 2


# ------------------------------------------------------------------ rights


@pytest.fixture
def guest(database: str, admin: Admin) -> Iterator[str]:
    """The address of a user who may change the table and nothing else."""
    admin.execute("CREATE ROLE ledger_guest LOGIN")
    admin.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO ledger_guest")
    yield f"postgresql://{database.replace('postgres@', 'ledger_guest@')}#notes"
    admin.execute("DROP OWNED BY ledger_guest CASCADE")
    admin.execute("DROP ROLE ledger_guest")


def test_a_user_who_may_make_no_schema_is_told_what_to_grant(
    guest: str, admin: Admin, tmp_path: Path
) -> None:
    plan = whole_plan(guest)
    with open_store(guest) as store, pytest.raises(StoreReadOnly) as caught:
        apply(store, plan)
    assert f"CREATE SCHEMA {SCHEMA} AUTHORIZATION" in str(caught.value)
    assert "ledger=PATH" in str(caught.value)
    applied(guest.replace("#", f"&ledger={tmp_path}/own#"))
    assert schemas(admin) == []
    admin.execute(f"CREATE SCHEMA {SCHEMA} AUTHORIZATION ledger_guest")
    run = applied(guest)
    with open_store(guest) as store:
        undo(store, run)


def test_a_user_who_may_not_read_the_ledger_is_told_so(guest: str, url: str, admin: Admin) -> None:
    run = applied(url)
    with pytest.raises(StoreReadOnly, match=f"GRANT USAGE ON SCHEMA {SCHEMA}"):
        open_store(guest)
    admin.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO ledger_guest")
    admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO ledger_guest")
    with open_store(guest) as store:
        assert len(store.ledger.marks()) == 2
        with pytest.raises(StoreReadOnly, match="GRANT SELECT, INSERT, UPDATE, DELETE"):
            undo(store, run)
    admin.execute(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO ledger_guest")
    with open_store(guest) as store:
        undo(store, run)
        assert store.ledger.marks() == {}
    applied(guest.replace("#", "&hide=move#"))


# ------------------------------------------------------------------ the schema


def test_the_events_are_append_only(url: str, admin: Admin) -> None:
    applied(url)
    for statement in ("UPDATE {} SET kind = 'x'", "DELETE FROM {}", "TRUNCATE {}"):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            admin.execute(sql.SQL(statement).format(sql.Identifier(SCHEMA, "events")))
    admin.execute(f"ALTER TABLE {SCHEMA}.events DISABLE TRIGGER events_no_delete")
    with open_store(url) as store:
        (problem,) = check(store).problems
        assert "events_no_delete is missing or switched off" in problem.says


def test_the_schema_has_the_migrations_and_columns_of_a_file(
    url: str, admin: Admin, tmp_path: Path
) -> None:
    applied(url)
    applied(url.replace("#", f"&ledger={tmp_path}/own#"))
    with closing(sqlite3.connect(tmp_path / "own.echoless")) as file:
        names = file.execute("SELECT name FROM migrations ORDER BY name").fetchall()
        columns = file.execute(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
        ).fetchall()
    made = admin.execute(f"SELECT name FROM {SCHEMA}.migrations ORDER BY 1")
    assert made.fetchall() == names
    found = admin.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s",
        (SCHEMA,),
    )
    assert sorted(found.fetchall()) == sorted(columns)


def test_a_ledger_of_a_newer_version_is_refused(url: str, admin: Admin) -> None:
    applied(url)
    admin.execute(f"INSERT INTO {SCHEMA}.migrations VALUES ('ledger/0999_later', '')")
    with pytest.raises(StoreError, match=r"newer echoless.*0999_later"):
        open_store(url)


def test_a_damaged_ledger_is_named_and_the_rest_is_read(url: str, admin: Admin) -> None:
    applied(url)
    admin.execute("SET session_replication_role = replica")
    admin.execute(f"UPDATE {SCHEMA}.events SET data = '[' WHERE seq = 2")
    with open_store(url) as store:
        (says,) = (each.says for each in check(store).problems if each.kind == "ledger")
        assert "3 of 4 events can be read (event 2 is no JSON object)" in says
        with pytest.raises(LedgerDamaged, match=f"the schema {SCHEMA} of.*make a backup"):
            undo(store, "last")
    admin.execute(f"DROP TABLE {SCHEMA}.images")
    with open_store(url) as store:
        says = " ".join(each.says for each in check(store).problems)
        assert "images can be read (the table images cannot be read" in says


def test_a_program_that_names_no_table_gets_none_of_the_ledger(url: str) -> None:
    applied(url)
    with open_store(url.replace("#notes", "")) as store:
        assert store.count() == 5
        assert len(store.ledger.marks()) == 2


@pytest.mark.parametrize(
    ("relation", "schema"),
    [
        (("public", "notes"), "echoless_notes"),
        (("app", "notes"), "echoless_app_notes_de5ea05b05e7"),
        (("public", "app_notes"), "echoless_app_notes"),
        (("public", "My Notes"), "echoless_my_notes_"),
        (("public", "x" * 54), "echoless_" + "x" * 54),
        (("public", "x" * 55), "echoless_" + "x" * 41 + "_"),
        (("public", "Größe; --"), "echoless_gr_e"),
    ],
)
def test_each_table_has_a_schema_of_its_own(relation: tuple[str, str], schema: str) -> None:
    name = schema_of(CatalogueTable(*relation, 1))
    assert name.startswith(schema)
    assert len(name.encode()) <= 63
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")


def test_tables_of_one_name_in_two_schemas_have_two_ledgers(
    database: str, url: str, admin: Admin
) -> None:
    admin.execute("CREATE SCHEMA app")
    admin.execute("CREATE TABLE app.notes AS SELECT * FROM notes")
    admin.execute("ALTER TABLE app.notes ADD PRIMARY KEY (id)")
    applied(url)
    with open_store(url.replace("#notes", "#app.notes")) as other:
        assert other.ledger.marks() == {}
    applied(url.replace("#notes", "#app.notes"), "delete")
    admin.execute(f"ALTER DATABASE {worlds.name_of(database)} SET search_path = app")
    with open_store(url.replace("#notes", "#public.notes")) as store, open_store(url) as own:
        assert len(store.ledger.marks()) == 2
        assert own.count() == 3, "the same address means the other table now"
        assert own.ledger.marks() == {}
        assert not own.ledger.is_empty()


def test_a_replaced_value_is_known_in_the_database_even_without_a_time(url: str) -> None:
    words = resolve(Choices(encoder="none"))
    with open_store(url) as store, Guard(store, words) as guard:
        answer = guard.remember("The gateway listens on port 9090.", id="m-9")
        assert isinstance(answer, Updates)
        (hit,) = search(store, "8443", mode="text").hits
        assert (hit.memory.id, [old.until for old in hit.older]) == ("m-9", [None] * 3)
        undo(store, answer.run)
        assert "m-9" not in {hit.memory.id for hit in search(store, "gateway", mode="text").hits}
