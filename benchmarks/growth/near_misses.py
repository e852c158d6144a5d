"""Makes texts that regular expressions nearly match, out of the expressions themselves.

An expression takes long where it begins to match at many places of a text, reads far at each and
fails, or where it can read the same in many ways. So a text repeats what an expression has read up
to one of its parts, or holds that once and the part many times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from echoless.core.text import lazy_pattern

Source: TypeAlias = tuple[str, int]
"""An expression as it is written, and its flags."""
_Tree: TypeAlias = Sequence[tuple[Any, Any]]
"""Part by part: what it is, and what it holds."""

_LAZY: Final[Any] = type(lazy_pattern(""))
_PARSER: Final[Any] = import_module("re._parser")  # what `re.compile` reads a source with
_COMPILER: Final[Any] = import_module("re._compiler")
_SPELLED: Final = "a1 -_.A(\u00e9\n\u6771,:[|`x"
"""Characters of which the first that fits stands for a class."""
_ALTERNATIVES: Final = 12
"""Alternatives of a part that are followed; word lists have hundreds of one shape."""
_MOST: Final = 48
"""Texts of one expression, evenly out of all."""
_LONGEST: Final = 3_000
"""Characters of a source beyond which it is a list of words."""


class NearMiss(NamedTuple):
    """A text that a unit is repeated in.

    Attributes:
        unit: What is repeated.
        head: What stands before, once.
        tail: What stands behind, once.
    """

    unit: str
    head: str = ""
    tail: str = ""

    def text(self, size: int, number: int) -> str:
        """Returns about so many characters; the number in their middle makes a text of its own."""
        half = self.unit * max(1, size // len(self.unit) // 2)
        return f"{self.head}{half}{number}{half}{self.tail}"


def near_misses(sources: Iterable[Source]) -> list[NearMiss]:
    """Returns the texts that expressions give, by their sources and flags."""
    texts: dict[NearMiss, None] = {}
    for source, flags in sources:
        if len(source) <= _LONGEST:
            some = _of(source, flags)
            texts |= dict.fromkeys(some[:: max(1, len(some) // _MOST)])
    return list(texts)


def expressions(module: ModuleType) -> Iterator[Source]:
    """Yields source and flags of the expressions of a module, also of those in its tables."""
    waiting = [(value, 0) for name, value in vars(module).items() if not name.startswith("__")]
    for value, depth in waiting:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value.pattern, value.flags & ~re.UNICODE
        elif isinstance(value, _LAZY):
            yield vars(value)["_made_of"]
        elif isinstance(value, dict | tuple | list) and depth < 3:
            inside = value.values() if isinstance(value, dict) else value
            waiting.extend((each, depth + 1) for each in inside)


@cache
def _of(source: str, flags: int) -> Sequence[NearMiss]:
    """Returns the texts of one expression, each unit also with a space behind it."""
    texts: dict[NearMiss, None] = {}
    whole = _read(_PARSER.parse(source, flags), "", texts)
    ended = (each._replace(tail=whole) for each in list(texts) if not each.head)
    spaced = (each._replace(unit=f"{each.unit} ") for each in list(texts) if not each.head)
    return [each for each in dict.fromkeys([*texts, *spaced, *ended]) if each.unit]


def _read(tree: _Tree, read: str, texts: dict[NearMiss, None]) -> str:
    """Returns what a part reads behind a text, and adds what was read at each step."""
    for what, value in tree:
        match str(what):
            case "LITERAL":
                read += chr(value)
            case "NOT_LITERAL" | "ANY" | "IN":
                read += _of_class(what, value)
            case "BRANCH":
                some = value[1][:: -(-len(value[1]) // _ALTERNATIVES)]
                ends = [_read(each, read, texts) for each in some]
                read = ends[0]
            case "SUBPATTERN":
                read = _read(value[3], read, texts)
            case "ATOMIC_GROUP":
                read = _read(value, read, texts)
            case "ASSERT":
                _read(value[1], read, texts)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                once = _read(value[2], "", texts)
                texts[NearMiss(once, read)] = texts[NearMiss(read + once * 2)] = None
                read += once * min(value[0], 40)
        texts[NearMiss(read)] = None
    return read


def _of_class(what: Any, value: Any) -> str:
    """Returns a character that a class holds: a usual one, or else the first that it names."""
    alone = _COMPILER.compile(_PARSER.SubPattern(_PARSER.State(), [(what, value)]))
    named = value[0][1] if str(what) == "IN" else ord("\u00e4")
    first = named[0] if isinstance(named, tuple) else named
    some = [*_SPELLED, *([chr(first)] if isinstance(first, int) else ())]
    return next(filter(alone.match, some), "")
