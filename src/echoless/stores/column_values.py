"""Conversion of a column's value to a field of a memory, and back to the form the column had.

Other programs write the same thing in several ways: tags as a list, as JSON or with commas; times
as text or as seconds; links under keys of their own. What is read keeps its form when it is
changed, and a value that has no place in that form is refused.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from echoless.core import json_codec as codec
from echoless.core.destination import command_line
from echoless.core.errors import BadRecord, EcholessError, StoreError
from echoless.core.groups import grouped
from echoless.core.model import Json, JsonObject, Link, Memory, Provenance
from echoless.core.sqlite import Cell, Database, is_sqlite, looking
from echoless.core.text import lazy_pattern, words
from echoless.stores.expiration import blank, puts_away
from echoless.stores.scope import is_owner

_TARGETS: Final = ("target", "target_id", "id")
_KINDS: Final = ("kind", "link_type", "type")
_TRUE: Final = (True, 1, "1", "true", "True")
BYTES: Final = "$bytes"
"""Key of a cell of bytes in JSON."""

ARROW: Final = "->"
"""Leads from a column of JSON to a key inside of it, or to a place of a list from 0."""

MANY: Final = ","
"""Stands between several places of one field."""

LOOKED_AT: Final = 100
"""Rows of a table that are looked at to find its texts."""

_LONGEST: Final = 100_000
"""Characters of a cell that is looked at."""

_DEEPEST: Final = 5
"""Keys that lead to a text in JSON, at most."""

_LABEL: Final = 4
_REPEATS: Final = 4
"""Words from which a value may be a text that stands in this many rows."""

_NO_TEXT_NAME: Final = lazy_pattern(
    r"(?:^|_|(?<=[a-z])(?=[A-Z]))(?:[Aa]t|[Oo]n|[Tt]ime|[Dd]ate|[Dd]ate[Tt]ime|[Tt]imestamp|[Ss]tamp"
    r"|[Tt]s|[Dd]ay|[Ww]hen|[Ii]d|ID|[Uu]u?id|[Gg]uid|[Hh]ash|[Dd]igest|[Pp]ath|[Uu]r[li])$"
)
"""Names of places that hold a time, an id or an address, whatever its form."""

_NO_WORD: Final = lazy_pattern(
    r"[\d/\\@]|^\W*$|^(?:am|pm|utc|gmt|[ecmp][sd]t|cet|cest"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$",
    re.IGNORECASE,
)
"""Parts of times, numbers, ids and paths."""

_PATH: Final = lazy_pattern(r"[/\\]|^(?:~|[A-Za-z]:|[a-z][a-z0-9+.-]*://)")

OWNER: Final = "an owner"
CREATED: Final = "the time of creation"
AWAY: Final = "a mark of deletion"
"""What a column looks like by its name."""

_CREATED: Final = lazy_pattern(
    r"(?P<made>(?:created?|creation|inserted|added|learne?d|noted|saved|written|recorded)"
    r"(?:at|on|date|time|ts)?)|(?:time)?stamp|ts|time|date|datetime|when"
)
"""Names of columns of the time of creation; the plain ones behind the sentence are less sure."""


def default(name: str) -> object:
    """Returns what a memory has in a field that nothing is known about."""
    return getattr(blank(), name)


def is_true(value: Json) -> bool:
    """Returns whether a value means yes: true, 1, `1`, `true` or `True`."""
    return value in _TRUE


def read(name: str, value: Json) -> object:
    """Reads a column's value as the field of that name.

    Empty texts and None are the field's default.

    Raises:
        BadRecord: The value does not fit the field.
    """
    if value is None or (value == "" and name != "content"):
        return default(name)
    match name:
        case "content" | "namespace" | "type":
            return _text(value, numbers=name != "content")
        case "tags":
            return codec.read_tags(_listed(value))
        case "importance":
            return codec.read_importance(_number(value))
        case "access_count":
            count = _number(value)
            return codec.read_count(
                int(count) if isinstance(count, float) and count.is_integer() else count
            )
        case "provenance":
            return codec.read_provenance(value)
        case "links":
            return _links(_listed(value))
        case "pinned":
            return is_true(value)
        case _:
            return codec.read_time(value)


def write(name: str, new: object, like: Json, *, link: JsonObject | None = None) -> Json:
    """Writes a field in the form a column had.

    Args:
        name: The field.
        new: Its value.
        like: The column's present value; None where it has none.
        link: A link as this column writes them, for a column that holds none yet.

    Returns:
        The column's value; None where the field is at its default and the column has no value.

    Raises:
        BadRecord: That form cannot hold the value.
    """
    if new == default(name) and like is None:
        return None
    if isinstance(new, tuple):
        made = _tags_like(new, like) if name == "tags" else _links_like(new, like, link)
    else:
        made = _scalar_like(name, new, like)
    if read(name, made) != new:
        raise BadRecord(f"{name!r} cannot be {new!r} in a column that holds {like!r}")
    return made


def as_json(memory: Memory, name: str) -> Json:
    """Returns a field of a memory as JSON."""
    if name == "links":
        return [[link.target, link.kind, link.data] for link in memory.links]
    value: Json = getattr(memory, name)
    return value


def change(
    record: dict[str, Json], key: str, name: str, memory: Memory, *, link: JsonObject | None = None
) -> None:
    """Writes a field of a memory under its key of a record, in the form the key has.

    Raises:
        StoreError: What stands under the key cannot be read, or has no place for the value.
    """
    try:
        if key in record:
            read(name, record[key])  # what cannot be read is not overwritten
        made = write(name, getattr(memory, name), record.get(key), link=link)
    except BadRecord as problem:
        raise StoreError(
            f"The field {name!r} of {memory.id!r} cannot be changed in its key {key!r} "
            f"({problem}). Mend the record in its own program, and try again."
        ) from problem
    set_or_remove(record, key, made)


def set_or_remove(record: dict[str, Json], key: str, value: Json) -> None:
    """Sets a key of a record, or removes it for None."""
    if value is None:
        record.pop(key, None)
    else:
        record[key] = value


# ------------------------------------------------------------------ reading


def _text(value: Json, *, numbers: bool) -> str:
    """Returns a text, or the digits of a number where numbers are allowed."""
    if isinstance(value, str):
        return value
    if not numbers:
        raise BadRecord("a text is expected")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise BadRecord("a text or a number is expected")


def _listed(value: Json) -> Json:
    """Parses a JSON list written as text; returns anything else unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        items: Json = json.loads(value)
    except ValueError as problem:
        raise BadRecord(f"a list must be valid JSON ({problem})") from problem
    return items


