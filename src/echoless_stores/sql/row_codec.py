"""A row of a table as a memory, and its key as an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.model import VOLATILE, Json, Memory, Vector, digest
from echoless.core.sqlite import Cell
from echoless.stores import column_values as values
from echoless.stores.column_values import cell_from_json, cell_to_json
from echoless.stores.expiration import promised, searched
from echoless.stores.scope import namespace_of_labels, owned
from echoless_stores.live import payload as records
from echoless_stores.sql import cells as forms
from echoless_stores.sql.cells import CellKind
from echoless_stores.sql.layout import Layout, ScanRemarks
from echoless_stores.sql.table import Key, Place, Row

NATIVE: Final = "sql"
LISTS: Final = ("tags", "links")
NO_TIMES: Final[Mapping[str, str | None]] = {"created_at": None, "updated_at": None}


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


def digest_id(row: Row, repeats: Counter[str]) -> str:
    """Returns an id made of the cells, for a table without a key; equal rows are numbered."""
    name = digest({column: cell_to_json(cell) for column, cell in row.cells.items()})
    repeats[name] += 1
    return name if repeats[name] == 1 else f"{name}-{repeats[name]}"


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
        return place.inside(self.object(place.column))


class Codec:
    """Conversion of the rows of a table to memories; `row_writing.encode` is the way back.

    Attributes:
        layout: Of the table.
        where: The table, for messages.
        columns: Of the table, by name.
        extra: Columns that hold no field.
    """

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
        self.where = where
        self.columns = layout.table.columns
        self.extra = layout.extra

    def id(self, row: Row) -> str | None:
        """Returns the id of a row, or None if it has no usable key."""
        return id_of([row.cells[name] for name in self.layout.table.key])

    def value(self, name: str, place: Place, reading: RowReading) -> Json:
        """Returns the value of a place, as `column_values` reads it."""
        kind = self.columns[place.column].kind
        cell = reading.row.cells.get(place.column)
        if place.path or (kind is CellKind.JSON and (name in LISTS or name == "content")):
            return reading.at(place)
        if kind is CellKind.ARRAY and name in LISTS:
            array = forms.read_array(cell)
            return list(array) if array is not None else None
        if isinstance(cell, bytes):
            raise BadRecord("bytes are no value of a field")
        return cell

    def content(self, reading: RowReading) -> tuple[Place, str] | None:
        """Returns the text of a row and its place, or None."""
        for place in self.layout.content:
            try:
                value = self.value("content", place, reading)
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
                parts.append(self.value("namespace", place, reading))
            except BadRecord:
                parts.append(None)
        return self.namespace_of(parts)

    def namespace_of(self, parts: Sequence[Json]) -> str:
        """Returns the namespace of the values at its places; unreadable ones count as empty."""
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
            time = values.read("created_at", self.value("created_at", place, reading))
        except BadRecord:
            return None
        return None if time is None else str(time)

    def decode(
        self,
        row: Row,
        id_: str,
        vector: bytes | None = None,
        odd: ScanRemarks | None = None,
        *,
        indexed: bool = True,
    ) -> Memory | None:
        """Returns the memory of a row; None if it has no text.

        Args:
            row: All its cells.
            id_: Its id.
            vector: From a table of vectors.
            odd: Takes what cannot be read.
            indexed: Whether it has an entry in each table of vectors that refers to this one.
        """
        layout, reading = self.layout, RowReading(row)
        text = self.content(reading)
        if text is None:
            return None
        place, content = text
        fields = self._fields(reading, odd)
        base = self._base(reading, id_, place, content)
        extra = {n: cell_to_json(c) for n in self.extra if (c := row.cells[n]) is not None}
        if layout.vectors is not None:
            vector = forms.read_vector(row.cells[layout.vectors])
        memory = replace(
            base,
            **fields,  # type: ignore[arg-type]
            vectors=() if vector is None else (Vector(layout.model, vector),),
            extra={**extra, **base.extra},
            native=self._native(row, vector),
        )
        if not indexed or layout.vectors is not None or layout.preset.vectors:
            memory = searched(memory, indexed=indexed)
        memory = promised(memory, self._ending(id_, reading))
        return owned(memory, whole=not layout.preset.program)

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
                fields[name] = values.read(name, self.value(name, place, reading))
            except BadRecord:
                if odd is not None:
                    odd.unread[str(place)] = odd.unread.get(str(place), 0) + 1
        return fields

    def _base(self, reading: RowReading, id_: str, place: Place, content: str) -> Memory:
        """Returns the memory without the fields that have places of their own."""
        namespace = self.namespace(reading)
        rest = self.rest(reading, place)
        if rest is None:
            return Memory(id=id_, content=content, namespace=namespace)
        return records.decode(id_, content, namespace, rest, NO_TIMES)

    def rest(self, reading: RowReading, place: Place) -> dict[str, Json] | None:
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
        saved = {name: cell_to_json(cell) for name, cell in row.cells.items() if cell is not None}
        column = self.layout.vectors
        if column is not None and vector is not None:
            cell, kind = row.cells[column], self.columns[column].kind
            if kind is CellKind.VECTOR or forms.write_vector(vector, cell, kind) == cell:
                saved.pop(column, None)  # the memory has it already, in fewer bytes
        own: dict[str, Json] = {"cells": saved}
        if row.place is not None:
            own["place"] = row.place
        native: dict[str, Json] = {NATIVE: own}
        if self.layout.preset.fades:
            native[VOLATILE] = ["importance"]
        return native

    def saved(self, memory: Memory) -> Row | None:
        """Returns the row a memory was read from, or None."""
        own = memory.native.get(NATIVE)
        if not isinstance(own, Mapping) or not isinstance(own.get("cells"), Mapping):
            return None
        given = own["cells"]
        assert isinstance(given, Mapping)
        row = {name: cell_from_json(given.get(name)) for name in self.columns}
        place = own.get("place")
        column = self.layout.vectors
        if column is not None and column not in given and memory.vectors:
            kind = self.columns[column].kind
            row[column] = forms.write_vector(memory.vectors[0].data, None, kind)
        return Row(row, place if isinstance(place, int) else None)


def listed_text(cell: str) -> str:
    """Returns a text, or the texts of a list in JSON one by one."""
    if not cell.lstrip().startswith("["):
        return cell
    parsed = forms.parsed(cell)
    if not isinstance(parsed, Sequence) or isinstance(parsed, str):
        return cell
    return "\n".join(each for each in parsed if isinstance(each, str))
