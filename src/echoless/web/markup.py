"""Texts of memories as markup: masked, with hidden characters visible, escaped; and differences.

A memory is foreign text. `line` and `passage` show one, `compared` shows two with what differs
marked as `<del>` and `<ins>`, `identifier` shows an id and `reason` the reason of a verdict. Each
returns `Markup`, safe as the content of an element, never in an attribute.

The order is: cut what is too long (outside of secrets), mask secrets, look for what differs and
for hidden characters, then escape piece by piece. A change begins and ends between words of the
masked text, and a hidden character is one character there, so no escape is torn apart.

Call `core.masking.learn` with the memories before `reason` quotes words of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import markupsafe

from echoless.core.masking import OUTPUT
from echoless.core.secrets import uncut
from echoless.core.text import escapes as hidden_characters
from echoless.core.text_difference import alike, changed_ranges

if TYPE_CHECKING:
    from markupsafe import Markup

Mark: TypeAlias = Literal["del", "ins", "mark"]

FIRST: Final = 1_500
"""Characters of a text shown at once; the rest is folded away."""

MOST: Final = 20_000
"""Characters of a text on a page; what follows is left out, and a sentence says so."""

_SLACK: Final = 200
"""Characters below `FIRST` within which a text is folded at white space."""

_LINE_FEED: Final = {"\n": "\\n", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class TextComparison:
    """Two texts of a page with what differs.

    Attributes:
        old: The first text, with marks around what only it says.
        new: The second text, likewise; both are plain where little is common.
        same: Whether the texts are equal, letter for letter.
        alike: Whether no word differs: the texts differ in white space at most.
        whole: False if a text was too long to be compared to its end.
    """

    old: Markup
    new: Markup
    same: bool
    alike: bool
    whole: bool


def line(text: str) -> Markup:
    """Returns a text on one line, isolated from the writing direction of its neighbours.

    Args:
        text: Any text; a long one is cut at `FIRST` characters.
    """
    shown = _cut(text, FIRST)
    end = "…" if len(shown) < len(text) else ""
    return _wrapped("bdi", "", _inline(OUTPUT.text(shown)) + end)


def reason(text: str) -> Markup:
    """Returns a reason on one line, with the parts of known secrets that it quotes masked."""
    return _wrapped("bdi", "", _inline(OUTPUT.reason(text)))


def identifier(text: str) -> Markup:
    """Returns an id, a name or a path, which is broken only if it is wider than a line.

    Then it is broken behind a slash, if there is one.
    """
    parts = OUTPUT.text(_cut(text, FIRST)).split("/")
    return _wrapped("bdi", "id", markupsafe.Markup("/<wbr>").join(map(_inline, parts)))


def passage(text: str) -> Markup:
    """Returns a whole text in its own lines; a long one is folded at `FIRST` characters."""
    return _block(text, _Text(_masked(text)))


def compared(old: str, new: str, marks: tuple[Mark, Mark] = ("del", "ins")) -> TextComparison:
    """Compares two texts word by word and returns both, with what differs marked.

    Args:
        old: The first text.
        new: The second text.
        marks: Elements around what only the first and only the second text says: `del` if that text
            goes, `ins` if it stays, `mark` if nothing is chosen.
    """
    if old == new:
        whole = passage(old)
        return TextComparison(whole, whole, same=True, alike=True, whole=True)
    masked = _masked(old), _masked(new)
    if not alike(*masked):
        return TextComparison(passage(old), passage(new), same=False, alike=False, whole=True)
    changed = changed_ranges(*masked)
    return TextComparison(
        _block(old, _Text(masked[0], changed.old, marks[0])),
        _block(new, _Text(masked[1], changed.new, marks[1])),
        same=False,
        alike=changed.whole and not changed.old and not changed.new,
        whole=changed.whole and len(old) <= MOST and len(new) <= MOST,
    )


# ------------------------------------------------------------------ parts


def _cut(text: str, length: int) -> str:
    """Returns the beginning of a text, cut outside of secrets."""
    return text if len(text) <= length else text[: uncut(text, length)]


def _masked(text: str) -> str:
    """Returns what a page shows of a text, with marks in place of its secrets."""
    return OUTPUT.text(_cut(text, MOST))


def _wrapped(element: str, kind: str, content: Markup) -> Markup:
    """Returns content within an element of a class, if one is given."""
    form = '<{0} class="{1}">{2}</{0}>' if kind else "<{0}>{2}</{0}>"
    return markupsafe.Markup(form).format(element, kind, content)


def _inline(masked: str) -> Markup:
    """Returns a masked text on one line."""
    breaks = ((at, _LINE_FEED[char]) for at, char in enumerate(masked) if char in _LINE_FEED)
    text = _Text(masked, escapes=sorted((*hidden_characters(masked), *breaks)))
    return text.stretch(0, len(masked))


def _block(text: str, shown: _Text) -> Markup:
    """Returns a text in its own lines, folded and cut where it is long.

    Args:
        text: As it is in the memory.
        shown: What the page shows of it.
    """
    fold, end = _fold(shown.masked), len(shown.masked)
    parts = [shown.lines(0, fold)]
    if fold < end:
        details = '<details class="more"><summary>Show {} more</summary>{}</details>'
        rest = f"{end - fold:,} characters"
        parts.append(markupsafe.Markup(details).format(rest, shown.lines(fold, end)))
    if left_out := len(text) - len(_cut(text, MOST)):
        sentence = f"The text has {len(text):,} characters; the last {left_out:,} are not shown."
        parts.append(_wrapped("p", "cut", markupsafe.escape(sentence)))
    return markupsafe.Markup("").join(parts)


def _fold(text: str) -> int:
    """Returns the offset at which a text is folded: behind white space, if there is any."""
    if len(text) <= FIRST + _SLACK:
        return len(text)
    return max(text.rfind(space, FIRST - _SLACK, FIRST) for space in " \n") + 1 or FIRST


class _Text:
    """A masked text with its hidden characters and its marked parts."""

    def __init__(
        self,
        masked: str,
        changed: Sequence[tuple[int, int]] = (),
        mark: Mark = "mark",
        *,
        escapes: Sequence[tuple[int, str]] | None = None,
    ) -> None:
        self.masked = masked
        self._changed = changed
        self._mark = mark
        self._escapes = list(hidden_characters(masked)) if escapes is None else escapes
        self._places = [at for at, _ in self._escapes]

    def lines(self, start: int, end: int) -> Markup:
        """Returns a part of the text in its own lines and its own direction."""
        content = markupsafe.Markup("").join(self._pieces(start, end))
        return markupsafe.Markup('<div class="text" dir="auto">{}</div>').format(content)

    def _pieces(self, start: int, end: int) -> Iterator[Markup]:
        """Yields stretches of a part, the changed ones with words for a screen reader."""
        form = markupsafe.Markup(
            '<{0}><span class="unseen"> (only here: </span>{1}<span class="unseen">) </span></{0}>'
        )
        at = start
        for begin, stop in ((max(a, start), min(b, end)) for a, b in self._changed):
            if begin < stop:
                yield self.stretch(at, begin)
                yield form.format(self._mark, self.stretch(begin, stop))
                at = stop
        yield self.stretch(at, end)

    def stretch(self, start: int, end: int) -> Markup:
        """Returns a stretch of the text, escaped, with its hidden characters as escapes."""
        parts, at = [], start
        shown = markupsafe.Markup('<span class="escape">{}</span>')
        first, behind = (bisect_left(self._places, place) for place in (start, end))
        for place, escape in self._escapes[first:behind]:
            parts += [markupsafe.escape(self.masked[at:place]), shown.format(escape)]
            at = place + 1
        parts.append(markupsafe.escape(self.masked[at:end]))
        return markupsafe.Markup("").join(parts)
