"""Lines of the memory server's file: entities with their observations, and relations.

Format of `@modelcontextprotocol/server-memory` 2026.8.31 (`src/memory/index.ts`): one JSON object a
line, `{"type":"entity","name","entityType","observations"}` or
`{"type":"relation","from","to","relationType"}`. The server reads the whole file for each call,
passes over other lines and blank ones, and rewrites the file from what it read: entities first,
then relations, with these keys alone and no line feed at the end. A line that is no JSON, and a
byte order mark, make every call of the server fail.

Near-equal names of entities: `Auth Service`, `auth-service`, `auth_service`, `AuthService`.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, TypeAlias

from echoless.core.errors import BadRecord, LedgerDamaged
from echoless.core.failures import kind_of
from echoless.core.json_codec import json_object, json_text
from echoless.core.model import Json, JsonObject
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, speaking_of
from echoless.stores.json_splice import array_of, elements, splice
from echoless.stores.ledger import Mark

BOM: Final = "\ufeff"
_ENTITY_KEYS: Final = frozenset({"type", "name", "entityType", "observations"})
_RELATION_KEYS: Final = frozenset({"type", "from", "to", "relationType"})
_OPENING: Final = re.compile(
    r'\s*\{\s*"type"\s*:\s*("entity"\s*,\s*"name"|"relation"\s*,\s*"from")\s*:'
)

Triple: TypeAlias = tuple[str, str, str]
"""A relation: from, to, type."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the array of observations.

    Attributes:
        raw: Its JSON text, with the white space around it.
        text: Text of the element; None if it is no text.
    """

    raw: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a line.

    Attributes:
        name: Its name.
        type: Its type; empty where the line has none.
        elements: Its observations; None if the line has no array of them.
    """

    name: str
    type: str
    elements: tuple[Element, ...] | None


@dataclass(frozen=True, slots=True)
class GraphLine:
    """A line of the file.

    Attributes:
        raw: Its text, without the line feed.
        entity: The entity in the line, or None.
        relation: The relation in the line, or None.
        odd: Why the server drops it, or a part of it, when it next writes; empty if it does not.
    """

    raw: str
    entity: Entity | None = None
    relation: Triple | None = None
    odd: str = ""


UNKNOWN_LINE: Final = "unknown line"
UNKNOWN_KEY: Final = "unknown key"


def read_line(raw: str, path: Path, number: int) -> GraphLine:
    """Reads one line; a line that is neither entity nor relation is kept unchanged.

    Args:
        raw: Its text, without the line feed.
        path: For messages.
        number: Of the line, from 1.

    Raises:
        BadRecord: It is not JSON; the message names the line.
    """
    if not raw.strip():
        return GraphLine(raw)
    try:
        data = json.loads(raw)
        return _read(raw, data)
    except (RecursionError, ValueError) as problem:
        why = getattr(problem, "msg", str(problem))
        why = "a second JSON value follows the first" if why == "Extra data" else why
        raise BadRecord(
            f"Line {number} of {path} is not valid JSON ({why}). The memory server cannot read the "
            "file either: every call of it fails. Mend or remove the line; nothing was read or "
            "changed."
        ) from problem


def _read(raw: str, data: object) -> GraphLine:
    if not isinstance(data, dict):
        return GraphLine(raw, odd=UNKNOWN_LINE)
    kind, name = data.get("type"), data.get("name")
    if kind == "entity" and isinstance(name, str):
        type_ = data.get("entityType")
        entity = Entity(name, type_ if isinstance(type_, str) else "", _observations(raw, data))
        return GraphLine(raw, entity=entity, odd="" if data.keys() <= _ENTITY_KEYS else UNKNOWN_KEY)
    ends = (data.get("from"), data.get("to"), data.get("relationType"))
    if kind == "relation" and all(isinstance(each, str) for each in ends):
        triple = (str(ends[0]), str(ends[1]), str(ends[2]))
        odd = "" if data.keys() <= _RELATION_KEYS else UNKNOWN_KEY
        return GraphLine(raw, relation=triple, odd=odd)
    return GraphLine(raw, odd=UNKNOWN_LINE)


def _observations(raw: str, data: JsonObject) -> tuple[Element, ...] | None:
    """Returns the observations of an entity's line."""
    values = data.get("observations")
    if not isinstance(values, list):
        return None
    if raw == _dumped(data):  # as the server writes it: no white space to look for
        raws = [_dumped(value) for value in values]
    else:
        raws = elements(array_of(raw, "observations") or "[]")
    return tuple(
        Element(text, value if isinstance(value, str) else None)
        for text, value in zip(raws, values, strict=True)
    )


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_element(raw: str) -> Element:
    """Reads an element of the array of observations from its JSON text."""
    value: Json = json.loads(raw)
    return Element(raw, value if isinstance(value, str) else None)


def is_graph(head: str) -> bool:
    """Returns whether a text begins with a line of this format.

    Args:
        head: The beginning of a file; its first line may be cut.
    """
    first = next((line for line in head.removeprefix(BOM).split("\n") if line.strip()), "")
    if _OPENING.match(first):
        return True
    data = json_object(first)
    entity = data.get("type") == "entity" and {"name", "observations"} <= data.keys()
    return entity or (data.get("type") == "relation" and data.keys() >= _RELATION_KEYS)


def written_element(text: str, beside: Sequence[str] = ()) -> str:
    """Returns the JSON text of a new observation, spaced as its neighbours in the array are."""
    last = beside[-1] if len(beside) > 1 else ""
    return last[: len(last) - len(last.lstrip())] + json_text(text)


