"""Blocks on a terminal (with rich), as plain text, or as Markdown; and JSON."""

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
    Line,
    Paragraph,
    Passage,
    Span,
    Style,
    Table,
)
from echoless.core.masking import OUTPUT
from echoless.core.visible import escaped_markdown, on_one_line, visible
from echoless.model import Json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_INDENT: Final = 3
_AT_ONCE: Final = 500
_MARKS: Final[dict[Style, tuple[str, str]]] = {"old": ("[-", "-]"), "new": ("{+", "+}")}
_RICH: Final[dict[Style, str]] = {
    "": "",
    "strong": "bold",
    "dim": "dim",
    "old": "red",
    "new": "green",
    "good": "green",
    "bad": "red",
}


def show(blocks: Iterable[Block]) -> None:
    """Print blocks to standard output: in colour on a terminal, as plain text elsewhere."""
    if is_terminal():
        _show_rich(blocks)
        return
    print_lines(plain(blocks))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, some hundreds at a time: each call asks what kind of output there is."""
    source = iter(lines)
    while some := list(islice(source, _AT_ONCE)):
        click.echo("\n".join(some))


def show_json(value: Json) -> None:
    """Print one JSON document, in ASCII so that no encoding can spoil it.

    JSON has no form for infinity and NaN, which a record may hold: they are written as texts. An
    object in which secrets are masked tells their number as `masked`.
    """
    click.echo(json_line(value, indent=2))


def json_line(value: Json, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """JSON in which secrets are masked, and counted where there are any.

    Args:
        value: What to tell.
        indent: Columns for each level; one line if None.
        ascii_only: Escape every other character.
    """
    told = OUTPUT.json(value)
    if isinstance(told, dict) and OUTPUT.count:
        told = {**told, "masked": OUTPUT.count}
    try:
        return json.dumps(told, indent=indent, allow_nan=False, ensure_ascii=ascii_only)
    except ValueError:
        return json.dumps(_finite(told), indent=indent, ensure_ascii=ascii_only)


def _finite(value: Json) -> Json:
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
    """One sentence on standard error, beside the output."""
    click.echo(reason(sentence), err=True)


def readable(text: str) -> str:
    """A line for a person: secrets masked, nothing hidden, nothing that steers a terminal."""
    return on_one_line(OUTPUT.text(text))


def reason(text: str) -> str:
    """As `readable`, for a reason that quotes words of memories."""
    return on_one_line(OUTPUT.reason(text))


def _passage(text: str) -> list[str]:
    """As `readable`, in the lines the text has."""
    return visible(OUTPUT.text(text)).split("\n")


def is_terminal() -> bool:
    """Whether standard output can and may show colours."""
    dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return sys.stdout.isatty() and not dumb


def is_interactive() -> bool:
    """Whether there is a person to ask: a terminal to read from and one to write to."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> str | None:
    """The line a person types, or None at the end of the input."""
    try:
        return input(question)
    except EOFError:
        click.echo()
        return None


def agreed(question: str) -> bool:
    """Whether the answer is a clear yes."""
    return means_yes(ask(question))


def means_yes(answer: str | None) -> bool:
    """`y` or `yes`; anything else, the end of the input too, is a no."""
    return (answer or "").strip().lower() in {"y", "yes"}


# ------------------------------------------------------------------ plain


def plain(blocks: Iterable[Block]) -> Iterator[str]:
    """Lines of plain text, never wrapped; differences as `[-old-]{+new+}`."""
    for block in blocks:
        match block:
            case Heading(text):
                yield readable(text)
                yield "=" * _width(readable(text))
            case Paragraph(line, level):
                text = "".join(_marked(span) for span in line)
                yield (" " * (_INDENT * level) + text).rstrip()
            case Passage(text):
                yield from ((" " * _INDENT + part).rstrip() for part in _passage(text))
            case Table():
                yield from _columns(block)
            case Gap():
                yield ""
            case _:
                assert_never(block)


def _marked(span: Span) -> str:
    left, right = _MARKS.get(span.style, ("", ""))
    return left + readable(span.text) + right


def _columns(table: Table) -> Iterator[str]:
    rows = [tuple(readable(cell) for cell in row) for row in (table.headers, *table.rows)]
    widths = [max(_width(row[at]) for row in rows) for at in range(len(table.headers))]
    for row in rows:
        cells = []
        for at, cell in enumerate(row):
            room = " " * (widths[at] - _width(cell))
            cells.append(room + cell if at in table.numbers else cell + room)
        yield "  ".join(cells).rstrip()


def _width(text: str) -> int:
    """Columns a text takes: two for each wide East Asian character."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# ------------------------------------------------------------------ Markdown


def markdown(blocks: Iterable[Block]) -> Iterator[str]:
    """Lines of Markdown; what memories say cannot become markup."""
    for block in blocks:
        match block:
            case Heading(text):
                yield from ("", f"## {_escaped(text)}", "")
            case Paragraph(line, level):
                text = " ".join("".join(_markdown_span(span) for span in line).split())
                yield f"{'  ' * (level - 1)}- {text}" if level else f"{text}\n"
            case Passage(text):
                yield from (f"> {escaped_markdown(part)}" for part in _passage(text))
            case Table():
                yield from _markdown_table(block)
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


def _markdown_table(table: Table) -> Iterator[str]:
    yield _row(table.headers)
    yield _row("---:" if at in table.numbers else "---" for at in range(len(table.headers)))
    for row in table.rows:
        yield _row(_escaped(cell) for cell in row)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(text: str) -> str:
    return escaped_markdown(readable(text))


# ------------------------------------------------------------------ terminal


def _show_rich(blocks: Iterable[Block]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    console = Console(highlight=False, markup=False, emoji=False)
    for block in blocks:
        running = isinstance(block, Paragraph) and not block.level
        console.print(_renderable(block, console), soft_wrap=running)  # a command stays one line


def _renderable(block: Block, console: Console) -> RenderableType:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    match block:
        case Heading(text):
            return Text(readable(text), style="bold underline")
        case Paragraph(line, 0):
            return _text(line)
        case Paragraph(line, level):
            return Padding(_text(line), (0, 0, 0, min(_INDENT * level, console.width // 2)))
        case Passage(text):
            return Padding(Text("\n".join(_passage(text))), (0, 0, 0, _INDENT))
        case Table():
            return _rich_table(block)
        case Gap():
            return Text("")
        case _:
            assert_never(block)


def _text(line: Line) -> RenderableType:
    from rich.text import Text  # noqa: PLC0415

    return Text.assemble(*((readable(span.text), _RICH[span.style]) for span in line))


def _rich_table(table: Table) -> RenderableType:
    from rich import box  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, header in enumerate(table.headers):
        made.add_column(header, justify="right" if at in table.numbers else "left", overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(readable(cell)) for cell in row))
    return made
