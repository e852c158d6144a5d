"""A similarity self-join of rows most of whose pairs are known: it compares the other rows only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.exact_join import Hits, Join, in_order_of_rows, some_of
from echoless.blocking.vector_join.projections import blocks
from echoless.blocking.vector_join.work_counts import Work


@dataclass(frozen=True, slots=True)
class KnownHits:
    """Hits of an earlier join.

    Attributes:
        hits: All those among the rows that are not asked for, in any order.
        asked: Shape (some rows,), int64, ascending: rows whose hits are not known.
    """

    hits: Hits
    asked: NDArray[np.int64]


def renewed_pairs(join: Join, known: KnownHits, most: int | None, work: Work) -> Iterator[Hits]:
    """Yields the hits of `exact_join.product_pairs`, by rising j, then i.

    Args:
        join: Rows and threshold.
        known: Hits that need not be looked for.
        most: Partners before it a row needs (`kept_partners`); None for all.
        work: Takes the counts.
    """
    asked = known.asked
    is_asked = np.zeros(len(join.rows), dtype=np.bool_)
    is_asked[asked] = True
    inverse = join.inverse[asked, None]
    unit = join.rows[asked] * inverse
    parts = [known.hits]
    for some in blocks(len(join.rows)) if len(asked) else ():
        work.pulse()
        product = join.unit(some.start, some.stop - some.start) @ unit.T
        flat = np.flatnonzero(product >= join.floor)
        row, partner = flat // len(asked) + some.start, asked[flat % len(asked)]
        # a pair of two asked rows is met twice, and each row meets itself
        once = ~is_asked[row] | (row < partner)
        one, other = row[once], partner[once]
        work.compared += product.size
        work.verified += len(one)
        parts += join.confirmed(np.minimum(one, other), np.maximum(one, other))
    wanted, crowded = some_of(in_order_of_rows(parts), most)
    work.crowded += crowded
    if len(wanted[0]):
        yield wanted
