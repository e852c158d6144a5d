"""How close memories are to one of them, by every model in which both have a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from echoless.model import Memory
from echoless.tally import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.vectors.base import Matrix, Vectoriser


def closeness(
    question: Memory, memories: Sequence[Memory], vectors: Vectoriser, tally: Tally
) -> dict[str, float]:
    """Cosine of each memory with a question, in the model that sees them closest.

    Args:
        question: A memory, or a text dressed as one; its parts are averaged.
        memories: The others.
        vectors: Where vectors come from.
        tally: Takes what has none, the question under its own id too.

    Returns:
        -1 to 1 with six decimals, by id; memories that cannot be compared are left out.

    Raises:
        EncoderError: The encoder failed.
    """
    scores: dict[str, float] = {}
    for matrix in vectors.matrices([question, *memories], tally):
        mine = matrix.owners == 0
        if mine.any():
            for owner, cosine in zip(matrix.owners.tolist(), _cosines(matrix, mine), strict=True):
                if owner:
                    id_ = memories[owner - 1].id
                    scores[id_] = max(scores.get(id_, -1.0), round(cosine, 6))
    return scores


def _cosines(matrix: Matrix, mine: NDArray[np.bool_]) -> list[float]:
    """Cosine of each row with the question, whose parts are averaged."""
    rows = matrix.rows.astype("float64")
    unit = rows / (rows**2).sum(axis=1, keepdims=True) ** 0.5
    question = unit[mine].mean(axis=0)
    cosines: list[float] = (unit @ (question / (question**2).sum() ** 0.5)).tolist()
    return cosines
