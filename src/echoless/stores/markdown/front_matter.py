"""Front matter of a Markdown file: YAML is read with ruamel.yaml, changed by range of characters.

Where it is no YAML for a colon or sign in a value (`description: use x: y`), the value is read as
Claude Code reads it: all behind the first colon is its text. TOML and JSON are never changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreError
from echoless.core.model import IN_FORCE, Json, JsonObject, Promise
from echoless.stores.markdown.document import front_blocks, front_lines, split_lines

if TYPE_CHECKING:
    import ruamel.yaml as ruamel_yaml

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = re.compile(r"[^\W\d_][\w ./()-]*", re.UNICODE)
_LONGEST: Final = 16_384
"""Characters of front matter that are read."""
_MOST_BRACKETS: Final = 256
"""Opening brackets of front matter; the parser's work grows with the square of their number."""
_MOST_VALUES: Final = 5_000
"""Largest number of values in front matter, repetitions by aliases included."""
_DEEPEST: Final = 32
_LONGEST_NUMBER: Final = 64
"""Characters of a number; a longer one stays the text it is written as."""
_NO_VALUE: Final = tuple("*@`%")
"""Signs with which no text begins in YAML, and those of others may."""
_NOT_PLAIN: Final = tuple("\"'[{|>#&!")
"""Signs after which YAML allows a colon."""
_WORDS: Final = frozenset(
    {"true", "false", "null", "yes", "no", "on", "off", "nan", "inf", "y", "n"}
)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter of a file.

    Attributes:
        values: Its fields, in their order.
        ranges: Start and end of the value of each field in the text; `metadata.type` for a field
            of an object one level down.
        problem: Why it cannot be read, as half a sentence; then there are no fields.
        form: Language of its first block.
    """

    values: JsonObject
    ranges: Mapping[str, tuple[int, int]]
    problem: str = ""
    form: str = "YAML"


_RETIRED: Final = re.compile(
    "archived|superseded|deprecated|done|completed|cancell?ed|obsolete|outdated|rejected|retired|"
    "expired|replaced|inactive"
)
"""States in which a note is not in force, and fields that say so by `true`."""
_NO: Final = frozenset({"false", "no", "off", "none"})
_ENDS: Final = ("expires", "expires_at", "expiration_date", "expiry", "valid_until")
_SAYS: Final = re.compile(f"{_RETIRED.pattern}|expir|valid|replaced", re.IGNORECASE)
EMPTY: Final = FrontMatter({}, {})


def of_lines(lines: Sequence[str]) -> FrontMatter:
    """Reads all blocks of metadata at the top of a file; of a field the first block that has it.

    Returns:
        The fields, with the ranges of those of the first block.
    """
    (_, end), *others = front_blocks(lines) if lines else [(0, 0)]
    if not end:
        return EMPTY
    fence = lines[0].removeprefix("\ufeff")[:3]
    first = _OTHERS[fence[0]](lines[:end]) if fence[0] in _OTHERS else None
    first = first or read("".join(lines[1 : end - 1]))
    later = [read("".join(lines[start + 1 : stop - 1])).values for start, stop in others]
    values = {key: each[key] for each in (*reversed(later), first.values) for key in each}
    return replace(first, values=values)


def promise_in(lines: Sequence[str]) -> Promise:
    """Returns what `promise_of` reads from the lines of a file; fields that say nothing are not."""
    front = "".join(lines[: front_lines(lines)])
    return promise_of(of_lines(lines).values) if _SAYS.search(front) else IN_FORCE


def promise_of(values: JsonObject) -> Promise:
    """Returns how long a note is in force by its fields, and why it is not any more."""
    nested = values.get("metadata")
    fields = {**(nested if isinstance(nested, Mapping) else {}), **values}
    said = {key.lower().replace("-", "_"): str(each) for key, each in fields.items() if each}
    status = said.get("status", "").strip().lower()
    marks = (key for key in said if _RETIRED.fullmatch(key) and said[key].lower() not in _NO)
    by_another = "superseded" if said.keys() & {"superseded_by", "replaced_by"} else ""
    why = status if _RETIRED.fullmatch(status) else next(marks, by_another)
    return Promise(until=next((said[key] for key in _ENDS if key in said), None), retired=why)


def _of_toml(lines: Sequence[str]) -> FrontMatter:
    return _parsed("".join(lines[1:-1]), tomllib.loads, "TOML")


def _of_json(lines: Sequence[str]) -> FrontMatter:
    text = "".join(lines).removeprefix("\ufeff").strip().removeprefix(";;;").removesuffix(";;;")
    return _parsed(text if text.lstrip().startswith("{") else f"{{{text}}}", json.loads, "JSON")


def _parsed(text: str, loads: Callable[[str], object], form: str) -> FrontMatter:
    try:
        values = _json(loads(text))
    except (ValueError, RecursionError) as problem:
        return FrontMatter({}, {}, f"it is not valid {form}: {problem}", form)
    return FrontMatter(values if isinstance(values, dict) else {}, {}, "", form)


_OTHERS: Final = {"+": _of_toml, ";": _of_json, "{": _of_json}


def _json(value: object) -> Json:
    """Returns a value of TOML or JSON with times and numbers that are none as they are written."""
    if isinstance(value, dict):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, bool | int | str | None):
        return value
    return value if isinstance(value, float) and value - value == 0 else str(value)


def read(text: str) -> FrontMatter:
    """Reads the lines between the fences.

    Returns:
        The fields; none, with a problem, where it is no YAML object, or larger than any that a
        person or program writes: it may be made to take time and memory.
    """
    if not text.strip():
        return EMPTY
    if len(text) > _LONGEST:
        return FrontMatter({}, {}, f"it is longer than {_LONGEST:,} characters")
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return FrontMatter({}, {}, f"it has more than {_MOST_BRACKETS} opening brackets")
    from ruamel import yaml as ruamel_yaml

    try:
        yaml = ruamel_yaml.YAML(typ="safe", pure=True)
        yaml.composer.warn_double_anchors = False
        node, plain = _composed(yaml, text)
        if node is None:
            return EMPTY
        if not isinstance(node, ruamel_yaml.MappingNode):
            return FrontMatter({}, {}, "it is no list of fields with values")
        fields = _Fields()
        values = dict(fields.object_of(node, ""))
        for key in plain:
            lines = text[slice(*fields.ranges[key])].splitlines()
            values[key] = " ".join(map(str.strip, lines))
        return FrontMatter(values, fields.ranges)
    except (ruamel_yaml.error.YAMLError, ValueError, TypeError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = "" if mark is None else f" on line {mark.line + 2}"
        what = getattr(problem, "problem", None) or str(problem) or "it is not valid YAML"
        return FrontMatter({}, {}, f"{what}{where}".replace("\n", " "))


def _composed(yaml: ruamel_yaml.YAML, text: str) -> tuple[ruamel_yaml.Node | None, set[str]]:
    """Returns the node of a text, and the fields that are no YAML: they have other values in it.

    Raises:
        YAMLError: It is no YAML, and would be none without them.
    """
    from ruamel import yaml as ruamel_yaml

    try:
        return yaml.compose(text), set()
    except ruamel_yaml.error.YAMLError:
        plain, lines = set[str](), split_lines(text)
        for at, line in enumerate(lines):
            key, colon, value = line.partition(": ")
            said = value.strip()
            no_yaml = said.startswith(_NO_VALUE) or (
                ": " in f"{said} " and not said.startswith(_NOT_PLAIN)
            )
            if colon and no_yaml and key.replace("-", "_").isidentifier():
                plain.add(key)
                lines[at] = key + colon + value.replace(said, "x" * len(said))
        if not plain:
            raise
        return yaml.compose("".join(lines)), plain


class _Fields:
    """Reads the values of nodes, no more and no deeper than the bounds allow."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[int, int]] = {}
        self._left = _MOST_VALUES

    def object_of(self, node: ruamel_yaml.MappingNode, above: str, depth: int = 0) -> JsonObject:
        """Returns the fields of a node, and keeps their places on the two upper levels."""
        values: dict[str, Json] = {}
        from ruamel import yaml as ruamel_yaml

        for key, value in node.value:
            if not isinstance(key, ruamel_yaml.ScalarNode):
                raise TypeError("a name of a field is no text")
            name = str(key.value)
            values[name] = self._value(value, f"{above}{name}." if not above else "-", depth + 1)
            if above != "-":
                self.ranges[above + name] = (value.start_mark.index, value.end_mark.index)
        return values

    def _value(self, node: ruamel_yaml.Node, above: str, depth: int) -> Json:

        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {_MOST_VALUES:,} values, aliases counted")
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} deep")
        from ruamel import yaml as ruamel_yaml

        if isinstance(node, ruamel_yaml.MappingNode):
            return self.object_of(node, above, depth)
        if isinstance(node, ruamel_yaml.SequenceNode):
            return [self._value(each, "-", depth + 1) for each in node.value]
        return _scalar(str(node.tag).removeprefix(_TAG), str(node.value))


