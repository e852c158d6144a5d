"""Reads rows of a table as memories, and writes memories back to exactly these rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from echoless.core.document import names
from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import FIELDS
from echoless.core.model import Json, JsonObject, Memory, Provenance, unstorable
from echoless.core.timestamps import moment_of
from echoless.stores.expiration import promised, searched
from echoless.stores.scope import Head, owned
from echoless_stores.lancedb import cells
from echoless_stores.lancedb.cells import Cell
from echoless_stores.lancedb.layout import Columns
from echoless_stores.lancedb.places import OTHERS, Field, Misfit, OddCell, Value, plain

if TYPE_CHECKING:
    import pyarrow as pa

RAW: Final = "raw"
"""Key of `native`: cells, by column, that cannot be written again from the fields alone."""

_BARE: Final = Memory(id="", content="")
"""A memory of which no field is set."""

_HEAD: Final = ("id", "namespace", "created_at")
_FEW: Final = (str, int, bool, type(None))
"""Types of cells that are read once; floats are not, as 0.0 and -0.0 are equal."""

_FIXED: Final = (str, int, float, bool, tuple, Provenance, type(None))
_NUMBERED: Final = re.compile(r"(.+) \(\d+\)", re.DOTALL)
_SHORT: Final = 64
_MANY: Final = 1_024


@dataclass(slots=True)
class Oddities:
    """Cells that cannot be read, and rows without an id of their own, for the report.

    Attributes:
        broken: Ids by column whose text could not be read.
        without_id: Number of rows without an id.
        twice: Ids that several rows carry.
    """

    broken: dict[str, list[str]] = field(default_factory=dict)
    without_id: int = 0
    twice: set[str] = field(default_factory=set)

    def sentences(self, table: str) -> tuple[str, ...]:
        """Returns one sentence for each kind of oddity."""
        result = [
            f"{table}: the column {column!r} cannot be read in {len(ids)} "
            f"{'row' if len(ids) == 1 else 'rows'} ({names(sorted(ids))}); "
            "it counts as empty and is left as it is."
            for column, ids in sorted(self.broken.items())
        ]
        if self.without_id:
            result.append(f"{table}: {self.without_id} rows have no id; they were left out.")
        if self.twice:
            ids = names(sorted(self.twice))
            result.append(
                f"{table}: ids that several rows carry: {len(self.twice)} ({ids}). "
                "All are read, the second as 'ID (2)'; nothing can be written to such a table."
            )
        return tuple(result)


def memories(table: pa.Table, layout: Columns, oddities: Oddities) -> list[Memory]:
    """Returns the memories of a table, oldest first, ties by id.

    Args:
        table: Rows with all columns of the layout.
        layout: Of the table.
        oddities: Takes what could not be read.
    """
    columns = _cells(table)
    readers = [_Reader(place, [columns[name] for name in place.columns]) for place in layout.places]
    kinds = (table.schema.field(p.key).type for p in layout.places if p.field == "vectors")
    is_searched = any(map(cells.is_list, kinds))
    result = []
    for id_, row in _row_numbers(columns, layout, oddities).items():
        memory = _memory(id_, row, readers, oddities)
        memory = promised(searched(memory) if is_searched else memory)
        result.append(owned(memory, whole=layout.name == "general"))
    return sorted(result, key=in_order)


def heads(table: pa.Table, layout: Columns, oddities: Oddities) -> dict[Head, int]:
    """Returns id, namespace and time of each memory in the order of `memories`, with its row.

    Args:
        table: All rows, with the columns `head_columns` names.
        layout: Of the table.
        oddities: Takes rows without an id.
    """
    columns = _cells(table)
    places = [place for place in layout.places if place.field in _HEAD]
    result = {}
    for id_, row in _row_numbers(columns, layout, oddities).items():
        values = {p.field: _read(p, [columns[name][row] for name in p.columns]) for p in places}
        time = values.get("created_at")
        head = Head(id_, str(values.get("namespace") or ""), None if time is None else str(time))
        result[head] = row
    return dict(sorted(result.items(), key=lambda each: in_order(each[0])))


def head_columns(layout: Columns) -> list[str]:
    """Returns the columns that show whether a memory is in a scope."""
    return [name for place in layout.places if place.field in _HEAD for name in place.columns]


def _read(place: Field, given: Sequence[Cell]) -> Value:
    """Returns the value of some cells; the empty one where they cannot be read."""
    try:
        return place.read(given)
    except OddCell:
        return place.empty


def _cells(table: pa.Table) -> dict[str, list[Cell]]:
    """Returns the cells of a table by column."""
    return {name: cells.read(table.column(name).combine_chunks()) for name in table.schema.names}


def _row_numbers(
    columns: Mapping[str, Sequence[Cell]], layout: Columns, oddities: Oddities
) -> dict[str, int]:
    """Returns the number of the row by id, for the rows that hold a memory."""
    rows: dict[str, int] = {}
    for row, cell in enumerate(columns[layout.id.key]):
        id_ = str(layout.id.read([cell]))
        if id_ == layout.placeholder:
            continue
        if not id_:
            oddities.without_id += 1
        elif id_ in rows:
            oddities.twice.add(id_)
            number = 2
            while f"{id_} ({number})" in rows:
                number += 1
            rows[f"{id_} ({number})"] = row
        else:
            rows[id_] = row
    return rows


def in_order(memory: Memory | Head) -> tuple[int, str]:
    """Returns a sort key for the store's order, oldest first, ties by id; LanceDB keeps none."""
    return moment_of(memory.created_at), memory.id