def _number(value: Json) -> Json:
    """Parses a number written as text; returns anything else unchanged."""
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        return int(value)
    try:
        return float(value)
    except ValueError:
        raise BadRecord(f"a number is expected, not the text {value[:40]!r}") from None


def _links(value: Json) -> tuple[Link, ...]:
    """Reads links from a list of ids and of objects, whatever those call target and kind."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadRecord("'links' must be a list")
    links: list[Link] = []
    for each in value:
        if isinstance(each, str):
            links.append(Link(each))
            continue
        if not isinstance(each, Mapping):
            raise BadRecord("a link must be an id or an object")
        if isinstance(each.get("data"), Mapping):
            links += codec.read_links([each])
            continue
        target = next((k for k in _TARGETS if isinstance(each.get(k), str)), None)
        if target is None:
            raise BadRecord(f"a link must name its target under one of {', '.join(_TARGETS)}")
        kind = next((k for k in _KINDS if isinstance(each.get(k), str)), None)
        data = {k: v for k, v in each.items() if k not in {target, kind}}
        links.append(Link(str(each[target]), str(each[kind]) if kind else "related", data))
    return tuple(links)


# ------------------------------------------------------------------ writing


def _scalar_like(name: str, new: object, like: Json) -> Json:
    """Returns a single value in the form of the present one."""
    match new:
        case None:
            return "" if isinstance(like, str) else None
        case int() if name == "pinned":
            if isinstance(like, str):
                words = ("0", "1") if like in {"0", "1"} else ("false", "true")
                return words[bool(new)]
            return bool(new) if isinstance(like, bool) or like is None else int(new)
        case int() | float():
            return str(new) if isinstance(like, str) else new
        case Provenance():
            return new.value
        case str() if name == "content" or isinstance(like, str) or like is None:
            return new
        case str() if isinstance(like, bool):
            return {"true": True, "false": False}.get(new, new)
        case _:
            return _number(str(new))


def _tags_like(tags: Sequence[str], like: Json) -> Json:
    """Returns tags as a list, as JSON or joined by commas, as the present value is."""
    if isinstance(like, Sequence) and not isinstance(like, str):
        return list(tags) or None
    plain = all("," not in tag and tag == tag.strip() and tag for tag in tags)
    as_json = isinstance(like, str) and like.lstrip().startswith("[")
    if as_json or not plain or (tags and tags[0].startswith("[")):
        return codec.json_text(list(tags))
    return (", " if isinstance(like, str) and ", " in like else ",").join(tags)


def _links_like(links: Sequence[Link], like: Json, usual: JsonObject | None) -> Json:
    """Returns links as a list or as JSON, each in the form of the first present one."""
    present = _listed(like) if isinstance(like, str) and like else like
    example: Json = usual
    if isinstance(present, Sequence) and not isinstance(present, str) and present:
        example = present[0]
    made: list[Json] = []
    for link in links:
        if isinstance(example, str) and link.kind == "related" and not link.data:
            made.append(link.target)
        elif isinstance(example, Mapping) and not isinstance(example.get("data"), Mapping):
            target = next((k for k in _TARGETS if k in example), _TARGETS[0])
            kind = next((k for k in _KINDS if k in example), _KINDS[0])
            made.append({target: link.target, kind: link.kind, **link.data})
        else:
            made.append({"target": link.target, "kind": link.kind, "data": dict(link.data)})
    if isinstance(like, Sequence) and not isinstance(like, str):
        return made or None
    return codec.json_text(made)


# ------------------------------------------------------------------ cells of SQL


def cell_to_json(cell: Cell) -> Json:
    """Returns a cell as JSON; `cell_from_json` gives it back."""
    if isinstance(cell, bytes):
        return {BYTES: base64.b64encode(cell).decode("ascii")}
    return cell


def cell_from_json(value: Json) -> Cell:
    """Returns the cell `cell_to_json` was given.

    Raises:
        BadRecord: It is none.
    """
    if isinstance(value, Mapping):
        data = value.get(BYTES)
        if isinstance(data, str):
            return base64.b64decode(data)
    elif not isinstance(value, Sequence) or isinstance(value, str):
        return value
    raise BadRecord(f"{str(value)[:40]!r} is no cell of a row")


def lenient(database: Database) -> Database:
    """Makes a database return texts that are no UTF-8 with lone surrogates, instead of failing."""
    database.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return database


def is_database_with(path: Path, holds: Callable[[sqlite3.Connection], bool]) -> bool:
    """Returns whether a path is an SQLite file that holds what a kind of store looks for.

    Args:
        path: Of the file; one that cannot be read holds nothing.
        holds: Looks at its tables.
    """
    if not path.is_file() or not is_sqlite(path):
        return False
    try:
        with looking(path) as connection:
            return holds(connection)
    except EcholessError:
        return False


def quoted(name: str) -> str:
    """Returns a name, or a word to search for, in the form SQLite takes whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def columns_by_table(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Returns the columns of each table of an SQLite database that is no virtual one."""
    rows = connection.execute(
        "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.sql NOT LIKE 'create virtual%' ORDER BY t.rowid, c.cid"
    )
    return grouped(rows)


def texts_in(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Returns tables of an SQLite database with the places of their texts, longest texts first.

    The first rows decide, see `text_places`.
    """
    tables = []
    for table, keys in columns_by_table(connection).items():
        cells = ", ".join(
            f"CASE WHEN length({c}) <= {_LONGEST} THEN {c} END" for c in map(quoted, keys)
        )
        rows = connection.execute(f"SELECT {cells} FROM {quoted(table)} LIMIT {LOOKED_AT}")
        length, places = text_places(dict(zip(keys, row, strict=True)) for row in rows)
        if places:
            tables.append((-length, table, places))
    return [(table, places) for _, table, places in sorted(tables)]


def text_places(rows: Iterable[Mapping[str, Cell]]) -> tuple[float, str]:
    """Returns the mean length of the texts in rows, and their places as `map=content:` names them.

    A column of texts goes before a text inside a column of JSON. Times, numbers, ids, paths and
    words that repeat are no texts, neither by their form nor by the name of their place.

    Args:
        rows: Cells by column.

    Returns:
        No places where there is no text.
    """
    cells = (cell for row in rows for cell in row.items())
    held = grouped(found for cell in cells for found in strings_in(*cell))
    lengths = {
        place: sum(map(len, texts)) / len(texts)
        for place, values in held.items()
        if not _NO_TEXT_NAME.search(place.rpartition(ARROW)[2])
        and 2 * len(texts := [*filter(reads_as_text, values)]) > len(values)
        and not _are_labels(values)
    }
    ranked = sorted(lengths, key=lambda place: (ARROW in place, -lengths[place], place))
    if not ranked:
        return 0, ""
    best = ranked[0]  # one key may hold a text, or a list of parts with a text each
    also = [each for each in ranked if f"{each}{ARROW}".startswith(f"{best}{ARROW}")]
    also += [each for each in ranked if best.startswith(f"{each}{ARROW}")]
    return lengths[best], MANY.join(also)


def strings_in(place: str, cell: Cell) -> Iterator[tuple[str, str]]:
    """Yields the texts of a cell with their places: the cell itself, or what its JSON holds.

    Of a list only the first item is looked at.
    """
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    whole: Json = text
    if isinstance(text, str) and text.lstrip()[:1] in {"{", "["}:
        with suppress(ValueError, RecursionError):
            whole = json.loads(text)
    waiting = [] if whole is text and isinstance(cell, bytes) else [(place, whole)]
    for at, value in waiting:
        if isinstance(value, str):
            yield at, value
        elif at.count(ARROW) < _DEEPEST and isinstance(value, Mapping):
            waiting += [(f"{at}{ARROW}{key}", each) for key, each in value.items()]
        elif at.count(ARROW) < _DEEPEST and isinstance(value, list) and value:
            waiting.append((f"{at}{ARROW}0", value[0]))


def reads_as_text(value: str) -> bool:
    """Returns whether a value says something: it has two words beside times, ids and paths."""
    parts = value.split()
    if not parts or (value.lstrip()[:1] in {"{", "["} and value.rstrip()[-1:] in {"}", "]"}):
        return False
    if _PATH.match(parts[0]) and _PATH.search(parts[-1]):
        return False
    said = [part for part in parts if not _NO_WORD.search(part.strip(",.;:()"))]
    return len(said) > 1 or any(not part.isascii() and len(words(part)) > 1 for part in said)


def _are_labels(values: Sequence[str]) -> bool:
    """Returns whether a few short values repeat in all rows, such as `in progress`."""
    short = all(len(words(value)) < _LABEL for value in values)
    return short and len(values) >= _REPEATS * len(set(values))


def options_for(columns: Sequence[str]) -> dict[str, str]:
    """Returns options of an address for a table of no known program, by what a column looks like.

    Args:
        columns: Those that hold no text, in the order of their table.
    """
    owners = [quote(name) for name in columns if name == "namespace" or is_owner(name)]
    away = [quote(name) for name in columns if puts_away(name)]
    times = [
        (not match["made"], quote(name))
        for name in columns
        if (match := _CREATED.fullmatch(name.replace("_", "").lower()))
    ]
    options = {
        OWNER: owners and f"map=namespace:{','.join(owners)}",
        CREATED: times and f"map=created_at:{min(times)[1]}",
        AWAY: away and f"hide={away[0]}",
    }
    usual = {"map=namespace:namespace", "map=created_at:created_at"}
    return {what: option for what, option in options.items() if option and option not in usual}


def foreign(path: Path, connection: sqlite3.Connection) -> list[str]:
    """Returns for each table with texts a sentence with the command that reads it, longest first.

    Args:
        path: The database.
        connection: To it; where it has no texts, the sentence is a form to fill in.
    """
    sentences, columns = [], columns_by_table(connection)
    for table, places in texts_in(connection) or [("TABLE", "COLUMN")]:
        column = places.partition(MANY)[0].partition(ARROW)[0]
        options = options_for([name for name in columns.get(table, ()) if name != column])
        wanted = "&".join((f"map=content:{quote(places, safe='->,')}", *options.values()))
        line = command_line("audit", f"sql:///{path}?{wanted}#{quote(table)}")
        looks = (f"{each} ({what})" for what, each in options.items())
        guess = f" Guessed by name: {', '.join(looks)}." if options else ""
        sentences.append(f"To read its table {table}: {line}.{guess}")
    return sentences
