"""Cells of a row as plain values, and what kind of value a column holds.

A cell of SQLite is what the file holds: a whole number, a real one, a text, bytes or nothing. A
cell of PostgreSQL is the text its type gives and takes
(https://www.postgresql.org/docs/current/sql-createcast.html, I/O conversion), so that a value of
any type goes back exactly as it was.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from echoless.core.json_codec import json_text, json_value
from echoless.core.model import Json
from echoless.core.sqlite import Cell

_ARRAY: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)')
_PLAIN: Final = re.compile(r"[^\s,{}\"\\]+\Z")
_STYLES: Final = (
    {"separators": (",", ":"), "ensure_ascii": False},
    {"separators": (", ", ": "), "ensure_ascii": True},
    {"separators": (", ", ": "), "ensure_ascii": False},
    {"separators": (",", ":"), "ensure_ascii": True},
)


class CellKind(StrEnum):
    """Kinds of columns that are read and written in different ways."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    JSON = "json"
    ARRAY = "array"
    VECTOR = "vector"
    BYTES = "bytes"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: As it is in the database.
        kind: How its cells are read.
        type: The type as the database writes it.
        generated: Whether the database computes the column, so that nobody can write it.
        identity: Whether the database always gives its value, unless told otherwise.
        required: Whether a row needs a value that the database does not give.
        default: Expression of the value the database gives a new row, or None.
    """

    name: str
    kind: CellKind
    type: str
    generated: bool = False
    identity: bool = False
    required: bool = False
    default: str | None = None


def alike(one: Cell, other: Cell) -> bool:
    """Returns whether two cells are the same; 1 and 1.0 are not."""
    return type(one) is type(other) and one == other


# ------------------------------------------------------------------ JSON in a cell


def parsed(cell: Cell) -> Json:
    """Returns the JSON a cell holds; None where it holds none."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    return json_value(cell) if isinstance(cell, str) else cell


def dumped(value: Json, like: Cell) -> Cell:
    """Returns JSON as text or bytes, with the spaces and escapes of the present text."""
    old = like.decode("utf-8", "replace") if isinstance(like, bytes) else like
    text = json_text(value)
    if isinstance(old, str):
        before = parsed(old)
        for style in _STYLES:
            if json.dumps(before, **style) == old:  # type: ignore[arg-type]
                text = json.dumps(value, **style)  # type: ignore[arg-type]
                break
    return text.encode("utf-8") if isinstance(like, bytes) else text


# ------------------------------------------------------------------ arrays of PostgreSQL


def read_array(cell: Cell) -> list[str] | None:
    """Returns the texts of an array such as `{a,"b c",NULL}`; None for anything else.

    https://www.postgresql.org/docs/current/arrays.html, 8.15.6
    """
    if not isinstance(cell, str) or not cell.startswith("{") or not cell.endswith("}"):
        return None
    return [
        re.sub(r"\\(.)", r"\1", quoted) if plain == "" else plain
        for quoted, plain in _ARRAY.findall(cell[1:-1])
        if plain.upper() != "NULL"
    ]


def write_array(texts: Sequence[str]) -> str:
    """Returns an array of texts in the spelling of PostgreSQL."""
    return "{" + ",".join(map(_array_item, texts)) + "}"


def _array_item(text: str) -> str:
    if _PLAIN.match(text) and text.upper() != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ------------------------------------------------------------------ vectors


def read_vector(cell: Cell) -> bytes | None:
    """Returns a vector as float32 bytes: from such bytes, or from a list as JSON or pgvector."""
    if isinstance(cell, bytes):
        return cell if cell and len(cell) % 4 == 0 else None
    numbers = parsed(cell)
    if not isinstance(numbers, list) or not numbers:
        return None
    try:
        return struct.pack(f"<{len(numbers)}f", *numbers)
    except (struct.error, OverflowError, TypeError):
        return None


def write_vector(data: bytes, like: Cell, kind: CellKind) -> Cell:
    """Returns a vector in the form of the present one, or in that of its column."""
    if kind is CellKind.BYTES or isinstance(like, bytes):
        return data
    numbers = struct.unpack(f"<{len(data) // 4}f", data)
    return "[" + ",".join(f"{number:.9g}" for number in numbers) + "]"
