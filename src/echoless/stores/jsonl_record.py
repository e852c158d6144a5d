"""Conversion of a line of a JSON Lines store to a memory, and back, and the order of moved lines.

A moved line knows its place among all lines. While no one else writes the file, the places give the
old order, and a digest of all lines shows that they do. After an edit moved lines come last.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord
from echoless.core.model import EMPTY, Json, JsonObject, Memory
from echoless.core.text import content_key
from echoless.stores.expiration import promised
from echoless.stores.hidden_records import HiddenRecord
from echoless.stores.json_splice import splice
from echoless.stores.scope import Head, owned

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (name,) for name in codec.FIELDS if name != "id"},
    "content": ("content", "text", "memory"),
    "namespace": ("namespace", "project", "entity"),
    "created_at": ("created_at", "createdAt", "created_timestamp", "timestamp", "ts"),
    "updated_at": ("updated_at", "updatedAt"),
    "vectors": ("vectors", "embedding"),
}
"""Keys a field is read from, the first present one wins; all others go to `extra`."""

_MODEL_KEY: Final = "embedding_model"


def parse(line: str, path: Path, number: int, *, others: bool = False) -> JsonObject:
    """Parses the JSON object on a line; a text alone is the content of one.

    Args:
        line: Raw text with its line end.
        path: For messages.
        number: Of the line on which it begins.
        others: Whether other values may stand there, which are read as an empty object.

    Raises:
        BadRecord: It is neither; the message names the line.
    """
    try:
        data = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            raise BadRecord(
                f"Line {number} of {path} holds more than one JSON value: the second begins at "
                f"column {problem.colno}. Put each on a line of its own; nothing was read or "
                "changed."
            ) from problem
        raise BadRecord(
            f"Line {number} of {path} is not valid JSON ({problem.msg} at column {problem.colno}). "
            "Mend or remove it; nothing was read or changed."
        ) from problem
    except (RecursionError, ValueError) as problem:
        raise BadRecord(
            f"Line {number} of {path} cannot be read ({problem}). Mend or remove it."
        ) from problem
    if isinstance(data, str):
        return {"content": data}
    if not isinstance(data, dict) and others:
        return {}
    if not isinstance(data, dict):
        raise BadRecord(
            f"Line {number} of {path} is not a JSON object. Each must be one memory, such as "
            '{"id": "m-1", "content": "…"}.'
        )
    return data


def holds_record(rows: Sequence[str]) -> bool:
    """Returns whether the first line with text is a record by itself, or there is none."""
    first = next((row for row in rows if row.strip()), None)
    return first is None or is_record(codec.json_value(first))


def given_id(data: JsonObject, path: Path, number: int) -> str | None:
    """Returns the record's own id, or None if it has none.

    Raises:
        BadRecord: The id is empty, or neither text nor whole number.
    """
    value = data.get("id")
    if value is None:
        return None
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadRecord(
        f"Line {number} of {path} has the unusable id {value!r}. An id is a text or a whole number."
    )


def derived_id(text: str) -> str:
    """Returns an id for a record without one, made from its text alone."""
    return "h-" + content_key(text)[:16]


def text_of(data: JsonObject) -> str | None:
    """Returns the text of a record, or None if it has none."""
    return next((v for k in KEYS["content"] if isinstance(v := data.get(k), str)), None)


def is_record(value: object) -> bool:
    """Returns whether a JSON value is an object with a text."""
    return isinstance(value, dict) and text_of(value) is not None


def memory(line: str, id_: str, path: Path, place: int, number: int = 0) -> Memory:
    """Reads the memory on a line.

    Args:
        line: Raw text with its line end.
        id_: Its id, given or derived.
        path: For messages.
        place: Index of the line, from 0.
        number: Of the line on which it begins, for messages; 0 where each line holds one.

    Raises:
        BadRecord: A field has the wrong form; the message names line, id and field.
    """
    number = number or place + 1
    data = parse(line, path, number)
    text = text_of(data)
    if text is None:  # in a file such entries are passed over
        raise BadRecord(f"Line {number} of {path} (id {id_!r}) has no text.")
    try:
        return from_object(data, id_, text, native={"line": line, "at": place})
    except BadRecord as problem:
        raise BadRecord(
            f"Line {number} of {path} (id {id_!r}): {problem}. Mend or remove it."
        ) from problem


def head(data: JsonObject, id_: str) -> Head | None:
    """Returns the fields of a record that a scope needs; None where one of them is damaged."""
    namespace, time = data.get(_key(data, "namespace")), data.get(_key(data, "created_at"))
    if isinstance(namespace, int | float) and not isinstance(namespace, bool):
        namespace = str(namespace)
    if not isinstance(namespace, str | None):
        return None
    try:
        return Head(id_, namespace or "", codec.read_time(time))
    except BadRecord:
        return None


def from_object(data: JsonObject, id_: str, text: str, *, native: JsonObject = EMPTY) -> Memory:
    """Makes the memory a JSON object describes, from any file.

    Args:
        data: The object.
        id_: Its id.
        text: Its text, see `text_of`.
        native: What the store keeps to put the record back.

    Raises:
        BadRecord: A field has the wrong form; the message names it.
    """
    used = _keys(tuple(data))
    vectors = data.get(used["vectors"])
    if used["vectors"] == "embedding" and vectors is not None:
        model = data.get(_MODEL_KEY)
        vectors = {model if isinstance(model, str) and model else "unnamed": vectors}
    consumed = {*used.values(), "id"} | ({_MODEL_KEY} if used["vectors"] == "embedding" else set())
    fields: dict[str, Json] = {
        name: data.get(key) for name, key in used.items() if name not in {"content", "vectors"}
    }
    namespace = fields["namespace"]
    if isinstance(namespace, int | float) and not isinstance(namespace, bool):
        fields["namespace"] = str(namespace)
    memory_ = codec.memory_from_json(
        {
            **fields,
            "id": id_,
            "content": text,
            "vectors": vectors,
            "extra": {k: v for k, v in data.items() if k not in consumed},
            "native": native,
        }
    )
    return owned(promised(memory_), whole=True)


@lru_cache(maxsize=256)
def _keys(present: tuple[str, ...]) -> Mapping[str, str]:
    """Returns the key of each field in a record with these keys: most records have the same."""
    return {name: _key(dict.fromkeys(present), name) for name in KEYS}


def _key(data: JsonObject, name: str) -> str:
    """Returns the key of a field in this record, or the usual one if the record lacks it."""
    return next((key for key in KEYS[name] if key in data), KEYS[name][0])


def written(new: Memory) -> str:
    """Returns a new line for a memory; fields at their defaults are left out."""
    blank = Memory(id=new.id, content="")
    made: dict[str, Json] = {"id": new.id, "content": new.content}
    for name in codec.FIELDS[2:]:
        value = _json_field(new, name)
        shadowed = any(key in new.extra for key in KEYS.get(name, ()))
        if shadowed or value != _json_field(blank, name):
            made[name] = value
    made.update(new.extra)
    return codec.json_text(made)


def _json_field(value: Memory, name: str) -> Json:
    """Returns a field as JSON, with vectors as readable numbers."""
    if name == "vectors":
        return {v.model: codec.bytes_to_floats(v.data) for v in value.vectors}
    return codec.field_to_json(value, name)


def changed(line: str, old: Memory, new: Memory) -> str:
    """Returns a line with only the fields changed in which two states of its memory differ."""
    data = json.loads(line)
    changes: dict[str, str | None] = {}
    for name in codec.FIELDS[1:]:
        if codec.field_to_json(old, name) == codec.field_to_json(new, name):
            continue
        if name == "vectors":
            changes |= dict.fromkeys((k for k in ("embedding", _MODEL_KEY) if k in data), None)
        key = name if name == "vectors" else _key(data, name)
        changes[key] = codec.json_text(_json_field(new, name))
    for key in [*old.extra, *(k for k in new.extra if k not in old.extra)]:
        if key not in new.extra:
            changes[key] = None
        elif key not in old.extra or old.extra[key] != new.extra[key]:
            changes[key] = codec.json_text(new.extra[key])
    return splice(line, changes)


def is_named(memory_: Memory) -> bool:
    """Returns whether a memory that was read from a line has an id of its own there."""
    data = json.loads(native_line(memory_) or '{"id": 0}')
    return isinstance(data, dict) and data.get("id") is not None


def native_line(memory_: Memory) -> str | None:
    """Returns the raw line a memory was read from, if it came from a JSON Lines file."""
    line = memory_.native.get("line", EMPTY)
    return line if isinstance(line, str) else None


# ------------------------------------------------------------------ lines moved out of the file


FACT: Final = "jsonl_lines_with_those_moved"
"""Fact of the ledger: digests of all lines before and after the last write, with a space between.
Hiding changes neither, so a writer that is stopped leaves places that can be trusted."""


def digest(lines: Iterable[str]) -> str:
    """Returns a digest of some lines, 64 hexadecimal digits."""
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


_Placed: TypeAlias = tuple[str, str]
"""A line and the id of its memory; the id is empty for a line of the file."""


def joined(
    present: Sequence[str], moved: Sequence[HiddenRecord], known: str
) -> tuple[list[_Placed], bool]:
    """Returns the lines of a file together with the moved lines, and whether these come last.

    Args:
        present: Lines of the file, each with its end.
        moved: In the order of their places.
        known: The fact `FACT`.
    """
    whole = [(line, "") for line in present]
    for each in moved:
        whole.insert(min(each.place, len(whole)), _line(each))
    if digest(line for line, _ in whole) in known.split():
        return whole, False
    whole = [*((line, "") for line in present), *map(_line, moved)]
    if not all(line.endswith("\n") for line in present[:-1]):  # elements of a JSON array
        return whole, True
    return [(line.removesuffix("\n") + "\n", id_) for line, id_ in whole], True


def shown(whole: Sequence[str], hidden: Collection[int]) -> list[str]:
    """Returns all lines but those at some places."""
    return [line for place, line in enumerate(whole) if place not in hidden]


def _line(record: HiddenRecord) -> _Placed:
    """Returns the raw line of a moved memory, and its id."""
    line = native_line(record.memory) or written(record.memory) + "\n"
    return line, record.memory.id
