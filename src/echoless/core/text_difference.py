"""Word-by-word difference of two texts."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

LONGEST: Final = 1_500
"""Words compared; the comparison is quadratic in the worst case, and nobody reads further."""

_MOST_EQUAL: Final = 50_000
"""Pairs of equal words up to which `difflib` looks for what agrees. It reads best and takes cubic
time: 1,500 words of which each second one is the same take ten seconds, and the longest common
subsequence two milliseconds. Two English texts of 1,500 words have some 40,000 such pairs."""

_AROUND: Final = 12
"""Words kept on each side of a change; longer stretches that agree are left out."""

_UNSPACED: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN: Final = re.compile(
    rf"(\s*)([{_UNSPACED}]|[^\W{_UNSPACED}]+(?:[.,:/@'’_-][^\W{_UNSPACED}]+)*|[^\w\s])"
)

Change: TypeAlias = Literal["", "old", "new"]


@dataclass(frozen=True, slots=True)
class DifferencePart:
    """A stretch of text of a difference.

    Attributes:
        text: The words, with single spaces between them.
        change: `old` for words only in the first text, `new` for words only in the second one,
            empty for what both have.
    """

    text: str
    change: Change = ""


class _Word(NamedTuple):
    text: str
    spaced: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ChangedRanges:
    """Where two texts differ.

    Attributes:
        old: Offsets of the first text, start inclusive and end exclusive, in order.
        new: Offsets of the second text.
        whole: False if a text has more than `LONGEST` words: what follows them was not compared.
    """

    old: tuple[tuple[int, int], ...]
    new: tuple[tuple[int, int], ...]
    whole: bool


def word_difference(old: str, new: str) -> tuple[DifferencePart, ...]:
    """Returns removed words (`old`), added words (`new`), and common words around them.

    White space is not compared. Scripts without spaces are compared character by character. Long
    stretches that agree are shortened.
    """
    before, after = _words(old), _words(new)
    parts: list[DifferencePart] = []
    steps = _steps(before, after)
    for at, (kind, a, b, c, d) in enumerate(steps):
        if kind != "equal":
            _add(parts, before[a:b], "old")
            _add(parts, after[c:d], "new")
            continue
        words = after[c:d]
        head = 0 if at == 0 else _AROUND
        tail = 0 if at == len(steps) - 1 else _AROUND
        if len(steps) > 1 and len(words) > head + tail + 2:
            words = [*words[:head], _Word("…", True, 0, 0), *words[len(words) - tail :]]
        _add(parts, words, "")
    return tuple(parts)


def alike(old: str, new: str) -> bool:
    """Checks whether at least half of the words of two texts are common, as often as they occur.

    Where it is less, a reader compares the plain texts faster than their difference.
    """
    before, after = (Counter(word.text for word in _words(text)) for text in (old, new))
    return 4 * (before & after).total() >= before.total() + after.total()


def changed_ranges(old: str, new: str) -> ChangedRanges:
    """Returns where two texts differ, word by word, as offsets into each text as it is."""
    before, after = _words(old), _words(new)
    whole = len(before) <= LONGEST and len(after) <= LONGEST
    ranges: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for kind, a, b, c, d in _steps(before, after):
        if kind == "equal":
            continue
        for words, side in ((before[a:b], ranges[0]), (after[c:d], ranges[1])):
            places = [(word.start, word.end) for word in words if word.end]
            if places:
                side.append((places[0][0], places[-1][1]))
    return ChangedRanges(tuple(ranges[0]), tuple(ranges[1]), whole)


def _steps(before: list[_Word], after: list[_Word]) -> list[tuple[str, int, int, int, int]]:
    """Returns edit steps from one list of words to the other."""
    one, other = [word.text for word in before], [word.text for word in after]
    often = Counter(other)
    if sum(often[text] for text in one) <= _MOST_EQUAL:
        return list(difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes())
    steps: list[tuple[str, int, int, int, int]] = []
    from rapidfuzz import distance

    for each in distance.LCSseq.opcodes(one, other):
        kind = "equal" if each.tag == "equal" else "replace"
        a, c = each.src_start, each.dest_start
        if steps and steps[-1][0] == kind:
            _, a, _, c, _ = steps.pop()
        steps.append((kind, a, each.src_end, c, each.dest_end))
    return steps


def _words(text: str) -> list[_Word]:
    """Returns words with whether white space stands before each, at most `LONGEST`."""
    words: list[_Word] = []
    for match in _TOKEN.finditer(text.rstrip()):
        if len(words) == LONGEST:
            words.append(_Word("…", True, 0, 0))
            break
        words.append(_Word(match[2], bool(match[1]), match.start(2), match.end(2)))
    return words


def _add(parts: list[DifferencePart], words: list[_Word], change: Change) -> None:
    """Appends a part of words; the white space before it stays outside of its marks."""
    if not words:
        return
    if parts and words[0].spaced:
        parts.append(DifferencePart(" "))
    text = words[0].text + "".join((" " if word.spaced else "") + word.text for word in words[1:])
    parts.append(DifferencePart(text, change))
