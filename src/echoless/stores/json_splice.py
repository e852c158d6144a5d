"""Change of single fields of a JSON object in its own text; all other characters stay.

Unknown fields, the order of keys, number formats (`1.00`) and spacing stay as they were written.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.json_codec import json_value

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
LARGEST: Final = 256 * 2**20
"""Bytes of a document that is read: it takes nine times as much memory (35 MB took 314 MB)."""

_KNOWN: Final = frozenset({"facts", "results", "memories", "texts"})
"""Members that hold the memories where no list of a document has a record, but texts or nothing.

`facts` as in DeerFlow's `memory.json` (bytedance/deer-flow, `agents/memory/storage.py`), `results`
as in what mem0's `get_all` returns, `memories` as in what ChatGPT's own page loads.
"""
_CLAUDE: Final = "conversations_memory"
"""Member of Claude's `memories.json`; it and `project_memories`, by project, are Markdown."""


@dataclass(frozen=True, slots=True)
class _Member:
    """Place of one member in the text of an object.

    Attributes:
        key: Its key.
        start: Where the key starts.
        value: Where the value starts.
        end: Behind the value.
        comma: Behind the comma that follows, with the space behind it; None for the last member.
    """

    key: str
    start: int
    value: int
    end: int
    comma: int | None


def splice(text: str, changes: Mapping[str, str | None]) -> str:
    """Replaces, adds or drops members of the object a text holds.

    Args:
        text: One JSON object.
        changes: JSON text of the new value by key, or None to drop the key. A key that stands
            twice is changed in its last place, the one parsers read, and dropped in both.

    Returns:
        The changed text; equal to `text` when nothing changes.

    Raises:
        ValueError: The text is not a JSON object.
    """
    members = _members(text)
    last = {member.key: member for member in members}
    gone = {key for key, value in changes.items() if value is None}
    left = [member for member in members if member.key not in gone]
    style = ": " if re.search(r'"\s*:\s', text) else ":"
    comma = ", " if re.search(r",\s", text) or len(last) < 2 else ","
    edits = [(last[k].value, last[k].end, v) for k, v in changes.items() if v and k in last]
    new_ones = {key: value for key, value in changes.items() if value and key not in last}
    added = comma.join(
        f"{json.dumps(k, ensure_ascii=False)}{style}{v}" for k, v in new_ones.items()
    )
    # what is dropped goes with the comma behind it, and at the end with that before it
    behind = left[-1].end if left else members[0].start if members else text.index("{") + 1
    end = members[-1].end if members else behind
    dropped = (each for each in members if each.key in gone and each.start < behind)
    edits += [(each.start, each.comma or each.end, "") for each in dropped]
    edits.append((behind, end, comma * bool(left and added) + added))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def array_of(text: str, key: str) -> str | None:
    """Returns the text of the array an object holds under a key; None where there is none.

    Args:
        text: One JSON object.
        key: Key of the array; if it occurs twice, the last one counts.

    Raises:
        ValueError: The text is not a JSON object.
    """
    member = {member.key: member for member in _members(text)}.get(key)
    array = None if member is None else text[member.value : member.end]
    return array if array is not None and array.startswith("[") else None


def records_in(text: str, is_record: Callable[[object], bool]) -> tuple[str, list[str], str] | None:
    """Returns the records of a JSON document, and the text before and after them.

    A document is an array of records or texts, or an object of which one member is an array of
    records; a list of texts has one of the names of `_KNOWN` there. Joined by commas, the records
    with what stands around them are the document again.

    Args:
        text: Any text.
        is_record: Returns whether a value is a record.

    Returns:
        None where the text is no such document, or more than one array may be meant.
    """
    value = json_value(text)
    arrays: list[tuple[int, int]] = []
    if isinstance(value, list) and (
        not value or any(isinstance(each, str) or is_record(each) for each in value)
    ):
        arrays = [(_skip(text, 0), len(text.rstrip(" \t\r\n")))]
    elif isinstance(value, dict) and not is_record(value):
        members = _members(text)
        last = {member.key: member for member in members}
        lists = {key: each for key, each in value.items() if isinstance(each, list)}
        if len(members) > len(last):
            return None
        keys = [key for key, each in lists.items() if any(map(is_record, each))]
        arrays = [(last[key].value, last[key].end) for key in keys or _KNOWN & lists.keys()]
    if len(arrays) != 1:
        return None
    ((start, end),) = arrays
    parts = elements(text[start:end])
    return text[: start + 1], parts, text[end - 1 :] if parts else text[start + 1 :]


