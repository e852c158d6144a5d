"""Memories with stored vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from echoless import Memory, Vector
from tests.conformance.encoders import WordBag


def embedded(memories: Sequence[Memory], encoder: WordBag, model: str = "") -> list[Memory]:
    """The same memories, each with the vector of its text, by the name of the encoder's model."""
    rows = encoder.encode([memory.content for memory in memories])
    name = model or encoder.model
    return [
        replace(memory, vectors=(Vector(name, row.astype("<f4").tobytes()),))
        for memory, row in zip(memories, rows, strict=True)
    ]