def shared_id(id_: str) -> str:
    """Returns the id in the table of a row that is read as `ID (2)`; any other id unchanged."""
    match = _NUMBERED.fullmatch(id_)
    return match[1] if match else id_


@dataclass(frozen=True, slots=True)
class _Reading:
    """The value of some cells, and the cells themselves where it cannot be written back to them."""

    value: Value
    broken: bool
    raw: tuple[Json, ...] | None


class _Reader:
    """A reader of one place, row by row; a column of few different cells is read once for each."""

    def __init__(self, place: Field, columns: Sequence[Sequence[Cell]]) -> None:
        self.place = place
        self._columns = columns
        self._known: dict[tuple[type, Cell], _Reading] = {}

    def read(self, row: int) -> _Reading:
        """Reads one row."""
        given = [column[row] for column in self._columns]
        cell = given[0]
        long = isinstance(cell, str) and len(cell) > _SHORT
        if long or len(given) > 1 or not isinstance(cell, _FEW):
            return self._reading(given)
        known = self._known.get((type(cell), cell))
        if known is None:
            known = self._reading(given)
            if len(self._known) < _MANY and (isinstance(known.value, _FIXED) or not known.value):
                self._known[type(cell), cell] = known
        return known

    def _reading(self, given: Sequence[Cell]) -> _Reading:
        """Reads some cells, and checks whether the value can be written back to the same cells."""
        broken = False
        try:
            value = self.place.read(given)
        except OddCell:
            value, broken = self.place.empty, True
        try:
            same = all(map(cells.alike, self.place.write(value), given))
        except Misfit:
            same = False
        if same:
            return _Reading(value, broken, None)
        raw = tuple(list(cell) if isinstance(cell, bytes) else cell for cell in given)
        return _Reading(value, broken, raw)


def _memory(id_: str, row: int, readers: Sequence[_Reader], oddities: Oddities) -> Memory:
    """Returns the memory in one row."""
    values: dict[str, Value] = {"content": ""}  # where only other columns were asked for
    extra: dict[str, Json] = {}
    raw: dict[str, Json] = {}
    for reader in readers:
        place, reading = reader.place, reader.read(row)
        if reading.broken:
            oddities.broken.setdefault(place.key, []).append(id_)
        if reading.raw is not None:
            raw.update(zip(place.columns, reading.raw, strict=True))
        if place.field == OTHERS:
            assert isinstance(reading.value, Mapping)
            extra.update(reading.value)
        elif place.field != "extra":
            values[place.field] = reading.value
        elif reading.value is not None:
            extra[place.key] = plain(reading.value)
    native: JsonObject = {RAW: raw} if raw else {}
    values["id"] = id_  # another one than in the table where several rows share one
    return Memory(**values, extra=extra, native=native)  # type: ignore[arg-type]


# ------------------------------------------------------------------ writing


def table_of(batch: Sequence[Memory], layout: Columns, schema: pa.Schema, where: str) -> pa.Table:
    """Returns the rows of memories.

    Args:
        batch: The memories.
        layout: Of the table.
        schema: Of the table.
        where: The store, for messages.

    Raises:
        BadRecord: A text holds what no table can.
        StoreError: A field has no column, or its value no form there; the message names both.
    """
    rows = [_row(memory, layout, where) for memory in batch]
    columns = [
        _column([row.get(name) for row in rows], schema.field(name), batch, where)
        for name in schema.names
    ]
    return cells.arrow().Table.from_arrays(columns, schema=schema)


