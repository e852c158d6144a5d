"""Map from the fields of a memory to columns or metadata keys of another program's table.

A `FieldMap` is a small value: field of `Memory` to column. It is read from `field=column` options,
from a TOML or JSON file, or from the query of a store's URL (`?map=field:column`), and it travels
in that URL, so that whoever opens the store again reads the same fields. How a column's value is
read as a field, and written in the form it had, is in `column_values.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from echoless.core.errors import InputError, StoreError, UsageError
from echoless.core.json_codec import FIELDS
from echoless.core.text import unreadable
from echoless.stores.files import read_bytes

MAPPABLE: Final = FIELDS
"""Fields that may have a column. `extra` has none: it holds what belongs to no field."""

PLAIN: Final = tuple(name for name in FIELDS if name not in {"id", "metadata", "vectors"})
"""Fields with one value in a column or key; the others are keys, columns or vectors themselves."""

Hiding: TypeAlias = Literal["", "mark", "move", "expire"]
"""How memories are hidden: `mark` notes it in the ledger alone, `move` takes the record out of the
store too, `expire` gives it a date in the past; empty leaves it to what the store was told."""

_FORMS: Final = {"map": "map=FIELD:COLUMN", "hide": "hide=move", "model": "model=NAME"}
_HIDINGS: Final[Mapping[str, Hiding]] = {"mark": "mark", "move": "move", "expire": "expire"}

_SAFE: Final = "/ :.,@+-_>"
"""Characters of column names that need no escape in a query."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Map from field of a memory to column.

    Attributes:
        columns: Column by field; fields that are missing are not read from a column of the owner's.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses unknown fields, columns without a name, and columns named twice.

        Raises:
            UsageError: A field is unknown, a column has no name, or two fields share one.
        """
        taken: dict[str, str] = {}
        for name, column in self.columns.items():
            if name not in MAPPABLE:
                raise UsageError(
                    f"The map names the field {name!r}, which a memory does not have. "
                    f"It has: {', '.join(MAPPABLE)}."
                )
            if not column:
                raise UsageError(f"The map gives {name!r} a column without a name.")
            if column in taken:
                raise UsageError(
                    f"The map gives the column {column!r} to {taken[column]!r} and to {name!r}. "
                    "A column holds one field."
                )
            taken[column] = name

    def __bool__(self) -> bool:
        return bool(self.columns)

    def column(self, name: str, default: str | None = None) -> str | None:
        """Returns the column of a field, or the default."""
        return self.columns.get(name, default)

    def over(self, lower: FieldMap) -> FieldMap:
        """Returns this map with the fields it lacks taken from another one."""
        return FieldMap({**lower.columns, **self.columns})

    def only(self, fields: Iterable[str], store: str) -> FieldMap:
        """Returns the map unchanged if it names no other fields than these.

        Args:
            fields: Those the kind of store can take from a column.
            store: For the message, such as `a Chroma collection`.

        Raises:
            UsageError: The map names another field.
        """
        known = tuple(fields)
        for name in self.columns:
            if name not in known:
                raise UsageError(
                    f"In {store} the field {name!r} is not taken from a column of your choice. "
                    f"These are: {', '.join(known)}."
                )
        return self

    @property
    def query(self) -> str:
        """Returns the map as the query of a URL, without the question mark; may be empty."""
        pairs = sorted(self.columns.items())
        return "&".join(f"map={name}:{quote(column, safe=_SAFE)}" for name, column in pairs)


@cache
def presets() -> Mapping[str, FieldMap]:
    """Returns maps by the name of the program whose layout they are."""
    import tomllib

    rows = tomllib.loads(Path(__file__).with_name("maps.toml").read_text("utf-8"))
    return {name: FieldMap(row) for name, row in rows.items()}


def read_pairs(pairs: Iterable[str], separator: str = "=") -> FieldMap:
    """Reads a map from `field=column` texts and names of presets; the first separator counts.

    A pair goes before a preset.

    Raises:
        UsageError: A text is neither, or names a field twice.
    """
    columns: dict[str, str] = {}
    preset = FieldMap()
    for pair in pairs:
        name, separated, column = pair.partition(separator)
        name = name.strip()
        if not separated and name in presets():
            preset = preset.over(presets()[name])
            continue
        if not separated:
            raise UsageError(
                f"The map entry {pair!r} is not FIELD{separator}COLUMN, such as "
                f"namespace{separator}project, and not the name of a preset "
                f"({', '.join(presets())})."
            )
        if name in columns:
            raise UsageError(f"The map names the field {name!r} twice.")
        columns[name] = column.strip()
    return FieldMap(columns).over(preset)


def read_file(path: Path) -> FieldMap:
    """Reads a map from a TOML or JSON file: an object of field to column, alone or under `map`.

    Raises:
        InputError: The file is not there or not valid, or a column is not a text.
        UsageError: As `FieldMap`.
    """
    try:
        if not path.exists():
            raise InputError(f"There is no map file {path}. Check the path.")
        text = read_bytes(path).decode("utf-8")
        import tomllib

        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (StoreError, ValueError, RecursionError) as problem:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise InputError(
            f"{path} cannot be read as {kind} ({problem}). Mend the file."
        ) from problem
    inner = data.get("map", data) if isinstance(data, dict) else data
    if not isinstance(inner, dict) or not all(isinstance(each, str) for each in inner.values()):
        raise InputError(
            f'{path} is no map: it must hold FIELD = "COLUMN" entries, alone or under [map].'
        )
    for name, column in inner.items():
        if odd := unreadable(name) or unreadable(column):
            raise InputError(f"{path}: {name!r} or its column holds {odd}. Mend the file.")
    return FieldMap(inner)


@dataclass(frozen=True, slots=True)
class MappedUrl:
    """Parts of what follows `scheme:///` in a URL.

    Attributes:
        path: The file or folder.
        part: What follows `#`: a collection or table; may be empty.
        map: From the query.
        hide: How hidden memories are hidden, from `hide=` of the query; empty where it says
            nothing, see `Hiding`.
        model: Name of the model that made the vectors; may be empty.
    """

    path: Path
    part: str = ""
    map: FieldMap = field(default_factory=FieldMap)
    hide: Hiding = ""
    model: str = ""

    def __str__(self) -> str:
        named = [("model", quote(self.model)), ("hide", self.hide)]
        parts = [self.map.query, *(f"{name}={value}" for name, value in named if value)]
        query = "?" + "&".join(filter(None, parts)) if any(parts) else ""
        return f"{self.path}{query}" + (f"#{self.part}" if self.part else "")


def read_hiding(value: str, *, way: Hiding = "move") -> Hiding:
    """Returns the way of hiding that `hide=` of a URL names.

    Args:
        value: What stands behind the equals sign.
        way: How this kind of store hides memories from its own program.

    Raises:
        UsageError: It is neither that nor `mark`.
    """
    if value not in {"mark", way}:
        raise UsageError(f"hide={value} is not known. Write hide={way} or hide=mark.")
    return _HIDINGS[value]


def read_path(location: str, *, way: Hiding = "move") -> MappedUrl:
    """Splits `PATH?hide=move`, for a store without maps and parts; any other `?` is of the path.

    Args:
        location: Part of the address behind `scheme:///`.
        way: As for `read_hiding`.

    Raises:
        UsageError: As `read_hiding`.
    """
    path, separator, value = location.rpartition("?hide=")
    if not separator or Path(location).exists():
        return MappedUrl(Path(location))
    return MappedUrl(Path(path), hide=read_hiding(value, way=way))


def read_location(location: str, *, takes: Iterable[str] = ("map",)) -> MappedUrl:
    """Splits `PATH?map=field:column&map=…#PART`; a `?` or `#` may belong to an existing path.

    Args:
        location: Part of the address behind `scheme:///`.
        takes: Parts the query may have: `map`, `hide`, `model`.

    Raises:
        UsageError: The query holds something else than maps, or as `FieldMap`.
    """
    if Path(location).exists():
        return MappedUrl(Path(location))
    rest, _, part = location.rpartition("#") if "#" in location else (location, "", "")
    path, _, query = rest.partition("?")
    pairs: list[str] = []
    hide: Hiding = ""
    model = ""
    known = tuple(takes)
    for entry in filter(None, query.split("&")):
        name, _, value = entry.partition("=")
        if name not in known:
            forms = " and ".join(_FORMS[each] for each in known)
            raise UsageError(
                f"The URL has no part {name!r}. Behind the question mark only {forms} is known."
            )
        if name == "map":
            pairs.append(unquote(value))
        elif name == "model":
            model = unquote(value)
        else:
            hide = read_hiding(value)
    return MappedUrl(Path(path), part, read_pairs(pairs, ":"), hide, model)
