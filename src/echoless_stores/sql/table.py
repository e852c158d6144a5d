"""Description of a table by the database, the statements on its rows, and how a row is hidden.

All statements are SQLAlchemy's; values are always bound. Rows go in and out as cells (`cells.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext import compiler

from echoless.core.batches import batched
from echoless.core.errors import StoreError
from echoless.core.model import Json
from echoless.core.sqlite import Cell
from echoless.stores.column_values import ARROW, BYTES
from echoless.stores.expiration import SHOWN, hashed
from echoless_stores.sql import cells as forms
from echoless_stores.sql.cells import CellKind, Column

Cells: TypeAlias = Mapping[str, Cell]
Key: TypeAlias = tuple[str, ...]

ROWID: Final = "rowid"
_PLACE: Final = "echoless place"
"""Label of the number of a row in an SQLite table, which no column has."""

_BATCH: Final = 200
_AT_ONCE: Final = 1000
"""Rows of a scan that are fetched at once; a server keeps the others."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column, or a key inside a column of JSON.

    Attributes:
        column: Its name.
        path: Keys from the outside in; digits are also the place of an item in a list, from 0.
    """

    column: str
    path: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Place:
        """Reads `column` or `column->key->key`."""
        column, *path = text.split(ARROW)
        return cls(column, tuple(path))

    def inside(self, value: Json) -> Json:
        """Returns what stands at the path in the JSON of a cell; None where nothing does."""
        for key in self.path:
            if isinstance(value, list) and is_index(key):
                value = value[int(key)] if int(key) < len(value) else None
            else:
                value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def with_value(self, whole: Json, value: Json) -> Json:
        """Returns the JSON of a cell with another value at the path; None removes its key."""
        key, *rest = self.path
        if isinstance(whole, list) and is_index(key) and int(key) < len(whole):
            inner = Place(self.column, tuple(rest)).with_value(whole[int(key)], value)
            return [*whole[: int(key)], inner if rest else value, *whole[int(key) + 1 :]]
        changed = dict(whole) if isinstance(whole, Mapping) else {}
        if rest:
            changed[key] = Place(self.column, tuple(rest)).with_value(changed.get(key), value)
        elif value is None:
            changed.pop(key, None)
        else:
            changed[key] = value
        return changed

    def __str__(self) -> str:
        return ARROW.join((self.column, *self.path))


def is_index(key: str) -> bool:
    """Returns whether a key of a path may be the place of an item in a list."""
    return key.isascii() and key.isdigit()


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        cells: By column.
        place: Its number in an SQLite table that has numbers beside the primary key, or None.
    """

    cells: Cells
    place: int | None = None


def shown_fact(id_: str) -> str:
    """Returns the name of the fact that stores the former hiding value of a row."""
    return f"shown before: {id_}"


