"""The detector `normalised`: the same text with other case, white space or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from echoless.blocking.detector import Bulk, DetectorOptions, Proposed, gate_for, refuse_unknown
from echoless.blocking.detectors.exact import note_cut, stars
from echoless.blocking.pair_scores import CASE_FOLDED, CASE_KEPT
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import normalise

__all__ = ["CASE_FOLDED", "CASE_KEPT", "NormalisedDetector"]

NAME: Final = "normalised"


class NormalisedDetector(Bulk):
    """A detector of memories whose normal forms (`echoless.core.text.normalise`) are equal.

    The normal form ignores Markdown dressing, typographic quotes, white space, invisible characters
    and whatever Unicode NFKC calls compatible (full and half width, ligatures). Two tiers:
    `CASE_KEPT` (1.0) and `CASE_FOLDED` (0.999). A threshold above 0.999, or a strict one of 0.999,
    leaves the first tier only.
    """

    name = NAME

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options)
        self._gate = gate_for(NAME, options, CASE_FOLDED)

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
        note_cut(NAME, classes, most, tally)
        numbers: dict[str, int] = {}
        number_of = np.zeros(len(memories), dtype=np.int64)
        for position in (each for members in classes for each in members):
            form = normalise(memories[position].content)
            number_of[position] = numbers.setdefault(form, len(numbers))
        for one, other in stars(classes, most):
            similarity = np.where(number_of[one] == number_of[other], CASE_KEPT, CASE_FOLDED)
            yield Proposed(one, other, similarity)
