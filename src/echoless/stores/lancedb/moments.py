"""Places of times: numbers, timestamps or texts in a table, ISO 8601 or digits in a memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from echoless.core import json_codec as codec
from echoless.core.timestamps import instant
from echoless.stores.lancedb.cells import Cell, is_moment, is_real, is_text, is_whole
from echoless.stores.lancedb.places import Field, Misfit, Value, checked, plain

if TYPE_CHECKING:
    import pyarrow as pa

_SECOND: Final = 10**9
_MILLISECOND: Final = 10**6
_UNITS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def maker(field: str, kind: pa.DataType) -> Callable[[str], Field] | None:
    """Returns what makes the place of a time by its column's name; None for another type.

    Args:
        field: The field.
        kind: Type of the column.
    """
    if is_moment(kind):
        return lambda column: moment(field, column, kind.unit)
    if is_whole(kind) or is_real(kind):
        return lambda column: digits(field, column, real=is_real(kind))
    return functools.partial(time, field) if is_text(kind) else None


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


def time(field: str, column: str) -> Field:
    """Returns a place for a time in a text, or a number whose number of digits gives the unit."""

    def read(cells: Sequence[Cell]) -> Value:
        return checked(codec.read_time, cells[0])

    return Field(field, (column,), read, lambda value: [plain(value)], None)


def digits(field: str, column: str, *, real: bool) -> Field:
    """Returns a place for a time in a column of numbers, whose size gives the unit."""

    def write(value: Value) -> Sequence[Cell]:
        if value is None:
            return [None]
        try:
            cell: Cell = float(str(value)) if real else int(str(value))
        except ValueError:
            raise Misfit from None
        if repr(cell) != value:
            raise Misfit
        return [cell]

    return Field(field, (column,), time(field, column).read, write, None)
