"""Rows of other tables that belong to a memory: links, access log, notifications, versions.

They are read before a record is changed, and kept in its image. Versions are state of the record,
so a put restores exactly those of the image. Log and notifications are a history that other
programs continue: a put gives the memory the rows of its image and leaves newer ones alone.

What a survivor takes over (`unite`) differs from the common rules where the store has fields of its
own: time of creation stays, the time of change is that of the merge, tags are sorted, sources are
listed in `consolidated_from`, the earlier state becomes a version, and there is one link of a kind
between two memories.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echoless.core.groups import grouped
from echoless.core.json_codec import json_text, json_value
from echoless.core.model import Json, JsonObject, Link, Memory
from echoless.core.sqlite import Cell
from echoless.core.timestamps import instant
from echoless.stores.column_values import cell_to_json
from echoless_programs.stores.llm_memory.records import (
    LINKS,
    LOG,
    NOTES,
    VERSIONS,
    Tables,
    row_of,
    sorted_text,
)
from echoless_programs.stores.program_file import (
    Row,
    columns,
    insert,
    kept_form,
    packed,
    rows,
    unpacked,
)

_VERSION_IDS: Final = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
_IDS: Final = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_NO_TIME: Final = "1970-01-01T00:00:00+00:00"
_FLAGS: Final = ("cascade_on_update", "cascade_on_delete")


def own_id(source: str, target: str, kind: str) -> str:
    """Returns the id of a link row that came without one: the same for the same link."""
    return str(uuid.uuid5(_IDS, json_text([source, target, kind])))


def link_of(row: Row) -> Link:
    """Returns the link in a row; its `data` leaves out values at their defaults."""
    source, target, kind = (str(row[name]) for name in ("source_id", "target_id", "link_type"))
    data: dict[str, Json] = {}
    if row["id"] != own_id(source, target, kind):
        data["id"] = cell_to_json(row["id"])
    if row["created_at"] != _NO_TIME:
        data["created_at"] = str(row["created_at"])
    text = row.get("metadata")
    metadata: Json = json_value(text) if text else {}
    if not isinstance(metadata, Mapping):  # a text that is no JSON object stays a text
        metadata = str(text)
    if metadata:
        data["metadata"] = metadata
    data |= {name: True for name in _FLAGS if row.get(name)}
    strength = row.get("strength")
    if isinstance(strength, int | float) and strength != 1.0:
        data["strength"] = float(strength)
    return Link(target, kind, data)


def row_of_link(source: str, link: Link) -> dict[str, Cell]:
    """Returns the row of a link as this module writes it."""
    data = link.data
    metadata = data.get("metadata")
    row = {
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
    return unpacked(row)


def read_links(db: sqlite3.Connection, sources: Sequence[str]) -> dict[str, list[Row]]:
    """Reads rows of outgoing links by source, in the order they were added."""
    return grouped((str(row["source_id"]), row) for row in rows(db, LINKS, "source_id", sources))


def write_links(db: sqlite3.Connection, memories: Sequence[Memory]) -> None:
    """Writes the outgoing links of memories that have others; all memories are in place already.

    A link to a memory that is not there is left out.
    """
    present = read_links(db, [memory.id for memory in memories])
    for memory in memories:
        if tuple(map(link_of, present.get(memory.id, ()))) == memory.links:
            continue
        db.execute(f"DELETE FROM {LINKS} WHERE source_id = ?", (memory.id,))
        saved = memory.native.get("links")
        for link in memory.links:
            plain = row_of_link(memory.id, link)
            former = unpacked(saved.get(str(plain["id"]))) if isinstance(saved, Mapping) else {}
            row = kept_form(plain, [{**plain, **former}], _meant_link)
            # a row taken over from a memory that is about to go keeps its id
            db.execute(f"DELETE FROM {LINKS} WHERE id = ?", (row["id"],))
            if is_there(db, link.target):
                insert(db, LINKS, {name: row.get(name) for name in columns(db, LINKS)})


def _meant_link(row: Row) -> Row:
    """Returns the row of a link as this module writes it."""
    return row_of_link(str(row["source_id"]), link_of(row))


def is_there(db: sqlite3.Connection, id_: Cell) -> bool:
    """Returns whether a memory is in the file."""
    return db.execute("SELECT 1 FROM memories WHERE id = ?", (id_,)).fetchone() is not None


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

KEYS: Final = frozenset({"raw", "links", *(side.key for side in SIDES)})
"""Keys of `native` that only a memory read with its side tables has."""


def read_sides(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, dict[str, list[Json]]]:
    """Reads the rows of all side tables of some memories, for their `native`."""
    sides = {id_: {side.key: list[Json]() for side in SIDES} for id_ in ids}
    for side in SIDES:
        for row in _rows(db, side, ids):
            for id_ in {str(row[owner]) for owner in side.owners} & sides.keys():
                sides[id_][side.key].append(packed(row))
    return sides


def _rows(db: sqlite3.Connection, side: Side, ids: Sequence[str]) -> list[Row]:
    """Reads the rows of some memories in one side table, by their ids."""
    by_id = {row["id"]: row for owner in side.owners for row in rows(db, side.table, owner, ids)}
    return [by_id[id_] for id_ in sorted(by_id, key=str)]


def native_rows(memory: Memory, name: str) -> list[dict[str, Cell]] | None:
    """Returns the rows of a side table in an image; None where the image does not hold them."""
    saved = memory.native.get(name)
    if not isinstance(saved, Sequence) or isinstance(saved, str):
        return None
    return [row for row in map(unpacked, saved) if row]


def write_sides(db: sqlite3.Connection, memories: Sequence[Memory]) -> None:
    """Gives memories the side rows of their images; an image without any changes nothing."""
    for side in SIDES:
        if not columns(db, side.table):
            continue
        wanted = {m.id: own for m in memories if (own := native_rows(m, side.key)) is not None}
        for id_, own in wanted.items() if side.exact else ():
            extra = {row["id"] for row in _rows(db, side, [id_])} - {row["id"] for row in own}
            drop = f"DELETE FROM {side.table} WHERE id = ?"
            db.executemany(drop, [(other,) for other in extra])
        for id_, own in wanted.items():
            for row in own:
                _set(db, side, row, id_)


def _set(db: sqlite3.Connection, side: Side, row: Row, id_: str) -> None:
    """Points an existing row at its memory, or inserts it again.

    A row between two memories is in the images of both; each speaks for its own end only.
    """
    if rows(db, side.table, "id", [row["id"]]):
        for owner in side.owners:
            if row[owner] == id_:
                db.execute(f"UPDATE {side.table} SET {owner} = ? WHERE id = ?", (id_, row["id"]))
    elif all(is_there(db, row[owner]) for owner in side.owners):
        # a row whose other memory is gone by now stays out
        names = columns(db, side.table)
        insert(db, side.table, {name: row[name] for name in names if name in row})


# ------------------------------------------------------------------ what a survivor takes over


def unite(
    old: Memory,
    members: Sequence[Memory],
    new: Memory,
    *,
    layout: Tables,
    at: str | None,
    removed: bool,
) -> Memory:
    """Returns the survivor after a merge.

    Args:
        old: The survivor before the merge.
        members: Its duplicates, in the order they are listed.
        new: The survivor as the common rules make it.
        layout: Of the file.
        at: Time of the merge; None in a preview, which leaves out what depends on it.
        removed: Whether the members are removed; else they keep their rows of other tables.
    """
    links = _copied(old, new.links) if not removed else new.links
    extra: dict[str, Json] = {**old.extra, "consolidated_from": _sources(old, members)}
    _longest_life(extra, (old, *members))
    made = replace(
        new,
        tags=tuple(sorted({tag for m in (old, *members) for tag in m.tags})),
        created_at=old.created_at,
        updated_at=old.updated_at if at is None else at,
        links=one_of_a_kind(links),
        extra=extra,
    )
    if at is None:
        return made
    native = dict(old.native)
    if layout.has_versions:
        made = replace(made, extra=_versioned(old, extra, native, len(members), at))
    if removed:
        _take_over(native, old, members)
    return replace(made, native=native)


def _sources(old: Memory, members: Iterable[Memory]) -> list[Json]:
    """Returns the ids of the members, with those that old and members were made from."""
    ids: list[Json] = []
    for memory in (old, *members):
        if memory is not old:
            ids.append(memory.id)
        listed = memory.extra.get("consolidated_from")
        ids += listed if isinstance(listed, list) else []
    return list(dict.fromkeys(str(each) for each in ids))


def _longest_life(extra: dict[str, Json], everyone: Sequence[Memory]) -> None:
    """Sets the latest time of expiry; none where one of them never expires."""
    ends = [m.extra.get("expires_at") for m in everyone]
    times = [instant(str(end)) for end in ends]
    if any(end is None for end in ends) or any(time is None for time in times):
        extra.pop("expires_at", None)
        return
    _, extra["expires_at"] = max(
        ((time or 0, str(end)) for time, end in zip(times, ends, strict=True))
    )


def _versioned(
    old: Memory, extra: JsonObject, native: dict[str, Json], members: int, at: str
) -> JsonObject:
    """Adds the present state to the versions; returns `extra` with the next version number.

    A number that is taken, by a client that saves each state as it is made, is skipped.
    """
    taken = {row["version"] for row in native_rows(old, "versions") or ()}
    present = old.extra.get("version", 1)
    number = present if isinstance(present, int) else 1
    while number in taken:
        number += 1
    state = row_of(old)
    id_ = str(uuid.uuid5(_VERSION_IDS, f"{old.id} {number}"))
    row: dict[str, Json] = {
        "id": id_,
        "memory_id": old.id,
        "version": number,
        **{name: state[name] for name in ("content", "content_type", "tags", "metadata")},
        "created_at": at,
        "change_reason": f"echoless: merged {members} duplicates",
    }
    earlier = native.get("versions")
    native["versions"] = [*(earlier if isinstance(earlier, Sequence) else ()), row]
    return {**extra, "version": number + 1, "previous_version_id": id_}


def _take_over(native: dict[str, Json], old: Memory, members: Sequence[Memory]) -> None:
    """Gives the survivor the log and the notifications of the members."""
    gone = {m.id for m in members}
    for side in SIDES:
        if side.exact:
            continue
        held = [native_rows(m, side.key) for m in (old, *members)]
        by_id = {row["id"]: row for some in held for row in some or ()}
        native[side.key] = [
            packed(by_id[id_] | {o: old.id for o in side.owners if by_id[id_][o] in gone})
            for id_ in sorted(by_id, key=str)
        ]


# ------------------------------------------------------------------ links


def _copied(old: Memory, links: Iterable[Link]) -> tuple[Link, ...]:
    """Returns links without the ids of their rows where they are copies of a member's links."""
    own = {link.data.get("id") for link in old.links}
    return tuple(
        link
        if link.data.get("id") in own
        else replace(link, data={k: v for k, v in link.data.items() if k != "id"})
        for link in links
    )


def one_of_a_kind(links: Iterable[Link]) -> tuple[Link, ...]:
    """Returns one link of each kind to a target: the strongest, with the data of the others."""
    links_by_key: dict[tuple[str, str], Link] = {}
    for link in links:
        key = (link.target, link.kind)
        same = links_by_key.get(key)
        links_by_key[key] = link if same is None else _joined(same, link)
    return tuple(links_by_key.values())


def _joined(one: Link, other: Link) -> Link:
    """Returns the stronger of two links, with the flags and metadata of both."""
    first, second = (other, one) if _strength(other) > _strength(one) else (one, other)
    data = dict(first.data)
    data |= {flag: True for flag in _FLAGS if second.data.get(flag)}
    metadata = {**_metadata(second), **_metadata(first)}
    if metadata and not isinstance(first.data.get("metadata"), str):
        data["metadata"] = metadata
    return replace(first, data=data)


def _strength(link: Link) -> float:
    """Returns the strength of a link, 1 by default."""
    value = link.data.get("strength", 1.0)
    return float(value) if isinstance(value, int | float) else 1.0


def _metadata(link: Link) -> JsonObject:
    """Returns the metadata of a link; empty where they are no object."""
    metadata = link.data.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}
