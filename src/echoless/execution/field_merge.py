"""Merges the fields of duplicates into their survivor. Law 8: metadata is never lost in a merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from echoless.core.groups import grouped
from echoless.core.json_codec import field_to_json
from echoless.core.model import Json, JsonObject, Link, Memory, canonical
from echoless.core.timestamps import instant
from echoless.stores.base import Store
from echoless.stores.expiration import ends


@dataclass(frozen=True, slots=True)
class Conflict:
    """A key on which a survivor and a duplicate disagree; the survivor's value stays.

    Attributes:
        id: The duplicate.
        field: The field of both.
        part: Key within `metadata` or `extra`, or `KIND.TARGET` of a link; empty for a whole field.
        kept: The survivor's value.
        lost: The duplicate's value, kept in the ledger.
    """

    id: str
    field: str
    part: str
    kept: Json
    lost: Json

    @property
    def key(self) -> str:
        """Returns field and part in the spelling of the ledger, such as `metadata.KEY`."""
        return f"{self.field}.{self.part}" if self.part else self.field


def united(survivor: Memory, members: Sequence[Memory]) -> tuple[Memory, tuple[Conflict, ...]]:
    """Returns the survivor with everything its duplicates know besides their text.

    Tags are united, sorted by code point if any are new. Links are united (the survivor's first),
    links among the group dropped as they would point at the survivor itself; of links of one kind
    to one target that carry a `confidence` the highest stays and the others are conflicts. Access
    counts are summed, importance at its maximum, the earliest creation and the latest access and
    update kept, missing metadata, extra fields and vectors filled in. Content, namespace, type and
    provenance stay the survivor's.

    Returns:
        The new survivor and the conflicts, in the order of the members.
    """
    everyone = (survivor, *members)
    group = {m.id for m in everyone}
    conflicts: list[Conflict] = []
    metadata, extra = dict(survivor.metadata), dict(survivor.extra)
    for member in members:
        conflicts += _fill(metadata, member.metadata, member.id, "metadata")
        conflicts += _fill(extra, member.extra, member.id, "extra")
        for name in ("type", "provenance"):
            own, lost = field_to_json(survivor, name), field_to_json(member, name)
            if own != lost:
                conflicts.append(Conflict(member.id, name, "", own, lost))
    links = _links((link for m in everyone for link in m.links), group)
    conflicts += _lost_links(everyone, links, group)
    tags = {tag for m in members for tag in m.tags} - set(survivor.tags)
    # a vector belongs to its text: only a member with the same text may lend its own
    same_text = (m.vectors for m in members if m.content == survivor.content and m.vectors)
    new = replace(
        survivor,
        tags=tuple(sorted({*survivor.tags, *tags}) if tags else dict.fromkeys(survivor.tags)),
        links=links,
        access_count=sum(m.access_count for m in everyone),
        importance=max((m.importance for m in everyone if m.importance is not None), default=None),
        created_at=_extreme([m.created_at for m in everyone], latest=False),
        updated_at=_extreme([m.updated_at for m in everyone], latest=True),
        last_accessed=_extreme([m.last_accessed for m in everyone], latest=True),
        metadata=metadata,
        extra=extra,
        vectors=survivor.vectors or next(same_text, ()),
    )
    return new, tuple(conflicts)


def merged(
    survivor: Memory,
    members: Sequence[Memory],
    *,
    rules: Store | None = None,
    at: str | None = None,
    removed: bool = False,
    untouched: Sequence[str] = (),
) -> tuple[Memory, tuple[Conflict, ...]]:
    """Returns what `united` does, by the rules of a store and as a plan asks for it.

    Args:
        survivor: The survivor before the merge.
        members: In the order of the plan.
        rules: The store's own, where it has some.
        at: Time of the merge; None in a preview.
        removed: Whether the members will be removed.
        untouched: Fields of the survivor that do not change.
    """
    new, conflicts = united(survivor, members)
    if rules is not None:
        ruled = rules.united(survivor, members, new, at=at, removed=removed)
        if ruled is not new:
            new, conflicts = ruled, tuple(c for c in conflicts if not _is_settled(c, ruled))
    if untouched:
        unchanged = {name: getattr(survivor, name) for name in untouched}
        new = replace(new, **unchanged)
    return new, conflicts


def _is_settled(conflict: Conflict, new: Memory) -> bool:
    """Returns whether the store's rules made one list of two, so that nothing was lost."""
    if conflict.field != "extra":
        return False
    items = _items(new.extra.get(conflict.part))
    own, lost = _items(conflict.kept), _items(conflict.lost)
    return items is not None and own is not None and lost is not None and {*own, *lost} <= items


def _items(value: Json) -> set[str] | None:
    return {canonical(item) for item in value} if isinstance(value, list | tuple) else None


def _fill(into: dict[str, Json], source: JsonObject, id_: str, where: str) -> list[Conflict]:
    """Adds the keys that are missing, and returns those on which the two disagree.

    How long the survivor is in force is not learned from others.
    """
    conflicts = []
    for key, value in source.items():
        if key not in into and ends(key, value):
            conflicts.append(Conflict(id_, where, key, None, value))
        elif key not in into:
            into[key] = value
        elif canonical(into[key]) != canonical(value):
            conflicts.append(Conflict(id_, where, key, into[key], value))
    return conflicts


def _links(links: Iterable[Link], group: set[str]) -> tuple[Link, ...]:
    """Returns links to others, each once; of graded ones the surest of each target and kind."""
    strongest: dict[str, Link] = {}
    for link in links:
        if link.target in group:
            continue
        grade = _confidence(link)
        key = canonical([link.target, link.kind, link.data if grade is None else "graded"])
        known = strongest.setdefault(key, link)
        if grade is not None and grade > (_confidence(known) or 0.0):
            strongest[key] = link
    return tuple(strongest.values())


def _confidence(link: Link) -> float | None:
    value = link.data.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _lost_links(
    everyone: Sequence[Memory], links: Sequence[Link], group: set[str]
) -> Iterator[Conflict]:
    """Yields the links that gave way to a more confident one of the same kind and target."""
    staying = grouped(((link.target, link.kind), link) for link in links)
    for memory in everyone:
        for link in memory.links:
            same = staying.get((link.target, link.kind), [])
            if link.target not in group and link not in same:
                part = f"{link.kind}.{link.target}"
                yield Conflict(memory.id, "links", part, same[0].data, link.data)


def _extreme(times: Sequence[str | None], *, latest: bool) -> str | None:
    """Returns the earliest or latest readable time; without any, the first that is given."""
    known = [(moment, text) for text in times if text and (moment := instant(text)) is not None]
    if not known:
        return next((text for text in times if text), None)
    pick = max if latest else min
    best = pick(moment for moment, _ in known)
    return next(text for moment, text in known if moment == best)


def relinked(memory: Memory, moved: dict[str, str], rules: Store | None = None) -> Memory:
    """Returns a memory whose links to removed memories point at their survivors.

    Args:
        memory: Any memory.
        moved: Survivor by removed id.
        rules: The store's own, where it has some.
    """
    links = [replace(link, target=moved.get(link.target, link.target)) for link in memory.links]
    new = replace(memory, links=_links(links, {memory.id}))
    return new if rules is None else rules.relinked(new)
