"""JSON Schemas of all answers: what commands print with `--json`, and what MCP tools give.

Each is a file of `core/answers`. Parts that several answers have stand in `shared.json`; a schema
that is given out holds those it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from echoless.core.model import Json
from echoless.core.shipped import shipped_json
from echoless.core.text import lazy_pattern

_FOLDER: Final = "core/answers"
_REFERENCE: Final = lazy_pattern(r'"#/\$defs/(\w+)"')


def answer_names() -> list[str]:
    """Returns the names of all schemas: of commands, then of tools."""
    files = resources.files("echoless").joinpath(_FOLDER).iterdir()
    names = {each.name.removesuffix(".json") for each in files} - {"shared"}
    return sorted(names, key=lambda name: (name.startswith("memory_"), name))


@cache
def answer_schema(name: str) -> dict[str, Any]:
    """Returns the schema of an answer, whole.

    Args:
        name: Of the command, with `-` between its words, or of the tool.
    """
    shared = shipped_json(f"{_FOLDER}/shared.json")
    schema = shipped_json(f"{_FOLDER}/{name}.json")
    if "$ref" in schema:
        schema = {**shared[_part(schema)], "description": schema["description"]}
    named: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for part in _REFERENCE.findall(json.dumps(waiting.pop())):
            if part not in named:
                named[part] = shared[part]
                waiting.append(shared[part])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        **schema,
        **({"$defs": dict(sorted(named.items()))} if named else {}),
    }


def required_keys(name: str) -> list[str]:
    """Returns the keys that every answer of a name has, in the order of its schema."""
    schema = answer_schema(name)
    forms = [_form(schema, each) for each in schema.get("anyOf", [schema])]
    first, *others = (form["required"] for form in forms)
    return [key for key in first if all(key in other for other in others)]


def _form(schema: Mapping[str, Any], form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a part of a schema, looked up where it is a reference."""
    return schema["$defs"][_part(form)] if "$ref" in form else form


def named_parts(name: str, answer: Mapping[str, Json]) -> dict[str, Json]:
    """Returns an answer without the keys that its schema does not name.

    Args:
        name: Of the schema.
        answer: Of the library, which may tell more.
    """
    schema = answer_schema(name)

    def named(value: Json, form: Mapping[str, Any]) -> Json:
        form = _form(schema, form)
        if isinstance(value, Mapping) and form.get("additionalProperties") is False:
            known = form["properties"]
            return {key: named(each, known[key]) for key, each in value.items() if key in known}
        if isinstance(value, list | tuple) and "items" in form:
            return [named(each, form["items"]) for each in value]
        return value

    shown = named(answer, schema)
    assert isinstance(shown, dict), "each answer is an object whose keys are known"
    return shown


def _part(form: Mapping[str, Any]) -> str:
    """Returns the name of the shared part to which a schema refers."""
    return str(form["$ref"].rpartition("/")[2])
