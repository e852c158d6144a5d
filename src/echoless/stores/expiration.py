"""Hiding of a record by the day from which on its own program hides it.

mem0 leaves a record out of `search` and `get_all` if `date.fromisoformat` reads its
`expiration_date` as a day before today in UTC (`_payload_is_expired` in `mem0/memory/main.py`,
2.2). So a day long past hides a record on every clock and in every time zone. What stood there
before is kept in the record itself: both change in one write, and whoever reads the record can
show it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Final

from echoless.core.json_codec import json_text
from echoless.core.model import Json

HIDDEN: Final = "echoless_hidden"
"""Key of a record that is hidden: JSON of what stood under the day's key, if anything did."""

HIDDEN_SINCE: Final = "1970-01-01"
"""Day that hides."""


def is_hidden(record: Mapping[str, Json]) -> bool:
    """Returns whether echoless hid a record."""
    return isinstance(record.get(HIDDEN), str)


def hiding(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Returns the fields that hide a record and keep what stood there.

    Args:
        record: As it is.
        key: Of the day.
    """
    before = {key: record[key]} if key in record else {}
    return {key: HIDDEN_SINCE, HIDDEN: json_text(before)}


def shown(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Returns a record as it was before echoless hid it; any other as it is.

    A day that someone set since stays.

    Args:
        record: As it is.
        key: Of the day; empty for a program without one.
    """
    plain = dict(record)
    if not key or not is_hidden(record):
        return plain
    text = plain.pop(HIDDEN)
    if plain.get(key) == HIDDEN_SINCE:
        del plain[key]
        plain |= _before(text, key)
    return plain


def _before(text: Json, key: str) -> dict[str, Json]:
    """Returns what stood under the key of the day, if anything did."""
    try:
        before = json.loads(str(text))
    except ValueError:
        return {}
    return {key: before[key]} if isinstance(before, dict) and key in before else {}


def expires(record: Mapping[str, Json], key: str) -> bool:
    """Returns whether a record that is shown now has a day from which on it is hidden.

    The day may be past. Whatever `date.fromisoformat` does not read is none.
    """
    day = record.get(key) if key else None
    try:
        date.fromisoformat(str(day))
    except ValueError:
        return False
    return True


def remarks(key: str, dated: int, elsewhere: int) -> tuple[str, ...]:
    """Returns the sentences on records a scan passed over.

    Args:
        key: Of the day.
        dated: Number of records with a day.
        elsewhere: Number of records that are hidden, but not by this ledger.
    """
    said = {
        f"Memories with an {key!r}, passed over: {dated}. Their own program hides them from that "
        "day on, so none stands for another one.": dated,
        "Memories that echoless hid with another ledger, passed over: "
        f"{elsewhere}. An undo there shows them again.": elsewhere,
    }
    return tuple(sentence for sentence, number in said.items() if number)
