"""Count of the rows of a damaged ledger that can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import LedgerDamaged
from echoless.stores.ledger_database import LedgerDatabase
from echoless.stores.ledger_rows import (
    Place,
    Row,
    event_of,
    image_of,
    kept_of,
    mark_of,
    unreadable,
)

_Reader = Callable[[Row, Place], object]

_TABLES: Final[tuple[tuple[str, str, str, _Reader], ...]] = (
    ("events", "seq, at, run, kind, data", "seq", event_of),
    ("images", "action, id, moment, body", "run, action, id, moment", image_of),
    ("marks", "duplicate, survivor, run, verdict, similarity, evidence, texts", "duplicate",
     mark_of),
    ("kept", "a, b, print_a, print_b", "a, b", kept_of),
)  # fmt: skip

_ENOUGH: Final = 3
"""Damaged rows that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Part:
    """Readable part of one table.

    Attributes:
        table: Its name: `events`, `images`, `marks` or `kept`.
        read: Number of sound rows.
        rows: Number of rows ever written; None where the file does not show it any more.
        wrong: What is wrong, one sentence each, at most `_ENOUGH` of them.
    """

    table: str
    read: int
    rows: int | None
    wrong: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Returns whether nothing is missing."""
        return not self.wrong and self.read == self.rows

    @property
    def says(self) -> str:
        """Returns how much can be read, in one sentence."""
        whole = f"of {self.rows:,}" if self.rows is not None else "of an unknown number"
        reason = f" ({'; '.join(self.wrong)})" if self.wrong else ""
        return f"Of the ledger {self.read:,} {whole} {self.table} can be read{reason}."


def survey(database: LedgerDatabase) -> list[Part]:
    """Reads every row of a ledger that can be read; never raises for damaged ones."""
    return [_part(database, *table) for table in _TABLES]


def _part(database: LedgerDatabase, table: str, columns: str, order: str, reader: _Reader) -> Part:
    """Reads one table from both ends."""
    wrong: list[str] = []
    read = seen = 0
    statement = f"SELECT {columns} FROM {database.table(table)} ORDER BY {order}"
    for row in _rows(database, statement, table, wrong):
        seen += 1
        try:
            reader(row, database.place)
            read += 1
        except LedgerDamaged as problem:
            wrong.append(problem.part)
    if len(wrong) > seen - read:  # besides damaged rows, the table did not go on to its end
        backward = ", ".join(f"{name} DESC" for name in order.split(", "))
        more, total = _rest(database, table, columns, backward, reader, seen)
        return Part(table, read + more, total, tuple(wrong[:_ENOUGH]))
    written = _numbered(database) if table == "events" else None
    return Part(table, read, max(seen, written or 0), tuple(wrong[:_ENOUGH]))


def _rest(
    database: LedgerDatabase, table: str, columns: str, backward: str, reader: _Reader, seen: int
) -> tuple[int, int | None]:
    """Returns the rows readable from the other end, and how many were ever written, or None.

    Events are numbered without gaps, so their number is known and each can be asked for by itself.
    """
    name, total = database.table(table), _numbered(database) if table == "events" else None
    if total is None:
        statement = f"SELECT {columns} FROM {name} ORDER BY {backward}"
    else:
        statement = f"SELECT {columns} FROM {name} WHERE seq > {seen} ORDER BY seq DESC"
    more = 0
    for row in _rows(database, statement, table, []):
        try:
            reader(row, database.place)
            more += 1
        except LedgerDamaged:
            continue
    return more, total


def _numbered(database: LedgerDatabase) -> int | None:
    """Returns how many events were ever written; None where that cannot be read."""
    try:
        return database.last_number("events")
    except database.errors as problem:
        if not database.is_damage(problem):
            raise database.translated(problem) from problem
        return None


def _rows(database: LedgerDatabase, statement: str, table: str, wrong: list[str]) -> Iterator[Row]:
    """Yields rows until the first that cannot be read; adds the reason to `wrong`.

    Raises:
        StoreError: The database is locked or cannot be reached, or the disk fails.
    """
    try:
        yield from database.stream(statement)
    except database.errors as problem:
        error = unreadable(problem, database, table)
        if not database.is_damage(problem):
            raise error from problem
        wrong.append(error.part if isinstance(error, LedgerDamaged) else str(error))
