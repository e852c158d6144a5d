"""Normalised: the same text under another dressing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

from echoless.detect.base import Card, DetectorOptions, Proposed
from echoless.detect.classes import by_id, cut_short, fold, stars
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
    steady = True
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

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """As `detect`, in arrays; see `BulkDetector`."""
        import numpy as np  # noqa: PLC0415 - only where memories are looked at in bulk

        classes = [each for each in self._classes(memories, tally) if len(each) > 1]
        if cut := cut_short(classes, most):
            tally.note(
                f"normalised: {cut:,} memories were compared with the {most} best of their class "
                "only."
            )
        codes: dict[str, int] = {}
        form = np.zeros(len(memories), dtype=np.int64)
        for position in (each for members in classes for each in members):
            told = normalise(memories[position].content)
            form[position] = codes.setdefault(told, len(codes))
        for one, other in stars(classes, most):
            similarity = np.where(form[one] == form[other], CASE_KEPT, CASE_FOLDED)
            yield Proposed(one, other, similarity)

    def _classes(self, memories: Sequence[Memory], tally: Tally) -> Iterable[Sequence[int]]:
        """Positions of memories any two of which pass."""
        fold_case = self._gate.passes(CASE_FOLDED)
        told = []
        for position, memory in enumerate(memories):
            form = normalise(memory.content, fold_case=fold_case)
            if form:
                told.append((form, position))
            else:
                tally.skip("nothing but dressing", memory.id)
        return fold(told).values()
