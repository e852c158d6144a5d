"""Tables of the ledger, what it needs of the database they are in, and projections of events.

Two databases have it: an SQLite file (`core/sqlite.py`) and a schema of PostgreSQL
(`echoless_stores/sql/postgres_ledger.py`). Statements are those both understand, with a question
mark for each value; the few words in which their tables differ are a `Dialect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Protocol

from echoless.core.document import records_in
from echoless.core.errors import EcholessError
from echoless.core.json_codec import json_object
from echoless.core.model import JsonObject, canonical
from echoless.core.sqlite import Cell, Migrations, steps_in
from echoless.stores.known_schema import KnownSchema


class LedgerDatabase(Protocol):
    """Database with the tables of a ledger.

    What runs a statement raises the errors of the driver (`errors`) as they are: who reads has to
    tell damage from a lock. `speaking` and `translated` make errors of echoless of them.
    """

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Returns what the driver raises."""

    @property
    def place(self) -> Path | str | None:
        """Returns where the ledger lies, for messages: a file, or a description; None in memory."""

    @property
    def in_transaction(self) -> bool:
        """Returns whether a transaction is open."""

    def table(self, name: str) -> str:
        """Returns a table of the ledger as statements name it."""

    def rows(self, statement: str, values: Sequence[Cell] = ()) -> list[tuple[object, ...]]:
        """Returns the rows of a query."""

    def stream(self, statement: str) -> Iterator[tuple[object, ...]]:
        """Yields the rows of a query without holding all of them."""

    def change(self, statement: str, values: Sequence[Cell] = ()) -> int:
        """Runs a statement that changes rows, and returns how many it changed."""

    def change_many(self, statement: str, rows: Iterable[Sequence[Cell]]) -> None:
        """Runs a statement once for each of many rows."""

    def append(self, statement: str, values: Sequence[Cell]) -> int:
        """Adds a row to a numbered table and returns the number (`seq`) the database gave it."""

    def last_number(self, table: str) -> int | None:
        """Returns the highest number of a numbered table, or None where no row was written."""

    def transaction(self) -> AbstractContextManager[None]:
        """Runs a block in one transaction; an inner call joins the outer one."""

    def rewriting(self) -> AbstractContextManager[None]:
        """Lets events change inside the block; within a transaction, for `Ledger.redact` alone."""

    def scrub(self) -> None:
        """Removes earlier states of rows from the files, where the database lets it."""

    def reading(self) -> AbstractContextManager[None]:
        """Runs a block that sees one state of the database, whoever writes to it meanwhile."""

    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the driver inside the block into errors of echoless."""

    def is_damage(self, problem: Exception) -> bool:
        """Returns whether an error of the driver says that the ledger is damaged."""

    def said(self, problem: Exception) -> str:
        """Returns the message of an error of the driver."""

    def translated(self, problem: Exception) -> EcholessError:
        """Returns the error of echoless for one of the driver."""


STARTS: Final = frozenset({"run_started", "undo_started"})
ENDS: Final = frozenset({"run_finished", "run_undone"})


# ------------------------------------------------------------------ tables


@dataclass(frozen=True, slots=True)
class Dialect:
    """Words in which the tables of a ledger differ between databases.

    Attributes:
        text: Type of a text that is never empty of value.
        key: The same, of a column that is the primary key.
        whole: Type of a whole number.
        real: Type of a real number.
        event: Column that numbers the events.
        number: Column that numbers other rows.
        end: What stands behind a table without numbers.
        guards: Statements that keep the events append-only, and number them.
        at: Schema with a full stop, before each table; empty for a file.
    """

    text: str
    key: str
    whole: str
    real: str
    event: str
    number: str
    end: str
    guards: tuple[str, ...]
    at: str = ""

    def statements(self, step: str) -> tuple[str, ...]:
        """Returns the statements of one step."""
        texts = (*STEPS[step], *(self.guards if step == FIRST else ()))
        words = {each.name: getattr(self, each.name) for each in fields(self)}
        return tuple(text.format(**words) for text in texts)


FIRST: Final = "0001_events"
UPDATES: Final = "0008_updates"

_TABLES: Final = """-- step 0001_events
CREATE TABLE {at}events (seq {event}, at {text}, run {text}, kind {text}, data {text})

CREATE INDEX events_run ON {at}events(run, kind)

CREATE TABLE {at}images (run {text}, action {whole} NOT NULL, id {text},
  moment {text} CHECK (moment IN ('before', 'after')), body TEXT,
  PRIMARY KEY (run, action, id, moment)){end}

CREATE INDEX images_id ON {at}images(id)

-- step 0002_projections
CREATE TABLE {at}marks (duplicate {key}, survivor {text}, run {text}, verdict {text},
  similarity {real}, evidence {text}, texts {text}){end}

CREATE INDEX marks_survivor ON {at}marks(survivor)

CREATE INDEX marks_run ON {at}marks(run)

CREATE TABLE {at}kept (a {text}, b {text}, print_a {text}, print_b {text},
  PRIMARY KEY (a, b)){end}

CREATE TABLE {at}used_plans (plan {key}, run {text}){end}

CREATE TABLE {at}facts (key {key}, value {text}){end}

-- step 0003_open_runs
-- so that nobody reads the whole ledger for the runs that have not ended
CREATE TABLE {at}open_runs (run {key}){end}

-- step 0004_confirmations
CREATE TABLE {at}confirmations (id {key}, times {whole} NOT NULL, last {text}){end}

CREATE TABLE {at}answers (key {key}, body {text}){end}

