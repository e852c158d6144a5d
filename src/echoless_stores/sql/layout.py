"""Where each field of a memory lies in a table: from a map, a preset, or the usual names.

A preset recognises the table of another program by its columns, and says how that program itself
hides a row. Where it has no way to hide one, a hidden memory is hidden from echoless alone, and the
report says so.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Final

from echoless.core.destination import command_line
from echoless.core.errors import UsageError
from echoless.core.optional import require_module
from echoless.stores.column_values import ARROW, MANY, reads_as_text, strings_in, text_places
from echoless.stores.field_map import PLAIN, FieldMap
from echoless_stores.sql.cells import CellKind
from echoless_stores.sql.location import Location
from echoless_stores.sql.table import Cells, Hiding, Place, Row, SqlTable


@dataclass(frozen=True, slots=True)
class TablePreset:
    """Layout of a program's table.

    Attributes:
        program: Its name.
        signs: Columns that such a table has.
        map: Field to column, or to `column->key` inside a column of JSON.
        content: Places of the text, the first with a text counts; that of the map if empty.
        context: Columns with the subject of a text, or with more of it: they are compared with it.
            One alone, a text or a list of texts in JSON, is the text of a row without another.
        scope: Places that make the namespace, by their label; that of the map if empty.
        rest: Column of JSON, or place inside one, whose other keys are the metadata.
        hide: Column or place that hides a row from the program; may be empty.
        hidden: Value of that place in a hidden row; empty if it names the survivor.
        survivor: Column that names a survivor there.
        gone: Column that is set in a row the program has deleted; may be empty.
        purges: Whether the program takes such rows out by itself, so that a removal does so too.
        vectors: Table of sqlite-vec that holds the vectors by the number of the row; may be empty.
        model: Name of the vectors' model; empty to name it after the table.
        counters: Columns the program changes whenever it reads or reorders, which are no edit.
        fades: Whether the importance changes by itself.
        unit: Unit of times that are numbers: 1 for seconds, 1000 for milliseconds.
        derived: Function of the text by place, for values that follow it.
        written: Field of a time by column, for columns that repeat one as ISO 8601.
        exactly: Whether such a table has no other columns.
    """

    program: str
    signs: Collection[str]
    map: FieldMap
    content: Collection[str] = ()
    context: Collection[str] = ()
    scope: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    hide: str = ""
    hidden: str = ""
    survivor: str = ""
    gone: str = ""
    purges: bool = False
    vectors: str = ""
    model: str = ""
    counters: Collection[str] = ()
    fades: bool = False
    unit: int = 1
    derived: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    exactly: bool = False

    def fits(self, columns: Collection[str]) -> bool:
        """Returns whether a table with these columns is one of the program."""
        return set(self.signs) <= {*columns} and not (self.exactly and {*columns} - {*self.signs})


def _normal_hash(text: str) -> str:
    """Returns the hash mcp-memory-service 12.4 gives a text (`utils/hashing.py`)."""
    return hashlib.sha256(text.strip().lower().encode("utf-8")).hexdigest()


def _md5(text: str) -> str:
    """Returns the hash mem0 2.2 gives a text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _letters_hash(text: str) -> str:
    """Returns the hash memori 3.3 gives a fact (`_utils.py`)."""
    return hashlib.sha256(re.sub(r"[^a-z0-9]", "", text.lower()).encode()).hexdigest()


def _lemmatized(text: str) -> str:
    """Returns the words mem0 2.2 searches a text by."""
    require_module("mem0", "A new text in a table of mem0", "mem0")
    from mem0.utils import lemmatization

    return str(lemmatization.lemmatize_for_bm25(text))


_DERIVED: Final[Mapping[str, Callable[[str], str]]] = {
    "mcp-memory-service": _normal_hash,
    "mem0 hash": _md5,
    "mem0 words": _lemmatized,
    "memori": _letters_hash,
}
"""Functions of the text by the name a preset gives them."""


@cache
def presets() -> tuple[TablePreset, ...]:
    """Returns the presets in the order of the search."""
    rows = tomllib.loads((files(__package__) / "presets.toml").read_text("utf-8"))["presets"]
    for row in rows:
        row["map"] = FieldMap({name: name for name in row.pop("same", ())} | row.get("map", {}))
        row["derived"] = {at: _DERIVED[name] for at, name in row.get("derived", {}).items()}
    return tuple(TablePreset(**row) for row in rows)


_OTHER: Final = TablePreset("", (), FieldMap())
"""Stands for the program of a table that no preset fits."""


def preset_of(columns: Collection[str]) -> TablePreset | None:
    """Returns the preset of a table with these columns, or None."""
    return next((each for each in presets() if each.fits(columns)), None)


_PLACES: Final = 3
"""Places of texts that a remark names."""

FIELDS: Final = tuple(name for name in PLAIN if name not in {"content", "namespace"})
"""Fields that have one place each."""

