r"""Escapes such as `\u200b` for characters that control a terminal or are invisible.

A memory is foreign text. Control and direction characters change what is shown; zero-width and tag
characters show nothing, and a model reads them all the same (Unicode Technical Report 36).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from echoless.core.text import lazy_pattern

_STEERING: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_BREAKING: Final = "\u2028\u2029\ud800-\udfff"
_HIDDEN: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_JOINER: Final = r"(?<![^\x00-\x7f\s])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\s])"
"""Zero-width joiners but for those between two characters beyond ASCII, as in emoji and in Persian
or Indic words."""
_SELECTOR: Final = r"(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
"""Variation selectors after the first: a run of them can carry hidden bytes."""

_UNSAFE: Final = lazy_pattern(f"[{_STEERING}{_BREAKING}{_HIDDEN}]|{_JOINER}|{_SELECTOR}")

_MARKUP: Final = lazy_pattern(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")


def visible(text: str) -> str:
    r"""Returns a text with escapes for hidden characters and those that control a terminal.

    Line feeds and tabs stay. Emoji sequences stay whole.

    Args:
        text: Any text, lone surrogates included.
    """
    return _UNSAFE.sub(_escape, text)


def escapes(text: str) -> Iterator[tuple[int, str]]:
    r"""Yields the offset and the escape of each character that `visible` replaces.

    For a page that shows an escape in another style than the words around it.

    Args:
        text: Any text, lone surrogates included.
    """
    for match in _UNSAFE.finditer(text):
        yield match.start(), _escape(match)


def on_one_line(text: str) -> str:
    r"""Returns a text as `visible` does, with line feeds and tabs as `\n` and `\t`.

    An id or a name with a line feed would else write a line of its own into a report.

    Args:
        text: Any text.
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def escaped_markdown(text: str) -> str:
    """Returns a text in which no character means something to Markdown or HTML; lines stay.

    Args:
        text: Any text; make it `visible` or `on_one_line` first.
    """
    return _MARKUP.sub(r"\\\1", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
