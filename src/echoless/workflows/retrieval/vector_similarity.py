"""Measures how close memories are, by every model in which both have a vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.run_notes import Tally
from echoless.models.encoders.vectorizer import MemoryVectoriser

if TYPE_CHECKING:
    from echoless.blocking.vector_join import exact_join
    from echoless.models.encoders.base import Vectoriser
else:
    exact_join = lazy_module("echoless.blocking.vector_join.exact_join")


def closeness(
    question: Memory, memories: Sequence[Memory], vectors: Vectoriser, tally: Tally
) -> dict[str, float]:
    """Returns the cosine of each memory with a question, in the model that sees them closest.

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
        asked = matrix.owners == 0
        if not asked.any():
            continue
        rows = matrix.rows.astype("float64")
        unit = rows / (rows**2).sum(axis=1, keepdims=True) ** 0.5
        mean = unit[asked].mean(axis=0)
        cosines: list[float] = (unit @ (mean / (mean**2).sum() ** 0.5)).tolist()
        for owner, cosine in zip(matrix.owners.tolist(), cosines, strict=True):
            if owner:
                id_ = memories[owner - 1].id
                scores[id_] = max(scores.get(id_, -1.0), round(cosine, 6))
    return scores


def close_pairs(
    memories: Sequence[Memory], least: float, tally: Tally
) -> Iterator[tuple[Memory, Memory, float]]:
    """Yields the pairs of memories whose stored vectors reach a cosine, in no order.

    Args:
        memories: Any memories.
        least: The cosine, -1 to 1, inclusive.
        tally: Takes what cannot be compared.
    """
    for matrix in MemoryVectoriser().matrices(memories, tally):
        for i, j, cosines in exact_join.pairs_above(matrix.rows, least):
            owners = zip(matrix.owners[i].tolist(), matrix.owners[j].tolist(), strict=True)
            for (one, other), cosine in zip(owners, cosines.tolist(), strict=True):
                yield memories[one], memories[other], cosine
