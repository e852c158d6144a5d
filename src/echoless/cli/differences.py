"""Word-by-word difference of two texts."""

from __future__ import annotations

import difflib
import re
from typing import Final

from echoless.cli.document import Line, Span, Style

LONGEST: Final = 1_500
"""Words compared; the comparison is quadratic in the worst case, and nobody reads further."""

_AROUND: Final = 12
"""Words kept on each side of a change; longer stretches that agree are left out."""

_UNSPACED: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN: Final = re.compile(
    rf"(\s*)([{_UNSPACED}]|[^\W{_UNSPACED}]+(?:[.,:/@'’_-][^\W{_UNSPACED}]+)*|[^\w\s])"
)


def word_difference(old: str, new: str) -> Line:
    """Returns what was taken out (`old`), what was put in (`new`), and what agrees around it.

    White space is not compared. Scripts without spaces are compared character by character. Long
    stretches that agree are shortened.
    """
    before, after = _tokens(old), _tokens(new)
    matcher = difflib.SequenceMatcher(
        None, [word for _, word in before], [word for _, word in after], autojunk=False
    )
    spans: list[Span] = []
    steps = matcher.get_opcodes()
    for at, (kind, a, b, c, d) in enumerate(steps):
        if kind != "equal":
            _add(spans, before[a:b], "old")
            _add(spans, after[c:d], "new")
            continue
        words = after[c:d]
        head = 0 if at == 0 else _AROUND
        tail = 0 if at == len(steps) - 1 else _AROUND
        if len(steps) > 1 and len(words) > head + tail + 2:
            words = [*words[:head], (True, "…"), *words[len(words) - tail :]]
        _add(spans, words, "")
    return tuple(spans)


def _tokens(text: str) -> list[tuple[bool, str]]:
    """Returns words with whether white space stands before each, at most `LONGEST`."""
    tokens: list[tuple[bool, str]] = []
    for match in _TOKEN.finditer(text):
        if len(tokens) == LONGEST:
            tokens.append((True, "…"))
            break
        tokens.append((bool(match[1]), match[2]))
    return tokens


def _add(spans: list[Span], words: list[tuple[bool, str]], style: Style) -> None:
    """Appends a span of words; the white space before it stays outside of its marks."""
    if not words:
        return
    if spans and words[0][0]:
        spans.append(Span(" "))
    text = words[0][1] + "".join((" " if space else "") + word for space, word in words[1:])
    spans.append(Span(text, style))
