"""Coordinates of rows, and bits that say on which side of a hyperplane a row lies.

A random hyperplane separates two rows at an angle θ with probability θ/π (Charikar, STOC 2002). So
pairs at an angle differ in a binomial number of bits, and pairs far beyond that number are passed
over with a stated probability of error (`cut`).

Rows are centred first where they share a direction, as texts of one model do: distances stay the
same, and bits separate rows better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import asin, ceil, erfc, pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.similarities import DECIMALS

Floats = NDArray[np.float32]
Words = NDArray[np.uint64]

SEED: Final = 20261122
BLOCK: Final = 4096
"""Rows whose coordinates are taken at a time."""

SAMPLE: Final = 512
"""Rows compared with each other to estimate the share of pairs that pass a filter."""

SHARED: Final = 0.05
"""Squared length of the mean row from which centring is worth it; 0 for rows in all directions."""

_WHOLE: Final = 1_536
"""Dimensions up to which all directions are computed at once: with 768 in a third of the time that
four rounds for 512 of them take, and exactly."""

_ROUNDS: Final = 4
"""Rounds of subspace iteration."""

_ROUNDOFF: Final = 2.0**-24


def distance(threshold: float) -> float:
    """Returns the largest distance of two unit rows whose rounded cosine reaches the threshold."""
    return sqrt(max(0.0, 2.0 - 2.0 * (threshold - 0.51 * 10.0**-DECIMALS)))


@dataclass(frozen=True, slots=True)
class Frame:
    """A centre and planes in which coordinates are taken.

    Attributes:
        centre: Shape (dimensions,), float32; zero where rows share no direction.
        planes: Shape (planes, dimensions), float32; of unit length, and orthogonal to each other
            where distances in these coordinates must not exceed the real ones.
    """

    centre: Floats
    planes: Floats

    def coordinates(self, unit: Floats) -> Floats:
        """Returns the coordinates of rows at unit length; shape (rows, planes), float32."""
        moved: Floats = np.subtract(unit, self.centre) if self.centre.any() else unit
        coordinates: Floats = moved @ self.planes.T
        return coordinates

    def slack(self) -> float:
        """Returns the most by which rounding may move two rows apart in these coordinates.

        `n·u` for an inner product of n terms whatever its order (Higham, Accuracy and Stability of
        Numerical Algorithms, 2nd ed., 3.1) of a row no longer than 2, in each coordinate.
        """
        count, dimensions = self.planes.shape
        length = 2.0
        return 2.0 * length * 1.01 * (int(dimensions) + 8) * _ROUNDOFF * sqrt(int(count))


def centre_of(units: Floats) -> Floats | None:
    """Returns the mean of some unit rows, or None where it is too short for centring to help."""
    mean: Floats = units.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean if float((mean * mean).sum()) >= SHARED else None


def random_planes(count: int, dimensions: int, seed: int = SEED) -> Floats:
    """Returns planes in independent random directions, for which the probabilities hold.

    Args:
        count: Number of planes.
        dimensions: Of the rows.
        seed: Of the draw.

    Returns:
        Shape (count, dimensions), float32, of length 1.
    """
    drawn = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    planes: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return planes


class Directions:
    """Orthonormal planes fitted to some rows, computed once and only if needed."""

    def __init__(self, units: Floats, centre: Floats) -> None:
        """Keeps the rows; nothing is computed yet.

        Args:
            units: Shape (rows, dimensions), float32.
            centre: Shape (dimensions,), float32.
        """
        self.centre = centre
        self._units = units

    def even(self, count: int) -> Floats:
        """Returns `count` planes that each capture about the same share of the distances.

        So steps of one size fit all coordinates, and rounding moves rows least.

        Returns:
            Shape (count, dimensions), float32, orthonormal.
        """
        planes = turned(count)
        if count < self._units.shape[1]:
            planes = planes @ self.widest(count)
        return np.ascontiguousarray(planes, dtype=np.float32)

    def widest(self, count: int) -> Floats:
        """Returns `count` planes along which the rows differ most, the widest first.

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
        """Returns all directions, the widest first."""
        return _as_planes(np.linalg.eigh(self._spread())[1])

    def _spread(self) -> NDArray[np.float64]:
        """Returns the scatter matrix of the rows around the centre."""
        moved = (self._units - self.centre).astype(np.float64)
        return moved.T @ moved


def _as_planes(columns: NDArray[np.float64]) -> Floats:
    """Returns columns as rows, in reverse order."""
    return np.ascontiguousarray(columns[:, ::-1].T, dtype=np.float32)


def turned(count: int) -> NDArray[np.float64]:
    """Returns an orthogonal matrix with entries of about one size.

    A discrete cosine transform (type II; Ahmed, Natarajan, Rao 1974) after random changes of sign.
    """
    row, column = np.arange(count)[:, None], np.arange(count)[None, :]
    waves = np.cos(np.pi * (2 * column + 1) * row / (2 * count)) * sqrt(2.0 / count)
    waves[0] /= sqrt(2.0)
    signs = np.random.default_rng(SEED).integers(0, 2, count) * 2 - 1
    matrix: NDArray[np.float64] = waves * signs
    return matrix


def widest_angle(threshold: float, radius: float) -> float:
    """Returns the largest angle at the centre between two rows at the threshold, in radians.

    Args:
        threshold: Cosine.
        radius: Least distance of both rows from the centre.
    """
    return 2.0 * asin(min(1.0, distance(threshold) / (2.0 * radius)))


def cut(bits: int, angle: float, miss: float) -> int:
    """Returns the number of differing bits beyond which two rows are passed over.

    The normal approximation of the binomial, with a bit for the continuity and one more.

    Args:
        bits: Of a signature.
        angle: Between the two rows, radians.
        miss: Probability that such a pair is passed over, at most; below 0.5.
    """
    chance = min(0.5, angle / pi)
    low, deviations = 0.0, 40.0  # that a normal variable exceeds with the probability `miss`
    for _ in range(60):
        middle = (low + deviations) / 2.0
        if erfc(middle / sqrt(2.0)) / 2.0 > miss:
            low = middle
        else:
            deviations = middle
    wide = bits * chance + deviations * sqrt(bits * chance * (1.0 - chance))
    return min(bits, ceil(wide) + 1)


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """Yields slices that cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
