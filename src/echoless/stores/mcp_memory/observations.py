"""Memories in the lines of the memory server's file: each is one observation of an entity.

The namespace of a memory is the name of its entity. A hidden observation leaves the server's file
for the file of hidden texts, which knows its place in the array.

Ids of observations, which the server's file has no place for.

An id is made of the name of the entity and the text, so that it survives a rewrite by the server.
Copies within an entity are numbered. An observation with another id, or with fields besides its
text, stands in the file of hidden texts by the same name and text.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from echoless.core import json_codec as codec
from echoless.core.errors import StoreError
from echoless.core.model import Json, JsonObject, Memory, digest
from echoless.stores.base import Head
from echoless.stores.expiration import promised
from echoless.stores.ledger import Mark
from echoless.stores.mcp_memory.graph_lines import (
    Element,
    GraphLine,
    State,
    mark_from_json,
    mark_to_json,
    new_entity,
    object_in,
    objects_in,
    read_element,
    texts_in,
    with_elements,
    written_element,
)

_LENGTH: Final = 16
_GIVEN: Final = frozenset({"id", "content", "namespace", "type"})
"""Fields the server's file has a place for."""


def text_key(entity: str, text: str) -> str:
    """Returns what the ids of equal observations of an entity have in common."""
    return digest([entity, text])[:_LENGTH]


def assigned(
    keys: Sequence[str], known: Mapping[str, Sequence[str]], taken: Collection[str]
) -> list[str]:
    """Returns ids of observations, in their order.

    Args:
        keys: Key of each.
        known: Ids that observations were given, by key, in their order.
        taken: Ids of what is hidden.
    """
    used, ids = set(taken), [""] * len(keys)
    waiting = {key: [id_ for id_ in given if id_ not in used] for key, given in known.items()}
    for at, key in enumerate(keys):
        if waiting.get(key):
            ids[at] = waiting[key].pop(0)
            used.add(ids[at])
    numbers: dict[str, int] = {}
    for at, key in enumerate(keys):
        while not ids[at]:
            numbers[key] = number = numbers.get(key, 0) + 1
            id_ = f"o-{key}" if number == 1 else f"o-{key}-{number}"
            if id_ not in used:
                ids[at] = id_
                used.add(id_)
    return ids


def fields_of(memory: Memory, type_: str) -> dict[str, Json]:
    """Returns the fields of a memory the server's file has no place for, without defaults.

    Args:
        memory: The memory.
        type_: Type of its entity; a memory of another type keeps its own.
    """
    blank = codec.memory_to_json(Memory(id=memory.id, content=""))
    made = codec.memory_to_json(memory)
    fields = {name: made[name] for name in made if name not in _GIVEN and made[name] != blank[name]}
    return fields if memory.type == type_ else {**fields, "type": memory.type}


def memory_of(
    id_: str, text: str, entity: tuple[str, str], fields: JsonObject, native: JsonObject
) -> Memory:
    """Returns an observation as a memory.

    Args:
        id_: Its id.
        text: Text of the observation.
        entity: Name and type of its entity.
        fields: From `fields_of`.
        native: For the place it goes back to.
    """
    name, type_ = entity
    own: dict[str, Json] = {"id": id_, "content": text, "namespace": name, "native": native}
    return promised(codec.memory_from_json({"type": type_, **fields, **own}))


_Kept: TypeAlias = "tuple[_Observation, str]"
"""A hidden observation, and the type of its entity."""

_BACK: Final = (
    "Entities that were deleted since and are in the file again, with what was hidden of them"
)
_DROPPED: Final = "Hidden observations that were dropped, since their entity was deleted"


@dataclass(slots=True, eq=False)
class _Observation:
    """An element of an array, visible or hidden.

    Attributes:
        element: What the array holds.
        id: Of the memory; empty for one that is no text.
        fields: What the server's file has no place for.
        mark: Why it is hidden; None if it is visible.
        at: Its index in the array with all hidden elements in it.
    """

    element: Element
    id: str = ""
    fields: JsonObject = field(default_factory=dict)
    mark: Mark | None = None
    at: int = 0


