"""Ids of observations, which the server's file has no place for.

An id is made of the name of the entity and the text, so that it survives a rewrite by the server.
Copies within an entity are numbered. An observation with another id, or with fields besides its
text, stands in the file of hidden texts by the same name and text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from echoless.core import json_codec as codec
from echoless.core.model import Json, JsonObject, Memory, digest
from echoless.stores.expiration import promised

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
