"""What a merged sliding-context entry takes from the entries it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from echoless.model import Json, Memory
from echoless.stores.lancedb.rows import in_order

_OWN: Final = ("sessionKey", "sessionFile", "messageRange")
"""What says where an entry came from; mixed from several entries it would say nothing."""

_ANY: Final = ("hasToolCalls", "hasDecision")
_IDS: Final = "telegramMessageIds"


def united_entry(old: Memory, members: Sequence[Memory], new: Memory) -> Memory:
    """The survivor of a group of entries.

    The window of sliding-context is about the last mention, so the latest time stays, not the
    earliest. Topics come in the order of their first appearance, most recent entry first.

    Args:
        old: The survivor as it is.
        members: The others.
        new: The survivor as the common rules make it.
    """
    everyone = sorted((old, *members), key=in_order, reverse=True)
    extra: dict[str, Json] = dict(new.extra)
    for key in _OWN:
        extra.pop(key, None)
        if key in old.extra:
            extra[key] = old.extra[key]
    for key in _ANY:
        said = [m.extra[key] for m in everyone if key in m.extra]
        if said:
            extra[key] = any(said)
    ids = {each for m in everyone for each in _numbers(m.extra.get(_IDS))}
    if ids:
        extra[_IDS] = sorted(ids)
    return replace(
        new,
        created_at=everyone[0].created_at,
        tags=tuple(dict.fromkeys(tag for m in everyone for tag in m.tags)),
        extra=extra,
    )


def _numbers(found: Json) -> list[int]:
    if not isinstance(found, list):
        return []
    return [each for each in found if isinstance(each, int)]
