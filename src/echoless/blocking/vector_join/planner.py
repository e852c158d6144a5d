"""A planner of the similarity self-join: it chooses the cheapest method and states its recall.

Three methods find the pairs of rows at a threshold. Which one costs least depends on the number of
rows, the threshold and the distribution of the rows, of which a sample is measured:

* `product`: every pair in full, by blocked matrix products. Exact.
* `prefix`: every pair by some coordinates that rule out only what cannot reach the threshold, the
  rest in full. Exact; few of them are enough for vectors of real texts, which differ in few
  directions.
* `bands`: only pairs that share a bucket of one of several tables of sign bits. Near-linear.

Every pair found has its exact cosine. `prefix` and the fast form of `bands` need the compiled
kernels; without them the first is `product`, and the pairs are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import inf, pi, sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.vector_join.equal_rows import copies_of, each_once, unfolded, within
from echoless.blocking.vector_join.exact_join import (
    KERNELS,
    Hits,
    Join,
    JoinWork,
    KnownHits,
    product_pairs,
    renewed_pairs,
    row_norms,
)
from echoless.blocking.vector_join.hyperplane_join import (
    MISS,
    HashTables,
    bucket_pairs,
    layout_for,
    planes_for,
    signature_bits,
    tables_of,
)
from echoless.blocking.vector_join.prefix_join import PrefixSieve, scan_pairs
from echoless.blocking.vector_join.projections import (
    SAMPLE,
    Directions,
    Floats,
    Frame,
    blocks,
    centre_of,
    cut,
    random_planes,
    widest_angle,
)
from echoless.core.runtime import compiled

Method = Literal["product", "prefix", "bands"]

RECALL: Final = 0.9999
"""Expected share of the pairs at the very threshold that are found; closer ones more often."""

FOLD_FROM: Final = 8
"""From this many equal rows on, the rows are compared as one row."""

_MOST_TABLES: Final = 256
_MOST_BITS: Final = 20
_PREFIXES: Final = (16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 384)
"""Numbers of coordinates tried; sums of more would not be exact in float32."""

_NEAR: Final = 0.2
"""Distance from the centre below which a row may have any angle to the others."""

_START: Final = 0.8e9
"""Nanoseconds the kernels take to be loaded."""

_THINKING: Final = 0.3e9
"""Nanoseconds below which a product ends before another method is chosen."""

_WORTH_A_MISS: Final = 2e9
"""Nanoseconds that `bands`, which may miss pairs, must save against the best exact method."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A method for a join, with all that the method needs.

    Attributes:
        method: See the module.
        expected_recall: Of pairs at the very threshold, 0 to 1; 1 for an exact way.
        cost: Nanoseconds expected, for comparing methods with each other.
        sieve: Of `prefix`.
        layout: Of `bands`.
        frame: Of `bands`.
        most_bits: Of `bands`: signatures that differ in more are passed over.
        known: Hits of an earlier join with the same threshold, of an exact method; they count as
            long as no rows are folded.
    """

    method: Method
    expected_recall: float
    cost: float
    sieve: PrefixSieve | None = None
    layout: HashTables | None = None
    frame: Frame | None = None
    most_bits: int = 0
    known: KnownHits | None = None

    @property
    def exact(self) -> bool:
        """Returns whether no pair can be missed."""
        return self.method in {"product", "prefix"}

    def line(self) -> str:
        """Returns a description of the method in half a sentence."""
        match self.method:
            case "product":
                return "every pair compared in full"
            case "prefix":
                return "every pair compared by coordinates, and in full where they allow it: exact"
            case "bands":
                assert self.layout is not None
                return (
                    f"{self.layout.tables} tables of {self.layout.bits} sign bits; pairs at the "
                    f"threshold are found with a probability of {self.expected_recall:.4f}, closer "
                    "ones more often"
                )


@dataclass(frozen=True, slots=True)
class _Option:
    """A choice by its cost, completed only if it is the cheapest: drawing its planes is slow."""

    cost: float
    complete: Callable[[], Choice]


def choose(join: Join, *, exact: bool = False) -> Choice:
    """Returns the cheapest method for a join.

    Costs are nanoseconds of a machine with two cores (`benchmarks/results/speed_join.md`); only
    their proportions matter. The pairs found must not depend on the machine, so the choice looks
    at the rows alone, not at the processor, nor at whether the kernels are installed; where it
    depends on whether they are loaded already, it is between exact methods.

    Args:
        join: Rows and threshold.
        exact: Only methods that cannot miss a pair.
    """
    count, dimensions = join.rows.shape
    product = Choice("product", 1.0, _pairs(count) * (0.3 + 0.02 * dimensions))
    few = product.cost < _START
    if few and (product.cost < _THINKING or KERNELS not in sys.modules):
        return product
    if dimensions < 64 or not 0.0 < join.threshold <= 1.0:
        return product
    # Unit rows from all over: four in five to fit directions to, the others to estimate costs with.
    # Directions fit the rows they were made of better than the rest: in rows of all directions
    # (384 dimensions, threshold .8) they let through 8 pairs of a million, and 13 % of the others.
    places = np.unique(np.linspace(0, count - 1, 5 * SAMPLE).astype(np.int64))
    units: Floats = (join.rows[places] / join.norms[places, None]).astype(np.float32)
    held = np.arange(len(units)) % 5 == 0
    mean = centre_of(units[~held])
    origin = np.zeros(dimensions, dtype=np.float32)
    directions = Directions(units[~held], origin if mean is None else mean)
    options = [_Option(product.cost + (_START if few else 0.0), lambda: product)]
    options += _prefix_options(join, units[held], directions)
    if not exact and not few:
        for centre, radius in ((origin, 1.0), *_centred(join, mean)):
            options += _band_options(join, units[held], centre, radius)
    return min(options, key=lambda option: option.cost).complete()


def _centred(join: Join, mean: Floats | None) -> Iterator[tuple[Floats, float]]:
    """Yields the centre of the rows and its distance to the nearest row, if that is far enough."""
    if mean is None:
        return
    nearest = 2.0
    for some in blocks(len(join.rows)):
        moved = join.unit(some.start, some.stop - some.start) - mean
        nearest = min(nearest, float(np.einsum("ij,ij->i", moved, moved).min()))
    if nearest > _NEAR**2:
        yield mean, sqrt(nearest)


def _prefix_options(join: Join, held: Floats, directions: Directions) -> Iterator[_Option]:
    """Yields a `prefix` for each number of coordinates that may be the cheapest.

    Args:
        join: Rows and threshold.
        held: Sampled unit rows; the share of their pairs that pass gives the cost.
        directions: Fitted to other rows.
    """
    count, dimensions = join.rows.shape
    sample = replace(join, rows=held, norms=np.ones(len(held)))
    best = inf
    for planes in (each for each in _PREFIXES if each <= dimensions):
        rows = count * (0.01 * dimensions * planes + 2.0 * planes)
        least = _START + rows + _pairs(count) * (0.1 + 0.03 * planes)  # where no pair passes
        if least > best:  # more coordinates cost more, whatever they let through
            return
        sieve = PrefixSieve(Frame(directions.centre, directions.even(planes)))
        steps = sieve.steps(sample)
        whole = steps.whole.astype(np.float32)
        squares = np.einsum("ij,ij->i", whole, whole)
        apart = squares[:, None] + squares - 2.0 * (whole @ whole.T)
        close = int((apart <= steps.most).sum()) - len(whole)  # without each row with itself
        through = close / (len(whole) * (len(whole) - 1))
        cost = least + _pairs(count) * 120.0 * through
        best = min(best, cost)
        yield _Option(cost, partial(Choice, "prefix", 1.0, cost, sieve=sieve))


def _pairs(count: int) -> float:
    """Returns the number of pairs of so many rows."""
    return count * (count - 1) / 2


def _band_options(join: Join, held: Floats, centre: Floats, radius: float) -> Iterator[_Option]:
    """Yields `bands` for each number of bits, around one centre.

    Args:
        join: Rows and threshold.
        held: Sampled unit rows.
        centre: Coordinates are taken from here.
        radius: All rows lie at least so far from the centre.
    """
    count, dimensions = join.rows.shape
    angle = widest_angle(join.threshold, radius)
    frame = Frame(centre, random_planes(64 * min(6, dimensions // 64), dimensions))
    signs = np.where(frame.coordinates(held) >= 0, np.float32(1), np.float32(-1))
    agree = (signs @ signs.T)[np.triu_indices(len(signs), k=1)]
    share = agree.astype(np.float64) / len(frame.planes)
    apart = (1.0 - share) / 2.0  # share of planes between two rows
    for bits in range(8, _MOST_BITS + 1):
        layout = layout_for(1.0 - angle / pi, bits, RECALL, _MOST_TABLES)
        if layout is None:
            continue
        shared = float(((1.0 - apart) ** bits).mean())
        planes = planes_for(layout)
        signature = signature_bits(planes)
        most = cut(signature, angle, MISS)
        through = float((apart * signature <= most).mean())
        cost = _START + count * planes * (0.01 * dimensions + 1.2) + count * layout.tables * 30.0
        cost += _pairs(count) * (shared * layout.tables * 3.0 + 60.0 * through)
        yield _Option(cost + _WORTH_A_MISS, partial(_banded, centre, layout, most, cost))


def _banded(centre: Floats, layout: HashTables, most: int, cost: float) -> Choice:
    """Returns the choice of `bands`, for which it draws the planes."""
    frame = Frame(centre, random_planes(planes_for(layout), len(centre)))
    recall = layout.expected_recall
    return Choice("bands", recall, cost, layout=layout, frame=frame, most_bits=most)


def similar_pairs(
    rows: NDArray[np.float32],
    threshold: float,
    *,
    inclusive: bool = True,
    most: int | None = None,
    choice: Choice | Callable[[Join], Choice] = choose,
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
        choice: The method, or a function that chooses it before the work begins.
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
    chosen = choice if isinstance(choice, Choice) else choice(join)
    star = most is not None
    foldable = len(rows) >= FOLD_FROM and (star or chosen.method != "product")
    copies = copies_of(rows) if foldable else None
    if copies is None or int(copies.sizes.max()) < FOLD_FROM:
        yield from _by(chosen, join, most, work)
        return
    work.folded += len(rows) - len(copies.first)
    chosen = replace(chosen, known=None)
    yield from _filled(within(join, copies, star=star))
    once = replace(join, rows=each_once(rows, copies), norms=join.norms[copies.first])
    for hits in _by(chosen, once, most, work):
        yield from _filled(unfolded(copies, hits, star=star))


def _filled(hits: Hits) -> Iterator[Hits]:
    """Yields hits if there are any."""
    if len(hits[0]):
        yield hits


def _by(chosen: Choice, join: Join, most: int | None, work: JoinWork) -> Iterator[Hits]:
    """Yields the hits of a join by the chosen method, or by `product` where it does not pay."""
    if chosen.known is not None:
        yield from renewed_pairs(join, chosen.known, most, work)
        return
    if chosen.method == "bands":
        assert chosen.layout is not None
        assert chosen.frame is not None
        tables = tables_of(join, chosen.frame, chosen.layout)
        if tables.comparisons < _pairs(len(join.rows)) / 2:
            yield from bucket_pairs(join, tables, chosen.most_bits, most, work)
            return
    elif chosen.sieve is not None and compiled():
        yield from scan_pairs(join, chosen.sieve.laid(join), most, work)
        return
    yield from product_pairs(join, most, work)
