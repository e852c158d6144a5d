"""A row as a memory, and a memory back into its row.

Only what changed is written, in the form its cell had; a row that was read and not changed since
goes back cell by cell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.model import VOLATILE, Json, Memory, Vector, canonical, unstorable
from echoless.core.timestamps import instant
from echoless.stores import column_values as values
from echoless.stores.expiration import promised
from echoless.stores.live import record as records
from echoless.stores.namespace_labels import namespace_of_labels, read_labels
from echoless.stores.scope import owned
from echoless.stores.sql import cells as forms
from echoless.stores.sql.cells import Cell, CellKind, Column
from echoless.stores.sql.layout import FIELDS, Layout, Place, ScanRemarks
from echoless.stores.sql.table import Key, Row

NATIVE: Final = "sql"
_TIMES: Final = ("created_at", "updated_at", "last_accessed")
_LISTS: Final = ("tags", "links")
_SECOND: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING: Final[Mapping[str, str | None]] = {"created_at": None, "updated_at": None}


# ------------------------------------------------------------------ ids


def id_of(key: Sequence[Cell]) -> str | None:
    """Returns the id of a row: its key; several columns are joined by slashes.

    A slash or backslash in any but the last one is escaped by a backslash.
    """
    parts = []
    for cell in key:
        if cell is None or isinstance(cell, bytes):
            return None
        parts.append(str(cell))
    *outer, last = parts
    escaped = (part.replace("\\", "\\\\").replace("/", "\\/") for part in outer)
    return "/".join((*escaped, last)) or None


def key_of(id_: str, length: int) -> Key | None:
    """Returns the key `id_of` joined, or None."""
    parts: list[str] = []
    current, rest = "", iter(id_)
    for character in rest:
        if len(parts) == length - 1:
            current += character
        elif character == "\\":
            current += next(rest, "")
        elif character == "/":
            parts.append(current)
            current = ""
        else:
            current += character
    parts.append(current)
    return tuple(parts) if len(parts) == length else None


# ------------------------------------------------------------------ reading


class RowReading:
    """One row while it is read; JSON is parsed once."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self._parsed: dict[str, Json] = {}

    def object(self, column: str) -> Json:
        """Returns the JSON of a cell."""
        if column not in self._parsed:
            self._parsed[column] = forms.parsed(self.row.cells.get(column))
        return self._parsed[column]

    def at(self, place: Place) -> Json:
        """Returns the value at a place inside a column of JSON."""
        value = self.object(place.column)
        for key in place.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


