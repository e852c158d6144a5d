"""Fields that say until when a record is in force, and hiding by such a field.

A record that ends, or that its program has put away, stands for no other one that does not: what a
record says of itself is read here as a `Promise`, by the names that programs give such fields.

mem0 leaves a record out of `search` and `get_all` if `date.fromisoformat` reads its
`expiration_date` as a day before today in UTC (`_payload_is_expired` in `mem0/memory/main.py`,
2.2). So a day long past hides a record on every clock and in every time zone. What stood there
before is kept in the record itself: both change in one write, and whoever reads the record can
show it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import cache, lru_cache
from typing import Final

from echoless.core.json_codec import json_object, json_text
from echoless.core.model import EMPTY, UNFOUND, Json, Memory, Promise
from echoless.core.text import lazy_pattern, retired
from echoless.core.timestamps import instant, iso

HIDDEN: Final = "echoless_hidden"
"""Key of a record that is hidden: JSON of what stood under the day's key, if anything did."""

HIDDEN_SINCE: Final = "1970-01-01"
"""Day that hides."""

HASH: Final = "hash"
_NO_HASH: Final = "echoless hid "
"""Stands before the hash of a hidden record: mem0 stores no text whose hash a record has, and a
value that comes back has to be stored."""

SHOWN: Final = frozenset({"", "0", "false", "f", "no"})
"""Values of a field that do not put a record away, in lower case."""

_NEVER: Final = SHOWN | {"never", "infinity", "none", "null", "-1"}
"""Values of an expiration field that mean no end."""

_KINDS: Final = lazy_pattern(
    r"(?P<end>expir(?:e|es|y|ation)(?:at|on|date|time)?|expiredat|valid(?:until|to)|invalidat)"
    r"|(?P<life>ttl|timetolive)(?:seconds|(?P<unit>minutes|hours|days))?"
    r"|(?:is)?(?P<away>deleted|removed|archived|superseded|invalidated|expired|obsolete|deprecated"
    r"|forgotten|disabled|replaced|done|completed|cancell?ed)(?:at|on|by)?"
    r"|(?:is)?(?P<active>active|enabled|valid|latest)"
    r"|(?P<state>(?:memory)?(?:status|state)|lifecycle)"
)
"""Fields of LangGraph, llm-memory, mem0, Graphiti, mcp-memory-service and others, by what they say:
an end, a length of life, that a record is put away or still active, or its state."""

_TASKS: Final = frozenset({"done", "completed", "canceled", "cancelled"})
"""Words that tell how far a task is; the record of it may still be wanted."""

_UNITS: Final = {"minutes": 60, "hours": 3_600, "days": 86_400}
"""Seconds."""

_AWAY_STATES: Final = lazy_pattern(
    r"archived|deleted|removed|superseded|replaced|obsolete|deprecated|expired|inactive|invalid|"
    r"invalidated|retired|forgotten|disabled|outdated|done|completed|closed|cancell?ed|rejected|"
    r"dismissed|trashed"
)


@cache
def blank() -> Memory:
    """Returns a memory of which nothing but its text is known; it has what a store leaves out."""
    return Memory(id="-", content="")


@lru_cache(maxsize=4_096)
def _kind(key: str) -> tuple[str, str]:
    """Returns what a field says by its name, in any case, and the word or unit of it; or empty."""
    match = _KINDS.fullmatch(key.replace("_", "").replace("-", "").lower())
    if match is None or match.lastgroup is None:
        return "", ""
    if match["life"]:
        return "life", match["unit"] or ""
    return match.lastgroup, match[match.lastgroup]


def puts_away(key: str) -> bool:
    """Returns whether a field of this name tells that its record was deleted or archived."""
    kind, word = _kind(key)
    return kind == "away" and word not in _TASKS and not key.lower().endswith("by")


def ends(key: str, value: Json) -> bool:
    """Returns whether a field puts its record away, or says when it will not be in force."""
    return bool(_kind(key)[0]) and promised(blank(), {key: value}) is not blank()


