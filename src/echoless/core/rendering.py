"""Blocks as lines of plain text, of Markdown, and of HTML.

Memories are foreign texts: each renderer masks their secrets, makes hidden characters visible, and
escapes what its form would take for markup. `cli/terminal.py` renders for a terminal in colour, and
`web/report.py` lays out a whole page.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Final, assert_never

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Line,
    MemoryText,
    Paragraph,
    Quote,
    Span,
    Style,
    Table,
    TextPair,
    simple,
)
from echoless.core.masking import MARK, OUTPUT, VARIABLE
from echoless.core.visible import escaped_markdown, on_one_line, visible

NOTEBOOK_GROUPS: Final = 10
"""Groups that a notebook shows, the largest first."""

NOTEBOOK_MEMBERS: Final = 5
"""Members of a group that a notebook shows."""

INDENT: Final = 3
"""Spaces for each level of a paragraph."""

_MARKS: Final[dict[Style, str]] = {"old": "[-{}-]", "new": "{{+{}+}}"}
"""Signs of a difference, on a terminal as well: colours alone do not tell everyone."""

_ELEMENTS: Final[dict[Style, str]] = {
    "strong": "<strong>{}</strong>",
    "old": "<del>{}</del>",
    "new": "<ins>{}</ins>",
}


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


# ------------------------------------------------------------------ HTML


def markup(blocks: Iterable[Block], element: Callable[[Block], str]) -> Iterator[str]:
    """Yields blocks as HTML, with paragraphs of a level as items of lists.

    Args:
        blocks: What is shown.
        element: Returns the element of one block. That of a quote or of a difference is put into
            the item before it.
    """
    depth = 0
    for block in blocks:
        if not (depth and isinstance(block, Quote | TextPair)):
            level = block.level if isinstance(block, Paragraph) else 0
            yield "</li></ul>" * (depth - level)
            if 0 < level <= depth:
                yield "</li><li>"
            yield "<ul><li>" * (level - depth)
            depth = level
        yield element(block)
    yield "</li></ul>" * depth


def simple_element(block: Block) -> str:
    """Returns a block as an element of HTML without any style."""
    match block:
        case Heading(text):
            return f"<p><strong>{escaped(text)}</strong></p>"
        case Paragraph(line, level, whole):
            text = _command(line) if whole else styled(line)
            return text if level else f"<p>{text}</p>"
        case MemoryText(text):
            lines = "<br>".join(map(html.escape, passage_lines(text)))
            return f"<p><bdi>{lines}</bdi></p>"
        case Table():
            return _table(block)
        case Gap():
            return ""
        case _:
            return "".join(markup(simple((block,)), simple_element))


def _table(table: Table) -> str:
    headers = "".join(f'<th scope="col">{escaped(header)}</th>' for header in table.headers)
    rows = ("".join(f"<td>{escaped(cell)}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{headers}</tr></thead><tbody>{body}</tbody></table>"


def styled(line: Line) -> str:
    """Returns a line as HTML, isolated from the writing direction of its neighbours."""
    spans = (_ELEMENTS.get(s.style, "{}").format(html.escape(readable(s.text))) for s in line)
    return f"<bdi>{''.join(spans)}</bdi>"


def _command(line: Line) -> str:
    """Returns a command to copy as HTML, with the words before it."""
    *before, words = line
    return f"{styled(tuple(before))}<code>{html.escape(readable(words.text))}</code>"


def escaped(text: str) -> str:
    """Returns a text on one line as HTML, isolated from the writing direction of its neighbours."""
    return f"<bdi>{html.escape(readable(text))}</bdi>"


def notebook(blocks: Iterable[Block]) -> str:
    """Returns blocks as a notebook shows them, with a line about masked secrets.

    No colour is set, so a dark and a light notebook can both be read. The classes keep MathJax away
    from dollar signs in texts.
    """
    shown = "".join(markup(simple(blocks), simple_element))
    for element, line in (("del", "line-through"), ("ins", "underline")):
        # pages often reset it
        shown = shown.replace(f"<{element}>", f'<{element} style="text-decoration: {line}">')
    if MARK in shown:
        shows = f"{VARIABLE}=1, set before Python starts, shows them."
        shown += f"<p>Secrets are masked here; {shows}</p>"
    return f'<div class="echoless tex2jax_ignore mathjax_ignore">{shown}</div>'
