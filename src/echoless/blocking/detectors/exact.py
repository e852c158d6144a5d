"""The detector `exact`: memories with the same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from echoless.blocking.detector import (
    Bulk,
    DetectorOptions,
    Proposed,
    gate_for,
    places_with_text,
    refuse_unknown,
)
from echoless.blocking.equal_values import cut_short, stars
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.run_notes import Tally

NAME: Final = "exact"


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
        if cut := cut_short(classes, most):
            tally.note(f"exact: {cut:,} memories were compared with their {most} best copies only.")
        for one, other in stars(classes, most):
            yield Proposed(one, other, np.ones(len(one)))