class Codec:
    """Conversion between the rows of a table and memories."""

    def __init__(
        self, layout: Layout, where: str, before: Callable[[str], Json] = lambda _id: None
    ) -> None:
        """Takes the layout.

        Args:
            layout: Of the table.
            where: The table, for messages.
            before: Returns the former value of a row's hiding column, by the row's id, while it is
                hidden.
        """
        self.layout = layout
        self._before = before
        self._where = where
        self._columns = layout.table.columns
        self._extra = layout.extra

    def id(self, row: Row) -> str | None:
        """Returns the id of a row, or None if it has no usable key."""
        return id_of([row.cells[name] for name in self.layout.table.key])

    def _value(self, name: str, place: Place, reading: RowReading) -> Json:
        """Returns the value of a place, as `column_values` reads it."""
        kind = self._columns[place.column].kind
        cell = reading.row.cells.get(place.column)
        if place.path or (kind is CellKind.JSON and (name in _LISTS or name == "content")):
            return reading.at(place)
        if kind is CellKind.ARRAY and name in _LISTS:
            array = forms.read_array(cell)
            return list(array) if array is not None else None
        if isinstance(cell, bytes):
            raise BadRecord("bytes are no value of a field")
        return cell

    def content(self, reading: RowReading) -> tuple[Place, str] | None:
        """Returns the text of a row and its place, or None."""
        for place in self.layout.content:
            try:
                value = self._value("content", place, reading)
            except BadRecord:
                continue
            if isinstance(value, str) and place.column in self.layout.context:
                value = listed_text(value)
            if isinstance(value, str) and value:
                return place, value
        return None

    def context(self, memory: Memory) -> str:
        """Returns the texts of the context columns of the layout, beside the memory's own text."""
        cells = (memory.extra.get(name) for name in self.layout.context)
        said = (listed_text(cell) for cell in cells if isinstance(cell, str))
        return "; ".join(each for each in said if each and each != memory.content)

    def namespace(self, reading: RowReading) -> str:
        """Returns the namespace of a row; unreadable parts count as empty."""
        parts: list[Json] = []
        for _, place in self.layout.scope:
            try:
                parts.append(self._value("namespace", place, reading))
            except BadRecord:
                parts.append(None)
        return self.namespace_of(parts)

    def namespace_of(self, parts: Sequence[Json]) -> str:
        """Returns the namespace of the values at its places; unreadable values count as empty."""
        labels = []
        for (label, _), part in zip(self.layout.scope, parts, strict=True):
            try:
                value = str(values.read("namespace", part))
            except BadRecord:
                value = ""
            if not label:
                return value
            labels.append((label, value))
        return namespace_of_labels(labels)

    def created(self, reading: RowReading) -> str | None:
        """Returns the time of creation of a row."""
        place = self.layout.places.get("created_at")
        if place is None:
            return None
        try:
            time = values.read("created_at", self._value("created_at", place, reading))
        except BadRecord:
            return None
        return None if time is None else str(time)

    def decode(
        self, row: Row, id_: str, vector: bytes | None = None, odd: ScanRemarks | None = None
    ) -> Memory | None:
        """Returns the memory of a row; None if it has no text.

        Args:
            row: All its cells.
            id_: Its id.
            vector: From a table of vectors.
            odd: Takes what cannot be read.
        """
        layout, reading = self.layout, RowReading(row)
        text = self.content(reading)
        if text is None:
            return None
        place, content = text
        fields = self._fields(reading, odd)
        base = self._base(reading, id_, place, content)
        extra = {n: forms.to_json(c) for n in self._extra if (c := row.cells[n]) is not None}
        if layout.vectors is not None:
            vector = forms.read_vector(row.cells[layout.vectors])
        memory = replace(
            base,
            **fields,  # type: ignore[arg-type]
            vectors=() if vector is None else (Vector(layout.model, vector),),
            extra={**extra, **base.extra},
            native=self._native(row, vector),
        )
        memory = promised(memory, self._ending(id_, reading))
        return owned(memory, whole=not layout.preset)

    def _ending(self, id_: str, reading: RowReading) -> dict[str, Json]:
        """Returns the date of expiration of a row before echoless hid it."""
        hiding = self.layout.hiding
        if hiding is None or not hiding.place.path:
            return {}
        day = reading.at(hiding.place)
        return {hiding.place.path[-1]: self._before(id_) if day == hiding.value else day}

    def _fields(self, reading: RowReading, odd: ScanRemarks | None) -> dict[str, object]:
        """Returns the fields that have places of their own."""
        fields: dict[str, object] = {}
        for name, place in self.layout.places.items():
            try:
                fields[name] = values.read(name, self._value(name, place, reading))
            except BadRecord:
                if odd is not None:
                    odd.unread[str(place)] = odd.unread.get(str(place), 0) + 1
        return fields

    def _base(self, reading: RowReading, id_: str, place: Place, content: str) -> Memory:
        """Returns the memory without the fields that have places of their own."""
        namespace = self.namespace(reading)
        rest = self._rest(reading, place)
        if rest is None:
            return Memory(id=id_, content=content, namespace=namespace)
        return records.decode(id_, content, namespace, rest, _NOTHING)

    def _rest(self, reading: RowReading, place: Place) -> dict[str, Json] | None:
        """Returns the object of metadata without the keys of fields; None if there is none."""
        if self.layout.rest is None:
            return None
        value = reading.at(self.layout.rest)
        inner = self.layout.inner(place)
        if not isinstance(value, Mapping):
            return {}
        return {key: each for key, each in value.items() if key not in inner}

    def _native(self, row: Row, vector: bytes | None) -> dict[str, Json]:
        """Returns what puts a row back cell by cell."""
        saved = {name: forms.to_json(cell) for name, cell in row.cells.items() if cell is not None}
        column = self.layout.vectors
        if column is not None and vector is not None:
            cell, kind = row.cells[column], self._columns[column].kind
            if kind is CellKind.VECTOR or forms.write_vector(vector, cell, kind) == cell:
                saved.pop(column, None)  # the memory has it already, in fewer bytes
        own: dict[str, Json] = {"cells": saved}
        if row.place is not None:
            own["place"] = row.place
        native: dict[str, Json] = {NATIVE: own}
        if self.layout.fades:
            native[VOLATILE] = ["importance"]
        return native

    def saved(self, memory: Memory) -> Row | None:
        """Returns the row a memory was read from, or None."""
        own = memory.native.get(NATIVE)
        if not isinstance(own, Mapping) or not isinstance(own.get("cells"), Mapping):
            return None
        given = own["cells"]
        assert isinstance(given, Mapping)
        row = {name: forms.from_json(given.get(name)) for name in self._columns}
        place = own.get("place")
        column = self.layout.vectors
        if column is not None and column not in given and memory.vectors:
            kind = self._columns[column].kind
            row[column] = forms.write_vector(memory.vectors[0].data, None, kind)
        return Row(row, place if isinstance(place, int) else None)

    # -------------------------------------------------------------- writing

    def encode(self, memory: Memory, base: Row | None) -> Row:
        """Returns the row of a memory.

        Args:
            memory: As it has to read afterwards.
            base: The present row; None for a new one.

        Raises:
            BadRecord: The text cannot be stored.
            StoreError: A field has no place in the form this row has.
        """
        self._check(memory)
        saved = self.saved(memory)
        if saved is not None and self._says(saved, memory):
            return saved
        return RowWriting(self, memory, base or saved).row()

    def _says(self, row: Row, memory: Memory) -> bool:
        """Returns whether a row reads as this memory, vectors of other tables aside."""
        read = self.decode(row, memory.id)
        if read is None or self.id(row) != memory.id:
            return False
        if self.layout.vectors is None:
            read = replace(read, vectors=memory.vectors)
        return read == memory

    def _check(self, memory: Memory) -> None:
        """Refuses what no row can hold."""
        if problem := unstorable(memory):
            raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored here.")
        if not memory.content:
            raise BadRecord(f"Memory {memory.id!r} has an empty text, which counts as none here.")


