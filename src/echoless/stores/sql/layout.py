"""Where each field of a memory lies in a table: from a map, a preset, or the usual names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from echoless.core.commands import command_line
from echoless.core.errors import UsageError
from echoless.core.model import Json
from echoless.core.timestamps import instant
from echoless.stores.field_map import PLAIN, FieldMap
from echoless.stores.sql import cells as forms
from echoless.stores.sql.cells import CellKind, Column
from echoless.stores.sql.location import Location
from echoless.stores.sql.presets import TablePreset, preset_of
from echoless.stores.sql.table import Row, SqlTable

ARROW: Final = "->"
"""Leads from a column of JSON to a key inside of it."""

_PLACES: Final = 3
"""Places of texts that a remark names."""

_DEEPEST: Final = 3
"""Keys that lead to such a place, at most."""

MANY: Final = ","
"""Stands between the columns of a namespace."""

FIELDS: Final = tuple(name for name in PLAIN if name not in {"content", "namespace"})
"""Fields that have one place each."""

_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "content": ("content", "text", "memory", "body"),
    "namespace": ("namespace",),
    "type": ("type",),
    "tags": ("tags",),
    "importance": ("importance",),
    "access_count": ("access_count",),
    "created_at": ("created_at",),
    "updated_at": ("updated_at",),
    "last_accessed": ("last_accessed",),
    "provenance": ("provenance",),
    "links": ("links",),
    "pinned": ("pinned",),
    "metadata": ("metadata",),
}
"""Columns a field is read from where no map names it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column, or a key inside a column of JSON.

    Attributes:
        column: Its name.
        path: Keys from the outside in.
    """

    column: str
    path: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Place:
        """Reads `column` or `column->key->key`."""
        column, *path = text.split(ARROW)
        return cls(column, tuple(path))

    def __str__(self) -> str:
        return ARROW.join((self.column, *self.path))


@dataclass(frozen=True, slots=True)
class Hiding:
    """How the table's own program stops seeing a row.

    Attributes:
        place: What is set.
        value: What it is set to; empty if it names the survivor.
        survivor: Column that names a survivor there.
    """

    place: Place
    value: str = ""
    survivor: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of each field.

    Attributes:
        table: The table.
        content: Places of the text; the first with a text counts.
        places: Place by field, of those in `FIELDS`.
        scope: Places of the namespace by label; one without a label is the namespace itself.
        context: Columns that are read with the text, of those a preset names.
        rest: Object whose other keys are the metadata; None if the table has none.
        vectors: Column of vectors, or None.
        side_vectors: Table of sqlite-vec with the vectors, or empty.
        model: Name of their model.
        hiding: How a row is hidden, or None.
        gone: Column that is set in a deleted row; empty if there is none.
        preset: Program whose table it is, or empty.
        counters: Columns that may change without an edit.
        fades: Whether the importance changes by itself.
        unit: Unit of times that are numbers, as a part of a second.
        derived: Function of the text by place.
        written: Field of a time by column that repeats it as ISO 8601.
    """

    table: SqlTable
    content: tuple[Place, ...]
    places: Mapping[str, Place]
    scope: tuple[tuple[str, Place], ...]
    context: tuple[str, ...]
    rest: Place | None
    vectors: str | None
    side_vectors: str
    model: str
    hiding: Hiding | None
    gone: str
    preset: str = ""
    counters: frozenset[str] = frozenset()
    fades: bool = False
    unit: int = 1
    derived: Mapping[Place, Callable[[str], str]] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    def inner(self, content: Place) -> frozenset[str]:
        """Returns the keys of the object of metadata that hold something else.

        Args:
            content: Where the text of this row lies.
        """
        if self.rest is None:
            return frozenset()
        depth = len(self.rest.path)
        hiding = (self.hiding.place,) if self.hiding else ()
        fields = (*self.places.values(), *(place for _, place in self.scope))
        return frozenset(
            place.path[depth]
            for place in (content, *fields, *hiding, *self.derived)
            if place.column == self.rest.column
            and len(place.path) > depth
            and place.path[:depth] == self.rest.path
        )

    @property
    def used(self) -> tuple[Place, ...]:
        """Returns the places that hold fields."""
        texts = (place for place in self.content if place.column not in self.context)
        return (*texts, *self.places.values(), *(place for _, place in self.scope))

    @property
    def extra(self) -> tuple[str, ...]:
        """Returns the columns that hold no field; their cells are carried along."""
        taken = {place.column for place in self.used} | set(self.table.key)
        taken |= {place.column for place in self.derived} | self.counters
        taken |= {self.gone, *self.written}
        if self.rest is not None:
            taken.add(self.rest.column)
        if self.hiding is not None:
            taken.add(self.hiding.place.column)
        return tuple(name for name in self.table.columns if name not in taken | {self.vectors})


