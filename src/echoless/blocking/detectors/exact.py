"""The detectors `exact` and `normalised`: the same text, and the same but for how it is written.

A thousand copies of one sentence are one comparison, not half a million. Pairs are expanded by
generators, so memory stays bounded; none is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
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
from echoless.blocking.pair_scores import CASE_FOLDED, CASE_KEPT
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import normalise

Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Two arrays of one length: positions of pairs, the first before the second."""

_AT_ONCE: Final = 1_000_000
"""Pairs made at a time."""


class ExactDetector(Bulk):
    """A detector of memories whose contents are equal code point for code point, similarity 1.0.

    Every pair among copies is proposed, unless fewer partners are asked for. A threshold changes
    nothing: 1.0 passes all of them.
    """

    name = "exact"

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(self.name, options)
        gate_for(self.name, options, 1.0)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields all pairs of equal contents; empty texts are no candidates."""
        texts = ((memories[place].content, place) for place in places_with_text(memories, tally))
        classes = [each for each in grouped(texts).values() if len(each) > 1]
        note_cut(self.name, classes, most, tally)
        for one, other in stars(classes, most):
            yield Proposed(one, other, np.ones(len(one)))


class NormalisedDetector(Bulk):
    """A detector of memories whose normal forms (`echoless.core.text.normalise`) are equal.

    The normal form ignores Markdown dressing, typographic quotes, white space, invisible characters
    and whatever Unicode NFKC calls compatible (full and half width, ligatures). Two tiers:
    `CASE_KEPT` (1.0) and `CASE_FOLDED` (0.999). A threshold above 0.999, or a strict one of 0.999,
    leaves the first tier only.
    """

    name = "normalised"

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(self.name, options)
        self._gate = gate_for(self.name, options, CASE_FOLDED)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs of equal normal forms."""
        fold_case = self._gate.passes(CASE_FOLDED)
        forms = []
        for position, memory in enumerate(memories):
            form = normalise(memory.content, fold_case=fold_case)
            if form:
                forms.append((form, position))
            else:
                tally.skip("nothing but dressing", memory.id)
        classes = [each for each in grouped(forms).values() if len(each) > 1]
        note_cut(self.name, classes, most, tally)
        numbers: dict[str, int] = {}
        number_of = np.zeros(len(memories), dtype=np.int64)
        for position in (each for members in classes for each in members):
            form = normalise(memories[position].content)
            number_of[position] = numbers.setdefault(form, len(numbers))
        for one, other in stars(classes, most):
            similarity = np.where(number_of[one] == number_of[other], CASE_KEPT, CASE_FOLDED)
            yield Proposed(one, other, similarity)


def stars(classes: Iterable[Sequence[int]], most: int | None) -> Iterator[Places]:
    """Yields pairs of each member of a class with those before it.

    Args:
        classes: Positions, ascending in each.
        most: Only the first so many members are partners; None for all pairs of a class.

    Yields:
        Blocks of pairs, none empty.
    """
    chosen = list(classes)
    sizes = np.fromiter(map(len, chosen), dtype=np.int64)
    members = np.fromiter(chain.from_iterable(chosen), dtype=np.int64)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
    reach = len(members) if most is None else max(1, most)
    partners = np.minimum(np.arange(len(members)) - begins, reach)
    total = np.cumsum(partners)
    for start in range(0, int(partners.sum()), _AT_ONCE):
        pair = np.arange(start, min(start + _AT_ONCE, total[-1]))
        row = np.searchsorted(total, pair, side="right")
        nth = pair - (total - partners)[row]
        yield members[begins[row] + nth], members[row]


def note_cut(
    name: str, classes: Iterable[Sequence[object]], most: int | None, tally: Tally
) -> None:
    """Notes how many members of classes have more than `most` members before them, if any have."""
    if cut := 0 if most is None else sum(max(0, len(each) - 1 - most) for each in classes):
        tally.note(
            f"{name}: {cut:,} memories were compared with the {most} best of their class only."
        )