_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (name,) for name in (*PLAIN, "metadata")},
    "content": ("content", "text", "memory", "body"),
}
"""Columns a field is read from where no map names it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of each field.

    Attributes:
        table: The table.
        content: Places of the text; the first with a text counts.
        places: Place by field, of those in `FIELDS`.
        scope: Places of the namespace by label; one without a label is the namespace itself.
        context: Columns that are read with the text, of those the preset names.
        rest: Object whose other keys are the metadata; None if the table has none.
        vectors: Column of vectors, or None.
        model: Name of their model.
        hiding: How a row is hidden, or None.
        gone: Column that is set in a deleted row; empty if there is none.
        preset: What is known of the program whose table it is.
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
    model: str
    hiding: Hiding | None
    gone: str
    preset: TablePreset
    derived: Mapping[Place, Callable[[str], str]]
    written: Mapping[str, str]

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
    def deletion(self) -> str:
        """Returns the column that a removal sets; empty where it takes the row out."""
        return "" if self.preset.purges else self.gone

    @property
    def used(self) -> tuple[Place, ...]:
        """Returns the places that hold fields."""
        texts = (place for place in self.content if place.column not in self.context)
        return (*texts, *self.places.values(), *(place for _, place in self.scope))

    @property
    def extra(self) -> tuple[str, ...]:
        """Returns the columns that hold no field; their cells are carried along."""
        taken = {place.column for place in self.used} | set(self.table.key)
        taken |= {place.column for place in self.derived}
        taken |= {self.gone, *self.written, *self.preset.counters}
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
        read: Number of rows that are memories.
        textless: Number of rows without a text.
        hidden: Number of rows the table's own program hides.
        nameless: Number of rows whose key is empty or no text.
        retired: Number of rows that are read though a field of theirs puts them away.
        elsewhere: Places of texts in rows that have none where it is looked for.
    """

    unread: dict[str, int] = field(default_factory=dict)
    read: int = 0
    textless: int = 0
    hidden: int = 0
    nameless: int = 0
    retired: int = 0
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
        """Counts a row with an empty text column, and remembers which other column has text."""
        self.textless += 1
        strings = [each for name, cell in row.cells.items() for each in strings_in(name, cell)]
        self.elsewhere.update(place for place, text in strings if reads_as_text(text))


def layout_of(
    table: SqlTable, location: Location, first: Callable[[], Iterable[Cells]] = tuple
) -> Layout:
    """Returns the layout of a table.

    Args:
        table: The table.
        location: Its map goes before a preset, and that before the usual names.
        first: Gives the first rows of the table, for the advice where no column holds the text.

    Raises:
        UsageError: A column of the map is not there, or no column holds the text.
    """
    preset, asked = preset_of(table.columns) or _OTHER, location.map
    merged = asked.over(_usual(table, asked) if preset is _OTHER else _present(preset.map, table))
    _check(asked, table)
    content = _content(merged, asked, preset, table)
    if "content" not in asked.columns and preset is _OTHER and not content:
        rows = [*first()]  # of an empty table, any column that may hold texts
        blank = {n: "a text" for n, c in table.columns.items() if c.kind is CellKind.TEXT}
        without_key = (
            {n: c for n, c in row.items() if n not in table.key} for row in rows or [blank]
        )
        _, places = text_places(without_key)
        named = replace(location, map=asked.over(FieldMap({"content": places or "COLUMN"})))
        raise UsageError(
            f"No column of {table.full_name} is named as a text. It has: "
            f"{', '.join(table.columns)}. Name it: {command_line('audit', named.url)}."
        )
    rest = merged.column("metadata") or preset.rest
    return Layout(
        table=table,
        content=content,
        places={n: Place.parse(c) for n in FIELDS if (c := merged.column(n)) is not None},
        scope=_scope(merged, asked, preset),
        context=tuple(c for c in preset.context if c in table.columns),
        rest=Place.parse(rest) if rest else None,
        vectors=merged.column("vectors")
        or next((n for n, c in table.columns.items() if c.kind is CellKind.VECTOR), None),
        model=location.model or preset.model or f"sql:{table.name}",
        hiding=_hiding(location, preset, table),
        gone=preset.gone if preset.gone in table.columns else "",
        preset=preset,
        derived={Place.parse(place): made for place, made in preset.derived.items()},
        written={c: n for c, n in preset.written.items() if c in table.columns},
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
    merged: FieldMap, asked: FieldMap, preset: TablePreset, table: SqlTable
) -> tuple[Place, ...]:
    """Returns the places of the text."""
    texts = preset.content if asked.column("content") is None else ()
    if not texts and (column := merged.column("content")) is not None:
        texts = column.split(MANY)
    places = map(Place.parse, texts)
    return tuple(place for place in places if place.column in table.columns)


def _scope(merged: FieldMap, asked: FieldMap, preset: TablePreset) -> tuple[tuple[str, Place], ...]:
    """Returns the places of the namespace by label."""
    if "namespace" not in asked.columns and preset.scope:
        return tuple((label, Place.parse(text)) for label, text in preset.scope.items())
    text = merged.column("namespace")
    if text is None:
        return ()
    names = text.split(MANY)
    if len(names) == 1:
        return (("", Place.parse(text)),)
    return tuple(sorted((name.rpartition(ARROW)[2], Place.parse(name)) for name in names))


def _hiding(location: Location, preset: TablePreset, table: SqlTable) -> Hiding | None:
    """Returns how a row is hidden."""
    place = Place.parse(location.hide or preset.hide)
    column = table.columns.get(place.column)
    if location.hide and column is None:
        raise UsageError(
            f"hide={location.hide} names a column that {table.full_name} does not have. It "
            f"has: {', '.join(table.columns)}."
        )
    own = () if location.hide else (preset.hidden, preset.survivor)
    return None if column is None else Hiding(place, column, table.typed, *own)