@dataclass(frozen=True, slots=True)
class Hiding:
    """How the table's own program stops seeing a row; reads and sets what hides one.

    Attributes:
        place: What is set.
        column: The column it is in.
        typed: Whether the database checks types.
        value: What it is set to; empty if it names the survivor.
        survivor: Column that names a survivor there.
    """

    place: Place
    column: Column
    typed: bool
    value: str = ""
    survivor: str = ""

    def _value(self, row: Row) -> Json | bytes:
        """Returns the present value of the hiding column or key."""
        cell = row.cells[self.place.column]
        return self.place.inside(forms.parsed(cell)) if self.place.path else cell

    def is_hidden(self, row: Row) -> bool:
        """Returns whether the program of the table does not show a row."""
        value = self._value(row)
        if value is None or value is False:
            return False
        if self.place.path:  # a date until which a memory holds
            try:
                return date.fromisoformat(str(value)) < datetime.now(UTC).date()
            except ValueError:
                return False
        return str(value).strip().lower() not in {*SHOWN, "active"}

    def before(self, row: Row) -> Json:
        """Returns the hiding column's value of a row that is about to be hidden, or None."""
        value = self._value(row)
        return {BYTES: ""} if isinstance(value, bytes) else value

    def hidden(self, row: Row, survivor: Row | None) -> dict[str, Cell]:
        """Returns the cells that hide a row."""
        if self.survivor:
            assert survivor is not None
            return {self.column.name: survivor.cells[self.survivor]}
        return {self.column.name: self._with(row, self.value or self._sign())}

    def shown(self, row: Row, before: Json) -> dict[str, Cell]:
        """Returns the cells that show a row again.

        Args:
            row: The hidden row.
            before: What `before` returned; None for nothing.
        """
        return {self.column.name: self._with(row, before)}

    def _sign(self) -> str | int:
        """Returns the value that hides a row in a column of the user's choice."""
        if self.column.kind is CellKind.BOOLEAN:
            return "true" if self.typed else 1
        if self.column.kind is CellKind.NUMBER:
            return "1" if self.typed else 1
        if self.column.kind in {CellKind.TIME, CellKind.TEXT}:
            return datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        raise StoreError(
            f"The column {self.column.name!r} ({self.column.type}) cannot hide a row. Name a "
            "column of truth values, numbers, texts or times as hide=COLUMN."
        )

    def _with(self, row: Row, value: Json) -> Cell:
        """Returns the cell with a value at the place."""
        place = self.place
        cell = row.cells[place.column]
        if not place.path:
            assert value is None or isinstance(value, str | int | float)
            return value
        whole = place.with_value(forms.parsed(cell), value)
        if len(place.path) == 1 and isinstance(whole, Mapping):
            whole = {**whole, **hashed(whole, hidden=value == self.value)}
        return forms.dumped(whole, cell)

    def as_in(self, old: Row, new: Row) -> Row:
        """Returns a row that is hidden as another one is, for a place inside JSON."""
        now, wanted = self._value(old), self._value(new)
        if now == wanted:
            return new
        assert not isinstance(now, bytes)
        return replace(new, cells={**new.cells, self.column.name: self._with(new, now)})


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table or view.

    Attributes:
        name: Without its schema.
        schema: Empty for the default one.
        columns: By name, in their order.
        key: Columns that tell its rows apart: the primary key; empty where there is none.
        place: Whether rows have a number (`rowid`) beside the key.
        view: Whether it is a view, which nothing is written to.
        typed: Whether the database checks types: cells then travel as texts.
    """

    name: str
    schema: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    place: bool = False
    view: bool = False
    typed: bool = False

    @property
    def full_name(self) -> str:
        """Returns the name with its schema, as in a URL."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def clause(self) -> sa.TableClause:
        """Returns the table for statements."""
        names = (ROWID, *self.columns) if self.place else tuple(self.columns)
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in names]
        return sa.table(self.name, *columns, schema=self.schema or None)

    # ------------------------------------------------------------------ reading

    def select(self, chosen: Sequence[Key] | None = None, *, lock: bool = False) -> sa.Select[Any]:
        """Returns the statement that reads rows, in the order of the store.

        Args:
            chosen: Keys of the rows, at most a few hundred; None for all.
            lock: Whether other writers have to wait until the transaction ends.
        """
        statement = self._selected()
        if chosen is not None:
            statement = statement.where(self._one_of(chosen))
        else:
            statement = statement.execution_options(yield_per=_AT_ONCE)
        return statement.with_for_update() if lock and self.typed else statement

    def _selected(self) -> sa.Select[Any]:
        """Returns the statement that reads all rows, in the order of the store."""
        table = self.clause
        what: list[Any] = [self.cell(name).label(name) for name in self.columns]
        if self.place:
            what.append(table.c[ROWID].label(_PLACE))
        statement = sa.select(*what).select_from(table)
        if self.place:
            return statement.order_by(table.c[ROWID])
        return statement.order_by(*(self._ordered(table, name) for name in self.key))

    def _ordered(self, table: Any, name: str) -> Any:
        """Returns a sort key that no setting of the database changes."""
        column = table.c[name]
        if self.typed and self.columns[name].kind is CellKind.TEXT:
            return sa.cast(column, sa.Text).collate("C")
        return column

    def _one_of(self, keys: Sequence[Key]) -> Any:
        """Returns the condition for some rows."""
        if len(self.key) == 1:
            (name,) = self.key
            column: Any = sa.column(name)
            texts = self.columns[name].type.startswith(TEXTS)
            if texts or not self.typed:
                return column.in_([value for (value,) in keys])
        return sa.or_(*(self._is(key) for key in keys))

    def _is(self, key: Key) -> Any:
        """Returns the condition for one row."""
        pairs = zip(self.key, key, strict=True)
        return sa.and_(*(self._equals(sa.column(name), name, cell) for name, cell in pairs))

    def _equals(self, column: Any, name: str, value: Cell) -> Any:
        if not self.typed or not isinstance(value, str):
            return column == value
        kind, type_ = self.columns[name].kind, self.columns[name].type
        if type_ in _INTEGERS and value.lstrip("-").isdecimal() and len(value) < 19:
            return column == int(value)
        if kind is CellKind.TEXT and type_.startswith(TEXTS):
            return column == sa.cast(value, sa.Text)
        if type_ == "uuid" and _UUID.fullmatch(value.replace("-", "")):
            return column == sa.cast(sa.cast(value, sa.Text), _typed(type_))
        return sa.cast(column, sa.Text) == value

    def select_if(self, condition: Any) -> sa.Select[Any]:
        """Returns the statement that reads the rows that meet a condition, in the store's order."""
        return self._selected().where(condition).execution_options(yield_per=_AT_ONCE)

    def cell(self, name: str) -> Any:
        """Returns a column in the form in which cells are read."""
        column: sa.ColumnClause[Any] = sa.column(name)
        return sa.cast(column, sa.Text) if self.typed else column

    @property
    def whole(self) -> Any:
        """Returns all cells of a row as one text, made by the server."""
        return sa.cast(sa.func.row(*map(self.cell, self.columns)), sa.Text)

    def select_where(self, cells: Cells) -> sa.Select[Any]:
        """Returns the statement that reads the rows with some cells."""
        all_ = (self._equals(sa.column(name), name, cell) for name, cell in cells.items())
        return self._selected().where(sa.and_(*all_))

    def rows(self, result: Iterable[Any]) -> Iterator[Row]:
        """Yields the rows of a result of `select`."""
        names = tuple(self.columns)
        for values in result:
            place = values[-1] if self.place else None
            yield Row(dict(zip(names, values, strict=False)), place)

    def batches(self, keys: Iterable[Key]) -> Iterator[list[Key]]:
        """Returns keys in batches, each small enough for one statement."""
        return batched(keys, max(1, _BATCH // max(1, len(self.key))))

    # ------------------------------------------------------------------ writing

    def update(self, key: Key, cells: Cells) -> Any:
        """Returns the statement that sets cells of one row."""
        values = {name: self._written(name, cell) for name, cell in cells.items()}
        return sa.update(self.clause).where(self._is(key)).values(values)

    def insert(self, cells: Cells, place: int | None) -> Any:
        """Returns the statement that adds a row, at a place of its own if that is given."""
        values = {name: self._written(name, cell) for name, cell in cells.items()}
        if place is not None:
            values[ROWID] = sa.literal(place)
        always = any(self.columns[name].identity for name in cells)
        return (_overriding() if always else sa.insert)(self.clause).values(values)

    def delete(self, keys: Sequence[Key]) -> Any:
        """Returns the statement that removes some rows."""
        return sa.delete(self.clause).where(self._one_of(keys))

    def place_is_taken(self, place: int) -> Any:
        """Returns the statement that reads whether a row has a number."""
        table = self.clause
        return sa.select(sa.literal(1)).select_from(table).where(table.c[ROWID] == place)

    def highest(self, name: str) -> Any:
        """Returns the statement that reads the highest value of a column of numbers."""
        table = self.clause
        return sa.select(sa.func.max(table.c[name])).select_from(table)

    def _written(self, name: str, cell: Cell) -> Any:
        """Returns the expression of a cell to write."""
        if self.typed:
            text = None if cell is None else str(cell)
            return sa.cast(sa.cast(text, sa.Text), _typed(self.columns[name].type))
        if isinstance(cell, str) and not cell.isascii():
            data = cell.encode("utf-8", "surrogateescape")
            if data.decode("utf-8", "replace") != cell:  # a text that is no UTF-8 goes as bytes
                return sa.cast(sa.literal(data, sa.LargeBinary), sa.Text)
        return sa.literal(cell, sa.types.NullType())


TEXTS: Final = ("text", "character varying")
_INTEGERS: Final = frozenset({"smallint", "integer", "bigint"})
_UUID: Final = re.compile("[0-9a-fA-F]{32}")


def _typed(name: str) -> Any:
    """Returns a type of SQLAlchemy with the database's own name of the type."""
    return _named_type()(name)


@cache
def _named_type() -> Any:
    """Returns the class of such types; made once, as the library is optional."""

    class Named(sa.types.UserDefinedType[Any]):
        cache_ok = True

        def __init__(self, spec: str) -> None:
            self.spec = spec

        def get_col_spec(self, **_: object) -> str:
            return self.spec

    return Named


@cache
def _overriding() -> Any:
    """Returns a class of insertions that give a value to a column that is always numbered.

    https://www.postgresql.org/docs/current/sql-insert.html, OVERRIDING SYSTEM VALUE
    """

    class Overriding(sa.Insert):
        inherit_cache = False

    @compiler.compiles(Overriding)
    def _written(element: Any, compiled: Any, **options: Any) -> str:
        text = str(compiled.visit_insert(element, **options))
        return text.replace(") VALUES (", ") OVERRIDING SYSTEM VALUE VALUES (", 1)

    return Overriding
