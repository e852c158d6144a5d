"""Ledger of what was done to a store, with the images to undo it.

Append-only; an event is written before what it describes.

Events are the truth; `marks` and `kept` are projections of them for fast look-up (`check` compares
the two). An SQLite file of echoless holds its own ledger, so that a change and its record share one
transaction; any other store has the ledger beside it, in a sidecar file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from echoless.core.json_codec import memory_to_json
from echoless.core.model import Json, JsonObject, canonical
from echoless.core.sqlite import Database, table_exists
from echoless.core.text import unreadable as unreadable_text
from echoless.core.timestamps import now
from echoless.stores.ledger_rows import (
    Event,
    Image,
    Kept,
    Mark,
    Moment,
    check_paired,
    damaged,
    event_of,
    image_of,
    kept_of,
    mark_of,
    object_of,
    text_of,
    unreadable,
)
from echoless.stores.ledger_schema import (
    ANSWER,
    CONFIRM,
    ENDS,
    REVIEW,
    STARTS,
    WITHDRAW,
    count_again,
    find_open,
    open_among,
)

__all__ = ["Event", "Image", "Kept", "Ledger", "Mark", "Moment"]

_MARK: Final = "duplicate, survivor, run, verdict, similarity, evidence, texts"

_OF_REVIEWS: Final = ("reviewed", "review_withdrawn")
"""Kinds of event about answers of a person."""


class Ledger:
    """Events, images, marks and kept pairs in one database.

    All reading goes through `_rows`: what is damaged raises `LedgerDamaged`, which names the table
    or the row.
    """

    def __init__(self, database: Database) -> None:
        """Wraps a database whose ledger schema is up to date (see `migrations`)."""
        self.database = database

    @property
    def _db(self) -> sqlite3.Connection:
        return self.database.connection

    def transaction(self) -> AbstractContextManager[None]:
        """Opens a transaction, or joins one already open on the same database."""
        return self.database.transaction()

    def _rows(self, table: str, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Reads rows of a table.

        Raises:
            LedgerDamaged: They cannot be read.
            StoreError: The file is locked, or the disk fails.
        """
        try:
            return self._db.execute(statement, values).fetchall()
        except self.database.errors as problem:
            raise unreadable(problem, self.database.path, table) from problem

    def _has(self, table: str) -> bool:
        """Returns whether a table exists; files of older versions lack some."""
        try:
            return table_exists(self._db, table)
        except self.database.errors as problem:
            raise unreadable(problem, self.database.path, table) from problem

    def _write(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        """Executes one statement that changes rows."""
        with self.database.speaking():
            return self._db.execute(statement, values)

    def _write_many(self, statement: str, values: Iterable[Any]) -> None:
        """Executes a statement for each of many rows."""
        with self.database.speaking():
            self._db.executemany(statement, values)

    # ------------------------------------------------------------------ events and images

    def record(self, kind: str, run: str = "", data: JsonObject | None = None) -> int:
        """Appends one event.

        Returns:
            Its number.
        """
        written = self._write(
            "INSERT INTO events (at, run, kind, data) VALUES (?, ?, ?, ?)",
            (now(), run, kind, canonical(data or {})),
        )
        if kind in STARTS:
            self._write("INSERT OR IGNORE INTO open_runs VALUES (?)", (run,))
        elif kind in ENDS:
            self._write("DELETE FROM open_runs WHERE run = ?", (run,))
        return written.lastrowid or 0

    def open_runs(self) -> list[str]:
        """Returns runs whose start or undo has no event of its end, oldest first."""
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
        """Yields events in order, of one run or kind if given."""
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
        """Stores how records looked; needed to undo and to recover."""
        self._write_many(
            "INSERT INTO images (run, action, id, moment, body) VALUES (?, ?, ?, ?, ?)",
            (
                (
                    run,
                    image.action,
                    image.id,
                    image.moment,
                    None
                    if image.memory is None
                    else canonical(memory_to_json(image.memory, with_native=True)),
                )
                for image in images
            ),
        )

    def done_actions(self, run: str) -> set[Json]:
        """Returns the numbers of the actions of a run that were carried out."""
        return {event.data["action"] for event in self.events(run, "action_done")}

    def images(self, run: str) -> list[Image]:
        """Returns all images of a run, by action and id, rolled back actions included.

        Raises:
            LedgerDamaged: One cannot be read, or is missing.
        """
        rows = self._rows(
            "images",
            "SELECT action, id, moment, body FROM images WHERE run = ?"
            " ORDER BY action, id, moment DESC",
            (run,),
        )
        images = [image_of(row, self.database.path) for row in rows]
        check_paired(images, self.database.path)
        return images

    def has_images(self, run: str) -> bool:
        """Returns whether any image of a run is kept, readable or not."""
        return bool(self._rows("images", "SELECT 1 FROM images WHERE run = ? LIMIT 1", (run,)))

    def drop_images(self, run: str) -> int:
        """Destroys the images of a run (only `purge` does this).

        Returns:
            How many there were.
        """
        return self._write("DELETE FROM images WHERE run = ?", (run,)).rowcount

    def runs_touching(self, id_: str) -> list[str]:
        """Returns the runs that hold an image of a record, oldest first."""
        rows = self._rows(
            "images",
            "SELECT i.run, min(e.seq) AS first FROM images i JOIN events e ON e.run = i.run"
            " WHERE i.id = ? GROUP BY i.run ORDER BY first",
            (id_,),
        )
        return [text_of(run, self.database.path, "the run of an image") for run, _ in rows]

    # ------------------------------------------------------------------ marks

    def mark(self, marks: Iterable[Mark]) -> None:
        """Hides memories; one that is hidden already is an error of the caller (primary key)."""
        self._write_many(
            "INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (m.duplicate, m.survivor, m.run, m.verdict, m.similarity, m.evidence, m.texts)
                for m in marks
            ),
        )

    def own_marks(self) -> dict[str, Mark]:
        """Returns the standing marks made through this ledger; its events must agree with them."""
        return self.marks()

    def sticky(self) -> set[str]:
        """Returns survivors of removed duplicates, which no standing mark names.

        A store that records for which survivor it removed something names those here.
        """
        return set()

    def unmark(self, duplicates: Iterable[str]) -> None:
        """Makes memories visible again."""
        self._write_many("DELETE FROM marks WHERE duplicate = ?", ((d,) for d in duplicates))

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Returns marks by hidden id, of one run if given."""
        return self._marks("?1 IS NULL OR run = ?1", (run,))

    def marks_of(self, ids: Sequence[str]) -> dict[str, Mark]:
        """Returns marks of some hidden memories, by id."""
        return self._marks(f"duplicate IN ({','.join('?' * len(ids))})", list(ids))

    def _marks(self, where: str, values: Any) -> dict[str, Mark]:
        """Returns the marks a condition selects, by hidden id."""
        rows = self._rows(
            "marks", f"SELECT {_MARK} FROM marks WHERE {where} ORDER BY duplicate", values
        )
        return {row[0]: mark_of(row, self.database.path) for row in rows}

    # ------------------------------------------------------------------ kept both, plans, facts

    def keep(self, pairs: Iterable[Kept]) -> None:
        """Records pairs as different; they are asked about again only when one changes."""
        self._write_many(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)",
            ((k.a, k.b, k.print_a, k.print_b) for k in pairs),
        )

    def kept(self) -> list[Kept]:
        """Returns all pairs kept apart, by ids."""
        return self.own_kept()

    def own_kept(self) -> list[Kept]:
        """Returns the pairs that were recorded through this ledger; only they can be taken back."""
        rows = self._rows("kept", "SELECT a, b, print_a, print_b FROM kept ORDER BY a, b")
        return [kept_of(row, self.database.path) for row in rows]

    def kept_count(self) -> int:
        """Returns how many pairs are kept apart."""
        rows = self._rows("kept", "SELECT count(*) FROM kept")
        return int(rows[0][0]) if rows else 0

    def keep_no_more(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Takes back that pairs are different.

        Args:
            pairs: Ids, smaller first.

        Returns:
            Those that were recorded here.
        """
        statement = "DELETE FROM kept WHERE a = ? AND b = ?"
        return [pair for pair in pairs if self._write(statement, pair).rowcount]

    def use_plan(self, plan: str, run: str) -> None:
        """Records that a plan was used."""
        self._write("INSERT INTO used_plans VALUES (?, ?)", (plan, run))

    def run_of_plan(self, plan: str) -> str | None:
        """Returns the run that used a plan, or None."""
        rows = self._rows("used_plans", "SELECT run FROM used_plans WHERE plan = ?", (plan,))
        return str(rows[0][0]) if rows else None

    def fact(self, key: str) -> str | None:
        """Returns a named value kept with the ledger, such as the identity of the store."""
        rows = self._rows("facts", "SELECT value FROM facts WHERE key = ?", (key,))
        return text_of(rows[0][0], self.database.path, f"the fact {key!r}") if rows else None

    def set_fact(self, key: str, value: str) -> None:
        """Sets a named value."""
        self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, value))

    # ------------------------------------------------------------------ said again

    def confirm(self, id_: str, data: JsonObject) -> int:
        """Counts that a memory was said again; the memory itself stays as it is.

        Args:
            id_: The memory.
            data: Other parts of the event.

        Returns:
            How often it was said again so far.
        """
        self.record("confirmed", data={**data, "id": id_})
        self._write(CONFIRM, (id_, now()))
        return self.confirmations(id_)

    def confirmations(self, id_: str) -> int:
        """Returns how often a memory was said again after the first time."""
        if not self._has("confirmations"):
            return 0
        rows = self._rows("confirmations", "SELECT times FROM confirmations WHERE id = ?", (id_,))
        times = rows[0][0] if rows else 0
        if not isinstance(times, int):
            raise damaged(self.database.path, f"the confirmation of {id_!r}", "has no number")
        return times

    def keep_answer(self, key: str, data: JsonObject) -> None:
        """Records an answer under a key, so that a retry gets the same one."""
        answer = {**data, "key": key}
        self.record("answered", data=answer)
        self._write(ANSWER, (key, canonical(answer)))

    def answer(self, key: str) -> JsonObject | None:
        """Returns the answer recorded under a key, or None."""
        if not self._has("answers"):
            return None
        rows = self._rows("answers", "SELECT body FROM answers WHERE key = ?", (key,))
        what = f"the answer under {key!r}"
        return object_of(rows[0][0], self.database.path, what) if rows else None

    # ------------------------------------------------------------------ reviews

    def save_reviews(self, bodies: Iterable[JsonObject]) -> list[int]:
        """Records answers of a person, each under the `key` of what was asked.

        Returns:
            The number of each event.
        """
        numbers = []
        for body in bodies:
            numbers.append(self.record("reviewed", data=body))
            self._write(REVIEW, (body["key"], numbers[-1], canonical(body)))
        return numbers

    def withdraw_reviews(self, keys: Iterable[str]) -> None:
        """Records that a person took answers back."""
        for key in keys:
            self.record("review_withdrawn", data={"key": key})
            self._write(WITHDRAW, (key,))

    def last_review(self) -> int:
        """Returns the number of the latest event about an answer of a person, or 0."""
        return max(
            (
                int(number)
                for kind in _OF_REVIEWS
                for (number,) in self._rows(
                    "events",
                    "SELECT seq FROM events WHERE run = '' AND kind = ? ORDER BY seq DESC LIMIT 1",
                    (kind,),
                )
            ),
            default=0,
        )

    def reviews(self) -> dict[str, tuple[int, JsonObject]]:
        """Returns the standing answers of people by key: the number of the event, and its data."""
        if not self._has("reviews"):
            return {}
        rows = self._rows("reviews", "SELECT key, number, body FROM reviews ORDER BY number")
        path = self.database.path
        reviews = {}
        for key, number, body in rows:
            what = f"the review {text_of(key, path, 'a review')!r}"
            if not isinstance(number, int):
                raise damaged(path, what, "has no number")
            reviews[key] = number, object_of(body, path, what)
        return reviews

    def reviews_by_events(self) -> dict[str, tuple[int, JsonObject]]:
        """Returns what `reviews` has to return, read from the events."""
        reviews: dict[str, tuple[int, JsonObject]] = {}
        events = [event for kind in _OF_REVIEWS for event in self.events(kind=kind)]
        for event in sorted(events, key=lambda event: event.seq):
            key = str(event.data["key"])
            reviews.pop(key, None)
            if event.kind == "reviewed":
                reviews[key] = event.seq, event.data
        return reviews

    def count_again(self) -> None:
        """Makes confirmations, answers and reviews anew from the events."""
        count_again(self._db)

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
        """Yields every row of the lineage as (table, row), unchecked.

        One by one: images may be as large as the store.

        Raises:
            LedgerDamaged: A table cannot be read.
            StoreError: The file is locked, or the disk fails.
        """
        for table, columns in self.TABLES.items():
            names = columns.split(", ")
            try:
                for row in self._db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2"):
                    yield table, dict(zip(names, row, strict=True))
            except self.database.errors as problem:
                raise unreadable(problem, self.database.path, table) from problem

    def load(self, rows: Iterable[tuple[str, JsonObject]]) -> int:
        """Adds the rows of another ledger to this one, which must hold no lineage yet.

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
        """Returns whether nothing was ever recorded."""
        return not self._rows("events", "SELECT 1 FROM events LIMIT 1")
