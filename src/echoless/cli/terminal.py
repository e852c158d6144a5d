"""Blocks and progress bars on a terminal, drawn by rich.

Loaded only where there is a terminal, because rich is slow to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias, assert_never

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table as RichTable
from rich.text import Text

from echoless.cli.document import Block, Gap, Heading, Line, Paragraph, Passage, Style, Table
from echoless.cli.render import INDENT, passage_lines, readable

Pace: TypeAlias = Callable[[int, int | None, float | None, float | None], str]
"""Words for what is done, the whole, the speed a second, and the seconds left."""

_STYLES: Final[dict[Style, str]] = {
    "": "",
    "strong": "bold",
    "dim": "dim",
    "old": "red",
    "new": "green",
    "good": "green",
    "bad": "red",
}


def show_rich(blocks: Iterable[Block]) -> None:
    """Prints blocks in colour to standard output."""
    console = Console(highlight=False, markup=False, emoji=False)
    for block in blocks:
        running = isinstance(block, Paragraph) and not block.level
        console.print(_renderable(block, console), soft_wrap=running)  # a command stays one line


def _renderable(block: Block, console: Console) -> RenderableType:
    match block:
        case Heading(text):
            return Text(readable(text), style="bold underline")
        case Paragraph(line, 0):
            return _text(line)
        case Paragraph(line, level):
            return Padding(_text(line), (0, 0, 0, min(INDENT * level, console.width // 2)))
        case Passage(text):
            return Padding(Text("\n".join(passage_lines(text))), (0, 0, 0, INDENT))
        case Table(headers, rows, numbers):
            table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
            for at, header in enumerate(headers):
                table.add_column(
                    header, justify="right" if at in numbers else "left", overflow="fold"
                )
            for row in rows:
                table.add_row(*(Text(readable(cell)) for cell in row))
            return table
        case Gap():
            return Text("")
        case _:
            assert_never(block)


def _text(line: Line) -> RenderableType:
    return Text.assemble(*((readable(span.text), _STYLES[span.style]) for span in line))


class _PaceColumn(ProgressColumn):
    """Column of a progress bar: done of all, how many a second, and the time left."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace

    def render(self, task: Task) -> Text:
        """Returns the words for a stage."""
        speed = task.finished_speed or task.speed
        whole = None if task.total is None else int(task.total)
        return Text(self._pace(int(task.completed), whole, speed, task.time_remaining))


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
