"""Memories by the direction of their vectors: signs first, then the true cosine of the few.

A vector is kept as one bit for each of `BITS` random directions, the side it lies on; two vectors
at an angle differ in angle / pi of the bits (Charikar, Similarity estimation techniques from
rounding algorithms, STOC 2002). A question is compared with all signatures by exclusive or and
population count, and the closest `LOOKED_AT` by their cosine. Vectors of one model share a mean;
signs are taken of what is left without it, or half of the bits would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.remembering.growing import Rows

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

BITS: Final = 512
LOOKED_AT: Final = 64
SEED: Final = 42

_MEAN_OF: Final = 4_096
"""Vectors the mean is taken of; of more it hardly moves."""

_BLOCK: Final = 2_048


class VectorIndex:
    """Vectors of one model, several for a long memory.

    Attributes:
        model: Identity of the model.
        dimensions: Of its vectors.
    """

    ARRAYS = ("owners", "rows", "mean", "signatures")

    def __init__(
        self,
        model: str,
        owners: Ints,
        rows: Floats,
        *,
        mean: Floats | None = None,
        signatures: Words | None = None,
    ) -> None:
        """Begin with vectors.

        Args:
            model: Identity of the model.
            owners: Shape (n,), int64: the memory of each vector, by its place in the index.
            rows: Shape (n, dimensions), float32, not zero, of any length.
            mean: Kept from before, with `signatures`.
            signatures: Shape (n, BITS / 64), uint64.
        """
        self.model, self.dimensions = model, rows.shape[1]
        unit = _unit(rows) if signatures is None else rows
        self.mean = unit[:_MEAN_OF].mean(axis=0) if mean is None else mean
        random = np.random.default_rng(SEED)
        self._planes = random.standard_normal((self.dimensions, BITS)).astype(np.float32)
        self._kept = unit
        self._fresh = Rows(np.empty((0, self.dimensions), dtype=np.float32))
        self._owners = Rows(owners)
        made = self._signed(unit) if signatures is None else signatures
        self._signatures = Rows(made)

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, owners: Ints, rows: Floats) -> None:
        """Add vectors: shape (n,) and (n, dimensions); owners not below those that are there."""
        unit = _unit(rows)
        self._fresh.append(unit)
        self._owners.append(owners)
        self._signatures.append(self._signed(unit))

    def nearest(
        self, rows: Floats, allowed: NDArray[np.bool_], *, many: int = LOOKED_AT
    ) -> list[int]:
        """Places of the memories with a vector close to any of the question's, closest first.

        Args:
            rows: Shape (parts, dimensions).
            allowed: Shape (places,): which memories may be named.
            many: Vectors of which the cosine is taken, for each of the question's.
        """
        best: dict[int, float] = {}
        for row in _unit(rows):
            closest = self._closest(row, allowed, many)
            cosines = self._rows(closest) @ row
            for owner, cosine in zip(
                self._owners.all[closest].tolist(), cosines.tolist(), strict=True
            ):
                best[owner] = max(cosine, best.get(owner, -1.0))
        return sorted(best, key=lambda place: (-best[place], place))

    def _closest(self, row: Floats, allowed: NDArray[np.bool_], many: int) -> Ints:
        """Numbers of the vectors whose signatures differ least."""
        asked = self._signed(row[None, :])[0]
        apart = _differing(self._signatures.all, asked)
        apart[~allowed[self._owners.all]] = BITS + 1
        count = min(many, len(apart))
        chosen = np.argpartition(apart, count - 1)[:count]
        return np.sort(chosen[apart[chosen] <= BITS])

    def rows_of(self, place: int) -> Floats:
        """The vectors of a memory, of unit length: shape (parts, dimensions)."""
        first, last = np.searchsorted(self._owners.all, [place, place + 1])
        return self._rows(np.arange(first, last))

    def _rows(self, numbers: Ints) -> Floats:
        kept = len(self._kept)
        found = np.empty((len(numbers), self.dimensions), dtype=np.float32)
        old = numbers < kept
        found[old] = self._kept[numbers[old]]
        found[~old] = self._fresh.all[numbers[~old] - kept]
        return found

    def _signed(self, unit: Floats) -> Words:
        signs = np.empty((len(unit), BITS // 8), dtype=np.uint8)
        for start in range(0, len(unit), _BLOCK):
            sides = (unit[start : start + _BLOCK] - self.mean) @ self._planes
            signs[start : start + _BLOCK] = np.packbits(sides >= 0, axis=1)
        return signs.view(np.uint64)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """What to keep, by name."""
        return {
            "owners": self._owners.all,
            "rows": np.concatenate([self._kept, self._fresh.all]),
            "mean": self.mean,
            "signatures": self._signatures.all,
        }


def _unit(rows: Floats) -> Floats:
    wide = rows.astype(np.float64)
    lengths = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    unit: Floats = (wide / lengths).astype(np.float32)
    return unit


_COUNTS: Final = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


def _differing(signatures: Words, asked: Words) -> NDArray[np.int64]:
    """In how many bits each signature differs from the one asked about."""
    apart = signatures ^ asked
    if hasattr(np, "bitwise_count"):
        counted: NDArray[np.int64] = np.bitwise_count(apart).sum(axis=1, dtype=np.int64)
        return counted
    old: NDArray[np.int64] = _COUNTS[apart.view(np.uint8)].sum(axis=1, dtype=np.int64)
    return old  # numpy before 2.0
