"""What tests of joins on files share: data, the same join in memory, and their comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from echoless.blocking.detector import Gate
from echoless.blocking.relational.large_joins import LargeJoins
from echoless.blocking.text_join.approximate_tfidf_join import WordingJoin
from echoless.blocking.text_join.tfidf_rows import rows_and_clues
from echoless.blocking.top_k import Pairs, together


def texts(seed: int, count: int, words: int, crowd: int) -> list[str]:
    """Returns texts of a few words each, some without any, some alike, in any order."""
    random = np.random.default_rng(seed)
    drawn = random.zipf(1.3, size=(count, 8)) % words
    made = [" ".join(f"w{number}" for number in row) for row in drawn.tolist()]
    made += [f"the thing number {number} is said once more" for number in range(crowd)]
    made += ["***", "", "日本語のテキストです", "日本語 のテキストです。", "¡¿?!"]
    return [made[at] for at in random.permutation(len(made)).tolist()]


def check_texts(given: Sequence[str], joins: LargeJoins, most: int) -> Pairs:
    """Checks that pairs and similarities are those of the join in memory; returns them."""
    rows, clues = rows_and_clues(given, 3)
    filled = np.flatnonzero(np.diff(rows.starts) > 0)
    gate = Gate(0.25)
    join = WordingJoin(rows.chosen(filled), clues.chosen(filled), gate, most)
    expected = together([*join.pairs()])
    with joins.wording(iter(given), 3, len(given)) as wording:
        np.testing.assert_array_equal(np.flatnonzero(wording.filled), filled)
        found = together([*wording.pairs(gate, most)])
    for one, other in zip(expected.arrays, found.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert expected.cut == found.cut
    return found
