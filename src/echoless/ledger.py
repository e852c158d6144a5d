"""The ledger: what was done to a store, with the images to undo it. Append-only; event first.

Events are the truth; `marks` and `kept` are projections of them for fast look-up (`check` compares
the two). A store that is an SQLite file of ours holds the ledger in itself, so that a change and
its record share one transaction; any other store has it beside it, in a sidecar file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Literal

from echoless.codec import memory_from_json, memory_to_json
from echoless.database import Database, table_exists
from echoless.lineage import (
    ANSWER,
    CONFIRM,
    ENDS,
    STARTS,
    count_again,
    find_open,
    open_among,
)
from echoless.model import Json, JsonObject, Memory, canonical
from echoless.text import unreadable
from echoless.times import now

Moment = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the ledger.

    Attributes:
        seq: Place in the ledger, from 1.
        at: When, ISO 8601 UTC.
        run: The run it belongs to; empty for events outside a run.
        kind: `run_started`, `action_started`, `action_done`, `action_refused`, `action_failed`,
            `action_rolled_back`, `run_finished`, `undo_started`, `run_undone`, `released`,
            `kept_both`, `kept_both_taken_back`, `purged`, `imported`, `confirmed` (said again),
            `answered` (under a caller's key).
        data: Details of that kind.
    """

    seq: int
    at: str
    run: str
    kind: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Mark:
    """One hidden memory and the visible one it stands behind.

    Attributes:
        duplicate: The hidden memory.
        survivor: The visible one.
        run: The run that hid it.
        verdict: Its direct verdict with the survivor; empty in a transitive group without one.
        similarity: Their similarity, 0 to 1, or None.
        evidence: Why, in one line.
        texts: Digest of both texts as they were; the verdict holds as long as they stay so.
    """

    duplicate: str
    survivor: str
    run: str
    verdict: str
    similarity: float | None
    evidence: str
    texts: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """Two memories a person wants to keep apart, and how they looked then."""

    a: str
    b: str
    print_a: str
    print_b: str


@dataclass(frozen=True, slots=True)
class Image:
    """How one record looked before or after an action; `memory` is None where it did not exist."""

    action: int
    id: str
    moment: Moment
    memory: Memory | None


