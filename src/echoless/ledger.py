"""The ledger: what was done to a store, with the images to undo it. Append-only; event first.

Events are the truth; `marks` and `kept` are projections of them for fast look-up (`check` compares
the two). A store that is an SQLite file of ours holds the ledger in itself, so that a change and
its record share one transaction; any other store has it beside it, in a sidecar file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from echoless.codec import memory_to_json
from echoless.database import Database, table_exists
from echoless.ledger_rows import (
    Event,
    Image,
    Kept,
    Mark,
    Moment,
    damaged,
    event_of,
    image_of,
    kept_of,
    mark_of,
    object_of,
    text_of,
    unreadable,
)
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
from echoless.text import unreadable as unreadable_text
from echoless.times import now

__all__ = ["Event", "Image", "Kept", "Ledger", "Mark", "Moment"]

_MARK: Final = "duplicate, survivor, run, verdict, similarity, evidence, texts"


class Ledger:
    """Events, images, marks and kept pairs over one database.

    Whatever is read goes through `_rows`: what cannot be read, or is not what it should be, is a
    `LedgerDamaged` that names the table or the row.
    """

    def __init__(self, database: Database) -> None:
        """Wrap a database whose ledger schema is up to date (see `migrations`)."""
        self.database = database

    @property
    def _db(self) -> sqlite3.Connection:
        return self.database.connection

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; joins a transaction already open on the same database."""
        return self.database.transaction()

    def _rows(self, table: str, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Rows of a table; the one place where the ledger is read.

        Raises:
            LedgerDamaged: They cannot be read.
            StoreError: The file is locked, or the disk fails.
        """
        try:
            return self._db.execute(statement, values).fetchall()
        except self.database.errors as problem:
            raise unreadable(problem, self.database.path, table) from problem

    def _has(self, table: str) -> bool:
        """Whether a table is there; files of older versions lack some."""
        try:
            return table_exists(self._db, table)
        except self.database.errors as problem:
            raise unreadable(problem, self.database.path, table) from problem

    def _write(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        with self.database.speaking():
            return self._db.execute(statement, values)

    def _write_many(self, statement: str, values: Iterable[Any]) -> None:
        with self.database.speaking():
            self._db.executemany(statement, values)

    # ------------------------------------------------------------------ events and images

    def record(self, kind: str, run: str = "", data: JsonObject | None = None) -> None:
        """Append one event."""
        self._write(
            "INSERT INTO events (at, run, kind, data) VALUES (?, ?, ?, ?)",
            (now(), run, kind, canonical(data or {})),
        )
        if kind in STARTS:
            self._write("INSERT OR IGNORE INTO open_runs VALUES (?)", (run,))
        elif kind in ENDS:
            self._write("DELETE FROM open_runs WHERE run = ?", (run,))

    def open_runs(self) -> list[str]:
        """Runs that started, or began to be undone, and never said how it ended; oldest first."""
        if not self._has("open_runs"):  # written by an older version, open to readers
            return open_among((e.run, e.kind) for e in self.events() if e.run)
        rows = self._rows(
            "open_runs",
            "SELECT run, (SELECT min(seq) FROM events e WHERE e.run = o.run) AS first"
            " FROM open_runs o ORDER BY first",
        )
        for run, first in rows:
            if first is None:
                raise damaged(self.database.path, f"the open run {run!r}", "has no events")
        return [text_of(run, self.database.path, "an open run") for run, _ in rows]

    def events(self, run: str | None = None, kind: str | None = None) -> Iterator[Event]:
        """Events in order, of one run or kind if given."""
        if run is not None and unreadable_text(run):  # SQLite could not even be asked for it
            return
        rows = self._rows(
            "events",
            "SELECT seq, at, run, kind, data FROM events"
            " WHERE (:run IS NULL OR run = :run) AND (:kind IS NULL OR kind = :kind) ORDER BY seq",
            {"run": run, "kind": kind},
        )
        for row in rows:
            yield event_of(row, self.database.path)

    def save_images(self, run: str, images: Iterable[Image]) -> None:
        """Keep how records looked; needed to undo and to recover."""
        self._write_many(
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
        rows = self._rows(
            "images",
            "SELECT action, id, moment, body FROM images WHERE run = ?"
            " ORDER BY action, id, moment DESC",
            (run,),
        )
        return [image_of(row, self.database.path) for row in rows]

    def has_images(self, run: str) -> bool:
        """Whether any image of a run is kept, readable or not."""
        return bool(self._rows("images", "SELECT 1 FROM images WHERE run = ? LIMIT 1", (run,)))

    def drop_images(self, run: str) -> int:
        """Destroy the images of a run (only `purge` does this).

        Returns:
            How many there were.
        """
        return self._write("DELETE FROM images WHERE run = ?", (run,)).rowcount

    def runs_touching(self, id_: str) -> list[str]:
        """Runs that hold an image of a record, oldest first."""
        rows = self._rows(
            "images",
            "SELECT i.run, min(e.seq) AS first FROM images i JOIN events e ON e.run = i.run"
            " WHERE i.id = ? GROUP BY i.run ORDER BY first",
            (id_,),
        )
        return [text_of(run, self.database.path, "the run of an image") for run, _ in rows]

    # ------------------------------------------------------------------ marks

    def mark(self, marks: Iterable[Mark]) -> None:
        """Hide memories. A memory hidden already is an error of the caller (primary key)."""
        self._write_many(
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
        self._write_many("DELETE FROM marks WHERE duplicate = ?", ((d,) for d in duplicates))

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Marks by hidden id, of one run if given."""
        return self._marks("?1 IS NULL OR run = ?1", (run,))

    def marks_of(self, ids: Sequence[str]) -> dict[str, Mark]:
        """Marks of some hidden memories, by id."""
        return self._marks(f"duplicate IN ({','.join('?' * len(ids))})", list(ids))

    def _marks(self, where: str, values: Any) -> dict[str, Mark]:
        rows = self._rows(
            "marks", f"SELECT {_MARK} FROM marks WHERE {where} ORDER BY duplicate", values
        )
        return {row[0]: mark_of(row, self.database.path) for row in rows}

    # ------------------------------------------------------------------ kept both, plans, facts

    def keep(self, pairs: Iterable[Kept]) -> None:
        """Remember pairs as different; asked again only when one of them changes."""
        self._write_many(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)",
            ((k.a, k.b, k.print_a, k.print_b) for k in pairs),
        )

    def kept(self) -> list[Kept]:
        """All pairs kept apart, by ids."""
        rows = self._rows("kept", "SELECT a, b, print_a, print_b FROM kept ORDER BY a, b")
        return [kept_of(row, self.database.path) for row in rows]

    def use_plan(self, plan: str, run: str) -> None:
        """Record that a plan was used."""
        self._write("INSERT INTO used_plans VALUES (?, ?)", (plan, run))

    def run_of_plan(self, plan: str) -> str | None:
        """The run that used a plan, or None."""
        rows = self._rows("used_plans", "SELECT run FROM used_plans WHERE plan = ?", (plan,))
        return str(rows[0][0]) if rows else None

    def fact(self, key: str) -> str | None:
        """A named value kept with the ledger, such as the identity of the store."""
        rows = self._rows("facts", "SELECT value FROM facts WHERE key = ?", (key,))
        return text_of(rows[0][0], self.database.path, f"the fact {key!r}") if rows else None

    def set_fact(self, key: str, value: str) -> None:
        """Set a named value."""
        self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, value))

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
        self._write(CONFIRM, (id_, now()))
        return self.confirmations(id_)

    def confirmations(self, id_: str) -> int:
        """How often a memory was said again, this time not counted as the first."""
        if not self._has("confirmations"):
            return 0
        rows = self._rows("confirmations", "SELECT times FROM confirmations WHERE id = ?", (id_,))
        times = rows[0][0] if rows else 0
        if not isinstance(times, int):
            raise damaged(self.database.path, f"the confirmation of {id_!r}", "has no number")
        return times

    def keep_answer(self, key: str, data: JsonObject) -> None:
        """Remember what was answered under a key, so that a retry is told the same."""
        told = {**data, "key": key}
        self.record("answered", data=told)
        self._write(ANSWER, (key, canonical(told)))

    def answer(self, key: str) -> JsonObject | None:
        """What was answered under a key, or None."""
        if not self._has("answers"):
            return None
        rows = self._rows("answers", "SELECT body FROM answers WHERE key = ?", (key,))
        what = f"the answer under {key!r}"
        return object_of(rows[0][0], self.database.path, what) if rows else None

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
        """Every row of the lineage as (table, row), as it lies there: whoever reads it looks."""
        for table, columns in self.TABLES.items():
            names = columns.split(", ")
            for row in self._stream(table, f"SELECT {columns} FROM {table} ORDER BY 1, 2"):
                yield table, dict(zip(names, row, strict=True))

    def _stream(self, table: str, statement: str) -> Iterator[tuple[Any, ...]]:
        """As `_rows`, one by one: images may be as large as the store."""
        try:
            for row in self._db.execute(statement):  # noqa: UP028 - a cursor is not to be closed
                yield row
        except self.database.errors as problem:
            raise unreadable(problem, self.database.path, table) from problem

    def load(self, rows: Iterable[tuple[str, JsonObject]]) -> int:
        """Take over rows of another ledger into this one, which must be empty of lineage.

        Returns:
            How many rows were written.
        """
        count = 0
        for table, row in rows:
            columns = self.TABLES[table].split(", ")
            places = ", ".join("?" * len(columns))
            self._write(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",
                [row[c] for c in columns],
            )
            count += 1
        find_open(self._db)
        count_again(self._db)
        return count

    def is_empty(self) -> bool:
        """Whether nothing was ever recorded."""
        return not self._rows("events", "SELECT 1 FROM events LIMIT 1")


def _body(memory: Memory) -> str:
    return canonical(memory_to_json(memory, with_native=True))
