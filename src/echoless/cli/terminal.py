"""Blocks and progress bars on a terminal, drawn by rich.

Loaded only where there is a terminal, because rich is slow to load.

A word is never cut in two: an id, a path or a command that is wider than the terminal runs over its
edge, where it can still be copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table as RichTable
from rich.text import Text

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Line,
    MemoryText,
    Paragraph,
    Simple,
    Style,
    Table,
    simple,
)
from echoless.core.rendering import INDENT, marked, passage_lines, readable

Pace: TypeAlias = Callable[[int, int | None, float | None, float | None, float | None], str]
"""Words for what is done, the whole, the speed a second, the seconds left and those gone by."""

_STYLES: Final[dict[Style, str]] = {
    "": "",
    "strong": "bold",
    "dim": "dim",
    "old": "red strike",
    "new": "green bold underline",
    "good": "green",
    "bad": "red",
}

_NARROWEST: Final = 20
"""Columns for a text, however narrow the terminal is."""

_UNSPACED: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
"""What stays on one line: a word, or a letter of a script without spaces."""

_BETWEEN: Final = 2
"""Columns between two columns of a table."""


def drawn(blocks: Iterable[Block], *, coloured: bool = True) -> str:
    """Returns blocks as the terminal of standard output shows them, wrapped between words.

    Args:
        blocks: What to show.
        coloured: False gives no colours and no other styles.
    """
    console = Console(
        highlight=False, markup=False, emoji=False, color_system="auto" if coloured else None
    )
    with console.capture() as captured:
        for block in simple(blocks):
            _print(console, block)
    return captured.get()


def _print(console: Console, block: Simple) -> None:
    match block:
        case Heading(text):
            _print_text(console, Text(readable(text), style="bold underline"), 0)
            if console.color_system is None:
                _print_line(console, Text("=" * min(cell_len(readable(text)), console.width)), 0)
        case Paragraph(line, level):
            indent = min(INDENT * level, console.width // 2)
            drawn = _text(line, coloured=console.color_system is not None)
            if block.cut:
                drawn.truncate(max(_NARROWEST, console.width - indent), overflow="ellipsis")
            if block.whole or block.cut:
                _print_line(console, drawn, indent)
            else:
                _print_text(console, drawn, indent)
        case MemoryText(text):
            for part in passage_lines(text):
                _print_text(console, Text(part), INDENT)
        case Table():
            _print_table(console, block)
        case Gap():
            console.print()
        case _:
            assert_never(block)


def _print_text(console: Console, text: Text, indent: int) -> None:
    """Prints a text in lines of whole words."""
    width = max(_NARROWEST, console.width - indent)
    for line in text.divide(_breaks(text.plain, width)):
        line.rstrip()
        _print_line(console, line, indent)


def _breaks(text: str, width: int) -> list[int]:
    """Returns the offsets of line breaks for lines of a width, at words where possible."""
    breaks: list[int] = []
    start = 0
    for word in _WORD.finditer(text):
        if word.start() > start and cell_len(text[start : word.end()]) > width:
            breaks.append(word.start())
            start = word.start()
    return breaks


def _print_line(console: Console, line: Text, indent: int) -> None:
    console.print(Text.assemble(" " * indent, line), soft_wrap=True)


def _text(line: Line, *, coloured: bool) -> Text:
    """Returns a line with its differences in colour, or between signs where there is none."""
    shown = ((readable(span.text) if coloured else marked(span), span.style) for span in line)
    return Text.assemble(*((text, _STYLES[style]) for text, style in shown))


def _print_table(console: Console, table: Table) -> None:
    """Prints a table, or, where its words are too wide for the terminal, a list of its rows."""
    rows = [tuple(readable(cell) for cell in row) for row in table.rows]
    widths = _widths((table.headers, *rows), console.width)
    if widths is None:
        _print_rows(console, table.headers, rows)
        return
    drawn = RichTable(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0))
    for at, (header, width) in enumerate(zip(table.headers, widths, strict=True)):
        drawn.add_column(
            header, justify="right" if at in table.numbers else "left", width=width, overflow="fold"
        )
    for row in rows:
        drawn.add_row(*map(Text, row))
    console.print(drawn)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Returns the widths of columns of which no word is cut; None if there are none so narrow.

    The widest column gives way first.
    """
    columns = list(zip(*rows, strict=True))
    least = [
        max(cell_len(word) for cell in column for word in (cell.split() or [""]))
        for column in columns
    ]
    widths = [max(cell_len(cell) for cell in column) for column in columns]
    room = width - _BETWEEN * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        slack = [now - smallest for now, smallest in zip(widths, least, strict=True)]
        widest = max((at for at, left in enumerate(slack) if left), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _print_rows(console: Console, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows one below the other, a cell a line."""
    label = max(map(cell_len, headers)) + _BETWEEN
    for row in rows:
        console.print()
        for header, cell in zip(headers, row, strict=True):
            named = header + " " * (label - cell_len(header))
            _print_line(console, Text.assemble((named, "dim"), cell), 0)


class _PaceColumn(ProgressColumn):
    """Column of a progress bar: done of all, how many a second, and the time left."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace

    def render(self, task: Task) -> Text:
        """Returns the words for a stage."""
        speed = task.finished_speed or task.speed
        whole = None if task.total is None else int(task.total)
        left, elapsed = task.time_remaining, task.elapsed
        return Text(self._pace(int(task.completed), whole, speed, left, elapsed))


def start_progress(pace: Pace) -> Progress:
    """Starts a progress bar on standard error.

    Args:
        pace: Makes the words beside the bar.
    """
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        _PaceColumn(pace),
        console=Console(stderr=True),
        transient=True,
    )
    progress.start()
    return progress
