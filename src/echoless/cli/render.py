"""Output of blocks as plain text, Markdown or, on a terminal, in colour; and of JSON."""

from __future__ import annotations

import json
import math
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, assert_never

import click

from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Paragraph,
    Passage,
    Span,
    Style,
    Table,
)
from echoless.core.masking import OUTPUT
from echoless.core.model import Json
from echoless.core.optional import lazy_module
from echoless.core.visible import escaped_markdown, on_one_line, visible

if TYPE_CHECKING:
    from echoless.cli import terminal
else:
    terminal = lazy_module("echoless.cli.terminal")  # rich is slow to load

INDENT: Final = 3
"""Spaces for each level of a paragraph."""

_AT_ONCE: Final = 500
_MARKS: Final[dict[Style, str]] = {"old": "[-{}-]", "new": "{{+{}+}}"}
"""Signs of a difference, on a terminal as well: colours alone do not tell everyone."""


def show(blocks: Iterable[Block]) -> None:
    """Prints blocks to standard output: as plain text, on a terminal wrapped and in colour.

    Where a terminal shows no colours, or is to show none, the text is wrapped all the same.
    """
    coloured = is_terminal()
    if coloured or sys.stdout.isatty():
        terminal.show_rich(blocks, coloured=coloured)
        return
    print_lines(plain(blocks))


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines, some hundreds at a time: each call asks what kind of output there is."""
    source = iter(lines)
    while some := list(islice(source, _AT_ONCE)):
        click.echo("\n".join(some))


def show_json(value: Json) -> None:
    """Prints one JSON document, in ASCII so that no encoding can spoil it.

    JSON has no form for infinity and NaN, which a record may hold: they are written as texts. An
    object in which secrets are masked gives their number as `masked`.
    """
    click.echo(json_line(value, indent=2))


def json_line(value: Json, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """Returns JSON in which secrets are masked, and counted where there are any.

    Args:
        value: What to write.
        indent: Columns for each level; one line if None.
        ascii_only: Escape every other character.
    """
    masked = OUTPUT.json(value)
    if isinstance(masked, dict) and OUTPUT.count:
        masked = {**masked, "masked": OUTPUT.count}
    try:
        return json.dumps(masked, indent=indent, allow_nan=False, ensure_ascii=ascii_only)
    except ValueError:
        return json.dumps(_finite(masked), indent=indent, ensure_ascii=ascii_only)


def _finite(value: Json) -> Json:
    """Returns a value in which infinity and NaN are texts."""
    match value:
        case float() if not math.isfinite(value):
            return json.dumps(value)
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


def note(sentence: str) -> None:
    """Prints one sentence on standard error, beside the output."""
    click.echo(reason(sentence), err=True)


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


def is_terminal() -> bool:
    """Returns whether standard output can and may show colours."""
    dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return sys.stdout.isatty() and not dumb


def is_interactive() -> bool:
    """Returns whether there is a person to ask: a terminal to read from and one to write to."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> str | None:
    """Returns the line a person types, or None at the end of the input."""
    try:
        return input(question)
    except EOFError:
        click.echo()
        return None


def agreed(question: str) -> bool:
    """Asks a question and returns whether the answer is a clear yes."""
    return means_yes(ask(question))


def means_yes(answer: str | None) -> bool:
    """Returns whether an answer is `y` or `yes`; the end of the input (None) is a no."""
    return (answer or "").strip().lower() in {"y", "yes"}


# ------------------------------------------------------------------ plain


def plain(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields lines of plain text, never wrapped; differences as `[-old-]{+new+}`."""
    for block in blocks:
        match block:
            case Heading(text):
                yield readable(text)
                yield "=" * _width(readable(text))
            case Paragraph(line, level):
                text = "".join(map(marked, line))
                yield (" " * (INDENT * level) + text).rstrip()
            case Passage(text):
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
    for block in blocks:
        match block:
            case Heading(text):
                yield from ("", f"## {_escaped(text)}", "")
            case Paragraph(line, level):
                text = " ".join("".join(_markdown_span(span) for span in line).split())
                yield f"{'  ' * (level - 1)}- {text}" if level else f"{text}\n"
            case Passage(text):
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
