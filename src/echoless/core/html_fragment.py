"""HTML that a notebook shows of foreign texts.

Every text is escaped, its secrets are masked and its hidden characters made visible. No colour is
set, so that a dark and a light notebook can both be read; words that differ are struck through or
underlined.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from echoless.core.masking import MARK, OUTPUT, VARIABLE, excerpt
from echoless.core.text_difference import Change, word_difference
from echoless.core.visible import on_one_line, visible
from echoless.core.wording import number

_Member = TypeVar("_Member")

MEMBERS: Final = 5
"""Members of a group that are shown."""

LONGEST: Final = 400
"""Characters of a text that are shown."""

_COMPARED: Final = 2_000
"""Characters of a text in which differences are looked for: the comparison is quadratic."""

_ELEMENTS: Final[dict[Change, str]] = {
    "": "{}",
    # said again in the style, because pages often reset it
    "old": '<del style="text-decoration: line-through">{}</del>',
    "new": '<ins style="text-decoration: underline">{}</ins>',
}

LEGEND: Final = (
    f"Differences: {_ELEMENTS['old'].format('only in the survivor')} (struck through), "
    f"{_ELEMENTS['new'].format('only in this memory')} (underlined)."
)


def word(text: str) -> str:
    """Returns an id or a name."""
    return f"<code>{_bounded(on_one_line(OUTPUT.text(text)))}</code>"


def reason(text: str) -> str:
    """Returns a reason that quotes words of memories."""
    return _bounded(on_one_line(OUTPUT.reason(text)))


def passage(text: str) -> str:
    """Returns the beginning of a memory's text on one line."""
    return _bounded(visible(excerpt(text, LONGEST)))


def difference(old: str, new: str) -> str:
    """Returns the word-by-word difference of two texts of memories, cut where it is long."""
    if old == new:
        return "the same text"
    texts = (visible(excerpt(text, _COMPARED)) for text in (old, new))
    shown, left = [], 2 * LONGEST
    for part in word_difference(*texts):
        text = part.text if len(part.text) <= left else part.text[:left] + "…"
        shown.append(_ELEMENTS[part.change].format(_escaped(text)))
        left -= len(part.text)
        if left <= 0:
            break
    return f"<bdi>{''.join(shown)}</bdi>"


def paragraph(markup: str) -> str:
    """Returns a paragraph of markup."""
    return f"<p>{markup}</p>"


def listing(items: Iterable[str], *, numbered: bool = False) -> str:
    """Returns a list of markup; nothing where there are no items."""
    inner = "".join(f"<li>{item}</li>" for item in items)
    element = "ol" if numbered else "ul"
    return f"<{element}>{inner}</{element}>" if inner else ""


def beginning(members: Sequence[_Member], item: Callable[[_Member], str]) -> list[str]:
    """Returns the first `MEMBERS` of a group as items of a list, and how many follow them.

    Args:
        members: All of them.
        item: Returns the markup of one.
    """
    items = [item(member) for member in members[:MEMBERS]]
    left = len(members) - MEMBERS
    return [*items, f"{number(left)} more"] if left > 0 else items


def grid(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns a table of markup; nothing where there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f'<th scope="col">{header}</th>' for header in headers)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def document(*parts: str) -> str:
    """Returns the whole of what a notebook shows, with a line about masked secrets.

    The classes keep MathJax away from dollar signs in texts.
    """
    markup = "".join(parts)
    if MARK in markup:
        markup += paragraph(
            f"Secrets are masked here; {VARIABLE}=1, set before Python starts, shows them."
        )
    return f'<div class="echoless tex2jax_ignore mathjax_ignore">{markup}</div>'


def _bounded(text: str) -> str:
    """Returns an escaped text whose direction of writing does not reach beyond it."""
    return f"<bdi>{_escaped(text)}</bdi>"


def _escaped(text: str) -> str:
    """Returns a text in which no character means something to HTML."""
    return html.escape(text, quote=True)
