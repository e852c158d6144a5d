"""A column's value as a field of a memory, and a field back into the form the column had.

Other programs write the same thing in several ways: tags as a list, as JSON or with commas; times
as text or as seconds; links under keys of their own. What is read keeps its form when it is
changed, and a value that has no place in that form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from echoless import codec
from echoless.errors import BadRecord
from echoless.model import Json, JsonObject, Link, Memory, Provenance

_TARGETS: Final = ("target", "target_id", "id")
_KINDS: Final = ("kind", "link_type", "type")
_TRUE: Final = (True, 1, "1", "true", "True")


def default(name: str) -> object:
    """What a memory has in a field that nothing is known about."""
    return getattr(Memory(id="-", content=""), name)


def is_true(value: Json) -> bool:
    """Whether a value means yes: true, 1, `1`, `true` or `True`."""
    return value in _TRUE


def read(name: str, value: Json) -> object:
    """A column's value as the field of that name; empty texts and None are the field's default.

    Raises:
        BadRecord: It cannot be read as that field.
    """
    if value is None or (value == "" and name != "content"):
        return default(name)
    return _READERS.get(name, codec.read_time)(value)


def write(name: str, new: object, like: Json, *, link: JsonObject | None = None) -> Json:
    """A field in the form a column had.

    Args:
        name: The field.
        new: Its value.
        like: What stands in the column; None where nothing does.
        link: A link as this column writes them, for a column that holds none yet.

    Returns:
        The column's value; None where the field is at its default and nothing stands there.

    Raises:
        BadRecord: That form cannot hold the value.
    """
    if new == default(name) and like is None:
        return None
    made = _written(name, new, like, link)
    if read(name, made) != new:
        raise BadRecord(f"{name!r} cannot be {new!r} in a column that holds {like!r}")
    return made


def _written(name: str, new: object, like: Json, link: JsonObject | None) -> Json:
    match name:
        case "tags":
            return _write_tags(cast("tuple[str, ...]", new), like)
        case "links":
            return _write_links(cast("tuple[Link, ...]", new), like, link)
        case "importance" | "access_count":
            return _write_number(cast("float | None", new), like)
        case "pinned":
            return _write_yes(bool(new), like)
        case "provenance":
            return cast("Provenance", new).value
        case "namespace" | "type" | "created_at" | "updated_at" | "last_accessed":
            return _write_word(cast("str | None", new), like)
        case _:
            return cast("str", new)


# ------------------------------------------------------------------ reading


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise BadRecord("a text is expected")
    return value


def _word(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise BadRecord("a text or a number is expected")


def _listed(value: Json) -> Json:
    """A JSON list written as text, as the list it is; anything else unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        found: Json = json.loads(value)
    except ValueError as problem:
        raise BadRecord(f"a list must be valid JSON ({problem})") from problem
    return found


def _number(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise BadRecord(f"a number is expected, not the text {value[:40]!r}") from None


def _whole(value: Json) -> Json:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _links(value: Json) -> tuple[Link, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadRecord("'links' must be a list")
    return tuple(_link(each) for each in value)


def _link(value: Json) -> Link:
    if isinstance(value, str):
        return Link(value)
    if not isinstance(value, Mapping):
        raise BadRecord("a link must be an id or an object")
    if isinstance(value.get("data"), Mapping):
        return codec.read_links([value])[0]
    target = next((k for k in _TARGETS if isinstance(value.get(k), str)), None)
    if target is None:
        raise BadRecord(f"a link must name its target under one of {', '.join(_TARGETS)}")
    kind = next((k for k in _KINDS if isinstance(value.get(k), str)), None)
    data = {k: v for k, v in value.items() if k not in {target, kind}}
    return Link(str(value[target]), str(value[kind]) if kind else "related", data)


_READERS: Final[Mapping[str, Callable[[Json], object]]] = {
    "content": _text,
    "namespace": _word,
    "type": _word,
    "tags": lambda value: codec.read_tags(_listed(value)),
    "importance": lambda value: codec.read_importance(_number(value)),
    "access_count": lambda value: codec.read_count(_whole(_number(value))),
    "provenance": codec.read_provenance,
    "links": lambda value: _links(_listed(value)),
    "pinned": is_true,
}
"""How each field is read; all others are times."""

# ------------------------------------------------------------------ writing


def _write_tags(tags: tuple[str, ...], like: Json) -> Json:
    if isinstance(like, Sequence) and not isinstance(like, str):
        return list(tags) or None
    plain = all("," not in tag and tag == tag.strip() and tag for tag in tags)
    as_json = isinstance(like, str) and like.lstrip().startswith("[")
    if as_json or not plain or (tags and tags[0].startswith("[")):
        return codec.json_text(list(tags))
    return (", " if isinstance(like, str) and ", " in like else ",").join(tags)


def _write_links(links: tuple[Link, ...], like: Json, usual: JsonObject | None) -> Json:
    told = _listed(like) if isinstance(like, str) and like else like
    example: Json = usual
    if isinstance(told, Sequence) and not isinstance(told, str) and told:
        example = told[0]
    made = [_link_like(link, example) for link in links]
    if isinstance(like, Sequence) and not isinstance(like, str):
        return made or None
    return codec.json_text(made)


def _link_like(link: Link, example: Json) -> Json:
    bare = link.kind == "related" and not link.data
    if isinstance(example, str) and bare:
        return link.target
    if not isinstance(example, Mapping):
        return {"target": link.target, "kind": link.kind, "data": dict(link.data)}
    target = next((k for k in _TARGETS if k in example), _TARGETS[0])
    if isinstance(example.get("data"), Mapping):
        return {"target": link.target, "kind": link.kind, "data": dict(link.data)}
    kind = next((k for k in _KINDS if k in example), _KINDS[0])
    return {target: link.target, kind: link.kind, **link.data}


def _write_number(new: float | None, like: Json) -> Json:
    if new is None:
        return "" if isinstance(like, str) else None
    return str(new) if isinstance(like, str) else new


def _write_yes(new: bool, like: Json) -> Json:
    if isinstance(like, bool) or like is None:
        return new
    if isinstance(like, str):
        return ("1" if new else "0") if like in {"0", "1"} else ("true" if new else "false")
    return int(new)


def _write_word(new: str | None, like: Json) -> Json:
    if new is None:
        return "" if isinstance(like, str) else None
    if isinstance(like, bool | str) or like is None:
        return {"true": True, "false": False}.get(new, new) if isinstance(like, bool) else new
    return _number(new)


def as_object(value: Json) -> JsonObject:
    """A JSON object written as text; an empty one where there is none or it is something else."""
    if not isinstance(value, str):
        return {}
    try:
        found = json.loads(value)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
