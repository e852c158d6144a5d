"""Places: how one field of a memory is stored in one or more columns of a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord
from echoless.core.model import Json, Link, Provenance, Vector, canonical
from echoless.core.timestamps import instant
from echoless.stores import column_values as values
from echoless_stores.lancedb.cells import Cell

Value: TypeAlias = (
    "Json | Provenance | tuple[str, ...] | tuple[Link, ...] | tuple[Vector, ...] | None"
)
"""What a field of a memory holds."""

OTHERS: Final = "others"
"""Field of the place that takes all keys of `extra` without a column."""


_PRIVATE: Final = " (private to "


_LIST: Final = "[]"
"""Form of a text column that holds a list in JSON."""


class Misfit(ValueError):
    """A value has no form in the column it belongs to."""


class OddCell(ValueError):
    """Error for a cell that does not fit its column; the field is empty, the cell unchanged."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a memory in a table.

    Attributes:
        field: The field; `extra` for a column echoless does not interpret.
        columns: Names of the columns, one for most fields.
        read: From the cells of these columns to the value; raises `OddCell`.
        write: From the value to the cells; raises `Misfit`.
        empty: The value of a broken cell, and of a memory without the field.
    """

    field: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[Cell]], Value]
    write: Callable[[Value], Sequence[Cell]]
    empty: Value

    @property
    def key(self) -> str:
        """Returns the first column, which in `extra` is also the key."""
        return self.columns[0]


def as_is(field: str, column: str, empty: Value = None) -> Field:
    """Returns a place for cells whose JSON is the value itself."""
    return Field(field, (column,), lambda cells: _json(cells[0]), _same, empty)


def _json(cell: Cell) -> Json:
    """Returns a cell as JSON; the bytes of a vector become a list of numbers."""
    if isinstance(cell, bytes):
        return codec.bytes_to_floats(cell)
    return cell


def _same(value: Value) -> Sequence[Cell]:
    """Returns the single cell of a value that needs no conversion."""
    return [plain(value)]


def numbers(field: str, column: str) -> Field:
    """Returns a place for a vector in `extra`: a list of numbers in JSON, float32 in the table."""

    def write(value: Value) -> Sequence[Cell]:
        return [None if value is None else codec.floats_to_bytes(plain(value), column)]

    return Field(field, (column,), lambda cells: _json(cells[0]), write, None)


def identifier(column: str) -> Field:
    """Returns a place for an id that is a text; null reads as the empty text."""
    return Field("id", (column,), lambda cells: str(cells[0] or ""), _same, "")


def valued(field: str, column: str, *, like: Json) -> Field:
    """Returns a place for a field that `column_values` reads and writes.

    Args:
        field: The field.
        column: The column.
        like: A cell in the form of the column, without a value.
    """
    empty: Any = values.default(field)

    def read(cells: Sequence[Cell]) -> Value:
        return checked(lambda cell: values.read(field, cell), cells[0])

    def write(value: Value) -> Sequence[Cell]:
        if value == empty and like == _LIST:
            return [None]
        try:
            cell = values.write(field, value, like)
        except BadRecord:
            raise Misfit from None
        return [_ordered(cell) if field == "links" and isinstance(cell, str) else cell]

    return Field(field, (column,), read, write, empty)


def _ordered(text: str) -> str:
    """Returns a JSON text with its keys sorted, as they come back from the ledger.

    Any other order is kept as it was.
    """
    return codec.json_text(json.loads(canonical(json.loads(text))))


def whole_id(column: str) -> Field:
    """Returns a place for an id that is a whole number in the table."""

    def write(value: Value) -> Sequence[Cell]:
        written = str(value)
        if not written.lstrip("-").isdecimal() or str(int(written)) != written:
            raise Misfit
        return [int(written)]

    def read(cells: Sequence[Cell]) -> Value:
        return "" if cells[0] is None else str(cells[0])

    return Field("id", (column,), read, write, "")


def joined(field: str, columns: Sequence[str]) -> Field:
    """Returns a place for one text from several columns, joined by `/`.

    The last column may hold a `/` itself.
    """

    def read(cells: Sequence[Cell]) -> Value:
        return "/".join(str(cell or "") for cell in cells).rstrip("/")

    def write(value: Value) -> Sequence[Cell]:
        parts = str(value).split("/", len(columns) - 1)
        return parts + [""] * (len(columns) - len(parts))

    return Field(field, tuple(columns), read, write, "")


def shared_or_private(field: str, home: str, owner: str, private: str) -> Field:
    """Returns a place for a home, which for a private row names its owner too.

    So a private row is compared with rows of the same owner only, and never stands for a shared
    one. A new row has an owner only if it is private.

    Args:
        field: The field.
        home: Column of the home.
        owner: Column of the owner.
        private: Column that is true for a private row.
    """

    def read(cells: Sequence[Cell]) -> Value:
        where = str(cells[0] or "")
        return f"{where}{_PRIVATE}{cells[1] or ''})" if cells[2] else where

    def write(value: Value) -> Sequence[Cell]:
        where, private, owner = str(value)[:-1].rpartition(_PRIVATE)
        whole = private and str(value).endswith(")")
        return [where, owner, True] if whole else [str(value), "", False]

    return Field(field, (home, owner, private), read, write, "")


# ------------------------------------------------------------------ JSON in a text


def coded(
    field: str,
    column: str,
    of: Callable[[Json], Value],
    *,
    empty: Value,
    to: Callable[[Value], Json] | None = None,
) -> Field:
    """Returns a place for JSON in a text column; null and the empty text read as `empty`.

    Args:
        field: The field.
        column: The column.
        of: From the parsed JSON to the value; raises `BadRecord`.
        empty: The value of nothing.
        to: From the value to JSON; a value that is JSON as it is needs none.
    """

    def read(cells: Sequence[Cell]) -> Value:
        if cells[0] is None or not str(cells[0]).strip():
            return empty
        try:
            parsed = json.loads(str(cells[0]))
        except (ValueError, RecursionError) as problem:
            raise OddCell(str(problem)) from problem
        return checked(of, parsed)

    def write(value: Value) -> Sequence[Cell]:
        return [None if value == empty else _ordered(codec.json_text((to or plain)(value)))]

    return Field(field, (column,), read, write, empty)


def plain(value: Value) -> Json:
    """Returns a value unchanged if it is plain JSON.

    Raises:
        Misfit: The value is no plain JSON.
    """
    if isinstance(value, tuple | Provenance):
        raise Misfit
    return value


def as_list(value: Value) -> Json:
    """Returns tags as a JSON list."""
    assert isinstance(value, tuple)
    return [str(each) for each in value]


def others(column: str) -> Field:
    """Returns a place for all keys of `extra` without a column: one JSON object in a text."""
    return coded(OTHERS, column, lambda parsed: codec.read_object(parsed, column), empty={})


def checked(of: Callable[[Json], object], cell: Cell) -> Value:
    """Returns what the codec reads in a cell.

    Raises:
        OddCell: The codec refuses it.
    """
    value: Any
    try:
        value = of(_json(cell))
    except BadRecord as problem:
        raise OddCell(str(problem)) from problem
    made: Value = value
    return made


# ------------------------------------------------------------------ vectors


def vector(column: str, model: Callable[[int], str]) -> Field:
    """Returns a place for one vector; `model` names its model by the number of components."""

    def read(cells: Sequence[Cell]) -> Value:
        cell = cells[0]
        try:
            data = cell if isinstance(cell, bytes | None) else codec.floats_to_bytes(cell, column)
        except BadRecord as problem:
            raise OddCell(str(problem)) from problem
        return () if not data else (Vector(model(len(data) // 4), data),)

    def write(value: Value) -> Sequence[Cell]:
        if not value:
            return [None]
        assert isinstance(value, tuple)
        only = value[0]
        fits = isinstance(only, Vector) and only.model == model(only.dimensions)
        if len(value) > 1 or not fits or not isinstance(only, Vector):
            raise Misfit
        return [only.data]

    return Field("vectors", (column,), read, write, ())


def vectors_in_text(column: str) -> Field:
    """Returns a place for vectors of any models: a JSON object of model to base64 in a text."""

    def to(value: Value) -> Json:
        assert isinstance(value, tuple)
        return codec.vectors_to_json([each for each in value if isinstance(each, Vector)])

    read = coded("vectors", column, codec.read_vectors, empty=(), to=to).read

    def write(value: Value) -> Sequence[Cell]:
        by_model = to(value)
        assert isinstance(by_model, dict)
        return [codec.json_text(dict(sorted(by_model.items()))) if by_model else None]

    return Field("vectors", (column,), read, write, ())


# ------------------------------------------------------------------ times


_SECOND: Final = 10**9
_MILLISECOND: Final = 10**6
_UNITS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def moment(field: str, column: str, unit: str, *, real: bool = False) -> Field:
    """Returns a place for a time that is a number in the table, and ISO 8601 in a memory.

    Args:
        field: The field.
        column: The column.
        unit: `s`, `ms`, `us` or `ns` since 1970.
        real: Whether the column holds floating numbers.
    """
    step = _UNITS[unit]

    def read(cells: Sequence[Cell]) -> Value:
        cell = cells[0]
        if cell is None:
            return None
        iso = None if not isinstance(cell, int | float) else _iso(cell, step)
        return iso or repr(cell)

    def write(value: Value) -> Sequence[Cell]:
        if value is None:
            return [None]
        try:
            cell = _number(str(value), step, real=real)
        except (ValueError, OverflowError):
            raise Misfit from None
        if read([cell]) != value:
            raise Misfit  # finer than the column's unit, or written in another way
        return [cell]

    return Field(field, (column,), read, write, None)


def _number(text: str, step: int, *, real: bool) -> int | float:
    """Returns the number of steps since 1970 of a time, or the number a text already is."""
    at: int | None = None
    try:
        float(text)
    except ValueError:
        at = instant(text)
    if at is None:
        return float(text) if real else int(text)
    return at / step if real else at // step


def _iso(number: float, step: int) -> str | None:
    """Returns the ISO 8601 of a number of steps since 1970; None where that is not exact."""
    try:
        whole_steps = int(number)  # beyond 2^53 a product of floats would be off
        exact = whole_steps * step + round((number - whole_steps) * step)
        back = exact // step if isinstance(number, int) else exact / step
        moment_ = datetime.fromtimestamp(exact // _SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if back != number:
        return None
    rest = exact % _SECOND
    digits = f".{rest:09d}".rstrip("0") if rest else ""
    if rest and rest % _MILLISECOND == 0:
        digits = f".{rest // _MILLISECOND:03d}"
    return f"{moment_:%Y-%m-%dT%H:%M:%S}{digits}Z"