@dataclass(slots=True)
class ScanRemarks:
    """What a scan passed over or could not read, for the report.

    Attributes:
        unread: Number of cells by column that could not be read as the field of the column.
        textless: Number of rows without a text.
        hidden: Number of rows the table's own program hides.
        nameless: Number of rows whose key is empty or no text.
        elsewhere: Places of texts in rows that have none where it is looked for.
    """

    unread: dict[str, int] = field(default_factory=dict)
    textless: int = 0
    hidden: int = 0
    nameless: int = 0
    elsewhere: Counter[str] = field(default_factory=Counter)

    def sentences(self, table: str) -> tuple[str, ...]:
        """Returns one sentence for each kind of oddity."""
        counts = (
            (self.textless, "hold no text"),
            (self.hidden, "are hidden or deleted by the program of the table"),
            (self.nameless, "have no usable key"),
        )
        passed = [
            f"{table}: rows that {what}: {number}. They are passed over and stay as they are."
            for number, what in counts
            if number
        ]
        unread = [
            f"{table}: the column {column!r} cannot be read in {number} rows; it counts as empty "
            "there and is left as it is."
            for column, number in sorted(self.unread.items())
        ]
        texts = [
            f"{table}: some of the rows without a text have one in {', '.join(sorted(places))}. "
            f"These are read with map=content:{places[0]} in the URL, in place of the others."
            for places in [[name for name, _ in self.elsewhere.most_common(_PLACES)]]
            if places
        ]
        return (*passed, *texts, *unread)

    def note_texts(self, row: Row) -> None:
        """Counts a row without a text where it is looked for, and where it has one."""
        self.textless += 1
        waiting: list[tuple[str, Json]] = [
            (name, forms.parsed(cell) if str(cell).lstrip("b'")[:1] == "{" else forms.to_json(cell))
            for name, cell in row.cells.items()
        ]
        for place, whole in waiting:
            if isinstance(whole, Mapping) and place.count(ARROW) < _DEEPEST:
                waiting += [(f"{place}{ARROW}{key}", each) for key, each in whole.items()]
            elif isinstance(whole, str) and " " in whole.strip() and instant(whole) is None:
                self.elsewhere[place] += 1


def layout_of(table: SqlTable, location: Location) -> Layout:
    """Returns the layout of a table.

    Args:
        table: The table.
        location: Its map goes before a preset, and that before the usual names.

    Raises:
        UsageError: A column of the map is not there, or no column holds the text.
    """
    preset = preset_of(table.columns)
    asked = location.map
    usual = FieldMap() if preset is not None else _usual(table, asked)
    base = FieldMap() if preset is None else _present(preset.map, table)
    merged = asked.over(base.over(usual))
    _check(asked, table)
    content = _content(merged, asked, preset, table)
    if "content" not in asked.columns and preset is None and not content:
        texts = (
            n for n, c in table.columns.items() if c.kind is CellKind.TEXT and n not in table.key
        )
        named = replace(location, map=asked.over(FieldMap({"content": next(texts, "COLUMN")})))
        raise UsageError(
            f"No column of {table.full_name} is named as a text. It has: "
            f"{', '.join(table.columns)}. Name it: {command_line('audit', named.url)}."
        )
    model = location.model or (preset.model if preset else "") or f"sql:{table.name}"
    rest = merged.column("metadata") or (preset.rest if preset else "")
    derived, written = (preset.derived, preset.written) if preset else ({}, {})
    counters = preset.counters if preset else frozenset()
    return Layout(
        table=table,
        content=content,
        places={n: Place.parse(c) for n in FIELDS if (c := merged.column(n)) is not None},
        scope=_scope(merged, asked, preset),
        context=tuple(c for c in preset.context if c in table.columns) if preset else (),
        rest=Place.parse(rest) if rest else None,
        vectors=_vectors(merged, table),
        side_vectors=preset.vectors if preset else "",
        model=model,
        hiding=_hiding(location, preset, table),
        gone=preset.gone if preset and preset.gone in table.columns else "",
        preset=preset.program if preset else "",
        counters=counters,
        fades=bool(preset and preset.fades),
        unit=preset.unit if preset else 1,
        derived={Place.parse(place): made for place, made in derived.items()},
        written={c: n for c, n in written.items() if c in table.columns},
    )


