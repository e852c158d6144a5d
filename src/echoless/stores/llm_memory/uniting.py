"""Rules for what a survivor takes over in an llm-memory store; nothing is read or written.

Differs from the common rules where the store has fields of its own: time of creation stays, the
time of change is that of the merge, tags are sorted, sources are listed in `consolidated_from`, the
earlier state becomes a version, and there is one link of a kind between two memories.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from echoless.core.model import Json, JsonObject, Link, Memory
from echoless.core.timestamps import instant
from echoless.stores.llm_memory.records import Tables, native_rows, row_of
from echoless.stores.llm_memory.side_tables import SIDES, moved

_FLAGS: Final = ("cascade_on_update", "cascade_on_delete")
_IDS: Final = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")


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
    rows = native_rows(old, "versions") or []
    taken = {row["version"] for row in rows}
    present = old.extra.get("version", 1)
    number = present if isinstance(present, int) else 1
    while number in taken:
        number += 1
    state = row_of(old)
    id_ = str(uuid.uuid5(_IDS, f"{old.id} {number}"))
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
    owner = {m.id: old.id for m in members}
    for side in SIDES:
        if side.exact:
            continue
        held = [native_rows(m, side.key) for m in (old, *members)]
        rows = {row["id"]: row for some in held for row in some or ()}
        native[side.key] = moved([rows[id_] for id_ in sorted(rows, key=str)], side, owner)


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
