"""Rows of other tables that belong to a memory: its access log, notifications, versions.

They are read before a record is changed, and kept in its image. Versions are state of the record,
so a put restores exactly those of the image. Log and notifications are a history that other
programs continue: a put gives the memory the rows of its image and leaves newer ones alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.model import Json, Memory
from echoless.stores.llm_memory.layout import LOG, NOTES, VERSIONS, Tables
from echoless.stores.llm_memory.records import Raw, native_rows, packed


@dataclass(frozen=True, slots=True)
class Side:
    """Table with rows that belong to memories.

    Attributes:
        key: Its key in `native`.
        table: Its name.
        owners: Columns that name a memory.
        exact: Whether a put also removes rows the image does not have.
    """

    key: str
    table: str
    owners: tuple[str, ...]
    exact: bool = False


SIDES: Final = (
    Side("log", LOG, ("memory_id",)),
    Side("versions", VERSIONS, ("memory_id",), exact=True),
    Side("notifications", NOTES, ("source_memory_id", "target_memory_id")),
)

KEYS: Final = frozenset(side.key for side in SIDES)
"""Keys of `native` that only a memory read with its side tables has."""


def read_sides(db: sqlite3.Connection, layout: Tables, id_: str) -> dict[str, Json]:
    """Reads the rows of all side tables of one memory, for its `native`."""
    return {
        side.key: [{name: packed(value) for name, value in row.items()} for row in rows]
        for side in SIDES
        if side.table in layout.columns
        for rows in [_rows(db, layout, side, id_)]
    }


def _rows(db: sqlite3.Connection, layout: Tables, side: Side, id_: str) -> list[Raw]:
    """Reads the rows of one memory in one side table."""
    names = layout.columns[side.table]
    where = " OR ".join(f"{owner} = ?1" for owner in side.owners)
    rows = db.execute(
        f"SELECT {', '.join(names)} FROM {side.table} WHERE {where} ORDER BY id", (id_,)
    ).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def write_sides(db: sqlite3.Connection, layout: Tables, memories: Sequence[Memory]) -> None:
    """Gives memories the side rows of their images; an image without any changes nothing."""
    for side in SIDES:
        if side.table not in layout.columns:
            continue
        wanted = {m.id: rows for m in memories if (rows := native_rows(m, side.key)) is not None}
        if side.exact:
            for id_, rows in wanted.items():
                ids = {row["id"] for row in rows}
                others = [row["id"] for row in _rows(db, layout, side, id_) if row["id"] not in ids]
                drop = f"DELETE FROM {side.table} WHERE id = ?"
                db.executemany(drop, ((other,) for other in others))
        for id_, rows in wanted.items():
            for row in rows:
                _set(db, layout, side, row, id_)


def _set(db: sqlite3.Connection, layout: Tables, side: Side, row: Raw, id_: str) -> None:
    """Points an existing row at its memory, or inserts it again.

    A row between two memories is in the images of both; each speaks for its own end only.
    """
    owned = "SELECT 1 FROM memories WHERE id = ?"
    if db.execute(f"SELECT 1 FROM {side.table} WHERE id = ?", (row["id"],)).fetchone() is not None:
        for owner in side.owners:
            if row[owner] == id_:
                db.execute(f"UPDATE {side.table} SET {owner} = ? WHERE id = ?", (id_, row["id"]))
    elif all(db.execute(owned, (row[owner],)).fetchone() is not None for owner in side.owners):
        # a row whose other memory is gone by now stays out
        names = [name for name in layout.columns[side.table] if name in row]
        places = ", ".join("?" * len(names))
        db.execute(
            f"INSERT INTO {side.table} ({', '.join(names)}) VALUES ({places})",
            [row[name] for name in names],
        )


def moved(rows: Sequence[Raw], side: Side, owner: Mapping[str, str]) -> list[Json]:
    """Returns rows with their new owners, as JSON for an image.

    Args:
        rows: Rows of one side table.
        side: The table.
        owner: New owner by old one.
    """
    made: list[Json] = []
    for row in rows:
        new = {o: owner.get(str(row[o]), row[o]) for o in side.owners}
        made.append({name: packed(value) for name, value in {**row, **new}.items()})
    return made
