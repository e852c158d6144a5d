"""Completes a new record for its store: where records carry vectors, it gets one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from echoless.blocking.candidates import open_vectors
from echoless.core.errors import UsageError
from echoless.core.model import Memory, Vector
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.stores.base import Shapes, Store

if TYPE_CHECKING:
    from echoless.ingest.vector_index import VectorIndex
    from echoless.models.encoders.base import Encoder


def vectors_for(settings: Settings, tally: Tally) -> tuple[MemoryVectoriser | None, Encoder | None]:
    """Returns what gives vectors of memories, and what makes those of new records.

    Where a profile compares stored vectors they are all that is compared: an encoder that is named
    makes the vector of a new record, and none of those that are stored.
    """
    if settings.profile.encoder != "stored":
        return open_vectors(settings, tally, lambda *_: None), None
    named = settings.encoder not in {"stored", "none", "auto"}
    return MemoryVectoriser(), open_encoder(settings.encoder) if named else None


def as_stored(
    store: Store, memory: Memory, encoder: Encoder | None, others: VectorIndex | None
) -> Memory:
    """Returns the record with what its store requires of a new one.

    Where a profile compares stored vectors, a record without one could never be found again; it
    gets one from the encoder that was named, under the name of the model the store's vectors have.

    Args:
        store: Where it is to go.
        memory: The record.
        encoder: Makes its vector, see `vectors_for`.
        others: Vectors of the store it needs one beside; None where it needs none.

    Raises:
        UsageError: It needs a vector and there is none, or it is of another length.
        EncoderError: The encoder failed.
    """
    if isinstance(store, Shapes):
        memory = store.shaped(memory)
    if others is None or memory.vectors:
        return memory
    if encoder is None:
        raise UsageError(
            f"The records of {store.url} carry vectors ({others.model}), so a new one "
            "needs a vector of its own. Name the encoder that makes them, for example "
            "--encoder openai:MODEL, or hand the vector in."
        )
    (row,) = encoder.encode([memory.content])
    if len(row) != others.dimensions:
        raise UsageError(
            f"The encoder {encoder.model!r} makes vectors of {len(row)} components; those of "
            f"{store.url} have {others.dimensions}. Name the encoder that made them."
        )
    return replace(memory, vectors=(Vector(others.model, row.astype("<f4").tobytes()),))
