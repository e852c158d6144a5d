"""MinHash: shared words or runs of words, found without comparing every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from echoless.detect.bands import Banding, band_keys, banding_for, meeting_pairs
from echoless.detect.base import Card, DetectorOptions
from echoless.detect.classes import by_id, fold, pairs_between, pairs_within
from echoless.detect.gate import count_setting, gate_for, refuse_unknown, share_setting
from echoless.detect.shingle_sets import Ints, ShingleSets, number_shingles
from echoless.errors import UsageError
from echoless.model import Candidate, Memory
from echoless.tally import Tally
from echoless.text import word_shingles

__all__ = ["MinHashDetector"]

NAME: Final = "minhash"

DEFAULT_THRESHOLD: Final = 0.5
DEFAULT_WORDS: Final = 1
"""Single words at 0.5 find as many gold pairs of the development store as pairs of words at 0.25
(25 %), for 156 MinHash values instead of 216; pairs of words at 0.5 find 13 %
(`benchmarks/results/detectors.md`)."""

DEFAULT_RECALL: Final = 0.999


class MinHashDetector:
    """Proposes memories whose sets of word shingles have a high Jaccard similarity.

    Shingles are `echoless.text.word_shingles` (setting `words`: words in a shingle). Sets that
    share a band of MinHash values (`bands.py`) are compared exactly, so a similarity is never an
    estimate; a pair at the very threshold is met with probability `expected_recall` (setting
    `recall`), one above it with more.
    """

    name = NAME
    card = Card(
        finds="mostly the same words, in stores too large for lexical",
        misses="inflection, paraphrases, short texts inside long ones",
        cost="n signatures of up to 384 values, and the pairs that share a band",
        threshold=DEFAULT_THRESHOLD,
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options, "words", "recall")
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._words = count_setting(NAME, options, "words", default=DEFAULT_WORDS, least=1, most=16)
        recall = share_setting(NAME, options, "recall", default=DEFAULT_RECALL)
        self.banding = _banding(self._gate.threshold, recall)

    @property
    def expected_recall(self) -> float:
        """Probability of meeting a pair at the threshold: `1 - (1 - t^rows)^bands`."""
        return self.banding.chance(self._gate.threshold)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs whose Jaccard similarity passes the threshold.

        Texts without a word, such as `***`, are skipped as "no words".
        """
        told = []
        for memory in by_id(memories):
            shingles = word_shingles(memory.content, self._words)
            if shingles:
                told.append((shingles, memory))
            else:
                tally.skip("no words", memory.id)
        folded = fold(told)
        yield from self._pairs(list(folded), list(folded.values()))

    def _pairs(
        self, shingles: Sequence[frozenset[str]], classes: Sequence[Sequence[Memory]]
    ) -> Iterator[Candidate]:
        for members in classes:
            yield from pairs_within(members, NAME, 1.0)
        if len(classes) < 2:
            return
        sets = number_shingles(shingles)
        for meeting in meeting_pairs(band_keys(sets, self.banding)):
            for one, other, similarity in self._confirm(sets, *meeting):
                yield from pairs_between(classes[one], classes[other], NAME, similarity)

    def _confirm(
        self, sets: ShingleSets, one: Ints, other: Ints
    ) -> Iterator[tuple[int, int, float]]:
        """The pairs that pass, with their exact similarity; sizes rule out most of the others."""
        sizes = sets.sizes
        smaller, larger = np.minimum(sizes[one], sizes[other]), np.maximum(sizes[one], sizes[other])
        fits = smaller / larger >= self._gate.threshold
        found = sets.jaccard(one[fits], other[fits]).tolist()
        for left, right, similarity in zip(
            one[fits].tolist(), other[fits].tolist(), found, strict=True
        ):
            if self._gate.passes(similarity):
                yield left, right, similarity


def _banding(threshold: float, recall: float) -> Banding:
    found = banding_for(threshold, recall)
    if found is None:
        raise UsageError(
            f"The detector {NAME!r} cannot promise a recall of {recall} at the threshold "
            f"{threshold}: that takes too many MinHash values. Raise the threshold, lower the "
            "setting 'recall', or use the detector 'lexical', which finds every pair."
        )
    return found
