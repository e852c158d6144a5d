"""Rows of other tables that belong to a memory: links, access log, notifications, versions.

They are read before a record is changed, and kept in its image. Versions are state of the record,
so a put restores exactly those of the image. Log and notifications are a history that other
programs continue: a put gives the memory the rows of its image and leaves newer ones alone.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import StoreError
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject, Link, Memory
from echoless.stores.llm_memory.records import (
    LINKS,
    LOG,
    NOTES,
    VERSIONS,
    Raw,
    Tables,
    insert_row,
    native_object,
    native_rows,
    packed,
    same_value,
    sorted_text,
    unpacked,
)

_IDS: Final = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_NO_TIME: Final = "1970-01-01T00:00:00+00:00"
_FLAGS: Final = ("cascade_on_update", "cascade_on_delete")
_DATA: Final = frozenset({"id", "metadata", "created_at", "strength", *_FLAGS})
"""Keys a link's `data` may hold."""


def own_id(source: str, target: str, kind: str) -> str:
    """Returns the id of a link row that came without one: the same for the same link."""
    return str(uuid.uuid5(_IDS, json_text([source, target, kind])))


def link_of(row: Raw) -> Link:
    """Returns the link in a row; its `data` leaves out values at their defaults."""
    source, target, kind = (str(row[name]) for name in ("source_id", "target_id", "link_type"))
    data: dict[str, Json] = {}
    if row["id"] != own_id(source, target, kind):
        data["id"] = packed(row["id"])
    if row["created_at"] != _NO_TIME:
        data["created_at"] = str(row["created_at"])
    text = row.get("metadata")
    try:
        metadata: Json = json.loads(str(text)) if text else {}
    except ValueError:
        metadata = None
    if not isinstance(metadata, Mapping):  # a text that is no JSON object stays a text
        metadata = str(text)
    if metadata:
        data["metadata"] = metadata
    data |= {name: True for name in _FLAGS if row.get(name)}
    strength = row.get("strength")
    if isinstance(strength, int | float) and strength != 1.0:
        data["strength"] = float(strength)
    return Link(target, kind, data)


def row_of_link(source: str, link: Link) -> dict[str, Json]:
    """Returns the row of a link as this module writes it."""
    data = link.data
    metadata = data.get("metadata")
    return {
        "id": data.get("id", own_id(source, link.target, link.kind)),
        "source_id": source,
        "target_id": link.target,
        "link_type": link.kind,
        "metadata": sorted_text(metadata) if isinstance(metadata, Mapping) else metadata or "{}",
        "created_at": data.get("created_at", _NO_TIME),
        "cascade_on_update": int(bool(data.get("cascade_on_update"))),
        "cascade_on_delete": int(bool(data.get("cascade_on_delete"))),
        "strength": data.get("strength", 1.0),
    }


def odd_links(rows: Sequence[Raw]) -> JsonObject:
    """Returns, by id, the raw values of link rows that `row_of_link` would write otherwise."""
    by_id: dict[str, Json] = {}
    for row in rows:
        usual = row_of_link(str(row["source_id"]), link_of(row))
        odd = {
            name: packed(value)
            for name, value in row.items()
            if name not in usual or not same_value(value, usual[name])
        }
        if odd:
            by_id[str(row["id"])] = odd
    return by_id


def check_links(memory: Memory) -> None:
    """Refuses links a row cannot hold.

    Raises:
        StoreError: One has data without a place, or two are of one kind to one target.
    """
    seen: set[tuple[str, str]] = set()
    for link in memory.links:
        foreign = sorted(set(link.data) - _DATA)
        again = (link.target, link.kind) in seen
        seen.add((link.target, link.kind))
        if foreign or again:
            why = f"has no place for {foreign[0]!r}" if foreign else "has one link of a kind only"
            raise StoreError(
                f"The links of memory {memory.id!r} cannot be stored: between two memories "
                f"llm-memory {why} (link to {link.target!r}). Nothing was written."
            )


def read_links(
    db: sqlite3.Connection, layout: Tables, sources: Sequence[str]
) -> dict[str, list[Raw]]:
    """Reads rows of outgoing links by source, in the order they were added.

    Args:
        db: Of the file.
        layout: Of the file.
        sources: Ids of the memories to read.
    """
    if LINKS not in layout.columns:
        return {}
    names = layout.columns[LINKS]
    own = f"SELECT {', '.join(names)} FROM {LINKS} WHERE source_id = ? ORDER BY rowid"
    by_source: dict[str, list[Raw]] = {}
    for source in sources:
        for values in db.execute(own, (source,)).fetchall():
            row: Raw = dict(zip(names, values, strict=True))
            by_source.setdefault(str(row["source_id"]), []).append(row)
    return by_source


def sources_of(db: sqlite3.Connection, layout: Tables, targets: Sequence[str]) -> set[str]:
    """Returns the ids of the memories with a link to one of these."""
    if LINKS not in layout.columns:
        return set()
    places = ",".join("?" * len(targets))
    rows = db.execute(f"SELECT source_id FROM {LINKS} WHERE target_id IN ({places})", targets)
    return {str(source) for (source,) in rows.fetchall()}


def write_links(db: sqlite3.Connection, layout: Tables, memories: Sequence[Memory]) -> None:
    """Writes the outgoing links of memories; all memories are in place already.

    Raises:
        StoreError: A target is not in the store.
    """
    present = read_links(db, layout, [m.id for m in memories])
    changed = [
        memory
        for memory in memories
        if tuple(map(link_of, present.get(memory.id, ()))) != memory.links
    ]
    if changed and LINKS not in layout.columns:
        raise StoreError(f"The links of memory {changed[0].id!r} have no place in this old schema.")
    for memory in changed:
        db.execute(f"DELETE FROM {LINKS} WHERE source_id = ?", (memory.id,))
    for memory in changed:
        odd = native_object(memory, "links")
        for link in memory.links:  # a row taken over from a memory that is about to go keeps its id
            taken = row_of_link(memory.id, link)["id"]
            db.execute(f"DELETE FROM {LINKS} WHERE id = ?", (taken,))
            _insert(db, layout.columns[LINKS], memory.id, link, odd)


def _insert(
    db: sqlite3.Connection, names: Sequence[str], source: str, link: Link, odd: JsonObject
) -> None:
    """Writes one link; raw values of the image stay where they mean the same link."""
    if db.execute("SELECT 1 FROM memories WHERE id = ?", (link.target,)).fetchone() is None:
        raise StoreError(
            f"The links of memory {source!r} cannot be stored: {link.target!r} is not in the "
            "store, and llm-memory links stored memories only. Nothing was written."
        )
    row: dict[str, Json | bytes] = dict(row_of_link(source, link))
    raw = odd.get(str(row["id"]))
    if isinstance(raw, Mapping):
        former = {**row, **{name: unpacked(value) for name, value in raw.items()}}
        if link_of(former) == link:
            row = former
    insert_row(db, LINKS, {name: row.get(name) for name in names})


# ------------------------------------------------------------------ log, notifications, versions


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
        insert_row(db, side.table, {name: row[name] for name in names})


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
