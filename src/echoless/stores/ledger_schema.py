"""Tables of the ledger in SQLite, as decorated migrations, and the projections made from events.

Those of PostgreSQL, with the same names, are in `stores/sql/postgres_schema.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from echoless.core.model import JsonObject, canonical
from echoless.core.sqlite import Database, Migrations
from echoless.stores.known_schema import KnownSchema
from echoless.stores.ledger_database import LedgerDatabase

migrations: Final = Migrations("ledger")


@migrations.add("0001_events")
def _events(db: sqlite3.Connection) -> None:
    """Makes the append-only table of events, and that of images."""
    db.execute(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL,"
        " run TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX events_run ON events(run, kind)")
    for verb in ("UPDATE", "DELETE"):
        db.execute(
            f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events"
            " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
    db.execute(
        "CREATE TABLE images (run TEXT NOT NULL, action INTEGER NOT NULL, id TEXT NOT NULL,"
        " moment TEXT NOT NULL CHECK (moment IN ('before', 'after')), body TEXT,"
        " PRIMARY KEY (run, action, id, moment)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX images_id ON images(id)")


@migrations.add("0002_projections")
def _projections(db: sqlite3.Connection) -> None:
    """Makes the tables of marks, kept pairs, used plans and facts."""
    db.execute(
        "CREATE TABLE marks (duplicate TEXT PRIMARY KEY, survivor TEXT NOT NULL, run TEXT NOT NULL,"
        " verdict TEXT NOT NULL, similarity REAL, evidence TEXT NOT NULL, texts TEXT NOT NULL)"
        " WITHOUT ROWID"
    )
    db.execute("CREATE INDEX marks_survivor ON marks(survivor)")
    db.execute("CREATE INDEX marks_run ON marks(run)")
    db.execute(
        "CREATE TABLE kept (a TEXT NOT NULL, b TEXT NOT NULL, print_a TEXT NOT NULL,"
        " print_b TEXT NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE used_plans (plan TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")


STARTS: Final = frozenset({"run_started", "undo_started"})
ENDS: Final = frozenset({"run_finished", "run_undone"})


@migrations.add("0003_open_runs")
def _open_runs(db: sqlite3.Connection) -> None:
    """Makes a table of unfinished runs, so that nobody reads the whole ledger to find them."""
    db.execute("CREATE TABLE open_runs (run TEXT PRIMARY KEY) WITHOUT ROWID")
    find_open(Database(None, db, writable=True))


def find_open(database: LedgerDatabase) -> None:
    """Fills `open_runs` from the events."""
    events, table = database.table("events"), database.table("open_runs")
    rows = database.stream(f"SELECT run, kind FROM {events} WHERE run <> '' ORDER BY seq")
    open_ = open_among((str(run), str(kind)) for run, kind in rows)
    database.change(f"DELETE FROM {table}")
    database.change_many(f"INSERT INTO {table} (run) VALUES (?)", [(run,) for run in open_])


def open_among(events: Iterable[tuple[str, str]]) -> list[str]:
    """Returns runs whose start or undo has no event of its end, oldest first.

    Args:
        events: Run and kind of each, in order.
    """
    open_: dict[str, None] = {}
    for run, kind in events:
        if kind in STARTS:
            open_[run] = None
        elif kind in ENDS:
            open_.pop(run, None)
    return list(open_)


@migrations.add("0004_confirmations")
def _confirmations(db: sqlite3.Connection) -> None:
    """Makes the tables of confirmations by memory and of answers by a caller's key."""
    db.execute(
        "CREATE TABLE confirmations (id TEXT PRIMARY KEY, times INTEGER NOT NULL,"
        " last TEXT NOT NULL) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")


@migrations.add("0005_hidden")
def _hidden(db: sqlite3.Connection) -> None:
    """Makes the table of hidden memories that were moved out of their store."""
    db.execute(
        "CREATE TABLE hidden (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
        " place INTEGER NOT NULL, after TEXT NOT NULL, body TEXT NOT NULL)"
    )


@migrations.add("0006_reviews")
def _reviews(db: sqlite3.Connection) -> None:
    """Makes the table of the answers that people gave in reviews, by what they were asked."""
    db.execute(
        "CREATE TABLE reviews (key TEXT PRIMARY KEY, number INTEGER NOT NULL, body TEXT NOT NULL)"
        " WITHOUT ROWID"
    )


@migrations.add("0007_kept_by_second")
def _kept_by_second(db: sqlite3.Connection) -> None:
    """Makes an index of kept pairs by their second memory; the primary key is one by the first."""
    db.execute("CREATE INDEX kept_b ON kept(b)")


def count_again(database: LedgerDatabase) -> None:
    """Fills the projections of confirmations, answers and reviews from the events.

    An event that cannot be read counts for none. It stays as it is; reading it raises an error.
    """
    for table in ("confirmations", "answers", "reviews"):
        database.change(f"DELETE FROM {database.table(table)}")
    for seq, kind, at, data in database.rows(
        f"SELECT seq, kind, at, data FROM {database.table('events')} WHERE kind IN"
        " ('confirmed', 'answered', 'reviewed', 'review_withdrawn') ORDER BY seq"
    ):
        try:
            details = json.loads(data) if isinstance(data, str) else None
        except (ValueError, RecursionError):
            continue
        if isinstance(details, dict):
            _count(database, seq, str(kind), str(at), details)


def _count(
    database: LedgerDatabase, seq: object, kind: str, at: str, details: dict[str, Any]
) -> None:
    """Takes one event into the projections."""
    if kind == "confirmed" and "id" in details:
        count_confirmation(database, str(details["id"]), at)
    elif kind == "answered" and "key" in details:
        write_answer(database, str(details["key"]), details)
    elif kind == "reviewed" and "key" in details and isinstance(seq, int):
        write_review(database, str(details["key"]), seq, details)
    elif kind == "review_withdrawn" and "key" in details:
        remove_review(database, str(details["key"]))


KNOWN: Final = KnownSchema(migrations)
"""Tables and triggers of a sidecar."""


# ------------------------------------------------------------------ rows of the projections


def count_confirmation(database: LedgerDatabase, id_: str, at: str) -> None:
    """Counts one confirmation of a memory."""
    database.change(
        f"INSERT INTO {database.table('confirmations')} AS c (id, times, last) VALUES (?, 1, ?)"
        " ON CONFLICT (id) DO UPDATE SET times = c.times + 1, last = excluded.last",
        (id_, at),
    )


def write_answer(database: LedgerDatabase, key: str, data: JsonObject) -> None:
    """Writes the answer of a key, in place of an earlier one."""
    database.change(
        f"INSERT INTO {database.table('answers')} (key, body) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET body = excluded.body",
        (key, canonical(data)),
    )


def write_review(database: LedgerDatabase, key: str, number: int, data: JsonObject) -> None:
    """Writes the answer of a person under a key, in place of an earlier one."""
    database.change(
        f"INSERT INTO {database.table('reviews')} (key, number, body) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET number = excluded.number, body = excluded.body",
        (key, number, canonical(data)),
    )


def remove_review(database: LedgerDatabase, key: str) -> None:
    """Removes the answer of a person."""
    database.change(f"DELETE FROM {database.table('reviews')} WHERE key = ?", (key,))
