"""The one door to the similarity self-join: it chooses a way, says which, and what to expect.

Four ways lead to the pairs of rows at a threshold. Which one costs least depends on how many rows
there are, how high the threshold is and how the rows lie, so a sample of them is looked at:

* `product`: every pair in full, by blocked matrix products. Exact.
* `prefix`: every pair by some coordinates that rule out only what cannot reach the threshold, the
  rest in full. Exact; few of them are enough for vectors of real texts, which differ in few
  directions.
* `odds`: every pair by sign bits that rule out what reaches it with a probability below `MISS`.
* `bands`: only pairs that share a bucket of one of several tables of sign bits. Near-linear.

Whatever is found has its exact cosine. `prefix`, `odds` and the fast form of `bands` need the
compiled kernels; without them the first two are `product`, and the pairs are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import pi, sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import compiled
from echoless.vectors.banding import MISS, bucket_pairs, planes_for, signature_bits, tables_of
from echoless.vectors.folding import Copies, copies_of, each_once, unfolded, within
from echoless.vectors.hyperplanes import Layout, layout_for
from echoless.vectors.join import KERNELS, Hits, Join, product_pairs, row_norms
from echoless.vectors.scanning import scan_pairs
from echoless.vectors.sieves import BitSieve, PrefixSieve, Sieve, Steps
from echoless.vectors.signing import (
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
from echoless.vectors.work import Work

Method = Literal["product", "prefix", "odds", "bands"]

RECALL: Final = 0.9999
"""Expected share of the pairs at the very threshold that are found; closer ones more often."""

FOLD_FROM: Final = 8
"""Equal rows from which they are compared as one."""

_MOST_TABLES: Final = 256
_MOST_BITS: Final = 20
_PREFIXES: Final = (16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 384)
"""Numbers of coordinates tried; sums of more would not be exact in float32."""

_NEAR: Final = 0.2
"""Rows nearer to the centre than this see the others at any angle."""

_START: Final = 0.8e9
"""Nanoseconds the kernels take to be loaded."""

_THINKING: Final = 0.3e9
"""Nanoseconds below which a product is over before another way is found."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The way a join goes.

    Attributes:
        method: See the module.
        expected_recall: Of pairs at the very threshold, 0 to 1; 1 for an exact way.
        cost: Nanoseconds expected, for comparing ways with each other.
        sieve: Of `prefix` and `odds`.
        layout: Of `bands`.
        frame: Of `bands`.
        most_bits: Of `bands`: signatures that differ in more are passed over.
    """

    method: Method
    expected_recall: float
    cost: float
    sieve: Sieve | None = None
    layout: Layout | None = None
    frame: Frame | None = None
    most_bits: int = 0

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return self.method in {"product", "prefix"}

    def line(self) -> str:
        """What was chosen, in half a sentence."""
        match self.method:
            case "product":
                return "every pair compared in full"
            case "prefix":
                return "every pair compared by coordinates, and in full where they allow it: exact"
            case "odds":
                return f"every pair compared by sign bits; one in {1 / MISS:,.0f} may be missed"
            case "bands":
                assert self.layout is not None
                return (
                    f"{self.layout.tables} tables of {self.layout.bits} sign bits; pairs at the "
                    f"threshold are found with a probability of {self.expected_recall:.4f}, closer "
                    "ones more often"
                )


@dataclass(frozen=True, slots=True)
class _Way:
    """A way before it is made ready: its planes cost more to draw than to think of."""

    cost: float
    ready: Callable[[], Choice]


def choose(join: Join, *, exact: bool = False, recall: float = RECALL) -> Choice:
    """The cheapest way to the pairs of a join.

    Costs are nanoseconds of a machine with two cores (`benchmarks/results/speed_join.md`); only
    their proportions matter. What a coordinate costs lies between processors that multiply bytes
    and others (`register_kernels.DOTS`), so that both choose alike: what is found must not hang on
    the machine. Nor does it hang on whether the kernels are installed; where the choice depends on
    whether they are loaded already, it is between exact ways.

    Args:
        join: Rows and threshold.
        exact: Only ways that cannot miss a pair.
        recall: Least expected share of pairs at the very threshold, for the others.
    """
    count, dimensions = join.rows.shape
    pairs = count * (count - 1) / 2
    product = Choice("product", 1.0, pairs * (0.3 + 0.02 * dimensions))
    few = product.cost < _START
    if few and (product.cost < _THINKING or KERNELS not in sys.modules):
        return product
    if dimensions < 64 or not 0.0 < join.threshold <= 1.0:
        return product
    fitted, held = _sampled(join)
    mean = centre_of(fitted)
    origin = np.zeros(dimensions, dtype=np.float32)
    ways = [_Way(product.cost + (_START if few else 0.0), lambda: product)]
    centre = origin if mean is None else mean
    directions = Directions(fitted, centre)
    ways += _prefixes(join, held, directions)
    if not exact and not few:
        for centre, radius in ((origin, 1.0), *_centred(join, mean)):
            lie = _lie(held, centre)
            ways += [_odds(join, lie, radius), *_bands(join, lie, radius, recall)]
    return min(ways, key=lambda way: way.cost).ready()


def _sampled(join: Join) -> tuple[Floats, Floats]:
    """Unit rows from all over: `4 * SAMPLE` to fit directions to, others to weigh ways by.

    Directions fit the rows they were made of better than the rest: in rows of all directions
    (384 dimensions, threshold .8) they let through 8 pairs of a million, and 13 % of the others.
    """
    places = np.unique(np.linspace(0, len(join.rows) - 1, 5 * SAMPLE).astype(np.int64))
    units: Floats = (join.rows[places] / join.norms[places, None]).astype(np.float32)
    held = np.arange(len(units)) % 5 == 0
    return units[~held], units[held]


def _centred(join: Join, mean: Floats | None) -> Iterator[tuple[Floats, float]]:
    """The centre of the rows, and how far the nearest row lies: angles are widest there."""
    if mean is None:
        return
    nearest = 2.0
    for some in blocks(len(join.rows)):
        moved = join.unit(some.start, some.stop - some.start) - mean
        nearest = min(nearest, float(np.einsum("ij,ij->i", moved, moved).min()))
    if nearest > _NEAR**2:
        yield mean, sqrt(nearest)


@dataclass(frozen=True, slots=True)
class _Lie:
    """How rows lie around a centre: shares of random planes that part sampled pairs, 0 to 1."""

    frame: Frame
    apart: NDArray[np.float64]


def _lie(held: Floats, centre: Floats) -> _Lie:
    dimensions = held.shape[1]
    frame = Frame(centre, random_planes(64 * min(6, dimensions // 64), dimensions))
    signs = np.where(frame.coordinates(held) >= 0, np.float32(1), np.float32(-1))
    agree = (signs @ signs.T)[np.triu_indices(len(signs), k=1)]
    return _Lie(frame, (1.0 - agree.astype(np.float64) / len(frame.planes)) / 2.0)


def _prefixes(join: Join, held: Floats, directions: Directions) -> Iterator[_Way]:
    count, dimensions = join.rows.shape
    sampled = replace(join, rows=held, norms=np.ones(len(held)))
    for planes in (each for each in _PREFIXES if each <= dimensions):
        sieve = PrefixSieve(Frame(directions.centre, directions.even(planes)))
        cost = (
            _START
            + count * (0.01 * dimensions * planes + 2.0 * planes)
            + _pairs(count) * (0.01 + 0.003 * planes + 120.0 * _let_through(sieve.steps(sampled)))
        )
        yield _Way(cost, partial(Choice, "prefix", 1.0, cost, sieve=sieve))


def _let_through(steps: Steps) -> float:
    """Share of the pairs of some rows that pass."""
    whole = steps.whole.astype(np.float32)
    squares = np.einsum("ij,ij->i", whole, whole)
    apart = squares[:, None] + squares - 2.0 * (whole @ whole.T)
    itself, pairs = len(whole), len(whole) * (len(whole) - 1)
    return (int((apart <= steps.most).sum()) - itself) / pairs


def _pairs(count: int) -> float:
    return count * (count - 1) / 2


def _odds(join: Join, lie: _Lie, radius: float) -> _Way:
    count, dimensions = join.rows.shape
    bits = len(lie.frame.planes)
    most = cut(bits, widest_angle(join.threshold, radius), MISS)
    through = float((lie.apart * bits <= most).mean())
    cost = (
        _START
        + count * bits * (0.01 * dimensions + 2.0)
        + _pairs(count) * (0.034 * bits / 64 + 150.0 * through)
    )
    return _Way(cost, partial(Choice, "odds", 1.0 - MISS, cost, sieve=BitSieve(lie.frame, most)))


def _bands(join: Join, lie: _Lie, radius: float, recall: float) -> Iterator[_Way]:
    count, dimensions = join.rows.shape
    stay = 1.0 - widest_angle(join.threshold, radius) / pi
    for bits in range(8, _MOST_BITS + 1):
        layout = layout_for(stay, bits, recall, _MOST_TABLES)
        if layout is None:
            continue
        shared = float(((1.0 - lie.apart) ** bits).mean())
        held, most = _signed(join, layout, radius)
        through = float((lie.apart * held <= most).mean())
        cost = (
            _START
            + count * planes_for(layout) * (0.01 * dimensions + 1.2)
            + count * layout.tables * 30.0
            + _pairs(count) * (shared * layout.tables * 3.0 + 60.0 * through)
        )
        yield _Way(cost, partial(_banded, join, lie.frame.centre, layout, radius, cost))


def _signed(join: Join, layout: Layout, radius: float) -> tuple[int, int]:
    """Bits of a signature, and in how many of them a pair at the threshold may differ."""
    bits = signature_bits(planes_for(layout))
    return bits, cut(bits, widest_angle(join.threshold, radius), MISS)


def _banded(join: Join, centre: Floats, layout: Layout, radius: float, cost: float) -> Choice:
    planes = planes_for(layout)
    return Choice(
        "bands",
        layout.expected_recall,
        cost,
        layout=layout,
        frame=Frame(centre, random_planes(planes, join.rows.shape[1])),
        most_bits=_signed(join, layout, radius)[1],
    )


def similar_pairs(
    rows: NDArray[np.float32],
    threshold: float,
    *,
    inclusive: bool = True,
    exact: bool = False,
    recall: float = RECALL,
    most: int | None = None,
    choice: Choice | None = None,
    work: Work | None = None,
    told: Callable[[Choice], None] | None = None,
) -> Iterator[Hits]:
    """Pairs i < j with cosine at or above a threshold, each once.

    Args:
        rows: Shape (n, dimensions), float32, finite, none zero; of any length whose square float32
            holds (`sheets.py` brings others to length 1); may be memory-mapped.
        threshold: -1 to 1.
        inclusive: False asks for cosines above the threshold.
        exact: Miss no pair, whatever it costs.
        recall: Least expected share of the pairs at the very threshold, for the ways that may miss.
        most: Partners before it (with a lower number) that a row needs, see `kept_partners`; where
            rows are equal, their pairs with the first of them. None for every pair.
        choice: The way to go; by default what `choose` says.
        work: Takes what was done.
        told: Called with the way before it is gone.

    Yields:
        Hits in a fixed order; arrays are never empty. Cosines are those of `join.pairs_above`.

    Raises:
        ValueError: A row is zero or not finite.
    """
    work = Work() if work is None else work
    join = Join(rows, row_norms(rows), threshold, inclusive)
    if len(rows) < 2:
        return
    chosen = choice or choose(join, exact=exact, recall=recall)
    if told is not None:
        told(chosen)
    copies = None if most is None and chosen.method == "product" else _worth_folding(rows)
    if copies is None:
        yield from _by(chosen, join, most, work)
        return
    star = most is not None
    yield from _filled(within(join, copies, star=star))
    once = replace(join, rows=each_once(rows, copies), norms=join.norms[copies.first])
    for hits in _by(chosen, once, most, work):
        yield from _filled(unfolded(copies, hits, star=star))


def _filled(hits: Hits) -> Iterator[Hits]:
    if len(hits[0]):
        yield hits


def _worth_folding(rows: NDArray[np.float32]) -> Copies | None:
    copies = copies_of(rows) if len(rows) >= FOLD_FROM else None
    if copies is None or int(copies.sizes.max()) < FOLD_FROM:
        return None
    return copies


def _by(chosen: Choice, join: Join, most: int | None, work: Work) -> Iterator[Hits]:
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
