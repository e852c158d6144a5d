"""A point of Qdrant, and a memory as the payload of a point and back.

A payload that was read and not changed is written as it was. Of one that changed, only the keys
that have to change do.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.json_codec import bytes_to_floats, floats_to_bytes, json_text
from echoless.core.model import Json, JsonObject, Memory, Vector, canonical
from echoless.stores import column_values as values
from echoless.stores.expiration import promised, searched, shown
from echoless.stores.live import payload as records
from echoless.stores.record_layout import RecordLayout
from echoless.stores.scope import no_owners, owned

PointId = int | str

UNNAMED: Final = ""
"""Name of the vector of a collection that has one vector without a name."""

_LARGEST: Final = 2**64

_NATIVE: Final = "qdrant"
_MODELS: Final = "models"


@dataclass(frozen=True, slots=True)
class Point:
    """A record of a collection.

    Attributes:
        id: A whole number from 0 on, or a UUID in its usual spelling.
        payload: Its fields.
        dense: Bytes of its vectors (little-endian float32) by name.
        other: Its sparse vectors (`indices` and `values`) and lists of vectors, by name.
        numbers: The dense vectors as they are stored, where that is more exact than float32.
        bare: Whether the record stores its single vector without an object of names.
    """

    id: PointId
    payload: Mapping[str, Json]
    dense: Mapping[str, bytes] = field(default_factory=dict)
    other: Mapping[str, Json] = field(default_factory=dict)
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bare: bool = False


def point_id(text: str) -> PointId | None:
    """Returns the id of a point for the id of a memory; None if Qdrant takes no such id."""
    if text.isascii() and text.isdigit():
        number = int(text)
        return number if str(number) == text and number < _LARGEST else None
    try:
        return text if str(uuid.UUID(text)) == text else None
    except ValueError:
        return None


def known_ids(ids: Iterable[str]) -> list[PointId]:
    """Returns those ids Qdrant could hold, each once, in Qdrant's order."""
    return sorted({made for each in ids if (made := point_id(each)) is not None}, key=in_order)


def in_order(id_: PointId) -> tuple[int, int, str]:
    """Returns a key that sorts ids in the order of Qdrant: numbers, then UUIDs."""
    return (0, id_, "") if isinstance(id_, int) else (1, 0, id_)


def as_point(id_: PointId, payload: Mapping[str, Json] | None, vector: object) -> Point:
    """Returns a point from the parts a client gives, its vectors sorted by kind.

    Args:
        id_: Its id.
        payload: Its fields; None for none.
        vector: A list, or an object with a list, a list of lists, or an object with `indices` and
            `values` by name; None for none.

    Raises:
        BadRecord: A vector is none of these.
    """
    named = vector if isinstance(vector, Mapping) else {} if vector is None else {UNNAMED: vector}
    dense: dict[str, bytes] = {}
    other: dict[str, Json] = {}
    numbers: dict[str, Sequence[float]] = {}
    for name, value in named.items():
        what = f"the vector {name!r} of the point {id_!r}"
        if isinstance(value, Sequence) and value and not isinstance(value[0], Sequence):
            numbers[name], dense[name] = value, floats_to_bytes(list(value), what)
        elif isinstance(value, Sequence):
            other[name] = [[float(each) for each in row] for row in value]
        else:
            other[name] = _sparse(value, what)
    bare = vector is not None and named is not vector
    return Point(id_, dict(payload or {}), dense, other, numbers, bare)


def _sparse(value: object, what: str) -> Json:
    """Returns a sparse vector as JSON."""
    indices, values = getattr(value, "indices", None), getattr(value, "values", None)
    if not isinstance(indices, Sequence) or not isinstance(values, Sequence):
        raise BadRecord(f"{what} is neither a list of numbers nor a sparse vector.")
    return {"indices": [int(each) for each in indices], "values": [float(each) for each in values]}


def components(point: Point, name: str) -> list[float]:
    """Returns a dense vector as numbers: the stored numbers if they still equal its bytes."""
    data, stored = point.dense[name], point.numbers.get(name)
    if stored is not None and floats_to_bytes(list(stored), name) == data:
        return list(stored)
    return bytes_to_floats(data)


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of a collection.

    Attributes:
        model: Name of their model where a record names no other; with the name of a vector behind
            it, where that has one.
        sizes: Number of components by name.
    """

    model: str
    sizes: Mapping[str, int]

    def usual(self, name: str) -> str:
        """Returns the model of the vector of a name, where nothing else is known."""
        return f"{self.model}/{name}" if name else self.model

    def slot(self, vector: Vector) -> str | None:
        """Returns the name under which a vector is kept; None where none is right."""
        for name in self.sizes:
            if vector.model == self.usual(name):
                return name
        return next(iter(self.sizes)) if len(self.sizes) == 1 else None


def base_of(memory: Memory) -> Point | None:
    """Returns the point a memory was read from, without dense vectors; None for another store's."""
    saved = memory.native.get(_NATIVE)
    if not isinstance(saved, Mapping):
        return None
    payload, other = saved.get("payload"), saved.get("vectors")
    return Point(
        id=memory.id,
        payload=dict(payload) if isinstance(payload, Mapping) else {},
        other=dict(other) if isinstance(other, Mapping) else {},
        bare=bool(saved.get("bare")),
    )


# ------------------------------------------------------------------ reading