-- step 0005_hidden
-- memories that were moved out of their store
CREATE TABLE {at}hidden (seq {number}, id {text} UNIQUE, place {whole} NOT NULL,
  after {text}, body {text})

-- step 0006_reviews
-- answers of people, by what they were asked
CREATE TABLE {at}reviews (key {key}, number {whole} NOT NULL, body {text}){end}

-- step 0007_kept_by_second
-- the primary key of kept pairs is an index by the first memory
CREATE INDEX kept_b ON {at}kept(b)

-- step 0008_updates
-- visible memories whose value a newer memory replaced
CREATE TABLE {at}updates (older {text}, newer {text}, texts {text},
  PRIMARY KEY (older, newer)){end}

CREATE INDEX updates_newer ON {at}updates(newer)
"""
"""Tables of the ledger, step by step: an empty line parts statements. Words in braces are those of
a `Dialect`. What was published stays as it is, but for white space where there is some:
`KnownSchema` compares files with it."""

STEPS: Final = steps_in(_TABLES)
"""Statements by step, in order."""

_SQLITE: Final = Dialect(
    text="TEXT NOT NULL",
    key="TEXT PRIMARY KEY",
    whole="INTEGER",
    real="REAL",
    event="INTEGER PRIMARY KEY AUTOINCREMENT",
    number="INTEGER PRIMARY KEY AUTOINCREMENT",
    end=" WITHOUT ROWID",
    guards=tuple(
        f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events"
        " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
)

migrations: Final = Migrations("ledger", {step: _SQLITE.statements(step) for step in STEPS})

KNOWN: Final = KnownSchema(migrations)
"""Tables and triggers of a sidecar."""


# ------------------------------------------------------------------ projections of the events


def find_open(database: LedgerDatabase) -> None:
    """Fills `open_runs` from the events."""
    events, table = database.table("events"), database.table("open_runs")
    rows = database.stream(f"SELECT run, kind FROM {events} WHERE run <> '' ORDER BY seq")
    open_: dict[str, None] = {}
    for run, kind in rows:
        if kind in STARTS:
            open_[str(run)] = None
        elif kind in ENDS:
            open_.pop(str(run), None)
    database.change(f"DELETE FROM {table}")
    database.change_many(f"INSERT INTO {table} (run) VALUES (?)", [(run,) for run in open_])


def count_again(database: LedgerDatabase) -> None:
    """Fills the projections of confirmations, answers, reviews and updates from the events.

    An event that cannot be read counts for none. It stays as it is; reading it raises an error.
    """
    for table in ("confirmations", "answers", "reviews", "updates"):
        database.change(f"DELETE FROM {database.table(table)}")
    for seq, kind, at, data in database.rows(
        f"SELECT seq, kind, at, data FROM {database.table('events')} WHERE kind IN"
        " ('confirmed', 'answered', 'reviewed', 'review_withdrawn')"
        " OR (kind = 'action_started' AND data LIKE ?) ORDER BY seq",
        ('%"updates"%',),
    ):
        details = json_object(data)
        if kind == "action_started":
            write_updates(database, records_in(details.get("updates")))
        else:
            project(database, seq, str(kind), str(at), details)


def project(database: LedgerDatabase, seq: object, kind: str, at: str, details: JsonObject) -> None:
    """Takes one event into the projections: an answer goes in place of an earlier one.

    Updates are taken in where their action is done, not where it is announced.

    Args:
        database: Of the ledger.
        seq: Number of the event.
        kind: Of the event; most have no projection.
        at: Its time.
        details: Its data; without the parts it should have it counts for nothing.
    """
    if kind == "confirmed" and "id" in details:
        database.change(
            f"INSERT INTO {database.table('confirmations')} AS c (id, times, last)"
            " VALUES (?, 1, ?)"
            " ON CONFLICT (id) DO UPDATE SET times = c.times + 1, last = excluded.last",
            (str(details["id"]), at),
        )
    elif kind == "answered" and "key" in details:
        write_over(database, "answers", "key, body", [(str(details["key"]), canonical(details))])
    elif kind == "reviewed" and "key" in details and isinstance(seq, int):
        row = (str(details["key"]), seq, canonical(details))
        write_over(database, "reviews", "key, number, body", [row])
    elif kind == "review_withdrawn" and "key" in details:
        drop = f"DELETE FROM {database.table('reviews')} WHERE key = ?"
        database.change(drop, (str(details["key"]),))


def write_updates(database: LedgerDatabase, updates: Iterable[JsonObject]) -> None:
    """Writes which memories replaced the value of which, each with a digest of both texts."""
    rows = [(str(each["older"]), str(each["newer"]), str(each["texts"])) for each in updates]
    write_over(database, "updates", "older, newer, texts", rows, keys=2)


def write_over(
    database: LedgerDatabase,
    table: str,
    columns: str,
    rows: Iterable[Sequence[Cell]],
    *,
    keys: int = 1,
) -> None:
    """Writes rows, each in place of the one with the same key.

    Args:
        database: Of the ledger.
        table: Its name.
        columns: Names, joined by a comma and a space.
        rows: Values of these columns.
        keys: How many of the columns, from the first on, are the key.
    """
    names = columns.split(", ")
    places, key = ", ".join("?" * len(names)), ", ".join(names[:keys])
    values = ", ".join(f"{name} = excluded.{name}" for name in names[keys:])
    database.change_many(
        f"INSERT INTO {database.table(table)} ({columns}) VALUES ({places})"
        f" ON CONFLICT ({key}) DO UPDATE SET {values}",
        rows,
    )
