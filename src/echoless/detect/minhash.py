"""MinHash: shared words, runs of words or characters, found without comparing every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import MISSING, compiled
from echoless.detect.bands import Banding, banding_at, banding_for
from echoless.detect.base import Card, DetectorOptions, Proposed
from echoless.detect.classes import by_id
from echoless.detect.gate import count_setting, gate_for, refuse_unknown, share_setting
from echoless.detect.jaccard_join import JaccardJoin
from echoless.detect.partners import among_classes, proposed
from echoless.detect.shingle_sets import ShingleSets, gram_sets, word_sets
from echoless.detect.shingling import load_for
from echoless.errors import UsageError
from echoless.model import Candidate, Memory
from echoless.tally import Tally

__all__ = ["MinHashDetector"]

Ints = NDArray[np.int64]

NAME: Final = "minhash"

DEFAULT_THRESHOLD: Final = 0.5
DEFAULT_WORDS: Final = 1
"""Single words at 0.5 find as many gold pairs of the development store as pairs of words at 0.25
(25 %), for 156 MinHash values instead of 216; pairs of words at 0.5 find 13 %
(`benchmarks/results/detectors.md`)."""

DEFAULT_RECALL: Final = 0.999

SLOW_FROM: Final = 50_000
"""Memories from which on it is told that a compiler would make it faster."""


class MinHashDetector:
    """Proposes memories whose sets of shingles have a high Jaccard similarity.

    Shingles are `echoless.text.word_shingles` (setting `words`: words in a shingle), or with the
    setting `characters` the `echoless.text.char_ngrams` of so many characters. Sets that share a
    band of MinHash values (`bands.py`) are compared exactly, so a similarity is never an estimate;
    a pair at the very threshold is met with probability `expected_recall` (setting `recall`), one
    above it with more.
    """

    name = NAME
    steady = True
    card = Card(
        finds="mostly the same words, in stores too large for lexical",
        misses="inflection, paraphrases, short texts inside long ones",
        cost="n signatures of up to 384 values, and the pairs that share a band",
        threshold=DEFAULT_THRESHOLD,
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options, "words", "characters", "recall")
        if {"words", "characters"} <= set(options.settings):
            raise UsageError(
                f"The detector {NAME!r} takes shingles of words or of characters: drop one of the "
                "settings 'words' and 'characters'."
            )
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._words = count_setting(NAME, options, "words", default=DEFAULT_WORDS, least=1, most=16)
        self._characters = "characters" in options.settings
        if self._characters:
            self._words = count_setting(NAME, options, "characters", default=3, least=2, most=8)
        self._recall = share_setting(NAME, options, "recall", default=DEFAULT_RECALL)
        self._pulse = options.pulse
        self._memories = options.memories
        self.banding = _banding(self._gate.threshold, self._recall)

    @property
    def expected_recall(self) -> float:
        """Probability of meeting a pair at the threshold: `1 - (1 - t^rows)^bands`."""
        return self.banding.chance(self._gate.threshold)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs whose Jaccard similarity passes the threshold.

        Texts without a word, such as `***`, are skipped as "no words". Texts of equal sets are
        one comparison, however many they are.
        """
        told = by_id(memories)
        sets, places = self._sets(told, tally)
        first = sets.first_equal()
        kept = np.flatnonzero(first == np.arange(len(first)))
        classes: dict[int, list[Memory]] = {row: [] for row in kept.tolist()}
        for row, place in zip(first.tolist(), places.tolist(), strict=True):
            classes[row].append(told[place])
        found = self._join(sets.chosen(kept), None).pairs()
        yield from among_classes(list(classes.values()), found, NAME, self._pulse)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Propose pairs as arrays, see `echoless.detect.base.BulkDetector`."""
        load_for(self._memories)
        sets, places = self._sets(memories, tally)
        if len(places) >= SLOW_FROM and not compiled():
            tally.note(f"{NAME}: {MISSING}")
        for block in proposed(self._join(sets, most).pairs(), places, NAME, tally, most):
            self._pulse()
            yield block

    def _sets(self, memories: Sequence[Memory], tally: Tally) -> tuple[ShingleSets, Ints]:
        """Sets that are not empty, and where the memories of each stand."""
        made = gram_sets if self._characters else word_sets
        sets = made((memory.content for memory in memories), self._words)
        empty = sets.sizes == 0
        if empty.any():
            tally.skip("no words", *(memories[at].id for at in np.flatnonzero(empty).tolist()))
        places = np.flatnonzero(~empty)
        return sets.chosen(places) if empty.any() else sets, places

    def _join(self, sets: ShingleSets, most: int | None) -> JaccardJoin:
        banding = banding_at(sets, self._gate.threshold, self._recall) or self.banding
        return JaccardJoin(sets, self._gate, banding, most)


def _banding(threshold: float, recall: float) -> Banding:
    found = banding_for(threshold, recall)
    if found is None:
        raise UsageError(
            f"The detector {NAME!r} cannot promise a recall of {recall} at the threshold "
            f"{threshold}: that takes too many MinHash values. Raise the threshold, lower the "
            "setting 'recall', or use the detector 'lexical', which finds every pair."
        )
    return found