def namespace(payload: Mapping[str, Json], layout: RecordLayout) -> str:
    """Returns the namespace of a payload: under the key of the map, where that names one.

    Without such a key, and without owners, it is what echoless wrote beside the fields.
    """
    if layout.owners or "namespace" in layout.keys:
        fields, _ = layout.read(payload, ["namespace"])
        return str(fields.get("namespace", ""))
    return str((records.own_fields(payload) or {}).get("namespace") or "")


def _taken(layout: RecordLayout) -> frozenset[str]:
    """Returns the keys of a payload that hold no metadata."""
    return layout.taken | {layout.expires, "id" if layout.owners else ""} - {""}


def decode(point: Point, layout: RecordLayout, space: Space) -> Memory | None:
    """Returns the memory of a point; None if it has no text.

    A value that cannot be read as the field of its key stays in `metadata` as it is, and the field
    takes its default.

    Args:
        point: The stored point.
        layout: Of the collection.
        space: The vectors of the collection.

    Raises:
        BadRecord: The fields under `echoless` have another form than echoless writes.
    """
    payload = shown(point.payload, layout.expires)
    text = payload.get(layout.content)
    if not isinstance(text, str):
        return None
    fields, used = layout.read(payload)
    taken = _taken(layout) - ({*layout.keys.values()} - used)  # what cannot be read is metadata
    rest = {key: value for key, value in payload.items() if key not in taken}
    own = records.own_fields(rest)
    if own is not None:
        rest[records.OWN] = own
    known = own or {}
    home = namespace(payload, layout)
    stamps = {"created_at": None, "updated_at": None}
    memory = records.decode(str(point.id), text, home, rest, stamps)
    extra = dict(memory.extra)
    if layout.expires in payload:
        extra[layout.expires] = payload[layout.expires]
    native: dict[str, Json] = {"payload": payload}
    if point.other:
        native["vectors"] = dict(point.other)
    if point.bare:
        native["bare"] = True
    named = _named(known)
    whole = replace(
        memory,
        vectors=tuple(
            Vector(str(named.get(name) or space.usual(name)), point.dense[name])
            for name in sorted(point.dense)
        ),
        extra=extra,
        native={_NATIVE: native},
        **fields,  # type: ignore[arg-type]
    )
    whole = searched(whole) if space.sizes else whole
    return owned(promised(whole), whole=not layout.owners)


def _named(own: JsonObject) -> JsonObject:
    """Returns the models of vectors by name that a record states."""
    named = own.get(_MODELS)
    return named if isinstance(named, Mapping) else {}


# ------------------------------------------------------------------ writing


def encode(
    memory: Memory, base: Point | None, old: Memory | None, layout: RecordLayout, space: Space
) -> dict[str, Json]:
    """Returns the payload of a memory.

    Args:
        memory: As it has to read afterwards.
        base: The point it was; None for a new one.
        old: The memory of that point; None if it had none.
        layout: Of the collection.
        space: As for `decode`.

    Raises:
        BadRecord: Its text, id or namespace cannot be stored.
        StoreError: A field has no place in the form this record has.
    """
    models = _models(memory, space)
    if base is None or old is None:
        if layout.owners and not memory.namespace and base_of(memory) is None:
            raise BadRecord(no_owners(memory))
        payload = _whole(memory, layout, models)
        old = Memory(id=memory.id, content="")
    else:
        payload = shown(base.payload, layout.expires)
        had = _named(records.own_fields(payload) or {})
        if memory == replace(old, vectors=memory.vectors) and models == had:
            return payload
        _change(payload, _whole(old, layout, had), _whole(memory, layout, models))
    layout.change(payload, old, memory)
    return payload


def _change(payload: dict[str, Json], old: JsonObject, new: JsonObject) -> None:
    """Makes the changes in a payload that lead from one whole payload to another."""
    for key in old.keys() - new.keys():
        payload.pop(key, None)
    payload |= {
        key: value
        for key, value in new.items()
        if key not in old or canonical(old[key]) != canonical(value)
    }


def _whole(memory: Memory, layout: RecordLayout, models: JsonObject) -> dict[str, Json]:
    """Returns the payload of a new record, without what `RecordLayout.change` writes."""
    extra = {k: v for k, v in memory.extra.items() if k != layout.expires}
    blank = {name: values.default(name) for name in layout.keys}
    plain = replace(memory, vectors=(), extra=extra, **blank)  # type: ignore[arg-type]
    stamps = {"created_at": None, "updated_at": None}
    payload = records.encode(plain, _taken(layout), stamps)
    own = payload.pop(records.OWN, None)
    own = dict(own) if isinstance(own, Mapping) else {}
    if memory.namespace and not layout.owners and "namespace" not in layout.keys:
        own["namespace"] = memory.namespace
    if models:
        own[_MODELS] = models
    if own:
        payload[records.OWN] = json_text(own)
    payload[layout.content] = memory.content
    if layout.expires in memory.extra:
        payload[layout.expires] = memory.extra[layout.expires]
    return payload


def _models(memory: Memory, space: Space) -> dict[str, Json]:
    """Returns the models of the vectors that are not of the collection's usual ones, by name."""
    placed = {name: v.model for v in memory.vectors if (name := space.slot(v)) is not None}
    return {name: model for name, model in placed.items() if model != space.usual(name)}
