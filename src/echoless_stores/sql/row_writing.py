"""A memory back into its row, and a new row as the database itself would make it.

Only what changed is written, in the form its cell had; a row that was read and not changed since
goes back cell by cell.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import Json, Memory, canonical, unstorable
from echoless.core.sqlite import Cell
from echoless.core.timestamps import instant, iso
from echoless.stores import column_values as values
from echoless.stores.column_values import cell_from_json
from echoless.stores.scope import read_labels
from echoless_stores.live import payload as records
from echoless_stores.sql import cells as forms
from echoless_stores.sql.cells import CellKind, Column
from echoless_stores.sql.database import Backend
from echoless_stores.sql.layout import FIELDS, Layout
from echoless_stores.sql.row_codec import LISTS, NO_TIMES, Codec, RowReading, id_of, key_of
from echoless_stores.sql.table import Place, Row, SqlTable

_TIMES: Final = ("created_at", "updated_at", "last_accessed")
_SECOND: Final = 10**9
_DEFAULTS: Final = {name: values.default(name) for name in FIELDS}
_LISTING: Final = frozenset({CellKind.JSON, CellKind.ARRAY})

_COUNTS: Final = "nextval("
"""Part of a default that counts on when it is read."""

_IDS: Final = uuid.UUID("0a0d5c5e-7a54-4d0a-9c52-3f6a2a3b1c77")
"""Root of the ids made for memories whose id has another form."""


def encode(codec: Codec, memory: Memory, base: Row | None) -> Row:
    """Returns the row of a memory; one that was read and not changed since as it was.

    Args:
        codec: Reads the rows of the table.
        memory: As it has to read afterwards.
        base: The row as it is; None for a new one.

    Raises:
        BadRecord: The text cannot be stored.
        StoreError: A field has no place in the form this row has.
    """
    if problem := unstorable(memory):
        raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored here.")
    if not memory.content:
        raise BadRecord(f"Memory {memory.id!r} has an empty text, which counts as none here.")
    saved = codec.saved(memory)
    if saved is not None and _says(codec, saved, memory):
        return saved
    return _RowWriting(codec, memory, base or saved).row()


def _says(codec: Codec, row: Row, memory: Memory) -> bool:
    """Returns whether a row reads as this memory, vectors of other tables aside."""
    read = codec.decode(row, memory.id)
    if read is None or codec.id(row) != memory.id:
        return False
    if codec.layout.vectors is None:
        read = replace(read, vectors=memory.vectors)
    return read == memory


class _RowWriting:
    """Makes the row of one memory."""

    def __init__(self, codec: Codec, memory: Memory, base: Row | None) -> None:
        self._codec = codec
        self._layout = codec.layout
        self._memory = memory
        self._base = base
        table = codec.layout.table
        self._cells: dict[str, Cell] = dict.fromkeys(table.columns)
        if base is not None:
            self._cells.update(base.cells)
        else:
            key = key_of(memory.id, len(table.key)) or ()
            self._cells.update(zip(table.key, key, strict=False))
        row = Row(dict(self._cells))
        self._reading = RowReading(row)
        self._old = codec.decode(row, memory.id) if base is not None else None
        self._objects: dict[str, Json] = {}

    def row(self) -> Row:
        """Returns the row."""
        memory, old = self._memory, self._old
        text = self._codec.content(self._reading)
        place = text[0] if text is not None else self._layout.content[0]
        if old is None or old.content != memory.content:
            if old is not None and place.column in self._layout.context:
                raise self._refused("content", f"{place} stands for it, and is no text of its own")
            self._set("content", place, memory.content, None)
            for derived, made in self._layout.derived.items():
                self._set("type", derived, made(memory.content), None)
        if old is None or old.namespace != memory.namespace:
            self._set_namespace()
        for name, each in self._layout.places.items():
            new = getattr(memory, name)
            if old is None or new != getattr(old, name):
                self._set_field(name, each, new)
        for column, name in self._layout.written.items():
            new = getattr(memory, name)
            if old is None or new != getattr(old, name):
                moment = instant(new)
                self._cells[column] = None if moment is None else iso(moment)
        self._set_rest(place)
        self._set_extra()
        self._set_vector()
        for column, value in self._objects.items():
            self._cells[column] = forms.dumped(value, self._cells[column])
        return Row(self._cells, self._base.place if self._base else None)

    def _refused(self, name: str, why: str) -> StoreError:
        return StoreError(
            f"The field {name!r} of {self._memory.id!r} has no place in {self._codec.where} "
            f"({why}). Nothing was changed."
        )

    def _set_field(self, name: str, place: Place, new: object) -> None:
        """Writes one field in the form its place has."""
        column = self._codec.columns[place.column]
        try:
            like = self._codec.value(name, place, self._reading)
            if name in _TIMES and isinstance(new, str) and not place.path:
                self._cells[place.column] = _time(new, column, self._layout)
                return
            if like is None and name in LISTS and (place.path or column.kind in _LISTING):
                like = []
            elif like is not None:
                values.read(name, like)  # what cannot be read is not overwritten
            made = values.write(name, new, like)
        except BadRecord as problem:
            raise self._refused(name, str(problem)) from problem
        self._set(name, place, made, like)

    def _set(self, name: str, place: Place, value: Json, like: Json) -> None:
        """Writes a value at a place."""
        column = self._codec.columns[place.column]
        if not place.path and column.kind is not CellKind.JSON:
            self._cells[place.column] = _cell(value, column, typed=self._layout.table.typed)
            return
        if not place.path:
            empty = value is None or (name in LISTS and not value)
            self._cells[place.column] = (
                None if empty and like is None else forms.dumped(value, self._cells[place.column])
            )
            return
        self._set_inside(place, value)

    def _set_inside(self, place: Place, value: Json) -> None:
        """Writes a value inside a column of JSON; None removes its key."""
        whole = self._objects.get(place.column, self._reading.object(place.column))
        self._objects[place.column] = place.with_value(whole, value)

    def _set_namespace(self) -> None:
        """Writes the namespace into its columns."""
        namespace, scope = self._memory.namespace, self._layout.scope
        if not scope:
            if namespace:
                raise self._refused("namespace", "no column holds one")
            return
        if len(scope) == 1 and not scope[0][0]:
            place = scope[0][1]
            like = self._codec.value("namespace", place, self._reading)
            made = values.write("namespace", namespace, like)
            self._set("namespace", place, made, like)
            return
        owners = read_labels(namespace)
        if not owners.keys() <= {label for label, _ in scope} or not all(owners.values()):
            labels = ", ".join(label for label, _ in scope)
            raise BadRecord(
                f"{namespace!r}, the namespace of {self._memory.id!r}, is none of "
                f"{self._codec.where}: write LABEL=NAME, joined by &, with {labels}."
            )
        for label, place in scope:
            self._set("namespace", place, owners.get(label), None)

    def _set_rest(self, content: Place) -> None:
        """Writes metadata, and the fields without a place of their own, into the object of JSON."""
        layout, memory = self._layout, self._memory
        if layout.rest is None:
            self._refuse_the_rest()
            return
        inner = layout.inner(content)
        plain = {name: _DEFAULTS[name] for name in layout.places}
        extra = {k: v for k, v in memory.extra.items() if k not in layout.table.columns}
        bare = replace(memory, **plain, vectors=(), extra=extra)  # type: ignore[arg-type]
        new = records.encode(bare, inner, NO_TIMES)
        old = self._codec.rest(self._reading, content) or {}
        if canonical(old) == canonical(new):
            return
        value = self._reading.at(layout.rest)
        if value is not None and not isinstance(value, Mapping):
            raise self._refused("metadata", f"{layout.rest} holds no object")
        if layout.rest.path:
            others = {k: v for k, v in (value or {}).items() if k in inner}
            self._set_inside(layout.rest, {**others, **new})
            return
        whole = self._objects.get(layout.rest.column, value or {})
        assert isinstance(whole, Mapping)  # as `value` is, and a change keeps it so
        others = {k: v for k, v in whole.items() if k in inner or k in new}
        self._objects[layout.rest.column] = others | new

    def _refuse_the_rest(self) -> None:
        """Refuses fields that have no place, where they changed."""
        for name in (*_DEFAULTS, "metadata"):
            if name in self._layout.places:
                continue
            new = getattr(self._memory, name)
            before = getattr(self._old, name) if self._old else values.default(name)
            if new != before:
                raise self._refused(name, "no column holds it; name one by ?map=")

    def _set_extra(self) -> None:
        """Writes the cells of columns that hold no field."""
        for name in self._codec.extra:
            self._cells[name] = cell_from_json(self._memory.extra.get(name))
        if self._layout.rest is None:
            unknown = sorted(set(self._memory.extra) - set(self._codec.extra))
            if unknown:
                raise self._refused("extra", f"no column is called {unknown[0]!r}")

    def _set_vector(self) -> None:
        """Writes the vector into its column."""
        column, vectors = self._layout.vectors, self._memory.vectors
        if column is None:
            if vectors and not self._layout.preset.vectors:
                raise self._refused("vectors", "no column holds them")
            return
        if len(vectors) > 1 or any(v.model != self._layout.model for v in vectors):
            raise self._refused("vectors", f"it takes one of the model {self._layout.model!r}")
        cell, kind = self._cells[column], self._codec.columns[column].kind
        if not vectors:
            self._cells[column] = None
        elif forms.read_vector(cell) != vectors[0].data:
            self._cells[column] = forms.write_vector(vectors[0].data, cell, kind)


def _cell(value: Json, column: Column, *, typed: bool) -> Cell:
    """Returns the cell of a value, in a column that holds no JSON."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if column.kind is CellKind.ARRAY:
            return forms.write_array([str(each) for each in value])
        return json.dumps(list(value), ensure_ascii=False)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("true" if value else "false") if typed else int(value)
    if isinstance(value, int | float):
        return repr(value) if typed else value
    return json.dumps(value, ensure_ascii=False)


