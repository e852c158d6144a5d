"""Puts a value into JSON with comments or JSON5, or takes it out; each other character stays.

Comments, commas at the end and, in JSON5, bare keys and single quotes are left as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from echoless.core.text import lazy_pattern

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
