"""A point of Qdrant: its id, its payload, and its vectors of all kinds."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.json_codec import bytes_to_floats, floats_to_bytes
from echoless.core.model import Json

PointId = int | str

UNNAMED: Final = ""
"""Name of the vector of a collection that has one vector without a name."""

_LARGEST: Final = 2**64


@dataclass(frozen=True, slots=True)
class Point:
    """A record of a collection.

    Attributes:
        id: A whole number from 0 on, or a UUID in its usual spelling.
        payload: Its fields.
        dense: Bytes of its vectors (little-endian float32) by name.
        other: Its sparse vectors (`indices` and `values`) and lists of vectors, by name.
        numbers: The dense vectors as they are stored, where that is more exact than float32.
        bare: Whether its one vector stands there without an object of names.
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
    """Returns a key that sorts ids as Qdrant lists them: numbers, then UUIDs."""
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
    """Returns a dense vector as numbers, the stored ones where they still are its vector."""
    data, stored = point.dense[name], point.numbers.get(name)
    if stored is not None and floats_to_bytes(list(stored), name) == data:
        return list(stored)
    return bytes_to_floats(data)
