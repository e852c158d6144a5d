"""The detector `exact`: memories with the same text, and the pairs of any equal values.

A thousand copies of one sentence are one comparison, not half a million. Pairs are expanded by
generators, so memory stays bounded; none is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import (
    Bulk,
    DetectorOptions,
    Proposed,
    gate_for,
    places_with_text,
    refuse_unknown,
)
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.run_notes import Tally

NAME: Final = "exact"

Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Two arrays of one length: positions of pairs, the first before the second."""

_AT_ONCE: Final = 1_000_000
"""Pairs made at a time."""

_SMALL: Final = 32
"""Members of a class up to which lists are faster than arrays."""


class ExactDetector(Bulk):
    """A detector of memories whose contents are equal code point for code point, similarity 1.0.

    Every pair among copies is proposed, unless fewer partners are asked for. A threshold changes
    nothing: 1.0 passes all of them.
    """

    name = NAME

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options)
        gate_for(NAME, options, 1.0)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields all pairs of equal contents; empty texts are no candidates."""
        texts = ((memories[place].content, place) for place in places_with_text(memories, tally))
        classes = [each for each in grouped(texts).values() if len(each) > 1]
        note_cut(NAME, classes, most, tally)
        for one, other in stars(classes, most):
            yield Proposed(one, other, np.ones(len(one)))


def stars(classes: Iterable[Sequence[int]], most: int | None) -> Iterator[Places]:
    """Yields pairs of each member of a class with those before it.

    Args:
        classes: Positions, ascending in each.
        most: Only the first so many members are partners; None for all pairs of a class.

    Yields:
        Blocks of pairs, none empty.
    """
    one: list[int] = []
    other: list[int] = []
    for members in classes:
        if len(members) > _SMALL:
            large = np.array(members, dtype=np.int64)
            size = len(large)
            reach = size if most is None else min(size, max(1, most))
            step = max(1, _AT_ONCE // reach)
            for start in range(1, size, step):
                rows = np.arange(start, min(start + step, size))
                partners = np.minimum(rows, reach)
                ends = np.cumsum(partners)
                first = np.arange(ends[-1]) - np.repeat(ends - partners, partners)
                yield large[first], large[np.repeat(rows, partners)]
            continue
        for at, later in enumerate(members):
            before = members[:at][:most]
            one += before
            other += [later] * len(before)
        if len(one) >= _AT_ONCE:
            yield np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)
            one, other = [], []
    if one:
        yield np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)


def note_cut(
    name: str, classes: Iterable[Sequence[object]], most: int | None, tally: Tally
) -> None:
    """Notes how many members of classes have more than `most` members before them, if any have."""
    if cut := 0 if most is None else sum(max(0, len(each) - 1 - most) for each in classes):
        tally.note(
            f"{name}: {cut:,} memories were compared with the {most} best of their class only."
        )
