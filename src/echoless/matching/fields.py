"""Reads the fields that a note carries around its sentence: list mark, status, date, label.

Agents write `- [x] 2025-03-02: **Queue:** added` where a person would say `the queue was added`.
What stands in these fields is compared as a field; the sentence is compared without them.

A line of a document also has what it stands under: its file, headings, the lead of its list. Two
lines under other headings say the same only if both are whole statements and the headings limit
neither (`guards.in_place`, ADR 0036).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from echoless.core.model import STEP, Memory, under
from echoless.core.text import (
    BOX,
    BOXES,
    ByText,
    lazy_pattern,
    normalise,
    struck,
    without_html,
    words,
)
from echoless.matching.languages import listed, stem


class Status(StrEnum):
    """How far a task is, as a mark says."""

    DONE = "done"
    OPEN = "open"
    ACTIVE = "in progress"
    FAILED = "failed"


_MARKS: Final[dict[str, Status | None]] = {
    sign: status
    for status, signs in (
        (Status.DONE, "\u2705\u2714\u2611\u2713\U0001f389"),
        (Status.OPEN, "\u2610\u2b1c\U0001f532"),
        (Status.ACTIVE, "\U0001f504\U0001f6a7\u23f3"),
        (Status.FAILED, "\u274c\u2717\u2718"),
        (None, "\U0001f7e2\U0001f7e1\U0001f534\u26a0\U0001f195\u2b50\U0001f4dd\U0001f4cb"),
        (None, "\U0001f527\U0001f680\u2728\U0001f41b\U0001f525\U0001f4cc\U0001f4a1\U0001f3af"),
    )
    for sign in signs
}
"""Signs that stand before a note, with the status they tell; None where they tell none.

