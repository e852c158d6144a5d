"""Rows of a table as memories and back, so that what was read can be put back exactly."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from echoless.errors import BadRecord, DuplicateId, StoreError
from echoless.model import Json, JsonObject, Link, Memory, Provenance
from echoless.stores.lancedb import cells
from echoless.stores.lancedb.cells import Cell
from echoless.stores.lancedb.layout import Layout
from echoless.stores.lancedb.places import OTHERS, Broken, Misfit, Place, Value, defaults
from echoless.stores.scope import Head
from echoless.text import unreadable
from echoless.times import instant

if TYPE_CHECKING:
    import pyarrow as pa

RAW: Final = "raw"
"""Key of `native`: cells, by column, that the fields alone would not bring back."""

_OLDEST: Final = -(2**63)
_HEAD: Final = ("id", "namespace", "created_at")
_FEW: Final = (str, int, bool, type(None))
"""Types of cells worth knowing again; of floats zero has two forms that are equal."""

_FIXED: Final = (str, int, float, bool, tuple, Provenance, type(None))
_SHORT: Final = 64
_MANY: Final = 1_024


@dataclass(slots=True)
class Oddities:
    """What reading found odd, for the report.

    Attributes:
        broken: Ids by column whose text could not be read.
        without_id: Number of rows without an id.
    """

    broken: dict[str, list[str]] = field(default_factory=dict)
    without_id: int = 0

    def sentences(self, table: str) -> tuple[str, ...]:
        """One sentence for each kind of oddity."""
        said = [
            f"{table}: the column {column!r} cannot be read in {len(ids)} "
            f"{'row' if len(ids) == 1 else 'rows'} ({', '.join(sorted(ids)[:5])}"
            f"{', …' if len(ids) > 5 else ''}); it counts as empty and is left as it is."
            for column, ids in sorted(self.broken.items())
        ]
        if self.without_id:
            said.append(f"{table}: {self.without_id} rows have no id; they were left out.")
        return tuple(said)


def memories(table: pa.Table, layout: Layout, where: str, oddities: Oddities) -> list[Memory]:
    """The memories of a table, oldest first, ties by id.

    Args:
        table: Rows with all columns of the layout.
        layout: Of the table.
        where: The store, for messages.
        oddities: Takes what could not be read.

    Raises:
        DuplicateId: Two rows carry one id.
    """
    columns = _cells(table)
    readers = [_Reader(place, [columns[name] for name in place.columns]) for place in layout.places]
    found = [
        _memory(id_, at, readers, oddities)
        for id_, at in _places(columns, layout, where, oddities).items()
    ]
    return sorted(found, key=in_order)


def heads(table: pa.Table, layout: Layout, where: str, oddities: Oddities) -> dict[Head, int]:
    """What a scope asks of each memory, in the order of `memories`, and its row.

    Args:
        table: All rows, with the columns `head_columns` names.
        layout: Of the table.
        where: The store, for messages.
        oddities: Takes rows without an id.

    Raises:
        DuplicateId: Two rows carry one id.
    """
    columns = _cells(table)
    told = [place for place in layout.places if place.field in _HEAD]

    def head(id_: str, at: int) -> Head:
        read = {
            place.field: _told(place, [columns[c][at] for c in place.columns]) for place in told
        }
        time = read.get("created_at")
        return Head(id_, str(read.get("namespace") or ""), None if time is None else str(time))

    found = {head(id_, at): at for id_, at in _places(columns, layout, where, oddities).items()}
    return dict(sorted(found.items(), key=lambda each: in_order(each[0])))


def head_columns(layout: Layout) -> list[str]:
    """Columns that tell whether a memory is in a scope."""
    return [name for place in layout.places if place.field in _HEAD for name in place.columns]


def linking(table: pa.Table, layout: Layout, place: Place, ids: Collection[str]) -> set[str]:
    """Ids of the rows whose links lead to one of some memories.

    Args:
        table: Rows with the columns of ids and links.
        layout: Of the table.
        place: Where links lie.
        ids: The memories.
    """
    columns = _cells(table)
    given = zip(columns[layout.id.key], *(columns[name] for name in place.columns), strict=True)
    found = set()
    for own, *told in given:
        links = _told(place, told) if any(told) else ()
        if any(isinstance(link, Link) and link.target in ids for link in _each(links)):
            found.add(str(layout.id.read([own])))
    return found


def _each(value: Value) -> Sequence[object]:
    return value if isinstance(value, tuple) else ()


def _told(place: Place, given: Sequence[Cell]) -> Value:
    try:
        return place.read(given)
    except Broken:
        return place.empty


def _cells(table: pa.Table) -> dict[str, list[Cell]]:
    return {name: cells.read(table.column(name).combine_chunks()) for name in table.schema.names}


def _places(
    columns: Mapping[str, Sequence[Cell]], layout: Layout, where: str, oddities: Oddities
) -> dict[str, int]:
    """Row by id, of the rows that hold a memory."""
    found: dict[str, int] = {}
    for at, cell in enumerate(columns[layout.id.key]):
        id_ = str(layout.id.read([cell]))
        if id_ == layout.placeholder:
            continue
        if not id_:
            oddities.without_id += 1
        elif id_ in found:
            raise DuplicateId(
                f"{where} has the id {id_!r} twice. Give each row its own id and try again."
            )
        else:
            found[id_] = at
    return found


def in_order(memory: Memory | Head) -> tuple[int, str]:
    """A key for the store's own order: LanceDB keeps none, so the oldest come first, ties by id."""
    at = instant(memory.created_at)
    return (_OLDEST if at is None else at, memory.id)


