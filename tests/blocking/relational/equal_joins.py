"""What tests of joins on files share: data, the same join in memory, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector_options import Gate
from echoless.blocking.relational.daft_engine import DaftEngine
from echoless.blocking.relational.duckdb_engine import DuckDbEngine
from echoless.blocking.relational.engine import Engine
from echoless.blocking.relational.large_joins import LargeJoins
from echoless.blocking.text_join.approximate_tfidf_join import WordingJoin
from echoless.blocking.text_join.tfidf_rows import rows_and_clues
from echoless.blocking.top_k import Pairs, together
from echoless.blocking.vector_join.exact_join import Join, Work, in_order_of_rows
from echoless.blocking.vector_join.hyperplane_join import (
    MISS,
    layout_for,
    planes_for,
    signature_bits,
)
from echoless.blocking.vector_join.planner import Choice, similar_pairs
from echoless.blocking.vector_join.projections import Frame, cut, random_planes, widest_angle

Rows = NDArray[np.float32]

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": DuckDbEngine, "daft": DaftEngine}


def banded(join: Join, *, exact: bool = False) -> Choice:
    """Returns the method `bands` whatever would cost least; in place of `planner.choose`."""
    assert not exact
    angle = widest_angle(join.threshold, 1.0)
    layout = layout_for(1.0 - angle / pi, 8, 0.999, 64)
    assert layout is not None
    planes, dimensions = planes_for(layout), join.rows.shape[1]
    frame = Frame(np.zeros(dimensions, np.float32), random_planes(planes, dimensions))
    most = cut(signature_bits(planes), angle, MISS)
    return Choice("bands", 0.999, 0.0, layout=layout, frame=frame, most_bits=most)


def vectors(seed: int, alone: int, near: int, crowd: int, copies: int) -> Rows:
    """Returns rows of 64 dimensions in any order.

    Args:
        seed: Of the draw.
        alone: Rows in directions of their own.
        near: Rows near one of those.
        crowd: Rows all near one other.
        copies: Rows equal to one of those alone.
    """
    random = np.random.default_rng(seed)

    def noise(count: int, size: float) -> Rows:
        drawn: Rows = random.standard_normal((count, 64), dtype=np.float32) * np.float32(size)
        return drawn

    own = noise(alone, 1.0)
    rows = [own, own[random.integers(0, alone, near)] + noise(near, 0.2)]
    rows += [own[:1] + noise(crowd, 0.1), own[random.integers(0, min(3, alone), copies)]]
    return np.concatenate(rows)[random.permutation(alone + near + crowd + copies)]


def texts(seed: int, count: int, words: int, crowd: int) -> list[str]:
    """Returns texts of a few words each, some without any, some alike, in any order."""
    random = np.random.default_rng(seed)
    drawn = random.zipf(1.3, size=(count, 8)) % words
    made = [" ".join(f"w{number}" for number in row) for row in drawn.tolist()]
    made += [f"the thing number {number} is said once more" for number in range(crowd)]
    made += ["***", "", "日本語のテキストです", "日本語 のテキストです。", "¡¿?!"]
    return [made[at] for at in random.permutation(len(made)).tolist()]


def check_vectors(rows: Rows, joins: LargeJoins, most: int | None) -> Work:
    """Checks that pairs and similarities are those of the join in memory; returns the counts."""
    of_memory, of_files = Work(), Work()
    expected = in_order_of_rows(
        [*similar_pairs(rows, 0.9, most=most, choice=banded, work=of_memory)]
    )
    with joins.bands(len(rows)) as join:
        pairs = similar_pairs(rows, 0.9, most=most, choice=banded, work=of_files, banded=join)
        found = in_order_of_rows([*pairs])
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert of_memory.crowded == of_files.crowded
    assert of_memory.compared == of_files.compared < len(rows) * (len(rows) - 1) / 4
    return of_files


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
