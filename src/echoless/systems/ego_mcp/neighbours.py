"""Memories near to a new one, by the true cosine of stored vectors and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from echoless.model import Memory
from echoless.tally import Tally
from echoless.times import instant
from echoless.vectors.vectorise import MemoryVectoriser

_BLOCK: Final = 4_096
_OLDEST: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory and how far it is.

    Attributes:
        memory: As it was read.
        distance: 1 - cosine, 0 to 2, six decimals.
        similarity: The cosine, -1 to 1, six decimals.
    """

    memory: Memory
    distance: float
    similarity: float


def neighbours(new: Memory, others: Sequence[Memory], tally: Tally) -> list[Neighbour]:
    """All that can be compared, closest first, then the more recent, then by id.

    Args:
        new: With its vector.
        others: With theirs; those of another model or length are not compared.
        tally: Takes those that cannot be compared, by the reason.
    """
    from echoless.vectors.join import DECIMALS  # noqa: PLC0415 - brings in numpy

    everyone = (new, *others)
    found: list[Neighbour] = []
    for matrix in MemoryVectoriser().matrices(everyone, tally):
        owners = matrix.owners.tolist()
        if 0 not in owners:
            continue
        for owner, cosine in zip(owners, _cosines(matrix.rows), strict=True):
            if owner:
                distance = round(1.0 - cosine, DECIMALS) + 0.0
                found.append(Neighbour(everyone[owner], distance, cosine))
    return sorted(found, key=_order)


def _cosines(rows: object) -> list[float]:
    """Of the first row with each."""
    import numpy as np  # noqa: PLC0415

    from echoless.vectors.join import cosines, row_norms  # noqa: PLC0415

    table = np.asarray(rows)
    norms = row_norms(table)
    told: list[float] = []
    for start in range(0, len(table), _BLOCK):
        there = np.arange(start, min(start + _BLOCK, len(table)), dtype=np.int64)
        told += cosines(table, norms, np.zeros_like(there), there).tolist()
    return told


def _order(neighbour: Neighbour) -> tuple[float, int, str]:
    at = instant(neighbour.memory.created_at)
    return neighbour.distance, -(_OLDEST if at is None else at), neighbour.memory.id
