"""What a command has to say, before it is decided how: blocks of styled text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.core.masking import OUTPUT
from echoless.core.secrets import uncut

Style: TypeAlias = Literal["", "strong", "dim", "old", "new", "good", "bad"]

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
    """The title of what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, or an item of a list; a line feed in it is shown as such.

    Attributes:
        line: What it says.
        level: 0 for running text; deeper levels are indented, and items of a list in Markdown.
    """

    line: Line
    level: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """What a memory says, in its own lines, set in so that none of them is taken for ours."""

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
    """A paragraph from texts and spans."""
    return Paragraph(tuple(Span(p) if isinstance(p, str) else p for p in parts), level)


def strong(text: str) -> Span:
    """Text that stands out."""
    return Span(text, "strong")


def dim(text: str) -> Span:
    """Text that stands back."""
    return Span(text, "dim")


def flat(text: str, limit: int = PREVIEW) -> str:
    """A memory's text on one line, secrets masked, cut at `limit` characters."""
    joined = " ".join(text.split())
    if len(joined) <= limit:
        return OUTPUT.text(joined)
    return OUTPUT.text(joined[: uncut(joined, limit - 1)]) + "…"


def quoted(text: str) -> str:
    """A reason that quotes words of memories; those of their secrets are masked."""
    return OUTPUT.reason(text)


def number(value: int) -> str:
    """With thousands separators."""
    return f"{value:,}"


def percent(share: float) -> str:
    """One decimal place."""
    return f"{share * 100:.1f}%"


def count(amount: int, one: str, many: str | None = None) -> str:
    """`1 group`, `2 groups`."""
    return f"{number(amount)} {one if amount == 1 else many or one + 's'}"


def names(ids: Iterable[str], limit: int = 5) -> str:
    """The first few ids, and how many more there are."""
    listed = list(ids)
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {number(more)} more" if more > 0 else "")
