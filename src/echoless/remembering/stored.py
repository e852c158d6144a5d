"""A new record as its store can hold it: where records carry vectors, it gets one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from echoless.candidates import open_vectors
from echoless.errors import UsageError
from echoless.model import Memory, Vector
from echoless.settings import Settings
from echoless.stores.base import Shapes, Store
from echoless.tally import Tally
from echoless.vectors.registry import open_encoder

if TYPE_CHECKING:
    from echoless.remembering.pointed import VectorIndex
    from echoless.vectors.base import Encoder
    from echoless.vectors.vectorise import MemoryVectoriser


def vectors_for(settings: Settings, tally: Tally) -> tuple[MemoryVectoriser | None, Encoder | None]:
    """What gives vectors of memories, and what makes those of new records.

    Where a profile compares stored vectors they are all that is compared: an encoder that is named
    makes the vector of a new record, and is not asked about those that are there.
    """
    if settings.profile.encoder != "stored":
        return open_vectors(settings, tally, lambda *_: None), None
    from echoless.vectors.vectorise import MemoryVectoriser  # noqa: PLC0415 - numpy loads with it

    named = settings.encoder not in {"stored", "none", "auto"}
    return MemoryVectoriser(), open_encoder(settings.encoder) if named else None


def as_stored(
    store: Store, memory: Memory, encoder: Encoder | None, others: VectorIndex | None
) -> Memory:
    """The record with what its store asks of a new one.

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
