"""Front matter of a Markdown file: read with ruamel.yaml, changed by range of characters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreError
from echoless.core.model import Json, JsonObject
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import ruamel.yaml as ruamel_yaml
else:
    ruamel_yaml = lazy_module("ruamel.yaml")

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = re.compile(r"[^\W\d_][\w ./()-]*", re.UNICODE)
_LONGEST: Final = 16_384
"""Characters of front matter that are read."""
_MOST_BRACKETS: Final = 256
"""Opening brackets of front matter; the parser's work grows with the square of their number."""
_MOST_VALUES: Final = 5_000
"""Values of front matter, each as often as aliases repeat it."""
_DEEPEST: Final = 32
_LONGEST_NUMBER: Final = 64
"""Characters of a number; a longer one stays the text it is written as."""
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
    """

    values: JsonObject
    ranges: Mapping[str, tuple[int, int]]
    problem: str = ""


EMPTY: Final = FrontMatter({}, {})


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
    try:
        yaml = ruamel_yaml.YAML(typ="safe", pure=True)
        yaml.composer.warn_double_anchors = False
        node = yaml.compose(text)
        if node is None:
            return EMPTY
        if not isinstance(node, ruamel_yaml.MappingNode):
            return FrontMatter({}, {}, "it is no list of fields with values")
        fields = _Fields()
        return FrontMatter(fields.object_of(node, ""), fields.ranges)
    except (ruamel_yaml.error.YAMLError, ValueError, TypeError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = "" if mark is None else f" on line {mark.line + 2}"
        what = getattr(problem, "problem", None) or str(problem) or "it is not valid YAML"
        return FrontMatter({}, {}, f"{what}{where}".replace("\n", " "))


class _Fields:
    """Reads the values of nodes, no more and no deeper than the bounds allow."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[int, int]] = {}
        self._left = _MOST_VALUES

    def object_of(self, node: ruamel_yaml.MappingNode, above: str, depth: int = 0) -> JsonObject:
        """Returns the fields of a node, and keeps their places on the two upper levels."""
        values: dict[str, Json] = {}
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
        lines: As they are, each with its end.
        old: What they say.
        new: Value by field; `metadata.type` for a field one level down that is there.

    Raises:
        StoreError: The front matter cannot be read.
    """
    if old.problem:
        raise StoreError(f"Its front matter cannot be changed: {old.problem}.")
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
    """Returns a value as YAML on one line: plain where that is safe, else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value if value == value.strip() else json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
