"""Ledger of what was done to a store, with the images to undo it.

Append-only; an event is written before what it describes.

Events are the truth; `marks` and `kept` are projections of them for fast look-up (`check` compares
the two). An SQLite file of echoless holds its own ledger, and so does a database of PostgreSQL, so
that a change and its record share one transaction; any other store has the ledger beside it, in a
sidecar file. Statements are those that SQLite and PostgreSQL share (`LedgerDatabase`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from itertools import groupby
from typing import Any, Final

from echoless.core.batches import batched
from echoless.core.model import Json, JsonObject, Memory, canonical
from echoless.core.sqlite import Cell
from echoless.core.text import has_utf8
from echoless.core.text import unreadable as unreadable_text
from echoless.core.timestamps import now
from echoless.stores.ledger_rows import (
    COLUMNS,
    UPDATE,
    Event,
    Image,
    Kept,
    Mark,
    Moment,
    Place,
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
    ENDS,
    STARTS,
    UPDATES,
    LedgerDatabase,
    count_again,
    find_open,
    project,
    write_over,
    write_updates,
)

__all__ = ["Event", "Image", "Kept", "Ledger", "Mark", "Moment"]

_OF_REVIEWS: Final = ("reviewed", "review_withdrawn")
"""Kinds of event about answers of a person."""

FORGOTTEN: Final = "forgotten"
"""Kind of the events about what is to stay forgotten; stands in the place of a run in them."""

_QUOTING: Final = frozenset(
    {"evidence", "changed", "conflicts", "reason", "why", "sentence", "note", "text"}
    | {"texts", "fingerprint", "preview"}
)
"""Names in events under which words of memories stand, or digests of them."""

_BATCH: Final = 500
"""Number of rows in one write of `load`, and of ids in one statement."""


class Ledger:
    """Events, images, marks and kept pairs in one database.

    All reading goes through `_rows`: what is damaged raises `LedgerDamaged`, which names the table
    or the row.
    """

    def __init__(self, database: LedgerDatabase) -> None:
        """Wraps a database whose ledger schema is up to date (see `migrations`)."""
        self.database = database

    @property
    def _place(self) -> Place:
        return self.database.place

    def transaction(self) -> AbstractContextManager[None]:
        """Opens a transaction, or joins one already open on the same database."""
        return self.database.transaction()

    def _table(self, name: str) -> str:
        """Returns the name of a table for statements."""
        return self.database.table(name)

    def _rows(
        self, table: str, statement: str, values: Sequence[Cell] = ()
    ) -> list[tuple[Any, ...]]:
        """Reads rows of a table.

        Raises:
            LedgerDamaged: They cannot be read.
            StoreError: The database is locked or cannot be reached, or the disk fails.
        """
        try:
            return self.database.rows(statement, values)
        except self.database.errors as problem:
            raise unreadable(problem, self.database, table) from problem

    def _chosen(self, table: str, where: str, values: Sequence[Cell] = ()) -> list[tuple[Any, ...]]:
        """Reads the rows of a table that meet a condition, as `COLUMNS` lists their cells."""
        query = f"SELECT {COLUMNS[table]} FROM {self._table(table)} WHERE {where}"
        return self._rows(table, query, values)

    def _add(self, table: str, rows: Iterable[Sequence[Cell]]) -> None:
        """Adds rows to a table, with cells as `COLUMNS` lists them."""
        places = ", ".join("?" * len(COLUMNS[table].split(", ")))
        self._write_many(
            f"INSERT INTO {self._table(table)} ({COLUMNS[table]}) VALUES ({places})", rows
        )

    def _write(self, statement: str, values: Sequence[Cell] = ()) -> int:
        """Executes one statement that changes rows, and returns the number of changed rows."""
        with self.database.speaking():
            return self.database.change(statement, values)

    def _write_many(self, statement: str, values: Iterable[Sequence[Cell]]) -> None:
        """Executes a statement for each of many rows."""
        with self.database.speaking():
            self.database.change_many(statement, values)

    # ------------------------------------------------------------------ events and images

    def record(self, kind: str, run: str = "", data: JsonObject | None = None) -> int:
        """Appends one event, and takes it into the projections.

        Returns:
            Its number.
        """
        at, details = now(), data or {}
        with self.database.speaking():
            number = self.database.append(
                f"INSERT INTO {self._table('events')} (at, run, kind, data) VALUES (?, ?, ?, ?)",
                (at, run, kind, canonical(details)),
            )
            project(self.database, number, kind, at, details)
        if kind in STARTS:
            insert = f"INSERT INTO {self._table('open_runs')} (run) VALUES (?)"
            self._write(f"{insert} ON CONFLICT DO NOTHING", (run,))
        elif kind in ENDS:
            self._write(f"DELETE FROM {self._table('open_runs')} WHERE run = ?", (run,))
        return number

    def record_all(self, kind: str, run: str, data: Iterable[JsonObject]) -> None:
        """Appends many events of one kind, which neither starts nor ends a run."""
        self._write_many(
            f"INSERT INTO {self._table('events')} (at, run, kind, data) VALUES (?, ?, ?, ?)",
            ((now(), run, kind, canonical(each)) for each in data),
        )

    def open_runs(self) -> list[str]:
        """Returns runs whose start or undo has no event of its end, oldest first."""
        rows = self._rows(
            "open_runs",
            f"SELECT run, (SELECT min(seq) FROM {self._table('events')} e WHERE e.run = o.run)"
            f" AS first FROM {self._table('open_runs')} o ORDER BY first",
        )
        for run, first in rows:
            if first is None:
                raise damaged(self._place, f"the open run {run!r}", "has no events")
        return [text_of(run, self._place, "an open run") for run, _ in rows]

    def events(self, run: str | None = None, kind: str | None = None) -> Iterator[Event]:
        """Yields events in order, of one run or kind if given."""
        if run is not None and unreadable_text(run):  # no database could even be asked for it
            return
        wanted = {name: each for name, each in (("run", run), ("kind", kind)) if each is not None}
        where = " AND ".join(f"{name} = ?" for name in wanted) or "true"
        for row in self._chosen("events", f"{where} ORDER BY seq", tuple(wanted.values())):
            yield event_of(row, self._place)

    def save_images(self, run: str, images: Iterable[Image]) -> None:
        """Stores how records looked; needed to undo and to recover."""
        rows = ((run, each.action, each.id, each.moment, each.body) for each in images)
        self._add("images", rows)

    def done_actions(self, run: str) -> set[Json]:
        """Returns the numbers of the actions of a run that were carried out."""
        return {event.data["action"] for event in self.events(run, "action_done")}

    def images(self, run: str) -> list[Image]:
        """Returns all images of a run, by action and id, rolled back actions included.

        Raises:
            LedgerDamaged: One cannot be read, or is missing.
        """
        rows = self._chosen("images", "run = ? ORDER BY action, id, moment DESC", (run,))
        images = [image_of(row, self._place) for row in rows]
        check_paired(images, self._place)
        return images

    def has_images(self, run: str) -> bool:
        """Returns whether any image of a run is kept, readable or not."""
        query = f"SELECT 1 FROM {self._table('images')} WHERE run = ? LIMIT 1"
        return bool(self._rows("images", query, (run,)))

    def drop_images(self, run: str) -> int:
        """Destroys the images of a run (only `purge` does this).

        Returns:
            How many there were.
        """
        return self._write(f"DELETE FROM {self._table('images')} WHERE run = ?", (run,))

    def redact(self, ids: Collection[str]) -> None:
        """Takes words of memories, and digests of them, out of the lineage: `forget` alone does so.

        It is the one change that events take; what was done, when and to which id stays.

        Args:
            ids: The memories; call inside a transaction.
        """
        named = [canonical(id_) for id_ in ids]
        rows = self._rows("events", f"SELECT data, seq FROM {self._table('events')}")
        about = [(data, seq) for data, seq in rows if any(name in data for name in named)]
        changed = [(canonical(_redacted(json.loads(data))), seq) for data, seq in about]
        with self.database.speaking(), self.database.rewriting():
            update = f"UPDATE {self._table('events')} SET data = ? WHERE seq = ?"
            self.database.change_many(update, changed)
            count_again(self.database)
        self.keep_no_more(pair.ids for pair in self.kept_of(ids))

    def runs_touching(self, id_: str) -> list[str]:
        """Returns the runs that hold an image of a record, oldest first."""
        rows = self._rows(
            "images",
            f"SELECT i.run, min(e.seq) AS first FROM {self._table('images')} i"
            f" JOIN {self._table('events')} e ON e.run = i.run"
            " WHERE i.id = ? GROUP BY i.run ORDER BY first",
            (id_,),
        )
        return [text_of(run, self._place, "the run of an image") for run, _ in rows]

    # ------------------------------------------------------------------ marks

    def mark(self, marks: Iterable[Mark]) -> None:
        """Hides memories; one that is hidden already is an error of the caller (primary key)."""
        self._add("marks", map(astuple, marks))

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
        statement = f"DELETE FROM {self._table('marks')} WHERE duplicate = ?"
        self._write_many(statement, ((d,) for d in duplicates))

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Returns marks by hidden id, of one run if given."""
        return self._marks("true", ()) if run is None else self._marks("run = ?", (run,))

    def marks_of(self, ids: Iterable[str]) -> dict[str, Mark]:
        """Returns marks of some hidden memories, by id."""
        return self._marks_where("duplicate", ids)

    def marks_about(self, ids: Collection[str]) -> dict[str, Mark]:
        """Returns the marks of some memories, whether hidden or visible, by hidden id.

        It costs what is returned, not what the ledger holds.
        """
        marks = {**self._marks_where("duplicate", ids), **self._marks_where("survivor", ids)}
        return {id_: marks[id_] for id_ in sorted(marks)}

    def _marks_where(self, column: str, ids: Iterable[str]) -> dict[str, Mark]:
        """Returns the marks with one of some ids in a column, by hidden id."""
        marks: dict[str, Mark] = {}
        for batch in _batches(ids):
            marks.update(self._marks(f"{column} IN ({','.join('?' * len(batch))})", batch))
        return {id_: marks[id_] for id_ in sorted(marks)}

    def _marks(self, where: str, values: Sequence[Cell]) -> dict[str, Mark]:
        """Returns the marks a condition selects, by hidden id."""
        rows = self._chosen("marks", f"{where} ORDER BY duplicate", values)
        return {row[0]: mark_of(row, self._place) for row in rows}

    # ------------------------------------------------------------------ kept both, plans, facts

    def keep(self, pairs: Iterable[Kept]) -> None:
        """Records pairs as different; a pair is asked about again only after a change of a text."""
        with self.database.speaking():
            write_over(self.database, "kept", COLUMNS["kept"], map(astuple, pairs), keys=2)

    def kept(self) -> list[Kept]:
        """Returns all pairs kept apart, by ids."""
        return self.own_kept()

    def kept_of(self, ids: Collection[str]) -> list[Kept]:
        """Returns the pairs kept apart with at least one of some memories, by ids.

        It costs what is returned, not what the ledger holds.
        """
        pairs: dict[tuple[str, str], Kept] = {}
        for batch in _batches(ids):
            places = ",".join("?" * len(batch))
            for column in ("a", "b"):
                for row in self._chosen("kept", f"{column} IN ({places})", batch):
                    pair = kept_of(row, self._place)
                    pairs[pair.ids] = pair
        return [pairs[both] for both in sorted(pairs)]

    def own_kept(self) -> list[Kept]:
        """Returns the pairs that were recorded through this ledger; only they can be taken back."""
        rows = self._chosen("kept", "true ORDER BY a, b")
        return [kept_of(row, self._place) for row in rows]

    def kept_count(self) -> int:
        """Returns how many pairs are kept apart."""
        rows = self._rows("kept", f"SELECT count(*) FROM {self._table('kept')}")
        return int(rows[0][0]) if rows else 0

    def keep_no_more(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Takes back that pairs are different.

        Args:
            pairs: Ids, smaller first.

        Returns:
            The pairs that this ledger had recorded.
        """
        statement = f"DELETE FROM {self._table('kept')} WHERE a = ? AND b = ?"
        return [pair for pair in pairs if self._write(statement, pair)]

    def use_plan(self, plan: str, run: str) -> None:
        """Records that a plan was used."""
        table = self._table("used_plans")
        self._write(f"INSERT INTO {table} (plan, run) VALUES (?, ?)", (plan, run))

    def run_of_plan(self, plan: str) -> str | None:
        """Returns the run that used a plan, or None."""
        query = f"SELECT run FROM {self._table('used_plans')} WHERE plan = ?"
        rows = self._rows("used_plans", query, (plan,))
        return str(rows[0][0]) if rows else None

    def fact(self, key: str) -> str | None:
        """Returns a named value kept with the ledger, such as the identity of the store."""
        query = f"SELECT value FROM {self._table('facts')} WHERE key = ?"
        rows = self._rows("facts", query, (key,))
        return text_of(rows[0][0], self._place, f"the fact {key!r}") if rows else None

    def set_fact(self, key: str, value: str) -> None:
        """Sets a named value."""
        with self.database.speaking():
            write_over(self.database, "facts", "key, value", [(key, value)])

    # ------------------------------------------------------------------ said again

    def confirm(self, id_: str, data: JsonObject) -> int:
        """Counts a repetition of a memory, whose record stays unchanged.

        Args:
            id_: The memory.
            data: Other parts of the event.

        Returns:
            Number of repetitions so far.
        """
        self.record("confirmed", data={**data, "id": id_})
        return self.confirmations(id_)

    def confirmations(self, id_: str) -> int:
        """Returns how often a memory was said again after the first time."""
        query = f"SELECT times FROM {self._table('confirmations')} WHERE id = ?"
        rows = self._rows("confirmations", query, (id_,))
        times = rows[0][0] if rows else 0
        if not isinstance(times, int):
            raise damaged(self._place, f"the confirmation of {id_!r}", "has no number")
        return times

    def keep_answer(self, key: str, data: JsonObject) -> None:
        """Records an answer under a key, so that a retry gets the same one."""
        self.record("answered", data={**data, "key": key})

    def answer(self, key: str) -> JsonObject | None:
        """Returns the answer recorded under a key, or None."""
        query = f"SELECT body FROM {self._table('answers')} WHERE key = ?"
        rows = self._rows("answers", query, (key,))
        what = f"the answer under {key!r}"
        return object_of(rows[0][0], self._place, what) if rows else None

    # ------------------------------------------------------------------ updates

    def update(self, updates: Iterable[JsonObject]) -> None:
        """Takes in updates: ids `older` and `newer`, and `texts`, as `texts_key` gives them."""
        with self.database.speaking():
            write_updates(self.database, updates)

    def updates_about(self, ids: Iterable[str]) -> set[Mark]:
        """Returns the updates among visible memories that name one of some ids, as marks.

        A ledger of an older version, which is read as it is, has none.
        """
        updates: set[Mark] = set()
        made = f"SELECT 1 FROM {self._table('migrations')} WHERE name = ?"
        if not self._rows("migrations", made, (f"ledger/{UPDATES}",)):
            return updates
        for batch in _batches(ids):
            named = f"IN ({','.join('?' * len(batch))})"
            query = f"SELECT older, newer, '', ?, NULL, '', texts FROM {self._table('updates')}"
            query += f" WHERE older {named} OR newer {named}"
            rows = self._rows("updates", query, (UPDATE, *batch, *batch))
            updates.update(mark_of(row, self._place) for row in rows)
        return updates

    # ------------------------------------------------------------------ reviews

    def save_reviews(self, bodies: Iterable[JsonObject]) -> list[int]:
        """Records answers of a person, each under the `key` of what was asked.

        Returns:
            The number of each event.
        """
        return [self.record("reviewed", data=body) for body in bodies]

    def withdraw_reviews(self, keys: Iterable[str]) -> None:
        """Records that a person took answers back."""
        for key in keys:
            self.record("review_withdrawn", data={"key": key})

    def last_review(self) -> int:
        """Returns the number of the latest event about an answer of a person, or 0."""
        query = f"SELECT seq FROM {self._table('events')} WHERE run = '' AND kind = ?"
        latest = f"{query} ORDER BY seq DESC LIMIT 1"
        rows = [row for kind in _OF_REVIEWS for row in self._rows("events", latest, (kind,))]
        return max((int(number) for (number,) in rows), default=0)

    def reviews(self) -> dict[str, tuple[int, JsonObject]]:
        """Returns the standing answers of people by key: the number of the event, and its data."""
        query = f"SELECT key, number, body FROM {self._table('reviews')} ORDER BY number"
        rows, place = self._rows("reviews", query), self._place
        reviews = {}
        for key, number, body in rows:
            what = f"the review {text_of(key, place, 'a review')!r}"
            if not isinstance(number, int):
                raise damaged(place, what, "has no number")
            reviews[key] = number, object_of(body, place, what)
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
        """Makes confirmations, answers, reviews and updates anew from the events."""
        with self.database.speaking():
            count_again(self.database)

    # ------------------------------------------------------------------ carrying over

    def dump(self) -> Iterator[tuple[str, JsonObject]]:
        """Yields every row of the lineage as (table, row), unchecked.

        One by one: images may be as large as the store.

        Raises:
            LedgerDamaged: A table cannot be read.
            StoreError: The file is locked, or the disk fails.
        """
        for table, columns in COLUMNS.items():
            names = columns.split(", ")
            try:
                query = f"SELECT {columns} FROM {self._table(table)} ORDER BY 1, 2"
                for row in self.database.stream(query):
                    cells: dict[str, Any] = dict(zip(names, row, strict=True))
                    yield table, cells
            except self.database.errors as problem:
                raise unreadable(problem, self.database, table) from problem

    def load(self, rows: Iterable[tuple[str, JsonObject]]) -> int:
        """Adds the rows of another ledger to this one, which must hold no lineage yet.

        Returns:
            How many rows were written.
        """
        count = 0
        for table, group in groupby(rows, key=lambda each: each[0]):
            columns = COLUMNS[table].split(", ")
            for batch in batched(group, _BATCH):
                cells: list[list[Any]] = [[row[column] for column in columns] for _, row in batch]
                self._add(table, cells)
                count += len(batch)
        with self.database.speaking():
            find_open(self.database)
            count_again(self.database)
        return count

    def is_empty(self) -> bool:
        """Returns whether nothing was ever recorded."""
        return not self._rows("events", f"SELECT 1 FROM {self._table('events')} LIMIT 1")


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """Returns ids in batches, each small enough for one statement.

    No row names an id that has no UTF-8, or one of a damaged record that is no text.
    """
    wanted = sorted({id_ for id_ in ids if isinstance(id_, str) and has_utf8(id_)})
    return batched(wanted, _BATCH)


def kept_apart(
    ledger: Ledger, memories: Mapping[str, Memory], *, part: bool = False
) -> set[tuple[str, str]]:
    """Returns the pairs a person wants to keep both of, as long as neither text changed.

    Args:
        ledger: Of the store.
        memories: By id.
        part: Whether they are few of the store: then only their pairs are read.
    """
    return {
        (pair.a, pair.b)
        for pair in (ledger.kept_of(memories.keys()) if part else ledger.kept())
        if pair.a in memories
        and pair.b in memories
        and pair.holds(memories[pair.a], memories[pair.b])
    }


def outdated(marks: Iterable[Mark], memories: Mapping[str, Memory]) -> list[Mark]:
    """Returns marks that no longer hold: a text was rewritten, or the hidden one is more in force.

    Args:
        marks: Any marks.
        memories: By id; marks of which one side is missing here are not judged.
    """
    both = (mark for mark in marks if mark.survivor in memories and mark.duplicate in memories)
    return [m for m in both if not m.holds(memories[m.survivor], memories[m.duplicate])]


def _redacted(data: Any) -> Any:
    """Returns the data of an event without words of memories."""
    if isinstance(data, dict):
        blank = {name: type(value)() for name, value in data.items() if name in _QUOTING}
        return {name: _redacted(value) for name, value in data.items()} | blank
    return [_redacted(each) for each in data] if isinstance(data, list) else data