A coloured circle, a star or a rocket says nothing that two writers would mean alike.
"""

_WORDS: Final[dict[str, Status | None]] = {
    word: status
    for status, words in (
        (
            Status.DONE,
            "done|completed|complete|fixed|resolved|erledigt|hecho|fait|完了|完成|已完成",
        ),
        (Status.OPEN, "todo|to do|open|pending|planned|offen|未着手|待办"),
        (Status.ACTIVE, "wip|in progress|進行中|进行中"),
        (Status.FAILED, "blocked|failed"),
        (None, "new|note|important"),
    )
    for word in words.split("|")
}
"""Words that stand in capitals, brackets or before a colon, with the status they tell."""

_BULLET: Final = lazy_pattern(r"(?:[-*+\u2022\u25cf\u25aa\u2023]|\d{1,3}[.)]|>+|#{1,6})\s+")
_SIGN: Final = lazy_pattern("(?P<sign>[" + "".join(_MARKS) + "])[\ufe0e\ufe0f]?\\s*")
_WORD: Final = lazy_pattern(
    r"(?:[\[(](?P<inside>[^\W\d_][\w ]{1,12})[\])]\s*:?|(?P<upper>[A-Z][A-Z ]{1,12}):"
    r"|(?P<before>[^\W\d_][\w ]{1,12})[:\uff1a])\s*"
)
_DATE: Final = lazy_pattern(
    r"[\[(]?(?P<date>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})(?:[T ,]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?))?"
    r"(?:\s?(?:Z|UTC))?[\])]?\s*(?:[:|]|[-\u2013\u2014]\s)?\s*"
)
_TAIL: Final = lazy_pattern(
    "\\s*(?:[(\\[](?P<word>[^\\W\\d_][\\w ]{1,12})[)\\]]|(?P<sign>[" + "".join(_MARKS) + "]))"
    "[\ufe0e\ufe0f]?[.]?$"
)
_LONGEST_TAIL: Final = 20
_TAIL_ENDS: Final = frozenset(")]").union(_MARKS)
"""Signs of which one is among the last three of a text that ends with a mark."""
_COLONS: Final = frozenset(":\uff1a")
_HEAD: Final = 60
"""Signs in which a word that stands before a colon ends, markup included."""
_STATES: Final[dict[str, str]] = {each.value: each for each in Status}
_SIGNS: Final = str.maketrans(
    {
        "\u2265": ">=",
        "\u2264": "<=",
        "\u2192": "->",
        "\u21d2": "=>",
        "\u2026": "...",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u00a0": " ",
    }
)
"""Signs that are written in two ways, and mean the same."""

_MARKUP: Final = lazy_pattern(r"\*\*|__|`{1,3}")
_LONGEST_HEAD: Final = 12
"""Fields taken off one text at most."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A note, divided into its sentence and its marks: list, status, date.

    Attributes:
        sentence: The text without list marks, status marks, a leading date and markup.
        status: What a mark or a word says of how far it is, or None; a `Status`, or another of
            `BOXES`, or the sign in the box.
        date: A leading date as `YYYY-MM-DD`, or empty.
        struck: Normal form of the words that are struck out; the sentence has them only where
            there are no others.
    """

    sentence: str
    status: str | None
    date: str
    struck: str = ""

    @property
    def dated(self) -> str:
        """Returns the sentence with its date in front."""
        return f"{self.date}: {self.sentence}" if self.date else self.sentence


@ByText
def fields_of(text: str) -> Fields:
    """Returns the fields of a text. A text of nothing but marks is its own sentence."""
    status: str | None = None
    date = ""
    rest, gone = struck(text)
    rest = without_html(rest).strip()
    # no list, no mark, no date, and no word before a colon
    unmarked = rest[:1].isalpha() and _COLONS.isdisjoint(rest[:_HEAD])
    for _ in range(0 if unmarked else _LONGEST_HEAD):
        if match := _BULLET.match(rest):
            pass
        elif match := BOX.match(rest):
            state = BOXES.get(match["inside"], match["inside"])
            status = status or _STATES.get(state, state)
        elif match := _SIGN.match(rest):
            status = status or _MARKS[match["sign"]]
        elif not date and (match := _DATE.match(rest)):
            date = "-".join(f"{int(part):02}" for part in re.split(r"[-/.]", match["date"]))
        elif (match := _WORD.match(_plain(rest))) and (word := _known(match)) is not None:
            status = status or _WORDS[word]
            rest = _plain(rest)
        else:
            break
        if match.end() >= len(rest):
            break
        rest = rest[match.end() :]
    sentence = _MARKUP.sub("", rest) if "`" in rest or "**" in rest or "__" in rest else rest
    sentence = (sentence if sentence.isascii() else sentence.translate(_SIGNS)).strip()
    ends = not _TAIL_ENDS.isdisjoint(sentence[-3:])
    if ends and (match := _TAIL.search(sentence, max(0, len(sentence) - _LONGEST_TAIL))):
        word = (match["word"] or "").casefold()
        if match["sign"] or word in _WORDS:
            tail_status = _MARKS[match["sign"]] if match["sign"] else _WORDS[word]
            status = status or tail_status
            sentence = sentence[: match.start()].strip() or sentence
    return Fields(sentence or text, status, date, normalise(gone, fold_case=True) if gone else "")


def _plain(text: str) -> str:
    """Returns the text without markup at its start."""
    head, tail = text[:40], text[40:]
    return _MARKUP.sub("", head) + tail


def _known(match: re.Match[str]) -> str | None:
    """Returns the word of a match if it is a status word."""
    word = (match["inside"] or match["upper"] or match["before"] or "").strip().casefold()
    return word if word in _WORDS else None


# ------------------------------------------------------------------ headings

_STATED: Final = 5
"""Words of the first line from which a text states something by itself, inclusive. In 36 public
repositories shorter lines under two headings are labels, values and items, that the heading
completes."""

_TAGGED_TIME: Final = lazy_pattern(
    r"\A((?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d{2}(?::\d{2})?)\s+\[[^\[\]]{1,40}\]\s*\Z"
)
"""A heading of a journal: when something was written down, and a tag, which limits nothing."""

_WHEN: Final = lazy_pattern(
    r"(?i)(?:\bsession\W+)?(?:\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d(?::\d\d)?\b)"
)
"""A day or time in a heading. It says when, as the later of two conflicting statements has to."""

_ORDINAL: Final = lazy_pattern(r"\A(?:\d+\.)*\d+[.)]?\s+(?=\S)")


@ByText
def is_statement(text: str) -> bool:
    """Returns whether a text says by itself what it is about: no label, value, item or state."""
    said = fields_of(text)
    first = said.sentence.partition("\n")[0].rstrip()
    own = words(first)
    if said.status is not None or said.struck or first.endswith((":", "\uff1a")):
        return False
    points = len(own) < _STATED or own[0] in listed("pointing_first")
    return not points and listed("pointing").isdisjoint(own)


def limits(memory: Memory, *, whole: bool = True) -> tuple[str, ...]:
    """Returns what may limit a memory, of each part of what it stands under: words of headings.

    Words that are neutral or in the text itself limit nothing: `Style`, or `Redis` above `Redis
    keys expire after a day`.

    Args:
        memory: Any.
        whole: Whether every part limits a text that is no statement, or is a step, and a day or
            a time limits any.
    """
    parts = [_TAGGED_TIME.sub(r"\1", part) for part in under(memory)]
    if not whole:
        parts = [_WHEN.sub(" ", part) for part in parts]
    if whole and parts and (parts[-1] == STEP or not is_statement(memory.content)):
        return tuple(normalise(part, fold_case=True) for part in parts)
    plain = listed("neutral_headings").union(stem(word, "en") for word in words(memory.content))
    named = (words(_ORDINAL.sub("", part).replace("_", " ")) for part in parts if part != STEP)
    said = (" ".join(word for word in part if stem(word, "en") not in plain) for part in named)
    return tuple(filter(None, said))


def stand_alike(a: Memory, b: Memory) -> bool:
    """Returns whether two memories stand under the same, steps of a list or not."""
    one, other = ([part for part in under(each) if part != STEP] for each in (a, b))
    return one == other
