"""What ego-mcp's records say beyond the layout: which memories its owner holds dear."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

from echoless.model import Json, Memory
from echoless.times import instant

USUAL_INTENSITY: Final = 0.5
USUAL_IMPORTANCE: Final = 3
_SECOND: Final = 10**9


def protection(memory: Memory, now: datetime) -> str | None:
    """Why a memory is protected, as a half sentence, or None.

    Felt strongly (intensity from 0.6) with persons involved; recalled three times or more though
    its importance is 2 or less; or about something that is still to come.

    Args:
        memory: Of ego-mcp's layout.
        now: With an offset.
    """
    told = memory.metadata
    if persons(told.get("involved_person_ids")) and _number(told.get("intensity")) >= 0.6:
        return "it is felt strongly and involves persons"
    importance = USUAL_IMPORTANCE if memory.importance is None else memory.importance
    if memory.access_count >= 3 and importance <= 2:
        return "it is recalled often though it counts as unimportant"
    expected = told.get("anticipated_at")
    moment = instant(expected) if isinstance(expected, str) else None
    if moment is not None and moment > int(now.timestamp() * _SECOND):
        return "what it anticipates is still to come"
    return None


def persons(value: Json) -> tuple[str, ...]:
    """Ids of persons from a JSON list, or from a text with commas where it is none."""
    if not isinstance(value, str):
        return ()
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    listed = found if isinstance(found, list) else value.split(",")
    return tuple(text for each in listed if (text := str(each).strip()))


def _number(value: Json) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return USUAL_INTENSITY
