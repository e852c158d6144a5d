"""Change of single fields of a JSON object in its own text; all other characters stay.

Unknown fields, the order of keys, number formats (`1.00`) and spacing stay as they were written.
`put` and `take` also leave what a configuration may have beyond JSON: comments, commas at the end,
and in JSON5 bare keys and single quotes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from echoless.core.text import lazy_pattern

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
    try:
        value = json.loads(text)
    except (RecursionError, ValueError):
        return None
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
        is_list = isinstance(each, list) and len(each) == count > 1
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


# ------------------------------------------------------------------ JSON with comments, JSON5

_TOKEN: Final = lazy_pattern(
    r"(?P<space>[\s\ufeff]+|//[^\r\n]*|/\*.*?\*/)"
    r"|(?P<text>\"(?:\\.|[^\"\\\r\n])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<sign>[][{},:])"
    r"|(?P<word>[^][{},:\"'/\s]+)",
    re.DOTALL,
)

NEW_ELEMENT: Final = "-"
"""Last part of a path that stands for a new element of an array, as in RFC 6901."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in the text of a document.

    Attributes:
        start: Where it starts.
        end: Behind it.
        value: What it says.
        items: Key (the number of an element), where the item starts, and its value.
    """

    start: int
    end: int
    value: Any
    items: tuple[tuple[str, int, Node], ...] = ()

    def at(self, key: str) -> Node | None:
        """Returns the value of a key, the last one if it stands twice; None where there is none."""
        return next((node for name, _, node in reversed(self.items) if name == key), None)


class _Reader:
    """Reads JSON with comments and commas at the end; JSON5 if it is loose."""

    def __init__(self, text: str, *, loose: bool) -> None:
        self._text, self._loose = text, loose
        self._tokens = [each for each in _tokens(text) if each.lastgroup != "space"][::-1]

    def document(self) -> Node | None:
        """Returns the value of the whole text; None where there is none."""
        node = self._value() if self._tokens else None
        if self._tokens:
            raise json.JSONDecodeError("Extra data", self._text, self._tokens[-1].start())
        return node

    def _next(self, wanted: str = "") -> re.Match[str]:
        at = self._tokens[-1].start() if self._tokens else len(self._text)
        if not self._tokens or (wanted and self._tokens[-1][0] not in wanted):
            raise json.JSONDecodeError(f"Expecting {wanted or 'a value'}", self._text, at)
        return self._tokens.pop()

    def _value(self) -> Node:
        token = self._next()
        if token[0] not in {"{", "["}:
            return Node(token.start(), token.end(), self._plain(token))
        items: list[tuple[str, int, Node]] = []
        is_object = token[0] == "{"
        closing, start = "}" if is_object else "]", token.start()
        while self._tokens and self._tokens[-1][0] != closing:
            begin, key = self._tokens[-1].start(), str(len(items))
            if is_object:
                key = str(self._plain(self._next(), key=True))
                self._next(":")
            items.append((key, begin, self._value()))
            if not self._tokens or self._tokens[-1][0] != closing:
                self._next(f",{closing}")
        end = self._next(closing).end()
        value = {k: n.value for k, _, n in items} if is_object else [n.value for _, _, n in items]
        return Node(start, end, value, tuple(items))

    def _plain(self, token: re.Match[str], *, key: bool = False) -> object:
        """Returns what a text, a number or a word says; a word of JSON5 is left as it is."""
        if token.lastgroup != "sign" and not (key and token.lastgroup == "word"):
            if token[0].startswith("'") and self._loose:
                return re.sub(r"\\(.)", r"\1", token[0][1:-1])
            try:
                return json.loads(token[0])
            except ValueError:
                pass
        if token.lastgroup != "word" or not self._loose:
            raise json.JSONDecodeError("Expecting a value", self._text, token.start())
        return token[0]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Yields the tokens of a text, spaces and comments too."""
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise json.JSONDecodeError("Unexpected character", text, at)
        yield token
        at = token.end()


def document(text: str, *, loose: bool = True) -> Node | None:
    """Reads a document with comments.

    Args:
        text: Of the document.
        loose: Whether it may be JSON5.

    Returns:
        Its value; None where the text has none.

    Raises:
        ValueError: It is no such document; the message names the line.
    """
    try:
        return _Reader(text, loose=loose).document()
    except RecursionError:
        raise ValueError("nested too deeply") from None


