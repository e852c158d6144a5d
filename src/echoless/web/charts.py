"""Charts as inline SVG, made here: no script, no style attribute, nothing from outside.

`columns` draws upright bars, `bars` lying ones. Places across the page are shares of its width and
those down the page are pixels, so a chart fits a telephone with letters of their full size. The
colours are those of the classes `series-0` to `series-2` in `static/style.css`.

Each chart has a title and a description for a screen reader, and the same figures as rows of a
table; the macro `chart` shows all of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from echoless.core.masking import OUTPUT
from echoless.core.optional import lazy_module
from echoless.core.visible import on_one_line

if TYPE_CHECKING:
    import markupsafe
    from markupsafe import Markup
else:
    markupsafe = lazy_module("markupsafe")

_HEIGHT: Final = 150
"""Pixels of the area in which columns stand."""
_ABOVE: Final = 12
_BELOW: Final = 24
"""Pixels above and below that area, for the scale and the labels."""
_CHARACTER: Final = 2.6
"""Width of a digit of the scale, in percent of a chart on a telephone."""
_LABELS: Final = 6
"""Labels below columns at most; every other one is left out on a telephone."""
_ROW: Final = 42
"""Pixels of a lying bar with its label."""
_NAME: Final = 34
"""Characters of a label of a lying bar; the table has the whole name."""
_ROUND: Final = (10, 12, 16, 20, 30, 40, 50, 60, 80, 100)
"""Ends of a scale, up to a power of ten; smaller ones are even, so that their halves are whole."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a chart, or one lying bar.

    Attributes:
        label: What stands beside it.
        values: One for each series, from the foot of the column; none below 0.
        said: The figures in words, such as `12 of 340`; short beside a lying bar.
    """

    label: str
    values: tuple[float, ...]
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture and the same figures as a table.

    Attributes:
        title: What is shown.
        about: Half a sentence more, or empty.
        series: Names of the colours, from the foot of a column.
        picture: The SVG.
        headers: Of the columns of the table.
        rows: Of the table: a name, then figures as texts.
    """

    title: str
    about: str
    series: tuple[str, ...]
    picture: Markup
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numbers(self) -> range:
        """Returns the positions of the columns of figures: all but the first."""
        return range(1, len(self.headers))


def columns(title: str, description: str, made: Sequence[Column]) -> Markup:
    """Returns upright columns, their parts one upon the other.

    Args:
        title: Of the chart.
        description: What a reader would see, in a sentence.
        made: From left to right; at least one.
    """
    top = _round_up(max(sum(column.values) for column in made))
    left = 1 + _CHARACTER * len(f"{top:,.0f}")
    width = (100 - left) / len(made)
    parts = [*_scale(top, left)]
    for at, column in enumerate(made):
        parts.append(_column(column, left + at * width, width, top))
    parts += _labels([column.label for column in made], left, width)
    return _svg(title, description, parts, _ABOVE + _HEIGHT + _BELOW)


def bars(title: str, description: str, made: Sequence[Column], *, most: float) -> Markup:
    """Returns lying bars, each with its name and its figures in words above it.

    Args:
        title: Of the chart.
        description: What a reader would see, in a sentence.
        made: From top to bottom.
        most: The value of a bar as wide as the chart, above 0.
    """
    parts: list[Markup] = []
    for at, bar in enumerate(made):
        top = at * _ROW
        name = _shown(bar.label)
        short = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
        parts.append(_text(short, "0", top + 14))
        parts.append(_text(bar.said, "100%", top + 14, kind="soft", anchor="end"))
        parts.append(_rectangle(0, top + 21, 100, 12, "track"))
        left = 0.0
        for series, value in enumerate(bar.values):
            wide = 100 * value / most
            parts.append(_rectangle(left, top + 21, wide, 12, f"series-{series}"))
            left += wide
    return _svg(title, description, parts, _ROW * len(made))


# ------------------------------------------------------------------ parts


def _shown(text: str) -> str:
    """Returns a label, masked and with its hidden characters visible; a name may be anything."""
    return on_one_line(OUTPUT.text(text))


def _svg(title: str, description: str, parts: Sequence[Markup], height: int) -> Markup:
    """Returns the picture with its title and its description."""
    name = "c" + hashlib.sha256(f"{title}\0{description}".encode(errors="replace")).hexdigest()[:8]
    form = (
        '<svg role="img" aria-labelledby="{0}t {0}d" height="{1}">'
        '<title id="{0}t">{2}</title><desc id="{0}d">{3}</desc>{4}</svg>'
    )
    content = markupsafe.Markup("").join(parts)
    return markupsafe.Markup(form).format(name, height, _shown(title), _shown(description), content)


def _column(column: Column, left: float, width: float, top: float) -> Markup:
    """Returns one column with a title that a pointer shows."""
    gap = min(width * 0.2, 0.6)
    foot = float(_ABOVE + _HEIGHT)
    parts = []
    for series, value in enumerate(column.values):
        high = _HEIGHT * value / top
        if value:
            foot -= high
            parts.append(_rectangle(left + gap / 2, foot, width - gap, high, f"series-{series}"))
    title = f"{_shown(column.label)}: {column.said}"
    form = markupsafe.Markup("<g><title>{}</title>{}</g>")
    return form.format(title, markupsafe.Markup("").join(parts))


def _scale(top: float, left: float) -> Iterator[Markup]:
    """Yields lines at nothing, a half and the whole, with their values left of them."""
    form = markupsafe.Markup('<line x1="{0:.2f}%" x2="100%" y1="{1:g}" y2="{1:g}"/>')
    for share in (0.0, 0.5, 1.0):
        y = _ABOVE + _HEIGHT * (1 - share)
        yield form.format(left, y)
        yield _text(f"{top * share:,.0f}", f"{left - 1:.2f}%", y + 4, kind="soft", anchor="end")


def _labels(labels: Sequence[str], left: float, width: float) -> Iterator[Markup]:
    """Yields labels below columns, at most `_LABELS` of them, at equal distances."""
    step = -(-len(labels) // _LABELS)
    y = _ABOVE + _HEIGHT + 17
    for at in range(0, len(labels), step):
        middle = left + (at + 0.5) * width
        x, anchor = (middle, "middle") if middle < 92 else (100.0, "end")
        kind = "soft" if at % (2 * step) == 0 else "soft wide"
        yield _text(_shown(labels[at]), f"{x:.2f}%", y, kind=kind, anchor=anchor)


def _rectangle(left: float, top: float, width: float, height: float, kind: str) -> Markup:
    """Returns a rectangle, its place and width across the page in percent."""
    form = '<rect class="{}" x="{:.3f}%" y="{:.1f}" width="{:.3f}%" height="{:.1f}"/>'
    return markupsafe.Markup(form).format(kind, left, top, width, height)


def _text(text: str, x: str, y: float, *, kind: str = "", anchor: str = "") -> Markup:
    """Returns a text at a place."""
    given = (("class", kind), ("text-anchor", anchor))
    attributes = "".join(f' {name}="{value}"' for name, value in given if value)
    form = f'<text x="{{}}" y="{{:g}}"{attributes}>{{}}</text>'
    return markupsafe.Markup(form).format(x, y, text)


def _round_up(value: float) -> float:
    """Returns the next round number from a value on, 2 at least."""
    if value <= _ROUND[0]:
        return max(2.0, 2.0 * math.ceil(value / 2))
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return next(unit * each for each in _ROUND if unit * each >= value)
