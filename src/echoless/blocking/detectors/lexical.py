"""The detector `lexical`: shared character n-grams, of which the rare ones weigh most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import (
    Bulk,
    DetectorOptions,
    Proposed,
    count_setting,
    gate_for,
    proposed,
    refuse_unknown,
)
from echoless.blocking.pair_scores import DECIMALS, LEXICAL_THRESHOLD
from echoless.blocking.text_join.tfidf_join import (
    LOOKED_AT,
    Likeness,
    WordingJoin,
    cosines_of_pairs,
)
from echoless.blocking.text_join.tfidf_rows import TermRows, gram_rows, rows_and_clues
from echoless.blocking.top_k import Pairs, nearest_of_each
from echoless.core.groups import grouped
from echoless.core.model import Memory, later
from echoless.core.run_notes import Tally
from echoless.core.text import char_ngrams, words

Ints = NDArray[np.int64]

NAME: Final = "lexical"

DEFAULT_THRESHOLD: Final = LEXICAL_THRESHOLD

EXACT_UP_TO: Final = 20_000
"""Memories up to which every pair is scored."""

RARE_UP_TO: Final = 500
"""Memories of a partition up to which two that share a rare word are proposed below the threshold.

An update in other words often names a thing that no third memory names: of 149 updates written into
stores 48 are told with such pairs, 36 without. Among more memories a word is rare by chance, and
the product of all their n-grams takes long."""


def pair_similarity(one: str, other: str) -> float:
    """Returns the similarity of two texts by themselves: the cosine of their n-gram counts.

    Without a store there are no statistics to weigh n-grams by, so each counts alike; the detector,
    which has them, reports another figure for the same two texts.

    Returns:
        0 to 1, rounded to six decimals; 0 where one text has no n-grams.
    """
    left, right = Counter(char_ngrams(one)), Counter(char_ngrams(other))
    product = sum(times * right[gram] for gram, times in left.items())
    lengths = sum(n * n for n in left.values()) * sum(n * n for n in right.values())
    return round(min(1.0, product / sqrt(lengths)), DECIMALS) if lengths else 0.0


class LexicalDetector(Bulk):
    """A detector of memories with a high cosine of character-n-gram TF-IDF vectors.

    Terms are `echoless.core.text.char_ngrams` of the case-folded normal form (3 characters, 2 for
    scripts written without spaces; setting `n`). The weights (`tfidf_rows.TermRows`) are statistics
    of the memories handed in, so a similarity holds within one run only. Every pair at or above
    the threshold is found (`propose` says where not); cosines are float64, rounded to six decimals
    before they are compared. In a small partition, where there is an encoder and nobody set a
    threshold, two memories that share a rare word are proposed below it, see `RARE_UP_TO`.
    """

    name = NAME

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options, "n")
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._n = count_setting(NAME, options, "n", default=3, least=2, most=8)
        made = options.vectoriser is not None and options.vectoriser.encoder is not None
        self._far = options.threshold is None and made
        self._pulse = options.pulse

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs as arrays, see `echoless.blocking.detector.BulkDetector`.

        Every pair is scored up to `EXACT_UP_TO` memories, and where all pairs are wanted; beyond,
        those that share their rarest words (`blocking/text_join/tfidf_join.py`), which
        a note says.
        """
        contents = (memory.content for memory in memories)
        if most is None or len(memories) <= EXACT_UP_TO:
            rows = gram_rows(contents, self._n)
            places = self._filled(memories, rows.filled, tally)
            rows = rows.chosen(places)
            blocks = Likeness(rows, self._gate, most).pairs()
            yield from self._pulsing(proposed(blocks, places, NAME, tally, most))
            if self._far and len(places) <= RARE_UP_TO:
                alone = self._named_by_both([memories[at] for at in places.tolist()], rows)
                yield from proposed(alone, places, NAME, tally, most)
            return
        tally.note(
            f"{NAME}: {len(memories):,} memories are too many to score every pair; each was "
            f"scored with the {LOOKED_AT} or more before it that share most of its rarest "
            "words. Measured, that finds all closest partners from a similarity of 0.5 and "
            "95 % from 0.4 on."
        )
        rows, clues = rows_and_clues(contents, self._n)
        places = self._filled(memories, rows.filled, tally)
        join = WordingJoin(rows.chosen(places), clues.chosen(places), self._gate, most)
        yield from self._pulsing(proposed(join.pairs(), places, NAME, tally, most))

    def _named_by_both(self, memories: Sequence[Memory], rows: TermRows) -> Iterator[Pairs]:
        """Yields the pairs below the threshold that share a word no third memory has.

        Of each one memory is closest to the other, and one is known to be newer. See `RARE_UP_TO`.

        Args:
            memories: Those with a row, in the order of their rows.
            rows: Of their n-grams.
        """
        holders = grouped((w, at) for at, m in enumerate(memories) for w in set(words(m.content)))
        shared = {(both[0], both[-1]) for both in holders.values() if len(both) == 2}
        pairs = sorted((a, b) for a, b in shared if later(memories[a], memories[b]))
        if not pairs:
            return
        one, other = np.array(pairs, dtype=np.int64).T
        dense = np.zeros((rows.rows, len(rows.idf)), dtype=np.float32)
        dense[rows.owners, rows.terms] = rows.weights
        nearest = nearest_of_each(dense)
        close = (nearest[one] == other) | (nearest[other] == one)
        near = Pairs(one, other, cosines_of_pairs(rows, one, other))
        yield near.where(close & ~self._gate.passing(near.similarity))

    def _pulsing(self, blocks: Iterator[Proposed]) -> Iterator[Proposed]:
        """Yields blocks, with a sign of progress before each."""
        for block in blocks:
            self._pulse()
            yield block

    def _filled(self, memories: Sequence[Memory], filled: NDArray[np.bool_], tally: Tally) -> Ints:
        """Returns the positions of memories that have n-grams; the others are counted."""
        nothing = [memories[at].id for at in np.flatnonzero(~filled).tolist()]
        if nothing:
            tally.skip("nothing but dressing", *nothing)
        return np.flatnonzero(filled)