_LONG: Final = 200
"""Characters of a text without a blank that may be an encoded matrix."""


def bound_to(text: str, count: int) -> str:
    """Returns what in a document may hold a row for each of its records, as a clause, or "".

    The files of nano-vectordb have all vectors in one text beside the list of records.

    Args:
        text: A document that `records_in` reads.
        count: How many records it has.
    """
    value = json.loads(text)
    for key, each in value.items() if isinstance(value, dict) else ():
        is_list = isinstance(each, list) and len(each) == count > 1 and key not in _KNOWN
        rows = is_list and not any(isinstance(one, dict) for one in each)
        if rows or (isinstance(each, str) and len(each) >= _LONG and " " not in each):
            return f"its {key!r} may hold a row for each element"
    return ""


def not_read(text: str, path: Path, *, alone: bool = False, query: str = "") -> str:
    """Returns why a JSON document is not read, and what to do; empty where the text has lines.

    Args:
        text: Of the file.
        path: For the message.
        alone: Whether an object on the first line is a document, too, by the name of the file.
        query: What `jq` is asked to bring it into lines; all elements by default.
    """
    is_array = text.lstrip().startswith("[")
    nothing = "Nothing was read or changed."
    try:
        value = json.loads(text)
    except RecursionError:
        sure = is_array or alone
        return f"{path} is nested too deeply to be read. {nothing}" if sure else ""
    except json.JSONDecodeError as problem:
        if not is_array and (not alone or problem.msg == "Extra data"):
            return ""
        place = f"line {problem.lineno}, column {problem.colno}"
        return f"{path} is no valid JSON, perhaps cut off ({problem.msg}, {place}). {nothing}"
    if not (is_array or alone or "\n" in text.strip()):
        return ""
    name, new = shlex.quote(str(path)), shlex.quote(f"{path}.lines.jsonl")
    if is_array and value and all(isinstance(each, dict) and _CLAUDE in each for each in value):
        new = shlex.quote(f"{path}.md")
        return (
            f"{path} is Claude's export, with its memories as Markdown in JSON. `jq -r '.[] | "
            f".{_CLAUDE}, .project_memories[]?' {name} > {new}` writes them into a new file to "
            f"open. {nothing}"
        )
    keys = [] if is_array else [member.key for member in _members(text)]
    if twice := next((key for key in keys if keys.count(key) > 1), ""):
        return f"{path} has the key {twice!r} twice, so one of its values is lost. {nothing}"
    what = "array without memories" if is_array else "object with no list of memories, or several"
    query = query or (".[]" if is_array else ".")
    return (
        f"{path} is one JSON {what}, and not one object a line. `jq -c '{query}' {name} > {new}` "
        f"writes lines into a new file. {nothing}"
    )


def elements(array: str) -> list[str]:
    """Returns the text of each element of an array, with the white space around it.

    The texts joined by commas within brackets are the array again, but for an empty one.

    Args:
        array: One JSON array, without white space around it.

    Raises:
        ValueError: The text is not a JSON array.
    """
    texts: list[str] = []
    start = 1
    at = _skip(array, start)
    while array[at : at + 1] != "]":
        _, at = _DECODER.raw_decode(array, at)
        at = _skip(array, at)
        if array[at : at + 1] not in {",", "]"}:
            raise ValueError("not a JSON array")
        texts.append(array[start:at])
        if array[at] == ",":
            start = at + 1
            at = _skip(array, start)
    return texts


def _members(text: str) -> list[_Member]:
    """Returns the members of an object in their order; a repeated key occurs twice.

    Raises:
        ValueError: The text is not a JSON object.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("not a JSON object")
    at = _skip(text, at + 1)
    members: list[_Member] = []
    while text[at] != "}":
        start = at
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # over the colon
        value = at
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        comma = _skip(text, at + 1) if text[at] == "," else None
        members.append(_Member(key, start, value, end, comma))
        at = at if comma is None else comma
    return members


def _skip(text: str, at: int) -> int:
    """Returns the place of the first character from `at` on that is no white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at