def _row(memory: Memory, layout: Columns, where: str) -> dict[str, Cell]:
    """Returns the cells of a memory by column."""
    if problem := unstorable(memory):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in LanceDB.")
    if memory.id in {"", layout.placeholder}:
        raise StoreError(f"{where} cannot hold a memory with the id {memory.id!r}. Choose another.")
    _refuse_homeless(memory, layout, where)
    native = memory.native.get(RAW)
    raw: Mapping[str, Json] = native if isinstance(native, Mapping) else {}
    row: dict[str, Cell] = {}
    own = {place.key for place in layout.places if place.field == "extra"}
    for place in layout.places:
        value: Value
        if place.field == OTHERS:
            value = {key: each for key, each in memory.extra.items() if key not in own}
        elif place.field == "extra":
            value = memory.extra.get(place.key)
        else:
            value = getattr(memory, place.field)
        before = [raw[name] for name in place.columns if name in raw]
        if len(before) == len(place.columns) and _read(place, before) == value:
            row.update(zip(place.columns, before, strict=True))
            continue
        try:
            row.update(zip(place.columns, place.write(value), strict=True))
        except Misfit:
            name = f"extra.{place.key}" if place.field == "extra" else place.field
            raise StoreError(
                f"{where} cannot hold the {name} of {memory.id!r} as it is ({str(value)[:60]!r}) "
                f"in the column {', '.join(place.columns)}. Nothing was written."
            ) from None
    return row


def _refuse_homeless(memory: Memory, layout: Columns, where: str) -> None:
    """Checks that every field of a memory has a column, so that nothing is lost.

    Raises:
        StoreError: A field has none; the message names it.
    """
    fields = {place.field for place in layout.places}
    for name in FIELDS:
        if name not in fields and getattr(memory, name) != getattr(_BARE, name):
            raise StoreError(
                f"{where} has no column for the field {name!r} of {memory.id!r}. "
                f"Name one with ?map={name}:COLUMN in the URL, or leave that field alone."
            )
    if OTHERS in fields:
        return
    own = {place.key for place in layout.places if place.field == "extra"}
    homeless = sorted(memory.extra.keys() - own)
    if homeless:
        raise StoreError(
            f"{where} has no column {homeless[0]!r} for {memory.id!r}. Add the column to the table "
            "first, or leave it out."
        )


def _column(
    given: Sequence[Cell], column: pa.Field, batch: Sequence[Memory], where: str
) -> pa.Array:
    """Returns one column, after reading it back: a number that would be rounded is refused."""
    misfits = (cells.arrow().ArrowException, ValueError, TypeError, OverflowError)

    def refusal(memory: Memory) -> StoreError:
        return StoreError(
            f"{where} cannot hold {memory.id!r}: its value does not fit the column {column.name!r} "
            f"({column.type}). Nothing was written."
        )

    try:
        array = cells.write(given, column.type)
    except misfits:
        for cell, memory in zip(given, batch, strict=True):
            try:
                cells.write([cell], column.type)
            except misfits as problem:
                raise refusal(memory) from problem
        raise
    for back, cell, memory in zip(cells.read(array), given, batch, strict=True):
        if isinstance(back, float) and isinstance(cell, int) and not isinstance(cell, bool):
            same = back == cell
        else:
            same = isinstance(back, dict) or cells.alike(back, cell)
        if not same:
            raise refusal(memory)
    return array


def batches(table: pa.Table, layout: Columns, where: str) -> list[pa.Table]:
    """Returns the parts LanceDB writes unchanged: one, or single rows where lengths may differ.

    Its writer turns vectors with a not-a-number, and those of another length than their neighbours,
    into null. The first are refused here, the second written row by row.

    Raises:
        StoreError: A vector holds a not-a-number.
    """
    free = False
    for name in table.schema.names:
        kind = table.schema.field(name).type
        if not cells.is_list(kind) or not cells.is_real(kind.value_type):
            continue
        free = free or cells.dimensions(kind) is None
        for at, row in enumerate(table.column(name)):
            if cells.has_nan(row):
                id_ = layout.id.read([table.column(layout.id.key)[at].as_py()])
                raise StoreError(
                    f"{where}: the vector of {id_!r} in the column {name!r} holds a not-a-number, "
                    "which LanceDB does not write. Mend that vector first; nothing was written."
                )
    return [table.slice(at, 1) for at in range(table.num_rows)] if free else [table]