def _scalar(tag: str, written: str) -> Json:
    """Returns a single value; a date stays the text it is written as."""
    match tag if len(written) <= _LONGEST_NUMBER else "":
        case "null":
            return None
        case "bool":
            return written.lower() == "true"
        case "int":
            return int(written.replace("_", ""), 0)
        case "float":
            number = float(written.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
            return number if number - number == 0 else written
        case _:
            return written


def changed(lines: Sequence[str], old: FrontMatter, new: Mapping[str, Json]) -> list[str]:
    """Returns the lines between the fences with some fields set; all others keep their bytes.

    Args:
        lines: Present lines, each with its line end.
        old: Fields of the present lines.
        new: Value by field; `metadata.type` for a field one level down that is there.

    Raises:
        StoreError: The front matter cannot be read.
    """
    if old.problem or old.form != "YAML":
        why = old.problem or f"it is {old.form}"
        raise StoreError(f"Its front matter cannot be changed: {why}.")
    text = "".join(lines)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    ranges = {key: old.ranges[key] for key in new if key in old.ranges}
    for key in sorted(ranges, key=lambda each: ranges[each], reverse=True):
        text = _replaced(text, *ranges[key], written(new[key]), end)
    return [text] + [
        f"{written(key)}: {written(value)}{end}" for key, value in new.items() if key not in ranges
    ]


def _replaced(text: str, start: int, stop: int, value: str, end: str) -> str:
    """Returns a text with another value in a range; one of several lines becomes one line."""
    before, after = text[:start], text[stop:]
    if text[start:stop] and "\n" not in text[start:stop]:
        return before + value + after
    if after and not after.startswith(("\n", "\r")):
        value += end
    return before.rstrip(" \t\r\n") + " " + value + after


def written(value: Json) -> str:
    """Returns a value as YAML on one line: plain if this is safe, else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value if value == value.strip() else json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
