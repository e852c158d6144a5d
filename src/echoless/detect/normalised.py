"""Normalised: the same text under another dressing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from echoless.detect.base import Card, DetectorOptions
from echoless.detect.classes import by_id, fold
from echoless.detect.gate import gate_for, refuse_unknown
from echoless.model import Candidate, Memory, candidate
from echoless.tally import Tally
from echoless.text import normalise

__all__ = ["CASE_FOLDED", "CASE_KEPT", "NormalisedDetector"]

NAME: Final = "normalised"

CASE_KEPT: Final = 1.0
"""Similarity of two texts whose normal forms are equal with their case kept."""

CASE_FOLDED: Final = 0.999
"""Similarity of two texts that are equal only once case is folded.

Below 1 so that a reader, and the judge, can tell the tiers apart: `TLS` and `tls`, or two paths
that differ in case, may be two things.
"""


class NormalisedDetector:
    """Proposes memories whose normal forms (`echoless.text.normalise`) are equal.

    The normal form ignores Markdown dressing, typographic quotes, white space, invisible characters
    and whatever Unicode NFKC calls compatible (full and half width, ligatures). Two tiers:
    `CASE_KEPT` (1.0) and `CASE_FOLDED` (0.999). A threshold above 0.999, or a strict one of 0.999,
    leaves the first tier only.
    """

    name = NAME
    card = Card(
        finds="the same text with other case, white space, quotes, Markdown or character width",
        misses="another word, a typo, another order",
        cost="n, and one step for each pair found",
        threshold=CASE_FOLDED,
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options)
        self._gate = gate_for(NAME, options, CASE_FOLDED)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs of equal normal forms.

        Texts of which nothing is left, such as `***`, are skipped as "nothing but dressing".
        """
        told = []
        for memory in by_id(memories):
            form = normalise(memory.content, fold_case=True)
            if form:
                told.append((form, memory))
            else:
                tally.skip("nothing but dressing", memory.id)
        for members in fold(told).values():
            yield from self._tiers(members)

    def _tiers(self, members: Sequence[Memory]) -> Iterator[Candidate]:
        forms = [(normalise(memory.content), memory.id) for memory in members]
        for (form, one), (other_form, other) in combinations(forms, 2):
            similarity = CASE_KEPT if form == other_form else CASE_FOLDED
            if self._gate.passes(similarity):
                yield candidate(one, other, NAME, similarity)
