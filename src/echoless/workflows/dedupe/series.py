"""Finds series: repetitions of one sentence with other figures, or of one label with other values.

`242 tests pass`, `286 tests pass`, … are neither copies nor conflicts a person has to settle one by
one; nor are `Mood: calm`, `Mood: tired`, … at the head of each day of a diary, or what a chat
program writes above each message. A report needs one line for them: how many there are, and which
one is the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Judged,
    Memory,
    Sibling,
    Unsure,
    Update,
)
from echoless.core.timestamps import instant

LEAST: Final = 4
"""Smallest number of memories with one sentence that form a series."""
_LETTERS: Final = 3
"""Letters beside the figures that a sentence has at least."""
_FIGURE: Final = re.compile(r"(?<![\w#/.-])[+-]?\d+(?:[.,:/-]\d+)*(?![\w#/-])")
_LABEL: Final = re.compile(r"[\W_]*([^\W\d_][^:：\n]{0,39})[:：]")
_DAY: Final = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)\b")
"""Days of the week as programs write them in English before a date."""
_VALUES: Final = frozenset({DifferenceKind.NUMBER, DifferenceKind.DATE, DifferenceKind.UNIT})


@dataclass(frozen=True, slots=True)
class Series:
    """Memories with one sentence and different figures, or with one label and different values.

    Attributes:
        members: Their ids, oldest first; by id where times do not tell.
        newest: The one made last; empty where times do not tell.
    """

    members: tuple[str, ...]
    newest: str


def series_of(
    pairs: Iterable[Judged], memories: Mapping[str, Memory], *, labels: bool = True
) -> list[Series]:
    """Returns the series among pairs that stay apart, largest first.

    Args:
        pairs: Of one namespace.
        memories: By id.
        labels: Whether one label with other values is a series too.
    """
    by_frame: dict[str, set[str]] = {}
    for pair in pairs:
        frame = _frame(pair, memories[pair.a].content, memories[pair.b].content, labels)
        if frame:
            by_frame.setdefault(frame, set()).update((pair.a, pair.b))
    series = []
    for ids in by_frame.values():
        if len(ids) < LEAST:
            continue
        times = {id_: instant(memories[id_].created_at) for id_ in ids}
        if None in times.values():
            series.append(Series(tuple(sorted(ids)), ""))
        else:
            order = sorted(ids, key=lambda id_: (times[id_] or 0, id_))
            series.append(Series(tuple(order), order[-1]))
    return sorted(series, key=lambda each: (-len(each.members), each.members))


def _frame(pair: Judged, one: str, other: str, labels: bool) -> str:
    """Returns the common sentence or label that makes two texts one series; empty without one."""
    head = label(one) if labels else ""
    step = is_step(pair) and _common(one, other)
    if head and (step or _is_status(pair)) and head == label(other):
        return f"{head}:"
    return step or ""


def _common(one: str, other: str) -> str:
    """Returns the sentence of two texts with signs for figures; empty if they have no such one."""
    said = sentence(one)
    return said if said == sentence(other) and sum(map(str.isalpha, said)) >= _LETTERS else ""


def is_step(pair: Judged) -> bool:
    """Checks whether nothing but one figure, or dates and one figure, keeps two memories apart.

    Two figures are two places: `gate 3 has code 403` and `gate 4 has code 404` are two gates.
    """
    differences = pair.verdict.evidence.differences
    if not isinstance(pair.verdict, Update | Contradiction | Sibling | Unsure) or not differences:
        return False
    counted = [each for each in differences if each.kind is not DifferenceKind.DATE]
    sides = (sum(len(each.a) for each in counted), sum(len(each.b) for each in counted))
    return all(each.kind in _VALUES for each in differences) and max(sides) <= 1


def _is_status(pair: Judged) -> bool:
    return isinstance(pair.verdict, Update | Contradiction)


def sentence(text: str) -> str:
    """Returns a text with a sign in the place of each figure; identifiers and versions stay."""
    return " ".join(_DAY.sub("0", _FIGURE.sub("0", text.casefold())).split())


def label(text: str) -> str:
    """Returns what stands before the first colon of a text, in small letters; empty without one.

    A label has no line end and at most 40 characters, and begins with a letter.
    """
    match = _LABEL.match(text)
    return match[1].strip("*_` ").casefold() if match else ""


def outside(pairs: Sequence[Judged], series: Sequence[Series]) -> list[Judged]:
    """Returns the pairs whose two memories are not of one series."""
    of = {id_: place for place, each in enumerate(series) for id_ in each.members}
    return [
        pair
        for pair in pairs
        if not (pair.a in of and of[pair.a] == of.get(pair.b))
        or not (is_step(pair) or _is_status(pair))
    ]
