"""Blocks of styled text: the output of a command before it is rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from echoless.core import wording
from echoless.core.masking import OUTPUT, excerpt
from echoless.core.model import Json
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from echoless.core import text_difference
else:
    text_difference = lazy_module("echoless.core.text_difference")  # its pattern is slow to compile

Style: TypeAlias = Literal["", "strong", "dim", "old", "new", "good", "bad"]

number, percent, count = wording.number, wording.percent, wording.count

_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")

PREVIEW: Final = 400
"""Characters of a memory shown in a list; `show` prints all of it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some text in one style."""

    text: str
    style: Style = ""


Line: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """Title of the blocks that follow."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, or an item of a list; a line feed in it is shown as such.

    Attributes:
        line: What it says.
        level: 0 for running text; deeper levels are indented, and items of a list in Markdown.
        whole: Whether a terminal gets it in one line: it is a command to copy.
    """

    line: Line
    level: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of a memory in its own lines, indented so that none is taken for a line of ours."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text.

    Attributes:
        headers: One for each column.
        rows: Cells.
        numbers: Positions of columns set to the right.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line."""


Block: TypeAlias = Heading | Paragraph | Passage | Table | Gap


def say(*parts: str | Span, level: int = 0) -> Paragraph:
    """Returns a paragraph made of texts and spans."""
    return Paragraph(tuple(Span(p) if isinstance(p, str) else p for p in parts), level)


def command(line: str, *, before: str = "", level: int = 1) -> Paragraph:
    """Returns a command to copy on a line of its own, which is never folded."""
    return Paragraph((Span(before), Span(line)), level, whole=True)


def strong(text: str) -> Span:
    """Returns emphasised text."""
    return Span(text, "strong")


def dim(text: str) -> Span:
    """Returns text of less weight."""
    return Span(text, "dim")


def flat(text: str, limit: int = PREVIEW) -> str:
    """Returns a memory's text on one line, with secrets masked, cut at `limit` characters."""
    return excerpt(text, limit)


def quoted(text: str) -> str:
    """Returns a reason that quotes words of memories, with their secrets masked."""
    return OUTPUT.reason(text)


def short_time(text: str) -> str:
    """Returns a time without seconds, such as `2026-11-25 03:58`; other spellings as they are."""
    return f"{text[:10]} {text[11:16]}" if _ISO.match(text) else text


def names(ids: Iterable[str], limit: int = 5) -> str:
    """Returns the first few ids and how many more there are."""
    listed = list(ids)
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {number(more)} more" if more > 0 else "")


def difference(old: str, new: str) -> Line:
    """Returns the word-by-word difference of two texts as spans."""
    return tuple(Span(part.text, part.change) for part in text_difference.word_difference(old, new))


def texts_in(value: Json) -> list[str]:
    """Returns the texts of a JSON list; none for any other value."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def records_in(value: Json) -> list[Mapping[str, Json]]:
    """Returns the objects of a JSON list; none for any other value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