def put(text: str, path: Sequence[str], value: object) -> str:
    """Writes a value into a document; objects and arrays above it are made where there are none.

    Args:
        text: Of the document.
        path: Keys, and numbers of elements, from the top; `NEW_ELEMENT` adds to an array.
        value: What JSON can hold.

    Raises:
        ValueError: The text is no document, or something else stands on the path.
    """
    node = document(text)
    if node is None:
        end = _newline(text)
        apart = end if text.strip() and not text.endswith("\n") else ""
        return text + apart + _dumped(text, _nested(path, value), "", flat=False) + end
    for depth, key in enumerate(path):
        inner = node.at(key)
        if inner is None:
            if not isinstance(node.value, list if key == NEW_ELEMENT else dict):
                raise ValueError(f"{'.'.join(path[:depth]) or 'the whole'} is of another form")
            return _inserted(text, node, key, _nested(path[depth + 1 :], value))
        node = inner
    flat = bool(node.items) and "\n" not in text[node.start : node.end]
    new = _dumped(text, value, _margin(text, node.start), flat=flat)
    return text[: node.start] + new + text[node.end :]


def take(text: str, path: Sequence[str]) -> str:
    """Takes a value out of a document, with its key and one comma.

    Raises:
        ValueError: The text is no document, or has no such value.
    """
    node = document(text)
    for key in path[:-1]:
        node = node.at(key) if node else None
    names = [name for name, _, _ in node.items] if node else []
    if node is None or path[-1] not in names:
        raise ValueError(f"there is no {'.'.join(path)}")
    place = names.index(path[-1])
    _, start, gone = node.items[place]
    line = re.search(r"(?:\r?\n[ \t]*)?\Z", text[:start])
    cuts = [(line.start() if line else start, gone.end)]
    comma = _comma(text, gone.end, node.end)
    if comma is None and place:
        comma = _comma(text, node.items[place - 1][2].end, start)
    cuts += [] if comma is None else [(comma, comma + 1)]
    for begin, end in sorted(cuts, reverse=True):
        text = text[:begin] + text[end:]
    return text


def _comma(text: str, start: int, end: int) -> int | None:
    """Returns where a comma stands between two places, outside of comments."""
    signs = (each for each in _tokens(text[start:end]) if each.lastgroup == "sign")
    return next((start + each.start() for each in signs if each[0] == ","), None)


def _nested(path: Sequence[str], value: object) -> object:
    """Returns a value within the objects and arrays of a path."""
    for key in reversed(path):
        value = [value] if key == NEW_ELEMENT else {key: value}
    return value


def _newline(text: str) -> str:
    """Returns how the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _margin(text: str, at: int) -> str:
    """Returns the spaces at the start of the line of a place."""
    line = text[max(text.rfind(sign, 0, at) for sign in "\r\n") + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Returns by what the lines of a text are indented."""
    first = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return first[1] if first else "  "


def _dumped(text: str, value: object, margin: str, *, flat: bool) -> str:
    """Returns the JSON of a value in the style of a document, or on one line."""
    lines = json.dumps(value, ensure_ascii=False, indent=None if flat else _unit(text))
    return lines.replace("\n", f"{_newline(text)}{margin}")


def _inserted(text: str, node: Node, key: str, value: object) -> str:
    """Returns a text with a new item at the end of one of its objects or arrays."""
    inside = [each for each in _tokens(text[node.start : node.end]) if not each[0].isspace()]
    at = node.start + inside[-2].end()  # behind the last item, comma or comment
    end = node.items[-1][2].end if node.items else at
    separator = "," if node.items and _comma(text, end, node.end) is None else ""
    outer, newline = _margin(text, node.start), _newline(text)
    whole = text.strip(" \t\r\n\ufeff")
    flat = "\n" not in (text[node.start : node.end] if node.items else whole) and whole != "{}"
    margin = _margin(text, node.items[-1][1]) if node.items else outer + _unit(text)
    new = _dumped(text, value, margin, flat=flat)
    if key != NEW_ELEMENT:
        new = f"{json.dumps(key, ensure_ascii=False)}: {new}"
    if flat:
        new = " " * bool(node.items) + new
    else:
        closes = "" if "\n" in text[at : node.end] else newline + outer
        new = newline + margin + new + closes
    return text[:end] + separator + text[end:at] + new + text[at:]
