"""A process, a connection or the server may stop at any moment: nothing is left half-written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from echoless import apply, open_store, undo
from echoless.cli.main import main
from echoless.core.errors import StoreError, StoreNotFound
from echoless.core.profiles import ActionKind
from echoless.execution.integrity import check
from echoless.execution.plan import Plan
from echoless_stores.sql import TableStore, postgres_backend, sqlite_backend
from tests.conformance.crash import killed_at
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql import worlds
from tests.postgres_server import Server, running

STRIDE = 31
"""Every so many writes a process is killed at; all of them take minutes."""


def notes(address: str) -> str:
    """Makes a table on a server, with a row for each of three memories."""
    with psycopg.connect(worlds.conninfo(address)) as connection:
        connection.execute(
            "CREATE TABLE notes (id text PRIMARY KEY, content text, tags text[], gone boolean)"
        )
        for number in range(3):
            connection.execute(
                "INSERT INTO notes VALUES (%s, 'The gateway listens on port 8443.', %s, false)",
                (f"m-{number}", [f"t{number}", 'a "quoted", one']),
            )
    return f"postgresql://{address}&hide=gone#notes"


def whole_plan(url: str, action: ActionKind) -> Plan:
    with open_store(url) as store:
        ids = sorted(memory.id for memory in store.scan())
        return plan_by_hand(store, [tuple(ids[:3])], action)


def settled(url: str, rows: Callable[[], Any], before: Any) -> None:
    """Checks that a stopped run is finished or taken back, and that undo gives all back."""
    with open_store(url) as store:
        check(store)
        assert store.ledger.open_runs() == []
        runs = [event.run for event in store.ledger.events(kind="action_done")]
        hidden = set(store.ledger.marks())
        assert len(hidden) in {0, 2}
        if runs:
            undo(store, runs[-1])
    assert rows() == before


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_a_writer_killed_at_every_31st_write_of_a_file_leaves_it_whole(
    tmp_path: Path, action: ActionKind
) -> None:
    for step in range(len(action), 1_000, STRIDE):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        path = worlds.openmemory(folder)
        url = f"{path}"

        def rows(path: Path = path) -> Any:
            return worlds.rows(path, "memories")

        before = rows()
        plan = whole_plan(url, action)

        def work(url: str = url, plan: Plan = plan) -> None:
            with open_store(url) as store:
                apply(store, plan)

        killed = killed_at(step, work)
        settled(url, rows, before)
        if not killed:
            return
    raise AssertionError("the work has no end")


@pytest.mark.parametrize("action", ["mark", "merge"])
def test_a_writer_killed_at_every_31st_write_of_its_ledger_file_leaves_the_server_whole(
    database: str, tmp_path: Path, action: ActionKind
) -> None:
    url = notes(database).replace("#", f"&ledger={tmp_path}/lineage#")
    before = worlds.server_rows(worlds.conninfo(database), "notes")
    for step in range(len(action), 1_000, STRIDE):
        plan = whole_plan(url, action)

        def work(plan: Plan = plan) -> None:
            with open_store(url) as store:
                apply(store, plan)

        killed = killed_at(step, work)
        settled(url, lambda: worlds.server_rows(worlds.conninfo(database), "notes"), before)
        if not killed:
            return
    raise AssertionError("the work has no end")


def test_a_connection_that_is_ended_in_the_middle_is_a_clear_error(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = notes(database)
    before = worlds.server_rows(worlds.conninfo(database), "notes")
    plan = whole_plan(url, "merge")
    put = TableStore.put

    def put_then_lose(self: TableStore, memories: Any) -> None:
        put(self, memories)
        with psycopg.connect(worlds.conninfo(database), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    monkeypatch.setattr(TableStore, "put", put_then_lose)
    with pytest.raises(StoreError, match=r"connection .* lost"), open_store(url) as store:
        apply(store, plan)
    monkeypatch.undo()
    settled(url, lambda: worlds.server_rows(worlds.conninfo(database), "notes"), before)


def test_a_server_that_stops_in_the_middle_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with running() as server:
        address = server.database("stopped")
        url = notes(address)
        before = worlds.server_rows(worlds.conninfo(address), "notes")
        plan = whole_plan(url, "merge")
        put = TableStore.put

        def put_then_stop(self: TableStore, memories: Any) -> None:
            put(self, memories)
            server.control("-m", "immediate", "stop")

        with monkeypatch.context() as patch:
            patch.setattr(TableStore, "put", put_then_stop)
            with pytest.raises(StoreError, match="lost"), open_store(url) as store:
                apply(store, plan)
        with pytest.raises(StoreNotFound, match="cannot be opened"):
            open_store(url)
        server.control("start")
        settled(url, lambda: worlds.server_rows(worlds.conninfo(address), "notes"), before)


def test_a_row_edited_since_it_was_checked_is_not_overwritten(
    database: str, server: Server
) -> None:
    url = notes(database)
    with open_store(url) as store, store.writing():
        memory = store.get(["m-1"])["m-1"]
        with psycopg.connect(worlds.conninfo(database)) as other:
            other.execute("UPDATE notes SET content = 'Edited.' WHERE id = 'm-1'")
        with pytest.raises(StoreError, match=r"'m-1'.*changed by another program"):
            store.put([memory])
        with pytest.raises(StoreError, match=r"'m-1'.*changed by another program"):
            store.remove(["m-1"])
        assert store.get(["m-1"])["m-1"].content == "Edited."


def test_a_second_writer_waits_whichever_machine_it_is_on(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = notes(database)
    monkeypatch.setattr(
        postgres_backend, "_SETTINGS", postgres_backend._SETTINGS.replace("=5s", "=50ms")
    )
    elsewhere = url.replace("#", "&ledger=%2Ftmp%2Fnone#")
    with open_store(url) as store, store.writing():
        with open_store(elsewhere) as other, pytest.raises(StoreError, match="Another echoless"):
            with other.writing():
                raise AssertionError("two writers at once")


STOPS = {
    "the session is ended": (
        "PERFORM pg_terminate_backend(pg_backend_pid());",
        "",
        "was lost (terminating connection",
    ),
    "a statement takes too long": ("PERFORM pg_sleep(9);", "statement_timeout = 200", "statement"),
    "a lock takes too long": (
        "SET LOCAL lock_timeout = 100; PERFORM pg_advisory_xact_lock(7);",
        "",
        "Another program holds rows",
    ),
    "a transaction may only read": ("", "default_transaction_read_only = on", "may only be read"),
    "somebody cancels": ("PERFORM pg_cancel_backend(pg_backend_pid());", "", "user request"),
}


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("action", ["mark", "merge"])
def test_whatever_stops_a_run_on_a_server_is_told_with_what_became_of_it(
    database: str, stop: str, action: ActionKind
) -> None:
    url, (body, setting, says) = notes(database), STOPS[stop]
    before = worlds.server_rows(worlds.conninfo(database), "notes")
    with psycopg.connect(worlds.conninfo(database), autocommit=True) as other:
        other.execute(
            f"CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}"
            " RETURN NEW; END $$; CREATE TRIGGER stops BEFORE UPDATE ON notes FOR EACH ROW"
            " EXECUTE FUNCTION stop()"
        )
        if setting:
            other.execute(f"ALTER DATABASE {worlds.name_of(database)} SET {setting}")
        other.execute("SELECT pg_advisory_lock(7)")
        words = ["dedup", url, "--set", "semantic=no", "--action", action, "--apply", "--top", "0"]
        answer = CliRunner().invoke(main, words)
    assert answer.exit_code == 4, answer.output
    assert says in answer.output
    assert "Nothing was changed" in answer.output or "nothing was changed" in answer.output
    assert worlds.server_rows(worlds.conninfo(database), "notes") == before
    assert CliRunner().invoke(main, ["check", url, "--dry-run"]).exit_code == 0


def test_a_session_that_is_ended_while_it_opens_is_no_wrong_password(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, connect = notes(database), psycopg.connect

    def connect_then_end(*words: Any, **more: Any) -> Any:
        made = connect(*words, **more)
        with connect(worlds.conninfo(database), autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(%s)", (made.info.backend_pid,))
        return made

    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", connect_then_end)
        with pytest.raises(StoreError, match="was lost"):
            open_store(url)


def test_where_the_disk_fails_while_a_table_is_looked_at_it_is_not_taken_for_another_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were read as if they had no places, so that an undo gave them new ones."""
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT)")
        db.execute("INSERT INTO notes VALUES ('a', 'Tea is green.')")

    def failing(_name: str) -> str:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_backend, "quoted", failing)
        with pytest.raises(StoreError, match="disk"):
            open_store(f"sql:///{path}#notes")
    with open_store(f"sql:///{path}#notes") as store:
        assert [memory.content for memory in store.scan()] == ["Tea is green."]