def _usual(table: SqlTable, asked: FieldMap) -> FieldMap:
    """Returns the columns with usual names, for fields no map names."""
    taken = {Place.parse(each).column for each in asked.columns.values()}
    chosen: dict[str, str] = {}
    for name, columns in _USUAL.items():
        column = next((c for c in columns if c in table.columns and c not in taken), None)
        if column is not None and name not in asked.columns and column not in table.key:
            chosen[name] = column
            taken.add(column)
    return FieldMap(chosen)


def _present(field_map: FieldMap, table: SqlTable) -> FieldMap:
    """Returns the part of a preset's map whose columns this version of the table has."""
    return FieldMap(
        {n: c for n, c in field_map.columns.items() if Place.parse(c).column in table.columns}
    )


def _check(asked: FieldMap, table: SqlTable) -> None:
    """Refuses a map that names columns the table lacks, or the id."""
    for name, text in asked.columns.items():
        if name == "id":
            raise UsageError(
                "The id of a row is its primary key, so the map cannot name another one. Leave out "
                f"id:{text}."
            )
        for each in text.split(MANY):
            column = Place.parse(each).column
            if column not in table.columns:
                raise UsageError(
                    f"The map gives {name!r} the column {column!r}, which {table.full_name} does "
                    f"not have. It has: {', '.join(table.columns)}."
                )


def _content(
    merged: FieldMap, asked: FieldMap, preset: TablePreset | None, table: SqlTable
) -> tuple[Place, ...]:
    """Returns the places of the text."""
    own = asked.column("content")
    texts: tuple[str, ...] = (own,) if own is not None else ()
    if own is None and preset is not None:
        texts = preset.content
    if not texts and (column := merged.column("content")) is not None:
        texts = (column,)
    places = (Place.parse(text) for text in texts)
    return tuple(place for place in places if place.column in table.columns)


def _scope(
    merged: FieldMap, asked: FieldMap, preset: TablePreset | None
) -> tuple[tuple[str, Place], ...]:
    """Returns the places of the namespace by label."""
    if "namespace" not in asked.columns and preset is not None and preset.scope:
        return tuple((label, Place.parse(text)) for label, text in preset.scope.items())
    text = merged.column("namespace")
    if text is None:
        return ()
    names = text.split(MANY)
    if len(names) == 1:
        return (("", Place.parse(text)),)
    return tuple(sorted((name.rpartition(ARROW)[2], Place.parse(name)) for name in names))


def _vectors(merged: FieldMap, table: SqlTable) -> str | None:
    """Returns the column of vectors: that of the map, or the first of such a type."""
    named = merged.column("vectors")
    if named is not None:
        return named
    columns: tuple[Column, ...] = tuple(table.columns.values())
    return next((c.name for c in columns if c.kind is CellKind.VECTOR), None)


def _hiding(location: Location, preset: TablePreset | None, table: SqlTable) -> Hiding | None:
    """Returns how a row is hidden."""
    if location.hide:
        place = Place.parse(location.hide)
        if place.column not in table.columns:
            raise UsageError(
                f"hide={location.hide} names a column that {table.full_name} does not have. It "
                f"has: {', '.join(table.columns)}."
            )
        return Hiding(place)
    if preset is None or not preset.hide:
        return None
    place = Place.parse(preset.hide)
    if place.column not in table.columns:
        return None
    return Hiding(place, preset.hidden, preset.survivor)
