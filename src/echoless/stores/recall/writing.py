"""Statements that write rows of a Recall database; the caller holds the transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from echoless.stores.recall.layout import columns, quoted
from echoless.stores.recall.rows import Value


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Value]) -> None:
    """Adds a row; columns left out take their defaults."""
    marks, values = _bound(row)
    names = ", ".join(quoted(name) for name in row)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join(marks)})", values)


def update(db: sqlite3.Connection, table: str, number: int, row: Mapping[str, Value]) -> None:
    """Changes some columns of a row."""
    if not row:
        return
    marks, values = _bound(row)
    pairs = ", ".join(f"{quoted(n)} = {mark}" for n, mark in zip(row, marks, strict=True))
    db.execute(f"UPDATE {table} SET {pairs} WHERE id = ?", (*values, number))


def _bound(row: Mapping[str, Value]) -> tuple[list[str], list[Value]]:
    """Returns placeholders and values; a text that is not UTF-8 is written as its bytes."""
    marks: list[str] = []
    values: list[Value] = []
    for value in row.values():
        if isinstance(value, str) and not value.isascii():
            marks.append("CAST(? AS TEXT)")
            values.append(value.encode("utf-8", "surrogateescape"))
        else:
            marks.append("?")
            values.append(value)
    return marks, values


def exchange_embedding(
    db: sqlite3.Connection, table: str, number: int, new: Mapping[str, Value] | None
) -> None:
    """Replaces the vector of a row, under its old number if that is free, or removes it."""
    forget_embeddings(db, table, [number])
    if new is None:
        return
    taken = db.execute("SELECT 1 FROM embeddings WHERE id = ?", (new.get("id"),)).fetchone()
    row = {name: value for name, value in new.items() if name != "id" or not taken}
    insert(db, "embeddings", {"source_table": table, "source_id": number, **row})


def forget_embeddings(db: sqlite3.Connection, table: str, numbers: Sequence[int]) -> None:
    """Removes the vectors of some rows."""
    if columns(db, "embeddings"):
        db.executemany(
            "DELETE FROM embeddings WHERE source_table = ? AND source_id = ?",
            [(table, number) for number in numbers],
        )
