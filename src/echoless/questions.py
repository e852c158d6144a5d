"""Pairs of memories somebody asks about, as they stand in a JSON Lines file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from echoless.errors import BadRecord, InputError
from echoless.model import Json, JsonObject, Memory, Side
from echoless.stores import jsonl_record as records
from echoless.text import is_blank

EXPECTED: Final = (
    'one JSON object with "a" and "b", each a text or a memory object, such as '
    '{"id": "p-1", "a": "…", "b": "…"}'
)
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Question:
    """Two memories somebody wants to know about.

    Attributes:
        id: Any text; need not be unique.
        a: One memory.
        b: The other.
    """

    id: str
    a: Memory
    b: Memory


def read_questions(
    lines: Iterable[bytes], source: str, *, skip: Callable[[InputError], None] | None = None
) -> Iterator[Question]:
    """Questions from JSON Lines, each line read and checked when it is asked for.

    Args:
        lines: Raw lines, UTF-8. Empty ones are passed over.
        source: What they come from, for messages.
        skip: Told about each bad line, which is then passed over.

    Raises:
        BadRecord: A line holds no pair, and there is no `skip`; the message names the line.
    """
    for number, line in enumerate(lines, 1):
        raw = line.removeprefix(_BOM) if number == 1 else line
        if not raw.strip():
            continue
        try:
            yield _question(raw, number)
        except BadRecord as problem:
            told = BadRecord(
                f"Line {number} of {source} is no pair: {problem}. Expected {EXPECTED}. "
                "Mend or remove the line; --skip-bad passes over such lines."
            )
            if skip is None:
                raise told from problem
            skip(told)


def _question(line: bytes, number: int) -> Question:
    try:
        data = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise BadRecord(f"it is not valid UTF-8 (byte {problem.start + 1})") from problem
    except json.JSONDecodeError as problem:
        raise BadRecord(f"it is not JSON ({problem.msg} at column {problem.colno})") from problem
    except (RecursionError, ValueError) as problem:
        raise BadRecord(f"it cannot be read ({problem})") from problem
    if not isinstance(data, dict):
        raise BadRecord("it is not a JSON object")
    id_ = _id(data.get("id"), str(number))
    a, b = _side(data, "a", id_), _side(data, "b", id_)
    if isinstance(data["a"], str):  # a bare text has no scope of its own: it takes the other's
        a = replace(a, namespace=b.namespace)
    elif isinstance(data["b"], str):
        b = replace(b, namespace=a.namespace)
    return Question(id_, a, b)


def _id(value: Json, otherwise: str) -> str:
    if value is None:
        return otherwise
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadRecord('its "id" is neither text nor whole number')


def _side(data: JsonObject, side: Side, id_: str) -> Memory:
    value = data.get(side)
    if value is None:
        raise BadRecord(f'"{side}" is missing')
    named = f"{id_}/{side}"
    if isinstance(value, str):
        memory = Memory(id=named, content=value)
    elif isinstance(value, dict):
        memory = _memory(value, side, named)
    else:
        raise BadRecord(f'"{side}" is neither a text nor a memory object')
    if is_blank(memory.content):
        raise BadRecord(f'the text of "{side}" is blank')
    return memory


def _memory(data: JsonObject, side: Side, named: str) -> Memory:
    text = records.text_of(data)
    if text is None:
        raise BadRecord(f'"{side}" has no text: none of "content", "text" and "memory" is a string')
    own = data.get("id")
    try:
        return records.from_object(data, own if isinstance(own, str) and own else named, text)
    except BadRecord as problem:
        raise BadRecord(f'in "{side}": {problem}') from problem