def searched(memory: Memory, *, indexed: bool = True) -> Memory:
    """Returns a memory of a program that searches by vectors, with why it does not find this one.

    Args:
        memory: With its vectors; `promised` reads what is noted here.
        indexed: Whether it has an entry where the program keeps the vectors apart from the records.
    """
    if not indexed:
        why = "it has no entry in the index"
    elif not memory.vectors:
        why = "it has no vector"
    elif any(vector.data.strip(b"\0") for vector in memory.vectors):
        return memory
    else:
        why = "its vector is zero"
    return replace(memory, native={**memory.native, UNFOUND: why})


def promised(memory: Memory, more: Mapping[str, Json] = EMPTY) -> Memory:
    """Returns a memory with the promise that the marks of its text and its fields make.

    Args:
        memory: Memory from the adapter.
        more: Fields of the record that the memory does not carry.
    """
    marks = [
        (*_kind(key), value)
        for fields in (memory.metadata, memory.extra, more)
        for key, value in fields.items()
        if _kind(key)[0] and value is not None
    ]
    own, unfound = retired(memory.content), str(memory.native.get(UNFOUND, ""))
    if not marks and not own and not unfound:
        return memory
    times = [str(value).strip() for kind, _, value in marks if kind == "end"]
    times = [end for end in times if end.lower() not in _NEVER] or list(_lives(memory, marks))
    until = min(times, key=lambda end: (Promise(end).rank[1] * -1, end), default=None)
    why = min(filter(None, (own, *(_away(*each) for each in marks))), default="")
    if until is None and not why and not unfound:
        return memory
    return replace(memory, promise=Promise(until, why, memory.promise.readers, unfound))


def _lives(memory: Memory, marks: Iterable[tuple[str, str, Json]]) -> Iterator[str]:
    """Yields the end of a record for each field with a lifetime, counted from its last use."""
    times = (memory.created_at, memory.updated_at, memory.last_accessed)
    touched = max((moment for each in times if (moment := instant(each)) is not None), default=None)
    for kind, unit, value in marks:
        if kind != "life" or str(value).strip().lower() in _NEVER:
            continue
        try:
            lasts = int(float(str(value)) * _UNITS.get(unit, 1) * 10**9)
            yield f"a {kind} of {value}" if touched is None else iso(touched + lasts)
        except ValueError:
            yield f"a {kind} of {value}"  # one that cannot be read ends at once
        except OverflowError:
            continue  # later than any date


def _away(kind: str, word: str, value: Json) -> str:
    """Returns why a field puts its record away, in half a sentence; empty if it does not."""
    said = str(value).strip().lower()
    if kind == "away":
        return "" if said in _NEVER or value in ([], {}) else word
    if kind == "active":
        return "inactive" if said and said in SHOWN else ""
    return said if kind == "state" and _AWAY_STATES.fullmatch(said) else ""


def is_hidden(record: Mapping[str, Json]) -> bool:
    """Returns whether echoless hid a record."""
    return isinstance(record.get(HIDDEN), str)


def hashed(record: Mapping[str, Json], *, hidden: bool) -> dict[str, Json]:
    """Returns the hash of a record as it is while the record is hidden, or shown; none without."""
    value = record.get(HASH)
    if not isinstance(value, str):
        return {}
    own = value.removeprefix(_NO_HASH)
    return {HASH: f"{_NO_HASH}{own}" if hidden else own}


def hiding(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Returns the fields that hide a record, with the former value saved.

    Args:
        record: The record before hiding.
        key: Of the day.
    """
    before = {key: record[key]} if key in record else {}
    return {key: HIDDEN_SINCE, HIDDEN: json_text(before), **hashed(record, hidden=True)}


def shown(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Returns a record with its former expiration date if echoless hid it; else unchanged.

    A day that someone set since stays.

    Args:
        record: Fields of the record.
        key: Of the day; empty for a program without one.
    """
    plain = dict(record)
    if not key or not is_hidden(record):
        return plain
    text = plain.pop(HIDDEN)
    plain |= hashed(plain, hidden=False)
    if plain.get(key) == HIDDEN_SINCE:
        del plain[key]
        plain |= _before(text, key)
    return plain


def _before(text: Json, key: str) -> dict[str, Json]:
    """Returns what stood under the key of the day, if anything did."""
    before = json_object(text)
    return {key: before[key]} if key in before else {}


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
