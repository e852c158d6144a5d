"""Reads the pairs of memories to be judged from a JSON Lines file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from echoless.core.errors import BadRecord, InputError
from echoless.core.model import JsonObject, Memory, Side
from echoless.core.text import is_blank
from echoless.stores import jsonl_record as records

EXPECTED: Final = (
    'one JSON object with "a" and "b", each a text or a memory object, such as '
    '{"id": "p-1", "a": "…", "b": "…"}'
)
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Question:
    """Two memories that are to be judged.

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
    """Yields questions from JSON Lines; each line is read and checked when it is asked for.

    Args:
        lines: Raw lines, UTF-8. Empty ones are passed over.
        source: Name of the file in messages.
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
            error = BadRecord(
                f"Line {number} of {source} is no pair: {problem}. Expected {EXPECTED}. "
                "Mend or remove the line; --skip-bad passes over such lines."
            )
            if skip is None:
                raise error from problem
            skip(error)


def _question(line: bytes, number: int) -> Question:
    """Reads one line.

    Raises:
        BadRecord: It holds no pair; the message is a clause.
    """
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
    given = number if data.get("id") is None else data["id"]
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise BadRecord('its "id" is neither text nor whole number')
    id_ = str(given)
    a, b = _side(data, "a", id_), _side(data, "b", id_)
    if isinstance(data["a"], str):  # a bare text has no scope of its own: it takes the other's
        a = replace(a, namespace=b.namespace)
    elif isinstance(data["b"], str):
        b = replace(b, namespace=a.namespace)
    return Question(id_, a, b)


def _side(data: JsonObject, side: Side, id_: str) -> Memory:
    """Reads the memory of one side.

    Args:
        data: The whole line.
        side: The key.
        id_: Of the question.

    Raises:
        BadRecord: There is none, or it has no text; the message is a clause.
    """
    value = data.get(side)
    if value is None:
        raise BadRecord(f'"{side}" is missing')
    memory_id = f"{id_}/{side}"
    if isinstance(value, str):
        memory = Memory(id=memory_id, content=value)
    elif isinstance(value, dict):
        text, own = records.text_of(value), value.get("id")
        if text is None:
            raise BadRecord(
                f'"{side}" has no text: none of "content", "text" and "memory" is a string'
            )
        try:
            memory = records.from_object(
                value, own if isinstance(own, str) and own else memory_id, text
            )
        except BadRecord as problem:
            raise BadRecord(f'in "{side}": {problem}') from problem
    else:
        raise BadRecord(f'"{side}" is neither a text nor a memory object')
    if is_blank(memory.content):
        raise BadRecord(f'the text of "{side}" is blank')
    return memory
