"""HTML that a notebook shows of foreign texts: one sentence, groups, and remarks.

Every text is escaped, its secrets are masked and its hidden characters made visible. No colour is
set, so that a dark and a light notebook can both be read; words that differ are struck through or
underlined.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from echoless.core.masking import MARK, OUTPUT, VARIABLE, excerpt
from echoless.core.text_difference import Change, word_difference
from echoless.core.visible import on_one_line
from echoless.core.wording import count, number

GROUPS: Final = 10
"""Groups that are shown, the largest first."""

MEMBERS: Final = 5
"""Members of a group that are shown."""

_LONGEST: Final = 400
"""Characters of a text that are shown."""

_COMPARED: Final = 2_000
"""Characters of a text in which differences are looked for: the comparison is quadratic."""

_STYLES: Final[dict[Change, str]] = {
    "": "{}",
    # said again in the style, because pages often reset it
    "old": '<del style="text-decoration: line-through">{}</del>',
    "new": '<ins style="text-decoration: underline">{}</ins>',
}

_LEGEND: Final = (
    f"Differences: {_STYLES['old'].format('only in the memory that stays')} (struck through), "
    f"{_STYLES['new'].format('only in the other one')} (underlined)."
)


def escaped(text: str) -> str:
    """Returns a text masked, readable, on one line, and without markup of its own."""
    return f"<bdi>{html.escape(on_one_line(OUTPUT.text(text)))}</bdi>"


def difference(old: str, new: str) -> str:
    """Returns the word-by-word difference of two texts of memories, cut where it is long."""
    if old == new:
        return "the same text"
    shown, left = "", 2 * _LONGEST
    texts = (on_one_line(excerpt(text, _COMPARED)) for text in (old, new))
    for part in word_difference(*texts):
        if left > 0:
            text = part.text if len(part.text) <= left else part.text[:left] + "…"
            shown += _STYLES[part.change].format(html.escape(text))
            left -= len(part.text)
    return f"<bdi>{shown}</bdi>"


def group(
    survivor: str,
    why: str,
    text: str,
    members: Sequence[tuple[str, str, float | None, str]],
    *more: str,
) -> str:
    """Returns a group: the memory that stays, then the others with the words that differ.

    Args:
        survivor: Id of the one that stays.
        why: Reason for it; may be empty.
        text: Its text; without one no text is shown.
        members: The id, the verdict, the similarity and the text of each of the others.
        more: Lines below them.
    """
    items = []
    for id_, verdict, similarity, other in members[:MEMBERS]:
        measured = "" if similarity is None else f", similarity {similarity:.3f}"
        words = text and f"<br>{difference(text, other)}"
        items.append(escaped(f"{id_}: {OUTPUT.reason(verdict)}{measured}") + words)
    left = [f"{number(len(members) - MEMBERS)} more"] if len(members) > MEMBERS else []
    items += map(escaped, map(OUTPUT.reason, [*left, *more]))
    reason = why and f" ({escaped(OUTPUT.reason(why))})"
    begins = text and f"<br>{escaped(excerpt(text, _LONGEST))}"
    return f"<strong>keep {escaped(survivor)}</strong>{reason}{begins}{_listing('ul', items)}"


def document(
    headline: str, groups: Iterable[str] = (), total: int = 0, remarks: Iterable[str] = ()
) -> str:
    """Returns the whole of what a notebook shows, with a line about masked secrets.

    The classes keep MathJax away from dollar signs in texts.

    Args:
        headline: What it is, in one sentence.
        groups: Markup of the first groups.
        total: How many groups there are.
        remarks: Sentences below them.
    """
    shown = _listing("ol", groups)
    left = [f"{count(total - GROUPS, 'more group')}."] if total > GROUPS else []
    lines = (escaped(OUTPUT.reason(line)) for line in (*left, *remarks))
    markup = f"<p><strong>{escaped(headline)}</strong></p>{shown}{_listing('ul', lines)}"
    if "</del>" in markup or "</ins>" in markup:
        markup += f"<p>{_LEGEND}</p>"
    if MARK in markup:
        shows = f"{VARIABLE}=1, set before Python starts, shows them."
        markup += f"<p>Secrets are masked here; {shows}</p>"
    return f'<div class="echoless tex2jax_ignore mathjax_ignore">{markup}</div>'


def _listing(element: str, items: Iterable[str]) -> str:
    """Returns a list of markup; nothing where there are no items."""
    inner = "".join(f"<li>{item}</li>" for item in items)
    return f"<{element}>{inner}</{element}>" if inner else ""