def with_elements(line: GraphLine, parts: Iterable[Element]) -> GraphLine:
    """Returns an entity's line with new observations; everything else in the line is unchanged."""
    assert line.entity is not None
    entity = replace(line.entity, elements=tuple(parts))
    inside = ",".join(each.raw for each in entity.elements or ())
    return replace(line, raw=splice(line.raw, {"observations": f"[{inside}]"}), entity=entity)


def new_entity(name: str, type_: str) -> GraphLine:
    """Returns the line of a new entity without observations, as the server would write it."""
    made = {"type": "entity", "name": name, "entityType": type_, "observations": []}
    return _read(json_text(made), made)


# ------------------------------------------------------------------ near-equal names


_GAP: Final = re.compile(r"(?<=(.))[\s_\-‐-―.]+(?=(.))", re.DOTALL)
_NAMED: Final = 3


def name_key(name: str) -> str:
    """Returns a form that near-equal names share: no case, and no separators within words.

    White space, hyphens, underscores and full stops between two characters go, unless both are
    digits: `v1.2` and `v12` differ. All other characters count: `C` and `C++`, `v1` and `v2`,
    `service` and `services` differ.
    """
    text = unicodedata.normalize("NFKC", name).strip().casefold()
    return _GAP.sub(lambda gap: " " if gap[1].isdigit() and gap[2].isdigit() else "", text)


def alike_note(lines: Iterable[GraphLine]) -> list[str]:
    """Returns a sentence about entities whose names and types are near-equal; none without such."""
    alike: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        if line.entity is not None:
            key = (name_key(line.entity.name), name_key(line.entity.type))
            alike.setdefault(key, set()).add(line.entity.name)
    groups = [sorted(names) for names in alike.values() if len(names) > 1]
    if not groups:
        return []
    examples = "; ".join(" = ".join(map(repr, names)) for names in groups[:_NAMED])
    more = f"; and {len(groups) - _NAMED:,} more" if len(groups) > _NAMED else ""
    advice = "Where they are, let the agent move what one says to the other."
    return [f"Entities that may be one: {len(groups):,} ({examples}{more}). {advice}"]


SUFFIX: Final = ".hidden"
_FORMAT: Final = 1

State: TypeAlias = Mapping[str, Json]
"""State of one view in this file; each value is an object or a list."""

Arrived: TypeAlias = Callable[[State, State], bool]
"""Tells of an old and a new state whether the server's file, as it is, belongs to the new one."""


def file_digest(data: bytes) -> str:
    """Returns what a state names the server's file by."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """The file.

    Attributes:
        path: Where it is; it need not exist.
    """

    path: Path

    def read(self, data: bytes, arrived: Arrived) -> tuple[State, bool]:
        """Returns the state of the server's present file, and whether it is the only state.

        Args:
            data: What the server's file holds.
            arrived: Asked where a writer was stopped and the server wrote after it.

        Raises:
            LedgerDamaged: The file cannot be read.
        """
        if not kind_of(self.path):
            return {}, True
        try:
            states = [
                _entry(each) for each in json.loads(read_bytes(self.path, linked=False))["states"]
            ]
            (old_file, old), (new_file, new) = states[0], states[-1]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as problem:
            raise self.damaged(str(problem)) from problem
        if len(states) == 1:
            return new, True
        present = file_digest(data)
        if present in {old_file, new_file}:
            return (new if present == new_file else old), False
        return (new if arrived(old, new) else old), False

    def damaged(self, why: str) -> LedgerDamaged:
        """Returns the error for a file that cannot be read."""
        return LedgerDamaged(
            f"{self.path} cannot be read ({why}). It holds what is hidden from the memory server. "
            "Bring it back from a copy; to go on without it, move it away: what is hidden in it is "
            "then lost.",
            part=f"the file {self.path.name}",
        )

    def write(self, *states: tuple[str, State]) -> None:
        """Writes the file, or removes it where nothing is kept.

        Args:
            states: With the digest of the server's file each belongs to; one, or an old and a new.
        """
        if not any(any(state.values()) for _, state in states):
            with speaking_of(self.path):
                self.path.unlink(missing_ok=True)
            return
        made: list[Json] = [{"file": file, "state": dict(state)} for file, state in states]
        data = json_text({"echoless_hidden": _FORMAT, "states": made}) + "\n"
        replace_bytes(self.path, data.encode(), Snapshot.of(self.path))


def _entry(data: Mapping[str, Json]) -> tuple[str, State]:
    state = data["state"]
    if not isinstance(state, Mapping):
        raise TypeError("a state is no object")
    return str(data["file"]), state


def mark_to_json(mark: Mark) -> list[Json]:
    """Returns a mark as JSON."""
    return [getattr(mark, each.name) for each in fields(mark)]


def mark_from_json(data: Json) -> Mark:
    """Reads what `mark_to_json` wrote.

    Raises:
        TypeError: It has another form.
    """
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise TypeError("a mark is no list")
    duplicate, survivor, run, verdict, similarity, evidence, texts = data
    measured = similarity if isinstance(similarity, int | float) else None
    return Mark(
        str(duplicate), str(survivor), str(run), str(verdict), measured, str(evidence), str(texts)
    )


def objects_in(value: Json) -> list[JsonObject]:
    """Returns the objects of a list; none of a missing one.

    Raises:
        TypeError: It has another form.
    """
    return [object_in(each) for each in _list_in(value)]


def object_in(value: Json) -> JsonObject:
    """Returns an object.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, Mapping):
        raise TypeError("an object is missing")
    return value


def texts_in(value: Json) -> list[str]:
    """Returns the texts of a list; none of a missing one.

    Raises:
        TypeError: It has another form.
    """
    return [str(each) for each in _list_in(value)]


def _list_in(value: Json) -> Sequence[Json]:
    if value is not None and (not isinstance(value, Sequence) or isinstance(value, str)):
        raise TypeError("a list is missing")
    return value or ()