@dataclass(frozen=True, slots=True)
class _Read:
    """What cells say: the value, and the cells themselves where it would not bring them back."""

    value: Value
    broken: bool
    kept: tuple[Cell, ...] | None


class _Reader:
    """Reads one place row by row. Most columns hold few different cells, which are read once."""

    def __init__(self, place: Place, columns: Sequence[Sequence[Cell]]) -> None:
        self.place = place
        self._columns = columns
        self._known: dict[tuple[type, Cell], _Read] = {}

    def read(self, at: int) -> _Read:
        given = [column[at] for column in self._columns]
        cell = given[0]
        long = isinstance(cell, str) and len(cell) > _SHORT
        if long or len(given) > 1 or not isinstance(cell, _FEW):
            return self._read(given)
        known = self._known.get((type(cell), cell))
        if known is None:
            known = self._read(given)
            if len(self._known) < _MANY and (isinstance(known.value, _FIXED) or not known.value):
                self._known[type(cell), cell] = known
        return known

    def _read(self, given: Sequence[Cell]) -> _Read:
        broken = False
        try:
            value = self.place.read(given)
        except Broken:
            value, broken = self.place.empty, True
        kept = None if _leads_back(self.place, value, given) else tuple(map(_kept, given))
        return _Read(value, broken, kept)


def _memory(id_: str, at: int, readers: Sequence[_Reader], oddities: Oddities) -> Memory:
    values: dict[str, Value] = {**defaults(), "id": id_}
    extra: dict[str, Json] = {}
    raw: dict[str, Json] = {}
    for reader in readers:
        place, read = reader.place, reader.read(at)
        if read.broken:
            oddities.broken.setdefault(place.key, []).append(id_)
        if read.kept is not None:
            raw.update(zip(place.columns, read.kept, strict=True))
        if place.field == OTHERS:
            extra.update(cast("JsonObject", read.value))
        elif place.field != "extra":
            values[place.field] = read.value
        elif read.value is not None:
            extra[place.key] = cast("Json", read.value)
    native: JsonObject = {RAW: raw} if raw else {}
    return Memory(**values, extra=extra, native=native)  # type: ignore[arg-type]


def _leads_back(place: Place, value: Value, before: Sequence[Cell]) -> bool:
    try:
        after = place.write(value)
    except Misfit:
        return False
    return all(map(cells.alike, after, before))


def _kept(cell: Cell) -> Json:
    """A cell as `native` holds it."""
    return list(cell) if isinstance(cell, bytes) else cell


# ------------------------------------------------------------------ writing


