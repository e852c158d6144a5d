"""What a survivor becomes in a store that has to write it anew to change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from echoless.model import Json, Memory


def survivor(old: Memory, members: Sequence[Memory], united: Memory) -> Memory:
    """The survivor of a merge as it is to be written, or as it was where it need not be.

    Tags are a set to wt-memory: they are united and sorted by code point. Entities are united, the
    survivor's first. The ids of the duplicates are kept with the note.

    A new record gets a new id of the library, which whoever noted the old one does not know. It is
    written only for what would be lost otherwise: a tag, an entity, a metadata key or field the
    survivor lacks, counts, an importance. Times alone are not worth it; the lineage keeps them.

    Args:
        old: The survivor as it is.
        members: Its duplicates, in the order in which they fill what it lacks.
        united: The survivor with everything its duplicates know.
    """
    extra = dict(united.extra)
    entities = _texts((old, *members), "entities")
    if entities:
        extra["entities"] = list(entities)
    extra.pop("replaces", None)
    tags = old.tags if set(united.tags) == set(old.tags) else tuple(sorted(set(united.tags)))
    new = replace(united, tags=tags, extra=extra)
    as_before = replace(
        new,
        created_at=old.created_at,
        updated_at=old.updated_at,
        last_accessed=old.last_accessed,
    )
    if as_before == replace(old, extra={k: v for k, v in old.extra.items() if k != "replaces"}):
        return old
    extra["replaces"] = _replaced(old, members)
    return replace(new, extra=extra)


def _replaced(old: Memory, members: Sequence[Memory]) -> list[Json]:
    ids = [*_ids(old), *(i for m in members for i in (m.id, *_ids(m)))]
    return [i for i in dict.fromkeys(ids) if i != old.id]


def _ids(memory: Memory) -> tuple[str, ...]:
    return _texts([memory], "replaces")


def _texts(memories: Iterable[Memory], key: str) -> tuple[str, ...]:
    """Texts of a list in `extra`, each once, in order."""
    found: dict[str, None] = {}
    for memory in memories:
        value = memory.extra.get(key)
        if isinstance(value, list | tuple):
            found.update({text: None for text in value if isinstance(text, str)})
    return tuple(found)
