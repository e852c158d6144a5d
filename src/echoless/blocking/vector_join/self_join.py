"""The similarity self-join: pairs of rows whose cosine reaches a threshold, each exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.equal_rows import copies_of, each_once, unfolded, within
from echoless.blocking.vector_join.exact_join import (
    Hits,
    Join,
    JoinWork,
    KnownHits,
    product_pairs,
    renewed_pairs,
    row_norms,
)

FOLD_FROM: Final = 8
"""From this many equal rows on, the rows are compared as one row."""


def similar_pairs(
    rows: NDArray[np.float32],
    threshold: float,
    *,
    inclusive: bool = True,
    most: int | None = None,
    known: Callable[[Join], KnownHits | None] = lambda _join: None,
    work: JoinWork | None = None,
) -> Iterator[Hits]:
    """Yields pairs i < j with cosine at or above a threshold, each once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; of any length whose square float32
            holds (`models/encoders/vector_matrix.py` brings others to length 1); may be
            memory-mapped.
        threshold: -1 to 1.
        inclusive: False asks for cosines above the threshold.
        most: Partners before it (with a lower number) that a row needs, see `kept_partners`; where
            rows are equal, their pairs with the first of them. None for every pair.
        known: Returns the hits of an earlier join, or None; not used where rows are folded.
        work: Takes the counts.

    Yields:
        Hits in a fixed order; arrays are never empty. Cosines are those of
        `exact_join.pairs_above`.

    Raises:
        ValueError: A row is zero or not finite.
    """
    work = JoinWork() if work is None else work
    join = Join(rows, row_norms(rows), threshold, inclusive)
    if len(rows) < 2:
        return
    star = most is not None
    copies = copies_of(rows) if len(rows) >= FOLD_FROM and star else None
    if copies is None or int(copies.sizes.max()) < FOLD_FROM:
        before = known(join)
        if before is None:
            yield from product_pairs(join, most, work)
        else:
            yield from renewed_pairs(join, before, most, work)
        return
    work.folded += len(rows) - len(copies.first)
    yield from _filled(within(join, copies, star=star))
    once = Join(each_once(rows, copies), join.norms[copies.first], threshold, inclusive)
    for hits in product_pairs(once, most, work):
        yield from _filled(unfolded(copies, hits, star=star))


def _filled(hits: Hits) -> Iterator[Hits]:
    """Yields hits if there are any."""
    if len(hits[0]):
        yield hits
