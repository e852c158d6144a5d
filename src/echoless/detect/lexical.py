"""Lexical: shared character n-grams, the rare ones counting most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

from echoless.detect.base import Card, DetectorOptions
from echoless.detect.classes import by_id, fold, pairs_between, pairs_within
from echoless.detect.gate import count_setting, gate_for, refuse_unknown
from echoless.detect.ngram_index import DECIMALS, similar_pairs, tf_idf
from echoless.model import Candidate, Memory
from echoless.tally import Tally
from echoless.text import char_ngrams, normalise

__all__ = ["LexicalDetector", "pair_similarity"]

NAME: Final = "lexical"

DEFAULT_THRESHOLD: Final = 0.25
"""Finds 86 % of the gold pairs of the development store at 1.3 candidates for each memory, 28 % at
0.60. One step lower, 0.20, finds 90 % for twice the candidates, and their number grows with the
store: 10,000 made-up texts already give 11 for each at 0.25 (`benchmarks/results/detectors.md`)."""


def pair_similarity(one: str, other: str) -> float:
    """Similarity of two texts by themselves: the cosine of their n-gram counts.

    Without a store there are no statistics to weigh n-grams by, so each counts alike; the detector,
    which has them, reports another figure for the same two texts.

    Returns:
        0 to 1, rounded to six decimals; 0 where one text has no n-grams.
    """
    left, right = Counter(char_ngrams(one)), Counter(char_ngrams(other))
    product = sum(times * right[gram] for gram, times in left.items())
    lengths = sum(n * n for n in left.values()) * sum(n * n for n in right.values())
    return round(min(1.0, product / sqrt(lengths)), DECIMALS) if lengths else 0.0


class LexicalDetector:
    """Proposes memories with a high cosine of character-n-gram TF-IDF vectors.

    Terms are `echoless.text.char_ngrams` of the case-folded normal form (3 characters, 2 for
    scripts written without spaces; setting `n`). The weights (`ngram_index.tf_idf`) are statistics
    of the memories handed in, so a similarity holds within one run only. Every pair at or above
    the threshold is found; cosines are float64, rounded to six decimals before they are compared.
    """

    name = NAME
    card = Card(
        finds="shared wording in any order, rewordings that keep the rare words, typos, inflection",
        misses="the same said in other words, or in another language",
        cost="n^2 / 2 short dense products plus postings of rare n-grams, in tiles of 16 MiB",
        threshold=DEFAULT_THRESHOLD,
    )

    def __init__(self, options: DetectorOptions) -> None:
        refuse_unknown(NAME, options, "n")
        self._gate = gate_for(NAME, options, DEFAULT_THRESHOLD)
        self._n = count_setting(NAME, options, "n", default=3, least=2, most=8)

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs whose cosine passes the threshold.

        Texts of which normalisation leaves nothing are skipped as "nothing but dressing".
        """
        told = []
        for memory in by_id(memories):
            form = normalise(memory.content, fold_case=True)
            if form:
                told.append((form, memory))
            else:
                tally.skip("nothing but dressing", memory.id)
        yield from self._pairs(list(fold(told).values()))

    def _pairs(self, classes: Sequence[Sequence[Memory]]) -> Iterator[Candidate]:
        for members in classes:
            yield from pairs_within(members, NAME, 1.0)
        bags = (char_ngrams(members[0].content, self._n) for members in classes)
        rows = tf_idf(bags, [len(members) for members in classes])
        for one, other, cosine in similar_pairs(rows, self._gate.threshold):
            if self._gate.passes(cosine):
                yield from pairs_between(classes[one], classes[other], NAME, cosine)
