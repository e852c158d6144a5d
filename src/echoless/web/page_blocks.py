"""Blocks as elements of a page, in the style of `static/style.css`.

A page has room for what a terminal shows in one line: two texts beside each other, and bars.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from echoless.core.document import (
    Block,
    Box,
    Figures,
    Gap,
    Heading,
    MemoryText,
    Paragraph,
    Quote,
    Span,
    Style,
    Table,
    TextPair,
    number,
)
from echoless.core.rendering import readable
from echoless.web.markup import Mark, compared, identifier, passage

_ELEMENTS: Final[dict[Style, str]] = {
    "strong": "<strong>{}</strong>",
    "old": "<del>{}</del>",
    "new": "<ins>{}</ins>",
}

_OPEN_ROWS: Final = 12
"""Rows of a table that are shown; the others are folded."""


def markup(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields blocks as HTML, with paragraphs of a level as items of lists.

    The element of a quote or of a difference is put into the item before it.
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


def element(block: Block) -> str:
    """Returns a block as an element of the page, in the style of `static/style.css`."""
    match block:
        case Heading(text):
            return f"<p><strong>{_isolated(text)}</strong></p>"
        case Paragraph(line, level, whole):
            *before, last = line if whole else (*line, Span(""))
            spans = (_ELEMENTS.get(s.style, "{}").format(_plain(s.text)) for s in before)
            text = f"<bdi>{''.join(spans)}</bdi>"
            text += f"<code>{_plain(last.text)}</code>" if whole else ""
            return text if level else f"<p>{text}</p>"
        case MemoryText(text):
            return passage(text)
        case Gap():
            return ""
        case Box(blocks):
            return f'<article class="card">{"".join(markup(blocks))}</article>'
        case Quote(text):
            return _side(block, passage(text or ""))
        case TextPair():
            return _difference(block)
        case Figures(rows):
            figures = (
                f'<div class="figure"><dt>{_isolated(name)}</dt>'
                f'<dd><span class="value">{_isolated(value)}</span></dd></div>'
                for name, value in rows
            )
            return f'<dl class="figures">{"".join(figures)}</dl>'
        case Table():
            return _table(block)
        case _:
            assert_never(block)


def _plain(text: str) -> str:
    return html.escape(readable(text))


def _isolated(text: str) -> str:
    """Returns a text on one line as HTML, isolated from the writing direction of its neighbours."""
    return f"<bdi>{_plain(text)}</bdi>"


def _side(quote: Quote, text: str) -> str:
    """Returns the text of a memory below its id and its facts."""
    shown = '<p class="quiet">No longer in the store.</p>' if quote.text is None else text
    return f'<div class="side">{_head(quote)}{shown}</div>'


def _head(quote: Quote) -> str:
    """Returns the line above a text."""
    facts = "".join(f' <span class="when">{_isolated(fact)}</span>' for fact in quote.facts)
    return f'<p class="head">{identifier(quote.id)}{facts}</p>'


def _difference(block: TextPair) -> str:
    """Returns two texts side by side, with their differences marked."""
    old, new = block.old, block.new
    if old.text is not None and old.text == new.text and not block.always:
        return f'{_head(new)}<p class="quiet">The same text, letter for letter.</p>'
    marks: tuple[Mark, Mark] = ("del", "ins") if block.decided else ("mark", "mark")
    both = compared(old.text or "", new.text or "", marks)
    title = f'<p class="head">{_isolated(block.title)}</p>' if block.title else ""
    if both.same:
        return title + _side(new, both.new)
    sides = f'<div class="difference">{_side(old, both.old)}{_side(new, both.new)}</div>'
    note = ""
    if both.alike:
        note = "No word differs, only white space."
    elif not both.whole:
        note = "The texts are long; differences are marked in their beginning only."
    return title + sides + (f'<p class="quiet">{note}</p>' if note else "")


def _table(table: Table) -> str:
    """Returns a table, with its bars; of many rows the first ones, the others folded."""
    rows = [_row(table, at) for at in range(len(table.rows))]
    key = "".join(
        f'<span><span class="swatch series-{at}"></span>{_isolated(name)}</span> '
        for at, name in enumerate(table.bar_names)
    )
    shown = f'<p class="key">{key}</p>' if len(table.bar_names) > 1 else ""
    shown += _rows(table, rows[:_OPEN_ROWS])
    if folded := rows[_OPEN_ROWS:]:
        summary = f"<summary>{number(len(folded))} more</summary>"
        shown += f"<details>{summary}{_rows(table, folded)}</details>"
    return shown


def _rows(table: Table, rows: Sequence[str]) -> str:
    """Returns some rows below their headers."""
    headers = "".join(
        f'<th scope="col"{_aligned(table, at)}>{_isolated(header)}</th>'
        for at, header in enumerate(table.headers)
    )
    body = "".join(rows)
    return f'<table class="chart"><thead><tr>{headers}</tr></thead><tbody>{body}</tbody></table>'


def _row(table: Table, at: int) -> str:
    """Returns a row of a table: the first cell as its header, and its bars below."""
    label, *cells = table.rows[at]
    bars = ""
    if table.bars:
        whole = max(value for row in table.bars for value in row) or 1
        named = zip(table.bar_names, table.bars[at], strict=True)
        bars = "".join(
            f'<meter class="series-{series}" min="0" max="{whole}" value="{value}" '
            f'aria-label="{_plain(f"{name}, {label}")}"></meter>'
            for series, (name, value) in enumerate(named)
        )
    figures = "".join(
        f"<td{_aligned(table, column)}>{_isolated(cell)}</td>"
        for column, cell in enumerate(cells, 1)
    )
    return f'<tr><th scope="row">{_isolated(label)}{bars}</th>{figures}</tr>'


def _aligned(table: Table, column: int) -> str:
    """Returns the class of a column of numbers."""
    return ' class="number"' if column in table.numbers else ""