class Ledger:
    """Events, images, marks and kept pairs over one database."""

    def __init__(self, database: Database) -> None:
        """Wrap a database whose ledger schema is up to date (see `migrations`)."""
        self.database = database

    @property
    def _db(self) -> sqlite3.Connection:
        return self.database.connection

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; joins a transaction already open on the same database."""
        return self.database.transaction()

    # ------------------------------------------------------------------ events and images

    def record(self, kind: str, run: str = "", data: JsonObject | None = None) -> None:
        """Append one event."""
        self._db.execute(
            "INSERT INTO events (at, run, kind, data) VALUES (?, ?, ?, ?)",
            (now(), run, kind, canonical(data or {})),
        )
        if kind in STARTS:
            self._db.execute("INSERT OR IGNORE INTO open_runs VALUES (?)", (run,))
        elif kind in ENDS:
            self._db.execute("DELETE FROM open_runs WHERE run = ?", (run,))

    def open_runs(self) -> list[str]:
        """Runs that started, or began to be undone, and never said how it ended; oldest first."""
        if not table_exists(self._db, "open_runs"):  # written by an older version, open to readers
            rows = self._db.execute("SELECT run, kind FROM events WHERE run <> '' ORDER BY seq")
            return open_among(rows)
        rows = self._db.execute(
            "SELECT run, (SELECT min(seq) FROM events e WHERE e.run = o.run) AS first"
            " FROM open_runs o ORDER BY first"
        )
        return [run for run, _ in rows.fetchall()]

    def events(self, run: str | None = None, kind: str | None = None) -> Iterator[Event]:
        """Events in order, of one run or kind if given."""
        if run is not None and unreadable(run):  # SQLite could not even be asked for it
            return
        rows = self._db.execute(
            "SELECT seq, at, run, kind, data FROM events"
            " WHERE (:run IS NULL OR run = :run) AND (:kind IS NULL OR kind = :kind) ORDER BY seq",
            {"run": run, "kind": kind},
        )
        for seq, at, in_run, of_kind, data in rows.fetchall():
            yield Event(seq, at, in_run, of_kind, json.loads(data))

    def save_images(self, run: str, images: Iterable[Image]) -> None:
        """Keep how records looked; needed to undo and to recover."""
        self._db.executemany(
            "INSERT INTO images (run, action, id, moment, body) VALUES (?, ?, ?, ?, ?)",
            (
                (run, i.action, i.id, i.moment, None if i.memory is None else _body(i.memory))
                for i in images
            ),
        )

    def done_actions(self, run: str) -> set[Json]:
        """Numbers of the actions of a run that were carried out."""
        return {event.data["action"] for event in self.events(run, "action_done")}

    def images(self, run: str) -> list[Image]:
        """All images of a run, by action and id; actions that were rolled back included."""
        rows = self._db.execute(
            "SELECT action, id, moment, body FROM images WHERE run = ?"
            " ORDER BY action, id, moment DESC",
            (run,),
        )
        return [
            Image(action, id_, moment, None if body is None else memory_from_json(json.loads(body)))
            for action, id_, moment, body in rows.fetchall()
        ]

    def drop_images(self, run: str) -> int:
        """Destroy the images of a run (only `purge` does this).

        Returns:
            How many there were.
        """
        return self._db.execute("DELETE FROM images WHERE run = ?", (run,)).rowcount

    def runs_touching(self, id_: str) -> list[str]:
        """Runs that hold an image of a record, oldest first."""
        rows = self._db.execute(
            "SELECT i.run, min(e.seq) AS first FROM images i JOIN events e ON e.run = i.run"
            " WHERE i.id = ? GROUP BY i.run ORDER BY first",
            (id_,),
        )
        return [run for run, _ in rows.fetchall()]

    # ------------------------------------------------------------------ marks

    def mark(self, marks: Iterable[Mark]) -> None:
        """Hide memories. A memory hidden already is an error of the caller (primary key)."""
        self._db.executemany(
            "INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (m.duplicate, m.survivor, m.run, m.verdict, m.similarity, m.evidence, m.texts)
                for m in marks
            ),
        )

    def own_marks(self) -> dict[str, Mark]:
        """Marks that were made through this ledger and stand; what its events must agree with."""
        return self.marks()

    def sticky(self) -> set[str]:
        """Memories that are no duplicate's any more, besides the survivors of standing marks.

        A store that records for whom it removed something names those here.
        """
        return set()

    def unmark(self, duplicates: Iterable[str]) -> None:
        """Make memories visible again."""
        self._db.executemany("DELETE FROM marks WHERE duplicate = ?", ((d,) for d in duplicates))

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Marks by hidden id, of one run if given."""
        rows = self._db.execute(
            "SELECT duplicate, survivor, run, verdict, similarity, evidence, texts FROM marks"
            " WHERE ?1 IS NULL OR run = ?1 ORDER BY duplicate",
            (run,),
        )
        return {row[0]: Mark(*row) for row in rows.fetchall()}

    def marks_of(self, ids: Sequence[str]) -> dict[str, Mark]:
        """Marks of some hidden memories, by id."""
        places = ",".join("?" * len(ids))
        rows = self._db.execute(
            "SELECT duplicate, survivor, run, verdict, similarity, evidence, texts FROM marks"
            f" WHERE duplicate IN ({places}) ORDER BY duplicate",
            list(ids),
        )
        return {row[0]: Mark(*row) for row in rows.fetchall()}

    # ------------------------------------------------------------------ kept both, plans, facts

    def keep(self, pairs: Iterable[Kept]) -> None:
        """Remember pairs as different; asked again only when one of them changes."""
        self._db.executemany(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)",
            ((k.a, k.b, k.print_a, k.print_b) for k in pairs),
        )

    def kept(self) -> list[Kept]:
        """All pairs kept apart, by ids."""
        rows = self._db.execute("SELECT a, b, print_a, print_b FROM kept ORDER BY a, b")
        return [Kept(*row) for row in rows.fetchall()]

    def use_plan(self, plan: str, run: str) -> None:
        """Record that a plan was used."""
        self._db.execute("INSERT INTO used_plans VALUES (?, ?)", (plan, run))

    def run_of_plan(self, plan: str) -> str | None:
        """The run that used a plan, or None."""
        row = self._db.execute("SELECT run FROM used_plans WHERE plan = ?", (plan,)).fetchone()
        return None if row is None else str(row[0])

    def fact(self, key: str) -> str | None:
        """A named value kept with the ledger, such as the identity of the store."""
        row = self._db.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_fact(self, key: str, value: str) -> None:
        """Set a named value."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, value))

    # ------------------------------------------------------------------ said again

    def confirm(self, id_: str, data: JsonObject) -> int:
        """Count that a memory was said again; the memory itself stays as it is.

        Args:
            id_: The memory.
            data: What else the event is to tell.

        Returns:
            How often it was said again so far.
        """
        self.record("confirmed", data={**data, "id": id_})
        self._db.execute(CONFIRM, (id_, now()))
        return self.confirmations(id_)

    def confirmations(self, id_: str) -> int:
        """How often a memory was said again, this time not counted as the first."""
        if not table_exists(self._db, "confirmations"):
            return 0
        row = self._db.execute("SELECT times FROM confirmations WHERE id = ?", (id_,)).fetchone()
        return 0 if row is None else int(row[0])

    def keep_answer(self, key: str, data: JsonObject) -> None:
        """Remember what was answered under a key, so that a retry is told the same."""
        told = {**data, "key": key}
        self.record("answered", data=told)
        self._db.execute(ANSWER, (key, canonical(told)))

    def answer(self, key: str) -> JsonObject | None:
        """What was answered under a key, or None."""
        if not table_exists(self._db, "answers"):
            return None
        row = self._db.execute("SELECT body FROM answers WHERE key = ?", (key,)).fetchone()
        found: JsonObject | None = None if row is None else json.loads(row[0])
        return found

    # ------------------------------------------------------------------ carrying over

    TABLES: Final[Mapping[str, str]] = {
        "events": "seq, at, run, kind, data",
        "images": "run, action, id, moment, body",
        "marks": "duplicate, survivor, run, verdict, similarity, evidence, texts",
        "kept": "a, b, print_a, print_b",
        "used_plans": "plan, run",
    }
    """Tables that make up the lineage, with their columns; what `import` and `export` carry."""

    def dump(self) -> Iterator[tuple[str, JsonObject]]:
        """Every row of the lineage as (table, row)."""
        for table, columns in self.TABLES.items():
            names = columns.split(", ")
            for row in self._db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2"):
                yield table, dict(zip(names, row, strict=True))

    def load(self, rows: Iterable[tuple[str, JsonObject]]) -> int:
        """Take over rows of another ledger into this one, which must be empty of lineage.

        Returns:
            How many rows were written.
        """
        count = 0
        for table, row in rows:
            columns = self.TABLES[table].split(", ")
            places = ", ".join("?" * len(columns))
            self._db.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",
                [row[c] for c in columns],
            )
            count += 1
        find_open(self._db)
        count_again(self._db)
        return count

    def is_empty(self) -> bool:
        """Whether nothing was ever recorded."""
        return self._db.execute("SELECT 1 FROM events LIMIT 1").fetchone() is None


def _body(memory: Memory) -> str:
    return canonical(memory_to_json(memory, with_native=True))
