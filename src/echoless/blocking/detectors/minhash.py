"""The detector `minhash`: shared words or runs of them, found without comparing every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Card, DetectorOptions, Proposed
from echoless.blocking.detector_options import (
    count_setting,
    gate_for,
    refuse_unknown,
    share_setting,
)
from echoless.blocking.equal_values import by_id
from echoless.blocking.text_join.jaccard_join import JaccardJoin
from echoless.blocking.text_join.minhash_bands import banding_at, banding_for
from echoless.blocking.text_join.shingle_sets import ShingleSets, gram_sets, word_sets
from echoless.blocking.text_join.shingling import load_for
from echoless.blocking.top_k import among_classes, proposed
from echoless.core.errors import UsageError
from echoless.core.model import Candidate, Memory
from echoless.core.run_notes import Tally
from echoless.core.runtime import MISSING, compiled

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
"""Memories from which a note says that a compiler would make it faster."""


class MinHashDetector:
    """A detector of memories whose sets of shingles have a high Jaccard similarity.

    Shingles are `echoless.core.text.word_shingles` (setting `words`: words in a shingle), or with
    the setting `characters` the `echoless.core.text.char_ngrams` of so many characters. Sets that
    share a band of MinHash values (`blocking/text_join/minhash_bands.py`) are compared exactly, so
    a similarity is never an estimate; a pair at the very threshold is met with probability
    `expected_recall` (setting `recall`), one above it with more.
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
        threshold = self._gate.threshold
        banding = banding_for(threshold, self._recall)
        if banding is None:
            raise UsageError(
                f"The detector {NAME!r} cannot promise a recall of {self._recall} at the threshold "
                f"{threshold}: that takes too many MinHash values. Raise the threshold, lower the "
                "setting 'recall', or use the detector 'lexical', which finds every pair."
            )
        self.banding = banding

    @property
    def expected_recall(self) -> float:
        """Returns the probability of meeting a pair at the threshold: `1 - (1 - t^rows)^bands`."""
        return self.banding.chance(self._gate.threshold)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Yields pairs whose Jaccard similarity passes the threshold.

        Texts without a word, such as `***`, are skipped as "no words". Texts of equal sets are
        one comparison, however many they are.
        """
        ordered = by_id(memories)
        load_for(self._memories, (memory.content for memory in ordered))
        sets, places = self._sets(ordered, tally)
        first = sets.first_equal()
        distinct = np.flatnonzero(first == np.arange(len(first)))
        classes: dict[int, list[Memory]] = {row: [] for row in distinct.tolist()}
        for row, place in zip(first.tolist(), places.tolist(), strict=True):
            classes[row].append(ordered[place])
        pairs = self._join(sets.chosen(distinct), None).pairs()
        yield from among_classes(list(classes.values()), pairs, NAME, self._pulse)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs as arrays, see `echoless.blocking.detector.BulkDetector`."""
        load_for(self._memories, (memory.content for memory in memories))
        sets, places = self._sets(memories, tally)
        if len(places) >= SLOW_FROM and not compiled():
            tally.note(f"{NAME}: {MISSING}")
        for block in proposed(self._join(sets, most).pairs(), places, NAME, tally, most):
            self._pulse()
            yield block

    def _sets(self, memories: Sequence[Memory], tally: Tally) -> tuple[ShingleSets, Ints]:
        """Returns the sets that are not empty, and the position of the memory of each."""
        sets_of = gram_sets if self._characters else word_sets
        sets = sets_of((memory.content for memory in memories), self._words)
        empty = sets.sizes == 0
        if empty.any():
            tally.skip("no words", *(memories[at].id for at in np.flatnonzero(empty).tolist()))
        places = np.flatnonzero(~empty)
        return sets.chosen(places) if empty.any() else sets, places

    def _join(self, sets: ShingleSets, most: int | None) -> JaccardJoin:
        """Returns the join of these sets, with the banding that suits their number."""
        banding = banding_at(sets, self._gate.threshold, self._recall) or self.banding
        return JaccardJoin(sets, self._gate, banding, most)
