"""Arguments of mem0's `add`, as far as the guard can be asked about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias

from echoless.blocking.candidates import MAX_LENGTH
from echoless.core.model import JsonObject
from echoless.core.text import is_blank, unreadable
from echoless.stores.live.record import is_json
from echoless.stores.namespace_labels import OWNERS, owned_by

Message: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = "str | Message | Sequence[Message]"

_OWNERS: Final = frozenset({*OWNERS, "actor_id"})
"""Keys mem0 takes from its arguments and its messages only."""


def listed(messages: object) -> list[Message] | None:
    """Returns messages one by one, or None where mem0 will refuse them."""
    match messages:
        case str():
            return [{"role": "user", "content": messages}]
        case Mapping():
            return [messages]
        case list():
            return messages if all(isinstance(each, Mapping) for each in messages) else None
        case _:
            return None


def text_of(message: Message) -> str | None:
    """Returns the text of a message that can be a memory, or None."""
    text = message.get("content")
    if message.get("role") in {None, "system"} or not isinstance(text, str):
        return None
    return text if comparable(text) else None


def scope_of(owners: Mapping[str, object]) -> str | None:
    """Returns the namespace of what is added, or None where mem0 will refuse the owners."""
    named = {name: str(owner).strip() for name, owner in owners.items() if owner is not None}
    if not named or any(not owner or len(owner.split()) != 1 for owner in named.values()):
        return None
    return owned_by(named)


def details_of(metadata: Mapping[str, Any] | None, expiration_date: Any) -> JsonObject | None:
    """Returns the metadata of a record, or None if it is no JSON or mem0 will refuse the date."""
    details = {k: v for k, v in (metadata or {}).items() if k not in _OWNERS}
    if not is_json(details):
        return None
    match expiration_date:
        case None:
            return details
        case datetime():
            day = expiration_date.date().isoformat()
        case date():
            day = expiration_date.isoformat()
        case _:
            day = str(expiration_date)
    try:
        date.fromisoformat(day)
    except ValueError:
        return None
    return {**details, "expiration_date": day}


def comparable(text: str) -> bool:
    """Returns whether the guard can compare a text; the library behind it may hold others."""
    return not is_blank(text) and len(text) <= MAX_LENGTH and unreadable(text) is None
