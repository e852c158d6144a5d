"""View of the memory server's file in which a memory is an entity, and its text the name.

To hide an entity behind another one moves what it says there: observations the other lacks are
added to it, relations lead from and to it. The hidden lines, and what was added for them, stand in
a file of hidden texts, so that it can be taken back whatever the server wrote since.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from echoless.core.errors import StoreReadOnly
from echoless.core.model import Json, Memory
from echoless.stores.base import Head
from echoless.stores.ledger import Mark
from echoless.stores.mcp_memory.graph_lines import (
    GraphLine,
    Triple,
    name_key,
    read_element,
    read_line,
    with_elements,
    with_ends,
)
from echoless.stores.mcp_memory.hidden_file import (
    ListPlace,
    State,
    mark_from_json,
    mark_to_json,
    object_in,
    objects_in,
    place_at,
    placed,
    texts_in,
)
from echoless.stores.mcp_memory.view import GraphView

_TO_ITSELF: Final = "Relations between two entities that are one now, and so left out"
_TWICE: Final = "Relations that the other entity had too, and so left out"
_NOT_HIDDEN: Final = "Entities that stay in the file, since the one they stand behind is not in it"


@dataclass(slots=True, eq=False)
class _Row:
    """A line of the file, visible or hidden.

    Attributes:
        line: The line.
        owner: The hidden entity it is hidden with; None if it is visible.
        added: Whether it is a relation that was added in place of a hidden one.
    """

    line: GraphLine
    owner: _Hidden | None = None
    added: bool = False


@dataclass(slots=True, eq=False)
class _Moved:
    """A relation of a hidden entity.

    Attributes:
        row: The hidden line.
        wanted: The relation of the other entity in its place.
        owned: Whether echoless added the wanted relation; False if the file had it already.
    """

    row: _Row
    wanted: Triple
    owned: bool


@dataclass(slots=True, eq=False)
class _Hidden:
    """A hidden entity.

    Attributes:
        mark: Survivor of the entity, and the reason.
        row: Its line.
        behind: Name of the other entity.
        relations: Its relations.
        given: Observations that were added to the survivor, as JSON texts.
        blank: White space within the array of the other one before, where it was empty.
    """

    mark: Mark
    row: _Row
    behind: str
    relations: list[_Moved] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    blank: str = ""

    @property
    def id(self) -> str:
        """Returns the id of the entity."""
        return self.mark.duplicate

    @property
    def name(self) -> str:
        """Returns the name of the entity."""
        return _name(self.row)


class EntitiesView(GraphView):
    """Memories in the entities of the memory server's file."""

    profile: Final = "entity-names"

    @property
    def identity(self) -> str:
        """Returns an identity of its own: a plan for the observations is none for the entities."""
        return f"{super().identity}#entities"

    # ------------------------------------------------------------------ reading

    def _interpret(self, state: State) -> None:
        entries = objects_in(state.get("hidden"))
        added = Counter(
            _triple(each["wanted"])
            for entry in entries
            for each in objects_in(entry["relations"])
            if each["owned"] is True
        )
        self._hidden: dict[str, _Hidden] = {}
        places: list[tuple[ListPlace, _Row]] = []
        for entry in entries:
            row = self._kept_row(entry, places)
            hidden = _Hidden(mark_from_json(entry["mark"]), row, str(entry["behind"]))
            hidden.given, hidden.blank = texts_in(entry["given"]), str(entry["blank"])
            for each in objects_in(entry["relations"]):
                hidden_row = self._kept_row(each, places)
                moved = _Moved(hidden_row, _triple(each["wanted"]), each["owned"] is True)
                hidden.relations.append(moved)
            for hidden_row in (row, *(moved.row for moved in hidden.relations)):
                hidden_row.owner = hidden
            self._hidden[hidden.id] = hidden
        self._rows = [
            slot.hidden or _Row(slot.shown or GraphLine(""))
            for slot in placed(self._lines, lambda line: line.key, places)
        ]
        for line in reversed(self._rows):
            triple = line.line.relation
            if triple is not None and added[triple] and (line.owner is None or line.added):
                added[triple] -= 1
                line.added = True
        self._name_all()

    def _kept_row(self, data: Mapping[str, Json], places: list[tuple[ListPlace, _Row]]) -> _Row:
        row = _Row(read_line(str(data["raw"]), self._hidden_file.path, 1))
        row.added = data.get("added") is True
        places.append((ListPlace.from_json(object_in(data["place"])), row))
        return row

    def _name_all(self) -> None:
        """Gives each entity its id: the name, numbered where several lines have it."""
        self._ids: dict[str, _Row] = {hidden.id: hidden.row for hidden in self._hidden.values()}
        for row in self._rows:
            if row.owner is not None or row.line.entity is None or not row.line.entity.name:
                continue
            name = id_ = row.line.entity.name
            number = 1
            while id_ in self._ids:
                number += 1
                id_ = f"{name} ({number})"
            self._ids[id_] = row
        order = {id(row): at for at, row in enumerate(self._rows)}
        self._ids = dict(sorted(self._ids.items(), key=lambda each: order[id(each[1])]))

    def _memory(self, id_: str) -> Memory:
        entity = self._ids[id_].line.entity
        assert entity is not None
        return Memory(
            id=id_,
            content=entity.name,
            namespace=name_key(entity.type),
            type=entity.type,
            extra={"name_key": name_key(entity.name)},
        )

    def _said(self, id_: str) -> object:
        row = self._ids.get(id_)
        return (
            row
            and row.line.entity
            and (row.line.entity.name, row.line.entity.type, row.owner is None)
        )

    def _listed(self) -> Collection[str]:
        return self._ids

    def _heads(self) -> Iterator[Head]:
        for id_, row in self._ids.items():
            assert row.line.entity is not None
            yield Head(id_, name_key(row.line.entity.type), None)

    def remarks(self) -> list[str]:
        """Returns what is odd about the file."""
        nameless = sum(
            row.line.entity is not None and not row.line.entity.name for row in self._rows
        )
        notes = [f"Entities without a name: {nameless:,}. They stay as they are."]
        return [*self._odd_lines(), *(notes if nameless else [])]

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns the reason why no entity is removed: its observations move to the survivor."""
        return {one: "an entity is hidden and what it says moves" for one, _ in pairs}

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Accepts unchanged entities only; the server alone makes and changes entities.

        Raises:
            StoreReadOnly: An entity is new or differs.
        """
        self._must_write()
        self._refresh()
        for memory in memories:
            if memory.id not in self._ids or self._memory(memory.id) != memory:
                raise StoreReadOnly(
                    f"The entity {memory.id!r} cannot be written: entities of {self._path} are "
                    "made and named by the memory server. Only hiding one behind another is "
                    "possible here."
                )

    def remove(self, ids: Iterable[str]) -> None:
        """Refuses to remove existing entities.

        Raises:
            StoreReadOnly: An entity exists.
        """
        self._must_write()
        self._refresh()
        for id_ in sorted(set(ids) & self._ids.keys()):
            raise StoreReadOnly(
                f"The entity {id_!r} cannot be removed here, only hidden behind another one. The "
                "memory server's tool delete_entities removes it."
            )

    def hide(self, marks: Sequence[Mark]) -> None:
        """Hides entities and adds their observations to the survivors."""

        def step() -> None:
            for mark in marks:
                row, other = self._ids.get(mark.duplicate), self._ids.get(mark.survivor)
                if row is None or row.owner is not None:
                    continue
                if other is None or other.owner is not None:
                    self._written[_NOT_HIDDEN] += 1
                    continue
                hidden = _Hidden(mark, row, _name(other))
                row.owner = hidden
                self._hidden[mark.duplicate] = hidden
                self._give(hidden, other)
            self._redirect()

        self._take((id_ for mark in marks for id_ in (mark.duplicate, mark.survivor)), step)

    def _give(self, hidden: _Hidden, other: _Row) -> None:
        """Adds the observations of a hidden entity that its survivor lacks."""
        own, present = _elements(hidden.row), _elements(other)
        known = {read_element(raw).key for raw in present}
        new = [raw.strip() for raw in own if read_element(raw).key not in known]
        if new:
            assert other.line.entity is not None
            hidden.blank = other.line.entity.blank
            other.line = with_elements(other.line, [*present, *new])
            hidden.given += new

    def _redirect(self) -> None:
        """Hides the relations of hidden entities, and lets them lead to the other ones instead."""
        # of two lines with one name the relations mean both
        away = {each.name: each for each in self._hidden.values() if each.name != each.behind}
        waiting = deque(row for row in self._rows if row.owner is None and row.line.relation)
        visible = Counter(row.line.relation for row in waiting)
        while waiting:
            row = waiting.popleft()
            triple = row.line.relation
            assert triple is not None
            start, end, kind = triple
            hidden = away.get(start) or away.get(end)
            if hidden is None:
                continue
            name, behind = hidden.name, hidden.behind
            wanted = (behind if start == name else start, behind if end == name else end, kind)
            row.owner = hidden
            visible[triple] -= 1
            moved = _Moved(row, wanted, owned=False)
            hidden.relations.append(moved)
            if wanted[0] == wanted[1] and start != end:
                self._written[_TO_ITSELF] += 1
            elif visible[wanted]:
                self._written[_TWICE] += 1
            else:
                waiting.append(self._add(moved))
                visible[wanted] += 1

    def _add(self, moved: _Moved) -> _Row:
        """Adds the relation that replaces a hidden one, behind the hidden line."""
        row = _Row(with_ends(moved.row.line, moved.wanted), added=True)
        self._rows.insert(self._rows.index(moved.row) + 1, row)
        moved.owned = True
        return row

    def unhide(self, ids: Iterable[str]) -> None:
        """Shows entities again, and takes back what was added for them and is still there."""
        wanted = set(ids)

        def step() -> None:
            for id_ in sorted(wanted & self._hidden.keys()):
                entries = list(self._hidden.values())
                hidden = self._hidden.pop(id_)
                later = entries[entries.index(hidden) + 1 :]
                self._take_back(hidden, later)
                for moved in hidden.relations:
                    if moved.owned:
                        self._take_away(moved.wanted, later)
                for row in (hidden.row, *(moved.row for moved in hidden.relations)):
                    row.owner = None
            self._redirect()

        self._take(wanted, step)

    def _take_back(self, hidden: _Hidden, later: Sequence[_Hidden]) -> None:
        """Removes observations given to another entity, unless an entity hidden later has them too.

        One that was hidden before had said it before: whoever removed that since wanted it gone.
        """
        for each in self._hidden.values():
            if each.behind == hidden.behind:
                each.blank = each.blank or hidden.blank
        others = [each for each in later if each.behind == hidden.behind]
        for raw in hidden.given:
            key = read_element(raw).key
            for other in others:
                if key in {read_element(each).key for each in _elements(other.row)}:
                    other.given.append(raw)
                    break
            else:
                self._without_element(self._ids.get(hidden.mark.survivor), key, hidden.blank)

    def _without_element(self, row: _Row | None, key: str, blank: str) -> None:
        raws = [] if row is None else _elements(row)
        at = next((i for i, r in reversed([*enumerate(raws)]) if read_element(r).key == key), None)
        if row is not None and at is not None:
            row.line = with_elements(row.line, [*raws[:at], *raws[at + 1 :]], blank)

    def _take_away(self, triple: Triple, later: Sequence[_Hidden]) -> None:
        """Removes an added relation, with those that were added in its place in turn.

        It stays for a relation of an entity hidden after it that wants the same.
        """
        for hidden in later:
            for moved in hidden.relations:
                if moved.wanted == triple and not moved.owned:
                    moved.owned = True
                    return
        for row in self._rows:
            if row.added and row.line.relation == triple:
                self._rows.remove(row)
                if row.owner is not None:
                    own = next(m for m in row.owner.relations if m.row is row)
                    row.owner.relations.remove(own)
                    if own.owned:
                        self._take_away(own.wanted, later)
                return

    # ------------------------------------------------------------------ what is written

    def _lines_now(self) -> list[str]:
        return [row.line.raw for row in self._rows if row.owner is None]

    def _hidden_marks(self) -> Mapping[str, Mark]:
        return {id_: hidden.mark for id_, hidden in self._hidden.items()}

    def _state_now(self) -> State:
        lines = [row.line if row.owner is None else None for row in self._rows]
        places = {
            id(row): place_at(lines, lambda line: line.key, at)
            for at, row in enumerate(self._rows)
            if row.owner
        }

        def stored(row: _Row) -> dict[str, Json]:
            place = places[id(row)].to_json()
            return {"raw": row.line.raw, "place": place, "added": row.added}

        entries: list[Json] = [
            {
                **stored(hidden.row),
                "mark": mark_to_json(hidden.mark),
                "behind": hidden.behind,
                "given": list(hidden.given),
                "blank": hidden.blank,
                "relations": [
                    {**stored(moved.row), "wanted": list(moved.wanted), "owned": moved.owned}
                    for moved in hidden.relations
                ],
            }
            for hidden in self._hidden.values()
        ]
        return {"hidden": entries} if entries else {}

    def _arrived(self, old: State, new: State) -> bool:
        visible = {line.entity.name for line in self._lines if line.entity is not None}
        before, after = (
            {mark_from_json(each["mark"]).duplicate for each in objects_in(state.get("hidden"))}
            for state in (old, new)
        )
        signs = [name not in visible for name in after - before]
        signs += [name in visible for name in before - after]
        return 2 * sum(signs) >= len(signs)


def _name(row: _Row) -> str:
    assert row.line.entity is not None
    return row.line.entity.name


def _elements(row: _Row) -> list[str]:
    """Returns the observations of an entity's line as JSON texts."""
    entity = row.line.entity
    assert entity is not None
    return [element.raw for element in entity.elements or ()]


def _triple(value: Json) -> Triple:
    start, end, kind = texts_in(value)
    return start, end, kind