def _time(text: str, column: Column, layout: Layout) -> Cell:
    """Returns the cell of a time.

    Args:
        text: The time in any spelling, or in the spelling of this column.
        column: Its column.
        layout: Of the table.

    Raises:
        BadRecord: The column holds numbers or moments, and the text is none.
    """
    moment = instant(text)
    if column.kind is CellKind.NUMBER:
        return _number(text, moment, column, layout)
    if column.kind is not CellKind.TIME:
        return text
    if moment is None:
        return text  # `infinity`, or something the server refuses
    when = iso(moment).replace("T", " ").removesuffix("Z")
    if "." in when:
        when = when.rstrip("0")
    if column.type == "date":
        return when[:10]
    return when if "without" in column.type else f"{when}+00"


def _number(text: str, moment: int | None, column: Column, layout: Layout) -> Cell:
    """Returns a time as a number."""
    whole, unit = "INT" in column.type.upper(), layout.preset.unit
    written: Cell
    try:
        float(text)
        written = text
    except ValueError:
        if moment is None:
            raise BadRecord(f"{text!r} is no time") from None
        count = moment * unit / _SECOND
        written = str(moment * unit // _SECOND) if whole else repr(count)
    if layout.table.typed:
        return written
    return int(written) if written.lstrip("-").isdecimal() else float(written)


# ------------------------------------------------------------------ new rows


def with_defaults(row: Row, table: SqlTable, backend: Backend) -> Row:
    """Returns a new row with the values the database would give it, for the cells it lacks.

    So what is written is known before: a record is read back and compared.
    """
    cells = dict(row.cells)
    with backend.reading() as connection:
        for column in table.columns.values():
            expression = column.default
            if expression is None or cells[column.name] is not None or _COUNTS in expression:
                continue
            form = f"CAST(({expression}) AS text)" if table.typed else f"({expression})"
            cells[column.name] = connection.exec_driver_sql(f"SELECT {form}").scalar()
    return Row(cells, row.place)


def new_id(memory: Memory, table: SqlTable, backend: Backend, above: int = 0) -> str:
    """Returns the id a new memory gets in a table.

    Args:
        memory: The new one.
        table: The table.
        backend: Its database.
        above: A number that is taken, and all below it, where ids are numbers.

    Raises:
        StoreError: The primary key is one no id can be made for.
    """
    if len(table.key) == 2 and "key" in table.key:  # LangGraph: namespace and key
        key = key_of(memory.id, 2)
        if key is not None and key[0] == memory.namespace:
            return memory.id
        return str(id_of([memory.namespace, memory.id]))
    if len(table.key) != 1:
        raise StoreError(
            f"New rows cannot be added to {table.full_name}: its primary key has "
            f"{len(table.key)} columns. Nothing was changed."
        )
    column = table.columns[table.key[0]]
    if column.type == "uuid":
        try:
            return str(uuid.UUID(memory.id))
        except ValueError:
            return str(uuid.uuid5(_IDS, memory.id))
    if column.kind is CellKind.NUMBER:
        with backend.reading() as connection:
            highest = connection.execute(table.highest(column.name)).scalar()
        return str(max(int(highest or 0), above) + 1)
    return memory.id
