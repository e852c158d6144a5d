"""Tables of the ledger, as decorated migrations, and the projections made from its events."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Final

from echoless.core.model import canonical
from echoless.core.sqlite import Migrations
from echoless.stores.known_schema import KnownSchema

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
    """Makes a table of runs that have not ended, so that nobody reads the whole ledger for them."""
    db.execute("CREATE TABLE open_runs (run TEXT PRIMARY KEY) WITHOUT ROWID")
    find_open(db)


def find_open(db: sqlite3.Connection) -> None:
    """Fills `open_runs` from the events."""
    open_ = open_among(db.execute("SELECT run, kind FROM events WHERE run <> '' ORDER BY seq"))
    db.execute("DELETE FROM open_runs")
    db.executemany("INSERT INTO open_runs VALUES (?)", ((run,) for run in open_))


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


def count_again(db: sqlite3.Connection) -> None:
    """Fills the projections of confirmations, answers and reviews from the events.

    An event that cannot be read counts for none. It stays as it is; reading it raises an error.
    """
    for table in ("confirmations", "answers", "reviews"):
        db.execute(f"DELETE FROM {table}")
    for seq, kind, at, data in db.execute(
        "SELECT seq, kind, at, data FROM events WHERE kind IN"
        " ('confirmed', 'answered', 'reviewed', 'review_withdrawn') ORDER BY seq"
    ).fetchall():
        try:
            details = json.loads(data) if isinstance(data, str) else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(details, dict):
            continue
        if kind == "confirmed" and "id" in details:
            db.execute(CONFIRM, (str(details["id"]), at))
        elif kind == "answered" and "key" in details:
            db.execute(ANSWER, (str(details["key"]), canonical(details)))
        elif kind == "reviewed" and "key" in details:
            db.execute(REVIEW, (str(details["key"]), seq, canonical(details)))
        elif kind == "review_withdrawn" and "key" in details:
            db.execute(WITHDRAW, (str(details["key"]),))


KNOWN: Final = KnownSchema(migrations)
"""Tables and triggers of a sidecar."""

CONFIRM: Final = (
    "INSERT INTO confirmations VALUES (?1, 1, ?2)"
    " ON CONFLICT (id) DO UPDATE SET times = times + 1, last = ?2"
)
ANSWER: Final = "INSERT OR REPLACE INTO answers VALUES (?, ?)"
REVIEW: Final = "INSERT OR REPLACE INTO reviews VALUES (?, ?, ?)"
WITHDRAW: Final = "DELETE FROM reviews WHERE key = ?"
