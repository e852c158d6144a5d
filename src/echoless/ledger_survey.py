"""How much of a ledger can be read: counted row by row, whatever is wrong with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.failures import is_damage
from echoless.database import Database
from echoless.errors import LedgerDamaged
from echoless.ledger_rows import (
    Row,
    event_of,
    image_of,
    kept_of,
    mark_of,
    unreadable,
)

_Reader = Callable[[Row, Path | None], object]

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
    """What of one table can be read.

    Attributes:
        table: Its name: `events`, `images`, `marks` or `kept`.
        read: Rows that are what they should be.
        rows: Rows there were; None where the file does not tell any more.
        wrong: What is wrong, one sentence each, a few of them.
    """

    table: str
    read: int
    rows: int | None
    wrong: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is missing."""
        return not self.wrong and self.read == self.rows

    @property
    def says(self) -> str:
        """How much can be read, in one sentence."""
        whole = f"of {self.rows:,}" if self.rows is not None else "of an unknown number"
        reason = f" ({'; '.join(self.wrong)})" if self.wrong else ""
        return f"Of the ledger {self.read:,} {whole} {self.table} can be read{reason}."


def survey(database: Database) -> list[Part]:
    """Read every row of a ledger that can be read; never raises for what cannot."""
    return [_part(database, *table) for table in _TABLES]


def _part(database: Database, table: str, columns: str, order: str, reader: _Reader) -> Part:
    wrong: list[str] = []
    read = seen = 0
    forward = _rows(database, f"SELECT {columns} FROM {table} ORDER BY {order}", table, wrong)
    for row in forward:
        seen += 1
        try:
            reader(row, database.path)
            read += 1
        except LedgerDamaged as problem:
            wrong.append(problem.part)
    if wrong and _broken_off(wrong, read, seen):
        backward = ", ".join(f"{name} DESC" for name in order.split(", "))
        more, total = _rest(database, table, columns, backward, reader, seen)
        return Part(table, read + more, total, tuple(wrong[:_ENOUGH]))
    written = _numbered(database) if table == "events" else None
    return Part(table, read, max(seen, written or 0), tuple(wrong[:_ENOUGH]))


def _broken_off(wrong: list[str], read: int, seen: int) -> bool:
    """Whether the table itself could not be read to its end: one complaint more than rows."""
    return len(wrong) > seen - read


def _rest(
    database: Database, table: str, columns: str, backward: str, reader: _Reader, seen: int
) -> tuple[int, int | None]:
    """What can be read from the other end, and how many rows there were, where it is known.

    Events are numbered without gaps, so their number is known and each can be asked for by itself.
    """
    total = _numbered(database) if table == "events" else None
    if total is None:
        statement = f"SELECT {columns} FROM {table} ORDER BY {backward}"
    else:
        statement = f"SELECT {columns} FROM {table} WHERE seq > {seen} ORDER BY seq DESC"
    more = 0
    for row in _rows(database, statement, table, []):
        try:
            reader(row, database.path)
            more += 1
        except LedgerDamaged:
            continue
    return more, total


def _numbered(database: Database) -> int | None:
    """How many events were ever written."""
    for statement in (
        "SELECT seq FROM sqlite_sequence WHERE name = 'events'",
        "SELECT max(seq) FROM events",
    ):
        for (number,) in _rows(database, statement, "events", []):
            if isinstance(number, int):
                return number
    return None


def _rows(database: Database, statement: str, table: str, wrong: list[str]) -> Iterator[Row]:
    """Rows until the first that cannot be read.

    Raises:
        StoreError: The file is locked, or the disk fails.
    """
    try:
        yield from database.connection.execute(statement)
    except database.errors as problem:
        error = unreadable(problem, database.path, table)
        if not is_damage(problem):
            raise error from problem
        wrong.append(error.part if isinstance(error, LedgerDamaged) else str(error))
