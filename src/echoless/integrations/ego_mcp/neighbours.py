"""Memories near to a new one, by the true cosine of stored vectors and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from echoless.blocking.vector_join.exact_join import DECIMALS, cosines, row_norms
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.timestamps import instant
from echoless.models.encoders.vectorizer import MemoryVectoriser

_BLOCK: Final = 4_096
_OLDEST: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory and its distance from another one.

    Attributes:
        memory: As it was read.
        distance: 1 - cosine, 0 to 2, six decimals.
        similarity: The cosine, -1 to 1, six decimals.
    """

    memory: Memory
    distance: float
    similarity: float


def neighbours(new: Memory, others: Sequence[Memory], tally: Tally) -> list[Neighbour]:
    """Returns all memories that can be compared, closest first, then the more recent, then by id.

    Args:
        new: With its vector.
        others: With theirs; those of another model or length are not compared.
        tally: Takes those that cannot be compared, by the reason.
    """

    def order(neighbour: Neighbour) -> tuple[float, int, str]:
        at = instant(neighbour.memory.created_at)
        return neighbour.distance, -(_OLDEST if at is None else at), neighbour.memory.id

    memories = (new, *others)
    near: list[Neighbour] = []
    for matrix in MemoryVectoriser().matrices(memories, tally):
        owners = matrix.owners.tolist()
        if 0 not in owners:
            continue
        rows = np.asarray(matrix.rows)
        norms = row_norms(rows)
        for start in range(0, len(rows), _BLOCK):
            block = np.arange(start, min(start + _BLOCK, len(rows)), dtype=np.int64)
            values = cosines(rows, norms, np.zeros_like(block), block).tolist()
            for owner, cosine in zip(owners[start : start + _BLOCK], values, strict=True):
                if owner:
                    distance = round(1.0 - cosine, DECIMALS) + 0.0
                    near.append(Neighbour(memories[owner], distance, cosine))
    return sorted(near, key=order)
