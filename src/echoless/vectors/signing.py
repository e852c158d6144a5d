"""Coordinates of rows, and rows as bits: the sides of hyperplanes they lie on.

A random hyperplane separates two rows at an angle θ with probability θ/π (Charikar, STOC
2002). So pairs at an angle differ in a binomial number of bits, and what lies far beyond it is
passed over with a probability of error that can be named (`cut`).

Rows are centred first where they share a direction, as texts of one model do: distances stay what
they are, and bits tell more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import asin, ceil, erfc, pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.vectors.join import DECIMALS

Floats = NDArray[np.float32]
Words = NDArray[np.uint64]

SEED: Final = 20261122
BLOCK: Final = 4096
"""Rows whose coordinates are taken at a time."""

SAMPLE: Final = 512
"""Rows compared with each other to see what a filter would let through."""

SHARED: Final = 0.05
"""Squared length of the mean row from which centring is worth it; 0 for rows in all directions."""

_WHOLE: Final = 1_536
"""Dimensions up to which all directions are worked out at once: with 768 in a third of the time
that four rounds for 512 of them take, and exactly."""

_ROUNDS: Final = 4
"""Of subspace iteration."""

_ROUNDOFF: Final = 2.0**-24


def distance(threshold: float) -> float:
    """Largest distance of two unit rows whose cosine rounds to the threshold or more."""
    return sqrt(max(0.0, 2.0 - 2.0 * (threshold - 0.51 * 10.0**-DECIMALS)))


@dataclass(frozen=True, slots=True)
class Frame:
    """Where coordinates are taken.

    Attributes:
        centre: Shape (dimensions,), float32; zero where rows share no direction.
        planes: Shape (planes, dimensions), float32; of unit length, and orthogonal to each other
            where distances in them are to be no longer than they are.
    """

    centre: Floats
    planes: Floats

    def coordinates(self, unit: Floats) -> Floats:
        """Shape (rows, planes), float32, of rows at unit length."""
        moved: Floats = np.subtract(unit, self.centre) if self.centre.any() else unit
        made: Floats = moved @ self.planes.T
        return made

    def slack(self) -> float:
        """By how much rounding may move two rows apart in these coordinates, at most.

        `n·u` for an inner product of n terms whatever its order (Higham, Accuracy and Stability of
        Numerical Algorithms, 2nd ed., 3.1) of a row no longer than 2, in each coordinate.
        """
        count, dimensions = self.planes.shape
        length = 2.0
        return 2.0 * length * 1.01 * (int(dimensions) + 8) * _ROUNDOFF * sqrt(int(count))


def centre_of(units: Floats) -> Floats | None:
    """The mean of some unit rows, or None where it is too short to be worth anything."""
    mean: Floats = units.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean if float((mean * mean).sum()) >= SHARED else None


def random_planes(count: int, dimensions: int, seed: int = SEED) -> Floats:
    """Planes in directions drawn alike and independently, which is what the odds are for.

    Args:
        count: How many.
        dimensions: Of the rows.
        seed: Of the draw.

    Returns:
        Shape (count, dimensions), float32, of length 1.
    """
    drawn = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    made: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return made


class Directions:
    """Orthonormal planes that suit some rows, the work for them done once and only if needed."""

    def __init__(self, units: Floats, centre: Floats) -> None:
        """Begin.

        Args:
            units: Shape (rows, dimensions), float32.
            centre: Shape (dimensions,), float32.
        """
        self.centre = centre
        self._units = units

    def even(self, count: int) -> Floats:
        """`count` planes of which each catches as much of the distances as the next.

        So steps of one size fit all coordinates, and rounding moves rows least.

        Returns:
            Shape (count, dimensions), float32, orthonormal.
        """
        kept = turned(count)
        if count < self._units.shape[1]:
            kept = kept @ self.widest(count)
        return np.ascontiguousarray(kept, dtype=np.float32)

    def widest(self, count: int) -> Floats:
        """`count` planes along which some rows differ most, the widest first.

        Beyond `_WHOLE` dimensions by subspace iteration (Golub, Van Loan, Matrix Computations, 4th
        ed., 8.2.4): any orthonormal planes would be right, so a few rounds are enough.

        Returns:
            Shape (count, dimensions), float32, orthonormal.
        """
        if self._units.shape[1] <= _WHOLE:
            return self._all[:count]
        spread = self._spread()
        basis = np.random.default_rng(SEED).standard_normal((len(spread), count))
        for _ in range(_ROUNDS):
            basis, _ = np.linalg.qr(spread @ basis)
        _, turn = np.linalg.eigh(basis.T @ spread @ basis)
        return _as_planes(basis @ turn)

    @cached_property
    def _all(self) -> Floats:
        return _as_planes(np.linalg.eigh(self._spread())[1])

    def _spread(self) -> NDArray[np.float64]:
        moved = (self._units - self.centre).astype(np.float64)
        return moved.T @ moved


def _as_planes(columns: NDArray[np.float64]) -> Floats:
    return np.ascontiguousarray(columns[:, ::-1].T, dtype=np.float32)


def turned(count: int) -> NDArray[np.float64]:
    """An orthogonal matrix with entries of about one size.

    A discrete cosine transform (type II; Ahmed, Natarajan, Rao 1974) after random changes of sign.
    """
    row, column = np.arange(count)[:, None], np.arange(count)[None, :]
    waves = np.cos(np.pi * (2 * column + 1) * row / (2 * count)) * sqrt(2.0 / count)
    waves[0] /= sqrt(2.0)
    signs = np.random.default_rng(SEED).integers(0, 2, count) * 2 - 1
    made: NDArray[np.float64] = waves * signs
    return made


def widest_angle(threshold: float, radius: float) -> float:
    """Largest angle, seen from the centre, of two rows at the threshold, in radians.

    Args:
        threshold: Cosine.
        radius: Both rows lie at least so far from the centre.
    """
    return 2.0 * asin(min(1.0, distance(threshold) / (2.0 * radius)))


def cut(bits: int, angle: float, miss: float) -> int:
    """Bits two rows at an angle may differ in before they are passed over.

    The normal approximation of the binomial, with a bit for the continuity and one more.

    Args:
        bits: Of a signature.
        angle: Radians.
        miss: Probability that such a pair is passed over, at most; below 0.5.
    """
    chance = min(0.5, angle / pi)
    deviations = _deviations(miss)
    wide = bits * chance + deviations * sqrt(bits * chance * (1.0 - chance))
    return min(bits, ceil(wide) + 1)


def _deviations(miss: float) -> float:
    """How many standard deviations a normal variable exceeds with a given probability."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if erfc(middle / sqrt(2.0)) / 2.0 > miss else (low, middle)
    return high


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