@dataclass(slots=True, eq=False)
class _Owner:
    """An entity with its observations, the hidden ones at their places.

    Attributes:
        name: Of the entity.
        type: Of the entity.
        line: Line of the entity; None if it was deleted while observations of it were hidden.
        number: Number of entities with that name before it.
        members: Its observations.
        made: Whether echoless added the entity, for a memory that was new.
    """

    name: str
    type: str
    line: GraphLine | None = None
    number: int = 0
    members: list[_Observation] = field(default_factory=list)
    made: bool = False

    @property
    def shown(self) -> list[Element]:
        """Returns what the server's file holds."""
        return [each.element for each in self.members if each.mark is None]


class Graph:
    """Entities of the file with their observations, the hidden ones included."""

    def __init__(self, lines: Sequence[GraphLine], state: State) -> None:
        """Makes memories from the lines of the file, and from what is hidden.

        Raises:
            TypeError, ValueError, KeyError: What is kept has another form.
        """
        self._lines = lines
        made = set(texts_in(state.get("made")))
        hidden = self._hidden_by_owner(state)
        numbers: Counter[str] = Counter()
        self._rows: list[GraphLine | _Owner] = []
        for line in lines:
            entity = line.entity
            if entity is None or entity.elements is None:
                self._rows.append(line)
                continue
            owner = _Owner(entity.name, entity.type, line, numbers[entity.name])
            owner.made = entity.name in made
            numbers[entity.name] += 1
            owner.members = [*map(_Observation, entity.elements)]
            for each, _ in hidden.pop((owner.name, owner.number), []):
                owner.members.insert(each.at, each)  # the last ones where some went since
            self._rows.append(owner)
        self._deleted = {
            name: _Owner(name, own[0][1], members=[each for each, _ in own])
            for (name, _), own in hidden.items()
        }
        self._give_ids(state)
        self._index()

    def _hidden_by_owner(self, state: State) -> dict[tuple[str, int], list[_Kept]]:
        """Returns what is hidden, by name and number of its entity, in the order of the places."""
        names = Counter(
            line.entity.name
            for line in self._lines
            if line.entity is not None and line.entity.elements is not None
        )
        hidden: dict[tuple[str, int], list[_Kept]] = {}
        for each in objects_in(state.get("hidden")):
            name, number = str(each["entity"]), int(str(each["number"]))
            number = min(number, max(names[name] - 1, 0))  # one of that name may have gone
            record = (_hidden(each), str(each["type"]))
            hidden.setdefault((name, number), []).append(record)
        return {o: sorted(own, key=lambda record: record[0].at) for o, own in hidden.items()}

    def _give_ids(self, state: State) -> None:
        """Gives the visible observations their ids, and the fields that are kept by them."""
        known: dict[str, list[str]] = {}
        fields: dict[str, JsonObject] = {}
        for each in objects_in(state.get("known")):
            known.setdefault(str(each["key"]), []).append(str(each["id"]))
            fields[str(each["id"])] = object_in(each["fields"])
        shown = list(self._visible())
        keys = [text_key(owner.name, each.element.text or "") for owner, each in shown]
        ids = assigned(keys, known, self.marks())
        for (_, visible), id_ in zip(shown, ids, strict=True):
            visible.id, visible.fields = id_, fields.get(id_, {})

    def _owners(self) -> Iterator[_Owner]:
        return (row for row in self._rows if isinstance(row, _Owner))

    def _visible(self) -> Iterator[tuple[_Owner, _Observation]]:
        """Yields the observations the server sees, those that are text."""
        for owner in self._owners():
            for each in owner.members:
                if each.mark is None and each.element.text is not None:
                    yield owner, each

    def _index(self) -> None:
        """Finds owner and place of each memory by its id."""
        self._places: dict[str, tuple[_Owner, _Observation]] = {}
        for owner in self._owners():
            for at, each in enumerate(owner.members):
                each.at = at
                if each.element.text is not None:
                    self._places[each.id] = (owner, each)

    def memory(self, id_: str) -> Memory:
        """Returns the memory of an id.

        Raises:
            BadRecord: A field that is kept has another form.
        """
        owner, each = self._places[id_]
        native: dict[str, Json] = {
            "raw": each.element.raw,
            "at": each.at,
            "number": owner.number,
            "entity_type": owner.type,
        }
        text = each.element.text
        assert text is not None
        return memory_of(id_, text, (owner.name, owner.type), each.fields, native)

    def said(self, id_: str) -> object:
        """Returns what the files say of a memory, to compare it later; None where it is gone."""
        owner, each = self._places.get(id_, (None, None))
        return (
            each and owner and (owner.name, owner.type, each.element.text, each.fields, each.mark)
        )

    def heads(self) -> Iterator[Head]:
        """Yields what a scope needs to know of each memory, in the order of the file."""
        for id_, (owner, each) in self._places.items():
            created = each.fields.get("created_at")
            yield Head(id_, owner.name, created if isinstance(created, str) else None)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._places

    @property
    def without_text(self) -> int:
        """Returns the number of observations that are no text."""
        return sum(each.element.text is None for o in self._owners() for each in o.members)

    # ------------------------------------------------------------------ writing

    def type_of(self, name: str) -> str | None:
        """Returns the type of an entity; None where there is none of that name."""
        owner = self._owner(name)
        return None if owner is None else owner.type

    def _owner(self, name: str, number: Json = 0) -> _Owner | None:
        """Returns an entity of a name; by default the first one, to which the server adds too."""
        named = [owner for owner in self._owners() if owner.name == name]
        return next((o for o in named if o.number == number), named[0] if named else None)

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds observations; a removed one goes back to its old place.

        Raises:
            StoreError: It would move to another entity, or its entity has no list of observations.
        """
        new: list[Memory] = []
        for memory in memories:
            if memory.id in self._places:
                self._replace(memory)
            else:
                new.append(memory)
        for memory in sorted(new, key=_old_place):  # stable: those without one keep their order
            self._insert(memory)
        self._index()

    def _replace(self, memory: Memory) -> None:
        owner, each = self._places[memory.id]
        if memory.namespace != owner.name:
            raise StoreError(
                f"{memory.id!r} is an observation of the entity {owner.name!r} and cannot be moved "
                f"to {memory.namespace!r}. Add it there and remove it here."
            )
        raw = _native_raw(memory)
        if raw is None and each.element.text != memory.content:
            raw = written_element(memory.content)
        if raw is not None:
            each.element = Element(raw, memory.content)
        each.fields = fields_of(memory, owner.type)

    def _insert(self, memory: Memory) -> None:
        owner = self._owner(memory.namespace, memory.native.get("number", 0))
        owner = owner or self._added(memory)
        raws = [element.raw for element in owner.shown]
        raw = _native_raw(memory) or written_element(memory.content, raws)
        each = _Observation(Element(raw, memory.content), memory.id)
        each.fields = fields_of(memory, owner.type)
        owner.members.insert(min(_old_place(memory), len(owner.members)), each)
        self._places[memory.id] = (owner, each)

    def _added(self, memory: Memory) -> _Owner:
        """Returns the entity of a memory whose entity is not in the file, added to it."""
        name = memory.namespace
        if any(line.entity is not None and line.entity.name == name for line in self._lines):
            raise StoreError(
                f"The entity {name!r} has no list of observations in the file, so {memory.id!r} "
                "cannot be added. Mend its line first."
            )
        type_ = memory.native.get("entity_type", memory.type)
        owner = self._deleted.pop(name, None) or _Owner(name, str(type_), made=True)
        self._insert_row(owner)
        return owner

    def _insert_row(self, owner: _Owner) -> None:
        """Adds an entity behind the last one, or before everything else."""
        rows = enumerate(self._rows)
        entities = [at for at, row in rows if isinstance(row, _Owner) or row.entity is not None]
        at = entities[-1] + 1 if entities else 0
        above = self._rows[at - 1] if at else None
        raw = above.raw if isinstance(above, GraphLine) else ""
        raw = above.line.raw if isinstance(above, _Owner) and above.line else raw
        line = new_entity(owner.name, owner.type)
        owner.line = replace(line, raw=line.raw + "\r") if raw.endswith("\r") else line
        self._rows.insert(at, owner)

    def remove(self, ids: Iterable[str]) -> None:
        """Removes observations, hidden ones too; an entity stays, unless echoless added it."""
        related = {end for line in self._lines for end in (line.relation or ())[:2]}
        for id_ in ids:
            if id_ in self._places:
                owner, each = self._places[id_]
                owner.members.remove(each)
                if owner.made and not owner.members and owner.name not in related:
                    self._rows.remove(owner)
        self._index()

    def hide(self, marks: Iterable[Mark]) -> None:
        """Takes observations out of the lines."""
        for mark in marks:
            if mark.duplicate in self._places:
                self._places[mark.duplicate][1].mark = mark

    def unhide(self, ids: Collection[str], undone: Collection[str]) -> Counter[str]:
        """Puts observations back to their places.

        Where their entity was deleted since, an undo puts it into the file again, with what the
        run had hidden of it. Otherwise they are dropped: they went with the entity.

        Args:
            ids: Of the memories.
            undone: Runs that are being undone.

        Returns:
            What was done to entities that were deleted, as sentences with numbers.
        """
        done: Counter[str] = Counter()
        for owner in list(self._deleted.values()):
            marks = [each.mark for each in owner.members if each.mark and each.id in ids]
            if any(mark.run in undone for mark in marks):
                del self._deleted[owner.name]
                self._insert_row(owner)
                done[_BACK] += 1
            elif marks:
                owner.members = [each for each in owner.members if each.id not in ids]
                done[_DROPPED] += len(marks)
        self._index()
        for id_ in ids & self._places.keys():
            self._places[id_][1].mark = None
        return done

    # ------------------------------------------------------------------ what is written

    def lines(self) -> list[str]:
        """Returns the lines to write."""
        return [row.raw if isinstance(row, GraphLine) else _line_of(row) for row in self._rows]

    def marks(self) -> Mapping[str, Mark]:
        """Returns the marks of what is hidden, by id."""
        return {
            each.id: each.mark
            for owner in (*self._owners(), *self._deleted.values())
            for each in owner.members
            if each.mark is not None
        }

    def state(self) -> State:
        """Returns what to keep in the file of hidden texts."""
        hidden: list[Json] = [
            {
                "id": each.id,
                "entity": owner.name,
                "number": owner.number,
                "type": owner.type,
                "raw": each.element.raw,
                "at": at if owner.line is not None else each.at,
                "mark": mark_to_json(each.mark),
                "fields": dict(each.fields),
            }
            for owner in (*self._owners(), *self._deleted.values())
            for at, each in enumerate(owner.members)
            if each.mark is not None
        ]
        made: list[Json] = [*sorted({owner.name for owner in self._owners() if owner.made})]
        parts: dict[str, Json] = {"hidden": hidden, "known": self._known_now(), "made": made}
        return {name: value for name, value in parts.items() if value}

    def _known_now(self) -> list[Json]:
        """Returns the observations whose id or fields do not follow from the server's file."""
        shown = list(self._visible())
        keys = [text_key(owner.name, each.element.text or "") for owner, each in shown]
        derived = assigned(keys, {}, self.marks())
        odd = {
            key
            for key, (_, each), id_ in zip(keys, shown, derived, strict=True)
            if each.id != id_ or each.fields
        }
        return [
            {"key": key, "id": each.id, "fields": dict(each.fields)}
            for key, (_, each) in zip(keys, shown, strict=True)
            if key in odd
        ]


