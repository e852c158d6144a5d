"""Finds series: one sentence written again and again with other figures, such as a heartbeat.

`242 tests pass`, `286 tests pass`, … are neither copies nor conflicts a person has to settle one by
one. A report needs one line for them: how many there are, and which one is the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.model import Contradiction, DifferenceKind, Judged, Memory, Sibling, Update
from echoless.core.timestamps import instant

LEAST: Final = 4
"""Memories of one sentence from which they are a series, inclusive."""
_LETTERS: Final = 3
"""Letters beside the figures that a sentence has at least."""
_FIGURE: Final = re.compile(r"(?<![\w#/.-])[+-]?\d+(?:[.,:/-]\d+)*(?![\w#/-])")
_VALUES: Final = frozenset({DifferenceKind.NUMBER, DifferenceKind.DATE, DifferenceKind.UNIT})


@dataclass(frozen=True, slots=True)
class Series:
    """Memories of one sentence with other figures.

    Attributes:
        members: Their ids, oldest first; by id where times do not tell.
        newest: The one made last; empty where times do not tell.
    """

    members: tuple[str, ...]
    newest: str


def series_of(pairs: Iterable[Judged], memories: Mapping[str, Memory]) -> list[Series]:
    """Returns the series among pairs that stay apart, largest first.

    Args:
        pairs: Of one namespace.
        memories: By id.
    """
    by_sentence: dict[str, set[str]] = {}
    for pair in pairs:
        if is_step(pair):
            one, other = sentence(memories[pair.a].content), sentence(memories[pair.b].content)
            if one == other and sum(map(str.isalpha, one)) >= _LETTERS:
                by_sentence.setdefault(one, set()).update((pair.a, pair.b))
    series = []
    for ids in by_sentence.values():
        if len(ids) < LEAST:
            continue
        times = {id_: instant(memories[id_].created_at) for id_ in ids}
        if None in times.values():
            series.append(Series(tuple(sorted(ids)), ""))
        else:
            order = sorted(ids, key=lambda id_: (times[id_] or 0, id_))
            series.append(Series(tuple(order), order[-1]))
    return sorted(series, key=lambda each: (-len(each.members), each.members))


def is_step(pair: Judged) -> bool:
    """Checks whether nothing but one figure, or dates and one figure, keeps two memories apart.

    Two figures are two places: `gate 3 has code 403` and `gate 4 has code 404` are two gates.
    """
    differences = pair.verdict.evidence.differences
    if not isinstance(pair.verdict, Update | Contradiction | Sibling) or not differences:
        return False
    counted = [each for each in differences if each.kind is not DifferenceKind.DATE]
    sides = (sum(len(each.a) for each in counted), sum(len(each.b) for each in counted))
    return all(each.kind in _VALUES for each in differences) and max(sides) <= 1


def sentence(text: str) -> str:
    """Returns a text with a sign in the place of each figure; identifiers and versions stay."""
    return " ".join(_FIGURE.sub("0", text.casefold()).split())


def outside(pairs: Sequence[Judged], series: Sequence[Series]) -> list[Judged]:
    """Returns the pairs whose two memories are not of one series."""
    of = {id_: place for place, each in enumerate(series) for id_ in each.members}
    return [p for p in pairs if not (p.a in of and of[p.a] == of.get(p.b) and is_step(p))]