def table_of(found: Sequence[Memory], layout: Layout, schema: pa.Schema, where: str) -> pa.Table:
    """The rows of memories.

    Args:
        found: The memories.
        layout: Of the table.
        schema: Of the table.
        where: The store, for messages.

    Raises:
        BadRecord: A text holds what no table can.
        StoreError: A field has no column, or its value no form there; the message names both.
    """
    import pyarrow as pa  # noqa: PLC0415 - the library is optional

    rows = [_row(memory, layout, where) for memory in found]
    columns = [
        _column([row.get(name) for row in rows], schema.field(name), found, where)
        for name in schema.names
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _row(memory: Memory, layout: Layout, where: str) -> dict[str, Cell]:
    for each in (memory.id, memory.content):
        if problem := unreadable(each):
            raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in LanceDB.")
    if memory.id in {"", layout.placeholder}:
        raise StoreError(f"{where} cannot hold a memory with the id {memory.id!r}. Choose another.")
    _refuse_homeless(memory, layout, where)
    kept = memory.native.get(RAW)
    raw: Mapping[str, Json] = kept if isinstance(kept, Mapping) else {}
    row: dict[str, Cell] = {}
    for place in layout.places:
        value = _value(memory, place, layout)
        given = _given(place, raw, value)
        try:
            written = place.write(value) if given is None else given
        except Misfit:
            raise _no_form(memory, place, value, where) from None
        row.update(zip(place.columns, written, strict=True))
    return row


def _value(memory: Memory, place: Place, layout: Layout) -> Value:
    if place.field == OTHERS:
        own = {each.key for each in layout.places if each.field == "extra"}
        return {key: value for key, value in memory.extra.items() if key not in own}
    if place.field == "extra":
        return memory.extra.get(place.key)
    value: Value = getattr(memory, place.field)
    return value


def _given(place: Place, raw: Mapping[str, Json], value: Value) -> Sequence[Cell] | None:
    """The cells as they were, where they still say the same as the field does."""
    if not all(name in raw for name in place.columns):
        return None
    before = [raw[name] for name in place.columns]
    try:
        said = place.read(before)
    except Broken:
        said = place.empty
    return before if said == value else None


def _refuse_homeless(memory: Memory, layout: Layout, where: str) -> None:
    """Nothing is dropped in silence: what has no column is refused, and the field is named."""
    housed = {place.field for place in layout.places}
    for name, empty in defaults().items():
        if name not in housed and getattr(memory, name) != empty:
            raise StoreError(
                f"{where} has no column for the field {name!r} of {memory.id!r}. "
                f"Name one with ?map={name}:COLUMN in the URL, or leave that field alone."
            )
    if OTHERS in housed:
        return
    own = {place.key for place in layout.places if place.field == "extra"}
    homeless = sorted(memory.extra.keys() - own)
    if homeless:
        raise StoreError(
            f"{where} has no column {homeless[0]!r} for {memory.id!r}. Add the column to the table "
            "first, or leave it out."
        )


def _no_form(memory: Memory, place: Place, value: Value, where: str) -> StoreError:
    name = f"extra.{place.key}" if place.field == "extra" else place.field
    return StoreError(
        f"{where} cannot hold the {name} of {memory.id!r} as it is ({str(value)[:60]!r}) in the "
        f"column {', '.join(place.columns)}. Nothing was written."
    )


def _column(
    given: Sequence[Cell], column: pa.Field, found: Sequence[Memory], where: str
) -> pa.Array:
    """One column, read back before it is written: a number that would be rounded is refused."""
    import pyarrow as pa  # noqa: PLC0415

    def refusal(memory: Memory) -> StoreError:
        return StoreError(
            f"{where} cannot hold {memory.id!r}: its value does not fit the column {column.name!r} "
            f"({column.type}). Nothing was written."
        )

    try:
        array = cells.write(given, column.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        for cell, memory in zip(given, found, strict=True):
            try:
                cells.write([cell], column.type)
            except (pa.ArrowException, ValueError, TypeError, OverflowError) as problem:
                raise refusal(memory) from problem
        raise
    for back, cell, memory in zip(cells.read(array), given, found, strict=True):
        if not _held(back, cell):
            raise refusal(memory)
    return array


def _held(back: Cell, cell: Cell) -> bool:
    if isinstance(back, float) and isinstance(cell, int) and not isinstance(cell, bool):
        return back == cell
    return isinstance(back, dict) or cells.alike(back, cell)


def batches(table: pa.Table, layout: Layout, where: str) -> list[pa.Table]:
    """Parts that LanceDB writes as they are: one, unless vectors may differ in length.

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