class RowWriting:
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
            if old is None or _differs(new, getattr(old, name)):
                self._set_field(name, each, new)
        for column, name in self._layout.written.items():
            new = getattr(memory, name)
            if old is None or new != getattr(old, name):
                self._cells[column] = _iso(new)
        self._set_rest(place)
        self._set_extra()
        self._set_vector()
        for column, value in self._objects.items():
            self._cells[column] = forms.dumped(value, self._cells[column])
        return Row(self._cells, self._base.place if self._base else None)

    def _refused(self, name: str, why: str) -> StoreError:
        return StoreError(
            f"The field {name!r} of {self._memory.id!r} has no place in {self._codec._where} "  # noqa: SLF001
            f"({why}). Nothing was changed."
        )

    def _set_field(self, name: str, place: Place, new: object) -> None:
        """Writes one field in the form its place has."""
        column = self._codec._columns[place.column]  # noqa: SLF001
        try:
            like = self._codec._value(name, place, self._reading)  # noqa: SLF001
            if name in _TIMES and isinstance(new, str) and not place.path:
                self._cells[place.column] = _time(new, column, self._layout)
                return
            if like is None and name in _LISTS and (place.path or column.kind in _LISTING):
                like = []
            elif like is not None:
                values.read(name, like)  # what cannot be read is not overwritten
            made = values.write(name, new, like)
        except BadRecord as problem:
            raise self._refused(name, str(problem)) from problem
        self._set(name, place, made, like)

    def _set(self, name: str, place: Place, value: Json, like: Json) -> None:
        """Writes a value at a place."""
        column = self._codec._columns[place.column]  # noqa: SLF001
        if not place.path and column.kind is not CellKind.JSON:
            self._cells[place.column] = _cell(value, column, typed=self._layout.table.typed)
            return
        if not place.path:
            empty = value is None or (name in _LISTS and not value)
            self._cells[place.column] = (
                None if empty and like is None else forms.dumped(value, self._cells[place.column])
            )
            return
        self._set_inside(place, value)

    def _set_inside(self, place: Place, value: Json) -> None:
        """Writes a value inside a column of JSON; None removes its key."""
        if place.column not in self._objects:
            known = self._reading.object(place.column)
            self._objects[place.column] = deepcopy(known) if isinstance(known, dict) else {}
        holder = self._objects[place.column]
        assert isinstance(holder, dict)
        for key in place.path[:-1]:
            inner = holder.get(key)
            if not isinstance(inner, dict):
                inner = holder[key] = {}
            holder = inner
        if value is None:
            holder.pop(place.path[-1], None)
        else:
            holder[place.path[-1]] = value

    def _set_namespace(self) -> None:
        """Writes the namespace into its columns."""
        namespace, scope = self._memory.namespace, self._layout.scope
        if not scope:
            if namespace:
                raise self._refused("namespace", "no column holds one")
            return
        if len(scope) == 1 and not scope[0][0]:
            place = scope[0][1]
            like = self._codec._value("namespace", place, self._reading)  # noqa: SLF001
            made = values.write("namespace", namespace, like)
            self._set("namespace", place, made, like)
            return
        owners = read_labels(namespace)
        if not owners.keys() <= {label for label, _ in scope} or not all(owners.values()):
            labels = ", ".join(label for label, _ in scope)
            raise BadRecord(
                f"{namespace!r}, the namespace of {self._memory.id!r}, is none of "
                f"{self._codec._where}: write LABEL=NAME, joined by &, with {labels}."  # noqa: SLF001
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
        new = records.encode(bare, inner, _NOTHING)
        old = self._codec._rest(self._reading, content) or {}  # noqa: SLF001
        if canonical(old) == canonical(new):
            return
        value = self._reading.at(layout.rest)
        if value is not None and not isinstance(value, Mapping):
            raise self._refused("metadata", f"{layout.rest} holds no object")
        if layout.rest.path:
            unchanged = {k: v for k, v in (value or {}).items() if k in inner}
            self._set_inside(layout.rest, {**unchanged, **new})
            return
        if layout.rest.column not in self._objects:
            self._objects[layout.rest.column] = deepcopy(dict(value or {}))
        whole = self._objects[layout.rest.column]
        assert isinstance(whole, dict)
        for key in [k for k in whole if k not in inner and k not in new]:
            del whole[key]
        whole.update(new)

    def _refuse_the_rest(self) -> None:
        """Refuses fields that have no place, where they changed."""
        for name in (*_DEFAULTS, "metadata"):
            if name in self._layout.places:
                continue
            new = getattr(self._memory, name)
            before = getattr(self._old, name) if self._old else values.default(name)
            if _differs(new, before):
                raise self._refused(name, "no column holds it; name one by ?map=")

    def _set_extra(self) -> None:
        """Writes the cells of columns that hold no field."""
        for name in self._codec._extra:  # noqa: SLF001
            self._cells[name] = forms.from_json(self._memory.extra.get(name))
        if self._layout.rest is None:
            unknown = sorted(set(self._memory.extra) - set(self._codec._extra))  # noqa: SLF001
            if unknown:
                raise self._refused("extra", f"no column is called {unknown[0]!r}")

    def _set_vector(self) -> None:
        """Writes the vector into its column."""
        column, vectors = self._layout.vectors, self._memory.vectors
        if column is None:
            if vectors and not self._layout.side_vectors:
                raise self._refused("vectors", "no column holds them")
            return
        if len(vectors) > 1 or any(v.model != self._layout.model for v in vectors):
            raise self._refused("vectors", f"it takes one of the model {self._layout.model!r}")
        cell, kind = self._cells[column], self._codec._columns[column].kind  # noqa: SLF001
        if not vectors:
            self._cells[column] = None
        elif forms.read_vector(cell) != vectors[0].data:
            self._cells[column] = forms.write_vector(vectors[0].data, cell, kind)


def listed_text(cell: str) -> str:
    """Returns a text, or the texts of a list in JSON one by one."""
    if not cell.lstrip().startswith("["):
        return cell
    parsed = forms.parsed(cell)
    if not isinstance(parsed, Sequence) or isinstance(parsed, str):
        return cell
    return "\n".join(each for each in parsed if isinstance(each, str))


_DEFAULTS: Final = {name: values.default(name) for name in FIELDS}
_LISTING: Final = frozenset({CellKind.JSON, CellKind.ARRAY})


def _differs(new: object, old: object) -> bool:
    """Returns whether two values of a field differ; 1 and 1.0 do not."""
    return new != old


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
    when = (_EPOCH + timedelta(microseconds=moment // 1000)).isoformat(sep=" ").partition("+")[0]
    if "." in when:
        when = when.rstrip("0")
    if column.type == "date":
        return when[:10]
    return when if "without" in column.type else f"{when}+00"


def _iso(text: str | None) -> str | None:
    """Returns a time as ISO 8601 in UTC, or None if it cannot be read."""
    moment = instant(text)
    if moment is None:
        return None
    when = _EPOCH + timedelta(microseconds=moment // 1000)
    return when.isoformat().replace("+00:00", "Z")


def _number(text: str, moment: int | None, column: Column, layout: Layout) -> Cell:
    """Returns a time as a number."""
    whole, unit = "INT" in column.type.upper(), layout.unit
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
