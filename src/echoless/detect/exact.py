"""Exact: the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from echoless.detect.base import Card, DetectorOptions, Proposed
from echoless.detect.classes import by_id, cut_short, fold, pairs_within, stars
from echoless.detect.gate import gate_for, refuse_unknown
from echoless.model import Candidate, Memory
from echoless.tally import Tally
from echoless.text import is_blank

__all__ = ["ExactDetector"]

NAME: Final = "exact"


class ExactDetector:
    """Proposes memories whose contents are equal code point for code point, similarity 1.0.

    Every pair among copies is proposed, unless fewer partners are asked for. A threshold changes
    nothing: 1.0 passes all of them.
    """

    name = NAME
    steady = True
    card = Card(
        finds="copies of the same text",
        misses="anything that differs in one character, a trailing space included",
        cost="n, and one step for each pair of copies",
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options)
        gate_for(NAME, options, 1.0)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose all pairs of equal contents; empty texts are no candidates."""
        told = []
        for memory in by_id(memories):
            if is_blank(memory.content):
                tally.skip("empty", memory.id)
            else:
                told.append((memory.content, memory))
        for copies in fold(told).values():
            yield from pairs_within(copies, NAME, 1.0)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """As `detect`, in arrays; see `BulkDetector`."""
        import numpy as np  # noqa: PLC0415 - only where copies are looked for in bulk

        told = []
        for position, memory in enumerate(memories):
            if is_blank(memory.content):
                tally.skip("empty", memory.id)
            else:
                told.append((memory.content, position))
        classes = [each for each in fold(told).values() if len(each) > 1]
        if cut := cut_short(classes, most):
            tally.note(f"exact: {cut:,} memories were compared with their {most} best copies only.")
        for one, other in stars(classes, most):
            yield Proposed(one, other, np.ones(len(one)))