def arrived(lines: Iterable[GraphLine], old: State, new: State) -> bool:
    """Returns whether the lines, as they are, belong to a new state and not to the old one."""
    visible = {
        (line.entity.name, element.text)
        for line in lines
        if line.entity is not None
        for element in line.entity.elements or ()
    }
    before, after = ({_said(e) for e in objects_in(s.get("hidden"))} for s in (old, new))
    signs = [place not in visible for place in after - before]
    signs += [place in visible for place in before - after]
    return 2 * sum(signs) >= len(signs)


def _said(hidden: JsonObject) -> tuple[str, str | None]:
    return str(hidden["entity"]), read_element(str(hidden["raw"])).text


def _hidden(data: JsonObject) -> _Observation:
    element, mark = read_element(str(data["raw"])), mark_from_json(data["mark"])
    at = int(str(data["at"]))
    return _Observation(element, str(data["id"]), object_in(data["fields"]), mark, at)


def _line_of(owner: _Owner) -> str:
    """Returns the line of an entity as it is to be written; the same if nothing changed."""
    assert owner.line is not None
    entity = owner.line.entity
    assert entity is not None
    same = tuple(owner.shown) == entity.elements
    return owner.line.raw if same else with_elements(owner.line, owner.shown).raw


def _old_place(memory: Memory) -> int:
    """Returns the index a memory had in its array; a large number for a new one."""
    at = memory.native.get("at")
    return at if isinstance(at, int) else sys.maxsize


def _native_raw(memory: Memory) -> str | None:
    """Returns the JSON text a memory was read from; None if it says another thing now."""
    raw = memory.native.get("raw")
    if not isinstance(raw, str):
        return None
    try:
        return raw if read_element(raw).text == memory.content else None
    except ValueError:
        return None  # of another kind of store
