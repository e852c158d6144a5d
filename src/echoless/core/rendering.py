"""Blocks as lines of plain text, and of Markdown.

Memories are foreign texts: each renderer masks their secrets, makes hidden characters visible, and
escapes what its form would take for markup. `cli/terminal.py` renders for a terminal in colour, and
`web/page_blocks.py` for a page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    MemoryText,
    Paragraph,
    Span,
    Style,
    Table,
    simple,
)
from echoless.core.masking import OUTPUT
from echoless.core.text import escaped_markdown, on_one_line, visible

INDENT: Final = 3
"""Spaces for each level of a paragraph."""

_MARKS: Final[dict[Style, str]] = {"old": "[-{}-]", "new": "{{+{}+}}"}
"""Signs of a difference, on a terminal as well: colours alone do not tell everyone."""


def marked(span: Span) -> str:
    """Returns the text of a span, readable, with the signs of a difference around it."""
    return _MARKS.get(span.style, "{}").format(readable(span.text))


def readable(text: str) -> str:
    """Returns a line with its secrets masked and its control characters made visible."""
    return on_one_line(OUTPUT.text(text))


def reason(text: str) -> str:
    """Returns a line as `readable` does, for a reason that quotes words of memories."""
    return on_one_line(OUTPUT.reason(text))


def passage_lines(text: str) -> list[str]:
    """Returns the lines of a text, each as `readable` makes it."""
    return visible(OUTPUT.text(text)).split("\n")


# ------------------------------------------------------------------ plain


def plain(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields lines of plain text, never wrapped; differences as `[-old-]{+new+}`."""
    for block in simple(blocks):
        match block:
            case Heading(text):
                yield readable(text)
                yield "=" * _width(readable(text))
            case Paragraph(line, level):
                text = "".join(map(marked, line))
                yield (" " * (INDENT * level) + text).rstrip()
            case MemoryText(text):
                yield from ((" " * INDENT + part).rstrip() for part in passage_lines(text))
            case Table():
                yield from _columns(block)
            case Gap():
                yield ""
            case _:
                assert_never(block)


def _columns(table: Table) -> Iterator[str]:
    """Yields the rows of a table with its columns aligned."""
    rows = [tuple(readable(cell) for cell in row) for row in (table.headers, *table.rows)]
    widths = [max(_width(row[at]) for row in rows) for at in range(len(table.headers))]
    for row in rows:
        cells = []
        for at, cell in enumerate(row):
            room = " " * (widths[at] - _width(cell))
            cells.append(room + cell if at in table.numbers else cell + room)
        yield "  ".join(cells).rstrip()


def _width(text: str) -> int:
    """Returns the columns a text takes: two for each wide East Asian character."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# ------------------------------------------------------------------ Markdown


def markdown(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields lines of Markdown; what memories say cannot become markup."""
    for block in simple(blocks):
        match block:
            case Heading(text):
                yield from ("", f"## {_escaped(text)}", "")
            case Paragraph(line, level):
                text = " ".join("".join(_markdown_span(span) for span in line).split())
                yield f"{'  ' * (level - 1)}- {text}" if level else f"{text}\n"
            case MemoryText(text):
                yield from (f"> {escaped_markdown(part)}" for part in passage_lines(text))
            case Table(headers, rows, numbers):
                yield _row(headers)
                yield _row("---:" if at in numbers else "---" for at in range(len(headers)))
                yield from (_row(_escaped(cell) for cell in row) for row in rows)
                yield ""
            case Gap():
                yield ""
            case _:
                assert_never(block)


def _markdown_span(span: Span) -> str:
    text = _escaped(span.text)
    match span.style:
        case "strong" if text.strip():
            return f"**{text.strip()}**"
        case "old":
            return f"~~{text}~~"
        case "new":
            return f"**{text}**"
        case _:
            return text


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(text: str) -> str:
    return escaped_markdown(readable(text))
